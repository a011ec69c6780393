"""What a solver returns: beliefs, how far they can be trusted, and the trace of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property

from liftgbp.arrays import Floats
from liftgbp.solve.verdict import Verdict


class Status(Enum):
    """How a run ended."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged"
    DIVERGED = "diverged"
    IMPRECISE = "precision lost"
    NO_MINIMUM = "no trustworthy minimum"

    @property
    def meaning(self) -> str:
        """What the status says about the run, in words."""
        return {
            Status.CONVERGED: "neighbouring regions agree on their common marginals",
            Status.NOT_CONVERGED: "message passing has not converged",
            Status.DIVERGED: "message passing has diverged",
            Status.IMPRECISE: "the counts of this domain exceed double precision",
            Status.NO_MINIMUM: "no trustworthy minimum of the free energy was found",
        }[self]


@dataclass(frozen=True, eq=False)
class Point:
    """A stationary point of the free energy.

    `weight` is its share in the answer: zero for a saddle or an implausible point. `exact_log_z`
    is log Z without `plan.log_offset`, with digits for differences to other points if `precise`.
    """

    log_beliefs: Floats
    log_z: float
    weight: float
    verdict: Verdict
    exact_log_z: Decimal
    precise: bool

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a run.

    `log_beliefs` holds normalised log beliefs in the layout of the plan. `trace` tells for each
    iteration the residual (flooding) or the free energies of all starts (descent). `points` are the
    stationary points that descent found, the best first; the beliefs are their mixture. `judged` is
    the verdict on the best point, or what finds it out. `doubt` says in words what is wrong with a
    run that did not converge, and `remedy` what to try if the answer cannot be trusted.
    """

    solver: str
    status: Status
    iterations: int
    residual: float
    log_beliefs: Floats
    log_z: float
    trace: Floats
    judged: Verdict | Callable[[], Verdict]
    points: tuple[Point, ...] = ()
    doubt: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)
        self.trace.setflags(write=False)

    @cached_property
    def verdict(self) -> Verdict:
        """What is known about the best point."""
        return self.judged if isinstance(self.judged, Verdict) else self.judged()

    @property
    def converged(self) -> bool:
        """Whether the solver reached its goal."""
        return self.status is Status.CONVERGED

    @property
    def flaw(self) -> str:
        """What keeps the answer from being trusted, in words; empty if nothing does.

        This is the one place that decides about an answer: the solver has converged, the verdict on
        its best point is sound, and log Z does not fall short of what independent atoms reach.
        """
        if not self.converged:
            return self.doubt or self.status.meaning
        if self.verdict.flaw:
            return self.verdict.flaw
        short = self.verdict.shortfall(self.log_z)
        return f"log Z is {short:.3g} below what independent atoms reach" if short else ""

    @property
    def trusted(self) -> bool:
        """Whether the numbers can be used."""
        return not self.flaw

    @property
    def reason(self) -> str:
        """Why the numbers cannot be trusted, and what to try; empty if they can."""
        flaw = self.flaw
        return f"{flaw}; {self.remedy}" if flaw and self.remedy else flaw
