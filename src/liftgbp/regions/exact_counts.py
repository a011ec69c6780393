"""The exact counts of a lifted region graph: at its sizes, or at many sizes at once as arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, cast

from liftgbp.errors import InternalError
from liftgbp.regions.counts import Count, divided
from liftgbp.shatter.assignments import Size
from liftgbp.signature import Atom

if TYPE_CHECKING:
    from liftgbp.regions.lifted_graph import LiftedRegionGraph


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
