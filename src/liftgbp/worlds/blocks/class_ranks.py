"""Which member of its class an object is, in classes of any size."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise

from liftgbp.lift.shatter.normal import ClassIndex


class ClassRanks:
    """The members of a class in the order of `ClassIndex.members`, without listing them.

    >>> index = ClassIndex({1: 7}, ((2, 5, 8),), 9)
    >>> ranks = ClassRanks(index, 9, 10**18)
    >>> ranks.of(10**18 - 1), ranks.member(0), ranks.member(1)
    (999999999999999995, 0, 5)
    """

    def __init__(self, index: ClassIndex, cls: int, size: int) -> None:
        """The members of a class, in a sort of this size."""
        ends = {0, size}
        for start, stop, _ in index.blocks:
            ends |= {min(start, size), min(stop, size)}
        for number in index.listed:
            ends |= {min(number, size), min(number + 1, size)}
        runs = [(a, b) for a, b in pairwise(sorted(ends)) if index.of(a) == cls]
        self._starts = [start for start, _ in runs]
        self._before = [0, *accumulate(stop - start for start, stop in runs)]

    def of(self, number: int) -> int:
        """The rank of a member, by its number inside the sort."""
        run = bisect_right(self._starts, number) - 1
        return self._before[run] + number - self._starts[run]

    def member(self, rank: int) -> int:
        """The number inside the sort of the member of a rank."""
        run = bisect_right(self._before, rank) - 1
        return self._starts[run] + rank - self._before[run]
