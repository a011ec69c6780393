"""From the ends of many descents to an answer: distinct points, their verdicts, their mixture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.solve.images import Places, completed
from liftgbp.solve.newton import Step, newton_step
from liftgbp.solve.precision import Polished, is_comparable, needs_digits, polish
from liftgbp.solve.problem import Energy, scale_of
from liftgbp.solve.solution import Point, Remedy, Solution, Status
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, Kind, Verdict, classify, is_possible
from liftgbp.values import dataclass

REMEDIES = (Remedy.EFFORT, Remedy.BLOCKS, Remedy.REGIONS, Remedy.BETHE, Remedy.SUM_OVER)
"""What to try if descent finds no answer; not all of it applies to every model."""


RISES = "rounding made beliefs zero that should not be"
"""Why a point on the boundary is not stationary."""


@dataclass(frozen=True, eq=False, slots=True)
class End:
    """Where one start has ended: its row in a batch of free energies, and the last Newton step.

    `falls_inwards` says that it lies on the boundary, but the free energy falls away from there.
    """

    energy: Energy
    row: int
    outer: Floats
    value: float
    step: Step
    settled: bool
    iterations: int
    trace: tuple[float, ...]
    falls_inwards: bool = False

    @property
    def scale(self) -> int:
        """What the value was divided by."""
        return self.energy.scale[self.row]

    @property
    def beliefs(self) -> Floats:
        """The beliefs of all regions."""
        return self.energy.consistent.all_entries(self.outer)

    @property
    def unsettled(self) -> str:
        """Why it is not stationary, in words; empty if it is."""
        if not self.settled:
            return "descent stopped before it reached a minimum of the free energy"
        return RISES if self.falls_inwards else ""


def solutions_of(
    plans: Sequence[Plan],
    ends: Sequence[list[End]],
    starts: Sequence[Sequence[Floats]],
    lower_bounds: Sequence[float],
    tolerances: Tolerances,
    *,
    images: bool = True,
) -> list[Solution]:
    """For each plan, the mixture of the minima among the ends of all its starts.

    With `images`, those under the symmetries of the plan are part of it. An answer below a lower
    bound of log Z is not trusted.
    """
    if not all(ends):
        raise InputError("no consistent beliefs were found to start from; try solver=Flooding()")
    found = [
        _marked(_distinct(own, tolerances), first, tolerances)
        for own, first in zip(ends, starts, strict=True)
    ]
    polished = _polish(plans, found, tolerances)
    points = _points(plans, found, polished, starts, lower_bounds, tolerances)
    if images:
        points = [completed(plan, own, tolerances) for plan, own in zip(plans, points, strict=True)]
    return [
        _solution(own, *_weighted(plan, own, judged, tolerances))
        for plan, own, judged in zip(plans, ends, points, strict=True)
    ]


def _solution(ends: list[End], points: list[Point], doubt: str) -> Solution:
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    return Solution(
        solver="descent",
        status=Status.CONVERGED if good else Status.NO_MINIMUM,
        iterations=max(end.iterations for end in ends),
        residual=max(point.verdict.residual for point in shown),
        log_beliefs=_mixture(shown),
        log_z=_log_sum([point.log_z for point in shown]),
        trace=float(ends[0].scale) * _columns([list(end.trace) for end in ends]),
        judged=shown[0].verdict,
        points=tuple(points),
        doubt=doubt,
        remedies=REMEDIES,
    )


def _columns(traces: list[list[float]]) -> Floats:
    """Traces side by side; parts of a batch that ended early stay where they are."""
    longest = max(map(len, traces))
    return np.array([own + own[-1:] * (longest - len(own)) for own in traces]).T


# --- distinct ends


def _distinct(ends: list[End], tolerances: Tolerances) -> list[End]:
    """One of all the starts that reached the same end, those that settled first.

    Beliefs that are zero stay so, so a point without zeros may be the better one. Where tiny
    beliefs have lost their digits, curvatures are too small, never too large.
    """

    def best_first(end: End) -> tuple[bool, float, int, float]:
        zeros = int((end.outer <= tolerances.zero_belief).sum())
        value = round(end.value / tolerances.bound_slack)
        return not end.settled, value, zeros, -float(end.step.lowest)

    kept: list[End] = []
    for end in sorted(ends, key=best_first):
        same = tolerances.same
        if not end.settled:
            same = max(same, tolerances.unsettled_same * float(end.step.residual))
        if not any(np.abs(end.outer - other.outer).max(initial=0.0) < same for other in kept):
            kept.append(end)
    return kept


def _marked(ends: list[End], starts: Sequence[Floats], tolerances: Tolerances) -> list[End]:
    """The ends with a mark on those that only rounding holds on the boundary."""
    outer = [end.outer for end in ends]
    return [
        replace(end, falls_inwards=True)
        if _falls_inwards(end, np.array(outer), tolerances)
        or _rises_from_zero(end, [*starts, *outer], tolerances)
        else end
        for end in ends
    ]


def _falls_inwards(end: End, others: Floats, tolerances: Tolerances) -> bool:
    """Whether the free energy falls from a point on the boundary towards the end of another start.

    Then the minimum lies between them, where curvature is lost in rounding.
    """
    if (end.outer > tolerances.zero_belief).all():
        return False
    inwards = others - end.outer
    energy = end.energy[np.array([end.row])]
    gradient = energy.gradient(end.outer + tolerances.inwards * inwards)
    slope = np.einsum("sd,sd->s", gradient, inwards)
    size = np.einsum("sd,sd->s", np.abs(gradient), np.abs(inwards))
    # A point that has not quite settled has a slope of its own.
    slack = max(tolerances.rounding, float(end.step.residual))
    return bool((slope < -slack * size).any())


def _rises_from_zero(end: End, others: Sequence[Floats], tolerances: Tolerances) -> bool:
    """Whether beliefs that are zero would show at the minimum, on the way to other points."""
    log_part, log_gain = _inwards(end, end.outer, float(end.step.residual), others, tolerances)
    rises = log_part > math.log(tolerances.belief_accuracy)
    return bool((rises | (log_gain > math.log(tolerances.share_accuracy))).any())


def _rises_far(
    end: End, polished: Polished, others: Sequence[Floats], tolerances: Tolerances
) -> bool:
    """Whether beliefs that are zero would be so large at the minimum that log Z is another one.

    Where counts are large, only a polished point has the digits to tell. Points that differ from it
    by rounding alone show no way that keeps beliefs consistent.
    """
    away = [
        own for own in others if np.abs(own - polished.outer).max(initial=0.0) > tolerances.rounding
    ]
    if not away:
        return False
    _, log_gain = _inwards(end, polished.outer, polished.residual, away, tolerances)
    return bool((log_gain > math.log(tolerances.gained_inwards)).any())


def _inwards(
    end: End, outer: Floats, residual: float, others: Sequence[Floats], tolerances: Tolerances
) -> tuple[Floats, Floats]:
    """How far a minimum lies from a point on the boundary, on the way to each of some others.

    `outer` are the beliefs of an end, polished or not, and `residual` is how far it is from
    stationary. A part t of the way, the free energy has changed by t (a + k log t), where k is what
    the entropy of all beliefs that are zero counts for. If k is positive, that is least at log t =
    -1 - a/k, where it is -k t. The results are log t, at least, and log k t; minus infinity if the
    point itself is the minimum.
    """
    nowhere = np.full(len(others), -math.inf)
    if (outer > tolerances.zero_belief).all():
        return nowhere, nowhere
    energy = end.energy[np.array([end.row])]
    slope, entropy, size = energy.from_zero(outer, np.array(others))
    counts = entropy > tolerances.rounding * size
    share = np.where(counts, entropy, 1.0)
    # A point that has not quite settled has a slope of its own.
    slack = max(tolerances.rounding, residual) * size / share
    log_part = np.where(counts, -1 - slope / share - slack, -math.inf)
    return log_part, np.log(share) + math.log(end.scale) + log_part


# --- digits


@dataclass(frozen=True, eq=False, slots=True)
class _Closer:
    """What polishing makes of an end, with the Newton step there."""

    polished: Polished
    step: Step


def _polish(
    plans: Sequence[Plan], ends: Sequence[list[End]], tolerances: Tolerances
) -> dict[int, _Closer]:
    """The ends that need more digits than doubles have, by their identity."""
    rough = [
        (plan, end)
        for plan, own in zip(plans, ends, strict=True)
        for end in own
        if _is_rough(plan, end, own, tolerances)
    ]
    if not rough:
        return {}
    consistent = rough[0][1].energy.consistent
    outer = [end.outer for _, end in rough]
    found = polish([plan for plan, _ in rough], consistent, outer, tolerances)
    done = [(plan, end, one) for (plan, end), one in zip(rough, found, strict=True)]
    closer: dict[int, _Closer] = {}
    for part in consistent.batches(done, tolerances.most_numbers):
        energy = Energy([plan for plan, _, _ in part], consistent, tolerances)
        steps = newton_step(energy, np.array([one.outer for _, _, one in part]))
        for k, (_, end, one) in enumerate(part):
            closer[id(end)] = _Closer(one, steps.row(k))
    return closer


def _is_rough(plan: Plan, end: End, ends: list[End], tolerances: Tolerances) -> bool:
    """Whether rounding would show in the marginals, in log Z or in the share of a point.

    Where counts are large, rounding may also be all that keeps a point from settling.
    """
    nearly = tolerances.acceptable if is_comparable(plan, tolerances) else tolerances.same

    def may_count(one: End) -> bool:
        rests = one.settled or one.step.residual <= nearly
        rises = one.step.lowest >= -tolerances.zero_curvature
        return bool(rests and rises) and not one.falls_inwards

    if not may_count(end):
        return False
    alone = sum(map(may_count, ends)) == 1
    log_z = plan.log_offset - end.value * float(end.scale)
    return _is_flat(end, tolerances) or needs_digits(plan, log_z, tolerances, alone=alone)


def _is_flat(end: End, tolerances: Tolerances) -> bool:
    """Whether rounding of the gradient moves the point, along its flattest direction."""
    return bool(tolerances.last_places > tolerances.belief_accuracy * end.step.flattest)


def _points(
    plans: Sequence[Plan],
    ends: Sequence[list[End]],
    polished: Mapping[int, _Closer],
    starts: Sequence[Sequence[Floats]],
    lower_bounds: Sequence[float],
    tolerances: Tolerances,
) -> list[list[Point]]:
    """The ends of each plan as points with their verdicts; all are judged at once."""
    located = [
        [_located(plan, end, polished.get(id(end)), first, bound, tolerances) for end in own]
        for plan, own, first, bound in zip(plans, ends, starts, lower_bounds, strict=True)
    ]
    verdicts = iter(classify([one.candidate for own in located for one in own], tolerances))
    return [[one.point(next(verdicts)) for one in own] for own in located]


@dataclass(frozen=True, eq=False, slots=True)
class _Located:
    """Where an end lies after polishing, and how well its free energy is known."""

    candidate: Candidate
    free_energy: Decimal
    precise: bool

    def point(self, verdict: Verdict) -> Point:
        offset = Decimal(self.candidate.plan.log_offset)
        with np.errstate(divide="ignore"):
            log_beliefs = np.log(self.candidate.beliefs)
        log_z = float(offset - self.free_energy)
        # A minus sign would round to the digits of the context.
        exact = self.free_energy.copy_negate()
        return Point(log_beliefs, log_z, 0.0, verdict, exact, self.precise)


def _located(
    plan: Plan,
    end: End,
    closer: _Closer | None,
    starts: Sequence[Floats],
    lower_bound: float,
    tolerances: Tolerances,
) -> _Located:
    outer, step, unsettled = end.outer, end.step, end.unsettled
    residual = float(end.step.residual)
    free_energy, entropy = Decimal(end.value) * end.scale, None
    precise = is_comparable(plan, tolerances)
    if closer is not None and closer.polished.residual <= tolerances.acceptable:
        # What polishing moves may be more than what decides between minimum and saddle.
        outer, residual = closer.polished.outer, closer.polished.residual
        free_energy, entropy = closer.polished.free_energy, float(closer.polished.entropy)
        step, precise = closer.step, closer.polished.is_precise(plan, tolerances)
        unsettled = RISES if _rises_far(end, closer.polished, starts, tolerances) else ""
    elif closer is not None:
        # Where counts are small, a flat direction is a valley, not rounding.
        hides = _is_flat(end, tolerances) and not is_comparable(plan, tolerances)
        if hides or residual > tolerances.same:
            unsettled = "rounding hides the way to a minimum of the free energy"
    candidate = Candidate(
        plan,
        end.energy.consistent.all_entries(outer),
        log_z_bound=lower_bound,
        residual=residual,
        step=step,
        unsettled=unsettled,
        entropy=entropy,
    )
    return _Located(candidate, free_energy, precise)


# --- the mixture


def mixed(solution: Solution, plan: Plan, points: list[Point], tolerances: Tolerances) -> Solution:
    """The end of a run with several points and their images instead of the one that it reached."""
    points = completed(plan, points, tolerances)
    points, doubt = _weighted(plan, [], points, tolerances)
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    return replace(
        solution,
        status=Status.NO_MINIMUM if doubt else Status.CONVERGED,
        residual=max(point.verdict.residual for point in shown),
        log_beliefs=_mixture(shown),
        log_z=_log_sum([point.log_z for point in shown]),
        judged=shown[0].verdict,
        points=tuple(points),
        doubt=doubt,
    )


def _weighted(
    plan: Plan, ends: list[End], points: list[Point], tolerances: Tolerances
) -> tuple[list[Point], str]:
    """The points with their shares, best first, and what is missing from them, in words.

    What is no plausible minimum has no share.
    """
    points = _with_valleys(points, tolerances)
    points = sorted(points, key=lambda p: (not p.verdict.sound, -p.exact_log_z))
    points = _apart(points, tolerances)
    good = [point for point in points if point.verdict.sound]
    if not good:
        return points, points[0].verdict.flaw
    best = good[0].exact_log_z
    shares = np.exp([float(point.exact_log_z - best) for point in good])
    total = good[0].log_z + float(np.log(shares.sum()))
    if short := good[0].verdict.shortfall_text(total):
        return points, short
    if any(point.verdict.crowded and point.log_z > total for point in points):
        return points, "in a minimum with a larger log Z, atoms exclude each other too much"
    weighted = [
        replace(point, weight=float(share))
        for point, share in zip(good, shares / shares.sum(), strict=True)
    ]
    if len(good) > 1 and not all(point.precise for point in good):
        return points, "log Z has too few digits to compare the minima of the free energy"
    if _misses_a_minimum(plan, points, total, tolerances):
        return points, "a saddle has a larger log Z than all minima, so one was missed"
    if _has_hidden_rival(plan, points, weighted, tolerances):
        return points, "rounding hides a point that may weigh as much as the best one"
    if _has_unsettled_rival(plan, ends, good[0].log_z, points, tolerances):
        return points, "a point that weighs as much as the best one has not settled"
    return weighted + points[len(good) :], ""


def _with_valleys(points: list[Point], tolerances: Tolerances) -> list[Point]:
    """Points with a mark on flat ones that others are as good as: beliefs are open there."""

    def is_flat(point: Point) -> bool:
        curvature = point.verdict.curvature or 0.0
        return point.verdict.sound and abs(curvature) < tolerances.zero_curvature

    def equals(one: Point, other: Point) -> bool:
        level = tolerances.level
        return math.isclose(one.log_z, other.log_z, rel_tol=level, abs_tol=level)

    flat = [point for point in points if is_flat(point)]
    in_valleys = [p for p in flat if any(p is not other and equals(p, other) for other in flat)]
    return [
        replace(p, verdict=p.verdict.as_valley()) if any(p is q for q in in_valleys) else p
        for p in points
    ]


def _apart(points: list[Point], tolerances: Tolerances) -> list[Point]:
    """The points without those that polishing moved to the same place as an earlier one."""
    places = Places(tolerances.same)
    return [point for point in points if places.add(np.exp(point.log_beliefs))]


def _misses_a_minimum(
    plan: Plan, points: list[Point], log_z: float, tolerances: Tolerances
) -> bool:
    """Whether a possible saddle lies below all minima: the free energy falls from there to another.

    That one may be the saddle itself, if rounding hides its curvature.
    """
    noise = tolerances.rounding * float(scale_of(plan))
    most = log_z + max(noise, tolerances.rival_log_z)
    saddles = (p for p in points if p.verdict.kind is Kind.SADDLE and p.verdict.plausible)
    return any(point.log_z > most for point in saddles)


def _has_hidden_rival(
    plan: Plan, points: list[Point], minima: list[Point], tolerances: Tolerances
) -> bool:
    """Whether rounding keeps a point from being judged that may be a part of the answer.

    Its log Z is known up to rounding of the largest counts, unless it has more digits.
    """
    noise = tolerances.rounding * float(scale_of(plan))
    if noise < tolerances.rival_log_z:
        return False
    best = minima[0].exact_log_z
    for point in points:
        short = float(best - point.exact_log_z) - (0.0 if point.precise else noise)
        rivals = point.verdict.kind is Kind.UNKNOWN and short < tolerances.rival_log_z
        if rivals and not _is_near(point, minima, tolerances):
            return True
    return False


def _is_near(point: Point, minima: list[Point], tolerances: Tolerances) -> bool:
    """Whether a point is a minimum, or on its way there."""
    beliefs = np.exp(point.log_beliefs)
    same = tolerances.far * beliefs.max(initial=0.0)
    return any(np.abs(np.exp(p.log_beliefs) - beliefs).max(initial=0.0) < same for p in minima)


def _has_unsettled_rival(
    plan: Plan, ends: list[End], best: float, points: list[Point], tolerances: Tolerances
) -> bool:
    """Whether a part of the answer is missing.

    Where many beliefs are tiny, a point may have come to rest except for these, so that it is not
    known what it is. If it weighs as much as the best minimum, the minima alone are not the answer.
    What is near a point that was judged, a saddle perhaps, is known.
    """
    for end in ends:
        scale = float(end.scale)
        log_z = plan.log_offset - end.value * scale
        at_rest = -float(end.step.slope) * scale < tolerances.rival_at_rest
        if end.settled or not at_rest or abs(log_z - best) > tolerances.rival_log_z:
            continue
        beliefs = end.beliefs
        same = tolerances.far * beliefs.max(initial=0.0)
        near = (np.abs(np.exp(p.log_beliefs) - beliefs).max(initial=0.0) < same for p in points)
        if not any(near) and is_possible(plan, beliefs, tolerances):
            return True
    return False


def _mixture(points: Sequence[Point]) -> Floats:
    if len(points) == 1:
        return points[0].log_beliefs
    mixed = sum(point.weight * np.exp(point.log_beliefs) for point in points)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mixed))


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + float(np.log(np.exp(np.array(values) - top).sum()))
