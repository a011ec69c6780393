"""Points on the boundary: is a belief zero, or tiny? Exact whole numbers decide.

A way inside leaves a face, on which some beliefs are zero. A part t of the way, the free energy has
changed by t (a + k log t) to first order, where k is what the entropies of all beliefs that were
zero count for: a whole number times the way. If k is positive, the free energy is least at log t =
-1 - a/k, and the point is no minimum, at any precision. If k is negative on all ways inside, it is
one. Where k is zero, a decides.

Ways inside form a cone that depends on the layout alone. Its extreme ways, and the way on which k
is largest, are found by the simplex method in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import fmpq

from liftgbp.solve.frames import LARGE, SLACK_BITS, Face, Faces, exchanged
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import InternalError

MOST_PIVOTS = 2000
"""Steps of the simplex method for one way inside; the rule of Bland ends it, but may take long."""


MOST_STEEP = 200
"""As many pivots go where the objective grows most, before Bland's rule."""

FEW_ZEROS = 24
"""Up to this many beliefs that are zero, extreme ways are looked for in both directions of each,
which takes milliseconds; for each of 170 (thirty formulas over 1e9 objects) it takes seconds."""


class Cone:
    """Numbers of one sum, none of them negative, some of which follow from the others.

    The simplex method finds its vertices in whole numbers: it exchanges numbers in a table like
    that of a `Frame`, in which free ones are zero. The last row is the objective.

    table        by what times `divisor` those in `bound` follow from those in `free`
    free, bound  numbers from zero on, one for each number
    """

    def __init__(self, table: Any, divisor: int, free: Ints, bound: Ints) -> None:
        self._width = len(free) + len(bound)
        # What is missing from the sum is one more number, at first.
        missing = np.append(-divisor - table.sum(axis=0), divisor)
        numbers = np.pad(table, ((0, 0), (0, 1)))
        self._table, self._divisor = np.concatenate([numbers, [missing], [-missing]]), divisor
        self._free, self._bound = free.copy(), np.append(bound, self._width)
        self.is_empty = not self._climb() or bool(self._table[-1, -1])
        self._table = self._table[:-1]
        if self.is_empty:
            return
        for row in np.flatnonzero(self._bound == self._width).tolist():
            self._exchange(row, int((self._table[row, :-1] != 0).argmax()))
        known = self._free < self._width
        self._table = self._table[:, np.append(known, True)]
        self._free = self._free[known]

    def largest(self, objective: Sequence[int]) -> tuple[fmpq, list[fmpq]] | None:
        """The vertex at which an objective is largest; nothing if that takes too long."""
        gains = np.array(objective, dtype=object)
        row = gains[self._bound] @ self._table.astype(object)
        row[:-1] += gains[self._free] * self._divisor
        before = self._table
        kind = object if max(map(abs, row.tolist())) >= LARGE else before.dtype
        self._table = np.concatenate([before.astype(kind), row[None].astype(kind)])
        found = self._climb()
        last, self._table = self._table[-1], self._table[:-1]
        if not found:
            return None
        vertex = [fmpq(0)] * self._width
        for place, value in zip(self._bound.tolist(), self._table[:, -1].tolist(), strict=True):
            vertex[place] = fmpq(value, self._divisor)
        return fmpq(int(last[-1]), self._divisor), vertex

    def _climb(self) -> bool:
        """Pivot until an objective is largest, by what gains most, and in the end by Bland's rule.

        Bland's rule ends in every case, but takes many more pivots.
        """
        for pivots in range(MOST_PIVOTS):
            gains = self._table[-1, :-1]
            rising = np.flatnonzero((gains > 0) & (self._free < self._width))
            if not len(rising):
                return True
            order = gains[rising] if pivots < MOST_STEEP else -self._free[rising]
            column = int(rising[order.argmax()])
            falls, left = self._table[:-1, column], self._table[:-1, -1]
            rows = np.flatnonzero(falls < 0).tolist()
            ratios = [(fmpq(int(left[k]), -int(falls[k])), int(self._bound[k]), k) for k in rows]
            self._exchange(min(ratios)[2], column)
        return False

    def _exchange(self, row: int, column: int) -> None:
        self._table, self._divisor = exchanged(self._table, self._divisor, row, column)
        self._free[column], self._bound[row] = self._bound[row], self._free[column]


