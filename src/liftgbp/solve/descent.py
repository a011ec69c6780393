"""Descent on the lifted Kikuchi free energy from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from liftgbp.plan import Layout, Plan, Structure
from liftgbp.solve import portable
from liftgbp.solve.ends import End
from liftgbp.solve.energy import LEAST_LOG, Energy, one_thread, polytope
from liftgbp.solve.findings import Algorithm, Finding, Flaw, SolvedBy, Status
from liftgbp.solve.flooding import check_tolerance, check_tolerances, flooded_logs
from liftgbp.solve.frames import faces_of
from liftgbp.solve.images import Places
from liftgbp.solve.mean_field import best_products, log_z_bounds
from liftgbp.solve.mixture import solutions_of
from liftgbp.solve.search import PointBatch, nearest_consistent
from liftgbp.solve.solution import Point, Solution
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, classify
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import checked_number
from liftgbp.support.progress import Progress, silent
from liftgbp.support.shown import HasCard

START_ACCURACY = 2.0**10
"""Logs of starts are rounded to one part in this many, at least: flooding and products that have
not settled differ in the sixth digit from one processor to the next (1000 people)."""

_common: WeakKeyDictionary[Structure, dict[tuple[int, int, Tolerances], list[Floats]]]
_common = WeakKeyDictionary()
"""Starts that plans of a layout share, by how many are random, their seed and the tolerances."""


@dataclass(frozen=True, slots=True)
class Descent(HasCard):
    """Configuration of a descent.

    It starts from independent atoms, flat and tilted towards each value of each predicate, from
    `random` seeded random points, from the best that independent atoms reach, and from where a
    little flooding leads. It stops when the next step would change no belief by more than `tol` in
    proportion.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 20}, solver=liftgbp.Descent(random=8, seed=1))
    >>> round(answers.marginal("friends(x,y)"), 6)
    0.499962
    """

    iterations: int = 500
    tol: float = 1e-12
    random: int = 4
    seed: int = 0
    tolerances: Tolerances = field(default=Tolerances(), repr=False)

    def __post_init__(self) -> None:
        checked_number("iterations", self.iterations, least=1)
        check_tolerance(self.tol)
        checked_number("seed", self.seed, least=0)
        checked_number("random", self.random, least=0)
        check_tolerances(self.tolerances)

    def __call__(self, plan: Plan, progress: Progress = silent) -> Solution:
        """Find all minima that the starts lead to, and mix them by their weight."""
        return self.solve_all([plan], progress)[0]

    def solve_all(self, plans: Sequence[Plan], progress: Progress = silent) -> list[Solution]:
        """The solutions of plans with one layout, processed as a batch."""
        with one_thread(polytope(plans[0].layout)):
            bounds, products = best_products(plans, self.tolerances)
            return self._solve(plans, self._starts(plans, products), bounds, progress)

    def _starts(self, plans: Sequence[Plan], products: list[Floats]) -> list[list[Floats]]:
        """The beliefs of outer regions to start from, for each plan.

        These are fixed ones, which all plans share, and where message passing gets in a few
        iterations, unless that is nowhere; then the best that independent atoms reach, since the
        lowest minimum is below.
        """
        layout, own = plans[0].layout, self.tolerances
        consistent, common = polytope(layout), self._common_starts(layout)
        flooded = flooded_logs(plans, own.flooded_start, own)[:, consistent.outer]
        rows = [
            np.concatenate([here[None], there[:, consistent.outer]])
            for here, there in zip(flooded, products, strict=True)
        ]
        return [[*common, *nearby(layout, rounded(logs), own)] for logs in rows]

    def _common_starts(self, layout: Layout) -> list[Floats]:
        """The starts that all plans of a layout share, as far as consistent beliefs are near."""
        known = _common.setdefault(layout.structure, {})
        key = self.random, self.seed, self.tolerances
        if key not in known:
            beliefs = starting_beliefs(layout, self.random, self.seed)[:, polytope(layout).outer]
            known[key] = nearby(layout, portable.log(beliefs), self.tolerances)
        return known[key]

    def follow(
        self, plans: Sequence[Plan], neighbours: Sequence[Sequence[Solution]]
    ) -> list[Solution]:
        """The solutions of plans with one layout, each from the stationary points of neighbours."""
        layout = plans[0].layout
        outer = polytope(layout).outer
        starts = []
        for own in neighbours:
            logs = [p.log_beliefs[outer] for p in self._worth_following(own)]
            places = Places(self.tolerances.same)
            starts.append([row for row in logs if places.add(np.exp(row))])
        with one_thread(polytope(layout)):
            bounds = log_z_bounds(plans, self.tolerances)
            return self._solve(plans, starts, bounds, silent)

    def from_beliefs(self, plan: Plan, starts: Sequence[Floats], bound: float) -> Solution | None:
        """The solution of a plan from some beliefs of all regions; if some are near.

        `bound` is what log Z is at least. Only what the starts lead to is part of the solution, not
        its images under the symmetries of the plan.
        """
        layout = plan.layout
        outer = polytope(layout).outer
        with one_thread(polytope(layout)):
            logs = portable.log(np.array(starts)[:, outer])
            usable = nearby(layout, logs, self.tolerances)
            if not usable:
                return None
            return self._solve([plan], [usable], [bound], silent, images=False)[0]

    def _worth_following(self, solutions: Sequence[Solution]) -> list[Point]:
        """The points of solutions without those that went astray; all points if all did."""
        points = [point for one in solutions for point in one.points]
        most = self.tolerances.far
        return [point for point in points if point.verdict.residual <= most] or points

    def _solve(
        self,
        plans: Sequence[Plan],
        starts: Sequence[Sequence[Floats]],
        bounds: Sequence[float],
        progress: Progress,
        *,
        images: bool = True,
    ) -> list[Solution]:
        ends: list[list[End]] = [[] for _ in plans]
        rows = [(number, start) for number, own in enumerate(starts) for start in own]
        if rows:
            problem = np.array([number for number, _ in rows])
            run = _Run(
                Energy([plans[number] for number in problem], polytope(plans[0].layout)),
                np.array([start for _, start in rows]),
                problem,
                self.tolerances,
            )
            run.descend(self.iterations, self.tol, progress)
            for number, end in zip(problem.tolist(), run.ends(), strict=True):
                ends[number].append(end)
        return solutions_of(plans, ends, starts, bounds, self.tolerances, images=images)


def nearby(layout: Layout, logs: Floats, tolerances: Tolerances) -> list[Floats]:
    """The logs of consistent outer beliefs near given ones, as far as there are some."""
    found, near = nearest_consistent(faces_of(layout), logs, tolerances)
    return list(found[near])


def rounded(logs: Floats) -> Floats:
    """Known logs in order, without the digits in which processors differ: starts need few."""
    fraction, exponent = np.frexp(np.maximum(logs, LEAST_LOG))
    rows = np.ldexp(np.rint(fraction * START_ACCURACY) / START_ACCURACY, exponent)
    known = rows[~np.isnan(rows).any(axis=1)].tolist()
    return np.array(sorted(known)).reshape(len(known), rows.shape[1])


def independent(
    plan: Plan,
    beliefs: Floats,
    log_z: float,
    entropy: float,
    tolerances: Tolerances,
    why: Flaw = Flaw.HIDDEN_MINIMUM,
) -> Solution:
    """Beliefs of independent atoms as a solution; what they reach is a lower bound of log Z.

    `why` says why there is no minimum to take instead.
    """
    candidate = Candidate(plan, beliefs, log_z, residual=0.0, entropy=entropy)
    with np.errstate(divide="ignore"):
        logs = np.log(beliefs)
    return Solution(
        solver=SolvedBy(Algorithm.INDEPENDENT_ATOMS),
        status=Status.CONVERGED,
        iterations=0,
        residual=0.0,
        log_beliefs=logs,
        log_z=log_z,
        trace=np.zeros(0),
        judged=replace(classify([candidate], tolerances)[0], unknown=Finding(why)),
    )


def stepped(
    plans: Sequence[Plan], beliefs: Floats, tolerances: Tolerances
) -> tuple[Floats, Floats]:
    """Where one Newton step leads from a minimum of a neighbouring plan; all share a layout.

    First log Z to second order, then beliefs of all regions to first order, one row per plan.
    """
    layout = plans[0].layout
    consistent, rows = polytope(layout), np.arange(len(plans))
    with one_thread(consistent):
        logs = portable.log(np.tile(beliefs[consistent.outer], (len(plans), 1)))
        energy = Energy(plans, consistent)
        points = PointBatch(energy, faces_of(layout), logs, tolerances)
        points.take_steps(rows)
        value = points.values(rows)[0] + points.step.slope / 2
        log_z = [
            plan.log_offset - float(own) * float(scale)
            for plan, own, scale in zip(plans, value, energy.scale, strict=True)
        ]
        changed = np.exp(points.logs) * (1 + points.step.change)
    return np.array(log_z), consistent.all_entries(changed)


class _Run:
    """A batch of points on their way down; `problem` tells which points belong together."""

    def __init__(
        self, energy: Energy, starts: Floats, problem: Ints, tolerances: Tolerances
    ) -> None:
        self.energy = energy
        self._tolerances = tolerances
        count, every = len(starts), np.arange(len(starts))
        faces = faces_of(energy.plans[0].layout)
        self._points = PointBatch(energy, faces, starts, tolerances)
        self.value, self._entropy = self._points.values(every)
        self._points.take_steps(every)
        self.settled = np.zeros(count, dtype=bool)
        self.trace: list[Floats] = [self.value]
        self.iterations = np.zeros(count, dtype=np.int64)
        self._stuck = np.zeros(count, dtype=bool)
        self._astray = np.zeros(count, dtype=np.int64)
        self._off = np.zeros(count)
        self._best = np.full(count, np.inf)
        self._idle = np.zeros(count, dtype=np.int64)
        self._problem = problem

    def descend(self, most: int, tol: float, progress: Progress) -> None:
        self._settle(tol, np.arange(len(self.value)))
        for iteration in range(1, most + 1):
            moving = np.flatnonzero(~(self.settled | self._stuck))
            if not len(moving):
                break
            progress("descending", iteration, most)
            self._advance(moving)
            self._settle(tol, moving)
            self._give_up(iteration)

    def _settle(self, tol: float, moved: Ints) -> None:
        """See which points have arrived, or are moved by rounding alone."""
        own, residual = self._tolerances, self._points.step.residual
        better = residual[moved] < own.progress * self._best[moved]
        self._idle[moved] = np.where(better, 0, self._idle[moved] + 1)
        self._best[moved] = np.minimum(residual[moved], self._best[moved])
        # Along a flat direction rounding moves a point further than that.
        hidden = (residual <= own.far) & (-self._points.step.slope <= own.last_places)
        at_rest = ((residual <= own.acceptable) | hidden) & (self._idle >= own.most_idle)
        # Newton's method squares small residuals: one that does not fall is rounding.
        at_rest |= self._points.step.convex & (residual <= own.acceptable) & (self._idle > 0)
        self.settled = (residual <= tol) | at_rest

    def _advance(self, moving: Ints) -> None:
        """One step of every point that still moves, as long as its free energy falls."""
        own = self._tolerances
        self.iterations[moving] += 1
        value, left = self.value.copy(), moving
        length = self._points.step.longest.copy()
        for _ in range(own.most_rounds):
            if not len(left):
                break
            lower = self._try(left, length[left], value)
            left = left[~lower]
            length /= 2
        self._stuck[left] = True
        self.value = value
        self.trace.append(value)
        self._points.take_steps(moving)

    def _try(self, moving: Ints, length: Floats, value: Floats) -> NDArray[np.bool_]:
        """Move points whose free energy falls by it."""
        is_inside, logs, (reached, entropy) = self._points.moved(moving, length)
        rounding = self._tolerances.rounding * np.maximum(np.abs(value[moving]), 1)
        falls = (reached <= value[moving] + rounding) | self._points.step.to_saddle[moving]
        lower = is_inside & falls
        chosen = moving[lower]
        self._points.logs[chosen], value[chosen] = logs[lower], reached[lower]
        self._entropy[chosen] = entropy[lower]
        return np.asarray(lower)

    def _give_up(self, iteration: int) -> None:
        """Stop points that lead nowhere.

        Those are points that stay where the entropy is impossible, since counting numbers
        over-count there, and points far behind the first minimum of the same problem.
        """
        limits, half = self._tolerances, self.energy.largest_entropy / 2
        off = np.abs(self._entropy - half) - half - limits.level * (2 * half + 1)
        np.maximum(off, 0.0, out=off)
        stays = (off > 0) & (off > limits.progress * self._off)
        self._astray = np.where(stays, self._astray + 1, np.where(off > 0, self._astray, 0))
        self._off = off
        self._stuck |= self._astray >= limits.most_astray
        if iteration >= limits.least_patience and self.settled.any():
            slowest = np.full(self._problem.max() + 1, np.inf)
            first = limits.patience * (self.iterations[self.settled] + 1)
            np.minimum.at(
                slowest, self._problem[self.settled], np.maximum(first, limits.least_patience)
            )
            self._stuck |= iteration >= slowest[self._problem]

    def ends(self) -> list[End]:
        """Where the points have ended."""
        own, points = self._tolerances, self._points
        traces = np.array(self.trace).T.tolist()
        return [
            End(
                energy=self.energy,
                place=points,
                row=row,
                logs=points.logs[row],
                value=float(self.value[row]),
                residual=float(points.step.residual[row]),
                settled=bool(self.settled[row] or points.step.residual[row] <= own.acceptable),
                iterations=int(self.iterations[row]),
                trace=tuple(trace),
            )
            for row, trace in enumerate(traces)
        ]
