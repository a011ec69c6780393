"""Consistent beliefs in exact numbers: which beliefs are free, and how all others follow from them.

Consistent beliefs b of outer regions solve A b = r in whole numbers. A `Frame` chooses some of them
as free; all others are exact affine functions of these. Columns are eliminated from the largest
belief to the smallest, so the beliefs that follow are the large ones: none is much smaller than a
free belief that it depends on. So nothing cancels, however small beliefs are.

A `Face` is the part of the polytope on which some beliefs are zero. Neither depends on counts or
weights, so both are kept with the structure of a layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from liftgbp.plan import Layout, Structure
from liftgbp.solve.energy import Polytope, polytope
from liftgbp.support.arrays import Floats, Ints, expand

SLACK_BITS = 12
"""Beliefs are ordered by their size in steps of this many bits, and a frame serves while no free
belief exceeds one that follows from it by more steps than two: balls have bits enough for that."""

MOST_FRAMES = 64
"""How many frames of a face, and faces of a layout, are kept: a descent passes a handful."""

LARGE = 2**31
"""Larger whole numbers are Python's."""

_lock = RLock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Balls of this many bits. The library has one precision for all threads, so others wait."""
    with _lock:
        before, ctx.prec = ctx.prec, bits
        try:
            yield
        finally:
            ctx.prec = before


class Frame:
    """A choice of free beliefs on a face.

    Beliefs of the face are numbered, outer ones first.

    free       (F) the numbers of the free beliefs
    bound      (R) those of the outer beliefs that follow from them
    rows       (R + I, F) coefficients, whole numbers, for those that follow and then for inner ones
    constants  (R + I) what is added to that
    divisor    what both are divided by, a positive number
    """

    def __init__(self, free: Ints, bound: Ints, table: Any, divisor: int) -> None:
        self.free = free
        self.bound = bound
        self.divisor = divisor
        self._table = table
        self.rows, self.constants = table[:, :-1], table[:, -1]

    def exchanged(self, sizes: Floats, steps: int) -> tuple[Ints, Ints, Any, int]:
        """A frame in which nothing cancels, from this one, as its four parts.

        As long as a free belief is much larger than one that follows from it, they change places,
        the largest first.
        """
        free, bound, divisor = self.free.copy(), self.bound.copy(), self.divisor
        table, slack = self._table.copy(), steps * SLACK_BITS
        while len(free) and len(bound):
            excess = sizes[free] - sizes[bound][:, None] - slack
            excess[table[: len(bound), :-1] == 0] = -math.inf
            row, column = divmod(int(excess.argmax()), len(free))
            if excess[row, column] <= 0:
                break
            table, divisor = exchanged(table, divisor, row, column)
            free[column], bound[row] = bound[row], free[column]
        if divisor != 1:
            common = math.gcd(int(np.gcd.reduce(table, axis=None)), divisor)
            table, divisor = table // common, divisor // common
        by_free, by_bound = free.argsort(), bound.argsort()
        inner = np.arange(len(bound), len(table))
        table = table[np.concatenate([by_bound, inner])][:, [*by_free, len(free)]]
        return free[by_free], bound[by_bound], table, divisor

    @cached_property
    def terms(self) -> Terms:
        """How beliefs follow from free ones, in doubles."""
        return Terms((self._table / self.divisor).astype(float))

    @cached_property
    def order(self) -> Ints:
        """The numbers of the beliefs of the face, free ones first."""
        beliefs = len(self.bound) + len(self.free)
        inner = np.arange(beliefs, len(self.free) + len(self.rows))
        return np.concatenate([self.free, self.bound, inner])

    @cached_property
    def place(self) -> Ints:
        """Where outer beliefs are in that order."""
        return np.concatenate([self.free, self.bound]).argsort()

    @cached_property
    def bound_terms(self) -> Terms:
        """The same for outer beliefs alone."""
        return Terms((self._table[: len(self.bound)] / self.divisor).astype(float))

    @cached_property
    def _all_rows(self) -> list[list[int]]:
        """The coefficients of all beliefs of the face."""
        outer = len(self.free) + len(self.bound)
        rows = np.zeros((outer, len(self.free)), dtype=object)
        rows[self.free, np.arange(len(self.free))] = self.divisor
        rows[self.bound] = self.rows[: len(self.bound)]
        return [*rows.tolist(), *self.rows[len(self.bound) :].tolist()]

    @cached_property
    def _all_constants(self) -> list[int]:
        constants = np.zeros(len(self.free) + len(self.bound), dtype=object)
        constants[self.bound] = self.constants[: len(self.bound)]
        return [*constants.tolist(), *self.constants[len(self.bound) :].tolist()]

    @cached_property
    def _matrix(self) -> arb_mat:
        entries = [value for row in self._all_rows for value in row]
        return arb_mat(len(self._all_rows), len(self.free), entries)

    @cached_property
    def _dependences(self) -> tuple[Ints, Ints]:
        """Pairs of an outer belief that follows, and a free one that it depends on."""
        which, by = np.nonzero(self.rows[: len(self.bound)])
        return self.bound[which], self.free[by]

    def excess(self, sizes: Floats) -> Floats:
        """How many bits cancel at most where outer beliefs have these sizes (..., D), in bits.

        It is by how much a free belief exceeds one that follows from it.
        """
        which, by = self._dependences
        return np.asarray((sizes[..., by] - sizes[..., which]).max(axis=-1, initial=-math.inf))

    def suits(self, sizes: Floats) -> bool:
        """Whether few enough bits cancel at a point, whose outer beliefs have these sizes (D)."""
        return bool(self.excess(sizes) <= 2 * SLACK_BITS)

    def beliefs(self, free: Sequence[arb]) -> list[arb]:
        """All beliefs from the free ones."""
        if not free:
            return [arb(value) / self.divisor for value in self._all_constants]
        sums = (self._matrix * arb_mat(len(free), 1, list(free))).entries()
        pairs = zip(sums, self._all_constants, strict=True)
        sums = [value + own if own else value for value, own in pairs]
        return sums if self.divisor == 1 else [value / self.divisor for value in sums]

    def along(self, slopes: Sequence[arb]) -> list[arb]:
        """Slopes by free beliefs from those by all beliefs."""
        if not len(self.free):
            return []
        sums = (self._matrix.transpose() * arb_mat(len(slopes), 1, list(slopes))).entries()
        return list(sums) if self.divisor == 1 else [value / self.divisor for value in sums]

    def squared(self, weights: Sequence[arb]) -> arb_mat:
        """The products of coefficients by pairs of free beliefs, weighted and summed up."""
        entries = [
            weight * value if value and weight else 0
            for weight, row in zip(weights, self._all_rows, strict=True)
            for value in row
        ]
        product = self._matrix.transpose() * arb_mat(len(weights), len(self.free), entries)
        return product if self.divisor == 1 else product * (1 / arb(self.divisor) ** 2)


class Terms:
    """Sums of free beliefs in doubles, term by term.

    width, sums   F and q
    row, column   for each term, its sum and its free belief; constants have one of their own, F
    factor        (n) what the free belief is multiplied by
    starts        (q) the first term of each sum
    are_zero      (q) the sums without terms; one that is zero stands for them
    """

    def __init__(self, table: Floats) -> None:
        self.sums, self.width = table.shape[0], table.shape[1] - 1
        is_term = table != 0
        is_term[~is_term.any(axis=1), -1] = True
        self.row, self.column = np.nonzero(is_term)
        self.factor = table[self.row, self.column]
        self.starts = np.searchsorted(self.row, np.arange(self.sums))
        self.are_zero = self.factor[self.starts] == 0
        self._pairs_of_rows: dict[int, _PairSums] = {}

    def of_terms(self, free: NDArray[Any], constant: float) -> NDArray[Any]:
        """What belongs to the free belief (S, F) of each term (S, n), or to constants."""
        padded = np.empty((len(free), self.width + 1), dtype=free.dtype)
        padded[:, :-1], padded[:, -1] = free, constant
        return padded[:, self.column]

    def totals(self, weights: Floats, free: Floats) -> Floats:
        """The sums (S, q) of free numbers (S, F) times weights of terms (S, n)."""
        return np.add.reduceat(weights * self.of_terms(free, 0.0), self.starts, axis=1)

    def along(self, values: Floats) -> Floats:
        """What numbers of sums (S, q) make of free beliefs (S, F), each times its factor."""
        order, starts, places = self._by_column
        terms = values[:, self.row[order]] * self.factor[order]
        found = np.zeros((len(values), self.width))
        if len(starts):
            found[:, places] = np.add.reduceat(terms, starts, axis=1)
        return found

    def spread(self, values: Floats) -> Floats:
        """Values of terms (n) in their places (q, F)."""
        found = np.zeros((self.sums, self.width + 1))
        found[self.row, self.column] = values
        return found[:, :-1]

    def products(self, one: Floats, other: Floats, sums: int) -> Floats:
        """Sums (S, F, F) over pairs of terms of one of the first sums, by their free beliefs."""
        if sums not in self._pairs_of_rows:
            varies = np.flatnonzero((self.column < self.width) & (self.row < sums))
            left, right = _pairs(varies, self.row[varies])
            self._pairs_of_rows[sums] = _PairSums(left, right, self.column, self.width)
        return self._pairs_of_rows[sums].of(one, other)

    def products_of_sums(self, values: Floats) -> Floats:
        """Sums over pairs of terms of a free belief, by their sums (S, q, q).

        The second counts as often as its factor says.
        """
        return self._pairs_of_columns.of(values, self.factor[None])

    @cached_property
    def _by_column(self) -> tuple[Ints, Ints, Ints]:
        """Terms in the order of their free beliefs, where those of each start, and which it is."""
        order = np.argsort(self.column, kind="stable")
        order = order[: int((self.column < self.width).sum())]
        places, starts = np.unique(self.column[order], return_index=True)
        return order, starts, places

    @cached_property
    def _pairs_of_columns(self) -> _PairSums:
        order, _, _ = self._by_column
        left, right = _pairs(order, self.column[order])
        return _PairSums(left, right, self.row, self.sums)


class _PairSums:
    """Matrices of sums over pairs of terms, in the line of one and the column of the other."""

    def __init__(self, left: Ints, right: Ints, line: Ints, width: int) -> None:
        place = line[left] * width + line[right]
        order = np.argsort(place, kind="stable")
        self._left, self._right, self._width = left[order], right[order], width
        self._places, self._starts = np.unique(place[order], return_index=True)

    def of(self, one: Floats, other: Floats) -> Floats:
        """The sums (S, width, width) of products of numbers (S, n) of both terms."""
        found = np.zeros((len(one), self._width**2))
        if len(self._starts):
            values = one[:, self._left] * other[:, self._right]
            found[:, self._places] = np.add.reduceat(values, self._starts, axis=1)
        return found.reshape(len(one), self._width, self._width)


def _pairs(members: Ints, group: Ints) -> tuple[Ints, Ints]:
    """All pairs of members of the same group; those of a group are next to each other."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    of_each = np.repeat(sizes, sizes)
    left = np.repeat(np.arange(len(members)), of_each)
    return members[left], members[expand(np.repeat(starts, sizes), of_each)]


