"""Descent on the lifted Kikuchi free energy from several starts: all minima and their mixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.plan.plan import Floats
from liftgbp.solve.flooding import flooded_beliefs
from liftgbp.solve.newton import FLATTEST, SMALLEST, Energy, Step, nearest_consistent, newton_step
from liftgbp.solve.polytope import Polytope, polytope
from liftgbp.solve.progress import Progress, silent
from liftgbp.solve.refine import refine
from liftgbp.solve.solution import Point, Solution, Status
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.verdict import Kind, Verdict, entropy, entropy_bound

ROUNDING = 1e-14
"""Differences of the scaled free energy below this are rounding; the gradient judges then."""

FLOODED = 60
"""How many iterations of flooding lead to one more start."""

HALVINGS = 12
LONGEST_JUMP = 100.0
"""The largest change of the log of a belief in one step."""

PATIENCE, LEAST_PATIENCE = 8, 40
"""All points must settle within so many times the iterations that the first one takes, or within
so many iterations if that is more."""

MOST_ASTRAY = 4
"""The most iterations in a row that a point may have an impossible entropy."""

MOST_NUMBERS = 10**7
"""The size of the largest array of a stack; larger stacks are worked off in parts."""

INWARDS = 1e-20
"""How far inside the boundary its slope is measured, as a part of the way to another point."""

SAME = 1e-6
"""Points whose beliefs differ less than this are one point."""

ACCEPTABLE = 1e-8
"""A point that cannot be improved any more and is this close to stationary counts as such."""

REFINED = 1e-9
"""What polishing leaves to correct if it worked."""

FLAT = 1e-7
LOG_Z_ACCURACY = 1e-10
WEIGHT_ACCURACY = 0.1
RIVAL = 50.0
"""A point is polished with more digits if it is flatter than the first, or if rounding may change
its log Z by more than the second says in proportion, or by more than the third while the log Z of
another point is as near as the fourth."""

TRULY_FLAT = 10**8
"""Up to such counts, a curvature that cannot be told from zero is zero."""

FLAT_BY_ROUNDING, FLAT_WHEN_POLISHED = 1e-12, 1e-14
"""Curvatures cannot be told from zero below this, before and after polishing."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Configuration of a descent.

    It starts from independent atoms, flat and tilted towards each value of each predicate, from
    `random` seeded random points, and from where a little flooding leads. It stops when the next
    step would change no belief by more than `tol` in proportion.
    """

    iterations: int = 200
    tol: float = 1e-11
    random: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.iterations, int) or self.iterations < 1:
            raise InputError(f"iterations must be a whole number from 1, got {self.iterations}")
        if not self.tol > 0:
            raise InputError(f"tol must be positive, got {self.tol}")
        if self.random < 0:
            raise InputError(f"random must not be negative, got {self.random}")

    def __call__(self, plan: Plan, progress: Progress = silent) -> Solution:
        """Find all minima that the starts lead to, and mix them by their weight."""
        return self.solve_all([plan], progress)[0]

    def solve_all(self, plans: Sequence[Plan], progress: Progress = silent) -> list[Solution]:
        """The solutions of plans with one layout, worked off as a stack."""
        layout = plans[0].layout
        consistent = polytope(layout)
        starts = starting_beliefs(layout, self.random, self.seed)[:, consistent.outer]
        starts, error = nearest_consistent(consistent, starts, rounds=100)
        common = starts[error < 1e-9]
        return self._solve(plans, [[*common, *own] for own in self._flooded(plans)], progress)

    @staticmethod
    def _flooded(plans: Sequence[Plan]) -> list[list[Floats]]:
        """For each plan, where message passing gets in a few iterations, unless that is nowhere."""
        consistent = polytope(plans[0].layout)
        beliefs = flooded_beliefs(plans, FLOODED)[:, consistent.outer]
        usable = np.asarray(np.isfinite(beliefs).all(axis=1))
        starts, error = nearest_consistent(consistent, np.where(usable[:, None], beliefs, 1.0), 100)
        good = usable & (error < 1e-9)
        return [[start] if fine else [] for start, fine in zip(starts, good, strict=True)]

    def follow(
        self, plans: Sequence[Plan], neighbours: Sequence[Sequence[Solution]]
    ) -> list[Solution]:
        """The solutions of plans with one layout, each from the stationary points of neighbours."""
        outer = polytope(plans[0].layout).outer
        starts = [
            [np.exp(point.log_beliefs[outer]) for one in own for point in one.points]
            for own in neighbours
        ]
        return self._solve(plans, starts, silent)

    def _solve(
        self, plans: Sequence[Plan], starts: Sequence[Sequence[Floats]], progress: Progress
    ) -> list[Solution]:
        consistent = polytope(plans[0].layout)
        ends: list[list[_End]] = [[] for _ in plans]
        rows = [(number, start) for number, own in enumerate(starts) for start in own]
        for part in _parts(rows, consistent):
            run = _Run(
                Energy([plans[number] for number, _ in part], consistent),
                np.array([start for _, start in part]),
                np.array([number for number, _ in part]),
            )
            run.descend(self.iterations, self.tol, progress)
            for k, (number, _) in enumerate(part):
                ends[number].append(_End(run, k))
        return [solution_of(plan, own) for plan, own in zip(plans, ends, strict=True)]


def _parts(
    rows: list[tuple[int, Floats]], consistent: Polytope
) -> Iterator[list[tuple[int, Floats]]]:
    """The rows in stacks that fit into memory."""
    numbers = (len(consistent.matrix) + len(consistent.inner)) * len(consistent.outer)
    together = max(1, MOST_NUMBERS // max(1, numbers))
    for first in range(0, len(rows), together):
        yield rows[first : first + together]


class _Run:
    """A stack of points on their way down; `problem` tells which points belong together."""

    def __init__(self, energy: Energy, starts: Floats, problem: NDArray[np.int64]) -> None:
        self.energy = energy
        self.b = starts.copy()
        self.step = newton_step(energy, starts)
        self.value = energy.value(starts)
        self.settled = self.accepted = np.zeros(len(starts), dtype=bool)
        self.trace: list[Floats] = [self.value]
        self.iterations = np.zeros(len(starts), dtype=np.int64)
        self._stuck = np.zeros(len(starts), dtype=bool)
        self._astray = np.zeros(len(starts), dtype=np.int64)
        self._problem = problem

    def descend(self, most: int, tol: float, progress: Progress) -> None:
        self._settle(tol)
        for iteration in range(1, most + 1):
            moving = np.flatnonzero(~(self.settled | self._stuck))
            if not len(moving):
                break
            progress(iteration, most)
            self._advance(moving)
            self._settle(tol)
            self._give_up(iteration)

    def _settle(self, tol: float) -> None:
        # Along a flat direction the gradient's rounding moves a point that much.
        allowed = np.maximum(tol, 2e-15 / np.maximum(self.step.flattest, FLATTEST))
        self.settled = self.step.residual <= allowed
        self.accepted = self.step.residual <= np.maximum(allowed, ACCEPTABLE)

    def _advance(self, moving: NDArray[np.int64]) -> None:
        """One step of every point that still moves, as long as its free energy falls."""
        self.iterations[moving] += 1
        lengths = np.minimum(1.0, LONGEST_JUMP / np.maximum(self.step.residual, SMALLEST))
        value, left = self.value.copy(), moving
        for _ in range(HALVINGS):
            if not len(left):
                break
            left = left[~self._try(left, lengths[left], value)]
            lengths /= 2
        self._stuck[left] = True
        self.value = value
        self.trace.append(value)
        self.step = self.step.updated(moving, newton_step(self.energy[moving], self.b[moving]))

    def _try(self, moving: NDArray[np.int64], lengths: Floats, value: Floats) -> NDArray[np.bool_]:
        here = self.b[moving]
        ratio = lengths[:, None] * self.step.change[moving] / np.maximum(here, SMALLEST)
        there, error = nearest_consistent(self.energy.consistent, here * np.exp(ratio))
        found = self.energy[moving].value(there)
        wanted = value[moving] + 1e-4 * lengths * self.step.slope[moving]
        lower = (error < 1e-12) & (found <= wanted + ROUNDING * np.abs(value[moving]))
        self.b[moving[lower]] = there[lower]
        value[moving[lower]] = found[lower]
        return np.asarray(lower)

    def _give_up(self, iteration: int) -> None:
        """Stop points that lead nowhere.

        Those are points that stay where the entropy is impossible, since counting numbers
        over-count there, and points far behind the first minimum of the same problem.
        """
        entropy, most = self.energy.entropy(self.b), self.energy.largest_entropy
        slack = 1e-9 * most + 100 * ROUNDING
        impossible = (entropy < -slack) | (entropy > most + slack)
        self._astray = np.where(impossible, self._astray + 1, 0)
        slowest = np.full(self._problem.max(initial=0) + 1, np.iinfo(np.int64).max)
        own = self._problem[self.settled]
        first = PATIENCE * (self.iterations[self.settled] + 1)
        np.minimum.at(slowest, own, np.maximum(first, LEAST_PATIENCE))
        late = iteration >= slowest[self._problem]
        self._stuck |= (self._astray >= MOST_ASTRAY) | late


@dataclass(frozen=True, eq=False, slots=True)
class _End:
    """Where one start of a run has ended."""

    run: _Run
    row: int

    @property
    def outer(self) -> Floats:
        return np.asarray(self.run.b[self.row])

    @property
    def settled(self) -> bool:
        return bool(self.run.accepted[self.row])

    @property
    def value(self) -> float:
        return float(self.run.value[self.row])

    @property
    def trace(self) -> list[float]:
        return [float(values[self.row]) for values in self.run.trace]

    @property
    def step(self) -> Step:
        return self.run.step.row(self.row)

    @property
    def kind(self) -> Kind:
        if not self.settled:
            return Kind.UNKNOWN
        return _kind(self.outer, self.step, self.run.energy.scale[self.row], FLAT_BY_ROUNDING)


def _kind(outer: Floats, step: Step, scale: int, rounding: float) -> Kind:
    """What a stationary point is, by its smallest curvature."""
    if step.flattest < FLATTEST and scale > TRULY_FLAT:
        # With such counts, a curvature that matters may be lost in rounding.
        return Kind.UNKNOWN
    if step.lowest < -rounding:
        return Kind.SADDLE
    return Kind.BOUNDARY if (outer <= SMALLEST).any() else Kind.MINIMUM


# --- from the ends of all runs to an answer


def solution_of(plan: Plan, ends: list[_End]) -> Solution:
    """The mixture of the minima among the ends of all starts."""
    if not ends:
        raise InputError("no consistent beliefs were found to start from; try solver='flooding'")
    points = _weighted(plan, _different(ends))
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    scale = float(ends[0].run.energy.scale[ends[0].row])
    return Solution(
        solver="descent",
        status=Status.CONVERGED if good else Status.NO_MINIMUM,
        iterations=max(int(end.run.iterations[end.row]) for end in ends),
        residual=max(point.verdict.residual for point in shown),
        log_beliefs=_mixture(shown),
        log_z=_log_sum([point.log_z for point in shown]),
        trace=scale * _columns([end.trace for end in ends]),
        verdict=shown[0].verdict,
        points=tuple(points),
    )


def _columns(traces: list[list[float]]) -> Floats:
    """Traces side by side; parts of a stack that ended early stay where they are."""
    longest = max(map(len, traces))
    return np.array([own + own[-1:] * (longest - len(own)) for own in traces]).T


def _different(ends: list[_End]) -> list[_End]:
    """One of all the starts that reached the same end, those that settled first."""
    kept: list[_End] = []
    for end in sorted(ends, key=lambda end: (not end.settled, end.value)):
        if not any(np.abs(end.outer - other.outer).max(initial=0.0) < SAME for other in kept):
            kept.append(end)
    return kept


@dataclass(frozen=True, eq=False, slots=True)
class _Candidate:
    """A point whose log Z has more digits than a float, for the difference to others."""

    point: Point
    exact_log_z: Decimal

    @property
    def qualifies(self) -> bool:
        verdict = self.point.verdict
        return verdict.kind in {Kind.MINIMUM, Kind.BOUNDARY} and verdict.plausible


def _candidate(plan: Plan, end: _End, others: list[_End]) -> _Candidate:
    energy = end.run.energy
    outer, residual = end.outer, float(end.step.residual)
    curvature, kind = float(end.step.lowest), end.kind
    free_energy = Decimal(end.value) * energy.scale[end.row]
    implied = None
    if _needs_digits(plan, end, others):
        refined = refine(plan, energy.consistent, outer)
        if refined.residual <= REFINED:
            outer, residual = refined.outer, refined.residual
            free_energy, implied = refined.free_energy, float(refined.entropy)
            # What polishing moves may be more than what decides between minimum and saddle.
            step = newton_step(Energy([plan], energy.consistent), outer[None]).row(0)
            curvature = float(step.lowest)
            kind = _kind(outer, step, energy.scale[end.row], FLAT_WHEN_POLISHED)
        elif residual > SAME:
            kind = Kind.UNKNOWN
    if kind is Kind.BOUNDARY and _falls_inwards(end, others):
        kind = Kind.UNKNOWN
    beliefs = energy.consistent.all_entries(outer)
    log_z = Decimal(plan.log_offset) - free_energy
    verdict = Verdict(
        residual=residual,
        curvature=curvature,
        kind=kind,
        entropy=entropy(plan, beliefs) if implied is None else implied,
        entropy_bound=entropy_bound(plan, beliefs),
    )
    with np.errstate(divide="ignore"):
        return _Candidate(Point(np.log(beliefs), float(log_z), 0.0, verdict), log_z)


def _falls_inwards(end: _End, others: list[_End]) -> bool:
    """Whether the free energy falls from a point on the boundary towards the end of another start.

    Then the minimum lies between them, where curvature is lost in rounding.
    """
    inwards = np.array([other.outer for other in others]) - end.outer
    energy = end.run.energy[np.full(len(others), end.row)]
    gradient = energy.gradient(end.outer + INWARDS * inwards)
    slope = np.einsum("sd,sd->s", gradient, inwards)
    size = np.einsum("sd,sd->s", np.abs(gradient), np.abs(inwards))
    return bool((slope < -ROUNDING * size).any())


def _weighted(plan: Plan, ends: list[_End]) -> list[Point]:
    """The points with their shares, best first; what is no plausible minimum has none."""
    candidates = [_candidate(plan, end, ends) for end in ends]
    ordered = _apart(sorted(candidates, key=lambda c: (not c.qualifies, -c.exact_log_z)))
    good = [c for c in ordered if c.qualifies]
    if not good:
        return [c.point for c in ordered]
    best = good[0].exact_log_z
    shares = np.exp([float(c.exact_log_z - best) for c in good])
    shares /= shares.sum()
    weighted = [replace(c.point, weight=float(s)) for c, s in zip(good, shares, strict=True)]
    return weighted + [c.point for c in ordered[len(good) :]]


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


def _needs_digits(plan: Plan, end: _End, others: list[_End]) -> bool:
    """Whether rounding would show in the marginals or in log Z of a point, or in its weight."""
    if not end.settled or end.step.lowest < -FLAT:
        return False
    scale = float(end.run.energy.scale[end.row])
    error = ROUNDING * scale
    log_z = plan.log_offset - end.value * scale
    if end.step.flattest < FLAT or error > LOG_Z_ACCURACY * abs(log_z):
        return True
    near = RIVAL + error
    return error > WEIGHT_ACCURACY and any(
        other is not end and other.settled and abs(other.value - end.value) * scale < near
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
