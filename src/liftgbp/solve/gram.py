"""Equations between beliefs, weighted by the beliefs and solved for stacks of points.

Each equation is about a few regions, so nearly all products of two equations vanish. What does not
is known from the equations alone, and is summed up directly.
"""

from __future__ import annotations

import numpy as np

from liftgbp.arrays import Floats, Ints

RIDGE = 1e-13
"""What is added to a unit diagonal: equations that follow from others leave the solution alone."""


class Gram:
    """The matrices `A @ diag(b) @ A.T` of equations A, for stacks of weights b."""

    def __init__(self, matrix: Floats) -> None:
        self._size = len(matrix)
        columns, rows = np.nonzero(matrix.T)
        values = matrix[rows, columns]
        here, there = _pairs(np.bincount(columns, minlength=matrix.shape[1]))
        place = rows[here] * self._size + rows[there]
        order = np.argsort(place, kind="stable")
        self._places, self._starts = np.unique(place[order], return_index=True)
        self._columns = columns[here[order]]
        self._factors = (values[here] * values[there])[order]

    def __call__(self, weights: Floats) -> Floats:
        """The matrices of a stack of weights."""
        gram = np.zeros((len(weights), self._size * self._size))
        if len(self._places):
            terms = weights[:, self._columns] * self._factors
            gram[:, self._places] = np.add.reduceat(terms, self._starts, axis=1)
        return gram.reshape(len(weights), self._size, self._size)

    def scaled(self, weights: Floats, equations: Ints | None = None) -> tuple[Floats, Floats]:
        """The matrices with a unit diagonal, and by what their rows were multiplied.

        Equations between tiny beliefs are tiny; scaled they keep their digits. If for each point
        equations are given by their numbers, the matrices are those of these.
        """
        gram = self(weights)
        if equations is not None:
            points = np.arange(len(gram))[:, None, None]
            gram = gram[points, equations[:, :, None], equations[:, None, :]]
        diagonal = np.einsum("sii->si", gram)
        scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
        gram *= scale[:, :, None]
        gram *= scale[:, None, :]
        return gram, scale

    def solve(self, weights: Floats, right: Floats, equations: Ints | None = None) -> Floats:
        """What the matrices of weights take to right sides, one row for each point.

        Of equations that are left out, the result is zero.
        """
        gram, scale = self.scaled(weights, equations)
        asked = right if equations is None else np.take_along_axis(right, equations, axis=1)
        solved = solve_scaled(gram, (asked * scale)[:, :, None])[:, :, 0] * scale
        return solved if equations is None else spread(solved, equations, right.shape)


def solve_scaled(gram: Floats, right: Floats) -> Floats:
    """What matrices with a unit diagonal take to right sides, but for rounding and a small ridge.

    The matrices are changed: a diagonal with the ridge takes the place of theirs.
    """
    np.einsum("sii->si", gram)[...] = 1 + RIDGE
    return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)


def spread(values: Floats, places: Ints, shape: tuple[int, ...]) -> Floats:
    """An array of zeros with values at places of its last axis."""
    full = np.zeros(shape)
    np.put_along_axis(full, places, values, axis=-1)
    return full


def _pairs(lengths: Ints) -> tuple[Ints, Ints]:
    """All pairs of positions inside each of the segments of these lengths.

    >>> [positions.tolist() for positions in _pairs(np.array([2, 0, 1]))]
    [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]]
    """
    start = np.cumsum(lengths) - lengths
    own = np.repeat(lengths, lengths)
    here = np.repeat(np.arange(len(own)), own)
    within = np.arange(len(here)) - np.repeat(np.cumsum(own) - own, own)
    return here, np.repeat(start, lengths)[here] + within
