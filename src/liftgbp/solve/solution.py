"""What a solver returns: beliefs, how far they can be trusted, and the trace of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property

from liftgbp.solve.findings import Finding, SolvedBy, Status
from liftgbp.solve.verdict import Verdict
from liftgbp.support.arrays import Floats
from liftgbp.support.shown import Reported


class Remedy(Enum):
    """What to try if an answer cannot be trusted."""

    DESCENT = auto()
    DAMPING = auto()
    EFFORT = auto()
    BLOCKS = auto()
    REGIONS = auto()
    BETHE = auto()
    SUM_OVER = auto()


@dataclass(frozen=True, eq=False, repr=False)
class Point(Reported):
    """A stationary point of the free energy.

    `weight` is its share in the answer: zero for a saddle or an implausible point. `exact_log_z`
    is log Z without `plan.log_offset`, with digits for differences to other points if `precise`.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 20}, effort="quick")
    >>> for point in answers.result.points:
    ...     print(point.verdict.kind.value, round(point.weight, 2))
    minimum 0.5
    minimum 0.5
    saddle 0.0
    """

    log_beliefs: Floats
    log_z: float
    weight: float
    verdict: Verdict
    exact_log_z: Decimal
    precise: bool

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)


class Points(Reported, tuple[Point, ...]):
    """Stationary points of the free energy, the best first."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Reported):
    """The end of a run.

    `log_beliefs` holds normalised log beliefs in the layout of the plan. `trace` tells for each
    iteration the residual (flooding) or the free energies of all starts (descent). `points` are the
    stationary points that descent found, the best first; the beliefs are their mixture. `judged` is
    the verdict on the best point, or what finds it out. `doubt` is what is wrong with a run that
    did not converge; `remedies` are worth trying if the answer cannot be trusted.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> solution = liftgbp.infer(model, {"person": 20}, effort="quick").result
    >>> solution.solver.algorithm.value, solution.converged, len(solution.points)
    ('descent', True, 3)
    """

    solver: SolvedBy
    status: Status
    iterations: int
    residual: float
    log_beliefs: Floats
    log_z: float
    trace: Floats
    judged: Verdict | Callable[[], Verdict]
    points: tuple[Point, ...] = ()
    doubt: Finding | None = None
    remedies: tuple[Remedy, ...] = ()

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)
        self.trace.setflags(write=False)

    @cached_property
    def verdict(self) -> Verdict:
        """What is known about the best point."""
        return self.judged if isinstance(self.judged, Verdict) else self.judged()

    def only(self, point: Point) -> Solution:
        """The same end of a run with one of its points instead of their mixture."""
        return replace(
            self,
            status=Status.CONVERGED,
            residual=point.verdict.residual,
            log_beliefs=point.log_beliefs,
            log_z=point.log_z,
            judged=point.verdict,
            points=(replace(point, weight=1.0),),
        )

    def with_verdict(self, verdict: Verdict) -> Solution:
        """The same end of a run, judged anew."""
        return replace(self, judged=verdict)

    @property
    def converged(self) -> bool:
        """Whether the solver reached its goal."""
        return self.status is Status.CONVERGED

    @property
    def flaw(self) -> Finding | None:
        """What keeps the answer from being trusted, if anything does.

        This is the one place that decides about an answer: the solver has converged, the verdict on
        its best point is sound, and log Z lies within the bounds that are known.
        """
        if not self.converged:
            return self.doubt or Finding(self.status)
        return self.verdict.flaw or self.verdict.outside(self.log_z)

    @property
    def sound(self) -> bool:
        """Whether the numbers can be used."""
        return self.flaw is None
