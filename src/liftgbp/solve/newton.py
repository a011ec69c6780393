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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from liftgbp.plan.plan import Floats, Plan
from liftgbp.solve.polytope import Polytope

SMALLEST = 1e-250
"""Beliefs below this count as zero: the point lies on the boundary there."""

FLATTEST = 1e-13
"""Curvatures cannot be told from zero below this."""


class Energy:
    """The free energy of a plan over the beliefs of outer regions, scaled by its largest weight."""

    def __init__(self, plan: Plan, consistent: Polytope) -> None:
        self.plan = plan
        self.consistent = consistent
        self.scale = max((abs(weight) for weight in plan.weights), default=0) or 1
        per_region = np.array([weight / self.scale for weight in plan.weights])
        factor = per_region[plan.layout.region_of] * plan.layout.multiplicity
        self.outer_weight = factor[consistent.outer]
        self.inner_weight = factor[consistent.inner]
        self._outer_theta = plan.theta[consistent.outer]
        self._inner_theta = plan.theta[consistent.inner]

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

    @cached_property
    def largest_entropy(self) -> float:
        """The scaled entropy of independent atoms that are all uniform."""
        layout = self.plan.layout
        ranges = {
            atom: size
            for shape, atoms in zip(layout.shapes, layout.atom_of_axis, strict=True)
            for size, atom in zip(shape, atoms, strict=True)
        }
        counts = self.plan.atom_counts
        return math.fsum(counts[a] / self.scale * math.log(r) for a, r in ranges.items())

    def gradient(self, b: Floats) -> Floats:
        """Its derivative by the beliefs of the outer regions."""
        y = b @ self.consistent.to_inner.T
        inner = self.inner_weight * (log(y) - self._inner_theta + 1)
        outer = self.outer_weight * (log(b) - self._outer_theta + 1)
        return np.asarray(outer + inner @ self.consistent.to_inner)


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
        self.onto = Projection(energy.consistent.matrix * self.root[:, None, :])

    def curvatures(self) -> Curvatures:
        """The block of the Hessian that is not the identity."""
        to_inner = self._energy.consistent.to_inner
        y = np.maximum(self._b * self._alive @ to_inner.T, SMALLEST)
        inner = to_inner * self.root[:, None, :] / np.sqrt(y)[:, :, None]
        inner = self.onto.complement(inner)
        size, turn = np.linalg.eigh(inner @ _transposed(inner))
        spread = np.sqrt(np.where(size > 1e-14, size, 0.0))
        lengths = np.where(spread > 0, spread, np.inf)
        axes = _transposed(turn) @ inner / lengths[:, :, None]
        weighted = _transposed(turn) * self._energy.inner_weight @ turn
        bend, mix = np.linalg.eigh(spread[:, :, None] * weighted * spread[:, None, :])
        return Curvatures(1 + bend, _transposed(mix) @ axes)

    def relative(self, step: Floats) -> Floats:
        """The largest change of a belief in proportion to the belief."""
        return np.asarray((np.abs(step) * self._alive / self._b).max(axis=1, initial=0.0))


@dataclass(frozen=True, eq=False)
class Curvatures:
    """Eigenvalues of the Hessian, and their directions as rows; all others are one."""

    values: Floats
    axes: Floats

    def solve(self, gradient: Floats, values: Floats) -> Floats:
        """The inverse Hessian, with these eigenvalues, applied to a gradient."""
        along = np.einsum("skd,sd->sk", self.axes, gradient)
        return np.asarray(gradient + np.einsum("skd,sk->sd", self.axes, along / values - along))

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


def newton_step(energy: Energy, b: Floats) -> Step:
    """The Newton step with curvatures by absolute value."""
    metric = Metric(energy, b)
    curvatures = metric.curvatures()
    full = energy.gradient(b)
    gradient = metric.onto.complement((metric.root * full)[:, None, :])[:, 0]
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

    def __init__(self, equations: Floats) -> None:
        self._equations = equations
        gram = equations @ _transposed(equations)
        # Equations between tiny beliefs are tiny; scaled to unit diagonal they keep their digits.
        diagonal = np.einsum("sii->si", gram)
        self._scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
        values, vectors = np.linalg.eigh(self._scale[:, :, None] * gram * self._scale[:, None, :])
        inverse = np.where(values > 1e-13, 1 / np.maximum(values, 1e-13), 0.0)
        self._inverse = (vectors * inverse[:, None, :]) @ _transposed(vectors)

    def solve(self, right: Floats) -> Floats:
        """Apply the inverse of the gram matrix to rows of numbers, one per equation."""
        scaled = right * self._scale[:, None, :]
        return np.asarray(scaled @ self._inverse * self._scale[:, None, :])

    def complement(self, vectors: Floats) -> Floats:
        """The rows without their parts that would change an equation, to full accuracy."""
        for _ in range(2):
            across = vectors @ _transposed(self._equations)
            vectors = vectors - self.solve(across) @ self._equations
        return vectors


def nearest_consistent(
    consistent: Polytope, beliefs: Floats, rounds: int = 12
) -> tuple[Floats, Floats]:
    """The consistent beliefs of least relative entropy to given ones, and the error that is left.

    Beliefs are multiplied, never added to, so they stay positive however small they are.
    """
    matrix, right_side = consistent.matrix, consistent.right_side
    log_b, b = log(beliefs), beliefs
    error = np.full(len(beliefs), np.inf)
    for _ in range(rounds):
        miss = right_side - b @ matrix.T
        error = np.abs(miss).max(axis=1, initial=0.0)
        if error.max(initial=0.0) <= 1e-15:
            break
        onto = Projection(matrix * np.sqrt(b)[:, None, :])
        change = (onto.solve(miss[:, None, :]) @ matrix)[:, 0]
        # A long step would overshoot on the exponential scale.
        longest = np.abs(change).max(axis=1, initial=1e-300)
        log_b = log_b + change * np.minimum(1.0, 5 / longest)[:, None]
        b = np.where(beliefs > SMALLEST, np.exp(log_b), 0.0)
    return b, error


def _transposed(stack: Floats) -> Floats:
    return stack.swapaxes(1, 2)
