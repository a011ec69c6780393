"""The region graph of kinds of ground regions, with the way back to the ground."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np

from liftgbp.ground.compress.alignment import Alignment, ground_pairs, order_of_variables
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.lift.regions.atom_bounds import Choice
from liftgbp.lift.regions.counts import Count
from liftgbp.lift.regions.graph_arrays import GraphArrays
from liftgbp.lift.regions.ground_pairs import GroundPairs
from liftgbp.lift.regions.region_graph import Edge, HeldFactor, Member, Message, Region, RegionGraph
from liftgbp.support.arrays import Floats, Ints, Ragged, distinct, starts_of
from liftgbp.support.errors import ContradictionError, InternalError

Item = TypeVar("Item")


class LazySequence(Sequence[Item]):
    """A sequence whose items are made when one is asked for; its length is known before."""

    def __init__(self, length: int, make: Callable[[], Sequence[Item]]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _items(self) -> Sequence[Item]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        return self._items[place]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)


@dataclass(frozen=True, repr=False)
class QuotientGraph(RegionGraph):
    """A ground region graph with one region for all that behave alike.

    Region k stands for the ground regions of kind k in `alignment`; its cluster names the variables
    of one of them. There may be very many, so a plan is compiled from `in_arrays`.
    """

    network: GroundNetwork
    alignment: Alignment
    in_arrays: GraphArrays
    parents: Ints

    @property
    def arrays(self) -> GraphArrays:
        """The graph in arrays."""
        return self.in_arrays

    # --- exact integers

    @cached_property
    def n(self) -> tuple[int, ...]:
        """How many ground regions each region stands for."""
        return tuple(self._counts.tolist())

    @cached_property
    def _counts(self) -> Ints:
        return np.bincount(self.alignment.kind, minlength=len(self.regions))

    @cached_property
    def kappa(self) -> tuple[int, ...]:
        """How many ground parents a child has through each edge."""
        return tuple(self.parents.tolist())

    @property
    def kappa_array(self) -> Ints:
        """The same as an array."""
        return self.parents

    @property
    def weights(self) -> tuple[int, ...]:
        """How often each region counts in the free energy."""
        return tuple((self._counts * self._counting_numbers).tolist())

    @cached_property
    def counting_numbers(self) -> tuple[int, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        return tuple(self._counting_numbers.tolist())

    @cached_property
    def _counting_numbers(self) -> Ints:
        around = np.zeros(len(self.regions), dtype=np.int64)
        numbers = np.ones(len(self.regions), dtype=np.int64)
        owner, region = self.arrays.member_owner, self.arrays.member_region
        sizes = self.alignment.regions.sizes[self.alignment.example]
        # From large to small, so that a number is final before it is used.
        for size in distinct(sizes)[::-1]:
            own = sizes == size
            if (around[own] % self._counts[own]).any():
                raise InternalError("regions of one kind lie in different numbers of larger ones")
            numbers[own] -= around[own] // self._counts[own]
            pairs = np.flatnonzero(own[owner])
            weight = (numbers * self._counts)[owner[pairs]]
            np.add.at(around, region[pairs], weight)
        return numbers

    @property
    def ground_regions(self) -> int:
        """The number of regions of the ground region graph."""
        return len(self.alignment.regions)

    @cached_property
    def edges_into(self) -> tuple[tuple[int, ...], ...]:
        """The edges that end in each region."""
        edges, starts = self.arrays.edges_by_child
        return tuple(tuple(edges[a:b].tolist()) for a, b in pairwise(starts.tolist()))

    @cached_property
    def numbers_of_atoms(self) -> tuple[int, ...]:
        """For each kind of atom, how many variables are of that kind."""
        kinds = self.alignment.atom_kind
        return tuple(np.bincount(kinds[kinds >= 0]).tolist())

    @cached_property
    def atom_of_axis(self) -> Ragged:
        """Per region, which kind of atom each of its axes is."""
        kinds, examples = self.alignment.atom_kind, self.alignment.examples_in_frame
        flat = np.concatenate([np.zeros(0, np.int64), *(kinds[rows].ravel() for rows in examples)])
        return Ragged(flat, starts_of(self.alignment.regions.sizes[self.alignment.example]))

    @cached_property
    def group_of_atom(self) -> tuple[int, ...]:
        """For each kind of atom its predicate, or else its number of values."""
        kinds = self.alignment.atom_kind
        inside = np.flatnonzero(kinds >= 0)
        groups = np.zeros(len(self.numbers_of_atoms), dtype=np.int64)
        atoms = self.network.atoms
        group_of_variable = self.network.ranges if atoms is None else atoms.predicate
        groups[kinds[inside]] = group_of_variable[inside]
        return tuple(groups.tolist())

    @cached_property
    def free_atoms(self) -> Mapping[int, int]:
        """How many atoms lie in no region, by their number of values."""
        outside = self.network.ranges[self.alignment.atom_kind < 0]
        return Counter(self.network.free) + Counter(outside.tolist())

    # --- what beliefs may imply

    @cached_property
    def ground_pairs(self) -> GroundPairs | None:
        """Which variables share a region; `None` if there are too many."""
        return ground_pairs(self.alignment, self.network.ranges)

    @property
    def order_choices(self) -> tuple[tuple[Choice, ...], ...]:
        """For each step of an order of all variables, what its variables are conditioned on."""
        return tuple((choice,) for choice in self._order)

    @property
    def order_counts(self) -> tuple[int, ...]:
        """How many variables each step has."""
        return tuple(self._order.values())

    @cached_property
    def _order(self) -> dict[Choice, int]:
        return order_of_variables(self.alignment)

    # --- tables

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Per region, the number of values of each of its axes."""
        return tuple(self.arrays.shapes[k] for k in self.arrays.region_shape.tolist())

    def log_table(self, parfactor: int) -> Floats:
        """A table of the network."""
        return self.network.tables[parfactor]

    @property
    def log_constant(self) -> float:
        """What factors without variables add to log Z."""
        return self.network.log_constant

    def contradiction(self) -> ContradictionError:
        """The error to raise when hard factors leave a region no state."""
        return ContradictionError(
            "the hard formulas contradict each other or the evidence: they leave no possible world"
        )

    # --- the way back to the ground

    def where(self, variables: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
        """The smallest region that holds variables together, and which of its axes they are.

        `None` if no region holds them all.
        """
        region = self.alignment.smallest_region(variables)
        if region is None:
            return None
        row = self.alignment.region_row(region).tolist()
        return int(self.alignment.kind[region]), tuple(row.index(v) for v in variables)

    # --- words

    def variables(self, number: int) -> list[int]:
        """The variables of one of the ground regions that a region stands for, axis by axis."""
        row: list[int] = self.alignment.region_row(int(self.alignment.example[number])).tolist()
        return row

    def region_text(self, number: int) -> str:
        """The same in words."""
        return " ".join(f"v{variable}" for variable in self.variables(number))

    def is_outer(self, number: int) -> bool:
        """Whether a region lies in no other one."""
        return bool(self.alignment.regions.outer[self.alignment.example[number]])

    @property
    def title(self) -> str:
        """What kind of graph this is."""
        return f"compressed region graph ({self.family})"


# --- from arrays to single regions, messages and edges


def quotient_graph(
    network: GroundNetwork, alignment: Alignment, arrays: GraphArrays, parents: Ints
) -> QuotientGraph:
    """The graph of kinds; its regions, messages and edges are made when they are asked for."""
    return QuotientGraph(
        family=alignment.regions.family,
        regions=LazySequence(len(alignment.example), lambda: _regions(alignment, arrays)),
        messages=LazySequence(len(arrays.message_child), lambda: _messages(arrays)),
        edges=LazySequence(len(arrays.edge_child), lambda: _edges(arrays, parents)),
        network=network,
        alignment=alignment,
        in_arrays=arrays,
        parents=parents,
    )


def _regions(alignment: Alignment, arrays: GraphArrays) -> tuple[Region, ...]:
    clusters = [row for rows in alignment.examples_in_frame for row in rows.tolist()]
    counts = np.bincount(alignment.kind, minlength=len(clusters)).tolist()
    outer = alignment.regions.outer[alignment.example].tolist()
    held: list[list[HeldFactor]] = [[] for _ in clusters]
    for region, table, axes in _rows(arrays.held_region, arrays.held_table, arrays.held_axes):
        held[region].append(HeldFactor(table, arrays.axes[axes]))
    members = _members(arrays, len(clusters))
    return tuple(
        Region(
            cluster=tuple((variable, ()) for variable in cluster),
            count=Count((), 1, counts[number]),
            outer=outer[number],
            symmetries=arrays.symmetries[symmetries],
            members=tuple(members[number]),
            held=tuple(held[number]),
        )
        for (number, cluster), (symmetries,) in zip(
            enumerate(clusters), _rows(arrays.region_symmetries), strict=True
        )
    )


def _rows(*columns: Ints) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _members(arrays: GraphArrays, regions: int) -> list[list[Member]]:
    local: list[dict[int, int]] = [{} for _ in arrays.member_owner]
    for member, edge, count in _rows(arrays.local_member, arrays.local_edge, arrays.local_count):
        local[member][edge] = count
    members: list[list[Member]] = [[] for _ in range(regions)]
    rows = _rows(arrays.member_owner, arrays.member_region, arrays.member_axes)
    for parents, (owner, region, axes) in zip(local, rows, strict=True):
        members[owner].append(Member(region, arrays.axes[axes], parents))
    return members


def _messages(arrays: GraphArrays) -> tuple[Message, ...]:
    ends = arrays.message_parent, arrays.message_child
    rows = _rows(*ends, arrays.message_axes, arrays.message_symmetries)
    return tuple(
        Message(parent, child, arrays.axes[axes], arrays.symmetries[group])
        for parent, child, axes, group in rows
    )


def _edges(arrays: GraphArrays, parents: Ints) -> tuple[Edge, ...]:
    rows = _rows(
        arrays.edge_child, arrays.edge_parent, arrays.edge_message, arrays.edge_axes, parents
    )
    return tuple(
        Edge(child, parent, message, arrays.axes[axes], Count((), 1, times))
        for child, parent, message, axes, times in rows
    )
