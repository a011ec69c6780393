"""Free energies and Newton steps at batches of points, in doubles.

A point is known by the logs of the free beliefs of a `Frame`; all others are sums of these in which
next to nothing cancels. So a belief of exp(-1e9) is an ordinary number, beliefs are consistent up
to the last places, and small systems of equations do for a step. All numbers are made by `portable`
arithmetic, as far as systems are small: then a search takes the same way on every processor.

Shapes: S points of a batch, D outer beliefs, F of them free, R that follow from these, I inner
beliefs; q = R + I sums of free beliefs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liftgbp.solve import portable
from liftgbp.solve.energy import LEAST_LOG, Energy, Polytope
from liftgbp.solve.frames import Face, Faces, Frame, Terms, size_in_bits
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import InternalError

MOST_NUMBERS = 10**6
"""Points are handled together while arrays have fewer numbers than this."""

FIRST_DAMPING, LAST_DAMPING = 2.0**-10, 2.0**20
"""What the metric is multiplied by where the free energy is not convex, at first and at last."""

STEEPER = 4.0
"""By how much damping grows until the Hessian is positive, and falls from one step to the next."""

LONGEST = 40.0
"""How much the log of a belief may change in one step. With ten, descent takes half as many steps
more; with a hundred, beliefs of the transitive relation over 1e6 objects fall far too low."""

LONGEST_RISE, PART_OF_RISE = 4.0, 0.5
"""And how much the log of a small belief may grow, or by which part of it: what Newton's method
says about tiny beliefs is right only while they are tiny (the chain over 1e6 objects)."""

NEAR_SADDLE = 1e-3
"""Newton steps of up to this size lead to saddles; longer ones must go downwards."""

FAR_APART = 50.0
"""Logs of beliefs that depend on each other are taken to differ by no more than this, upwards."""

ROUGHLY_CONSISTENT = 0.05
"""Where sums of free beliefs differ from what they should be by less than this, in proportion, they
are put in place of it."""


def by_frame(frames: Sequence[Frame], rows: Ints) -> Iterator[tuple[Frame, Ints]]:
    """The rows of points in groups with one frame each, whose arrays fit in memory."""
    groups: dict[Frame, list[int]] = {}
    for row in rows.tolist():
        groups.setdefault(frames[row], []).append(row)
    for frame, own in groups.items():
        together = max(1, MOST_NUMBERS // max(1, frame.rows.size))
        for first in range(0, len(own), together):
            yield frame, np.array(own[first : first + together])


def suited(face: Face, frames: list[Frame], logs: Floats, rows: Ints) -> None:
    """Choose another frame for points with outer logs (S, D) at which their own cancels."""
    sizes = logs * size_in_bits(1.0)
    for frame, own in list(by_frame(frames, rows)):
        for row in own[~frame.suits(sizes[own], steps=2)].tolist():
            frames[row] = face.frame(sizes[row], frame) or frame


class Sums:
    """Sums of free beliefs at points, by their logs (S, F).

    logs    (S, q) logs of the sums
    values  (S, q) the sums
    shares  (S, q, F) each free belief as a part of each sum, times its coefficient
    is_inside  (S) whether all sums are positive
    """

    def __init__(self, terms: Terms, free_logs: Floats) -> None:
        self._terms = terms
        self.free_logs = free_logs
        points, width = free_logs.shape
        logs = np.zeros((points, width + 1))
        logs[:, :width] = free_logs
        logs = logs[:, terms.column]
        top = np.maximum.reduceat(logs, terms.starts, axis=1)
        parts = [logs - top[:, terms.row], top, free_logs]
        exponentials = portable.exp(np.concatenate(parts, axis=1))
        ends = logs.shape[1], logs.shape[1] + top.shape[1]
        self._parts = exponentials[:, : ends[0]] * terms.factor
        self.free = exponentials[:, ends[1] :]
        totals = np.add.reduceat(self._parts, terms.starts, axis=1)
        never = terms.factor[terms.starts] == 0
        self.is_inside = np.asarray(((totals > 0) | never).all(axis=1))
        self._totals = np.where(totals > 0, totals, 1.0)
        self.logs = top + portable.log(self._totals)
        self.values = exponentials[:, ends[0] : ends[1]] * np.maximum(totals, 0.0)

    @cached_property
    def shares(self) -> Floats:
        """The part (S, n) that each term is of its sum."""
        return np.asarray(self._parts / self._totals[:, self._terms.row])


class Newton:
    """The equations of Newton steps at points: what slopes (S, F) say about relative changes.

    The first sums are those of outer beliefs, whose entropies make the metric. With damping, the
    metric is added to the Hessian as often as that says.

    shares                 (S, n) the part that each term is of its sum
    free_weights, weights  (S, F) and (S, q) what entropies of free beliefs and of sums count for
    """

    def __init__(
        self, terms: Terms, outer: int, shares: Floats, free_weights: Floats, weights: Floats
    ) -> None:
        self._terms = terms
        self._outer = outer
        self._shares = shares
        self._free_weights = free_weights
        self._weights = weights

    def solved(self, slopes: Floats, damping: Floats, rows: Ints) -> tuple[Floats, Floats, Bools]:
        """Relative changes of free beliefs and of sums at some points.

        And whether the Hessian is positive there.
        """
        terms, more = self._terms, (1 + damping)[:, None]
        right = -slopes / (self._free_weights[rows] * more)
        if terms.width <= terms.sums:
            change, positive = self._by_beliefs(right, more, rows)
        else:
            change, positive = self._by_sums(right, more, rows)
        return change, terms.totals(self._shares[rows], change), positive

    def _by_beliefs(self, right: Floats, more: Floats, rows: Ints) -> tuple[Floats, Bools]:
        metric, others = self._hessian
        matrices = others[rows]
        matrices /= more[:, :, None]
        matrices += metric[rows]
        return portable.solved(matrices, right)

    @cached_property
    def _hessian(self) -> tuple[Floats, Floats]:
        """The metric, and the other part of the Hessian, by relative changes of free beliefs."""
        terms, outer = self._terms, self._outer
        factors = self._weights[:, terms.row] * terms.factor
        metric, others = terms.products(factors, self._shares, outer)
        weights = self._free_weights[:, :, None]
        metric /= weights
        others /= weights
        metric += np.eye(terms.width)
        return metric, others

    def _by_sums(self, right: Floats, more: Floats, rows: Ints) -> tuple[Floats, Bools]:
        """The same by fewer equations, for changes of sums: the formula of Woodbury.

        With positive weights first, pivots are positive just where the Hessian is.
        """
        terms = self._terms
        weights = self._weights[rows]
        weights[:, self._outer :] /= more
        matrices = self._products_of_sums[rows] * weights[:, None, :]
        matrices += np.eye(terms.sums)
        shares = self._shares[rows]
        given = terms.totals(shares, right)
        order = np.argsort(weights <= 0, axis=1, kind="stable")
        matrices = np.take_along_axis(matrices, order[:, :, None], axis=1)
        matrices = np.take_along_axis(matrices, order[:, None, :], axis=2)
        found, positive = portable.solved(matrices, np.take_along_axis(given, order, axis=1))
        back = np.empty_like(found)
        np.put_along_axis(back, order, found, axis=1)
        return right - terms.along(weights * back) / self._free_weights[rows], positive

    @cached_property
    def _products_of_sums(self) -> Floats:
        weights = _by_term(self._free_weights, self._terms)
        return self._terms.products_of_sums(self._shares / weights)


def _by_term(free: NDArray[Any], terms: Terms) -> NDArray[Any]:
    """What belongs to the free belief of each term; one for constants."""
    return np.asarray(np.pad(free, ((0, 0), (0, 1)), constant_values=1)[:, terms.column])


class Chart:
    """Points in one frame, with their free energies.

    energy  free energies
    rows    (S) which of them belong to the points
    """

    def __init__(self, energy: Energy, rows: Ints, frame: Frame, free_logs: Floats) -> None:
        self.frame = frame
        self._energy = energy
        self._rows = rows[:, None]
        self._bound = len(frame.bound)
        self.sums = Sums(frame.terms, np.maximum(free_logs, LEAST_LOG))
        self.is_inside = self.sums.is_inside

    @cached_property
    def logs(self) -> Floats:
        """The logs (S, D) of outer beliefs."""
        return self.outer(self.sums.free_logs, self.sums.logs)

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Weights and log potentials of free beliefs, and of sums."""
        own, free, bound = self._energy, self.frame.free, self.frame.bound
        rows, every = self._rows, self._rows[:, 0]
        return (
            own.outer_weight[rows, free],
            own.outer_theta[rows, free],
            np.concatenate([own.outer_weight[rows, bound], own.inner_weight[every]], axis=1),
            np.concatenate([own.outer_theta[rows, bound], own.inner_theta[every]], axis=1),
        )

    def values(self) -> Floats:
        """The scaled free energies and entropies (2, S)."""
        free_weight, free_theta, weight, theta = self._numbers
        sums = self.sums
        free, own = free_weight * sums.free, weight * sums.values
        value = (free * (sums.free_logs - free_theta)).sum(axis=1)
        value += (own * (sums.logs - theta)).sum(axis=1)
        entropy = (free * sums.free_logs).sum(axis=1) + (own * sums.logs).sum(axis=1)
        return np.array([value, -entropy])

    @cached_property
    def slopes(self) -> Floats:
        """The slopes (S, F) of the free energy by free beliefs."""
        free_weight, free_theta, weight, theta = self._numbers
        sums = self.sums
        by_sums = weight * (sums.logs - theta + 1)
        own = free_weight * (sums.free_logs - free_theta + 1)
        return np.asarray(own + self.frame.terms.along(by_sums))

    def newton(self, frozen: Bools | None = None) -> Newton:
        """The equations of Newton steps; some free beliefs may be left as they are."""
        free_weight, _, weight, _ = self._numbers
        terms, shares = self.frame.terms, self.sums.shares
        if frozen is not None:
            shares = np.where(_by_term(frozen, terms), 0.0, shares)
        return Newton(terms, self._bound, shares, free_weight, weight)

    def outer(self, free: Floats, sums: Floats) -> Floats:
        """Numbers (S, D) of outer beliefs from those of free ones and of sums."""
        numbers = np.empty((len(free), len(self.frame.free) + self._bound))
        numbers[:, self.frame.free] = free
        numbers[:, self.frame.bound] = sums[:, : self._bound]
        return numbers

    def curvatures(self, least: float) -> Iterator[Floats]:
        """The curvatures of each point: eigenvalues in the metric of outer entropies.

        Free beliefs below `least` are zero, and stay so. All other curvatures are one.
        """
        free_weight, _, weight, _ = self._numbers
        # The root of a part times that of its coefficient: rows are then symmetric.
        terms = self.frame.terms
        zero = _by_term(self.sums.free_logs < math.log(least), terms)
        roots = self.sums.shares * terms.factor / _by_term(free_weight, terms)
        roots = np.copysign(np.sqrt(np.where(zero, 0.0, roots)), terms.factor)
        for row, own in zip(roots, weight, strict=True):
            yield np.append(_eigenvalues(terms.spread(row), own, self._bound), 1.0)


