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
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat

from liftgbp.arrays import Floats, Ints
from liftgbp.plan import Layout, Structure
from liftgbp.solve.problem import Polytope, polytope

SLACK_BITS = 12
"""Beliefs are ordered by their size in steps of this many bits, and a frame serves while no free
belief exceeds one that follows from it by more steps than two: balls have bits enough for that."""

MOST_FRAMES = 64
"""How many frames of a face, and faces of a layout, are kept: a descent passes a handful."""

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

    free       the numbers of the F free beliefs
    rows       for each belief its F coefficients, whole numbers
    constants  for each belief what is added to that
    divisor    what both are divided by

    Where `is_consistent` is false, no beliefs solve the equations, and there is nothing else.
    """

    def __init__(self, face: Face, order: Sequence[int]) -> None:
        width = len(order)
        reduced, bound = _eliminated(face, order)
        self.is_consistent = width not in bound
        if not self.is_consistent:
            return
        self.divisor = reduced[0][bound[0]] if reduced else 1
        follows = set(bound)
        columns = [j for j in range(width) if j not in follows]
        self.free = [order[j] for j in columns]
        self.rows = [[0] * len(columns) for _ in order]
        self.constants = [0] * width
        for n, j in enumerate(columns):
            self.rows[order[j]][n] = self.divisor
        for row, j in zip(reduced, bound, strict=True):
            self.rows[order[j]] = [-row[k] for k in columns]
            self.constants[order[j]] = row[width]
        for terms in face.marginals:
            coefficients = [0] * len(columns)
            for j, times in terms:
                for n, value in enumerate(self.rows[j]):
                    coefficients[n] += times * value
            self.rows.append(coefficients)
            self.constants.append(sum(times * self.constants[j] for j, times in terms))
        self._outer = width

    @cached_property
    def transposed(self) -> arb_mat:
        """The coefficients, one row for each free belief."""
        return self._matrix.transpose()

    @cached_property
    def _matrix(self) -> arb_mat:
        return arb_mat(len(self.rows), len(self.free), [v for row in self.rows for v in row])

    @cached_property
    def _dependences(self) -> tuple[Ints, Ints]:
        """Pairs of an outer belief that follows, and a free one that it depends on."""
        coefficients = np.array(self.rows[: self._outer], dtype=object).reshape(
            self._outer, len(self.free)
        )
        coefficients[self.free] = 0
        which, by = np.nonzero(coefficients)
        return which, np.array(self.free, dtype=np.int64)[by]

    def suits(self, sizes: Floats) -> bool:
        """Whether nothing cancels where outer beliefs have these sizes, in bits."""
        which, by = self._dependences
        return not (sizes[by] > sizes[which] + 2 * SLACK_BITS).any()

    def beliefs(self, free: Sequence[arb]) -> list[arb]:
        """All beliefs from the free ones."""
        if not free:
            return [arb(value) / self.divisor for value in self.constants]
        sums = (self._matrix * arb_mat(len(free), 1, list(free))).entries()
        pairs = zip(sums, self.constants, strict=True)
        sums = [value + own if own else value for value, own in pairs]
        return sums if self.divisor == 1 else [value / self.divisor for value in sums]

    def along(self, slopes: Sequence[arb]) -> list[arb]:
        """Slopes by free beliefs from those by all beliefs."""
        if not self.free:
            return []
        sums = (self.transposed * arb_mat(len(slopes), 1, list(slopes))).entries()
        return list(sums) if self.divisor == 1 else [value / self.divisor for value in sums]

    def squared(self, weights: Sequence[arb]) -> arb_mat:
        """The products of coefficients by pairs of free beliefs, weighted and summed up."""
        entries = [
            weight * value if value else 0
            for weight, row in zip(weights, self.rows, strict=False)
            for value in row
        ]
        right = arb_mat(len(weights), len(self.free), entries)
        left = self.transposed if len(weights) == len(self.rows) else self._outer_transposed
        product = left * right
        return product if self.divisor == 1 else product * (1 / arb(self.divisor) ** 2)

    @cached_property
    def _outer_transposed(self) -> arb_mat:
        rows = self.rows[: self._outer]
        return arb_mat(len(rows), len(self.free), [v for row in rows for v in row]).transpose()


def _eliminated(face: Face, order: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """The equations of a face reduced in this order of beliefs, and the pivot of each."""
    table = [[row[j] for j in order] + [right] for row, right in face.equations]
    if not table:
        return [], []
    matrix, _, rank = fmpz_mat(table).rref()
    rows = [[int(value) for value in row] for row in matrix.tolist()[:rank]]
    return rows, [next(j for j, value in enumerate(row) if value) for row in rows]


class Face:
    """The consistent beliefs some of which are zero.

    outer      which outer beliefs of the polytope are not zero
    inner      which inner ones are not, then
    equations  coefficients by the beliefs of `outer`, and right sides
    marginals  for each inner belief, the places of outer ones in it, and how often
    """

    def __init__(self, consistent: Polytope, outer: tuple[int, ...]) -> None:
        self.outer = outer
        chosen = list(outer)
        to_inner = consistent.to_inner[:, chosen]
        self.inner = np.flatnonzero(to_inner.any(axis=1)).tolist()
        self.marginals = [
            [(int(j), int(to_inner[i, j])) for j in np.flatnonzero(to_inner[i])] for i in self.inner
        ]
        rows = consistent.matrix[:, chosen].astype(np.int64).tolist()
        rights = consistent.right_side.astype(np.int64).tolist()
        self.equations = [
            (row, right) for row, right in zip(rows, rights, strict=True) if any(row) or right
        ]
        self._frames: dict[tuple[int, ...], Frame] = {}

    def frame(self, sizes: Floats) -> Frame | None:
        """A frame that suits outer beliefs of these sizes, in bits; none on an empty face."""
        steps = np.floor(sizes / SLACK_BITS)
        order = tuple(np.argsort(-steps, kind="stable").tolist())
        found = self._frames.get(order)
        if found is None:
            if len(self._frames) >= MOST_FRAMES:
                self._frames.clear()
            found = self._frames[order] = Frame(self, order)
        return found if found.is_consistent else None


class Faces:
    """The faces of the consistent beliefs of a layout."""

    def __init__(self, consistent: Polytope) -> None:
        self.consistent = consistent
        self._known: dict[tuple[int, ...], Face] = {}

    @property
    def whole(self) -> Face:
        """The face on which no belief is zero."""
        return self.of(range(len(self.consistent.outer)))

    def most_free(self, outer: int) -> int:
        """How many free beliefs a face has at most, with this many outer beliefs."""
        return min(outer, self._free)

    @cached_property
    def _free(self) -> int:
        frame = self.whole.frame(np.zeros(len(self.consistent.outer)))
        return 0 if frame is None else len(frame.free)

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
