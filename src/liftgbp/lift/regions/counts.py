"""Exact counts as functions of the class sizes, of single regions and of whole graphs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, cast

from liftgbp.lift.shatter.assignments import Size, falling
from liftgbp.lift.signature import Atom, Obj
from liftgbp.support.errors import InternalError

if TYPE_CHECKING:
    from liftgbp.lift.regions.lifted_graph import LiftedRegionGraph


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


class ExactCounts(Generic[Size]):
    """The counts of a graph for these sizes of its classes; it checks itself.

    Counts are integers of Python or, if the size of each class is an array of them (at all of
    which the graph is stable), arrays as long as those; `one` is the number or the array of ones.
    """

    def __init__(self, graph: LiftedRegionGraph, sizes: Sequence[Size], one: Size) -> None:
        self._graph = graph
        self._sizes: Sequence[Size] = sizes
        self._one: Size = one
        self._check_atoms_count_once()
        self._check_factors_count_once()

    def _at(self, count: Count) -> Size:
        total: Any = self._one * count.at(self._sizes)
        return cast(Size, total)

    @cached_property
    def n(self) -> tuple[Size, ...]:
        """How many ground regions each canonical region stands for."""
        return tuple(self._at(region.count) for region in self._graph.regions)

    @cached_property
    def kappa(self) -> tuple[Size, ...]:
        """How many ground parents a child has through each edge."""
        return tuple(self._at(edge.count) for edge in self._graph.edges)

    @cached_property
    def counting_numbers(self) -> tuple[Size, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        numbers = [self._one] * len(self._graph.regions)
        # From large to small, so that a number is final before it is used.
        for larger, inside in enumerate(self._graph.inside):
            for smaller, copies in inside.items():
                around = divided(self.n[larger] * copies, self.n[smaller])
                numbers[smaller] = numbers[smaller] - numbers[larger] * around
        return tuple(numbers)

    @cached_property
    def weights(self) -> tuple[Size, ...]:
        """How often each region counts in the free energy: n times its counting number."""
        return tuple(n * c for n, c in zip(self.n, self.counting_numbers, strict=True))

    @cached_property
    def atom_counts(self) -> dict[Atom, Size]:
        """For each canonical atom that lies in a region, how many ground atoms it stands for."""
        return {atom: self._at(count) for atom, count in self._graph.atom_formulas.items()}

    @cached_property
    def free_atoms(self) -> dict[int, Size]:
        """How many unobserved ground atoms lie in no region, by their number of values."""
        normal = self._graph.normal
        left = [
            self._one * math.prod(normal.sizes[sort] for sort in predicate.sorts)
            for predicate in normal.predicates
        ]
        for predicate, number in normal.observations.counts.items():
            left[predicate] = left[predicate] - number
        for (predicate, _), count in self.atom_counts.items():
            left[predicate] = left[predicate] - count
        free: dict[int, Size] = {}
        for number, values in zip(left, normal.ranges, strict=True):
            free[values] = free[values] + number if values in free else number
        return free

    @property
    def order_counts(self) -> tuple[Size, ...]:
        """How many ground atoms each step of the order of all ground atoms has."""
        return tuple(self._one * step.count(self._sizes) for step in self._graph.atom_order)

    @property
    def alike_counts(self) -> tuple[Size, ...]:
        """How many atoms of each kind can be exchanged for one another."""
        return tuple(self._at(alike.count) for alike in self._graph.alike_kinds)

    @property
    def factor_counts(self) -> tuple[Size, ...]:
        """For each parfactor how many ground factors it stands for."""
        return tuple(map(self._at, self._graph.factor_formulas))

    def _check_atoms_count_once(self) -> None:
        counted = dict.fromkeys(self.atom_counts, 0 * self._one)
        for kinds, weight in zip(self._graph.kinds, self.weights, strict=True):
            for atom, copies in kinds.items():
                counted[atom] = counted[atom] + copies * weight
        for atom, count in self.atom_counts.items():
            if _differ(counted[atom], count):
                raise InternalError("an atom is not counted exactly once")

    def _check_factors_count_once(self) -> None:
        counted: Counter[int] = Counter()
        for region, weight in zip(self._graph.regions, self.weights, strict=True):
            for held in region.held:
                counted[held.parfactor] = counted[held.parfactor] + weight
        for number, count in enumerate(self.factor_counts):
            if _differ(counted[number], count):
                raise InternalError("a factor is not counted exactly once")


def _differ(one: object, other: object) -> bool:
    same: Any = one == other
    return not (same if isinstance(same, bool) else same.all())