def _eigenvalues(rows: Floats, weights: Floats, bound: int) -> Floats:
    """Eigenvalues of 1 + rows' weights rows in the metric of the first rows alone."""
    own = rows[:bound] * np.sqrt(weights[:bound])[:, None]
    inner, weights = rows[bound:], weights[bound:]
    width = rows.shape[1]
    if not width or not len(inner):
        return np.ones(1)
    try:
        if width <= max(len(inner), portable.BLOCK):
            # With ones in the diagonal of the metric, no direction is lost beside heavier ones.
            scale = 1 / np.sqrt(1 + (own**2).sum(axis=0))
            own, inner = own * scale, inner * scale
            lower = np.linalg.cholesky(np.diag(scale**2) + own.T @ own)
            half = np.linalg.solve(lower, inner.T * weights @ inner)
            return np.asarray(1 + np.linalg.eigvalsh(np.linalg.solve(lower, half.T)))
        gram = inner @ inner.T
        if bound:
            across = own @ inner.T
            gram -= across.T @ np.linalg.solve(np.eye(bound) + own @ own.T, across)
        sizes, turn = np.linalg.eigh(gram)
        spread = turn * np.sqrt(np.maximum(sizes, 0.0))
        return np.asarray(1 + np.linalg.eigvalsh(spread.T * weights @ spread))
    except np.linalg.LinAlgError:
        return np.zeros(1)


