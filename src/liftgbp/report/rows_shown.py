"""Rows of answers as tables and bars, and what changed most between two answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from liftgbp.pictures.cards import MOST_ROWS, bar, code, count_text, note, table
from liftgbp.pictures.markup import Content, Markup, joined
from liftgbp.posterior.answer import Answer

if TYPE_CHECKING:
    from liftgbp.pictures.charts import BarRow


def bar_rows(rows: Iterable[Answer]) -> Iterator[BarRow]:
    """A bar for each probability."""
    from liftgbp.pictures.charts import BarRow

    for row in rows:
        where = f" [{row.where}]" if row.where else ""
        for assignment, p in row.shown_values.items():
            value = "" if assignment == ("true",) else f" {row.assignment_text(assignment)}"
            if not math.isnan(p):
                yield BarRow(f"{row.atom}{value}{where}", p, _interval(p, row.error_of(assignment)))


def _interval(p: float, error: float | None) -> tuple[float, float] | None:
    """Two standard errors around a probability, if it has any."""
    return (max(0.0, p - 2 * error), min(1.0, p + 2 * error)) if error else None


def rows_table(rows: Iterable[Answer], *, more: bool = False) -> Markup:
    """Rows of answers for notebooks, with a bar for each probability.

    `more` says that there are more rows than these.
    """
    lines: list[tuple[Content, ...]] = []
    for row in rows:
        count = count_text(row.count) if row.count != 1 else ""
        lead: tuple[Content, ...] = (code(row.atom), row.where, count)
        for assignment, p in row.shown_values.items():
            value = "" if assignment == ("true",) else row.assignment_text(assignment)
            error = row.error_of(assignment)
            interval = _interval(p, error) or ()
            told = "" if error is None else f"± {error:.2g}"
            lines.append((*lead, value, bar(p, *interval), f"{p:.6f}", told))
            lead = ("", "", "")
    headings = ("atom", "where", "count", "value", "", "probability", "")
    shown = table(headings, lines, numbers=[2, 5])
    return joined([shown, note("… and more")]) if more and len(lines) <= MOST_ROWS else shown


@dataclass(frozen=True, slots=True)
class Change:
    """How much more effort changed a probability: from `quick` to `p`."""

    row: Answer
    assignment: tuple[str, ...]
    p: float
    quick: float

    def as_dict(self) -> dict[str, object]:
        """The change for JSON."""
        row = self.row
        return {
            "query": row.query,
            "atom": row.atom,
            "where": row.where,
            "assignment": list(self.assignment),
            "value": row.assignment_text(self.assignment),
            "p": self.p,
            "quick": self.quick,
        }


def largest_change(rows: Sequence[Answer], quick: Sequence[Answer]) -> Change | None:
    """The probability that changed most; of values that changed equally, the last one."""
    before = {(row.query, row.atom, row.where): row.values for row in quick}
    changes = [
        Change(row, assignment, p, before[key][assignment])
        for row in rows
        if (key := (row.query, row.atom, row.where)) in before
        for assignment, p in row.values.items()
        if assignment in before[key]
    ]
    # Those of true and false differ by rounding.
    defined = [change for change in reversed(changes) if not math.isnan(change.p - change.quick)]
    return max(defined, key=lambda change: round(abs(change.p - change.quick), 12), default=None)
