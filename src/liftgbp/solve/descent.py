"""Descent on the lifted Kikuchi free energy from several starts: all minima and their mixture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.plan.plan import Floats
from liftgbp.solve.newton import FLATTEST, SMALLEST, Energy, Step, nearest_consistent, newton_step
from liftgbp.solve.polytope import Polytope, polytope
from liftgbp.solve.progress import Progress, silent
from liftgbp.solve.refine import refine
from liftgbp.solve.solution import Point, Solution, Status
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.verdict import Kind, Verdict, entropy, entropy_bound

ROUNDING = 1e-14
"""Differences of the scaled free energy below this are rounding; the gradient judges then."""

HALVINGS = 12
LONGEST_JUMP = 100.0
"""The largest change of the log of a belief in one step."""

PATIENCE = 8
"""All points must settle within this many times the iterations that the first one takes."""

MOST_ASTRAY = 4
"""The most iterations in a row that a point may have an impossible entropy."""

MOST_NUMBERS = 10**7
"""The size of the largest array of a stack; larger stacks are worked off in parts."""

SAME = 1e-6
"""Points whose beliefs differ less than this are one point."""

REFINED = 1e-9
"""What polishing leaves to correct if it worked."""

LARGE_COUNTS = 10**6
"""From this weight on a minimum is polished with more digits."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Configuration of a descent.

    It starts from independent atoms, flat and tilted towards each value of each predicate, and from
    `random` seeded random points, and stops when the next step would change no belief by more than
    `tol` in proportion.
    """

    iterations: int = 200
    tol: float = 1e-11
    random: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, got {self.iterations}")
        if not self.tol > 0:
            raise InputError(f"tol must be positive, got {self.tol}")
        if self.random < 0:
            raise InputError(f"random must not be negative, got {self.random}")

    def __call__(self, plan: Plan, progress: Progress = silent) -> Solution:
        """Find all minima that the starts lead to, and mix them by their weight."""
        consistent = polytope(plan.layout)
        starts = starting_beliefs(plan.layout, self.random, self.seed)[:, consistent.outer]
        return self.from_starts(plan, consistent, starts, progress)

    def from_starts(
        self, plan: Plan, consistent: Polytope, starts: Floats, progress: Progress = silent
    ) -> Solution:
        """The same from given beliefs of the outer regions, one start per row."""
        energy = Energy(plan, consistent)
        together = max(1, MOST_NUMBERS // max(1, _numbers_per_start(consistent)))
        runs = []
        for first in range(0, len(starts), together):
            some, error = nearest_consistent(consistent, starts[first : first + together], 100)
            runs.append(self._descend(energy, some[error < 1e-9], progress))
        return _solution(plan, energy, runs)

    def _descend(self, energy: Energy, starts: Floats, progress: Progress) -> _Run:
        run = _Run(energy, starts)
        limit = self.iterations
        while run.iterations < limit and not run.finished(self.tol):
            progress(run.iterations, limit)
            run.advance()
            if run.settled.any():
                # What is far behind the first minimum is on its way to nowhere.
                limit = min(limit, PATIENCE * (run.iterations + 1))
        run.finished(self.tol)
        return run


def _numbers_per_start(consistent: Polytope) -> int:
    return (len(consistent.matrix) + len(consistent.inner)) * len(consistent.outer)


class _Run:
    """A stack of points on their way down."""

    def __init__(self, energy: Energy, starts: Floats) -> None:
        self.energy = energy
        self.b = starts
        self.step = newton_step(energy, starts)
        self.value = energy.value(starts)
        self.stuck = np.zeros(len(starts), dtype=bool)
        self._astray = np.zeros(len(starts), dtype=np.int64)
        self.settled = np.zeros(len(starts), dtype=bool)
        self.iterations = 0
        self.trace: list[Floats] = [self.value]

    def finished(self, tol: float) -> bool:
        # Along a flat direction the gradient's rounding moves a point that much.
        allowed = np.maximum(tol, 2e-15 / np.maximum(self.step.flattest, FLATTEST))
        self.settled = self.step.residual <= allowed
        return bool((self.settled | self.stuck).all())

    def advance(self) -> None:
        """One step of every point that still moves, as long as the free energy falls."""
        self.iterations += 1
        moving = np.flatnonzero(~(self.settled | self.stuck))
        lengths = np.minimum(1.0, LONGEST_JUMP / np.maximum(self.step.residual, SMALLEST))
        for _ in range(HALVINGS):
            if not len(moving):
                break
            lower = self._try(moving, lengths[moving])
            moving = moving[~lower]
            lengths /= 2
        self.stuck[moving] = True
        self._give_up_astray()
        self.step = newton_step(self.energy, self.b)
        self.trace.append(self.value)

    def _give_up_astray(self) -> None:
        """Stop points that stay where the entropy is impossible: counting numbers over-count."""
        entropy = self.energy.entropy(self.b)
        most = self.energy.largest_entropy
        slack = 1e-9 * most + 100 * ROUNDING
        impossible = (entropy < -slack) | (entropy > most + slack)
        self._astray = np.where(impossible, self._astray + 1, 0)
        self.stuck |= self._astray >= MOST_ASTRAY

    def _try(self, moving: NDArray[np.int64], lengths: Floats) -> NDArray[np.bool_]:
        here = self.b[moving]
        ratio = lengths[:, None] * self.step.change[moving] / np.maximum(here, SMALLEST)
        there, error = nearest_consistent(self.energy.consistent, here * np.exp(ratio))
        value = self.energy.value(there)
        before = self.value[moving]
        wanted = before + 1e-4 * lengths * self.step.slope[moving]
        lower = (error < 1e-12) & (value <= wanted + ROUNDING * np.abs(before))
        accepted = moving[lower]
        self.b[accepted] = there[lower]
        self.value = self.value.copy()
        self.value[accepted] = value[lower]
        return np.asarray(lower)


# --- from the ends of all runs to an answer


def _solution(plan: Plan, energy: Energy, runs: list[_Run]) -> Solution:
    points = _weighted([_candidate(run, plan, k) for run, k in _different(runs)])
    good = [point for point in points if point.weight > 0]
    shown = good or points[:1]
    if not shown:
        raise InputError("no consistent beliefs were found to start from; try solver='flooding'")
    return Solution(
        solver="descent",
        status=Status.CONVERGED if good else Status.NO_MINIMUM,
        iterations=max(run.iterations for run in runs),
        residual=max(point.verdict.residual for point in shown),
        log_beliefs=_mixture(shown),
        log_z=_log_sum([point.log_z for point in shown]),
        trace=float(energy.scale) * _trace(runs),
        verdict=shown[0].verdict,
        points=tuple(points),
    )


def _trace(runs: list[_Run]) -> Floats:
    """The free energy of every start after each iteration, one column per start."""
    longest = max(len(run.trace) for run in runs)
    columns = [np.array(run.trace + run.trace[-1:] * (longest - len(run.trace))) for run in runs]
    return np.concatenate(columns, axis=1)


def _different(runs: list[_Run]) -> list[tuple[_Run, int]]:
    """One of all the starts that reached the same end, those that settled first."""
    ends = [(run, k) for run in runs for k in range(len(run.b))]
    ends.sort(key=lambda end: (not end[0].settled[end[1]], float(end[0].value[end[1]])))
    kept: list[tuple[_Run, int]] = []
    for run, k in ends:
        if not any(np.abs(run.b[k] - r.b[j]).max(initial=0.0) < SAME for r, j in kept):
            kept.append((run, k))
    return kept


@dataclass(frozen=True, eq=False)
class _Candidate:
    point: Point
    exact_log_z: Decimal


def _candidate(run: _Run, plan: Plan, k: int) -> _Candidate:
    energy, step = run.energy, run.step
    outer, residual = run.b[k], float(step.residual[k])
    free_energy = Decimal(float(run.value[k])) * energy.scale
    kind = _kind(run, step, k)
    implied = None
    if kind in {Kind.MINIMUM, Kind.BOUNDARY} and energy.scale > LARGE_COUNTS:
        refined = refine(energy, outer)
        if refined.residual <= REFINED:
            outer, residual = refined.outer, refined.residual
            free_energy, implied = refined.free_energy, float(refined.entropy)
    beliefs = energy.consistent.all_entries(outer)
    log_z = Decimal(plan.log_offset) - free_energy
    verdict = Verdict(
        residual=residual,
        curvature=float(step.lowest[k]),
        kind=kind,
        entropy=entropy(plan, beliefs) if implied is None else implied,
        entropy_bound=entropy_bound(plan, beliefs),
    )
    with np.errstate(divide="ignore"):
        return _Candidate(Point(np.log(beliefs), float(log_z), 0.0, verdict), log_z)


def _kind(run: _Run, step: Step, k: int) -> Kind:
    if not run.settled[k]:
        return Kind.UNKNOWN
    if step.lowest[k] < -1e-12:
        return Kind.SADDLE
    return Kind.BOUNDARY if (run.b[k] <= SMALLEST).any() else Kind.MINIMUM


def _weighted(candidates: list[_Candidate]) -> list[Point]:
    """The points with their shares, best first; what is no plausible minimum has none."""
    ordered = sorted(candidates, key=lambda c: (not _qualifies(c.point), -c.exact_log_z))
    good = [c for c in ordered if _qualifies(c.point)]
    if not good:
        return [c.point for c in ordered]
    best = good[0].exact_log_z
    shares = np.exp([float(c.exact_log_z - best) for c in good])
    shares /= shares.sum()
    weighted = [replace(c.point, weight=float(s)) for c, s in zip(good, shares, strict=True)]
    return weighted + [c.point for c in ordered[len(good) :]]


def _qualifies(point: Point) -> bool:
    minimum = point.verdict.kind in {Kind.MINIMUM, Kind.BOUNDARY}
    return minimum and point.verdict.plausible


def _mixture(points: list[Point]) -> Floats:
    if len(points) == 1:
        return points[0].log_beliefs
    mixed = sum(point.weight * np.exp(point.log_beliefs) for point in points)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mixed))


def _log_sum(values: list[float]) -> float:
    top = max(values)
    return top + float(np.log(np.exp(np.array(values) - top).sum()))