class Step(NamedTuple):
    """A Newton step at each point: a direction of descent, and what it says about the point.

    change    (S, D) relative changes of outer beliefs
    slope     (S) by how much the scaled free energy falls along it, to first order
    residual  (S) the largest change of a belief
    longest   (S) how much of it may be taken
    convex    (S) whether all curvatures are positive
    to_saddle (S) whether it leads to a saddle nearby, perhaps upwards
    damping   (S) how many times the metric was added to the Hessian
    """

    change: Floats
    slope: Floats
    residual: Floats
    longest: Floats
    convex: Bools
    to_saddle: Bools
    damping: Floats

    @staticmethod
    def empty(points: int, width: int) -> Step:
        """No step at all."""
        return Step(
            np.zeros((points, width)),
            np.zeros(points),
            np.zeros(points),
            np.ones(points),
            np.zeros(points, dtype=bool),
            np.zeros(points, dtype=bool),
            np.ones(points),
        )

    def update(self, rows: Ints, new: Step) -> None:
        """Put the steps of some points in their places."""
        for column, own in zip(self, new, strict=True):
            column[rows] = own


def step_of(chart: Chart, damping: Floats, least: float) -> Step:
    """The Newton steps at the points of a chart; `damping` is what the last ones took.

    What beliefs below `least` do does not count, unless they rise above that.
    """
    logs, smallest = chart.logs, math.log(least)
    free, sums, convex, to_saddle, used = _downwards(chart, damping, smallest)
    slope = (chart.slopes * chart.sums.free * free).sum(axis=1)
    change = chart.outer(free, sums)
    change = np.where(logs > smallest, change, np.minimum(change, smallest + LONGEST_RISE - logs))
    size = _sizes(logs, change, smallest)
    residual = size.max(axis=1, initial=0.0)
    highest = np.maximum(LONGEST_RISE, -PART_OF_RISE * logs)
    size *= np.where((change > 0) & (logs < -2 * LONGEST_RISE), LONGEST / highest, 1.0)
    longest = LONGEST / np.maximum(size.max(axis=1, initial=0.0), LONGEST)
    return Step(change, slope, residual, longest, convex, to_saddle, used)