@dataclass(frozen=True, eq=False, slots=True)
class Way:
    """A way inside: how beliefs of the face and beliefs that were zero change.

    outer   changes of the outer beliefs of the face
    inner   changes of its inner beliefs
    raised  changes of the outer beliefs that are zero on the face
    others  changes of the inner beliefs that are
    """

    outer: list[fmpq]
    inner: list[fmpq]
    raised: list[fmpq]
    others: list[fmpq]

    @staticmethod
    def mixed(ways: Sequence[Way], shares: Sequence[fmpq]) -> Way:
        """The sum of ways, each times its share."""

        def total(lists: Iterable[list[fmpq]]) -> list[fmpq]:
            return [
                sum((share * own for share, own in zip(shares, column, strict=True)), fmpq(0))
                for column in zip(*lists, strict=True)
            ]

        return Way(
            outer=total(way.outer for way in ways),
            inner=total(way.inner for way in ways),
            raised=total(way.raised for way in ways),
            others=total(way.others for way in ways),
        )


class Inwards:
    """The ways inside from a face.

    outer  the outer beliefs that are zero on it
    inner  the inner ones that are
    """

    def __init__(self, face: Face, faces: Faces) -> None:
        own = faces.consistent
        zero = np.ones(len(own.outer), dtype=bool)
        zero[list(face.outer)] = False
        self._alive = np.flatnonzero(~zero)
        self.outer = np.flatnonzero(zero).tolist()
        kept = np.zeros(len(own.inner), dtype=bool)
        kept[face.inner] = True
        self._kept = np.flatnonzero(kept)
        self.inner = np.flatnonzero(~kept & own.to_inner.any(axis=1)).tolist()
        self._to_inner = own.to_inner.astype(np.int64)
        # In this frame, what is zero on the face follows from what is, too.
        frame = faces.whole.frame(np.where(zero, -2.0 * SLACK_BITS, 0.0))
        if frame is None:
            raise InternalError("a face of an empty polytope")
        self._frame = frame
        place = zero.cumsum() - 1
        free, bound = zero[frame.free], zero[frame.bound]
        table = frame.rows[: len(bound)][bound][:, free]
        self._cone = Cone(table, frame.divisor, place[frame.free[free]], place[frame.bound[bound]])

    @cached_property
    def extreme(self) -> list[Way]:
        """Extreme ways such that each belief that can rise does on one of them.

        Of few beliefs, each rises most on one and least on another.
        """
        found: dict[tuple[fmpq, ...], Way] = {}
        if self._cone.is_empty:
            return []
        width = len(self.outer)
        few = width <= FEW_ZEROS
        rises: set[int] = set()
        for j in range(width):
            if j in rises and not few:
                continue
            for sign in (1, -1) if few else (1,):
                best = self._cone.largest([sign * (k == j) for k in range(width)])
                if best is not None and tuple(best[1]) not in found:
                    found[tuple(best[1])] = self._completed(best[1])
                    rises |= {k for k, value in enumerate(best[1]) if value}
        return list(found.values())

    def entropies(self, weights: Sequence[int]) -> list[int]:
        """What k counts for each outer belief that is zero, by the weights of these and of inner
        ones."""
        outer, inner = weights[: len(self.outer)], weights[len(self.outer) :]
        columns = self._to_inner[np.ix_(self.inner, self.outer)].T.tolist()
        return [
            own + sum(w * times for w, times in zip(inner, column, strict=True))
            for own, column in zip(outer, columns, strict=True)
        ]

    def most_entropy(self, entropies: Sequence[int]) -> tuple[fmpq, Way] | None:
        """The largest k of all ways inside, and its way; nothing if that is not known."""
        best = self._cone.largest(entropies)
        return None if best is None else (best[0], self._completed(best[1]))

    @property
    def is_closed(self) -> bool:
        """Whether there is no way inside."""
        return self._cone.is_empty

    def _completed(self, raised: list[fmpq]) -> Way:
        """The way with what all other beliefs do, so that all equations hold along it."""
        frame = self._frame
        times = math.lcm(*(int(value.q) for value in raised))
        outer = np.zeros(len(frame.free) + len(frame.bound), dtype=object)
        outer[self.outer] = [int(value * times) for value in raised]
        others = frame.rows.astype(object) @ outer[frame.free]
        outer *= frame.divisor
        outer[frame.bound] = others[: len(frame.bound)]
        inner = others[len(frame.bound) :]

        def fractions(values: Any) -> list[fmpq]:
            return [fmpq(int(value), frame.divisor * times) for value in values]

        return Way(
            outer=fractions(outer[self._alive]),
            inner=fractions(inner[self._kept]),
            raised=raised,
            others=fractions(inner[self.inner]),
        )


_kept: WeakKeyDictionary[Face, Inwards] = WeakKeyDictionary()
"""The ways inside from faces; they live as long as these."""


def ways_inside(face: Face, faces: Faces) -> Inwards:
    """The ways inside from a face."""
    found = _kept.get(face)
    if found is None:
        found = _kept[face] = Inwards(face, faces)
    return found
