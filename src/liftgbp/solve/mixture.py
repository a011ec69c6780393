"""From the ends of many descents to an answer: distinct points, their verdicts, their mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.certified import (
    CertifiedPoint,
    Proof,
    beside,
    certify,
    followed,
    is_affordable,
)
from liftgbp.solve.counted_twice import without_parts
from liftgbp.solve.energy import Energy, rounding_hides_entropy, scale_of
from liftgbp.solve.exact_log_z import LogZ, is_comparable, known_log_z, needs_digits
from liftgbp.solve.findings import Algorithm, Finding, Flaw, SolvedBy, Status
from liftgbp.solve.images import DIGITS, Places, best_first, completed
from liftgbp.solve.missing import missing_worlds
from liftgbp.solve.search import PointBatch
from liftgbp.solve.solution import Point, Remedy, Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, Kind, Verdict, classify, is_possible
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InputError

REMEDIES = (Remedy.EFFORT, Remedy.BLOCKS, Remedy.REGIONS, Remedy.BETHE, Remedy.SUM_OVER)
"""What to try if descent finds no answer; not all of it applies to every model."""


@dataclass(frozen=True, eq=False)
class End:
    """Where one start has ended, and what the last Newton step says about it.

    row       its row in a batch of free energies and of points
    logs      the logs of outer beliefs
    value     the scaled free energy
    residual  the largest relative change of a belief
    """

    energy: Energy
    place: PointBatch
    row: int
    logs: Floats
    value: float
    residual: float
    settled: bool
    iterations: int
    trace: tuple[float, ...]

    @property
    def plan(self) -> Plan:
        """The plan that it belongs to."""
        return self.energy.plans[self.row]

    @cached_property
    def curvatures(self) -> Floats:
        """The curvatures."""
        return self.place.curvatures(np.array([self.row]))[self.row]

    @property
    def scale(self) -> int:
        """What the value was divided by."""
        return self.energy.scale[self.row]

    @property
    def outer(self) -> Floats:
        """The beliefs of outer regions."""
        return np.exp(self.logs)

    @property
    def beliefs(self) -> Floats:
        """The beliefs of all regions."""
        return self.energy.consistent.all_entries(self.outer)

    @property
    def unsettled(self) -> Finding | None:
        """Why it is not stationary, if it is not."""
        return None if self.settled else Finding(Flaw.UNSETTLED)

    @property
    def log_z(self) -> float:
        """Log Z without `plan.log_offset`, rounded."""
        return -self.value * float(self.scale)


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
    convex = not plans[0].layout.message_entries
    distinct = [_distinct(own, tolerances)[: 1 if convex else None] for own in ends]
    located = [
        [_located(end, own, bound, tolerances) for end in own]
        for own, bound in zip(distinct, lower_bounds, strict=True)
    ]
    solutions = []
    for k, judged in enumerate(_judged(located, tolerances)):
        plan = plans[k]
        further = _Further(plan, distinct[k], starts[k], lower_bounds[k], tolerances)
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
    further, other = _weighted(plan, points + missing, tolerances)
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


# --- distinct ends


def _distinct(ends: list[End], tolerances: Tolerances) -> list[End]:
    """One of all the starts that reached the same end, those that settled first.

    Beliefs that are zero stay so, so a point without zeros may be the better one.
    """

    def best_first(end: End) -> tuple[bool, float, int]:
        zeros = int((end.outer <= tolerances.zero_belief).sum())
        value = round(end.value / tolerances.bound_slack)
        return not end.settled, value, zeros

    places = Places(tolerances.same)
    return [end for end in sorted(ends, key=best_first) if places.add(end.outer)]


# --- proofs


@dataclass(frozen=True, eq=False, slots=True)
class _Located:
    """A point to be judged, and how well its log Z is known."""

    candidate: Candidate
    log_z: LogZ

    def judged(self, verdict: Verdict) -> _Judged:
        own = self.candidate
        with np.errstate(divide="ignore"):
            log_beliefs = np.log(own.beliefs) if own.proven is None else own.proven.log_beliefs
        log_z = float(DIGITS.add(Decimal(own.plan.log_offset), self.log_z.value))
        point = Point(log_beliefs, log_z, 0.0, verdict, self.log_z.value, self.log_z.precise)
        return _Judged(point, own.proven)


@dataclass(frozen=True, eq=False, slots=True)
class _Judged:
    """A point with its verdict, and with its proof if there is one."""

    point: Point
    proven: CertifiedPoint | None


def _located(end: End, ends: list[End], bound: float, tolerances: Tolerances) -> _Located:
    """An end with a proof of what it is, if that is affordable, and cheap or needed."""
    plan, why = end.plan, end.unsettled
    rests = end.settled or end.residual < tolerances.far
    if rests and _is_to_be_proven(plan, end, ends, tolerances):
        found = certify(plan, end.logs, tolerances)
        if found is None:
            why = Finding(Flaw.UNPROVEN)
        elif found.proof is not Proof.DEGENERATE:
            return _proven(plan, found, bound, tolerances, end)
    candidate = Candidate(
        plan,
        end.beliefs,
        log_z_bound=bound,
        residual=end.residual,
        lowest=float(end.curvatures.min()),
        unsettled=why,
    )
    return _Located(candidate, LogZ(Decimal(end.log_z), is_comparable(plan, tolerances)))


def _proven(
    plan: Plan,
    found: CertifiedPoint,
    bound: float,
    tolerances: Tolerances,
    end: End | None = None,
) -> _Located:
    # Doubles have seen the curvature of most points, and finding it in balls takes longer.
    least, lowest = tolerances.plain_curvature, None
    if end is not None and not found.on_boundary and end.residual < least**2:
        lowest = float(end.curvatures.min())
    candidate = Candidate(
        plan,
        np.exp(found.log_beliefs),
        log_z_bound=bound,
        residual=found.radius,
        lowest=lowest if lowest is not None and abs(lowest) > least else None,
        entropy=float(found.entropy),
        proven=found,
    )
    return _Located(candidate, known_log_z(found.log_z, found.bits, tolerances))


def _is_to_be_proven(plan: Plan, end: End, ends: list[End], tolerances: Tolerances) -> bool:
    """Whether a proof is cheap, or needed."""
    if not plan.layout.message_entries or not is_affordable(plan, end.logs, tolerances):
        return False
    return len(end.logs) <= tolerances.surely_proven or _is_open(plan, end, ends, tolerances)


def _is_open(plan: Plan, end: End, ends: list[End], tolerances: Tolerances) -> bool:
    """Whether rounding may decide what an end is, or show in marginals, log Z or shares."""
    if not end.settled or (end.logs <= math.log(tolerances.zero_belief)).any():
        return True
    if float(np.abs(end.curvatures).min()) < tolerances.plain_curvature:
        return True
    log_z = plan.log_offset + end.log_z
    return needs_digits(plan, log_z, tolerances, alone=len(ends) == 1)


def _judged(located: Sequence[list[_Located]], tolerances: Tolerances) -> list[list[_Judged]]:
    """The points of each plan with their verdicts; all are judged at once."""
    verdicts = iter(classify([one.candidate for own in located for one in own], tolerances))
    return [[one.judged(next(verdicts)) for one in own] for own in located]


class _Further:
    """The search for minima that doubles have missed, in balls.

    The free energy falls from a saddle, and from a point that has not settled. If such a point lies
    below all minima that were found, another one is below it.
    """

    def __init__(
        self,
        plan: Plan,
        ends: list[End],
        starts: Sequence[Floats],
        bound: float,
        tolerances: Tolerances,
    ) -> None:
        self._plan = plan
        self._ends = ends
        self._bound = bound
        self._tolerances = tolerances
        least = math.log(tolerances.zero_belief)
        self._followable = len(ends[0].logs) <= tolerances.followed_up_to
        self._inside = next((own for own in starts if (own > least).all()), None)

    def completed(self, judged: list[_Judged]) -> list[_Judged]:
        """The points with those that lie below some of them."""
        if len(self._ends[0].logs) > self._tolerances.most_proven:
            return judged
        judged, found = self._below_ends(judged)
        fresh = judged
        for _ in range(self._tolerances.most_followed):
            new = self._new(judged, found)
            judged, fresh = judged + new, fresh + new
            found = self._below_saddles(fresh, self._best(judged))
            if not found:
                break
            fresh = []
        return judged

    def _new(self, judged: list[_Judged], found: Sequence[CertifiedPoint]) -> list[_Judged]:
        """Those of the points that are not known yet, with their verdicts."""
        # A saddle may lie beside a minimum. What is degenerate is not proven to be either.
        known = {own: Places(self._tolerances.same) for own in (Proof.MINIMUM, Proof.SADDLE)}
        for own in judged:
            if own.proven is not None:
                known[own.proven.proof].add(np.exp(own.point.log_beliefs))
        fresh = [
            own
            for own in found
            if own.proof in known and known[own.proof].add(np.exp(own.log_beliefs))
        ]
        located = [_proven(self._plan, own, self._bound, self._tolerances) for own in fresh]
        return _judged([located], self._tolerances)[0] if located else []

    def _best(self, judged: Sequence[_Judged]) -> float:
        """The largest log Z of minima, without `plan.log_offset`."""
        sound = (float(own.point.exact_log_z) for own in judged if own.point.verdict.sound)
        return max(sound, default=-math.inf)

    def _below_ends(self, judged: list[_Judged]) -> tuple[list[_Judged], list[CertifiedPoint]]:
        """What ends lead to that were not proven, but lie below all minima or rest beside them.

        An end from which descent leads to a minimum is no point of its own, and is left out.
        """
        best = self._best(judged)
        left = [
            k
            for k, (end, own) in enumerate(zip(self._ends, judged, strict=True))
            if own.point.verdict.kind is Kind.UNKNOWN and self._may_count(end, best)
        ]
        left.sort(key=lambda k: -self._ends[k].log_z)
        found = {k: self._followed(self._ends[k]) for k in left[: self._tolerances.most_followed]}
        points = {k: own for k, own in found.items() if own is not None}
        ended = {k for k, own in points.items() if own.proof is Proof.MINIMUM}
        kept = [own for k, own in enumerate(judged) if k not in ended]
        return kept, list(points.values())

    def _followed(self, end: End) -> CertifiedPoint | None:
        if not is_affordable(self._plan, end.logs, self._tolerances):
            return None
        near = certify(self._plan, end.logs, self._tolerances)
        if near is not None and near.proof is Proof.MINIMUM:
            return near
        if self._inside is None or not self._followable:
            return near
        return followed(self._plan, end.logs, self._inside, self._tolerances) or near

    def _may_count(self, end: End, best: float) -> bool:
        own = self._tolerances
        near = abs(end.log_z - best) < own.rival_log_z
        below = end.log_z > best - own.rounding * float(end.scale)
        return (near or below) and is_possible(self._plan, end.beliefs, own)

    def _below_saddles(self, judged: Sequence[_Judged], best: float) -> list[CertifiedPoint]:
        """What is below saddles with a larger log Z than all minima, or below any without them."""
        if not self._followable:
            return []
        saddles = [
            own.proven
            for own in judged
            if own.proven is not None
            and own.proven.falls_along is not None
            and (
                math.isinf(best)
                or (own.point.verdict.plausible and float(own.point.exact_log_z) > best)
            )
        ]
        saddles.sort(key=lambda own: -float(own.log_z))
        return [
            point
            for own in saddles[: self._tolerances.most_followed]
            for point in beside(own, self._tolerances)
        ]


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