def _sizes(logs: Floats, change: Floats, smallest: float) -> Floats:
    """How large changes are; those of tiny beliefs count as far as they rise above `smallest`."""
    return np.where(logs > smallest, np.abs(change), logs + change - smallest)


def _downwards(
    chart: Chart, damping: Floats, smallest: float
) -> tuple[Floats, Floats, Bools, Bools, Floats]:
    """The changes of free beliefs and of sums, and the last three numbers of a `Step`.

    Where the Hessian is not positive, tiny beliefs that fall are left as they are: they may bend
    the free energy downwards, and what counts is the face on which they are zero. Then the metric
    is added to it, unless a saddle is near.
    """
    every, used = np.arange(len(damping)), np.zeros(len(damping))
    newton, slopes = chart.newton(), chart.slopes
    free, sums, positive = newton.solved(slopes, used, every)
    frozen = (chart.sums.free_logs < smallest) & (slopes > 0) & ~positive[:, None]
    if frozen.any():
        newton, slopes = chart.newton(frozen), np.where(frozen, 0.0, slopes)
        free, sums, positive = newton.solved(slopes, used, every)
        free[frozen] = 0.0
    if positive.all():
        return free, sums, positive, ~positive, used
    size = _sizes(chart.logs, chart.outer(free, sums), smallest)
    convex, to_saddle = positive.copy(), ~positive & (size.max(axis=1) < NEAR_SADDLE)
    left = np.flatnonzero(~(to_saddle | convex))
    trial = np.maximum(damping / STEEPER, FIRST_DAMPING)
    while len(left):
        used[left] = trial[left]
        free[left], sums[left], positive[left] = newton.solved(slopes[left], used[left], left)
        free[frozen] = 0.0
        left = left[~(positive | (used >= LAST_DAMPING))[left]]
        trial *= STEEPER
    return free, sums, convex, to_saddle, used