def exchanged(table: Any, divisor: int, row: int, column: int) -> tuple[Any, int]:
    """Rows of a frame once a free belief and one that follows from it have changed places."""
    pivot = int(table[row, column])
    if table.dtype != object and abs(table).max() >= LARGE:
        table = table.astype(object)
    own, by = table[row].copy(), table[:, column].copy()
    if abs(pivot) == divisor == 1:
        places = np.flatnonzero(by), np.flatnonzero(own)
        table[np.ix_(*places)] -= (pivot * by[places[0]])[:, None] * own[places[1]]
        table[:, column] = pivot * by
        table[row] = -pivot * own
        table[row, column] = pivot
        return table, divisor
    found = pivot * table - by[:, None] * own
    found[:, column] = by * divisor
    found[row] = -divisor * own
    found[row, column] = divisor * divisor
    # Where a table began as whole numbers alone, the divisor before divides all of it (Bareiss).
    common = divisor
    if (found % divisor).any():
        common = math.gcd(int(np.gcd.reduce(found, axis=None)), pivot * divisor)
    found //= common
    divisor = pivot * divisor // common
    return (-found, -divisor) if divisor < 0 else (found, divisor)


def _eliminated(face: Face) -> tuple[Ints, Ints, Any, int] | None:
    """The equations of a face reduced in the order of beliefs; nothing if none solve them."""
    width = len(face.outer)
    reduced, pivots, divisor = _reduced(face.equations)
    if width in pivots:
        return None
    bound = np.array(pivots, dtype=np.int64)
    is_free = np.ones(width, dtype=bool)
    is_free[bound] = False
    free = np.flatnonzero(is_free)
    of_bound = reduced[:, [*free, width]]
    of_bound[:, :-1] *= -1
    of_inner = face.to_inner[:, bound] @ of_bound
    of_inner[:, :-1] += face.to_inner[:, free] * divisor
    return free, bound, np.concatenate([of_bound, of_inner]), divisor


