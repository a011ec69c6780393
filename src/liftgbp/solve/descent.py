"""Descent on the lifted Kikuchi free energy, by Newton's method on consistent beliefs.

Beliefs b of the outer regions decide all others, and consistent ones form a polytope. There F is the
convex negative entropy of the outer regions (a diagonal metric D⁻¹) plus terms of inner regions, of
either sign and low rank. In coordinates where the metric is the identity, and on the directions that
keep beliefs consistent, the Hessian is the identity but for a small block; its eigenvalues are the
curvatures. Taking their absolute values turns every Newton step into a direction of descent, also at
a saddle.

A step multiplies beliefs, b exp(t p / b), and is brought back to the polytope by the nearest
consistent beliefs in relative entropy, so that beliefs may fall by many orders of magnitude at once.

All functions work on a stack of points at a time; the first axis numbers the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liftgbp.plan.plan import Floats, Plan
from liftgbp.solve.polytope import Polytope

SMALLEST = 1e-250
"""Beliefs below this count as zero: the point lies on the boundary there."""


class Energy:
    """The free energy of a plan over the beliefs of outer regions, scaled by its largest weight."""

    def __init__(self, plan: Plan, consistent: Polytope) -> None:
        weights = [abs(weight) for weight in plan.weights]
        self.scale = max(weights, default=1) or 1
        per_region = np.array([weight / self.scale for weight in plan.weights])
        factor = per_region[plan.layout.region_of] * plan.layout.multiplicity
        self.consistent = consistent
        self.outer_weight = factor[consistent.outer]
        self.inner_weight = factor[consistent.inner]
        self._outer_theta = plan.theta[consistent.outer]
        self._inner_theta = plan.theta[consistent.inner]

    def value(self, b: Floats) -> Floats:
        y = b @ self.consistent.to_inner.T
        outer = self.outer_weight * b * (_log(b) - self._outer_theta)
        inner = self.inner_weight * y * (_log(y) - self._inner_theta)
        return np.asarray(outer.sum(axis=-1) + inner.sum(axis=-1))

    def gradient(self, b: Floats) -> Floats:
        y = b @ self.consistent.to_inner.T
        inner = self.inner_weight * (_log(y) - self._inner_theta + 1)
        outer = self.outer_weight * (_log(b) - self._outer_theta + 1)
        return np.asarray(outer + inner @ self.consistent.to_inner)


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, SMALLEST))


@dataclass(frozen=True, eq=False)
class Directions:
    """What Newton's method knows at a stack of points."""

    step: Floats
    residual: Floats
    curvature: Floats


def newton(energy: Energy, b: Floats) -> Directions:
    """The modified Newton step, the size of the plain one in relative terms, and the curvature."""
    consistent = energy.consistent
    alive = b > SMALLEST
    root = np.where(alive, np.sqrt(b / energy.outer_weight), 0.0)
    equations = consistent.matrix * root[:, None, :]
    onto = _Projection(equations)
    y = np.maximum(b @ consistent.to_inner.T, SMALLEST)
    inner = consistent.to_inner * root[:, None, :] / np.sqrt(y)[:, :, None]
    inner = onto.complement(inner)
    gradient = onto.complement((root * energy.gradient(b))[:, None, :])[:, 0]
    # The block on which the Hessian differs from the identity: the span of the inner directions.
    size, turn = np.linalg.eigh(inner @ inner.swapaxes(1, 2))
    size = np.where(size > 1e-14, size, 0.0)
    spread = np.sqrt(size)
    safe = np.where(spread > 0, spread, 1.0)
    axes = np.where(spread[:, :, None] > 0, turn.swapaxes(1, 2) @ inner / safe[:, :, None], 0.0)
    weighted = turn.swapaxes(1, 2) * energy.inner_weight @ turn
    block = spread[:, :, None] * weighted * spread[:, None, :]
    bend, mix = np.linalg.eigh(block)
    curvature = 1 + bend
    along = (axes @ gradient[:, :, None])[:, :, 0]
    mixed = (mix.swapaxes(1, 2) @ along[:, :, None])[:, :, 0]
    strength = np.maximum(np.abs(curvature), 1e-13)
    plain = gradient - (axes.swapaxes(1, 2) @ along[:, :, None])[:, :, 0]
    bent = axes.swapaxes(1, 2) @ (mix @ (mixed / strength)[:, :, None])
    step = -root * (plain + bent[:, :, 0])
    relative = np.where(alive, np.abs(step) / np.maximum(b, SMALLEST), 0.0)
    lowest = curvature.min(axis=1) if curvature.shape[1] else np.ones(len(b))
    return Directions(step, relative.max(axis=1), np.minimum(lowest, 1.0))


class _Projection:
    """Onto the directions that keep the equations, for a stack of scaled equation matrices."""

    def __init__(self, equations: Floats) -> None:
        self._equations = equations
        gram = equations @ equations.swapaxes(1, 2)
        # Equations between tiny beliefs are tiny; scaled to unit diagonal they keep their digits.
        self._scale = 1 / np.sqrt(np.maximum(np.einsum("sii->si", gram), SMALLEST))
        values, vectors = np.linalg.eigh(self._scale[:, :, None] * gram * self._scale[:, None, :])
        inverse = np.where(values > 1e-13, 1 / np.maximum(values, 1e-13), 0.0)
        self._inverse = (vectors * inverse[:, None, :]) @ vectors.swapaxes(1, 2)

    def solve(self, right: Floats) -> Floats:
        """Apply the inverse of the gram matrix to rows of numbers, one per equation."""
        scaled = right * self._scale[:, None, :]
        return np.asarray(scaled @ self._inverse * self._scale[:, None, :])

    def complement(self, vectors: Floats) -> Floats:
        """The vectors without their parts that change an equation, to full accuracy."""
        for _ in range(2):
            across = vectors @ self._equations.swapaxes(1, 2)
            vectors = vectors - self.solve(across) @ self._equations
        return vectors


def nearest_consistent(
    consistent: Polytope, beliefs: Floats, rounds: int = 50
) -> tuple[Floats, Floats]:
    """The consistent beliefs of least relative entropy to given ones, and what error is left."""
    matrix, right_side = consistent.matrix, consistent.right_side
    log_b = _log(beliefs)
    b = beliefs
    for _ in range(rounds):
        miss = right_side - b @ matrix.T
        if np.abs(miss).max(initial=0.0) <= 1e-15:
            break
        onto = _Projection(matrix * np.sqrt(b)[:, None, :])
        change = (onto.solve(miss[:, None, :]) @ matrix)[:, 0]
        # A long step may overshoot far on the exponential scale.
        change *= np.minimum(1.0, 5 / np.maximum(np.abs(change).max(axis=1), 1e-300))[:, None]
        log_b = log_b + change
        b = np.where(beliefs > SMALLEST, np.exp(log_b), 0.0)
    return b, np.abs(right_side - b @ matrix.T).max(axis=1, initial=0.0)
