"""Sums over all ways to put objects of some types into blocks, side by side or in a row.

Let p(n) be the sum over all arrangements of n objects (a number for each type), divided by n!. The
last block takes b of them, and the others are arranged in any way:

    p(n) = sum over b of  a(b) exp(cross(n - b, b)) p(n - b)

where a(b) is what the objects of one block add, divided by b!. Of blocks without an order, the last
one is that of a certain object of the first type i, which is in it for b_i / n_i of all choices.
With weights of zero, n! p(n) are the numbers of Bell (E. T. Bell, *Exponential numbers*, 1934); in
a row, those of Fubini, or n! if no two objects are in one block. All terms are positive, so nothing
cancels.

Objects that a query is about are *placed*: their blocks come last, one by one, and n counts the
other objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import QueryError

Numbers: TypeAlias = tuple[int, ...]
"""How many objects there are of each type."""

STEP, TERM = 2000, 1
"""A step of the recursion and each of its terms take as long as this many states of a table."""

MOST_WORK = 2e9
"""The most work for the sums that a query needs: some forty seconds."""


class BlockSums:
    """The sums over arrangements of up to so many objects of each type.

    Types that share a group share its `sizes` of objects. `same` (T, T) is what two objects add in
    one block, and `before` (T, T) what they add if the block of the first one comes earlier.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        groups: Sequence[int],
        same: Floats,
        before: Floats,
        *,
        ordered: bool,
    ) -> None:
        self._sizes = np.array(sizes, dtype=np.int64)
        self._member = np.equal.outer(np.arange(len(sizes)), groups).astype(np.int64)
        self._most = tuple(sizes[group] for group in groups)
        self._same = same
        self._before = np.where(np.isneginf(before), 0.0, before)
        self._barred = [(int(i), int(j)) for i, j in np.argwhere(np.isneginf(before))]
        self._ordered = ordered
        self._blocks: dict[Numbers, Floats] = {}
        self._sums: dict[tuple[Numbers, ...], Floats] = {}
        self._left = MOST_WORK

    @property
    def work(self) -> int:
        """How long a sum takes, in states of a table."""
        types = self._member.sum(axis=1).tolist()
        pairs = list(zip(self._sizes.tolist(), types, strict=True))
        steps = math.prod(math.comb(size + own, own) for size, own in pairs)
        terms = math.prod(math.comb(size + 2 * own, 2 * own) for size, own in pairs)
        if np.isneginf(self._same.diagonal()).all():
            terms = min(terms, steps * 2 ** len(self._most))
        return STEP * steps + TERM * terms

    @property
    def entries(self) -> int:
        """How many entries a sum has."""
        return math.prod(most + 1 for most in self._most)

    def logs(self, numbers: Ints, placed: Sequence[Numbers] = ()) -> Floats:
        """The logarithm of p(n) for each row of numbers, beside placed objects in some blocks."""
        rows = [tuple(row) for row in numbers.tolist()]
        if self._ordered or len(placed) < 2:
            found = self._sum(tuple(placed))
            logs = [found[row] if min(row, default=0) >= 0 else -math.inf for row in rows]
        else:
            # The last block alone need not be known beside fewer objects.
            *others, last = placed
            found, earlier = self._sum(tuple(others)), self._total(others)
            logs = [
                self._step(found, row, earlier, last) if min(row) >= 0 else -math.inf
                for row in rows
            ]
        return np.array(logs)

    def _sum(self, placed: tuple[Numbers, ...]) -> Floats:
        """The logarithms of the sums beside placed objects."""
        if placed not in self._sums:
            self._left -= self.work
            if self._left < 0:
                raise QueryError("the objects of the query can be in too many blocks together")
            self._sums[placed] = self._summed(placed)
        return self._sums[placed]

    def _summed(self, placed: tuple[Numbers, ...]) -> Floats:
        found = np.full([most + 1 for most in self._most], -np.inf)
        nothing = (0,) * len(self._most)
        if not placed:
            found[nothing] = 0.0
            for n in self._numbers(nothing):
                if any(n):
                    found[n] = self._step(found, n, nothing, nothing)
            return found
        everything = self._total(placed)
        if sum(everything) == 1:
            # It is any of the objects of its type.
            alone = everything.index(1)
            plain = np.moveaxis(self._sum(()), alone, 0)
            shifted = np.moveaxis(found, alone, 0)
            factors = np.log(np.arange(1, len(plain)))
            shifted[:-1] = plain[1:] + factors.reshape(-1, *[1] * (plain.ndim - 1))
            return found
        others, earlier = self._sum(placed[:-1]), self._total(placed[:-1])
        for n in self._numbers(everything):
            found[n] = self._step(others, n, earlier, placed[-1])
            if self._ordered:
                found[n] = np.logaddexp(found[n], self._step(found, n, everything, nothing))
        return found

    def _numbers(self, placed: Numbers) -> Iterator[Numbers]:
        """All numbers of objects that there may be beside placed ones, none before smaller ones."""
        left = self._sizes - self._member @ np.array(placed, dtype=np.int64)
        for n in np.ndindex(*(most + 1 for most in self._most)):
            if (self._member @ np.array(n, dtype=np.int64) <= left).all():
                yield n

    def _total(self, placed: Sequence[Numbers]) -> Numbers:
        return tuple(sum(own[k] for own in placed) for k in range(len(self._most)))

    def _step(self, others: Floats, n: Numbers, earlier: Numbers, placed: Numbers) -> float:
        """The logarithm of the sum over the last block, which takes placed objects and b of n.

        `others` has the sums over all that comes before it, with objects that are placed earlier.
        """
        block = self._block(placed)
        ends = [min(own, most - 1) for own, most in zip(n, block.shape, strict=True)]
        rest = tuple(slice(own - end, own + 1) for own, end in zip(n, ends, strict=True))
        back = (slice(None, None, -1),) * len(n)
        logs = block[tuple(slice(end + 1) for end in ends)] + others[rest][back]
        outside = np.add(n, earlier)
        factors = outside @ self._before - self._before @ placed
        numbers = [
            np.arange(end + 1).reshape([-1 if k == axis else 1 for k in range(len(n))])
            for axis, end in enumerate(ends)
        ]
        for axis, own in enumerate(numbers):
            logs += factors[axis] * own
        for one, other in self._barred:
            # Objects of one type must not be outside if those of the other are in the block.
            logs[(numbers[other] + placed[other] > 0) & (outside[one] - numbers[one] > 0)] = -np.inf
        if not self._ordered and not any(placed):
            first = next(k for k, own in enumerate(n) if own)
            with np.errstate(divide="ignore"):
                logs += np.log(numbers[first] / n[first])
        top = logs.max()
        if top == -math.inf:
            return -math.inf
        return float(
            top + math.log(np.exp(logs - top).sum()) + outside @ self._before @ np.array(placed)
        )

    def _block(self, placed: Numbers) -> Floats:
        """What b objects add in a block with placed ones, for each b, without what is outside."""
        if placed not in self._blocks:
            alone = self._same.diagonal()
            ends = [
                max(0, 1 - placed[k]) if np.isneginf(alone[k]) else most
                for k, most in enumerate(self._most)
            ]
            numbers = np.indices([end + 1 for end in ends])
            inside = numbers + np.reshape(placed, [-1, *[1] * len(ends)])
            same = np.where(np.isneginf(self._same), 0.0, self._same)
            logs = np.einsum("i...,ij,j...->...", inside, same, inside) / 2
            logs -= np.einsum("i...,i->...", inside, same.diagonal()) / 2
            logs -= np.einsum("i...,ij,j...->...", numbers, self._before, numbers)
            for k, end in enumerate(ends):
                factorials = [math.lgamma(own + 1) for own in range(end + 1)]
                logs -= np.reshape(factorials, [-1 if k == axis else 1 for axis in range(len(ends))])
            for one, other in np.argwhere(np.isneginf(self._same)).tolist():
                both = inside[one] > 1 if one == other else (inside[one] > 0) & (inside[other] > 0)
                logs[both] = -np.inf
            if not any(placed):
                logs[(0,) * len(ends)] = -np.inf
            self._blocks[placed] = logs
        return self._blocks[placed]