def _reduced(equations: Ints) -> tuple[Any, list[int], int]:
    """Equations in reduced echelon form, their pivots, and what all pivots are: a positive number.

    Most entries are zero and most pivots one, so that few entries change in each step.
    """
    rows: Any = equations.copy()
    pivots: list[int] = []
    for column in range(rows.shape[1]):
        rank = len(pivots)
        left = rank + np.flatnonzero(rows[rank:, column])
        if not len(left):
            continue
        best = int(left[np.abs(rows[left, column]).argmin()])
        rows[[rank, best]] = rows[[best, rank]]
        if rows[rank, column] < 0:
            rows[rank] *= -1
        own, pivot = rows[rank], rows[rank, column]
        others = np.flatnonzero(rows[:, column])
        others = others[others != rank]
        times = rows[others, column][:, None]
        if rows.dtype != object and max(np.abs(own).max(), np.abs(times).max(initial=0)) >= LARGE:
            rows = rows.astype(object)
            own, times = own.astype(object), times.astype(object)
        if pivot == 1:
            places = np.flatnonzero(own)
            rows[np.ix_(others, places)] -= times * own[places]
        else:
            changed = pivot * rows[others] - times * own
            common = np.gcd.reduce(changed, axis=1)
            rows[others] = changed // np.where(common == 0, 1, common)[:, None]
        pivots.append(column)
    rows = rows[: len(pivots)]
    values = [int(rows[k, column]) for k, column in enumerate(pivots)]
    divisor = math.lcm(*values)
    scale = np.array([divisor // value for value in values], dtype=rows.dtype)
    return rows * scale[:, None], pivots, divisor


class Face:
    """The consistent beliefs some of which are zero.

    outer      which outer beliefs of the polytope are not zero
    inner      which inner ones are not, then
    equations  coefficients by the beliefs of `outer`, and right sides as the last column
    to_inner   how often each of `outer` is in each of `inner`
    """

    def __init__(self, consistent: Polytope, outer: tuple[int, ...]) -> None:
        self.outer = outer
        chosen = list(outer)
        to_inner = consistent.to_inner[:, chosen]
        self.inner = np.flatnonzero(to_inner.any(axis=1)).tolist()
        self.to_inner = to_inner[self.inner].astype(np.int64)
        table = np.column_stack([consistent.matrix[:, chosen], consistent.right_side])
        self.equations = table[table.any(axis=1)].astype(np.int64)
        self._frames: dict[bytes, Frame] = {}

    @cached_property
    def _first(self) -> Frame | None:
        """The frame whose free beliefs come last."""
        parts = _eliminated(self)
        return None if parts is None else Frame(*parts)

    def frame(self, sizes: Floats, start: Frame | None = None) -> Frame | None:
        """A frame that suits outer beliefs of these sizes, in bits; none on an empty face.

        It is found from `start`.
        """
        start = start or self._first
        if start is None:
            return None
        parts = start.exchanged(sizes, 1)
        key = parts[0].tobytes()
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= MOST_FRAMES:
                self._frames.clear()
            found = self._frames[key] = Frame(*parts)
        return found


class Faces:
    """The faces of the consistent beliefs of a layout."""

    def __init__(self, consistent: Polytope) -> None:
        self.consistent = consistent
        self._known: dict[tuple[int, ...], Face] = {}

    @property
    def whole(self) -> Face:
        """The face on which no belief is zero."""
        return self.of(range(len(self.consistent.outer)))

    @cached_property
    def first(self) -> Frame | None:
        """A frame of the whole polytope, which suits beliefs of one size; none if it is empty."""
        return self.whole.frame(np.zeros(len(self.consistent.outer)))

    def of(self, outer: Sequence[int]) -> Face:
        """The face on which these outer beliefs are not zero."""
        key = tuple(outer)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_FRAMES:
                self._known.clear()
            found = self._known[key] = Face(self.consistent, key)
        return found


_kept: WeakKeyDictionary[Structure, Faces] = WeakKeyDictionary()
"""The faces of layouts; they live as long as these."""


def faces_of(layout: Layout) -> Faces:
    """The faces of the consistent beliefs of a layout."""
    found = _kept.get(layout.structure)
    if found is None:
        found = _kept[layout.structure] = Faces(polytope(layout))
    return found


def size_in_bits(log_belief: float) -> float:
    """The binary logarithm of a belief from its natural one."""
    return log_belief / math.log(2)
