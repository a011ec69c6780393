"""From the ends of many descents to an answer: the mixture of the minima among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.counted_twice import without_parts
from liftgbp.solve.ends import End, distinct_ends, judged_points, located_end
from liftgbp.solve.energy import rounding_hides_entropy, scale_of
from liftgbp.solve.findings import Algorithm, Finding, Flaw, SolvedBy, Status
from liftgbp.solve.further import Further
from liftgbp.solve.images import DIGITS, Places, best_first, completed
from liftgbp.solve.missing import missing_worlds
from liftgbp.solve.solution import Point, Remedy, Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Kind
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InputError

REMEDIES = (Remedy.EFFORT, Remedy.BLOCKS, Remedy.REGIONS, Remedy.BETHE, Remedy.SUM_OVER)
"""What to try if descent finds no answer; not all of it applies to every model."""


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
    bound of log Z is refused.
    """
    if not all(ends):
        raise InputError("no consistent beliefs were found to start from; try solver=Flooding()")
    convex = not plans[0].layout.message_entries
    distinct = [distinct_ends(own, tolerances)[: 1 if convex else None] for own in ends]
    located = [
        [located_end(end, own, bound, tolerances) for end in own]
        for own, bound in zip(distinct, lower_bounds, strict=True)
    ]
    solutions = []
    for k, judged in enumerate(judged_points(located, tolerances)):
        plan = plans[k]
        further = Further(plan, distinct[k], starts[k], lower_bounds[k], tolerances)
        points = [own.point for own in further.completed(judged)]
        if images:
            points = completed(plan, points, tolerances)
        points = without_parts(plan, points, tolerances)
        points, doubt = _weighted(plan, points, tolerances)
        if images and doubt is not None and doubt.kind is Flaw.TOO_LIGHT:
            points, doubt = _with_missing(plan, points, doubt, lower_bounds[k], tolerances)
        solutions.append(_solution(ends[k], points, doubt))
    return solutions


def _with_missing(
    plan: Plan, points: list[Point], doubt: Finding, bound: float, tolerances: Tolerances
) -> tuple[list[Point], Finding | None]:
    """Points that fall short of a bound, with the worlds that they lack, if all is well then."""
    missing = missing_worlds(plan, points, bound, tolerances)
    whole = completed(plan, points + missing, tolerances)
    further, other = _weighted(plan, whole, tolerances)
    return (points, doubt) if other is not None else (further, None)


def _solution(ends: list[End], points: list[Point], doubt: Finding | None) -> Solution:
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    return Solution(
        solver=SolvedBy(Algorithm.DESCENT),
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


# --- the mixture


def mixed(solution: Solution, plan: Plan, points: list[Point], tolerances: Tolerances) -> Solution:
    """The end of a run with several points and their images instead of the one that it reached."""
    points = without_parts(plan, completed(plan, points, tolerances), tolerances)
    points, doubt = _weighted(plan, points, tolerances)
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
    plan: Plan, points: list[Point], tolerances: Tolerances
) -> tuple[list[Point], Finding | None]:
    """The points with their shares, best first, and what is missing from them, if anything is.

    What is no plausible minimum has no share.
    """
    # Where counts are large, curvatures may be as small as one in so many.
    if tolerances.zero_curvature * scale_of(plan) <= 1:
        points = _with_valleys(points, tolerances)
    sound = best_first(point for point in points if point.verdict.sound)
    others = best_first(point for point in points if not point.verdict.sound)
    if sound:
        # What has not settled, and is impossible where it is, is no point at all.
        others = [p for p in others if p.verdict.plausible or p.verdict.kind is not Kind.UNKNOWN]
    # Polishing may have moved points to the same place.
    places = Places(tolerances.same)
    points = [p for p in [*sound, *others] if places.add(np.exp(p.log_beliefs))]
    good = [point for point in points if point.verdict.sound]
    if not good:
        return points, points[0].verdict.flaw
    shares = np.exp([_difference(point, good[0]) for point in good])
    total = good[0].log_z + float(np.log(shares.sum()))
    if short := good[0].verdict.outside(total):
        return points, short
    if any(point.verdict.crowded and point.log_z > total for point in points):
        return points, Finding(Flaw.CROWDED_RIVAL)
    if rounding_hides_entropy(plan, tolerances):
        # Points are proven, but doubles did not see where to look for others.
        return points, Finding(Flaw.HIDDEN_ENTROPY)
    weighted = [
        replace(point, weight=float(share))
        for point, share in zip(good, shares / shares.sum(), strict=True)
    ]
    if len(good) > 1 and not all(point.precise for point in good):
        return points, Finding(Flaw.FEW_DIGITS)
    if _misses_a_minimum(plan, points, total, tolerances):
        return points, Finding(Flaw.MISSED_MINIMUM)
    if _has_open_rival(plan, points, weighted, tolerances):
        return points, Finding(Flaw.OPEN_RIVAL)
    return weighted + points[len(good) :], None


def _difference(one: Point, other: Point) -> float:
    """By how much the log Z of a point exceeds that of another one."""
    return float(DIGITS.subtract(one.exact_log_z, other.exact_log_z))


def _with_valleys(points: list[Point], tolerances: Tolerances) -> list[Point]:
    """Points with a mark on flat ones that others are as good as: beliefs are open there."""

    def is_flat(point: Point) -> bool:
        curvature = point.verdict.curvature or 0.0
        open_still = point.verdict.sound and not point.verdict.proven
        open_still &= point.verdict.kind is not Kind.PRODUCT
        return open_still and abs(curvature) < tolerances.zero_curvature

    def equals(one: Point, other: Point) -> bool:
        level = tolerances.level
        return math.isclose(one.log_z, other.log_z, rel_tol=level, abs_tol=level)

    flat = [point for point in points if is_flat(point)]
    in_valleys = [p for p in flat if any(p is not other and equals(p, other) for other in flat)]
    return [
        replace(p, verdict=p.verdict.as_valley()) if any(p is q for q in in_valleys) else p
        for p in points
    ]


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


def _has_open_rival(
    plan: Plan, points: list[Point], minima: list[Point], tolerances: Tolerances
) -> bool:
    """Whether it is not known what some point is that may be a part of the answer.

    Its log Z is known up to rounding of the largest counts, unless it has more digits.
    """
    noise = tolerances.rounding * float(scale_of(plan))
    for point in points:
        short = _difference(minima[0], point) - (0.0 if point.precise else noise)
        unknown = point.verdict.kind is Kind.UNKNOWN and point.verdict.plausible
        if unknown and short < tolerances.rival_log_z and not _is_near(point, minima, tolerances):
            return True
    return False


def _is_near(point: Point, minima: list[Point], tolerances: Tolerances) -> bool:
    """Whether a point is a minimum, or on its way there."""
    beliefs = np.exp(point.log_beliefs)
    same = tolerances.far * beliefs.max(initial=0.0)
    return any(np.abs(np.exp(p.log_beliefs) - beliefs).max(initial=0.0) < same for p in minima)


def _mixture(points: Sequence[Point]) -> Floats:
    if len(points) == 1:
        return points[0].log_beliefs
    mixed = sum(point.weight * np.exp(point.log_beliefs) for point in points)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mixed))


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + float(np.log(np.exp(np.array(values) - top).sum()))
