"""Factors of many equations, point by point.

Small sets of equations are decomposed in batches by NumPy. From some size on it pays to go through
points one by one: a factor takes half the time of an elimination and serves several right sides,
and equations are multiplied by what is not zero in them.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.solve.gram import Gram
from liftgbp.solve.tolerances import Tolerances

if TYPE_CHECKING:
    from liftgbp.solve.problem import Polytope


@cache
def lapack() -> Any:
    """SciPy's interface to LAPACK."""
    from scipy.linalg import lapack as found

    return found


def eigenvectors(stack: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of symmetric matrices, ascending, and their eigenvectors as columns.

    Only what is on the diagonal and below is read.
    """
    try:
        values, vectors = np.linalg.eigh(stack)
    except np.linalg.LinAlgError:
        # Divide and conquer fails on some matrices with entries of widely different orders.
        from scipy.linalg import eigh  # rarely needed, and slow to import

        pairs = [eigh(matrix, driver="ev") for matrix in stack]
        values, vectors = (np.array(part) for part in zip(*pairs, strict=True))
    return values, vectors


class Spectrum:
    """The curvatures of a free energy at points; `values` are its eigenvalues, a row per point."""

    tolerances: Tolerances

    @property
    @abstractmethod
    def values(self) -> Floats:
        """The eigenvalues that may differ from one."""

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
        return np.maximum(np.abs(self.values), self.tolerances.zero_curvature)


class Inverse:
    """The inverse of a matrix with a unit diagonal, of which the lower half is given.

    A small ridge keeps equations that follow from others harmless. With `exactly` they are found by
    their eigenvalues, and left out.
    """

    def __init__(self, lower: Floats, ridge: float, *, exactly: bool = False) -> None:
        if not exactly:
            np.fill_diagonal(lower, 1 + ridge)
            self._factor, failed = lapack().dpotrf(lower, lower=1, clean=0)
        self._half: Floats | None = None
        if exactly or failed:
            (values,), (vectors,) = eigenvectors(lower[None])
            kept = values > ridge
            self._half = vectors[:, kept] / np.sqrt(values[kept])

    def __matmul__(self, right: Floats) -> Floats:
        """The inverse times right sides (E, ...)."""
        if not right.size:
            return right  # which LAPACK refuses; nothing is free where hard formulas decide all
        if self._half is None:
            return np.asarray(lapack().dpotrs(self._factor, right, lower=1)[0])
        return np.asarray(self._half @ (self._half.T @ right))


def _symmetric(lower: Floats) -> Floats:
    """A matrix of which the lower half is filled, as a whole."""
    half = np.tril(lower, -1)
    return np.asarray(half + half.T + np.diag(lower.diagonal()))


class Factor:
    """The inverse of the products of some equations, weighted by the beliefs of a point."""

    def __init__(self, gram: Gram, weights: Floats, equations: Ints, ridge: float) -> None:
        lower, scale = gram.chosen(weights, equations)
        self._solved = _Solved(Inverse(lower, ridge), scale, equations)

    def solve(self, right: Floats) -> Floats:
        """What the inverse takes right sides (E, ...) to; zero for equations that are left out."""
        return self._solved(right)


class _Solved:
    """Solutions of some equations, which were scaled to be inverted."""

    def __init__(self, inverse: Inverse, scale: Floats, equations: Ints) -> None:
        self._inverse = inverse
        self._scale = scale
        self._equations = equations

    def __call__(self, right: Floats) -> Floats:
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        full = np.zeros_like(right)
        full[self._equations] = scale * (self._inverse @ (scale * right[self._equations]))
        return full


class PointProjection:
    """The projection onto directions that keep all equations, at one point.

    What it leaves of the rows of inner beliefs is the Schur complement of the equations among the
    products of all rows: the rows themselves, by far the largest matrix, are never formed.

    scale  (I) what rows of inner beliefs are multiplied by, so that products with themselves are
           one; zero for rows without beliefs
    gram   (I, I) the products of what is left of these rows
    """

    def __init__(
        self, consistent: Polytope, b: Floats, root: Floats, tolerances: Tolerances
    ) -> None:
        self._consistent = consistent
        self._root = root
        equations, inner = len(consistent.matrix), len(consistent.inner)
        few = equations <= tolerances.decomposed_equations
        chosen = np.arange(equations) if few else consistent.enough(b[None])[0]
        rows = np.concatenate([chosen, equations + np.arange(inner)])
        products, scale = consistent.products.chosen(root**2, rows)
        size = len(chosen)
        inverse = Inverse(
            products[:size, :size].copy(order="F"), tolerances.zero_curvature, exactly=few
        )
        self._solved = _Solved(inverse, scale[:size], chosen)
        self.scale = scale[size:]
        across = products[size:, :size].T
        solved = inverse @ across
        among = _symmetric(products[:size, :size])
        # What the ridge and rounding have changed is made good to first order.
        left = among @ solved - across
        self.gram: Floats = _symmetric(products[size:, size:]) - across.T @ solved + solved.T @ left

    def solve(self, right: Floats) -> Floats:
        """Apply the inverse of the gram matrix to rows (1, n, E), one number per equation."""
        return np.asarray(self._solved(right[0].T).T[None])

    def complement(self, vectors: Floats) -> Floats:
        """The rows (n, D) without their parts that would change an equation, to full accuracy."""
        equations = self._consistent.equations
        for _ in range(2):
            across = self._solved(equations(vectors * self._root).T).T
            vectors = vectors - equations.transposed(across) * self._root
        return vectors
