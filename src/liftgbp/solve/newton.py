"""Newton's method on consistent beliefs, in the metric of the outer regions' entropy.

Beliefs b of the outer regions decide all others, and consistent ones form a polytope. There the
free energy is the convex negative entropy of the outer regions, with a diagonal Hessian, plus terms
of inner regions, of either sign and low rank. In coordinates where that diagonal is the identity,
and on the directions that keep beliefs consistent, the whole Hessian is the identity except for a
small block. The eigenvalues of the block are the curvatures. Taking their absolute values turns
every Newton step into a direction of descent, at a saddle too.

`newton_step` takes the step at each point of a batch; `retraction` brings its end back to
consistent beliefs. Few equations and inner beliefs are handled in batches, many point by point.
Shapes, as in `problem`: S points, D entries of outer regions, I entries of inner regions, E
equations.
"""

from __future__ import annotations

import contextlib
import sys
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liftgbp.arrays import Bools, Floats, Ints
from liftgbp.solve.factors import PointProjection, Spectrum, eigenvectors, lapack
from liftgbp.solve.free_beliefs import FreeCurvatures, Scaled
from liftgbp.solve.gram import LinearMap, diagonals, solve_scaled, spread
from liftgbp.solve.problem import Energy, Polytope
from liftgbp.solve.tolerances import Tolerances
from liftgbp.values import dataclass

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread(consistent: Polytope | None = None) -> Iterator[None]:
    """Handle matrices in one thread, those of a polytope if they are known.

    Matrices are decomposed one after the other. A library that starts all its threads for each of
    them spends most of its time waiting: ten times the processor time for matrices of 400 rows.
    """
    if consistent is not None and consistent.is_tiny:
        yield
        return
    if consistent is not None and consistent.is_large:
        lapack()  # has threads of its own, which are found only once it is there
    with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    """Finding the libraries takes milliseconds, so they are looked for once."""
    from threadpoolctl import ThreadpoolController  # tiny models do without it

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

    @abstractmethod
    def curvatures(self, gradient: Floats) -> tuple[Curvatures | FreeCurvatures, Floats]:
        """The block of the Hessian that is not the identity, and a gradient along its directions.

        The gradient is one by coordinates.
        """

    def relative(self, step: Floats) -> Floats:
        """The largest change of a belief in proportion to the belief."""
        return np.asarray((np.abs(step) * self._alive / self._b).max(axis=1, initial=0.0))

    def _inner_beliefs(self) -> Floats:
        y = self._energy.consistent.marginals(self._b * self._alive)
        return np.maximum(y, self._tolerances.zero_belief)


class BatchMetric(Metric):
    """The metric at a batch of points."""

    onto: Projection

    def __init__(self, energy: Energy, b: Floats) -> None:
        super().__init__(energy, b)
        self.onto = Projection(energy.consistent, b, self.root, energy.tolerances)

    def curvatures(self, gradient: Floats) -> tuple[Curvatures, Floats]:
        """Both are brought onto the directions at once."""
        root_y = np.sqrt(self._inner_beliefs())
        inner = self._energy.consistent.to_inner * self.root[:, None, :] / root_y[:, :, None]
        rows = self.onto.complement(np.concatenate([inner, gradient[:, None, :]], axis=1))
        span = Span(rows[:, :-1])
        gram = span.rows @ _transposed(span.rows)
        return Curvatures(span, gram, self._energy.inner_weight, self._tolerances), rows[:, -1]


class PointMetric(Metric):
    """The metric at one point of many equations or inner beliefs: a batch of one."""

    onto: PointProjection

    def __init__(self, energy: Energy, b: Floats) -> None:
        super().__init__(energy, b)
        self.onto = PointProjection(energy.consistent, b[0], self.root[0], energy.tolerances)

    def curvatures(self, gradient: Floats) -> tuple[Curvatures, Floats]:
        """Directions are never formed, only their products."""
        scale = self.onto.scale
        span = PointSpan(self._energy.consistent.marginals, self.onto, self.root)
        sizes = np.where(scale > 0, self._inner_beliefs() * scale**2, np.inf)
        weights = self._energy.inner_weight / sizes
        curvatures = Curvatures(span, self.onto.gram[None], weights, self._tolerances)
        return curvatures, self.onto.complement(gradient)


class FreeMetric(Metric):
    """The metric at one point where few beliefs decide all others: a batch of one."""

    def __init__(self, energy: Energy, b: Floats) -> None:
        super().__init__(energy, b)
        self._choice = energy.choices[0].step
        self._choice.suit(self.root[0] ** 2)
        self._directions = Scaled(self._choice, self.root[0])

    def curvatures(self, gradient: Floats) -> tuple[FreeCurvatures, Floats]:
        """The gradient has one number for each free belief."""
        inner = self._choice.inner * self._directions.root_free
        weights = self._energy.inner_weight / self._inner_beliefs()
        bent = inner.T * weights @ inner
        along = self._directions.along(gradient[0])
        return FreeCurvatures(self._directions, bent, self._tolerances), along[None]


