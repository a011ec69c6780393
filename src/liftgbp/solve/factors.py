"""Cholesky factors of many equations, point by point.

Small sets of equations are decomposed in batches by NumPy. From some size on it pays to go through
points one by one: a factor takes half the time of an elimination and serves several right sides,
and equations are multiplied by what is not zero in them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.solve.problem import Gram, Polytope

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FACTORED_FROM = 150
"""From this many equations on SciPy, whose import takes as long as a hundred decompositions of
them, is worth that: thirty formulas have 339."""


@cache
def lapack() -> Any:
    """SciPy's interface to LAPACK."""
    from scipy.linalg import lapack as found

    return found


class Factor:
    """The Cholesky factor of the products of some equations, weighted by the beliefs of a point.

    Rows are scaled so that the diagonal is one; a small ridge keeps equations that follow from
    others harmless.
    """

    def __init__(self, gram: Gram, weights: Floats, equations: Ints, ridge: float) -> None:
        self._equations = equations
        self._matrix, self._scale = gram.chosen(weights, equations)
        np.fill_diagonal(self._matrix, 1 + ridge)
        factor, failed = lapack().dpotrf(self._matrix, lower=1, clean=0)
        self._factor: Floats | None = None if failed else factor

    def solve(self, right: Floats) -> Floats:
        """What the inverse takes right sides (E, ...) to; zero for equations that are left out."""
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        asked = right[self._equations] * scale
        if self._factor is None:
            lower = np.tril(self._matrix)
            solved = np.linalg.solve(lower + np.tril(lower, -1).T, asked)
        else:
            solved, _ = lapack().dpotrs(self._factor, asked, lower=1)
        full = np.zeros_like(right)
        full[self._equations] = solved * scale
        return full


_sparse: WeakKeyDictionary[Polytope, tuple[csr_array, csr_array]] = WeakKeyDictionary()


def sparse_equations(consistent: Polytope) -> tuple[csr_array, csr_array]:
    """The equations as a sparse matrix, and transposed; they live as long as the polytope."""
    if consistent not in _sparse:
        from scipy.sparse import csr_array

        matrix = csr_array(consistent.matrix)
        _sparse[consistent] = matrix, matrix.T.tocsr()
    return _sparse[consistent]


class SparseProjection:
    """The projection onto directions that keep all equations, point by point."""

    def __init__(self, consistent: Polytope, b: Floats, root: Floats, ridge: float) -> None:
        self._consistent = consistent
        self._root = root
        each = zip(root, consistent.enough(b), strict=True)
        self._factors = [Factor(consistent.gram, own**2, chosen, ridge) for own, chosen in each]

    def solve(self, right: Floats) -> Floats:
        """Apply the inverse of the gram matrices to rows (S, n, E), one number per equation."""
        solved = [own.solve(rows.T).T for own, rows in zip(self._factors, right, strict=True)]
        return np.array(solved).reshape(right.shape)

    def complement(self, vectors: Floats) -> Floats:
        """The rows without their parts that would change an equation, to full accuracy."""
        matrix, transposed = sparse_equations(self._consistent)
        result = np.empty_like(vectors)
        for place, (factor, root) in enumerate(zip(self._factors, self._root, strict=True)):
            columns = vectors[place].T
            for _ in range(2):
                across = factor.solve(matrix @ (columns * root[:, None]))
                columns = columns - (transposed @ across) * root[:, None]
            result[place] = columns.T
        return result
