"""Free energies and Newton steps at points that share a frame, in doubles.

A point is known by the logs of the free beliefs of a `Frame`; all others are sums of these in which
next to nothing cancels. So a belief of exp(-1e9) is an ordinary number, beliefs are consistent up
to the last places, and small systems of equations do for a step. All numbers are made by `portable`
arithmetic, as far as systems are small: then a search takes the same way on every processor.

Shapes: S points, D outer beliefs, F of them free, R that follow from these, I inner beliefs;
q = R + I sums of free beliefs, with n terms in all. Free beliefs come first, then sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from liftgbp.solve import portable
from liftgbp.solve.energy import LEAST_LOG, Energy
from liftgbp.solve.frames import Frame, Terms
from liftgbp.support.arrays import Bools, Floats, Ints

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


class Sums:
    """Beliefs of a frame at points, by the logs (S, F) of free ones.

    logs       (S, F + q) their logs
    values     (S, F + q) the beliefs
    shares     (S, n) the part that each term is of its sum
    is_inside  (S) whether all sums are positive
    """

    def __init__(self, terms: Terms, free_logs: Floats) -> None:
        self._terms = terms
        free_logs = np.maximum(free_logs, LEAST_LOG)
        logs = terms.of_terms(free_logs, 0.0)
        top = np.maximum.reduceat(logs, terms.starts, axis=1)
        exponents = np.concatenate([free_logs, top, logs - top[:, terms.row]], axis=1)
        exponentials = portable.exp(exponents)
        width, beliefs = terms.width, terms.width + terms.sums
        self._parts = exponentials[:, beliefs:] * terms.factor
        totals = np.add.reduceat(self._parts, terms.starts, axis=1)
        positive = totals > 0
        self.is_inside = np.asarray((positive | terms.are_zero).all(axis=1))
        self._totals = np.where(positive, totals, 1.0)
        self.logs = exponents[:, :beliefs]
        self.logs[:, width:] += portable.log(self._totals)
        self.values = exponentials[:, :beliefs]
        self.values[:, width:] *= np.maximum(totals, 0.0)

    @property
    def free_logs(self) -> Floats:
        """The logs (S, F) of free beliefs."""
        return self.logs[:, : self._terms.width]

    @cached_property
    def shares(self) -> Floats:
        """The part (S, n) that each term is of its sum."""
        return np.asarray(self._parts / self._totals[:, self._terms.row])


class Newton:
    """The equations of Newton steps at points: what slopes (S, F) say about relative changes.

    The first sums are those of outer beliefs, whose entropies make the metric. With damping, the
    metric is added to the Hessian as often as that says.

    shares   (S, n) the part that each term is of its sum
    weights  (S, F + q) what entropies of beliefs count for
    frozen   (S, F) free beliefs that are left as they are, if any are
    """

    def __init__(
        self,
        terms: Terms,
        outer: int,
        shares: Floats,
        weights: Floats,
        frozen: Bools | None = None,
    ) -> None:
        self._terms = terms
        self._outer = outer
        self._shares = shares
        self._frozen = frozen
        if frozen is not None:
            self._shares = np.where(terms.of_terms(frozen, False), 0.0, shares)
        self._free_weights, self._weights = weights[:, : terms.width], weights[:, terms.width :]

    def solved(self, slopes: Floats, damping: Floats, rows: Ints) -> tuple[Floats, Bools]:
        """Relative changes of beliefs at some points, and whether the Hessian is positive there."""
        terms, more = self._terms, (1 + damping)[:, None]
        right = -slopes / (self._free_weights[rows] * more)
        if terms.width <= terms.sums:
            free, positive = self._by_beliefs(right, damping, rows)
        else:
            free, positive = self._by_sums(right, more, rows)
        if self._frozen is not None:
            free[self._frozen[rows]] = 0.0
        return np.concatenate([free, terms.totals(self._shares[rows], free)], axis=1), positive

    def _by_beliefs(self, right: Floats, damping: Floats, rows: Ints) -> tuple[Floats, Bools]:
        matrices = self._hessian[rows]
        if damping.any():
            part = damping / (1 + damping)
            matrices += (self._metric[rows] - matrices) * part[:, None, None]
        return portable.solved(matrices, right)

    @cached_property
    def _hessian(self) -> Floats:
        """The Hessian by relative changes of free beliefs."""
        return self._products(self._terms.sums)

    @cached_property
    def _metric(self) -> Floats:
        """The same for the entropies of outer beliefs alone."""
        return self._products(self._outer)

    def _products(self, sums: int) -> Floats:
        terms = self._terms
        factors = self._weights[:, terms.row] * terms.factor
        products = terms.products(factors, self._shares, sums) / self._free_weights[:, :, None]
        return np.asarray(products + np.eye(terms.width))

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
        weights = self._terms.of_terms(self._free_weights, 1.0)
        return self._terms.products_of_sums(self._shares / weights)


class Chart:
    """Points in one frame, with their free energies.

    energy  free energies
    rows    (S) which of them belong to the points
    """

    def __init__(self, energy: Energy, rows: Ints, frame: Frame, sums: Sums) -> None:
        self.frame = frame
        self.sums = sums
        self._energy = energy
        self._rows = rows

    @cached_property
    def logs(self) -> Floats:
        """The logs (S, D) of outer beliefs."""
        return self.sums.logs[:, self.frame.place]

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats]:
        """Weights and log potentials of the beliefs of the frame."""
        return self._energy.numbers(self._rows, self.frame.order)

    @cached_property
    def _by_belief(self) -> Floats:
        """The slope of the free energy by each belief as if it were alone, less its weight."""
        weights, theta = self._numbers
        return np.asarray(weights * (self.sums.logs - theta))

    def values(self) -> Floats:
        """The scaled free energies and entropies (2, S)."""
        beliefs, (weights, _) = self.sums.values, self._numbers
        value = (beliefs * self._by_belief).sum(axis=1)
        return np.array([value, -(beliefs * weights * self.sums.logs).sum(axis=1)])

    @cached_property
    def slopes(self) -> Floats:
        """The slopes (S, F) of the free energy by free beliefs."""
        terms, slopes = self.frame.terms, self._by_belief + self._numbers[0]
        return np.asarray(slopes[:, : terms.width] + terms.along(slopes[:, terms.width :]))

    def newton(self, frozen: Bools | None = None) -> Newton:
        """The equations of Newton steps; some free beliefs may be left as they are."""
        outer, weights = len(self.frame.bound), self._numbers[0]
        return Newton(self.frame.terms, outer, self.sums.shares, weights, frozen)

    def curvatures(self, least: float) -> Iterator[Floats]:
        """The curvatures of each point: eigenvalues in the metric of outer entropies.

        Free beliefs below `least` are zero, and stay so. All other curvatures are one.
        """
        weights, _ = self._numbers
        # The root of a part times that of its coefficient: rows are then symmetric.
        terms = self.frame.terms
        free_weights, weights = weights[:, : terms.width], weights[:, terms.width :]
        zero = terms.of_terms(self.sums.free_logs < math.log(least), False)
        roots = self.sums.shares * terms.factor / terms.of_terms(free_weights, 1.0)
        roots = np.copysign(np.sqrt(np.where(zero, 0.0, roots)), terms.factor)
        for row, own in zip(roots, weights, strict=True):
            yield np.append(_eigenvalues(terms.spread(row), own, len(self.frame.bound)), 1.0)


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
    change, convex, to_saddle, used = _downwards(chart, damping, smallest)
    free = slice(chart.frame.terms.width)
    slope = (chart.slopes * chart.sums.values[:, free] * change[:, free]).sum(axis=1)
    change = change[:, chart.frame.place]
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
) -> tuple[Floats, Bools, Bools, Floats]:
    """The changes of the beliefs of a frame, and the last three numbers of a `Step`.

    Where the Hessian is not positive, tiny beliefs that fall are left as they are: they may bend
    the free energy downwards, and what counts is the face on which they are zero. Then the metric
    is added to it, unless a saddle is near.
    """
    every, used = np.arange(len(damping)), np.zeros(len(damping))
    newton, slopes = chart.newton(), chart.slopes
    change, positive = newton.solved(slopes, used, every)
    if positive.all():
        return change, positive, ~positive, used
    frozen = (chart.sums.free_logs < smallest) & (slopes > 0) & ~positive[:, None]
    if frozen.any():
        newton = chart.newton(frozen)
        change, positive = newton.solved(slopes, used, every)
    size = _sizes(chart.logs, change[:, chart.frame.place], smallest)
    convex, to_saddle = positive.copy(), ~positive & (size.max(axis=1) < NEAR_SADDLE)
    left = np.flatnonzero(~(to_saddle | convex))
    trial = np.maximum(damping / STEEPER, FIRST_DAMPING)
    while len(left):
        used[left] = trial[left]
        change[left], positive[left] = newton.solved(slopes[left], used[left], left)
        left = left[~(positive | (used >= LAST_DAMPING))[left]]
        trial *= STEEPER
    return change, convex, to_saddle, used