class PointBatch:
    """Points of a batch of free energies, each in a frame that suits it.

    logs  (S, D) the logs of outer beliefs
    step  the last Newton step at each point
    """

    def __init__(self, energy: Energy, faces: Faces, logs: Floats, tolerances: Tolerances) -> None:
        self._energy = energy
        self._faces = faces
        self._tolerances = tolerances
        self.logs = np.maximum(logs, LEAST_LOG)
        if faces.first is None:
            raise InternalError("points of an empty polytope")
        self._frames = [faces.first] * len(logs)
        suited(faces.whole, self._frames, self.logs, np.arange(len(logs)))
        self.step = Step.empty(*logs.shape)
        self._tried: list[tuple[Chart, Ints]] = []

    def charts(self, rows: Ints) -> Iterator[tuple[Chart, Ints]]:
        """Some points in groups with one frame each."""
        suited(self._faces.whole, self._frames, self.logs, rows)
        for frame, own in by_frame(self._frames, rows):
            yield Chart(self._energy, own, frame, self.logs[own][:, frame.free]), own

    def _known_charts(self, rows: Ints) -> Iterator[tuple[Chart, Ints]]:
        """The same, without new ones of points that have moved there."""
        left = np.zeros(len(self.logs), dtype=bool)
        left[rows] = True
        for chart, own in self._tried:
            if left[own].all() and (self.logs[own] == chart.logs).all():
                left[own] = False
                for row in own.tolist():
                    self._frames[row] = chart.frame
                yield chart, own
        yield from self.charts(np.flatnonzero(left))

    def values(self, rows: Ints) -> Floats:
        """The scaled free energies and entropies (2, S) of some points."""
        found = np.empty((2, len(self.logs)))
        for chart, own in self.charts(rows):
            found[:, own] = chart.values()
        return found[:, rows]

    def take_steps(self, rows: Ints) -> None:
        """Find the Newton steps at some points."""
        for chart, own in self._known_charts(rows):
            new = step_of(chart, self.step.damping[own], self._tolerances.zero_belief)
            self.step.update(own, new)
        self._tried = []

    def moved(self, rows: Ints, length: Floats) -> tuple[Bools, Floats, Floats]:
        """Where parts of the steps of some points lead.

        The first result is whether beliefs are positive there (S), then come the logs of outer
        beliefs (S, D), and the scaled free energies and entropies (2, S).
        """
        goal = self.logs[rows] + length[:, None] * self.step.change[rows]
        frames = [self._frames[row] for row in rows.tolist()]
        # Giving up early makes room for shorter steps, and halves the time of large models.
        limits = self._tolerances
        logs, near = _nearly_consistent(self._faces, frames, goal, limits, limits.most_idle)
        values = np.zeros((2, len(rows)))
        for frame, own in by_frame(frames, np.flatnonzero(near)):
            chart = Chart(self._energy, rows[own], frame, logs[own][:, frame.free])
            near[own] = chart.is_inside
            logs[own] = chart.logs
            values[:, own] = chart.values()
            self._tried.append((chart, rows[own]))
        return near, logs, values

    def curvatures(self, rows: Ints) -> dict[int, Floats]:
        """The curvatures at some points."""
        return {
            row: values
            for chart, own in self.charts(rows)
            for row, values in zip(
                own.tolist(), chart.curvatures(self._tolerances.zero_belief), strict=True
            )
        }


