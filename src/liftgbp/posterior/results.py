"""What a run results in besides beliefs: how it ended, log Z, and whether to trust it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol, Self

from liftgbp.solve import Finding, Point, Remedy, SolvedBy, Status, Verdict


class Result(Protocol):
    """What answers need to know of a run: how it ended, and how far it can be trusted."""

    @property
    def solver(self) -> SolvedBy:
        """What found it."""

    @property
    def status(self) -> Status:
        """How the run ended."""

    @property
    def iterations(self) -> int:
        """How many iterations it took."""

    @property
    def residual(self) -> float:
        """How far the beliefs are from a stationary point."""

    @property
    def log_z(self) -> float:
        """The log partition function."""

    @property
    def verdict(self) -> Verdict:
        """What is known about the best point."""

    @property
    def points(self) -> tuple[Point, ...]:
        """The stationary points that were found, the best first."""

    @property
    def flaw(self) -> Finding | None:
        """What keeps the numbers from being trusted, if anything does."""

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What is worth trying then."""

    def with_verdict(self, verdict: Verdict) -> Result:
        """The same result, judged anew."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class MixedResult:
    """The result of several runs, mixed: `log_z` is that of the whole.

    Solver, residual and verdict are those of the run with the largest share, `iterations` the most
    that any took. Each run has stationary points of its own, so the mixture has none.
    """

    solver: SolvedBy
    status: Status
    iterations: int
    residual: float
    log_z: float
    verdict: Verdict
    flaw: Finding | None = None
    remedies: tuple[Remedy, ...] = ()
    points: tuple[Point, ...] = ()

    def with_verdict(self, verdict: Verdict) -> Self:
        """The same result, judged anew."""
        # What was known before is in the flaw.
        news = None if self.verdict.flaw else verdict.flaw
        flaw = self.flaw or news or verdict.outside(self.log_z)
        return replace(self, verdict=verdict, flaw=flaw)


class GrowthEnd(Enum):
    """Why regions do not grow any further."""

    MORE_EFFORT = auto()
    LONGER_LOOPS = auto()
    SAME_REGIONS = auto()
    NOT_TRUSTED = auto()
    NOT_APPROXIMATE = auto()
    ONE_REGION = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class GrowthStop:
    """Where regions stopped growing: at a family, or at an error with a message."""

    kind: GrowthEnd
    family: str = ""
    message: str = ""


class ChoiceKind(Enum):
    """Why the counts of a predicate are summed over, or of none."""

    EXACT = auto()
    LARGEST_CHANGE = auto()
    NO_CHANGE = auto()
    NO_CANDIDATE = auto()


@dataclass(frozen=True, slots=True)
class Choice:
    """The predicate whose counts are summed over, and how much each candidate changes log Z."""

    kind: ChoiceKind
    predicate: str = ""
    changes: tuple[tuple[str, float], ...] = ()
