"""Weights and beliefs at block sizes near a peak, from a few points around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import numpy as np

from liftgbp.methods.counting.space import Counts, Lattice, Space
from liftgbp.support.arrays import Floats


def stencil_over(axes: int) -> Iterator[tuple[int, ...]]:
    """Nothing, one step along each axis in both directions, and one along any two axes."""
    yield (0,) * axes
    for axis in range(axes):
        for sign in (1, -1):
            yield tuple(sign * (k == axis) for k in range(axes))
    for one, other in combinations(range(axes), 2):
        yield tuple(int(k in (one, other)) for k in range(axes))


@dataclass(frozen=True, eq=False)
class Around:
    """Log weights and beliefs at sizes around a peak, to second and to first order.

    The number of ways to form blocks is exact, the rest of a weight to second order. `values` are
    the log weights at the points of the stencil, relative to log Z at the peak, and `rows` the
    beliefs there. The peak is the anchor of the lattice of all sizes.
    """

    space: Space
    lattice: Lattice
    stencil: list[tuple[int, ...]]
    points: list[Counts]
    values: Floats
    rows: Floats

    def exponents(self, points: Sequence[Counts]) -> list[Decimal]:
        """The log weights at some sizes, relative to log Z at the peak."""
        possible = [point for point in points if min(point) > 0]
        found = dict.fromkeys(points, Decimal("-Infinity"))
        moves = self._moves(possible)
        smooth = self.values - self._log_ways(self.points)
        values = smooth[0] + moves @ self._slopes(smooth) + self._log_ways(possible)
        values += np.einsum("pi,ij,pj->p", moves, self._curvatures(smooth), moves) / 2
        found |= zip(possible, map(Decimal, values.tolist()), strict=True)
        return [found[point] for point in points]

    def _log_ways(self, points: Sequence[Counts]) -> Floats:
        return np.array([float(self.space.log_ways(point)) for point in points])

    @property
    def falls_off(self) -> bool:
        """Whether log weights fall off in all directions."""
        return bool(np.linalg.eigvalsh(self._curvatures(self.values)).max() < 0)

    def beliefs(self, points: Sequence[Counts]) -> Floats:
        """The beliefs at some sizes; never negative."""
        moves = np.tensordot(self._moves(points), self._slopes(self.rows), 1)
        return np.asarray(np.maximum(self.rows[0] + moves, 0.0))

    def _moves(self, points: Sequence[Counts]) -> Floats:
        moves = list(map(self.lattice.nearest, points))
        return np.array(moves, dtype=float).reshape(len(points), self._axes)

    @property
    def _axes(self) -> int:
        return len(self.lattice.cells)

    def _slopes(self, rows: Floats) -> Floats:
        ends = map(self._ends, range(self._axes))
        return np.array([(rows[forward] - rows[back]) / 2 for forward, back in ends])

    def _ends(self, axis: int) -> tuple[int, int]:
        forward = tuple(int(k == axis) for k in range(self._axes))
        return self.stencil.index(forward), self.stencil.index(tuple(-step for step in forward))

    def _curvatures(self, values: Floats) -> Floats:
        number, values = self._axes, values - values[0]
        slopes = self._slopes(values)
        found = np.zeros((number, number))
        for axis in range(number):
            forward, back = self._ends(axis)
            found[axis, axis] = values[forward] + values[back]
        for one, other in combinations(range(number), 2):
            both = self.stencil.index(tuple(int(k in (one, other)) for k in range(number)))
            straight = slopes[[one, other]].sum() + (found[one, one] + found[other, other]) / 2
            found[one, other] = found[other, one] = values[both] - straight
        return found
