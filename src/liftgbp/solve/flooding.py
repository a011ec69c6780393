"""Parent-to-child message passing with a flooding schedule, as in Apsel's paper.

    log b = theta + exponents @ m
    m    += (1 - damping) * (log of the parent's marginal - log of the child's belief)

All messages start at zero and are updated at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.energy import logs_z
from liftgbp.solve.findings import Algorithm, Finding, Flaw, SolvedBy, Status
from liftgbp.solve.flood import Flood
from liftgbp.solve.mean_field import log_z_bounds
from liftgbp.solve.solution import Remedy, Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, Verdict, classify, curvatures_at, is_small
from liftgbp.support.arrays import Floats, stacked_rows
from liftgbp.support.errors import InputError, checked_flag, checked_number, shown, wrong_type
from liftgbp.support.progress import Progress, silent
from liftgbp.support.shown import HasCard

JUDGED_TOGETHER = 64
"""How many runs of a batch are judged at once. Fewer would not be faster; of a sum over 400 counts,
ten have any weight, and the others are never judged (friends-smokers)."""


def check_tolerance(tol: float) -> None:
    """Refuse a tolerance that no residual could reach, or that any start would meet."""
    if not isinstance(tol, Real) or not tol > 0:
        raise InputError(f"tol must be a positive number, got {shown(tol)}")


def check_tolerances(given: object) -> None:
    """Refuse what are no tolerances."""
    if not isinstance(given, Tolerances):
        raise wrong_type("tolerances", "Tolerances(...)", given)


@dataclass(frozen=True, slots=True)
class Flooding(HasCard):
    """Configuration of a flooding run.

    It stops when the residual falls below `tol`, or below what rounding allows, and after this many
    iterations, each of which updates all messages once. With `adaptive`, the damping grows whenever
    the residual does, and shrinks slowly otherwise.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> flooding = liftgbp.Flooding(damping=0.3, iterations=200)
    >>> answers = liftgbp.infer(model, {"person": 4}, solver=flooding)
    >>> round(answers.marginal("friends(x,y)"), 4), answers.result.status.value
    (0.442, 'converged')
    """

    damping: float = 0.5
    iterations: int = 500
    tol: float = 1e-12
    adaptive: bool = False
    tolerances: Tolerances = field(default=Tolerances(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.damping, Real) or not 0 <= self.damping < 1:
            raise InputError(f"damping must be at least 0 and below 1, got {shown(self.damping)}")
        checked_number("iterations", self.iterations, least=1)
        check_tolerance(self.tol)
        checked_flag("adaptive", self.adaptive)
        check_tolerances(self.tolerances)

    def __call__(self, plan: Plan, progress: Progress = silent) -> Solution:
        """Run until the messages agree or the iterations are used up."""
        return self.solve_all([plan], progress)[0]

    def solve_all(self, plans: Sequence[Plan], progress: Progress = silent) -> list[Solution]:
        """The solutions of plans with one layout, processed as a batch."""
        batch = FloodedBatch(self.ends(plans, progress), self.tolerances)
        return [batch.solution(k) for k in range(len(plans))]

    def ends(
        self,
        plans: Sequence[Plan],
        progress: Progress = silent,
        messages: Floats | None = None,
        known: Sequence[Floats] = (),
    ) -> list[FloodEnd]:
        """Where runs on plans with one layout end; messages start at zero unless they are given.

        Runs that come near to a known stable point go on to it, and end there; `known` has the log
        beliefs of each.
        """
        own = self.tolerances
        large = plans[0].layout.belief_entries > own.most_restarted
        if len(plans) > 1 and large:
            # Memory is what limits large runs, and together they would not be faster.
            starts = [None] * len(plans) if messages is None else np.split(messages, len(plans))
            each = zip(plans, starts, strict=True)
            return [self.ends([plan], progress, start, known)[0] for plan, start in each]
        with np.errstate(over="ignore", invalid="ignore"):
            flood = self._flood(plans, messages, large=large)
            ends: dict[int, FloodEnd] = {}
            rows = np.arange(len(plans))
            history: list[Floats] = []
            # Differences of one part in N look like agreement until they have passed through all
            # levels of the graph, where N of them act together: first residuals say nothing.
            warmup = 2 * plans[0].layout.levels
            for updates in range(self.iterations + 1):
                history.append(flood.residual)
                ready = updates >= warmup
                done = ready & flood.settled(self.tol) | ~np.isfinite(flood.residual)
                if updates % own.looked_around == 0:
                    for log_beliefs in known:
                        done |= flood.near(log_beliefs)
                if updates == self.iterations:
                    done[:] = True
                if done.any():
                    accepted = ready & flood.settled(max(self.tol, own.flooding_acceptable))
                    traces = np.array(history).T
                    for k in np.flatnonzero(done).tolist():
                        plan, trace = flood.plans[k], traces[k].copy()
                        status = self._status(plan, trace, warmup, accepted[k])
                        region = None if status is Status.CONVERGED else flood.least_settled(k)
                        ends[int(rows[k])] = FloodEnd(
                            plan, flood.log_beliefs[k].copy(), trace, status, region
                        )
                    if done.all():
                        break
                    flood.keep(np.flatnonzero(~done))
                    rows, history = rows[~done], [residual[~done] for residual in history]
                progress("passing messages", updates + 1, self.iterations)
                flood.step()
            return [ends[k] for k in range(len(plans))]

    def _flood(
        self, plans: Sequence[Plan], messages: Floats | None = None, *, large: bool = False
    ) -> Flood:
        rate = 1 - float(self.damping)
        return Flood(plans, rate, self.adaptive, self.tolerances, messages, large=large)

    def iterates(self, plan: Plan) -> Iterator[Floats]:
        """The normalised log beliefs before the first update, after it, and so on."""
        flood = self._flood([plan])
        while True:
            yield flood.log_beliefs[0].copy()
            flood.step()

    def _status(self, plan: Plan, trace: Floats, warmup: int, accepted: bool) -> Status:
        if accepted:
            precise = digits_suffice(plan, self.tolerances)
            return Status.CONVERGED if precise else Status.IMPRECISE
        growing = not trace[-1] <= self.tolerances.diverged * trace[: warmup + 1].max()
        return Status.DIVERGED if growing else Status.NOT_CONVERGED


@dataclass(frozen=True, eq=False, slots=True)
class FloodEnd:
    """Where the run on one plan has ended; if it has not converged, `region` shows that most."""

    plan: Plan
    log_beliefs: Floats
    trace: Floats
    status: Status
    region: int | None

    @property
    def doubt(self) -> Finding | None:
        """What is wrong with a run that has not converged."""
        if self.status is Status.CONVERGED:
            return None
        if self.status is not Status.NOT_CONVERGED:
            return Finding(self.status, region=self.region)
        numbers = len(self.trace) - 1, float(self.trace[-1])
        return Finding(Flaw.OUT_OF_ITERATIONS, numbers, self.region)


class FloodedBatch:
    """Runs that ended together; when one is judged, its neighbours are, too."""

    def __init__(self, ends: Sequence[FloodEnd], tolerances: Tolerances) -> None:
        self._ends = ends
        self._tolerances = tolerances
        self._judged: dict[int, list[Verdict]] = {}
        plans = [end.plan for end in ends]
        small = is_small(plans[0].layout, tolerances)
        self._remedies = (Remedy.DESCENT if small else Remedy.DAMPING,)
        with np.errstate(over="ignore", invalid="ignore"):
            self._logs_z = logs_z(plans, stacked_rows([end.log_beliefs for end in ends]))

    def solution(self, k: int) -> Solution:
        """The solution of one run."""
        end = self._ends[k]
        return Solution(
            solver=SolvedBy(Algorithm.FLOODING),
            status=end.status,
            iterations=len(end.trace) - 1,
            residual=float(end.trace[-1]),
            log_beliefs=end.log_beliefs,
            log_z=self._logs_z[k],
            trace=end.trace,
            judged=lambda: self._verdicts(k // JUDGED_TOGETHER)[k % JUDGED_TOGETHER],
            doubt=end.doubt,
            remedies=self._remedies,
        )

    def _verdicts(self, part: int) -> list[Verdict]:
        if part not in self._judged:
            first = part * JUDGED_TOGETHER
            own = slice(first, first + JUDGED_TOGETHER)
            self._judged[part] = self._verdicts_on(self._ends[own], self._logs_z[own])
        return self._judged[part]

    def _verdicts_on(self, ends: Sequence[FloodEnd], logs_z: list[float]) -> list[Verdict]:
        # Regions that share nothing are exact: their log Z is the best bound of itself.
        bounds = logs_z
        if ends[0].plan.layout.message_entries:
            bounds = log_z_bounds([end.plan for end in ends], self._tolerances)
        return verdicts_on(ends, bounds, self._tolerances)


def verdicts_on(
    ends: Sequence[FloodEnd], bounds: Sequence[float], tolerances: Tolerances
) -> list[Verdict]:
    """The verdicts on runs on plans with one layout, whose true log Z are at least these."""
    with np.errstate(over="ignore", invalid="ignore"):
        logs = stacked_rows([end.log_beliefs for end in ends])
        curvatures = _curvatures(ends, logs, tolerances)
        beliefs = np.exp(logs)
    candidates = [
        Candidate(
            end.plan,
            beliefs[k],
            log_z_bound=bounds[k],
            residual=float(end.trace[-1]),
            lowest=curvatures[k][0],
            unsettled=curvatures[k][1],
        )
        for k, end in enumerate(ends)
    ]
    return classify(candidates, tolerances)


def _curvatures(
    ends: Sequence[FloodEnd], logs: Floats, tolerances: Tolerances
) -> list[tuple[float | None, Finding | None]]:
    """The smallest curvatures where runs converged; why there are none for the others."""
    found: list[tuple[float | None, Finding | None]] = [(None, end.doubt) for end in ends]
    good = [k for k, end in enumerate(ends) if end.status is Status.CONVERGED]
    if good:
        plans = [ends[k].plan for k in good]
        rows = logs if len(good) == len(ends) else logs[good]
        for k, own in zip(good, curvatures_at(plans, rows, tolerances), strict=True):
            found[k] = own
    return found


def digits_suffice(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether messages times their exponents still have the digits that matter."""
    largest = float(np.abs(plan.exponents.values).max(initial=0.0))
    return bool(largest * np.finfo(float).eps <= tolerances.acceptable)


def flooded_logs(plans: Sequence[Plan], iterations: int, tolerances: Tolerances) -> Floats:
    """The log beliefs after some iterations, one row per plan; diverging ones may not be finite.

    Where messages have too few digits, they are undefined. It ends once all beliefs are good enough
    to start from.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        flood = Flood(plans, 0.5, adaptive=True, tolerances=tolerances)
        for _ in range(iterations):
            if (flood.residual <= tolerances.acceptable).all():
                break
            flood.step()
        precise = np.array([digits_suffice(plan, tolerances) for plan in plans])
        return np.where(precise[:, None], flood.log_beliefs, np.nan)
