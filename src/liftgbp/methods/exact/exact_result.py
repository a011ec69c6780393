"""What is said about exact answers, and how large a model may be for them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from liftgbp.solve import Finding, Kind, Point, Remedy, SolvedBy, Status, Verdict

TERM, FACTOR, VARIABLE = 32, 400, 2000
"""A count of cells, a ground factor and a variable take about as long as this many states, each of
which takes some 20 ns."""


@dataclass(frozen=True, slots=True)
class ExactLimits:
    """How large a model may be for an exact answer.

    terms      the most counts of cells
    states     the most entries of the tables of a junction tree, all together
    factors    the most ground factors
    variables  the most ground atoms
    """

    terms: int
    states: int
    factors: int
    variables: int

    @classmethod
    def of(cls, states: int) -> ExactLimits:
        """The limits that take about as long as tables with this many states."""
        return cls(states // TERM, states, states // FACTOR, states // VARIABLE)


@dataclass(frozen=True, eq=False, slots=True)
class ExactResult:
    """The result of exact inference: there is nothing to doubt."""

    solver: SolvedBy
    log_z: float
    status: Status = Status.CONVERGED
    iterations: int = 0
    residual: float = 0.0
    points: tuple[Point, ...] = ()
    flaw: Finding | None = None
    remedies: tuple[Remedy, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What is known about the answer: everything."""
        return Verdict(
            residual=0.0,
            curvature=None,
            kind=Kind.EXACT,
            entropy=math.nan,
            entropy_bound=math.inf,
            count_margin=math.inf,
            log_z_bound=-math.inf,
            log_z_slack=0.0,
        )

    def with_verdict(self, verdict: Verdict) -> ExactResult:
        """The same result: no verdict changes what is exact."""
        return self
