"""Points and their log Z with more digits than doubles have.

The weights of the free energy are counts and reach N to the power of the objects in a region, while
what decides the answer may be smaller by as many orders of magnitude. So a point is evaluated with
as many digits as the counts have. If its gradient there demands it, the point is polished: each
correction is solved for in doubles, as in the iterative refinement of linear systems. The problem
is small: some thousand decimal operations do. Doubles are processed for a batch of points at once,
decimals point by point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, getcontext, localcontext

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints
from liftgbp.plan import Plan
from liftgbp.solve.newton import metric_at
from liftgbp.solve.problem import Energy, Polytope, polytope, scale_of
from liftgbp.solve.solution import Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.values import dataclass

FIRST_ROUNDS = 2
"""Corrections that find the multipliers; only after them the size of a change says anything."""

SERIES_WITHIN = Decimal("0.02")
"""Up to this relative difference a series is faster than a logarithm."""

Decimals = NDArray[np.object_]


# --- polishing points


@dataclass(frozen=True, eq=False)
class Polished:
    """A point with more digits: its beliefs, its free energy and its entropy."""

    outer: Floats
    free_energy: Decimal
    entropy: Decimal
    residual: float

    def is_precise(self, plan: Plan, tolerances: Tolerances) -> bool:
        """Whether the free energy is good enough for shares, as far from the minimum as it is."""
        return self.residual <= _shares_settle(scale_of(plan), tolerances)


def _shares_settle(scale: int, tolerances: Tolerances) -> float:
    """The relative change of beliefs below which shares no longer change.

    Around a minimum the free energy changes by the square of what beliefs change.
    """
    return math.sqrt(tolerances.share_accuracy / float(scale))


def polish(
    plans: Sequence[Plan], consistent: Polytope, outer: Sequence[Floats], tolerances: Tolerances
) -> Iterator[Polished]:
    """For each plan, the stationary point near beliefs of outer regions, and its free energy."""
    rows = list(zip(plans, outer, strict=True))
    for part in consistent.batches(rows, tolerances.most_numbers):
        energy = Energy([plan for plan, _ in part], consistent, tolerances)
        points = [_DecimalPoint(plan, consistent, own, tolerances) for plan, own in part]
        for _ in range(tolerances.most_rounds):
            moving = [k for k, point in enumerate(points) if not point.finished]
            if not moving:
                break
            for together in [[k] for k in moving] if consistent.is_large else [moving]:
                _correct([points[k] for k in together], energy[np.array(together)])
        yield from (point.result() for point in points)


def _correct(points: Sequence[_DecimalPoint], energy: Energy) -> None:
    """One Newton correction of beliefs and multipliers of each point, solved in doubles."""
    metric = metric_at(energy, np.array([point.beliefs() for point in points]))
    slopes = [point.slope_and_miss() for point in points]
    coordinates = metric.root * np.array([slope for slope, _ in slopes])
    miss = np.array([miss for _, miss in slopes])
    equations = energy.consistent.equations
    across = metric.onto.solve(equations(coordinates * metric.root)[:, None, :])[:, 0]
    curvatures, along = metric.curvatures(coordinates)
    signed = np.where(curvatures.values < 0, -1.0, 1.0) * curvatures.magnitudes
    multipliers = metric.onto.solve(miss[:, None, :])[:, 0]
    back = equations.transposed(multipliers) * metric.root**2
    change = back - metric.root * curvatures.solve(along, signed)
    for k, point in enumerate(points):
        point.move(change[k], across[k])


class _DecimalPoint:
    """One point on its way, in decimals."""

    def __init__(
        self, plan: Plan, consistent: Polytope, outer: Floats, tolerances: Tolerances
    ) -> None:
        scale = scale_of(plan)
        self._tolerances = tolerances
        self._context = Context(prec=tolerances.guard_digits + len(str(scale)))
        self._settles = min(tolerances.rounding, _shares_settle(scale, tolerances))
        self._scale = Decimal(scale)
        self._start = outer
        least = 0.0 if is_comparable(plan, tolerances) else tolerances.negligible / float(scale)
        self._alive = np.flatnonzero(outer > max(tolerances.zero_belief, least))
        self._b = _decimals(outer[self._alive])
        to_inner = consistent.to_inner[:, self._alive]
        inner_alive = to_inner.any(axis=1)
        self._to_inner = _Sparse(to_inner[inner_alive])
        self._matrix = _Sparse(consistent.matrix[:, self._alive])
        self._right_side = _decimals(consistent.right_side)
        self._ln_b, self._ln_y = _Logarithms(), _Logarithms()
        self._multipliers = _decimals(np.zeros(len(consistent.matrix)))
        outer_entries = consistent.outer[self._alive]
        inner_entries = consistent.inner[inner_alive]
        self._weight = _counts(plan, outer_entries)
        self._inner_weight = _counts(plan, inner_entries)
        self._theta = self._exact_theta(plan, outer_entries)
        self._inner_theta = self._exact_theta(plan, inner_entries)
        self._moved: list[float] = []
        self.finished = False

    def _exact_theta(self, plan: Plan, entries: Ints) -> Decimals:
        """Log potentials with the digits that their sums have lost.

        Over 1e8 people, those decide whether Anna is famous (celebrity over bethe).
        """
        with localcontext(self._context):
            exact: Decimals = _decimals(plan.theta[entries]) + _decimals(plan.theta_lost[entries])
            return exact

    def beliefs(self) -> Floats:
        """The beliefs of outer regions, rounded."""
        return self._spread(self._b.astype(float))

    def slope_and_miss(self) -> tuple[Floats, Floats]:
        """The slope of the Lagrangian by each belief, and by how much equations do not hold."""
        with localcontext(self._context):
            y = self._to_inner @ self._b
            inner = self._inner_weight * (self._ln_y(y) - self._inner_theta + 1)
            outer = self._weight * (self._ln_b(self._b) - self._theta + 1)
            gradient = (outer + self._to_inner.transposed(inner)) / self._scale
            slope = gradient + self._matrix.transposed(self._multipliers)
            miss = self._right_side - self._matrix @ self._b
            return self._spread(slope.astype(float)), miss.astype(float)

    def move(self, change: Floats, across: Floats) -> None:
        """Go a correction further, and see whether there is more to correct."""
        change = change[self._alive]
        self._moved.append(float(np.abs(change / self._b.astype(float)).max(initial=0.0)))
        with localcontext(self._context):
            self._multipliers = self._multipliers - _decimals(across)
            self.finished = self._is_finished()
            if self._moved[-1] < self._tolerances.far:
                self._b = self._b + _decimals(change)

    def _is_finished(self) -> bool:
        own, moved = self._tolerances, self._moved[-1]
        late = len(self._moved) > FIRST_ROUNDS
        settled = moved == 0 or (late and moved < self._settles)
        return settled or (late and not moved < own.far)

    def result(self) -> Polished:
        """Where the point has come to."""
        with localcontext(self._context):
            y = self._to_inner @ self._b
            outer, inner = self._weight * self._b, self._inner_weight * y
            zero = Decimal(0)
            entropy = -sum(outer * self._ln_b(self._b), zero) - sum(inner * self._ln_y(y), zero)
            potential = sum(outer * self._theta, zero) + sum(inner * self._inner_theta, zero)
            return Polished(self.beliefs(), -entropy - potential, entropy, self._moved[-1])

    def _spread(self, values: Floats) -> Floats:
        """Values of the beliefs that are alive among all; the others stay where they are."""
        every = np.where(self._start > self._tolerances.zero_belief, 0.0, self._start)
        every[self._alive] = values
        return every


class _Sparse:
    """A matrix of small integers, to be multiplied with decimals."""

    def __init__(self, matrix: Floats) -> None:
        self._shape = matrix.shape
        self._by_row = _entries(matrix)
        self._by_column = _entries(matrix.T)

    def __matmul__(self, vector: Decimals) -> Decimals:
        return _product(self._by_row, self._shape[0], vector)

    def transposed(self, vector: Decimals) -> Decimals:
        """The transposed matrix times a vector."""
        return _product(self._by_column, self._shape[1], vector)


_Entries = tuple[Ints, Ints, Ints, Decimals]


def _entries(matrix: Floats) -> _Entries:
    """The rows that have entries, where they start, and the columns and values of entries."""
    rows, columns = np.nonzero(matrix)
    filled, starts = np.unique(rows, return_index=True)
    values = np.array([Decimal(int(v)) for v in matrix[rows, columns]], dtype=object)
    return filled, starts, columns, values


def _product(entries: _Entries, length: int, vector: Decimals) -> Decimals:
    filled, starts, columns, values = entries
    result = np.full(length, Decimal(0), dtype=object)
    if len(filled):
        result[filled] = np.add.reduceat(values * vector[columns], starts)
    return result


def _counts(plan: Plan, entries: Ints) -> Decimals:
    regions = plan.layout.region_of[entries].tolist()
    states = plan.layout.multiplicity[entries].tolist()
    counts = [plan.weights[r] * number for r, number in zip(regions, states, strict=True)]
    return np.array([Decimal(count) for count in counts], dtype=object)


def _decimals(values: Floats) -> Decimals:
    return np.array([Decimal(float(value)) for value in values], dtype=object)


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
    if abs(z) > SERIES_WITHIN:
        return value.ln()
    square, power, total, number = z * z, z, z, 1
    while abs(power) > smallest:
        power *= square
        number += 2
        total += power / number
    return ln_other + 2 * total


# --- the log Z of solutions


@dataclass(frozen=True, slots=True)
class LogZ:
    """A log Z without `plan.log_offset`; is it good enough for differences to other ones?"""

    value: Decimal
    precise: bool = True


def needs_digits(plan: Plan, log_z: float, tolerances: Tolerances, *, alone: bool) -> bool:
    """Whether rounding may change log Z, or a share that depends on it, by more than it should."""
    if tolerances.rounding * scale_of(plan) > tolerances.log_z_accuracy * abs(log_z):
        return True
    return not is_comparable(plan, tolerances) and (tolerances.compared or not alone)


def is_comparable(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether differences of log Z in doubles are good enough for shares."""
    return tolerances.rounding * scale_of(plan) <= tolerances.share_accuracy