def metric_at(energy: Energy, b: Floats) -> BatchMetric | PointMetric:
    """The metric at points (S, D), or at the only one where they are handled one by one."""
    return PointMetric(energy, b) if energy.consistent.is_large else BatchMetric(energy, b)


class Span:
    """Directions of inner beliefs, as rows (S, I, D) that keep all equations."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def along(self, gradient: Floats) -> Floats:
        """The products (S, I) of all directions with a gradient that keeps all equations."""
        return np.asarray((self.rows @ gradient[:, :, None])[:, :, 0])

    def combined(self, change: Floats) -> Floats:
        """The sum (S, D) of all directions, each times a number of `change` (S, I)."""
        return np.asarray((_transposed(self.rows) @ change[:, :, None])[:, :, 0])


class PointSpan:
    """Directions of inner beliefs at one point, which are never formed."""

    def __init__(self, marginals: LinearMap, onto: PointProjection, root: Floats) -> None:
        self._marginals = marginals
        self._onto = onto
        self._root = root

    def along(self, gradient: Floats) -> Floats:
        """As in `Span`, for a batch of one."""
        return self._onto.scale * self._marginals(self._root * gradient)

    def combined(self, change: Floats) -> Floats:
        """As in `Span`, for a batch of one."""
        rows = self._root * self._marginals.transposed(self._onto.scale * change)
        return self._onto.complement(rows)


@dataclass(frozen=True, eq=False)
class Curvatures(Spectrum):
    """The Hessian, and its eigenvalues; all others are one.

    The Hessian is the identity plus `span.T @ diag(weights) @ span`.

    span     the directions in which the Hessian is not the identity
    gram     (S, I, I) their products
    weights  (S, I)
    """

    span: Span | PointSpan
    gram: Floats
    weights: Floats
    tolerances: Tolerances

    @cached_property
    def _decomposed(self) -> tuple[Floats, Floats]:
        """The eigenvalues, and what turns `span` to their directions.

        The product is never formed: it is by far the largest of all matrices.
        """
        size, turn = eigenvectors(self.gram)
        spread = np.sqrt(np.where(size > self.tolerances.rounding, size, 0.0))
        lengths = np.where(spread > 0, spread, np.inf)
        weighted = _transposed(turn) * self.weights[:, None, :] @ turn
        bend, mix = eigenvectors(spread[:, :, None] * weighted * spread[:, None, :])
        return 1 + bend, _transposed(turn / lengths[:, None, :] @ mix)

    @property
    def values(self) -> Floats:
        """The eigenvalues (S, I)."""
        return self._decomposed[0]

    def solve(self, gradient: Floats, values: Floats) -> Floats:
        """The inverse Hessian, with these eigenvalues, applied to a gradient."""
        along = self.span.along(gradient)
        # Eigenvectors mix large beliefs with tiny ones, which lose all their digits. Where no
        # eigenvalue is to be another one, elimination keeps them.
        (same,) = np.nonzero((values == self.values).all(axis=1))
        if len(same) == len(along):
            with contextlib.suppress(np.linalg.LinAlgError):
                return self.solve_as_is(gradient)
        change = self._turned(along, values)
        if len(same):
            try:
                change[same] = self._eliminated(along[same], same)
            except np.linalg.LinAlgError:
                # At huge counts a pivot may round to zero; those points keep their eigenvectors.
                for point in same:
                    with contextlib.suppress(np.linalg.LinAlgError):
                        change[point] = self._eliminated(along[[point]], np.array([point]))[0]
        return gradient + self.span.combined(change)

    def solve_as_is(self, gradient: Floats) -> Floats:
        """The inverse Hessian applied to a gradient, by elimination."""
        along = self.span.along(gradient)
        change = self._eliminated(along, slice(None))
        return gradient + self.span.combined(change)

    def _turned(self, along: Floats, values: Floats) -> Floats:
        _, turn = self._decomposed
        along = turn @ along[:, :, None]
        return np.asarray(_transposed(turn) @ (along / values[:, :, None] - along))[:, :, 0]

    def _eliminated(self, along: Floats, points: Ints | slice) -> Floats:
        weights = self.weights[points][:, :, None]
        hessian = weights * self.gram[points]
        diagonal = diagonals(hessian)
        diagonal += 1
        solved = np.linalg.solve(hessian, weights * along[:, :, None])
        return -np.asarray(solved[:, :, 0], dtype=np.float64)

    def exceed(self, bound: float) -> bool:
        """Whether all eigenvalues of the first point exceed a bound below one.

        Positive weights are eliminated first: what is left is positive if and only if the Hessian
        less the bound is.
        """
        root = np.sqrt(np.abs(self.weights[0]) / (1 - bound))
        scaled = root[:, None] * self.gram[0] * root
        (up,), (down,) = np.nonzero(self.weights[0] > 0), np.nonzero(self.weights[0] < 0)
        rest = np.eye(len(down)) - scaled[np.ix_(down, down)]
        try:
            if len(up):
                bent, across = scaled[np.ix_(up, up)] + np.eye(len(up)), scaled[np.ix_(up, down)]
                rest += across.T @ np.linalg.solve(bent, across)
            np.linalg.cholesky(rest)
        except np.linalg.LinAlgError:
            # Where weights exceed one by far, rounding may hide it.
            return False
        return True


class Step(NamedTuple):
    """A Newton step at each point: a direction of descent, and what it says about the point.

    change    (S, D) the step
    slope     (S) by how much the scaled free energy falls along it, to first order
    residual  (S) the largest change of a belief, in proportion
    lowest    (S) the smallest curvature
    flattest  (S) the curvature nearest to zero
    exact     (S) whether these are the curvatures, or lower bounds that are positive
    """

    change: Floats
    slope: Floats
    residual: Floats
    lowest: Floats
    flattest: Floats
    exact: Bools

    def row(self, k: int) -> Step:
        """The step of one point."""
        return Step._make(column[k] for column in self)

    def updated(self, rows: Ints, new: Step) -> Step:
        """The steps with those of some points replaced, which are in order."""
        if len(rows) == len(self.change):
            return new
        columns = [column.copy() for column in self]
        for column, own in zip(columns, new, strict=True):
            column[rows] = own
        return Step._make(columns)


def newton_step(energy: Energy, b: Floats, *, bounds_do: bool = False) -> Step:
    """The Newton step with curvatures by absolute value.

    With `bounds_do`, lower bounds of curvatures are enough where many would have to be found.
    """
    if not energy.consistent.is_large:
        return _Here(energy, b).step()
    points = (_Here(energy[np.array([k])], b[k : k + 1]) for k in range(len(b)))
    steps = [(point.convex_step() if bounds_do else None) or point.step() for point in points]
    return Step._make(map(np.concatenate, zip(*steps, strict=True)))


class _Here:
    """The gradient and the Hessian at some points, or at one where they are handled one by one."""

    def __init__(self, energy: Energy, b: Floats) -> None:
        self._tolerances = energy.tolerances
        few = energy.consistent.has_few_free
        self._metric: Metric = FreeMetric(energy, b) if few else metric_at(energy, b)
        self._full = energy.gradient(b)
        along = self._metric.root * self._full
        self._curvatures: Curvatures | FreeCurvatures
        self._curvatures, self._gradient = self._metric.curvatures(along)

    def step(self) -> Step:
        own = self._curvatures
        change = -self._metric.root * own.solve(self._gradient, own.magnitudes)
        return self._step(change, own.lowest, own.flattest, exact=True)

    def convex_step(self) -> Step | None:
        """The step at one point if all curvatures are surely positive, found without them.

        They also exceed all that would let the point settle (see `Tolerances.last_places`).
        """
        try:
            # A Hessian that is nearly singular may lead beyond the range of floats.
            with np.errstate(over="ignore", invalid="ignore"):
                change = -self._metric.root * self._curvatures.solve_as_is(self._gradient)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(change).all():
            return None
        own, residual = self._tolerances, float(self._metric.relative(change)[0])
        settles = own.last_places / max(residual, own.last_places)
        bound = 2 * max(settles, own.zero_curvature)
        if not (bound < 1 and self._curvatures.exceed(bound)):
            return None
        return self._step(change, np.array([bound]), np.array([bound]), exact=False)

    def _step(self, change: Floats, lowest: Floats, flattest: Floats, *, exact: bool) -> Step:
        return Step(
            change=change,
            slope=(self._full * change).sum(axis=1),
            residual=self._metric.relative(change),
            lowest=lowest,
            flattest=flattest,
            exact=np.array([exact]).repeat(len(change)),
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


def _enough(consistent: Polytope, b: Floats, tolerances: Tolerances) -> Ints | None:
    """For each point enough equations for all of them to hold; `None` if all are used."""
    few = len(consistent.matrix) <= tolerances.decomposed_equations
    return None if few else consistent.enough(b)


def _inverse(gram: Floats, least: float) -> Floats:
    """The inverse of matrices on the span of their equations."""
    values, vectors = eigenvectors(gram)
    inverse = np.where(values > least, 1 / np.maximum(values, least), 0.0)
    return np.asarray((vectors * inverse[:, None, :]) @ _transposed(vectors))


def _transposed(stack: Floats) -> Floats:
    return stack.swapaxes(1, 2)
