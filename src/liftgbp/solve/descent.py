"""Descent on the lifted Kikuchi free energy from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints, distinct
from liftgbp.errors import checked_number
from liftgbp.pictures.cards import HasSettings
from liftgbp.plan import Layout, Plan, Structure
from liftgbp.progress import Progress, silent
from liftgbp.solve.flooding import check_tolerance, check_tolerances, flooded_beliefs
from liftgbp.solve.mean_field import Products, best_products, log_z_bounds
from liftgbp.solve.mixture import End, solutions_of
from liftgbp.solve.newton import newton_step, one_thread
from liftgbp.solve.problem import Energy, polytope
from liftgbp.solve.retraction import nearest_consistent
from liftgbp.solve.solution import Point, Solution, Status
from liftgbp.solve.starts import different, starting_beliefs
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, classify
from liftgbp.values import dataclass

HIDDEN = "rounding hides the minimum of the free energy; the answer is that of independent atoms"
"""Why a solution of independent atoms is not checked."""


MOST_SETTINGS = 4
"""For how many seeds or tolerances starts of a layout are kept: a user has one or two."""

_common: WeakKeyDictionary[Structure, dict[tuple[int, int, Tolerances], list[Floats]]]
_common = WeakKeyDictionary()
"""Starts that plans of a layout share, by how many are random, their seed and the tolerances."""


@dataclass(frozen=True, slots=True)
class Descent(HasSettings):
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
            products = best_products(plans, self.tolerances)
            starts = self._starts(plans, products)
            return self._solve(plans, starts, products.bounds, progress)

    def _starts(self, plans: Sequence[Plan], products: Products) -> list[list[Floats]]:
        """The beliefs of outer regions to start from, for each plan.

        These are fixed ones, which all plans share, and where message passing gets in a few
        iterations, unless that is nowhere; then the best that independent atoms reach, since the
        lowest minimum is below.
        """
        layout, own = plans[0].layout, self.tolerances
        consistent, common = polytope(layout), self._common_starts(layout)
        flooded = flooded_beliefs(plans, own.flooded_start, own)[:, consistent.outer]
        usable = np.asarray(np.isfinite(flooded).all(axis=1))
        flooded, error = nearest_consistent(
            consistent, np.where(usable[:, None], flooded, 1.0), own
        )
        good = usable & (error < own.nearly_consistent)
        return [
            [*common, *start[fine], *np.exp(log_beliefs[:, consistent.outer])]
            for start, fine, log_beliefs in zip(
                flooded[:, None], good[:, None], products.log_beliefs, strict=True
            )
        ]

    def _common_starts(self, layout: Layout) -> list[Floats]:
        """The starts that all plans of a layout share, as far as consistent beliefs are near."""
        known = _common.setdefault(layout.structure, {})
        key = self.random, self.seed, self.tolerances
        if key not in known:
            if len(known) >= MOST_SETTINGS:
                known.clear()
            consistent, own = polytope(layout), self.tolerances
            beliefs = starting_beliefs(layout, self.random, self.seed)[:, consistent.outer]
            beliefs, error = nearest_consistent(consistent, beliefs, own)
            known[key] = list(beliefs[error < own.nearly_consistent])
        return known[key]

    def follow(
        self, plans: Sequence[Plan], neighbours: Sequence[Sequence[Solution]]
    ) -> list[Solution]:
        """The solutions of plans with one layout, each from the stationary points of neighbours."""
        consistent = polytope(plans[0].layout)
        starts = [
            different(
                [np.exp(p.log_beliefs[consistent.outer]) for p in self._worth_following(own)],
                by=self.tolerances.same,
            )
            for own in neighbours
        ]
        with one_thread(consistent):
            bounds = log_z_bounds(plans, self.tolerances)
            return self._solve(plans, starts, bounds, silent)

    def from_beliefs(
        self, plans: Sequence[Plan], starts: Sequence[Sequence[Floats]], bounds: Sequence[float]
    ) -> list[Solution]:
        """The solutions of plans with one layout, each from some beliefs of all regions.

        `bounds` are what log Z is at least. Only what the starts lead to is part of a solution, not
        its images under the symmetries of the plan.
        """
        consistent, own = polytope(plans[0].layout), self.tolerances
        with one_thread(consistent):
            usable = []
            for beliefs in starts:
                rows = np.array(beliefs)[:, consistent.outer]
                rows, error = nearest_consistent(consistent, rows, own)
                usable.append(list(rows[error < own.nearly_consistent]))
            return self._solve(plans, usable, bounds, silent, images=False)

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
        consistent = polytope(plans[0].layout)
        ends: list[list[End]] = [[] for _ in plans]
        rows = [(number, start) for number, own in enumerate(starts) for start in own]
        for part in consistent.batches(rows, self.tolerances.most_numbers):
            run = _Run(
                Energy([plans[number] for number, _ in part], consistent, self.tolerances),
                np.array([start for _, start in part]),
                np.array([number for number, _ in part]),
            )
            run.descend(self.iterations, self.tol, progress)
            for (number, _), end in zip(part, run.ends(), strict=True):
                ends[number].append(end)
        return solutions_of(plans, ends, starts, bounds, self.tolerances, images=images)


def independent(
    plan: Plan,
    beliefs: Floats,
    log_z: float,
    entropy: float,
    tolerances: Tolerances,
    why: str = HIDDEN,
) -> Solution:
    """Beliefs of independent atoms as a solution; what they reach is a lower bound of log Z.

    `why` says in words why there is no minimum to take instead.
    """
    candidate = Candidate(plan, beliefs, log_z, residual=0.0, step=None, entropy=entropy)
    with np.errstate(divide="ignore"):
        logs = np.log(beliefs)
    return Solution(
        solver="independent atoms",
        status=Status.CONVERGED,
        iterations=0,
        residual=0.0,
        log_beliefs=logs,
        log_z=log_z,
        trace=np.zeros(0),
        judged=replace(classify([candidate], tolerances)[0], unknown=why),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Stepped:
    """Where one Newton step leads from the same beliefs, on each of some plans.

    log_z    to second order in the step
    beliefs  those of all regions, to first order, one row per plan
    """

    log_z: list[float]
    beliefs: Floats


def stepped(plans: Sequence[Plan], beliefs: Floats, tolerances: Tolerances) -> Stepped:
    """One Newton step from a minimum of a neighbouring plan; all plans share a layout."""
    consistent = polytope(plans[0].layout)
    log_z: list[float] = []
    rows: list[Floats] = []
    with one_thread(consistent):
        for part in consistent.batches(plans, tolerances.most_numbers):
            energy = Energy(part, consistent, tolerances)
            here = np.tile(beliefs[consistent.outer], (len(part), 1))
            step = newton_step(energy, here)
            value = energy.value(here) + step.slope / 2
            for k, plan in enumerate(part):
                log_z.append(plan.log_offset - float(value[k]) * float(energy.scale[k]))
            rows.append(consistent.all_entries(here + step.change))
    return Stepped(log_z, np.concatenate(rows))


class _Run:
    """A batch of points on their way down; `problem` tells which points belong together."""

    def __init__(self, energy: Energy, starts: Floats, problem: Ints) -> None:
        self.energy = energy
        self._tolerances = energy.tolerances
        self.b = starts.copy()
        self.step = newton_step(energy, starts, bounds_do=True)
        self.value, self._entropy = energy.value_and_entropy(starts)
        self.settled = np.zeros(len(starts), dtype=bool)
        self.trace: list[Floats] = [self.value]
        self.iterations = np.zeros(len(starts), dtype=np.int64)
        self._stuck = np.zeros(len(starts), dtype=bool)
        self._length = np.ones(len(starts))
        self._astray = np.zeros(len(starts), dtype=np.int64)
        self._best = np.full(len(starts), np.inf)
        self._idle = np.zeros(len(starts), dtype=np.int64)
        self._still = np.zeros(len(starts), dtype=np.int64)
        self._problem = problem
        self.leader = np.arange(len(starts))

    def descend(self, most: int, tol: float, progress: Progress) -> None:
        self._settle(tol, np.arange(len(self.b)))
        for iteration in range(1, most + 1):
            alone = self.leader == np.arange(len(self.b))
            moving = np.flatnonzero(~(self.settled | self._stuck) & alone)
            if not len(moving):
                break
            progress("descending", iteration, most)
            self._advance(moving)
            self._settle(tol, moving)
            self._give_up(iteration)
            self._join()

    def _settle(self, tol: float, moved: Ints) -> None:
        own = self._tolerances
        # Along a flat direction the gradient's rounding moves a point that much.
        flattest = np.maximum(self.step.flattest, own.zero_curvature)
        allowed = np.maximum(tol, own.last_places / flattest)
        self.settled = self.step.residual <= allowed
        if self.energy.consistent.is_large:  # elsewhere further iterations cost next to nothing
            self._count_idle(moved)
            at_rest = (self.step.residual <= own.acceptable) & (self._idle >= own.most_idle)
            self.settled |= at_rest
            # Rounding alone moves these, and they would take as long as all others together.
            self._stuck |= np.minimum(self._idle, self._still) >= own.least_patience

    def _count_idle(self, moved: Ints) -> None:
        """For points that have moved, count the iterations since it last made them better."""
        residual, best = self.step.residual[moved], self._best[moved]
        better = residual < self._tolerances.progress * best
        self._idle[moved] = np.where(better, 0, self._idle[moved] + 1)
        self._best[moved] = np.minimum(residual, best)

    def _advance(self, moving: Ints) -> None:
        """One step of every point that still moves, as long as its free energy falls."""
        own = self._tolerances
        self.iterations[moving] += 1
        longest = np.minimum(
            1.0, own.longest_step / np.maximum(self.step.residual, own.zero_belief)
        )
        cautious = np.minimum(longest, own.lengthen * self._length)
        lengths = np.where(self.step.residual > own.far, cautious, longest)
        value, left = self.value.copy(), moving
        for _ in range(own.most_rounds):
            if not len(left):
                break
            lower = self._try(left, lengths[left], value)
            self._length[left[lower]] = lengths[left[lower]]
            left = left[~lower]
            lengths /= 2
        self._stuck[left] = True
        rounding = own.rounding * np.maximum(np.abs(value), 1)
        fallen = (self.value - value > rounding)[moving]
        self._still[moving] = np.where(fallen, 0, self._still[moving] + 1)
        self.value = value
        self.trace.append(value)
        new = newton_step(self.energy[moving], self.b[moving], bounds_do=True)
        self.step = self.step.updated(moving, new)

    def _try(self, moving: Ints, lengths: Floats, value: Floats) -> NDArray[np.bool_]:
        own = self._tolerances
        here = self.b[moving]
        ratio = lengths[:, None] * self.step.change[moving] / np.maximum(here, own.zero_belief)
        energy = self.energy[moving]
        there, error = nearest_consistent(
            energy.consistent, here * np.exp(ratio), own, energy.choices
        )
        sound = error < own.nearly_consistent
        # What failed may not even be finite.
        found, entropy = energy.value_and_entropy(np.where(sound[:, None], there, here))
        rounding = own.rounding * np.maximum(np.abs(value[moving]), 1)
        lower = sound & (found <= value[moving] + rounding)
        self.b[moving[lower]] = there[lower]
        value[moving[lower]], self._entropy[moving[lower]] = found[lower], entropy[lower]
        return np.asarray(lower)

    def _give_up(self, iteration: int) -> None:
        """Stop points that lead nowhere.

        Those are points that stay where the entropy is impossible, since counting numbers
        over-count there, and points far behind the first minimum of the same problem.
        """
        limits = self._tolerances
        entropy, most = self._entropy, self.energy.largest_entropy
        slack = limits.level * (most + 1)
        impossible = (entropy < -slack) | (entropy > most + slack)
        self._astray = np.where(impossible, self._astray + 1, 0)
        self._stuck |= self._astray >= limits.most_astray
        if self.settled.any():
            slowest = np.full(self._problem.max() + 1, np.inf)
            first = limits.patience * (self.iterations[self.settled] + 1)
            np.minimum.at(
                slowest, self._problem[self.settled], np.maximum(first, limits.least_patience)
            )
            self._stuck |= iteration >= slowest[self._problem]

    def _join(self) -> None:
        """Leave points to others that go to the same minimum and are lower."""
        own = np.arange(len(self.b))
        self.leader = np.where(self._stuck[self.leader], own, self.leader)
        curved = self.step.lowest > self._tolerances.zero_curvature
        near = (self.step.residual < self._tolerances.far) & curved & ~self._stuck
        rows = np.flatnonzero(near & (self.leader == own))
        if self.settled[rows].all():
            return
        rows = rows[np.lexsort((self.value[rows], ~self.settled[rows], self._problem[rows]))]
        problem = self._problem[rows]
        ends = np.flatnonzero(problem[1:] != problem[:-1]) + 1
        for first, last in pairwise([0, *ends.tolist(), len(rows)]):
            group = rows[first:last]
            if not self.settled[group].all():
                self._join_group(group)
        # Those who followed a point that follows another one now follow that.
        self.leader = self.leader[self.leader]

    def _join_group(self, rows: Ints) -> None:
        """Leave points of one problem, best first, to better ones."""
        goal = np.maximum(self.b[rows] + self.step.change[rows], self._tolerances.zero_belief)
        apart = np.abs(goal[:, None] / goal[None, :] - 1).max(axis=2, initial=0.0)
        first = ((apart < self._tolerances.together) | np.eye(len(rows), dtype=bool)).argmax(axis=1)
        while (first[first] != first).any():
            first = first[first]
        moving = ~self.settled[rows]
        self.leader[rows[moving]] = rows[first[moving]]

    def ends(self) -> list[End]:
        """Where the points have ended, with the curvatures there."""
        bounded = distinct(self.leader[~self.step.exact[self.leader]])
        if len(bounded):
            found = newton_step(self.energy[bounded], self.b[bounded])
            self.step = self.step.updated(bounded, found)
        most = self._tolerances.acceptable
        traces = np.array(self.trace).T.tolist()
        return [
            End(
                energy=self.energy,
                row=row,
                outer=self.b[row],
                value=float(self.value[row]),
                step=self.step.row(row),
                settled=bool(self.settled[row] or self.step.residual[row] <= most),
                iterations=int(self.iterations[start]),
                trace=tuple(trace),
            )
            for start, (row, trace) in enumerate(zip(self.leader.tolist(), traces, strict=True))
        ]