def nearest_consistent(faces: Faces, logs: Floats, tolerances: Tolerances) -> tuple[Floats, Bools]:
    """Consistent beliefs near given ones by outer logs (S, D), and whether there are any.

    They are those of least relative entropy, roughly: Newton's method multiplies beliefs until free
    ones can decide the others.
    """
    if faces.first is None:
        return logs, np.zeros(len(logs), dtype=bool)
    frames = [faces.first] * len(logs)
    logs, near = _nearly_consistent(faces, frames, logs, tolerances, tolerances.most_rounds)
    for frame, rows in by_frame(frames, np.flatnonzero(near)):
        logs[rows[:, None], frame.bound] = Sums(frame.bound_terms, logs[rows][:, frame.free]).logs
    return logs, near


def _nearly_consistent(
    faces: Faces, frames: list[Frame], logs: Floats, tolerances: Tolerances, patience: int
) -> tuple[Floats, Bools]:
    """Beliefs that are nearly consistent, and whether there are any; `frames` get to suit them.

    Points whose error falls in none of `patience` rounds are given up.
    """
    logs = np.maximum(logs, LEAST_LOG)
    logs -= _log_sums(faces.consistent, logs)
    near = np.zeros(len(logs), dtype=bool)
    left = np.arange(len(logs))
    best, idle = np.full(len(logs), np.inf), np.zeros(len(logs), dtype=np.int64)
    for _ in range(tolerances.most_rounds):
        suited(faces.whole, frames, logs, left)
        for frame, rows in by_frame(frames, left):
            own = _Nearly(frame, logs[rows])
            near[rows] = own.error < ROUGHLY_CONSISTENT
            better = own.error < tolerances.progress * best[rows]
            idle[rows] = np.where(better, 0, idle[rows] + 1)
            best[rows] = np.minimum(best[rows], own.error)
            far = np.flatnonzero(~near[rows])
            if len(far):
                logs[rows[far]] = own.improved(far)
        left = left[~near[left] & (idle[left] < patience)]
        if not len(left):
            break
    return logs, near


class _Nearly:
    """Outer beliefs that are not consistent; `error` is how far sums are off, in proportion."""

    def __init__(self, frame: Frame, logs: Floats) -> None:
        self._frame, self._logs = frame, logs
        terms = self._terms = frame.bound_terms
        free = np.zeros((len(logs), len(frame.free) + 1))
        free[:, :-1] = logs[:, frame.free]
        apart = free[:, terms.column] - logs[:, frame.bound][:, terms.row]
        self._parts = portable.exp(np.minimum(apart, FAR_APART)) * terms.factor
        self._off = np.add.reduceat(self._parts, terms.starts, axis=1) - 1
        self.error = np.abs(self._off).max(axis=1, initial=0.0)

    def improved(self, rows: Ints) -> Floats:
        """Logs of some points after a round of Newton's method."""
        frame, terms, off = self._frame, self._terms, self._off[rows]
        free_ones, ones = np.ones((len(rows), terms.width)), np.ones((len(rows), terms.sums))
        newton = Newton(terms, terms.sums, self._parts[rows], free_ones, ones)
        free, sums, _ = newton.solved(terms.along(off), np.zeros(len(rows)), np.arange(len(rows)))
        change = np.empty((len(rows), self._logs.shape[1]))
        change[:, frame.free], change[:, frame.bound] = free, sums + off
        return np.asarray(self._logs[rows] + np.clip(change, -LONGEST_RISE, LONGEST_RISE))


def _log_sums(consistent: Polytope, logs: Floats) -> Floats:
    """The log of the sum of the beliefs of its region, for each outer belief."""
    if not logs.size:
        return logs
    region, states = consistent.outer_region_of, consistent.outer_states
    starts = np.searchsorted(region, np.arange(consistent.outer_regions))
    top = np.maximum.reduceat(logs, starts, axis=1)
    sums = np.add.reduceat(portable.exp(logs - top[:, region]) * states, starts, axis=1)
    return np.asarray((top + portable.log(sums))[:, region])
