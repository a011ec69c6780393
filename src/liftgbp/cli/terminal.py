"""Printing for people: tables where they fit, lines of text where they do not."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from liftgbp.support.texts import visible

PIPE_WIDTH = 200
"""The width of tables that do not go to a terminal, where nothing needs to be folded."""

FOLDED_WIDTH = 24
"""A column of prose may be folded to this width; narrower than that, it is hard to read."""

NARROWEST = 20
"""The least width of wrapped text, however narrow the terminal."""

LARGEST_WRITTEN_OUT = 10**15


@dataclass(frozen=True)
class Column:
    """A column of a sheet; prose may be folded into several lines."""

    heading: str
    right: bool = False
    prose: bool = False


@dataclass(frozen=True)
class Entry:
    """A row of a sheet as lines of text: a title, and fields with their names below it."""

    title: str
    fields: list[tuple[str, str]]


@dataclass
class Sheet:
    """Rows of text in columns, which print as a table or, in a narrow terminal, as lines.

    `lead` says how the first cell of a row becomes the title of its lines.
    """

    title: str
    columns: list[Column]
    lead: str = "{}"
    rows: list[list[str]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    sections: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.title = visible(self.title)
        self.columns = [replace(one, heading=visible(one.heading)) for one in self.columns]

    @classmethod
    def of(
        cls,
        title: str,
        headings: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        prose: Iterable[str] = (),
        left: Iterable[str] = (),
        lead: str = "{}",
    ) -> Sheet:
        """The sheet of some rows; but for `prose` and what stands at the `left`, it has numbers."""
        folded, texts = set(prose), {"", *left}
        sheet = cls(
            title,
            [Column(name, name not in folded | texts, name in folded) for name in headings],
            lead,
        )
        for row in rows:
            sheet.add(*row)
        return sheet

    def add(self, *cells: str) -> None:
        """Add a row."""
        headings = [column.heading for column in self.columns[1:]]
        fields = [(h, cell) for h, cell in zip(headings, cells[1:], strict=True) if cell]
        # What has no heading is a remark on the row.
        remarks = "".join(f" ({cell})" for heading, cell in fields if not heading)
        named = [(heading, cell) for heading, cell in fields if heading]
        self.add_block([list(cells)], Entry(self.lead.format(cells[0]) + remarks, named))

    def add_block(self, rows: list[list[str]], entry: Entry) -> None:
        """Add rows that belong together and are one entry as lines."""
        self.rows += [list(map(visible, row)) for row in rows]
        fields = [(visible(name), visible(text)) for name, text in entry.fields]
        self.entries.append(Entry(visible(entry.title), fields))
        if len(rows) > 1:
            self.sections.add(len(self.rows) - 1)

    def fits(self, width: int) -> bool:
        """Whether the table can be read at this width."""
        return sum(map(self._least_width, range(len(self.columns)))) + 1 <= width

    def _least_width(self, k: int) -> int:
        needed = self._needed_width(k)
        # A border and a space on both sides.
        return (min(needed, FOLDED_WIDTH) if self.columns[k].prose else needed) + 3

    def _needed_width(self, k: int) -> int:
        return max(map(cell_len, [self.columns[k].heading, *(row[k] for row in self.rows)]))

    def table(self) -> Table:
        """The sheet as a table that can be folded and has styles."""
        table = Table(title=Text(self.title, style="bold"), title_justify="left")
        for column in self.columns:
            table.add_column(
                Text(column.heading),
                justify="right" if column.right else "left",
                overflow="fold",
                no_wrap=not column.prose,
            )
        for k, row in enumerate(self.rows):
            table.add_row(*map(Text, row), end_section=k in self.sections)
        return table

    def lines(self, width: int) -> Iterator[str]:
        """The sheet as lines of text; names of fields are aligned."""
        names = [name for entry in self.entries for name, _ in entry.fields]
        indent = 4 + max(map(cell_len, names), default=0) + 2
        # Where names leave no room, texts go below them.
        below = indent > width // 2
        for entry in self.entries:
            yield from _wrapped("  ", entry.title, width, 4)
            for name, text in entry.fields:
                if below and indent + cell_len(text) > width:
                    yield f"    {name}"
                    yield from _wrapped("      ", text, width, 6)
                else:
                    start = f"    {name}".ljust(indent)
                    yield from _wrapped(start, text, width, indent)


def _wrapped(start: str, text: str, width: int, indent: int) -> list[str]:
    """The text after its start, wrapped between words only."""
    return wrap(
        text,
        max(width, NARROWEST),
        initial_indent=start,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [start.rstrip()]


class Terminal:
    """Standard output for people. What users wrote is never taken for markup."""

    def __init__(self) -> None:
        class Leaving(Console):
            def on_broken_pipe(self) -> None:
                """Leave it to the main function: nothing is wrong."""
                raise BrokenPipeError

        self._wraps = sys.stdout.isatty()
        width = None if self._wraps else PIPE_WIDTH
        self._console = Leaving(width=width, highlight=False, markup=False, emoji=False)

    def say(self, text: str, style: str = "") -> None:
        """Print text; only a terminal has it wrapped."""
        self._console.print(Text(visible(text, "\n"), style=style), soft_wrap=not self._wraps)

    def table(self, *arguments: Any, **options: Any) -> None:
        """Print a table; the arguments are those of `Sheet.of`."""
        self.show(Sheet.of(*arguments, **options))

    def show(self, *forms: Sheet) -> None:
        """Print the first form of a table that fits, or the lines of the last where none does."""
        width = self._console.width
        sheet = next((form for form in forms if form.fits(width)), None)
        if sheet is not None:
            self._console.print(sheet.table())
            return
        sheet = forms[-1]
        self.say(sheet.title, "bold")
        for line in sheet.lines(width):
            self._console.print(Text(line), soft_wrap=True)


# --- numbers


def probability_text(probability: float | None) -> str:
    """A probability with six digits, in scientific notation where those would hide it.

    >>> probability_text(0.25), probability_text(1.5e-9), probability_text(None)
    ('0.250000', '1.500e-09', 'undefined')
    """
    if probability is None or math.isnan(probability):
        return "undefined"
    if 0 < probability < 1e-5:
        return f"{probability:.3e}"
    return f"{probability:.6f}"


def with_error(probability: float, error: float | None) -> str:
    """A probability with its standard error, if it has one, and as many digits as that has.

    >>> with_error(0.26281, 0.00113), with_error(0.5, None), with_error(1.0, 0.0)
    ('0.2628 ± 0.0011', '0.500000', '1.000000')
    """
    if not error or math.isnan(error):
        return probability_text(probability)
    digits = max(2, 1 - math.floor(math.log10(error)))
    return f"{probability:.{digits}f} ± {error:.{digits}f}"


def log_text(number: float | None, error: float | None = None) -> str:
    """A log Z, which may be undefined, with its standard error if it has one.

    >>> log_text(1046.7195924, 0.0213), log_text(None)
    ('1046.72 ± 0.02', 'undefined')
    """
    if number is None:
        return "undefined"
    if not error:
        return f"{number:.10g}"
    digits = max(0, -math.floor(math.log10(error)))
    return f"{number:.{digits}f} ± {error:.{digits}f}"


def count_text(count: int) -> str:
    """A whole number, rounded where it is too long to read.

    >>> count_text(1234567), count_text(10**30)
    ('1,234,567', '1e+30')
    """
    if abs(count) < LARGEST_WRITTEN_OUT:
        return f"{count:,}"
    # Counts may exceed the range of floats.
    return f"{Decimal(count).normalize(Context(prec=6)):g}".lower()


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "region"), counted(2000, "region")
    ('1 region', '2,000 regions')
    """
    return f"{count_text(number)} {noun}{'s' * (number != 1)}"
