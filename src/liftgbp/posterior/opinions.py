"""Second opinions: what an exact answer or a sample says, beside what was answered.

An *opinion* has rows as answers do, each probability with a standard error; exact values have none.
A *comparison* puts answers beside an opinion, and says in one sentence whether they agree.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from liftgbp.posterior.answer import Answer
from liftgbp.support.errors import checked_path
from liftgbp.support.shown import Reported, figure_of, write_picture_of
from liftgbp.support.texts import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIRMS_WITHIN = 0.02
"""An opinion confirms answers if these are not farther off, on the root mean square."""

AGREES_WITHIN = 0.01
"""Probabilities agree if they differ by no more than this and what may be chance: three standard
errors for one probability, more for the largest of many differences."""

CHANCE = 0.0027
"""How rarely chance alone may make the largest of all differences count: as rarely as one number is
three standard errors off."""

Values: TypeAlias = Mapping[tuple[str, ...], float]
"""A number for each assignment of values to the atoms of a row."""


@dataclass(frozen=True, slots=True)
class OpinionRow:
    """What an opinion says about one row: probabilities, and their standard errors."""

    query: str
    atom: str
    where: str
    values: Values
    errors: Values = field(default_factory=dict)

    def assignment_text(self, assignment: tuple[str, ...]) -> str:
        """An assignment in words."""
        return ",".join(assignment)


@dataclass(frozen=True, slots=True)
class Opinion:
    """A second opinion on some answers.

    `title` names it in a sentence: "the sample". `doubt` says why it settles nothing, and is empty
    if it does. `log_z` is missing where it was not estimated.
    """

    title: str
    rows: Sequence[OpinionRow]
    log_z: float | None = None
    log_z_error: float = 0.0
    doubt: str = ""


class SecondOpinion(Protocol):
    """Whatever can be asked for an opinion on answers: other answers, or a sample."""

    def opinion_on(self, answers: Any, queries: Sequence[str]) -> Opinion:
        """The opinion on the rows that answer some queries; without queries, on every predicate."""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One probability beside a second opinion."""

    query: str
    atom: str
    where: str
    assignment: tuple[str, ...]
    value: str
    """The assignment in words, as answers write it."""
    answer: float
    second: float
    error: float

    @property
    def difference(self) -> float:
        """How much larger the answer is than the second opinion."""
        return self.answer - self.second

    def excess(self, standard_errors: float) -> float:
        """What is left of the difference once some standard errors are taken off."""
        return max(0.0, abs(self.difference) - standard_errors * self.error)

    @property
    def text(self) -> str:
        """The atom, with its value unless that is `true`."""
        value = "" if set(self.assignment) == {"true"} else f" = {self.value}"
        return f"{self.atom}{value}{f' [{self.where}]' if self.where else ''}"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        return {
            "query": self.query,
            "atom": self.atom,
            "where": self.where,
            "assignment": list(self.assignment),
            "value": self.value,
            "answer": self.answer,
            "second": self.second,
            "standard_error": self.error,
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Reported):
    """Answers beside a second opinion, probability by probability.

    `missing` counts the rows of the answers that the opinion says nothing about.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> comparison = liftgbp.check(model, {"person": 6}).comparison
    >>> comparison.agrees, len(comparison.rows)
    (True, 6)
    >>> comparison.sentence.split(":")[0]
    'agrees with independent exact inference'
    """

    title: str
    rows: tuple[ComparedValue, ...]
    log_z: float | None
    second_log_z: float | None
    log_z_error: float
    doubt: str
    missing: int

    @classmethod
    def impossible(cls, title: str, why: str) -> Comparison:
        """The comparison with an opinion that cannot be had."""
        return cls(title, (), None, None, 0.0, why, 0)

    @property
    def largest(self) -> ComparedValue | None:
        """The row with the largest difference beyond chance; of equal ones, the last."""
        # Those of true and false differ by rounding.
        return max(
            reversed(self.rows),
            key=lambda row: (
                round(row.excess(self.standard_errors), 12),
                round(abs(row.difference), 12),
            ),
            default=None,
        )

    @property
    def agrees(self) -> bool:
        """Whether the opinion settles the matter, and no probability differs from it."""
        return not self.doubt and bool(self.rows) and not self.differs

    @property
    def error(self) -> float:
        """The largest standard error."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def confirms(self) -> bool:
        """Whether the opinion agrees, and is precise enough to rule out that much is wrong.

        No single difference beyond chance may be as large. The mean square difference, less what
        chance adds to it, tells how far the answers are off; how well it does so goes with the
        number of rows.
        """
        if not self.agrees or any(
            abs(row.difference) > CONFIRMS_WITHIN and row.excess(self.standard_errors) > 0
            for row in self.rows
        ):
            return False
        number = len(self.rows)
        chance = math.fsum(row.error**2 for row in self.rows) / number
        square = math.fsum(row.difference**2 for row in self.rows) / number
        unseen = 2 * math.sqrt(chance / len({(row.atom, row.where) for row in self.rows}))
        return math.sqrt(max(0.0, square - chance)) + unseen <= CONFIRMS_WITHIN

    @property
    def disagrees(self) -> bool:
        """Whether the opinion settles the matter, and some probability differs from it."""
        return not self.doubt and self.differs

    @property
    def differs(self) -> bool:
        """Whether some probability differs by more than chance and 0.01."""
        largest = self.largest
        return largest is not None and largest.excess(self.standard_errors) > AGREES_WITHIN

    @property
    def standard_errors(self) -> float:
        """How many standard errors the largest difference may have by chance.

        It is that many for as many independent numbers as there are rows.
        """
        from statistics import NormalDist

        rows = len({(row.query, row.atom, row.where) for row in self.rows})
        return NormalDist().inv_cdf(1 - CHANCE / 2 / max(1, rows))

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        largest = self.largest
        if largest is None and self.doubt:
            return f"no second opinion: {self.doubt}"
        if largest is None:
            return f"{self.title} has no row in common with the answers"
        error = f" (standard error {digits_text(largest.error)})" if largest.error else ""
        size = digits_text(abs(largest.difference))
        if self.doubt:
            return (
                f"is undecided: {self.doubt}; the largest difference from {self.title} is "
                f"{size}{error}, in {largest.text}"
            )
        if self.differs:
            return f"disagrees with {self.title} by {size}{error} in {largest.text}"
        return (
            f"agrees with {self.title}: the largest difference is {size}{error}, in {largest.text}"
        )

    def __str__(self) -> str:
        heading = ("atom", "where", "value", "answer", "second", "error", "difference")
        return "\n".join([*aligned([heading, *map(_cells, self.rows)]), self.sentence])

    def plot(self) -> Figure:
        """A figure of Matplotlib: each probability beside the second opinion on it."""
        return figure_of(self)

    def write_picture(self, path: str | os.PathLike[str]) -> None:
        """Write that figure to a `.png`, `.svg` or `.pdf` file."""
        write_picture_of(self, checked_path("path", path))

    def as_dict(self) -> dict[str, object]:
        """The comparison for JSON."""
        return {
            "title": self.title,
            "agrees": self.agrees,
            "sentence": self.sentence,
            "doubt": self.doubt,
            "missing": self.missing,
            "log_z": {
                "answer": self.log_z,
                "second": self.second_log_z,
                "standard_error": self.log_z_error,
            },
            "rows": [row.as_dict() for row in self.rows],
        }


def compared(
    rows: Iterable[Answer | OpinionRow], opinion: Opinion, log_z: float | None
) -> Comparison:
    """Rows of answers beside an opinion on them.

    >>> said = OpinionRow("p(x)", "p(x)", "", {("true",): 0.25}, {("true",): 0.001})
    >>> opinion = Opinion("the sample", [said])
    >>> answered = OpinionRow("p(x)", "p(x)", "", {("true",): 0.2512})
    >>> print(compared([answered], opinion, None).sentence)
    agrees with the sample: the largest difference is 0.0012 (standard error 0.001), in p(x)
    """
    known = {(row.query, row.atom, row.where): row for row in opinion.rows}
    found: list[ComparedValue] = []
    missing = 0
    for row in rows:
        other = known.get((row.query, row.atom, row.where))
        if other is None:
            missing += 1
        else:
            found += _compared(row, other)
    return Comparison(
        opinion.title,
        tuple(found),
        None if log_z is None or not math.isfinite(log_z) else log_z,
        opinion.log_z,
        opinion.log_z_error,
        opinion.doubt,
        missing,
    )


def _compared(row: Answer | OpinionRow, other: OpinionRow) -> Iterator[ComparedValue]:
    for assignment, p in row.values.items():
        second = other.values.get(assignment, math.nan)
        # Under an impossible condition nothing is defined.
        if not math.isnan(p - second):
            error = other.errors.get(assignment, 0.0)
            value = row.assignment_text(assignment)
            yield ComparedValue(row.query, row.atom, row.where, assignment, value, p, second, error)


def _cells(row: ComparedValue) -> tuple[str, ...]:
    return (
        row.atom,
        row.where,
        row.value,
        f"{row.answer:.6f}",
        f"{row.second:.6f}",
        digits_text(row.error) if row.error else "",
        f"{row.difference:+.6f}",
    )


def digits_text(number: float) -> str:
    """A difference or an error, with as many digits as mean something.

    >>> digits_text(0.00084), digits_text(0.0512), digits_text(0.0)
    ('0.00084', '0.051', '0')
    """
    return f"{number:.2g}"
