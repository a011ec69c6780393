"""The counts to sum over: how the objects of each class spread over its parts, and lattices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import lru_cache
from itertools import chain, combinations, pairwise, product
from typing import TypeAlias

import numpy as np
from flint import arb

from liftgbp.lift.shatter import Split
from liftgbp.solve.frames import precision

Counts: TypeAlias = tuple[int, ...]
"""How many objects are in each cell, the cells of all classes in a row."""

DIGITS = 60
"""Decimal digits of exponents, which are large in large domains: 1e9 objects with pairs have
exponents of 1e18, and their differences need some twenty digits behind the point."""

_PRECISE = Context(prec=DIGITS)

BITS = 256
"""Bits of the logs of factorials, which have as many digits and some to spare."""


@dataclass(frozen=True, slots=True)
class SplitClass:
    """A class of `size` objects that are spread over `cells`."""

    size: int
    cells: int

    def compositions(self, size: int) -> Iterator[Counts]:
        """All ways to spread this many objects over the cells."""
        for bars in combinations(range(size + self.cells - 1), self.cells - 1):
            ends = (-1, *bars, size + self.cells - 1)
            yield tuple(b - a - 1 for a, b in pairwise(ends))

    def number(self, size: int) -> int:
        """How many ways there are."""
        return math.comb(size + self.cells - 1, self.cells - 1)


@dataclass(frozen=True, slots=True)
class Space:
    """All ways to spread the objects of some classes."""

    classes: tuple[SplitClass, ...]

    @classmethod
    def of(cls, splits: Iterable[Split]) -> Space:
        """The ways to spread objects over the cells of split classes."""
        return cls(tuple(SplitClass(own.size, len(own.cells)) for own in splits))

    @property
    def number(self) -> int:
        """How many points there are."""
        return math.prod(own.number(own.size) for own in self.classes)

    @property
    def dimensions(self) -> int:
        """How many counts are free."""
        return sum(own.cells - 1 for own in self.classes)

    @property
    def slices(self) -> Iterator[tuple[int, int]]:
        """For each class, where its cells start and stop."""
        start = 0
        for own in self.classes:
            yield start, start + own.cells
            start += own.cells

    def all(self) -> Iterator[Counts]:
        """Every point."""
        for parts in product(*(own.compositions(own.size) for own in self.classes)):
            yield parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))

    @property
    def middle(self) -> Counts:
        """Objects spread as evenly as possible."""
        return tuple(
            count
            for own in self.classes
            for count in _scaled((1,) * own.cells, own.cells, own.size)
        )

    def grid(self, most: int) -> list[Counts]:
        """Points all over the space, vertices included, about `most` if there are that many.

        A line has points near its ends, too, where counts of a few objects may matter.
        """
        units = 1
        while self._grid_size(units * 2) <= most and units < max(b.size for b in self.classes):
            units *= 2
        choices = [
            [
                _scaled(part, min(units, b.size), b.size)
                for part in b.compositions(min(units, b.size))
            ]
            for b in self.classes
        ]
        points = [
            tuple(count for part in parts for count in part)
            for parts, _ in zip(product(*choices), range(2 * most), strict=False)
        ]
        if len(self.classes) == 1 and self.classes[0].cells == 2:
            size = self.classes[0].size
            near = [2**k for k in range(size.bit_length()) if 2**k < size // units]
            points += [(k, size - k) for k in near] + [(size - k, k) for k in near]
        return sorted(set(points))

    def lattice(self, anchor: Counts) -> Lattice:
        """All points, by how they differ from one; in each class, the largest cell makes room."""
        cells, reference = list[int](), list[int]()
        for start, stop in self.slices:
            largest = max(range(start, stop), key=anchor.__getitem__)
            others = [cell for cell in range(start, stop) if cell != largest]
            cells += others
            reference += [largest] * len(others)
        return Lattice(anchor, tuple(cells), tuple(reference), (1,) * len(cells))

    def _grid_size(self, units: int) -> int:
        return math.prod(b.number(min(units, b.size)) for b in self.classes)

    def log_ways(self, counts: Counts) -> Decimal:
        """The log of the number of ways to choose this many objects for each cell."""
        result = Decimal(0)
        for own in self.classes:
            result = _PRECISE.add(result, log_factorial(own.size))
        for count in counts:
            result = _PRECISE.subtract(result, log_factorial(count))
        return result


@dataclass(frozen=True, slots=True)
class Lattice:
    """Points `anchor + steps * index`; what one cell gets, the largest of its class loses."""

    anchor: Counts
    cells: tuple[int, ...]
    reference: tuple[int, ...]
    steps: tuple[int, ...]

    def point(self, index: Sequence[int]) -> Counts | None:
        """The point at an index, or none if that is outside of the space."""
        counts = list(self.anchor)
        for cell, reference, step, at in zip(
            self.cells, self.reference, self.steps, index, strict=True
        ):
            counts[cell] += step * at
            counts[reference] -= step * at
        return None if min(counts) < 0 else tuple(counts)

    def nearest(self, counts: Counts) -> tuple[int, ...]:
        """The index of the point that is nearest to some counts."""
        return tuple(
            round((counts[cell] - self.anchor[cell]) / step)
            for cell, step in zip(self.cells, self.steps, strict=True)
        )

    @property
    def volume(self) -> int:
        """How many points of the space each point stands for."""
        return math.prod(self.steps)

    def shifted(self) -> Lattice | None:
        """The lattice half a step away, unless that is outside of the space."""
        halves = replace(self, steps=tuple(step // 2 for step in self.steps))
        anchor = halves.point((1,) * len(self.steps))
        return None if anchor is None else replace(self, anchor=anchor)


@dataclass(frozen=True, slots=True)
class Filled:
    """The points that matter around some maxima, each with how many it stands for."""

    lattice: Lattice
    maxima: tuple[Counts, ...]
    volumes: dict[Counts, float]

    def overlaps(self, other: Filled) -> bool:
        """Whether the boxes around the points of both have points in common."""
        mine, others = (np.array(list(filled.volumes)) for filled in (self, other))
        return bool(
            (mine.min(axis=0) <= others.max(axis=0)).all()
            and (others.min(axis=0) <= mine.max(axis=0)).all()
        )


def _scaled(part: Counts, units: int, size: int) -> Counts:
    """A composition of some units as one of `size`; what rounding leaves goes to the largest."""
    counts = [size * own // units for own in part]
    counts[counts.index(max(counts))] += size - sum(counts)
    return tuple(counts)


@lru_cache(maxsize=100_000)
def log_factorial(n: int) -> Decimal:
    """The log of n!.

    >>> round(log_factorial(5).exp(), 20), round(float(log_factorial(10**6)), 6)
    (Decimal('120.00000000000000000000'), 12815518.384658)
    """
    with precision(BITS):
        return Decimal(arb(n + 1).lgamma().str(DIGITS, radius=False))
