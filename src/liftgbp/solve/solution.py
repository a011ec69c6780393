"""What a solver returns: beliefs, a verdict with advice, and the trace of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from liftgbp.solve.verdict import Verdict


class Status(Enum):
    """How a run ended; the text is advice for a person."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged"
    DIVERGED = "diverged"
    IMPRECISE = "precision lost"
    NO_MINIMUM = "no trustworthy minimum"

    @property
    def advice(self) -> str:
        """What to make of the numbers, and what to try."""
        return {
            Status.CONVERGED: "neighbouring regions agree on their common marginals",
            Status.NOT_CONVERGED: "the messages still change: do not trust these numbers; "
            "try solver='descent', more iterations, or more damping such as 0.9",
            Status.DIVERGED: "the messages grow without bound: do not trust these numbers; "
            "try solver='descent', more damping such as 0.9, or other regions",
            Status.IMPRECISE: "the counts of this domain exceed double precision: do not trust "
            "these numbers; try solver='descent', or a smaller domain",
            Status.NO_MINIMUM: "no plausible minimum of the free energy was found: do not trust "
            "these numbers; try other regions, a sum over counts (sum_over), or smaller weights",
        }[self]


@dataclass(frozen=True, eq=False)
class Point:
    """A stationary point of the free energy.

    `weight` is its share in the answer: zero for a saddle or an implausible point.
    """

    log_beliefs: NDArray[np.float64]
    log_z: float
    weight: float
    verdict: Verdict

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a run.

    `log_beliefs` holds normalised log beliefs in the layout of the plan. `trace` tells for each
    iteration the residual (flooding) or the free energies of all starts (descent). `points` are the
    stationary points that descent found, the best first; the beliefs are their mixture. `judged` is
    the verdict, or what finds it out: sweeps do not ask for it.
    """

    solver: str
    status: Status
    iterations: int
    residual: float
    log_beliefs: NDArray[np.float64]
    log_z: float
    trace: NDArray[np.float64]
    judged: Verdict | Callable[[], Verdict]
    points: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)
        self.trace.setflags(write=False)

    @cached_property
    def verdict(self) -> Verdict:
        """How far the best point can be trusted."""
        return self.judged if isinstance(self.judged, Verdict) else self.judged()

    @property
    def converged(self) -> bool:
        """Whether the solver reached its goal."""
        return self.status is Status.CONVERGED

    @property
    def trusted(self) -> bool:
        """Whether the numbers can be used."""
        return self.converged and self.verdict.plausible

    @property
    def reason(self) -> str:
        """Why the numbers cannot be trusted, and what to try; empty if they can."""
        if self.trusted:
            return ""
        return str(self.verdict) if self.converged else self.status.advice
