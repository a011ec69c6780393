"""Newton's method on consistent beliefs, in the metric of the outer regions' entropy.

Beliefs b of the outer regions decide all others, and consistent ones form a polytope. There the
free energy is the convex negative entropy of the outer regions, with a diagonal Hessian, plus terms
of inner regions, of either sign and low rank. In coordinates where that diagonal is the identity,
and on the directions that keep beliefs consistent, the whole Hessian is the identity except for a
small block. The eigenvalues of the block are the curvatures. Taking their absolute values turns
every Newton step into a direction of descent, at a saddle too.

`newton_step` is the step, `nearest_consistent` the retraction that brings its end back to
consistent beliefs. Both work on a batch of points. Shapes, as in `problem`: S points, D entries of
outer regions, I entries of inner regions, E equations.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from liftgbp.arrays import Floats, Ints
from liftgbp.solve.factors import FACTORED_FROM, Factor, SparseProjection, lapack
from liftgbp.solve.problem import Energy, Polytope, solve_scaled, spread
from liftgbp.solve.tolerances import Tolerances
from liftgbp.values import dataclass


@contextmanager
def one_thread(equations: int = 0) -> Iterator[None]:
    """Handle matrices in one thread; `equations` says how many there are at most.

    Matrices are decomposed one after the other. A library that starts all its threads for each of
    them spends most of its time waiting: ten times the processor time for matrices of 400 rows.
    """
    if equations >= FACTORED_FROM:
        lapack()  # has threads of its own, which are found only once it is there
    with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    """Finding the libraries takes milliseconds, so they are looked for once."""
    return ThreadpoolController()


class Metric:
    """The directions that keep beliefs consistent, in coordinates where the metric is the identity.

    A change p of beliefs has coordinates p / root.
    """

    def __init__(self, energy: Energy, b: Floats) -> None:
        self._energy = energy
        self._tolerances = energy.tolerances
        self._alive = b > self._tolerances.zero_belief
        self._b = np.where(self._alive, b, 1.0)
        self.root = np.where(self._alive, np.sqrt(self._b / energy.outer_weight), 0.0)
        self.onto = _projection(energy.consistent, b, self.root, energy.tolerances)

    def curvatures(self, gradient: Floats) -> tuple[Curvatures, Floats]:
        """The block of the Hessian that is not the identity, and a gradient along its directions.

        The gradient is one by coordinates; both are brought onto the directions at once.
        """
        to_inner = self._energy.consistent.to_inner
        y = np.maximum(self._b * self._alive @ to_inner.T, self._tolerances.zero_belief)
        inner = to_inner * self.root[:, None, :] / np.sqrt(y)[:, :, None]
        rows = self.onto.complement(np.concatenate([inner, gradient[:, None, :]], axis=1))
        return self._curvatures(rows[:, :-1]), rows[:, -1]

    def _curvatures(self, inner: Floats) -> Curvatures:
        gram = inner @ _transposed(inner)
        size, turn = eigenvectors(gram)
        spread = np.sqrt(np.where(size > self._tolerances.rounding, size, 0.0))
        lengths = np.where(spread > 0, spread, np.inf)
        weighted = _transposed(turn) * self._energy.inner_weight[:, None, :] @ turn
        bend, mix = eigenvectors(spread[:, :, None] * weighted * spread[:, None, :])
        block = self._energy.inner_weight[:, :, None] * gram
        turn = _transposed(turn / lengths[:, None, :] @ mix)
        least = self._tolerances.zero_curvature
        return Curvatures(1 + bend, inner, turn, block, self._energy.inner_weight, least)

    def relative(self, step: Floats) -> Floats:
        """The largest change of a belief in proportion to the belief."""
        return np.asarray((np.abs(step) * self._alive / self._b).max(axis=1, initial=0.0))


@dataclass(frozen=True, eq=False)
class Curvatures:
    """Eigenvalues of the Hessian; all others are one.

    The rows of `turn @ span` are their directions. The product is never formed: it is by far the
    largest of all matrices. The Hessian is the identity plus `span.T @ diag(weights) @ span`, and
    `block` is `diag(weights) @ span @ span.T`.

    values   (S, I)
    span     (S, I, D)
    turn     (S, I, I)
    block    (S, I, I)
    weights  (S, I)
    least    curvatures are kept this far from zero
    """

    values: Floats
    span: Floats
    turn: Floats
    block: Floats
    weights: Floats
    least: float

    def solve(self, gradient: Floats, values: Floats) -> Floats:
        """The inverse Hessian, with these eigenvalues, applied to a gradient."""
        along = self.span @ gradient[:, :, None]
        change = self._turned(along, values)
        # Eigenvectors mix large beliefs with tiny ones, which lose all their digits. Where no
        # eigenvalue is to be another one, elimination keeps them.
        (same,) = np.nonzero((values == self.values).all(axis=1))
        if len(same):
            try:
                change[same] = self._eliminated(along[same], same)
            except np.linalg.LinAlgError:
                # At huge counts a pivot may round to zero; those points keep their eigenvectors.
                for point in same:
                    with contextlib.suppress(np.linalg.LinAlgError):
                        change[point] = self._eliminated(along[[point]], np.array([point]))[0]
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
        return np.maximum(np.abs(self.values), self.least)


@dataclass(frozen=True, eq=False)
class Step:
    """A Newton step at each point: a direction of descent, and what it says about the point.

    change    (S, D) the step
    slope     (S) by how much the scaled free energy falls along it, to first order
    residual  (S) the largest change of a belief, in proportion
    lowest    (S) the smallest curvature
    flattest  (S) the curvature nearest to zero
    """

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
    """The projection onto directions that keep all equations, for a batch of points."""

    def __init__(
        self, consistent: Polytope, b: Floats, root: Floats, tolerances: Tolerances
    ) -> None:
        self._ridge = tolerances.zero_curvature
        self._chosen = _enough(consistent, b, tolerances)
        matrix = consistent.matrix if self._chosen is None else consistent.matrix[self._chosen]
        self._equations = matrix * root[:, None, :]
        self._gram, self._scale = consistent.gram.scaled(root**2, self._chosen)
        self._inverse = _inverse(self._gram, self._ridge) if self._chosen is None else None

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
        return (
            _transposed(solve_scaled(self._gram, _transposed(right * scale), self._ridge)) * scale
        )

    def complement(self, vectors: Floats) -> Floats:
        """The rows without their parts that would change an equation, to full accuracy."""
        for _ in range(2):
            across = vectors @ _transposed(self._equations)
            vectors = vectors - self._solve(across) @ self._equations
        return vectors


def _projection(
    consistent: Polytope, b: Floats, root: Floats, tolerances: Tolerances
) -> Projection | SparseProjection:
    if len(consistent.matrix) < FACTORED_FROM:
        return Projection(consistent, b, root, tolerances)
    return SparseProjection(consistent, b, root, tolerances.zero_curvature)


def _enough(consistent: Polytope, b: Floats, tolerances: Tolerances) -> Ints | None:
    """For each point enough equations for all of them to hold; `None` if all are used."""
    few = len(consistent.matrix) <= tolerances.decomposed_equations
    return None if few else consistent.enough(b)


def _inverse(gram: Floats, least: float) -> Floats:
    """The inverse of matrices on the span of their equations."""
    values, vectors = eigenvectors(gram)
    inverse = np.where(values > least, 1 / np.maximum(values, least), 0.0)
    return np.asarray((vectors * inverse[:, None, :]) @ _transposed(vectors))


def nearest_consistent(
    consistent: Polytope, beliefs: Floats, tolerances: Tolerances
) -> tuple[Floats, Floats]:
    """The consistent beliefs (S, D) of least relative entropy to given ones, and the error left.

    Beliefs are multiplied, never added to, so they stay positive however small they are.
    """
    matrix = consistent.matrix
    log_b, b = np.log(np.maximum(beliefs, tolerances.zero_belief)), beliefs.copy()
    miss = consistent.right_side - b @ matrix.T
    error = np.abs(miss).max(axis=1, initial=0.0)
    left = np.flatnonzero(error > tolerances.consistent)
    for rounds_left in range(tolerances.most_rounds, -tolerances.closing_rounds, -1):
        # Who is nearly there when rounds are used up has some more: each squares the error.
        most = math.exp(rounds_left - tolerances.last_rounds)
        left = left[error[left] < (most if rounds_left > 0 else tolerances.nearly_consistent)]
        if not len(left):
            break
        before = error[left]
        log_b[left] += _multipliers(consistent, b[left], miss[left], tolerances) @ matrix
        # Steps that are far too long leave the range of floats, and their points are given up.
        with np.errstate(over="ignore", invalid="ignore"):
            b[left] = np.where(beliefs[left] > tolerances.zero_belief, np.exp(log_b[left]), 0.0)
            miss[left] = consistent.right_side - b[left] @ matrix.T
        error[left] = np.abs(miss[left]).max(axis=1, initial=0.0)
        at_rounding = (error[left] < tolerances.nearly_consistent) & (error[left] > before / 2)
        left = left[(error[left] > tolerances.consistent) & ~at_rounding]
    return b, error


def _multipliers(consistent: Polytope, b: Floats, miss: Floats, tolerances: Tolerances) -> Floats:
    """What makes beliefs consistent, to first order: one number per equation for each point."""
    gram, ridge = consistent.gram, tolerances.zero_curvature
    enough = _enough(consistent, b, tolerances)
    if enough is None or len(consistent.matrix) < FACTORED_FROM:
        return gram.solve(b, miss, ridge, enough)
    points = zip(b, enough, miss, strict=True)
    return np.array([Factor(gram, own, chosen, ridge).solve(off) for own, chosen, off in points])


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
