"""What a run results in besides beliefs: how it ended, log Z, and whether to trust it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from liftgbp.solve import Point, Remedy, Status, Verdict


class Result(Protocol):
    """What answers need to know of a run: how it ended, and how far it can be trusted."""

    @property
    def solver(self) -> str:
        """The name of the solver."""

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
    def flaw(self) -> str:
        """What keeps the numbers from being trusted, in words; empty if nothing does."""

    @property
    def region(self) -> int | None:
        """The number of the region where that shows most, if it is known."""

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What is worth a try then."""

    def with_verdict(self, verdict: Verdict) -> Result:
        """The same result, judged anew."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class MixedResult:
    """The result of several runs, mixed: `log_z` is that of the whole.

    Solver, residual and verdict are those of the run with the largest share, `iterations` the most
    that any took. Each run has stationary points of its own, so the mixture has none.
    """

    solver: str
    status: Status
    iterations: int
    residual: float
    log_z: float
    verdict: Verdict
    flaw: str = ""
    region: int | None = None
    remedies: tuple[Remedy, ...] = ()
    points: tuple[Point, ...] = ()

    def with_verdict(self, verdict: Verdict) -> Self:
        """The same result, judged anew."""
        # What was known before is in the flaw.
        news = "" if self.verdict.flaw else verdict.flaw
        flaw = self.flaw or news or verdict.outside_text(self.log_z)
        return replace(self, verdict=verdict, flaw=flaw)
