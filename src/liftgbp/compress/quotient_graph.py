"""The region graph of kinds of ground regions, with the way back to the ground."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np

from liftgbp.arrays import Floats, Ints, group_rows, starts_of
from liftgbp.compress.ground_regions import GroundRegions
from liftgbp.errors import ContradictionError, InternalError
from liftgbp.grounding import GroundNetwork
from liftgbp.regions.counts import Count
from liftgbp.regions.graph_arrays import GraphArrays
from liftgbp.regions.region_graph import Edge, HeldFactor, Member, Message, Region, RegionGraph

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which kind each ground region is, and which of its variables is which axis.

    kind       the kind of each ground region
    example    the first ground region of each kind
    frame      per size of regions, for each axis the place of its variable in ascending order
    group      the number of each kind's group of symmetries
    orbits     per group, for each axis the smallest axis that it is taken to
    variables  the number of variables
    """

    regions: GroundRegions
    kind: Ints
    example: Ints
    frame: tuple[Ints, ...]
    group: Ints
    orbits: tuple[Ints, ...]
    variables: int

    @cached_property
    def variables_in_frame(self) -> tuple[Ints, ...]:
        """Per size of regions, which variable each axis is."""
        return tuple(
            np.take_along_axis(rows, frame, axis=1)
            for rows, frame in zip(self.regions.rows, self.frame, strict=True)
        )

    @cached_property
    def examples_in_frame(self) -> tuple[Ints, ...]:
        """The same for the first region of each kind."""
        bounds = np.searchsorted(self.example, self.regions.starts).tolist()
        return tuple(
            rows[self.example[first:last] - start]
            for rows, start, (first, last) in zip(
                self.variables_in_frame, self.regions.starts, pairwise(bounds), strict=False
            )
        )

    @cached_property
    def smallest_holder(self) -> tuple[Ints, Ints]:
        """For each variable the smallest region that holds it, and its axis there; -1 if none."""
        region = np.full(self.variables, -1, dtype=np.int64)
        axis = np.full(self.variables, -1, dtype=np.int64)
        # Smaller regions come later and overwrite. The smallest one that holds a variable lies in
        # all others that do, so there is no choice.
        for start, rows in zip(self.regions.starts, self.variables_in_frame, strict=False):
            region[rows] = start + np.arange(len(rows))[:, None]
            axis[rows] = np.arange(rows.shape[1])
        return region, axis

    @cached_property
    def atom_kind(self) -> Ints:
        """For each variable its kind of atom; -1 for variables in no region."""
        region, axis = self.smallest_holder
        inside = np.flatnonzero(region >= 0)
        kind = self.kind[region[inside]]
        starts = starts_of(np.array([len(own) for own in self.orbits], dtype=np.int64))
        flat = np.concatenate([np.zeros(0, np.int64), *self.orbits])
        orbit = flat[starts[self.group[kind]] + axis[inside]]
        first, number = group_rows([kind, orbit])
        # Numbered by the regions they live in.
        order = np.lexsort((orbit[first], kind[first]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        atom_kind = np.full(self.variables, -1, dtype=np.int64)
        atom_kind[inside] = rank[number]
        return atom_kind

    def region_row(self, region: int) -> Ints:
        """The variables of a ground region, in the order of the axes of its kind."""
        block = int(np.searchsorted(self.regions.starts, region, side="right")) - 1
        rows: Ints = self.variables_in_frame[block]
        return np.asarray(rows[region - self.regions.starts[block]])

    @cached_property
    def _holders(self) -> tuple[Ints, Ints]:
        """For each variable the regions that hold it: where they start, and which they are."""
        rows = self.regions.rows
        variable = np.concatenate([np.zeros(0, np.int64), *(own.ravel() for own in rows)])
        region = np.repeat(np.arange(len(self.regions)), self.regions.sizes)
        order = np.argsort(variable, kind="stable")
        return starts_of(np.bincount(variable, minlength=self.variables)), region[order]

    def smallest_region(self, variables: Sequence[int]) -> int | None:
        """The smallest ground region that holds all these variables."""
        starts, region = self._holders
        stretches = [region[starts[v] : starts[v + 1]] for v in set(variables)]
        stretches.sort(key=len)
        common = stretches[0]
        for other in stretches[1:]:
            common = common[np.isin(common, other)]
        return int(common[-1]) if len(common) else None


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


@dataclass(frozen=True)
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

    @cached_property
    def counting_numbers(self) -> tuple[int, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        around = np.zeros(len(self.regions), dtype=np.int64)
        numbers = np.ones(len(self.regions), dtype=np.int64)
        owner, region = self.arrays.member_owner, self.arrays.member_region
        sizes = self.alignment.regions.sizes[self.alignment.example]
        # From large to small, so that a number is final before it is used.
        for size in np.unique(sizes)[::-1]:
            own = sizes == size
            if (around[own] % self._counts[own]).any():
                raise InternalError("regions of one kind lie in different numbers of larger ones")
            numbers[own] -= around[own] // self._counts[own]
            pairs = np.flatnonzero(own[owner])
            weight = (numbers * self._counts)[owner[pairs]]
            np.add.at(around, region[pairs], weight)
        return tuple(numbers.tolist())

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
    def atom_of_axis(self) -> tuple[tuple[int, ...], ...]:
        """Per region, which kind of atom each of its axes is."""
        kinds = self.alignment.atom_kind
        return tuple(
            row
            for rows in self.alignment.examples_in_frame
            for row in map(tuple, kinds[rows].tolist())
        )

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

    @cached_property
    def _outer(self) -> list[bool]:
        flags: list[bool] = self.alignment.regions.outer[self.alignment.example].tolist()
        return flags

    def is_outer(self, number: int) -> bool:
        """Whether a region lies in no other one."""
        return self._outer[number]

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
    for region, table, axes in zip(
        arrays.held_region.tolist(),
        arrays.held_table.tolist(),
        arrays.held_axes.tolist(),
        strict=True,
    ):
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
        for number, (cluster, symmetries) in enumerate(
            zip(clusters, arrays.region_symmetries.tolist(), strict=True)
        )
    )


def _members(arrays: GraphArrays, regions: int) -> list[list[Member]]:
    local: list[dict[int, int]] = [{} for _ in arrays.member_owner]
    for member, edge, count in zip(
        arrays.local_member.tolist(),
        arrays.local_edge.tolist(),
        arrays.local_count.tolist(),
        strict=True,
    ):
        local[member][edge] = count
    members: list[list[Member]] = [[] for _ in range(regions)]
    for number, (owner, region, axes) in enumerate(
        zip(
            arrays.member_owner.tolist(),
            arrays.member_region.tolist(),
            arrays.member_axes.tolist(),
            strict=True,
        )
    ):
        members[owner].append(Member(region, arrays.axes[axes], local[number]))
    return members


def _messages(arrays: GraphArrays) -> tuple[Message, ...]:
    return tuple(
        map(
            Message,
            arrays.message_parent.tolist(),
            arrays.message_child.tolist(),
            [arrays.axes[k] for k in arrays.message_axes.tolist()],
            [arrays.symmetries[k] for k in arrays.message_symmetries.tolist()],
        )
    )


def _edges(arrays: GraphArrays, parents: Ints) -> tuple[Edge, ...]:
    return tuple(
        map(
            Edge,
            arrays.edge_child.tolist(),
            arrays.edge_parent.tolist(),
            arrays.edge_message.tolist(),
            [arrays.axes[k] for k in arrays.edge_axes.tolist()],
            [Count((), 1, times) for times in parents.tolist()],
        )
    )
