"""Exact counts as functions of the class sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Integers
from liftgbp.errors import InternalError
from liftgbp.shatter.assignments import falling, falling_all
from liftgbp.signature import Obj


@dataclass(frozen=True, slots=True)
class Count:
    """How many ways there are to choose objects, up to the symmetries that make no difference.

    Each factor (class, fixed, chosen) stands for `chosen` different objects of a class of which
    `fixed` are taken already. A count that was found by counting has `times` alone.

    >>> pairs = Count(((0, 0, 2),), divisor=2)
    >>> pairs.at([10]), str(pairs)
    (45, 'N(N-1)/2')
    """

    factors: tuple[tuple[int, int, int], ...]
    divisor: int
    times: int = 1

    def at(self, class_sizes: Sequence[int]) -> int:
        """The count for these class sizes."""
        ways = self.times
        for cls, fixed, chosen in self.factors:
            ways *= falling(class_sizes[cls] - fixed, chosen)
        count, remainder = divmod(ways, self.divisor)
        if remainder:
            raise InternalError(f"{ways} substitutions are not a multiple of {self.divisor}")
        return count

    def at_all(self, class_sizes: Sequence[Integers]) -> Integers:
        """The counts for many sizes of each class at once."""
        ways = np.full(len(class_sizes[0]), self.times, dtype=object)
        for cls, fixed, chosen in self.factors:
            ways = ways * falling_all(class_sizes[cls] - fixed, chosen)
        if self.divisor == 1:
            return ways
        if (ways % self.divisor).any():
            raise InternalError(f"substitutions are not multiples of {self.divisor}")
        return ways // self.divisor

    def text(self, names: Sequence[str]) -> str:
        """The count as a formula in the sizes of the classes, which have these names."""
        parts = [
            names[cls] if fixed + i == 0 else f"({names[cls]}-{fixed + i})"
            for cls, fixed, chosen in self.factors
            for i in range(chosen)
        ]
        return ("".join(parts) or str(self.times)) + (
            f"/{self.divisor}" if self.divisor > 1 else ""
        )

    def __str__(self) -> str:
        classes = sorted({cls for cls, _, _ in self.factors})
        names = ["N"] if len(classes) <= 1 else [f"N{cls}" for cls in range(max(classes) + 1)]
        return self.text(names if len(classes) > 1 else names * (1 + max(classes, default=0)))


def choose(objects: Iterable[Obj], fixed: Iterable[Obj], divisor: int) -> Count:
    """The count of placements of `objects` while those in `fixed` stay where they are."""
    kept = set(fixed)
    free = [obj for obj in objects if obj not in kept]
    classes = sorted({cls for cls, _ in free})
    return Count(
        tuple(
            (cls, sum(1 for h, _ in kept if h == cls), sum(1 for h, _ in free if h == cls))
            for cls in classes
        ),
        divisor,
    )
