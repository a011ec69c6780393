"""One region graph over many domain sizes at once: its exact counts as arrays of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from liftgbp.arrays import Integers
from liftgbp.errors import InternalError
from liftgbp.regions.lifted_graph import LiftedRegionGraph
from liftgbp.signature import Atom


@dataclass(frozen=True, eq=False)
class GraphSeries:
    """A graph at many sizes that it is stable at; `sizes` has an array for each class.

    Every count is an array as long as those of the sizes.
    """

    graph: LiftedRegionGraph
    sizes: Sequence[Integers]

    def __post_init__(self) -> None:
        self._check_atoms_count_once()
        self._check_factors_count_once()

    def __len__(self) -> int:
        return len(self.sizes[0])

    @cached_property
    def n(self) -> tuple[Integers, ...]:
        """How many ground regions each canonical region stands for."""
        return tuple(region.count.at_all(self.sizes) for region in self.graph.regions)

    @cached_property
    def kappa(self) -> tuple[Integers, ...]:
        """How many ground parents a child has through each edge."""
        return tuple(edge.count.at_all(self.sizes) for edge in self.graph.edges)

    @cached_property
    def counting_numbers(self) -> tuple[Integers, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        numbers = [np.ones_like(n) for n in self.n]
        for larger, inside in enumerate(self.graph.inside):
            for smaller, copies in inside.items():
                contained = self.n[larger] * copies
                if (contained % self.n[smaller]).any():
                    raise InternalError(
                        "copies of a region lie in different numbers of larger ones"
                    )
                around = contained // self.n[smaller]
                numbers[smaller] = numbers[smaller] - numbers[larger] * around
        return tuple(numbers)

    @cached_property
    def weights(self) -> tuple[Integers, ...]:
        """Per region n times c: how often it counts in the free energy."""
        return tuple(n * c for n, c in zip(self.n, self.counting_numbers, strict=True))

    @cached_property
    def atom_counts(self) -> dict[Atom, Integers]:
        """For each canonical atom that lies in a region, how many ground atoms it stands for."""
        formulas = self.graph.atom_formulas
        return {atom: count.at_all(self.sizes) for atom, count in formulas.items()}

    @cached_property
    def free_atoms(self) -> dict[int, Integers]:
        """How many unobserved ground atoms lie in no region, by their number of values."""
        normal = self.graph.normal
        left = [
            np.full(len(self), math.prod(normal.sizes[sort] for sort in p.sorts), dtype=object)
            for p in normal.predicates
        ]
        for predicate, number in normal.observations.counts.items():
            left[predicate] = left[predicate] - number
        for (predicate, _), count in self.atom_counts.items():
            left[predicate] = left[predicate] - count
        free: dict[int, Integers] = {}
        for own, values in zip(left, normal.ranges, strict=True):
            free[values] = free[values] + own if values in free else own
        return free

    @property
    def order_counts(self) -> tuple[Integers, ...]:
        """How many ground atoms each step of the order of all ground atoms has."""
        return tuple(step.count_all(self.sizes) for step in self.graph.atom_order)

    @property
    def alike_counts(self) -> tuple[Integers, ...]:
        """How many atoms of each kind can be exchanged for one another."""
        return tuple(own.count.at_all(self.sizes) for own in self.graph.alike_kinds)

    def _check_atoms_count_once(self) -> None:
        for atom, count in self.atom_counts.items():
            counted = sum(
                kinds[atom] * weight
                for kinds, weight in zip(self.graph.kinds, self.weights, strict=True)
            )
            if not np.array_equal(counted, count):
                raise InternalError("an atom is not counted exactly once")

    def _check_factors_count_once(self) -> None:
        counted: dict[int, Integers] = {}
        for region, weight in zip(self.graph.regions, self.weights, strict=True):
            for held in region.held:
                known = counted.get(held.parfactor)
                counted[held.parfactor] = weight if known is None else known + weight
        for number, count in enumerate(self.graph.factor_formulas):
            if not np.array_equal(counted.get(number, 0), count.at_all(self.sizes)):
                raise InternalError("a factor is not counted exactly once")
