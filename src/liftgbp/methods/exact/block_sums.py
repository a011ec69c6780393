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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from liftgbp.methods.exact.cells import log_factorials
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import QueryError
from liftgbp.support.limits import checkpoint

Numbers: TypeAlias = tuple[int, ...]
"""How many objects there are of each type."""

STEP, TERM = 1000, 2.5
"""A step of the recursion takes as long as so many states of a table; a state as so many terms."""

MOST_WORK = 2e9
"""The most work for the sums that queries need: some forty seconds."""


class BlockSums:
    """The sums over arrangements of up to so many objects of each type.

    Types that share a group share its `sizes` of objects. `same` (T, T) is what two objects add in
    one block, and `before` (T, T) what they add if the block of the first one comes earlier.
    `together` says what else some numbers of objects add in one block.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        groups: Sequence[int],
        same: Floats,
        before: Floats,
        together: Callable[[Ints], Floats],
        *,
        ordered: bool,
    ) -> None:
        self._sizes = np.array(sizes, dtype=np.int64)
        self._member = np.equal.outer(np.arange(len(sizes)), groups).astype(np.int64)
        self._shape = tuple(sizes[group] + 1 for group in groups)
        self._nothing = (0,) * len(groups)
        self._same = same
        self._before = np.where(np.isneginf(before), 0.0, before)
        self._barred = [(int(i), int(j)) for i, j in np.argwhere(np.isneginf(before))]
        self._together = together
        self._ordered = ordered
        self._counting = np.arange(max(self._shape, default=1))
        self._blocks: dict[Numbers, Floats] = {}
        self._sums: dict[tuple[tuple[Numbers, ...], bool], Floats] = {}
        self._rows: dict[tuple[tuple[Numbers, ...], bytes], Floats] = {}
        self._left = MOST_WORK

    @property
    def least_work(self) -> int:
        """How long a sum takes at least, in states of a table."""
        return max(STEP * self._ways(1), math.prod(self._shape))

    @property
    def work(self) -> int:
        """How long a sum takes, in states of a table."""
        steps = self._ways(1)
        terms = min(self._ways(2), steps * self._block(self._nothing).size)
        return STEP * steps + int(terms / TERM)

    def _ways(self, parts: int) -> int:
        """The ways to choose some parts of all objects, none of which is in two of them."""
        types = self._member.sum(axis=1).tolist()
        return math.prod(
            math.comb(size + parts * own, parts * own)
            for size, own in zip(self._sizes.tolist(), types, strict=True)
        )

    def logs(self, numbers: Ints, placed: Sequence[Numbers] = ()) -> Floats:
        """The logarithm of p(n) for each row of numbers, beside placed objects in some blocks."""
        key = tuple(placed), numbers.tobytes()
        if key not in self._rows:
            value = self._value(key[0])
            rows = (tuple(row) for row in numbers.tolist())
            self._rows[key] = np.array(
                [value(row) if min(row, default=0) >= 0 else -math.inf for row in rows]
            )
        return self._rows[key]

    def _value(self, placed: tuple[Numbers, ...]) -> Callable[[Numbers], float]:
        """The logarithm of p(n) beside placed objects, for any n."""
        if not placed:
            return lambda n: float(self._plain[n])
        total = _total(placed)
        if sum(total) == 1:
            # It may be any of the objects of its type.
            alone = total.index(1)
            return lambda n: float(self._plain[_total((n, total))]) + math.log(n[alone] + 1)
        if not self._ordered:
            return self._ending(placed)
        ended = self._everywhere(placed, ended=True)
        # What comes after the last placed objects is arranged by itself.
        return lambda n: self._step(ended, n, total, self._behind, self._nothing)

    def _ending(self, placed: tuple[Numbers, ...]) -> Callable[[Numbers], float]:
        """The same if the last block is that of the objects that are placed last."""
        *others, last = placed
        earlier = _total(others) if others else self._nothing
        before, block = self._everywhere(tuple(others)), self._block(last)
        return lambda n: self._step(before, n, earlier, block, last)

    def _everywhere(self, placed: tuple[Numbers, ...], *, ended: bool = False) -> Floats:
        """The logarithm of p(n) beside placed objects, for all n."""
        if not placed:
            return self._plain
        if (placed, ended) not in self._sums:
            self._left -= self.work
            if self._left < 0:
                raise QueryError("the objects of the query can be in too many blocks together")
            if ended and self._block(placed[-1]).size == 1:
                found = self._alone_at_the_end(placed)
            else:
                value = self._ending(placed) if ended else self._value(placed)
                found = np.full(self._shape, -np.inf)
                for n in self._numbers(_total(placed)):
                    found[n] = value(n)
            self._sums[placed, ended] = found
        return self._sums[placed, ended]

    def _alone_at_the_end(self, placed: tuple[Numbers, ...]) -> Floats:
        """The logarithm of p(n), for all n, if the last block is that of placed objects alone."""
        *others, last = placed
        earlier = _total(others) if others else self._nothing
        outside = np.indices(self._shape) + np.reshape(earlier, [-1, *[1] * len(self._shape)])
        logs: Floats = self._everywhere(tuple(others)) + self._block(last).item()
        logs += np.einsum("i...,i->...", outside, self._before @ last)
        for one, other in self._barred:
            if last[other]:
                logs[outside[one] > 0] = -np.inf
        return logs

    @cached_property
    def _plain(self) -> Floats:
        """The logarithm of p(n), for all n."""
        found = np.full(self._shape, -np.inf)
        found[self._nothing] = 0.0
        block = self._block(self._nothing)
        for n in self._numbers(self._nothing):
            if any(n):
                found[n] = self._step(found, n, self._nothing, block, self._nothing)
        return found

    @cached_property
    def _behind(self) -> Floats:
        """What b objects add that are arranged behind others, for each b."""
        return self._plain - self._between(np.indices(self._shape))

    def _between(self, numbers: Ints) -> Floats:
        between: Floats = np.einsum("i...,ij,j...->...", numbers, self._before, numbers)
        return between

    def _numbers(self, placed: Numbers) -> Iterator[Numbers]:
        """All numbers of objects that there may be beside placed ones, none before smaller ones."""
        left = self._sizes - self._member @ placed
        every = np.indices(self._shape).reshape(len(self._shape), -1)
        possible = (self._member @ every <= left[:, None]).all(axis=0)
        for n in every[:, possible].T.tolist():
            checkpoint()
            yield tuple(n)

    def beside(self, n: Numbers, placed: Numbers) -> Floats:
        """The logarithms of the parts of p(n) beside one placed object, for each b.

        b counts the others in its block or, if there is an order, all those that come later.
        """
        if not self._ordered:
            return self._terms(self._plain, n, self._nothing, self._block(placed), placed)
        ended = self._everywhere((placed,), ended=True)
        return self._terms(ended, n, placed, self._behind, self._nothing)

    def _step(
        self, others: Floats, n: Numbers, earlier: Numbers, block: Floats, placed: Numbers
    ) -> float:
        """The logarithm of the sum over the last block."""
        logs = self._terms(others, n, earlier, block, placed)
        top = float(logs.max())
        return top if top == -math.inf else top + math.log(np.exp(logs - top).sum())

    def _terms(
        self, others: Floats, n: Numbers, earlier: Numbers, block: Floats, placed: Numbers
    ) -> Floats:
        """The logarithms of what the last block adds that takes placed objects and b of n.

        `others` has the sums over what comes before it, with the objects that are placed earlier.
        """
        ends = [min(own, most - 1) for own, most in zip(n, block.shape, strict=True)]
        back = (slice(None, None, -1),) * len(n)
        rest = tuple(slice(own - end, own + 1) for own, end in zip(n, ends, strict=True))
        logs = block[tuple(slice(end + 1) for end in ends)] + others[rest][back]
        numbers = [_along(self._counting[: end + 1], k, len(n)) for k, end in enumerate(ends)]
        outside = np.add(n, earlier)
        beside = outside @ self._before
        for own, factor in zip(numbers, beside - self._before @ placed, strict=True):
            if factor:
                logs += factor * own
        for one, other in self._barred:
            # Objects of one type must not be outside if those of the other are in the block.
            in_block, left = numbers[other] + placed[other] > 0, outside[one] > numbers[one]
            logs = np.where(in_block & left, -np.inf, logs)
        if not self._ordered and not any(placed):
            # A certain object of the first type is in the last block.
            first = next(k for k, own in enumerate(n) if own)
            with np.errstate(divide="ignore"):
                logs += np.log(numbers[first] / n[first])
        return np.asarray(logs + float(beside @ placed))

    def _block(self, placed: Numbers) -> Floats:
        """What b objects add in a block with placed ones, for each b, without what is outside."""
        if placed not in self._blocks:
            impossible = np.isneginf(self._same)
            shape = [
                1 if impossible[k] @ placed else 2 if impossible[k, k] else most
                for k, most in enumerate(self._shape)
            ]
            numbers = np.indices(shape)
            inside = numbers + np.reshape(placed, [-1, *[1] * len(shape)])
            same = np.where(impossible, 0.0, self._same)
            logs = np.einsum("i...,ij,j...->...", inside, same, inside) / 2
            logs -= np.einsum("i...,i->...", inside, same.diagonal()) / 2
            logs -= self._between(numbers) + log_factorials(numbers).sum(axis=0)
            for one, other in np.argwhere(impossible).tolist():
                both = inside[one] > 1 if one == other else (inside[one] > 0) & (inside[other] > 0)
                logs[both] = -np.inf
            logs += self._together(inside)
            if not any(placed):
                logs[self._nothing] = -np.inf
            possible = np.argwhere(logs > -np.inf)
            ends = possible.max(axis=0, initial=0)
            self._blocks[placed] = logs[tuple(slice(end + 1) for end in ends.tolist())]
        return self._blocks[placed]


def _total(placed: Sequence[Numbers]) -> Numbers:
    """The numbers of all placed objects.

    >>> _total([(1, 0), (0, 2)])
    (1, 2)
    """
    return tuple(map(sum, zip(*placed, strict=True)))


def _along(numbers: Ints, axis: int, axes: int) -> Ints:
    """Numbers along one axis of several."""
    return numbers.reshape([-1 if k == axis else 1 for k in range(axes)])
