"""The rows of a sweep: how they are shown, tabulated and drawn."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from liftgbp.pictures.cards import (
    BAD,
    DOUBTFUL,
    GOOD,
    Shown,
    badge,
    bar,
    card,
    code,
    folded,
    note,
    table,
)
from liftgbp.pictures.charts import drawn
from liftgbp.pictures.line_chart import line_chart
from liftgbp.pictures.markup import Content
from liftgbp.posterior import Answer, Standing
from liftgbp.report.rows_shown import rows_table
from liftgbp.support.errors import InputError
from liftgbp.support.files import Schema
from liftgbp.sweeps.sweep_curves import BranchValue, Drawn, sweep_figure, swept_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from liftgbp.sweeps.sweeping import SweepSettings

Record = dict[str, object]


ANSWER_TYPES: Schema = {
    "query": str,
    "atom": str,
    "where": str,
    "value": str,
    "probability": float,
    "log_z": float,
    "standing": str,
    "trusted": bool,
    "status": str,
    "minima": int,
    "reason": str,
}
"""The types of columns; what else a record has is a size or, with a dollar sign, a weight."""

COLOURS = {Standing.CONFIRMED: GOOD, Standing.UNCONFIRMED: DOUBTFUL, Standing.REFUSED: BAD}

SMALLEST_SHARE = 1e-6
"""Points with less are not part of an answer, as far as its digits show."""


def size_column(sort: str) -> str:
    """The name of the column that holds the size of a sort.

    >>> size_column("person"), size_column("value")
    ('person', '|value|')
    """
    return f"|{sort}|" if sort in ANSWER_TYPES else sort


@dataclass(frozen=True, slots=True, repr=False)
class SweepPoint(Shown):
    """One setting of the swept sizes and weights.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> [row.point.sizes for row in sweep]
    [(('person', 10),), (('person', 1000),)]
    """

    sizes: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, float], ...]

    def _headline(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in self.as_dict().items())

    def as_dict(self) -> dict[str, float]:
        """The setting by name; named weights carry their dollar sign.

        Sizes of sorts that are called like a column of answers stand between bars, as in models.
        """
        sizes = {size_column(name): size for name, size in self.sizes}
        return {**sizes, **{f"${name}": value for name, value in self.weights}}


@dataclass(frozen=True, slots=True)
class Branch:
    """A row of an answer at one stationary point of the free energy.

    `weight` is the share of the point in the answer, and `stable` says whether it is a minimum.
    """

    values: dict[tuple[str, ...], float]
    weight: float
    stable: bool
    log_z: float


@dataclass(frozen=True, slots=True, repr=False)
class SweepRow(Shown):
    """One row of an answer at one point of a sweep.

    `standing` says how far the numbers of the point can be trusted, and `reason` why they are not
    confirmed.
    `branches` are the probabilities at each stationary point of the free energy, the best first,
    where descent found several.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> row = next(iter(sweep))
    >>> row.standing, row.status, row.answer.atom
    (<Standing.UNCONFIRMED: 'unconfirmed'>, 'converged', 'smokes(x)')
    """

    point: SweepPoint
    answer: Answer
    log_z: float
    status: str
    minima: int
    standing: Standing
    reason: str
    branches: tuple[Branch, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether the numbers are confirmed."""
        return self.standing is Standing.CONFIRMED

    def _headline(self) -> str:
        trust = "" if self.trusted else f" ({self.standing.value})"
        return f"at {self.point._headline()}: {self.answer}{trust}"

    def _body(self) -> Iterable[Content]:
        yield badge(COLOURS[self.standing], self.reason or self.standing.value)
        yield rows_table([self.answer])

    def records(self) -> Iterator[Record]:
        """The row in long form, one record per assignment of values."""
        for assignment, probability in self.answer.values.items():
            yield {
                **self.point.as_dict(),
                "query": self.answer.query,
                "atom": self.answer.atom,
                "where": self.answer.where,
                "value": self.answer.assignment_text(assignment),
                "probability": probability,
                "log_z": self.log_z,
                "standing": self.standing.value,
                "trusted": self.trusted,
                "status": self.status,
                "minima": self.minima,
                "reason": self.reason,
            }

    def branch_values(self) -> Iterator[list[BranchValue]]:
        """For each record, its probability at all stationary points."""
        for assignment in self.answer.values:
            yield [
                BranchValue(
                    branch.values[assignment], branch.stable, branch.weight > SMALLEST_SHARE
                )
                for branch in self.branches
            ]


