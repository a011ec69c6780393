"""What a solver returns: beliefs, how far they can be trusted, and the trace of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property

from liftgbp.arrays import Floats
from liftgbp.errors import counted
from liftgbp.pictures.cards import (
    BAD,
    GOOD,
    HasCard,
    SeveralShown,
    Shown,
    badge,
    bar,
    note,
    table,
)
from liftgbp.pictures.markup import Content
from liftgbp.solve.verdict import Verdict


class Status(HasCard, Enum):
    """How a run ended.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> hasty = liftgbp.Flooding(iterations=2)
    >>> status = liftgbp.infer(model, {"person": 20}, solver=hasty).result.status
    >>> status is liftgbp.Status.NOT_CONVERGED, status.meaning
    (True, 'message passing has not converged')
    """

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged"
    DIVERGED = "diverged"
    IMPRECISE = "precision lost"
    NO_MINIMUM = "no trustworthy minimum"

    def _headline(self) -> str:
        return f"{self.value}: {self.meaning}"

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


class Remedy(Enum):
    """What to try if an answer cannot be trusted: in words, in Python and on the command line."""

    DESCENT = ("descent", "solver=liftgbp.Descent()", "--solver descent")
    DAMPING = (
        "more damping and more iterations",
        "solver=liftgbp.Flooding(damping=0.9, iterations=5000)",
        "--solver flooding --damping 0.9 --iterations 5000",
    )
    EFFORT = ("more effort", "effort='normal'", "--effort normal")
    BLOCKS = ("blocks", "blocks='auto'", "--blocks auto")
    REGIONS = ("other regions", "regions='auto'", "--regions auto")
    BETHE = ("small regions", "regions='bethe'", "--regions bethe")
    SUM_OVER = ("a sum over counts", "sum_over='auto'", "--sum-over auto")

    @property
    def python(self) -> str:
        """The argument of `infer`."""
        return self.value[1]

    @property
    def options(self) -> str:
        """The options of the command line."""
        return self.value[2]

    def __str__(self) -> str:
        return f"{self.value[0]} ({self.python}, {self.options})"


def reason(flaw: str, remedies: Sequence[Remedy]) -> str:
    """One sentence: what is wrong, and what to try; empty if nothing is wrong.

    >>> reason("message passing has diverged", [Remedy.DESCENT])
    'message passing has diverged; try descent (solver=liftgbp.Descent(), --solver descent)'
    """
    advice = " or ".join(map(str, remedies))
    return f"{flaw}; try {advice}" if flaw and advice else flaw


@dataclass(frozen=True, eq=False, repr=False)
class Point(Shown):
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

    def _headline(self) -> str:
        share = f", share {self.weight:.4g}" if self.weight else ""
        return f"log Z {self.log_z:.10g}{share}: {self.verdict.kind.value}"

    def _body(self) -> Iterable[Content]:
        return self.verdict._body()


class Points(SeveralShown[Point]):
    """Stationary points of the free energy, the best first."""

    __slots__ = ()

    def _body(self) -> Iterable[Content]:
        if not self:
            return [note("no stationary points to show")]
        rows = [
            (
                f"{point.log_z:.10g}",
                bar(point.weight) if point.weight else "",
                f"{point.weight:.4f}" if point.weight else "",
                str(point.verdict),
            )
            for point in self
        ]
        return [table(("log Z", "", "share", "what it is"), rows, numbers=[0, 2])]


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Shown):
    """The end of a run.

    `log_beliefs` holds normalised log beliefs in the layout of the plan. `trace` tells for each
    iteration the residual (flooding) or the free energies of all starts (descent). `points` are the
    stationary points that descent found, the best first; the beliefs are their mixture. `judged` is
    the verdict on the best point, or what finds it out. `doubt` says in words what is wrong with a
    run that did not converge, `unsettled_region` where that shows most, and `remedies` are
    worth a try if the answer cannot be trusted.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> solution = liftgbp.infer(model, {"person": 20}, effort="quick").result
    >>> solution.solver, solution.converged, len(solution.points)
    ('descent', True, 3)
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
    unsettled_region: int | None = None
    remedies: tuple[Remedy, ...] = ()

    def __post_init__(self) -> None:
        self.log_beliefs.setflags(write=False)
        self.trace.setflags(write=False)

    @cached_property
    def verdict(self) -> Verdict:
        """What is known about the best point."""
        return self.judged if isinstance(self.judged, Verdict) else self.judged()

    def _headline(self) -> str:
        ended = f"{self.status.value} after {counted(self.iterations, 'iteration')}"
        trust = "trusted" if self.trusted else f"not trusted: {self.flaw}"
        return f"{self.solver}, {ended}, log Z {self.log_z:.10g}, {trust}"

    def _body(self) -> Iterable[Content]:
        yield badge(GOOD, "trusted") if self.trusted else badge(BAD, self.reason)
        if self.points:
            yield from Points(self.points)._body()
        else:
            yield from self.verdict._body()

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
    def flaw(self) -> str:
        """What keeps the answer from being trusted, in words; empty if nothing does.

        This is the one place that decides about an answer: the solver has converged, the verdict on
        its best point is sound, and log Z lies within the bounds that are known.
        """
        if not self.converged:
            return self.doubt or self.status.meaning
        if self.verdict.flaw:
            return self.verdict.flaw
        return self.verdict.outside_text(self.log_z)

    @property
    def region(self) -> int | None:
        """The number of the region where the flaw shows most, if it is known."""
        known = self.unsettled_region
        return self.verdict.region if known is None else known

    @property
    def trusted(self) -> bool:
        """Whether the numbers can be used."""
        return not self.flaw

    @property
    def reason(self) -> str:
        """Why the numbers cannot be trusted, and what to try; empty if they can."""
        return reason(self.flaw, self.remedies)
