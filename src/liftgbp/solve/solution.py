"""What a solver returns: beliefs, a verdict with advice, and the trace of the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Status(Enum):
    """How a run ended; the text is advice for a person."""

    CONVERGED = "converged"
    ITERATIONS = "not converged"
    DIVERGED = "diverged"

    @property
    def advice(self) -> str:
        """What to make of the numbers, and what to try."""
        return {
            Status.CONVERGED: "neighbouring regions agree on their common marginals",
            Status.ITERATIONS: "the messages still change: do not trust these numbers; "
            "try more iterations, or more damping such as 0.9",
            Status.DIVERGED: "the messages grow without bound: do not trust these numbers; "
            "try more damping such as 0.9, smaller weights, or other regions",
        }[self]


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a run.

    `log_beliefs` holds normalised log beliefs in the layout of the plan; `trace` the residual of
    each iteration: how far parents' log marginals are from their children's log beliefs, or how far
    the last update moved a log belief, whichever is larger.
    """

    solver: str
    status: Status
    iterations: int
    residual: float
    log_beliefs: NDArray[np.float64]
    log_z: float
    trace: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)
        self.trace.setflags(write=False)

    @property
    def converged(self) -> bool:
        """Whether the numbers can be used."""
        return self.status is Status.CONVERGED