class Sweep(Shown):
    """The rows of a sweep, in the order of its points.

    Iterating over it solves batch after batch; rows that were found once are kept.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> [(row.point.as_dict(), round(row.answer["true"], 4)) for row in sweep]
    [({'person': 10}, 0.5), ({'person': 1000}, 0.5)]
    """

    def __init__(self, settings: SweepSettings, batches: Iterator[Sequence[SweepRow]]) -> None:
        self.settings = settings
        self._batches = batches
        self._rows: list[SweepRow] = []
        self._error: BaseException | None = None

    def _headline(self) -> str:
        points = len({row.point for row in self._rows})
        return f"{points} points, {len(self._rows)} rows so far"

    def _repr_html_(self) -> str:
        # A notebook that shows a sweep wants to see all of it.
        rows = self.rows
        shown = self._curves()
        points = list(dict.fromkeys(row.point for row in rows))
        standings = [own for _, own in dict.fromkeys((row.point, row.standing) for row in rows)]
        badges = [
            badge(COLOURS[own], f"{standings.count(own)} of {len(points)} points {own.value}")
            for own in dict.fromkeys(standings)
        ]
        lines = [
            (
                row.point._headline(),
                code(row.answer.atom),
                row.answer.where,
                bar(p),
                f"{p:.6f}",
                "" if row.trusted else row.standing.value,
            )
            for row in rows
            for p in list(row.answer.shown_values.values())[-1:]
        ]
        return card(
            "Sweep ",
            f"{len(points)} points, {len(rows)} rows",
            *badges,
            line_chart(shown.along, shown.curves).svg(),
            *([note(f"the same everywhere: {'; '.join(shown.constant)}")] * bool(shown.constant)),
            folded(
                "as a table",
                table(("at", "atom", "where", "", "probability", ""), lines, numbers=[4]),
            ),
        )

    def _curves(self) -> Drawn:
        branches = [values for row in self for values in row.branch_values()]
        return swept_curves(self.records(), branches, ANSWER_TYPES)

    def plot(self) -> Figure:
        """A figure of Matplotlib: probabilities over the size or weight with most values.

        The axis shows where they vary. Rows that are the same everywhere are left out, and named
        below. Thin lines are all stationary points that were found, dashed where they are not
        stable; crosses are points that are refused.
        """
        return drawn(lambda: sweep_figure(self._curves()))

    def __iter__(self) -> Iterator[SweepRow]:
        given = 0
        while True:
            while given < len(self._rows):
                yield self._rows[given]
                given += 1
            if self._error is not None:
                # Otherwise a second look would show the rows before the error as if they were all.
                raise self._error
            try:
                batch = next(self._batches, None)
            except BaseException as error:
                self._error = error
                raise
            if batch is None:
                return
            self._rows += batch

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        """All rows; what is not solved yet is solved first."""
        return tuple(self)

    def records(self) -> list[Record]:
        """All rows in long form: one record per point, row and assignment of values."""
        return [record for row in self for record in row.records()]

    def to_frame(self) -> Any:
        """The records as a data frame of pandas, or of polars where pandas is not installed."""
        for name in ("pandas", "polars"):
            try:
                library = importlib.import_module(name)
            except ImportError:
                continue
            return library.DataFrame(self.records())
        raise InputError("a data frame needs pandas or polars; pip install pandas")