def exact_logs_z(
    plans: Sequence[Plan], solutions: Sequence[Solution], tolerances: Tolerances
) -> list[LogZ]:
    """For plans with one layout the log Z of their solutions, with digits for differences."""
    largest = max((abs(weight) for plan in plans for weight in plan.weights), default=1)
    with localcontext(Context(prec=2 * tolerances.guard_digits + len(str(largest)))):
        if not plans[0].layout.message_entries:
            return [LogZ(value) for value in _independent(plans)]
        result = [
            _of_points(solution)
            or LogZ(
                Decimal(solution.log_z) - Decimal(plan.log_offset), is_comparable(plan, tolerances)
            )
            for plan, solution in zip(plans, solutions, strict=True)
        ]
        rough = [
            k
            for k, (plan, solution) in enumerate(zip(plans, solutions, strict=True))
            if not solution.points
            and np.isfinite(solution.log_z)
            and needs_digits(plan, solution.log_z, tolerances, alone=True)
        ]
        if rough:
            consistent = polytope(plans[0].layout)
            outer = [np.exp(solutions[k].log_beliefs[consistent.outer]) for k in rough]
            found = polish([plans[k] for k in rough], consistent, outer, tolerances)
            for k, polished in zip(rough, found, strict=True):
                if polished.residual <= tolerances.acceptable:
                    precise = polished.is_precise(plans[k], tolerances)
                    result[k] = LogZ(-polished.free_energy, precise)
        return result


