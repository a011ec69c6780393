"""From the ends of many descents to an answer: all minima, their verdicts and their mixture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.solve.newton import FLATTEST, SMALLEST, Energy, Step, newton_step, scale_of
from liftgbp.solve.polytope import MOST_NUMBERS
from liftgbp.solve.refine import Refined, refine
from liftgbp.solve.solution import Point, Solution, Status
from liftgbp.solve.verdict import (
    Kind,
    Verdict,
    count_margin,
    entropy,
    entropy_bound,
    entropy_noise,
    entropy_rounding,
    falls_short,
)

ROUNDING = 1e-14
"""Differences of the scaled free energy below this are rounding; the gradient judges then."""

INWARDS = 1e-20
"""How far inside the boundary its slope is measured, as a part of the way to another point."""

SAME = 1e-6
"""Points whose beliefs differ less than this are one point."""

NEARLY, UNSETTLED = 1e-3, 10.0
MOST_POLISHED = 500
"""A point that a step would change by less than the first, in proportion, may be stationary but for
rounding; points as near as so many of its last steps are one point. It is polished if it has no
more beliefs than this."""

REFINED = 1e-9
"""What polishing leaves to correct if it worked."""

FLAT = 1e-7
LOG_Z_ACCURACY = 1e-10
WEIGHT_ACCURACY = 1e-5
RIVAL = 50.0
"""A point is polished with more digits if it is flatter than the first, or if rounding may change
its log Z by more than the second says in proportion, or by more than the third while the log Z of
another point is as near as the fourth."""

AT_REST, EQUAL_RIVAL, APART = 1e-3, 1.0, 0.1
"""A point is at rest if a step would lower its free energy by less than the first. It weighs as
much as the best one if their log Z differ by less than the second. It is on its way to a minimum
if no belief differs by more than the third, in proportion to the largest."""

LEVEL = 1e-9
"""Points of a flat valley have the same log Z but for this, in proportion."""

TRULY_FLAT = 10**8
"""Up to such counts, a curvature that cannot be told from zero is zero."""

FLAT_BY_ROUNDING, FLAT_WHEN_POLISHED = 1e-12, 1e-14
"""Curvatures cannot be told from zero below this, before and after polishing."""


@dataclass(frozen=True, eq=False, slots=True)
class End:
    """Where one start has ended: its row in a stack of free energies, and the last Newton step."""

    energy: Energy
    row: int
    outer: Floats
    value: float
    step: Step
    settled: bool
    iterations: int
    trace: tuple[float, ...]
    falls_inwards: bool = False
    """Whether it lies on the boundary, but the free energy falls away from there."""

    @property
    def scale(self) -> int:
        """What the value was divided by."""
        return self.energy.scale[self.row]

    @property
    def kind(self) -> Kind:
        """What the end is, as far as doubles can tell."""
        if not self.settled:
            return Kind.UNKNOWN
        kind = _kind(self.outer, self.step, self.scale, FLAT_BY_ROUNDING)
        return Kind.UNKNOWN if kind is Kind.BOUNDARY and self.falls_inwards else kind


def _kind(outer: Floats, step: Step, scale: int, rounding: float) -> Kind:
    """What a stationary point is, by its smallest curvature."""
    if step.flattest < FLATTEST and scale > TRULY_FLAT:
        # With such counts, a curvature that matters may be lost in rounding.
        return Kind.UNKNOWN
    if step.lowest < -rounding:
        return Kind.SADDLE
    return Kind.BOUNDARY if (outer <= SMALLEST).any() else Kind.MINIMUM


def solutions_of(
    plans: Sequence[Plan], ends: Sequence[list[End]], lower_bounds: Sequence[float]
) -> list[Solution]:
    """For each plan, the mixture of the minima among the ends of all its starts.

    An answer below a lower bound of log Z is not trusted.
    """
    if not all(ends):
        raise InputError("no consistent beliefs were found to start from; try solver='flooding'")
    found = [_marked(_different(own)) for own in ends]
    polished = _polish(plans, found)
    solutions = []
    for plan, own, apart, bound in zip(plans, ends, found, lower_bounds, strict=True):
        points = _weighted(plan, apart, polished, bound)
        if _has_unsettled_rival(plan, own, points):
            points = [replace(point, weight=0.0) for point in points]
        solutions.append(_solution(plan, own, points))
    return solutions


def _solution(plan: Plan, ends: list[End], points: list[Point]) -> Solution:
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    scale = float(ends[0].scale)
    return Solution(
        solver="descent",
        status=Status.CONVERGED if good else Status.NO_MINIMUM,
        iterations=max(end.iterations for end in ends),
        residual=max(point.verdict.residual for point in shown),
        log_beliefs=_mixture(shown),
        log_z=_log_sum([point.log_z for point in shown]),
        trace=scale * _columns([list(end.trace) for end in ends]),
        judged=shown[0].verdict,
        points=tuple(points),
    )


def _columns(traces: list[list[float]]) -> Floats:
    """Traces side by side; parts of a stack that ended early stay where they are."""
    longest = max(map(len, traces))
    return np.array([own + own[-1:] * (longest - len(own)) for own in traces]).T


def _different(ends: list[End]) -> list[End]:
    """One of all the starts that reached the same end, those that settled first.

    Beliefs that are zero stay so, so that a point without may be the better one. Where tiny beliefs
    have lost their digits, curvatures are too small, never too large.
    """
    kept: list[End] = []
    for end in sorted(ends, key=_trusted_first):
        # What rounding keeps from settling is known no better than by its last step.
        same = SAME if end.settled else max(SAME, UNSETTLED * float(end.step.residual))
        if not any(np.abs(end.outer - other.outer).max(initial=0.0) < same for other in kept):
            kept.append(end)
    return kept


def _trusted_first(end: End) -> tuple[bool, float, int, float]:
    zeros = int((end.outer <= SMALLEST).sum())
    return not end.settled, round(end.value, 12), zeros, -float(end.step.lowest)


def _marked(ends: list[End]) -> list[End]:
    """The ends with a mark on those that the boundary only holds by rounding."""
    return [replace(end, falls_inwards=True) if _falls_inwards(end, ends) else end for end in ends]


def _falls_inwards(end: End, others: list[End]) -> bool:
    """Whether the free energy falls from a point on the boundary towards the end of another start.

    Then the minimum lies between them, where curvature is lost in rounding.
    """
    if (end.outer > SMALLEST).all():
        return False
    inwards = np.array([other.outer for other in others]) - end.outer
    gradient = end.energy[np.array([end.row])].gradient(end.outer + INWARDS * inwards)
    slope = np.einsum("sd,sd->s", gradient, inwards)
    size = np.einsum("sd,sd->s", np.abs(gradient), np.abs(inwards))
    return bool((slope < -ROUNDING * size).any())


@dataclass(frozen=True, eq=False, slots=True)
class _Candidate:
    """A point whose log Z has more digits than a float, for the difference to others."""

    point: Point
    exact_log_z: Decimal

    @property
    def qualifies(self) -> bool:
        verdict = self.point.verdict
        return verdict.kind in {Kind.MINIMUM, Kind.BOUNDARY} and verdict.plausible

    def marked(self, kind: Kind) -> _Candidate:
        """The same point as one of another kind."""
        point = self.point
        return replace(self, point=replace(point, verdict=replace(point.verdict, kind=kind)))


@dataclass(frozen=True, eq=False, slots=True)
class _Polished:
    """What polishing makes of an end, with the Newton step there."""

    refined: Refined
    step: Step


def _polish(plans: Sequence[Plan], ends: Sequence[list[End]]) -> dict[int, _Polished]:
    """The ends that need more digits than doubles have, by their identity."""
    rough = [
        (plan, end)
        for plan, own in zip(plans, ends, strict=True)
        for end in own
        if _needs_digits(plan, end, own)
    ]
    if not rough:
        return {}
    consistent = rough[0][1].energy.consistent
    refined = refine([plan for plan, _ in rough], consistent, [end.outer for _, end in rough])
    done = [(plan, end, one) for (plan, end), one in zip(rough, refined, strict=True)]
    polished: dict[int, _Polished] = {}
    for part in consistent.stacks(done, MOST_NUMBERS):
        energy = Energy([plan for plan, _, _ in part], consistent)
        steps = newton_step(energy, np.array([one.outer for _, _, one in part]))
        for k, (_, end, one) in enumerate(part):
            polished[id(end)] = _Polished(one, steps.row(k))
    return polished


def _candidate(plan: Plan, end: End, polished: _Polished | None, lower_bound: float) -> _Candidate:
    outer, residual = end.outer, float(end.step.residual)
    curvature, kind = float(end.step.lowest), end.kind
    free_energy = Decimal(end.value) * end.scale
    implied = None
    if polished is not None:
        refined, step = polished.refined, polished.step
        if refined.residual <= REFINED:
            outer, residual = refined.outer, refined.residual
            free_energy, implied = refined.free_energy, float(refined.entropy)
            # What polishing moves may be more than what decides between minimum and saddle.
            curvature = float(step.lowest)
            kind = _kind(outer, step, end.scale, FLAT_WHEN_POLISHED)
        elif residual > SAME:
            kind = Kind.UNKNOWN
    beliefs = end.energy.consistent.all_entries(outer)
    log_z = Decimal(plan.log_offset) - free_energy
    rounding = entropy_rounding(plan, beliefs) if implied is None else 0.0
    verdict = Verdict(
        residual=residual,
        curvature=curvature,
        kind=kind,
        entropy=entropy(plan, beliefs) if implied is None else implied,
        entropy_bound=entropy_bound(plan, beliefs, rounding),
        count_margin=count_margin(plan, beliefs),
        log_z=float(log_z),
        log_z_bound=lower_bound,
        noise=entropy_noise(plan),
    )
    with np.errstate(divide="ignore"):
        return _Candidate(Point(np.log(beliefs), float(log_z), 0.0, verdict), log_z)


def _weighted(
    plan: Plan, ends: list[End], polished: Mapping[int, _Polished], lower_bound: float
) -> list[Point]:
    """The points with their shares, best first; what is no plausible minimum has none."""
    candidates = [_candidate(plan, end, polished.get(id(end)), lower_bound) for end in ends]
    if scale_of(plan) <= TRULY_FLAT:
        candidates = _with_valleys(candidates)
    ordered = _apart(sorted(candidates, key=lambda c: (not c.qualifies, -c.exact_log_z)))
    good = [c for c in ordered if c.qualifies]
    if not good:
        return [c.point for c in ordered]
    best = good[0].exact_log_z
    shares = np.exp([float(c.exact_log_z - best) for c in good])
    if falls_short(float(best) + float(np.log(shares.sum())), lower_bound):
        # What weighs most has not been found, or is not plausible: the rest is no answer.
        return [c.point for c in ordered]
    shares /= shares.sum()
    weighted = [replace(c.point, weight=float(s)) for c, s in zip(good, shares, strict=True)]
    return weighted + [c.point for c in ordered[len(good) :]]


def _with_valleys(candidates: list[_Candidate]) -> list[_Candidate]:
    """Candidates with a mark on flat ones that others are as good as: beliefs are open there."""

    def is_flat(candidate: _Candidate) -> bool:
        curvature = candidate.point.verdict.curvature
        return candidate.qualifies and abs(curvature or 0.0) < FLATTEST

    def equals(one: _Candidate, other: _Candidate) -> bool:
        return math.isclose(one.point.log_z, other.point.log_z, rel_tol=LEVEL, abs_tol=LEVEL)

    flat = [c for c in candidates if is_flat(c)]
    return [
        c.marked(Kind.VALLEY) if c in flat and sum(equals(c, f) for f in flat) > 1 else c
        for c in candidates
    ]


def _has_unsettled_rival(plan: Plan, ends: list[End], points: list[Point]) -> bool:
    """Whether a part of the answer is missing.

    Where many beliefs are tiny, a point may have come to rest but for these, so that it is not
    known what it is. If it weighs as much as the minima, these are not the answer alone.
    """
    minima = [point for point in points if point.weight]
    best = max((point.log_z for point in minima), default=math.inf)
    for end in ends:
        scale = float(end.scale)
        log_z = plan.log_offset - end.value * scale
        at_rest = -float(end.step.slope) * scale < AT_REST
        if end.settled or not at_rest or abs(log_z - best) > EQUAL_RIVAL:
            continue
        beliefs = end.energy.consistent.all_entries(end.outer)
        same = APART * beliefs.max(initial=0.0)
        near = (np.abs(np.exp(p.log_beliefs) - beliefs).max(initial=0.0) < same for p in minima)
        if not any(near) and _is_possible(plan, beliefs):
            return True
    return False


def _is_possible(plan: Plan, beliefs: Floats) -> bool:
    implied, bound = entropy(plan, beliefs), entropy_bound(plan, beliefs)
    slack = entropy_rounding(plan, beliefs) + entropy_noise(plan)
    return -slack <= implied <= bound + slack


def _apart(candidates: list[_Candidate]) -> list[_Candidate]:
    """The candidates without those that polishing moved to the same point as an earlier one."""
    kept: list[_Candidate] = []
    beliefs: list[Floats] = []
    for candidate in candidates:
        own = np.exp(candidate.point.log_beliefs)
        if not any(np.abs(own - other).max(initial=0.0) < SAME for other in beliefs):
            kept.append(candidate)
            beliefs.append(own)
    return kept


def _needs_digits(plan: Plan, end: End, others: list[End]) -> bool:
    """Whether rounding would show in the marginals or in log Z of a point, or in its weight."""
    if end.falls_inwards or end.step.lowest < -FLAT:
        return False
    if not end.settled:
        return len(end.outer) <= MOST_POLISHED and bool(end.step.residual < NEARLY)
    scale = float(end.scale)
    error = ROUNDING * scale
    log_z = plan.log_offset - end.value * scale
    if end.step.flattest < FLAT or error > LOG_Z_ACCURACY * abs(log_z):
        return True
    near = RIVAL + error
    return error > WEIGHT_ACCURACY and any(
        other is not end
        and other.step.residual < NEARLY
        and abs(other.value - end.value) * scale < near
        for other in others
    )


def _mixture(points: list[Point]) -> Floats:
    if len(points) == 1:
        return points[0].log_beliefs
    mixed = sum(point.weight * np.exp(point.log_beliefs) for point in points)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mixed))


def _log_sum(values: list[float]) -> float:
    top = max(values)
    return top + float(np.log(np.exp(np.array(values) - top).sum()))
