"""Weights and beliefs at block sizes near a peak, from a few points around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations

import numpy as np

from liftgbp.lift.shatter import SplitShattering
from liftgbp.methods.counting.space import Counts, Space, SplitClass
from liftgbp.support.arrays import Floats


def stencil_over(axes: int) -> Iterator[tuple[int, ...]]:
    """Nothing, one step along each axis in both directions, and one along any two axes."""
    yield (0,) * axes
    for axis in range(axes):
        for sign in (1, -1):
            yield tuple(sign * (k == axis) for k in range(axes))
    for one, other in combinations(range(axes), 2):
        yield tuple(int(k in (one, other)) for k in range(axes))


def moved(counts: Counts, axes: Sequence[tuple[int, int]], move: Sequence[int]) -> Counts:
    """The sizes some steps away; what one block gains, the block of reference loses."""
    found = list(counts)
    for (cell, reference), step in zip(axes, move, strict=True):
        found[cell] += step
        found[reference] -= step
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Around:
    """Log weights and beliefs at sizes around a peak, to second and to first order.

    The number of ways to form blocks is exact, the rest of a weight to second order. `values` are
    the log weights at the points of the stencil, relative to log Z at the peak, and `rows` the
    beliefs there.
    """

    split: SplitShattering
    peak: Counts
    axes: list[tuple[int, int]]
    stencil: list[tuple[int, ...]]
    values: Floats
    rows: Floats

    @cached_property
    def space(self) -> Space:
        """All sizes of all blocks."""
        return Space(tuple(SplitClass(own.size, len(own.cells)) for own in self.split.splits))

    def exponents(self, points: Sequence[Counts]) -> list[Decimal]:
        """The log weights at some sizes, relative to log Z at the peak."""
        possible = [point for point in points if min(point) > 0]
        found = dict.fromkeys(points, Decimal("-Infinity"))
        moves = self._moves(possible)
        smooth = self.values - self._log_ways(
            [moved(self.peak, self.axes, m) for m in self.stencil]
        )
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
        moves = [[point[cell] - self.peak[cell] for cell, _ in self.axes] for point in points]
        return np.array(moves, dtype=float).reshape(len(points), len(self.axes))

    def _slopes(self, rows: Floats) -> Floats:
        ends = [self._ends(axis) for axis in range(len(self.axes))]
        return np.array([(rows[forward] - rows[back]) / 2 for forward, back in ends])

    def _ends(self, axis: int) -> tuple[int, int]:
        forward = tuple(int(k == axis) for k in range(len(self.axes)))
        return self.stencil.index(forward), self.stencil.index(tuple(-step for step in forward))

    def _curvatures(self, values: Floats) -> Floats:
        number, values = len(self.axes), values - values[0]
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
