"""Matrices that are mostly zero: products with them, and products of their rows.

`LinearMap` multiplies rows of numbers with such a matrix, `Gram` forms the matrices A diag(w) A'
that Newton steps solve with. Shapes, as in `problem`: S points of a batch, D columns, E rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.plan.plan import Exponents

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SPARSE_FROM = 10**5
"""Matrices with fewer entries are multiplied as they are, which takes less than looking entries
up."""

MOST_FILLED = 1 / 16
"""And so are matrices of which more than this part is not zero."""


class LinearMap:
    """A matrix (E, D) that rows of numbers are multiplied with."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        filled = np.count_nonzero(matrix) if matrix.size >= SPARSE_FROM else matrix.size
        is_sparse = filled <= MOST_FILLED * matrix.size
        self._by_row = _sparse(matrix) if is_sparse else None
        self._by_column = _sparse(matrix.T) if is_sparse else None

    def __call__(self, rows: Floats) -> Floats:
        """The matrix times each row (..., D)."""
        if self._by_row is None:
            return np.asarray(rows @ self._matrix.T)
        return self._by_row @ rows

    def transposed(self, rows: Floats) -> Floats:
        """The transposed matrix times each row (..., E)."""
        if self._by_column is None:
            return np.asarray(rows @ self._matrix)
        return self._by_column @ rows


def _sparse(matrix: Floats) -> Exponents:
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix)))
    return Exponents(columns, matrix[rows, columns], starts, matrix.shape)


class Gram:
    """The matrices `A @ diag(w) @ A.T` of equations A, for batches of weights w.

    Each equation is about a few regions, so nearly all products of two equations vanish. Which do
    not is known from the equations alone, and only those are summed.
    """

    def __init__(self, matrix: Floats) -> None:
        self._size = len(matrix)
        columns, rows = np.nonzero(matrix.T)
        values = matrix[rows, columns]
        here, there = _pairs(np.bincount(columns, minlength=matrix.shape[1]))
        place = rows[here] * self._size + rows[there]
        order = np.argsort(place, kind="stable")
        places, self._starts = np.unique(place[order], return_index=True)
        self._entries = columns[here[order]]
        self._factors = (values[here] * values[there])[order]
        self._rows, self._columns = np.divmod(places, self._size or 1)

    @cached_property
    def _sum_at(self) -> Ints:
        """Which sum each place of a matrix has; where products vanish, the one after the last."""
        numbers = np.arange(len(self._rows))
        places = np.full((self._size, self._size), len(numbers))
        places[self._rows, self._columns] = places[self._columns, self._rows] = numbers
        return places

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        own = (self._rows, self._columns, self._starts, self._entries, self._factors)
        return sum(array.nbytes for array in own)

    def __call__(self, weights: Floats) -> Floats:
        """The matrices (S, E, E) of weights (S, D)."""
        sums = np.zeros((len(weights), len(self._rows) + 1))
        if len(self._rows):
            terms = weights.take(self._entries, axis=1)
            terms *= self._factors
            np.add.reduceat(terms, self._starts, axis=1, out=sums[:, :-1])
        return sums.take(self._sum_at, axis=1)

    def scaled(self, weights: Floats, equations: Ints | None = None) -> tuple[Floats, Floats]:
        """The matrices with a unit diagonal, and what their rows were multiplied by.

        Equations between tiny beliefs are tiny; scaled they keep their digits. `equations` (S, e)
        picks some equations for each point.
        """
        gram = self(weights)
        if equations is not None:
            points = np.arange(len(gram))[:, None, None]
            gram = gram[points, equations[:, :, None], equations[:, None, :]]
        scale = _inverse_roots(diagonals(gram))
        gram *= scale[:, :, None]
        gram *= scale[:, None, :]
        return gram, scale

    @cached_property
    def _summed(self) -> csr_array:
        """The matrix that takes the weights of one point to the products below the diagonal."""
        from scipy.sparse import csr_array

        ends = np.append(self._starts, len(self._entries))
        shape = len(self._rows), int(self._entries.max(initial=-1)) + 1
        return csr_array((self._factors, self._entries, ends), shape=shape)

    def chosen(self, weights: Floats, equations: Ints) -> tuple[Floats, Floats]:
        """The scaled matrix of some equations at one point, and what its rows were multiplied by.

        Only the diagonal and what is below are filled, in the order of Fortran.
        """
        sums = self._summed @ weights[: self._summed.shape[1]]
        place = np.full(self._size, -1)
        place[equations] = np.arange(len(equations))
        row, column = place[self._rows], place[self._columns]
        kept = np.flatnonzero((row >= 0) & (column >= 0))
        row, column, sums = row[kept], column[kept], sums[kept]
        diagonal = np.zeros(len(equations))
        diagonal[row[row == column]] = sums[row == column]
        scale = _inverse_roots(diagonal)
        gram = np.zeros((len(equations), len(equations)), order="F")
        # Numbers are chosen in ascending order, so that what is below stays below.
        gram[row, column] = sums * scale[row] * scale[column]
        return gram, scale

    def solve(
        self, weights: Floats, right: Floats, ridge: float, equations: Ints | None = None
    ) -> Floats:
        """What the matrices of weights take to right sides (S, E).

        For equations that are left out the result is zero.
        """
        gram, scale = self.scaled(weights, equations)
        asked = right if equations is None else np.take_along_axis(right, equations, axis=1)
        solved = solve_scaled(gram, (asked * scale)[:, :, None], ridge)[:, :, 0] * scale
        return solved if equations is None else spread(solved, equations, right.shape)


def solve_scaled(gram: Floats, right: Floats, ridge: float) -> Floats:
    """What matrices with a unit diagonal take to right sides, up to rounding and a small ridge.

    The diagonal of `gram` is overwritten.
    """
    diagonals(gram)[...] = 1 + ridge
    return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)


def diagonals(stack: Floats) -> Floats:
    """The diagonals (S, E) of matrices (S, E, E), to be read or changed in place."""
    number, size, _ = stack.shape
    return stack.reshape(number, size * size)[:, :: size + 1]


def _inverse_roots(values: Floats) -> Floats:
    """One over the roots of values, and zero for those that are not positive."""
    return np.asarray(1.0 / np.sqrt(np.where(values > 0, values, np.inf)))


def spread(values: Floats, places: Ints, shape: tuple[int, ...]) -> Floats:
    """An array of zeros with values at places of its last axis."""
    full = np.zeros(shape)
    np.put_along_axis(full, places, values, axis=-1)
    return full


def _pairs(lengths: Ints) -> tuple[Ints, Ints]:
    """All pairs of positions inside each of the segments of these lengths, the later one first.

    >>> [positions.tolist() for positions in _pairs(np.array([2, 0, 1]))]
    [[0, 1, 1, 2], [0, 0, 1, 2]]
    """
    start = np.repeat(np.cumsum(lengths) - lengths, lengths)
    earlier = np.arange(len(start)) - start + 1
    here = np.repeat(np.arange(len(start)), earlier)
    within = np.arange(len(here)) - np.repeat(np.cumsum(earlier) - earlier, earlier)
    return here, start[here] + within
