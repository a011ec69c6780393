"""Newton's method on consistent beliefs, in the metric of the outer regions' entropy.

Beliefs b of the outer regions decide all others, and consistent ones form a polytope. There the
free energy is the convex negative entropy of the outer regions, with a diagonal Hessian, plus terms
of inner regions, of either sign and low rank. In coordinates where that diagonal is the identity,
and on the directions that keep beliefs consistent, the whole Hessian is the identity but for a
small block. The eigenvalues of the block are the curvatures. Taking their absolute values turns
every Newton step into a direction of descent, at a saddle too.

All functions work on a stack of points; the first axis numbers the points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.plan.plan import Plan
from liftgbp.solve.gram import solve_scaled, spread
from liftgbp.solve.polytope import Polytope

SMALLEST = 1e-60
"""Beliefs below this count as zero: the point lies on the boundary there."""

FLATTEST = 1e-13
"""Curvatures cannot be told from zero below this."""

LAST_ROUNDS = 3.5
"""How many rounds are needed once no belief is far too large. Before that, each round makes such
beliefs smaller by a factor of e only, so that some are known to take too long."""

MOST_DECOMPOSED = 64
"""Up to so many equations are decomposed, which finds exactly those that follow from others; more
are solved with a small ridge, which takes a fraction of the time."""

CONSISTENT, ROUNDED = 1e-15, 1e-13
"""Beliefs are consistent with an error below the first; if rounding allows no more, the second."""


class Energy:
    """Free energies over the beliefs of outer regions, each scaled by its largest weight.

    Row k of a stack of points belongs to the plan `plans[k]`; all plans share one layout.
    """

    def __init__(self, plans: Sequence[Plan], consistent: Polytope) -> None:
        self.plans = list(plans)
        self.consistent = consistent
        single = {id(plan): _Scaled(plan, consistent) for plan in plans}
        rows = [single[id(plan)] for plan in plans]
        self.scale = [row.scale for row in rows]
        self.largest_entropy = np.array([row.largest_entropy for row in rows])
        self.outer_weight = _stack([row.outer_weight for row in rows], len(consistent.outer))
        self.inner_weight = _stack([row.inner_weight for row in rows], len(consistent.inner))
        self._outer_theta = _stack([row.outer_theta for row in rows], len(consistent.outer))
        self._inner_theta = _stack([row.inner_theta for row in rows], len(consistent.inner))

    def __getitem__(self, rows: Ints) -> Energy:
        """The energies of some rows."""
        part = copy(self)
        part.plans = [self.plans[k] for k in rows]
        part.scale = [self.scale[k] for k in rows]
        for name in ("largest_entropy", "outer_weight", "inner_weight"):
            setattr(part, name, getattr(self, name)[rows])
        part._outer_theta, part._inner_theta = self._outer_theta[rows], self._inner_theta[rows]
        return part

    def value(self, b: Floats) -> Floats:
        """The scaled free energy of each point."""
        y = b @ self.consistent.to_inner.T
        outer = self.outer_weight * b * (log(b) - self._outer_theta)
        inner = self.inner_weight * y * (log(y) - self._inner_theta)
        return np.asarray(outer.sum(axis=-1) + inner.sum(axis=-1))

    def entropy(self, b: Floats) -> Floats:
        """The scaled entropy of each point in the Kikuchi approximation."""
        y = b @ self.consistent.to_inner.T
        outer = self.outer_weight * b * log(b)
        inner = self.inner_weight * y * log(y)
        return np.asarray(-outer.sum(axis=-1) - inner.sum(axis=-1))

    def gradient(self, b: Floats) -> Floats:
        """Its derivative by the beliefs of the outer regions."""
        y = b @ self.consistent.to_inner.T
        inner = self.inner_weight * (log(y) - self._inner_theta + 1)
        outer = self.outer_weight * (log(b) - self._outer_theta + 1)
        return np.asarray(outer + inner @ self.consistent.to_inner)


class _Scaled:
    """The numbers of one plan, divided by its largest weight."""

    def __init__(self, plan: Plan, consistent: Polytope) -> None:
        layout = plan.layout
        self.scale = scale_of(plan)
        per_region = np.array([weight / self.scale for weight in plan.weights])
        factor: Floats = per_region[layout.region_of] * layout.multiplicity
        self.outer_weight, self.inner_weight = factor[consistent.outer], factor[consistent.inner]
        self.outer_theta = plan.theta[consistent.outer]
        self.inner_theta = plan.theta[consistent.inner]
        # The entropy of independent atoms that are all uniform.
        self.largest_entropy = math.fsum(
            count / self.scale * math.log(size)
            for count, size in zip(plan.atom_counts, layout.atom_ranges, strict=True)
        )


def scale_of(plan: Plan) -> int:
    """The largest weight of a free energy, by which it is divided."""
    return max((abs(weight) for weight in plan.weights), default=0) or 1


def _stack(rows: list[Floats], width: int) -> Floats:
    return np.array(rows).reshape(len(rows), width)


def log(values: Floats) -> Floats:
    """The logarithm, without an infinity for beliefs that have vanished."""
    return np.log(np.maximum(values, SMALLEST))


class Metric:
    """The directions that keep beliefs consistent, in coordinates where the metric is the identity.

    A change p of beliefs has coordinates p / root.
    """

    def __init__(self, energy: Energy, b: Floats) -> None:
        self._energy = energy
        self._alive = b > SMALLEST
        self._b = np.where(self._alive, b, 1.0)
        self.root = np.where(self._alive, np.sqrt(self._b / energy.outer_weight), 0.0)
        self.onto = Projection(energy.consistent, b, self.root)

    def curvatures(self, gradient: Floats) -> tuple[Curvatures, Floats]:
        """The block of the Hessian that is not the identity, and a gradient along its directions.

        The gradient is one by coordinates; both are brought onto the directions at once.
        """
        to_inner = self._energy.consistent.to_inner
        y = np.maximum(self._b * self._alive @ to_inner.T, SMALLEST)
        inner = to_inner * self.root[:, None, :] / np.sqrt(y)[:, :, None]
        rows = self.onto.complement(np.concatenate([inner, gradient[:, None, :]], axis=1))
        return self._curvatures(rows[:, :-1]), rows[:, -1]

    def _curvatures(self, inner: Floats) -> Curvatures:
        gram = inner @ _transposed(inner)
        size, turn = eigenvectors(gram)
        spread = np.sqrt(np.where(size > 1e-14, size, 0.0))
        lengths = np.where(spread > 0, spread, np.inf)
        weighted = _transposed(turn) * self._energy.inner_weight[:, None, :] @ turn
        bend, mix = eigenvectors(spread[:, :, None] * weighted * spread[:, None, :])
        block = self._energy.inner_weight[:, :, None] * gram
        turn = _transposed(turn / lengths[:, None, :] @ mix)
        return Curvatures(1 + bend, inner, turn, block, self._energy.inner_weight)

    def relative(self, step: Floats) -> Floats:
        """The largest change of a belief in proportion to the belief."""
        return np.asarray((np.abs(step) * self._alive / self._b).max(axis=1, initial=0.0))


@dataclass(frozen=True, eq=False)
class Curvatures:
    """Eigenvalues of the Hessian; all others are one.

    The rows of `turn @ span` are their directions. The product is never formed: it is by far the
    largest of all matrices. The Hessian is the identity plus `span.T @ diag(weights) @ span`, and
    `block` is `diag(weights) @ span @ span.T`.
    """

    values: Floats
    span: Floats
    turn: Floats
    block: Floats
    weights: Floats

    def solve(self, gradient: Floats, values: Floats) -> Floats:
        """The inverse Hessian, with these eigenvalues, applied to a gradient."""
        along = self.span @ gradient[:, :, None]
        change = self._turned(along, values)
        # Eigenvectors mix large beliefs with tiny ones, which lose all their digits. Where no
        # eigenvalue is to be another one, elimination keeps them.
        (same,) = np.nonzero((values == self.values).all(axis=1))
        if len(same):
            change[same] = self._eliminated(along[same], same)
        return np.asarray(gradient + (_transposed(self.span) @ change)[:, :, 0])

    def _turned(self, along: Floats, values: Floats) -> Floats:
        along = self.turn @ along
        return np.asarray(_transposed(self.turn) @ (along / values[:, :, None] - along))

    def _eliminated(self, along: Floats, points: Ints) -> Floats:
        hessian = self.block[points] + np.eye(along.shape[1])
        right = self.weights[points][:, :, None] * along
        return -np.asarray(np.linalg.solve(hessian, right), dtype=np.float64)

    @property
    def lowest(self) -> Floats:
        """The smallest curvature of each point."""
        return np.asarray(self.values.min(axis=1, initial=1.0))

    @property
    def flattest(self) -> Floats:
        """The curvature nearest to zero of each point."""
        return np.asarray(np.abs(self.values).min(axis=1, initial=1.0))

    @property
    def magnitudes(self) -> Floats:
        """Absolute values, kept away from zero."""
        return np.maximum(np.abs(self.values), FLATTEST)


@dataclass(frozen=True, eq=False)
class Step:
    """A Newton step at each point: a direction of descent, and what it says about the point."""

    change: Floats
    slope: Floats
    residual: Floats
    lowest: Floats
    flattest: Floats

    def row(self, k: int) -> Step:
        """The step of one point."""
        return Step(
            self.change[k], self.slope[k], self.residual[k], self.lowest[k], self.flattest[k]
        )

    def updated(self, rows: Ints, new: Step) -> Step:
        """The steps with those of some points replaced."""
        columns = []
        for field in fields(self):
            column = getattr(self, field.name).copy()
            column[rows] = getattr(new, field.name)
            columns.append(column)
        return Step(*columns)


def newton_step(energy: Energy, b: Floats) -> Step:
    """The Newton step with curvatures by absolute value."""
    metric = Metric(energy, b)
    full = energy.gradient(b)
    curvatures, gradient = metric.curvatures(metric.root * full)
    change = -metric.root * curvatures.solve(gradient, curvatures.magnitudes)
    return Step(
        change=change,
        slope=np.einsum("sd,sd->s", full, change),
        residual=metric.relative(change),
        lowest=curvatures.lowest,
        flattest=curvatures.flattest,
    )


class Projection:
    """Onto the directions that keep equations, for a stack of scaled equation matrices."""

    def __init__(self, consistent: Polytope, b: Floats, root: Floats) -> None:
        self._chosen = _enough(consistent, b)
        matrix = consistent.matrix if self._chosen is None else consistent.matrix[self._chosen]
        self._equations = matrix * root[:, None, :]
        self._gram, self._scale = consistent.gram.scaled(root**2, self._chosen)
        self._inverse = _inverse(self._gram) if self._chosen is None else None

    def solve(self, right: Floats) -> Floats:
        """Apply the inverse of the gram matrices to rows, one number per equation."""
        if self._chosen is None:
            return self._solve(right)
        places = np.broadcast_to(self._chosen[:, None, :], (*right.shape[:2], len(self._scale.T)))
        return spread(self._solve(np.take_along_axis(right, places, axis=2)), places, right.shape)

    def _solve(self, right: Floats) -> Floats:
        scale = self._scale[:, None, :]
        if self._inverse is not None:
            return np.asarray(right * scale @ self._inverse * scale)
        return _transposed(solve_scaled(self._gram, _transposed(right * scale))) * scale

    def complement(self, vectors: Floats) -> Floats:
        """The rows without their parts that would change an equation, to full accuracy."""
        for _ in range(2):
            across = vectors @ _transposed(self._equations)
            vectors = vectors - self._solve(across) @ self._equations
        return vectors


def _enough(consistent: Polytope, b: Floats) -> Ints | None:
    """For each point enough equations for all of them to hold; none if all are used."""
    return consistent.enough(b) if len(consistent.matrix) > MOST_DECOMPOSED else None


def _inverse(gram: Floats) -> Floats:
    """The inverse of matrices on the span of their equations."""
    values, vectors = eigenvectors(gram)
    inverse = np.where(values > 1e-13, 1 / np.maximum(values, 1e-13), 0.0)
    return np.asarray((vectors * inverse[:, None, :]) @ _transposed(vectors))


def nearest_consistent(
    consistent: Polytope, beliefs: Floats, rounds: int = 12
) -> tuple[Floats, Floats]:
    """The consistent beliefs of least relative entropy to given ones, and the error that is left.

    Beliefs are multiplied, never added to, so they stay positive however small they are.
    """
    matrix = consistent.matrix
    log_b, b = log(beliefs), beliefs.copy()
    miss = consistent.right_side - b @ matrix.T
    error = np.abs(miss).max(axis=1, initial=0.0)
    left = np.flatnonzero(error > CONSISTENT)
    for rounds_left in range(rounds, 0, -1):
        left = left[error[left] < math.exp(rounds_left - LAST_ROUNDS)]
        if not len(left):
            break
        before = error[left]
        enough = _enough(consistent, b[left])
        change = consistent.gram.solve(b[left], miss[left], enough) @ matrix
        # A long step would overshoot on the exponential scale.
        longest = np.abs(change).max(axis=1, initial=1e-300)
        log_b[left] += change * np.minimum(1.0, 5 / longest)[:, None]
        b[left] = np.where(beliefs[left] > SMALLEST, np.exp(log_b[left]), 0.0)
        miss[left] = consistent.right_side - b[left] @ matrix.T
        error[left] = np.abs(miss[left]).max(axis=1, initial=0.0)
        at_rounding = (error[left] < ROUNDED) & (error[left] > before / 2)
        left = left[(error[left] > CONSISTENT) & ~at_rounding]
    return b, error


def eigenvectors(stack: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of symmetric matrices, ascending, and their eigenvectors as columns."""
    try:
        values, vectors = np.linalg.eigh(stack)
    except np.linalg.LinAlgError:
        # Divide and conquer fails on some matrices with entries of widely different orders.
        from scipy.linalg import eigh  # rarely needed, and slow to import

        pairs = [eigh(matrix, driver="ev") for matrix in stack]
        values, vectors = (np.array(part) for part in zip(*pairs, strict=True))
    return values, vectors


def _transposed(stack: Floats) -> Floats:
    return stack.swapaxes(1, 2)