def _of_points(solution: Solution) -> LogZ | None:
    """The log of the sum over the points of a mixture; nothing if there are none."""
    points = [point for point in solution.points if point.weight > 0] or solution.points[:1]
    if not points:
        return None
    top = max(point.exact_log_z for point in points)
    total = sum(((point.exact_log_z - top).exp() for point in points), Decimal(0))
    return LogZ(top + total.ln(), all(point.precise for point in points))


def _independent(plans: Sequence[Plan]) -> list[Decimal]:
    """Regions that share nothing: each has a partition function of its own."""
    layout = plans[0].layout
    slices = [layout.region_slice(region) for region in range(len(layout.shapes))]
    counts = [layout.multiplicity[own].tolist() for own in slices]
    # Plans of a series often differ in how many regions there are, and not in what is in them.
    known: dict[tuple[int, bytes, bytes], Decimal] = {}
    found = []
    for plan in plans:
        total = Decimal(0)
        for region, weight in enumerate(plan.weights):
            theta, lost = plan.theta[slices[region]], plan.theta_lost[slices[region]]
            key = region, theta.tobytes(), lost.tobytes()
            log_z = known.get(key)
            if log_z is None:
                log_z = known[key] = _log_sum(_decimals(theta) + _decimals(lost), counts[region])
            total += weight * log_z
        found.append(total)
    return found


def _log_sum(theta: Decimals, counts: Sequence[int]) -> Decimal:
    """The log of the sum of exponentials, each of which occurs this many times."""
    # The largest term comes out of the sum, as it may be beyond any number.
    top: Decimal = max(theta)
    terms = (n * (own - top).exp() for n, own in zip(counts, theta, strict=True))
    return top + sum(terms, Decimal(0)).ln()
