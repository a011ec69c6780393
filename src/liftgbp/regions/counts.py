"""Exact counts as functions of the class sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from liftgbp.errors import InternalError
from liftgbp.shatter.assignments import Size, falling
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

    def at(self, class_sizes: Sequence[Size]) -> Size:
        """The count for these class sizes; arrays of integers are many sizes of each class."""
        ways: Any = self.times
        for cls, fixed, chosen in self.factors:
            ways = ways * falling(class_sizes[cls] - fixed, chosen)
        return cast(Size, ways if self.divisor == 1 else divided(ways, self.divisor))

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


def divided(ways: Any, divisor: Any) -> Any:
    """The quotient of integers, or of arrays of them, that leaves no remainder."""
    remainder = ways % divisor
    if remainder if isinstance(remainder, int) else remainder.any():
        raise InternalError(f"{ways} substitutions are not a multiple of {divisor}")
    return ways // divisor
