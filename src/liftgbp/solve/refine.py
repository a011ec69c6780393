"""Polishing a stationary point where double precision ends.

The weights of the free energy are counts and reach N to the power of the objects in a region, while
what decides the answer may be smaller by as many orders of magnitude. So the gradient is evaluated
with as many digits as the counts have, and each correction is solved for in doubles, as in the
iterative refinement of linear systems. The problem is small: some thousand decimal operations do.
Doubles are worked off for a stack of points at once, decimals point by point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, getcontext, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints
from liftgbp.plan.plan import Plan
from liftgbp.solve.newton import SMALLEST, Energy, Metric, scale_of
from liftgbp.solve.polytope import MOST_NUMBERS, Polytope

ROUNDS = 15
FIRST_ROUNDS = 2
SETTLED = 1e-15
WINDOW, STALLED = 4, 0.3
"""Corrections lead nowhere if they do not shrink by such a factor in so many rounds."""

LARGEST_CORRECTION = 0.5
"""A relative change of a belief beyond this is no correction: the point was not stationary."""

GUARD_DIGITS = 25

NEAR = Decimal("0.02")
"""Up to this relative difference a series is faster than a logarithm."""

Decimals = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Refined:
    """A point with more digits: its beliefs, its free energy and its entropy."""

    outer: Floats
    free_energy: Decimal
    entropy: Decimal
    residual: float


def refine(
    plans: Sequence[Plan], consistent: Polytope, outer: Sequence[Floats]
) -> Iterator[Refined]:
    """For each plan, the stationary point near beliefs of outer regions, and its free energy."""
    rows = list(zip(plans, outer, strict=True))
    for part in consistent.stacks(rows, MOST_NUMBERS):
        energy = Energy([plan for plan, _ in part], consistent)
        points = [_Refinement(plan, consistent, own) for plan, own in part]
        for _ in range(ROUNDS):
            moving = [k for k, point in enumerate(points) if not point.finished]
            if not moving:
                break
            _correct([points[k] for k in moving], energy[np.array(moving)])
        yield from (point.result() for point in points)


def _correct(points: Sequence[_Refinement], energy: Energy) -> None:
    """One Newton correction of beliefs and multipliers of each point, solved in doubles."""
    metric = Metric(energy, np.array([point.beliefs() for point in points]))
    slopes = [point.slope_and_miss() for point in points]
    coordinates = metric.root * np.array([slope for slope, _ in slopes])
    miss = np.array([miss for _, miss in slopes])
    equations = energy.consistent.matrix
    across = metric.onto.solve((coordinates * metric.root @ equations.T)[:, None, :])[:, 0]
    curvatures, along = metric.curvatures(coordinates)
    signed = np.where(curvatures.values < 0, -1.0, 1.0) * curvatures.magnitudes
    back = (metric.onto.solve(miss[:, None, :]) @ equations)[:, 0] * metric.root**2
    change = back - metric.root * curvatures.solve(along, signed)
    for k, point in enumerate(points):
        point.move(change[k], across[k])


class _Refinement:
    """One point on its way, in decimals."""

    def __init__(self, plan: Plan, consistent: Polytope, outer: Floats) -> None:
        scale = scale_of(plan)
        self._context = Context(prec=GUARD_DIGITS + len(str(scale)))
        self._scale = Decimal(scale)
        self._alive = np.flatnonzero(outer > SMALLEST)
        self._b = _decimals(outer[self._alive])
        self._start = outer
        inner_alive = consistent.to_inner[:, self._alive].any(axis=1)
        to_inner, matrix, self._right_side = _exact(consistent)
        self._to_inner = to_inner[inner_alive][:, self._alive]
        self._matrix = matrix[:, self._alive]
        self._ln_b, self._ln_y = _Logarithms(), _Logarithms()
        self._multipliers = _decimals(np.zeros(len(consistent.matrix)))
        outer_entries = consistent.outer[self._alive]
        inner_entries = consistent.inner[inner_alive]
        self._weight = _counts(plan, outer_entries)
        self._inner_weight = _counts(plan, inner_entries)
        self._theta = _decimals(plan.theta[outer_entries])
        self._inner_theta = _decimals(plan.theta[inner_entries])
        self._moved: list[float] = []
        self.finished = False

    def beliefs(self) -> Floats:
        """The beliefs of outer regions, rounded."""
        return self._spread(self._b.astype(float))

    def slope_and_miss(self) -> tuple[Floats, Floats]:
        """The slope of the Lagrangian by each belief, and by how much equations do not hold."""
        with localcontext(self._context):
            y = self._to_inner @ self._b
            inner = self._inner_weight * (self._ln_y(y) - self._inner_theta + 1)
            outer = self._weight * (self._ln_b(self._b) - self._theta + 1)
            gradient = (outer + inner @ self._to_inner) / self._scale
            slope = gradient + self._multipliers @ self._matrix
            miss = self._right_side - self._matrix @ self._b
            return self._spread(slope.astype(float)), miss.astype(float)

    def move(self, change: Floats, across: Floats) -> None:
        """Go a correction further, and see whether there is more to correct."""
        change = change[self._alive]
        self._moved.append(float(np.abs(change / self._b.astype(float)).max(initial=0.0)))
        with localcontext(self._context):
            self._multipliers = self._multipliers - _decimals(across)
            self.finished = self._is_finished()
            if self._moved[-1] < LARGEST_CORRECTION:
                self._b = self._b + _decimals(change)

    def _is_finished(self) -> bool:
        rounds, moved = len(self._moved), self._moved[-1]
        # The first rounds find the multipliers; only after them the size of a change counts.
        settled = moved == 0 or (rounds > FIRST_ROUNDS and moved < SETTLED)
        stalled = rounds > WINDOW + 1 and moved > STALLED * self._moved[-1 - WINDOW]
        return settled or stalled or not moved < LARGEST_CORRECTION

    def result(self) -> Refined:
        """Where the point has come to."""
        with localcontext(self._context):
            y = self._to_inner @ self._b
            outer, inner = self._weight * self._b, self._inner_weight * y
            zero = Decimal(0)
            entropy = -sum(outer * self._ln_b(self._b), zero) - sum(inner * self._ln_y(y), zero)
            potential = sum(outer * self._theta, zero) + sum(inner * self._inner_theta, zero)
            return Refined(self.beliefs(), -entropy - potential, entropy, self._moved[-1])

    def _spread(self, values: Floats) -> Floats:
        """Values of the beliefs that are alive among all; the others stay where they are."""
        every = np.where(self._start > SMALLEST, 0.0, self._start)
        every[self._alive] = values
        return every


def _counts(plan: Plan, entries: Ints) -> Decimals:
    regions = plan.layout.region_of[entries].tolist()
    states = plan.layout.multiplicity[entries].tolist()
    counts = [plan.weights[r] * number for r, number in zip(regions, states, strict=True)]
    return np.array([Decimal(count) for count in counts], dtype=object)


def _decimals(values: Floats) -> Decimals:
    return np.array([Decimal(float(value)) for value in values], dtype=object)


@lru_cache(maxsize=1)
def _exact(consistent: Polytope) -> tuple[Decimals, Decimals, Decimals]:
    """The integers of the equations between beliefs; points of one layout follow each other."""
    return (
        _integers(consistent.to_inner),
        _integers(consistent.matrix),
        _integers(consistent.right_side),
    )


def _integers(values: Floats) -> Decimals:
    exact: Decimals = np.vectorize(lambda value: Decimal(int(value)), otypes=[object])(values)
    return exact


class _Logarithms:
    """Logarithms of numbers that change little from one call to the next."""

    def __init__(self) -> None:
        self._known: list[tuple[Decimal, Decimal]] = []

    def __call__(self, values: Decimals) -> Decimals:
        if self._known:
            smallest = Decimal(10) ** -getcontext().prec
            pairs = zip(values, self._known, strict=True)
            logs = [_ln_near(value, *known, smallest) for value, known in pairs]
        else:
            logs = [value.ln() for value in values]
        self._known = list(zip(values, logs, strict=True))
        return np.array(logs, dtype=object)


def _ln_near(value: Decimal, other: Decimal, ln_other: Decimal, smallest: Decimal) -> Decimal:
    """The logarithm of a number from that of another one, by a series if they are near.

    >>> two = Decimal(2)
    >>> near = _ln_near(Decimal("2.0001"), two, two.ln(), smallest=Decimal("1e-28"))
    >>> abs(near - Decimal("2.0001").ln()) < Decimal("1e-26")
    True
    """
    z = (value - other) / (value + other)
    if abs(z) > NEAR:
        return value.ln()
    square, power, total, number = z * z, z, z, 1
    while abs(power) > smallest:
        power *= square
        number += 2
        total += power / number
    return ln_other + 2 * total
