"""What sources state, by name, and where they state it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np

from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model
from liftgbp.model.writer import constant_text
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import EvidenceError, Source, Span, comma_list, counted


class Texts(Sequence[str]):
    """A column of texts, in which equal ones are kept once. An empty cell has none.

    codes      the number of each row's text, or -1
    different  the texts

    >>> column = Texts(np.array([0, 1, 0, -1]), ["Anna", "Bob"])
    >>> list(column), column.is_empty.tolist(), "Bob" in column
    (['Anna', 'Bob', 'Anna', ''], [False, False, False, True], True)
    """

    def __init__(self, codes: Ints, different: Sequence[str]) -> None:
        self.codes = codes
        self.different = different

    @staticmethod
    def of(cells: Iterable[str | None]) -> Texts:
        """The column of these cells; those that are `None` or empty have no text."""
        known = Numbers()
        codes = [known[cell] if cell else -1 for cell in cells]
        return Texts(np.array(codes, dtype=np.int64), list(known))

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        if isinstance(place, slice):
            return Texts(self.codes[place], self.different)
        code = int(self.codes[place])
        return "" if code < 0 else self.different[code]

    def __iter__(self) -> Iterator[str]:
        different = [*self.different, ""]
        return (different[code] for code in self.codes.tolist())

    def __contains__(self, text: object) -> bool:
        codes = [code for code, own in enumerate(self.different) if own == text]
        return any((self.codes == code).any() for code in codes)

    def take(self, rows: Ints) -> Texts:
        """The texts of some rows."""
        return Texts(self.codes[rows], self.different)

    @property
    def is_empty(self) -> Bools:
        """Which cells have no text."""
        return np.asarray(self.codes < 0)

    def each(self) -> tuple[list[str], Ints]:
        """The texts in the order in which they occur, and which of them each row has.

        No cell may be empty.
        """
        first = np.full(len(self.different), -1)
        # Of several values for one place, NumPy keeps the last.
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        (occur,) = np.nonzero(first >= 0)
        occur = occur[np.argsort(first[occur])]
        number = np.empty(len(self.different), dtype=np.int64)
        number[occur] = np.arange(len(occur))
        return [self.different[code] for code in occur.tolist()], number[self.codes]


class Numbers(dict[str, int]):
    """Numbers of texts; a new one gets the next number."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number

    def of(self, texts: Sequence[str]) -> Ints:
        """The numbers of many texts."""
        if isinstance(texts, Texts):
            different, which = texts.each()
            return self.of(different)[which]
        return np.fromiter(map(self.__getitem__, texts), np.int64, len(texts))


@dataclass(frozen=True, eq=False, slots=True)
class Statements:
    """What one source says about atoms of one predicate, in its order.

    Statement k gives value number `values[k]` the probability `chances[k]`, and the other values
    equal shares of the rest. Its atom is over the objects named `columns[0][k]`, `columns[1][k]`
    and so on, and it comes from row `rows[k]` of its origin.
    """

    predicate: Predicate
    columns: tuple[Sequence[str], ...]
    values: Ints
    chances: Floats
    origin: FactFile | TableFile
    rows: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class ListedObjects:
    """Objects of a sort that a source lists by name without stating anything about them."""

    sort: str
    names: Sequence[str]
    origin: FactFile | TableFile
    row: int


@dataclass(frozen=True, eq=False)
class FactFile:
    """A text of facts, one per line; in `lines`, comments are blank."""

    source: Source
    lines: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the text: that of a file, if it is from one."""
        return self.source.name

    @cached_property
    def _starts(self) -> Ints:
        lengths = np.fromiter(map(len, self.lines), np.int64, len(self.lines))
        return np.cumsum(lengths + 1) - lengths - 1

    def span(self, row: int, start: int | None = None, end: int | None = None) -> Span:
        """The fact in a line, or some of its columns (from 0)."""
        line = self.lines[row]
        offset = int(self._starts[row])
        first = len(line) - len(line.lstrip()) if start is None else start
        last = len(line.rstrip()) if end is None else end
        return Span(self.source, offset + first, offset + last)

    def place(self, row: int) -> str:
        """File, line and column."""
        span = self.span(row)
        return f"{self.source.name}, line {row + 1}, column {span.column}"

    def problem(
        self, row: int, message: str, start: int | None = None, end: int | None = None
    ) -> EvidenceError:
        """The error that points at a line or at some of its columns."""
        return EvidenceError(message, self.span(row, start, end))


MOST_PROBLEMS = 10
"""How many problems of a table are reported at once."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table of facts; the line of column names does not count as a row."""

    name: str

    def place(self, row: int) -> str:
        """File and row."""
        return f"{self.name}, row {row + 1}"

    def problem(self, row: int, message: str) -> EvidenceError:
        """The error that names a row."""
        return EvidenceError(f"{self.place(row)}: {message}")

    def problems(self, places: Sequence[tuple[str, str]]) -> EvidenceError:
        """The error that names several places in the table, each with what is wrong there."""
        place, message = places[0]
        if len(places) == 1:
            return EvidenceError(f"{self.name}, {place}: {message}")
        lines = [f"  {place}: {message}" for place, message in places[:MOST_PROBLEMS]]
        if len(places) > MOST_PROBLEMS:
            lines.append("  and more")
        return EvidenceError("\n".join([f"{self.name} has rows that cannot be used:", *lines]))


Origin: TypeAlias = FactFile | TableFile
"""Where statements are from, in rows that are numbered from 0."""


def unknown_predicate(model: Model, name: str) -> str:
    """The message about a predicate that the model lacks."""
    for known in model.predicates:
        if known.lower() == name.lower():
            return f"unknown predicate {name}; the model writes {known}, and case matters"
    stated = (own.name for own in model.predicates.values() if own.is_stated)
    return f"unknown predicate {name}; the model has {comma_list(stated)}"


def wrong_arity(predicate: Predicate, found: int, what: str = "argument") -> str:
    """The message about a wrong number of arguments."""
    return f"{predicate.name} takes {counted(len(predicate.sorts), what)}, got {found}"


def atom_text(predicate: Predicate, names: Sequence[str]) -> str:
    """A ground atom as text."""
    arguments = ",".join(map(constant_text, names))
    return f"{predicate.name}({arguments})" if arguments else predicate.name


def statement_text(predicate: Predicate, names: Sequence[str], value: int, chance: float) -> str:
    """A statement as one line of text."""
    text = predicate.literal(atom_text(predicate, names), value)
    return text if chance == 1 else f"{chance:g} {text}"
