"""From kinds of ground regions to a region graph of one region per kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from liftgbp.ground.compress.alignment import Alignment
from liftgbp.ground.compress.colour_refinement import refine
from liftgbp.ground.compress.ground_regions import GroundRegions
from liftgbp.ground.compress.partition import AROUND, Containment, Partition, in_bytes
from liftgbp.ground.compress.potentials import first_frames, stabilisers
from liftgbp.ground.compress.quotient_graph import QuotientGraph, quotient_graph
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.lift.regions.graph_arrays import Axes, GraphArrays, Interner, Shape, numbers_of_rows
from liftgbp.support.arrays import (
    Bools,
    Hashes,
    Ints,
    distinct,
    first_places,
    group_rows,
    narrow,
    places_of_rows,
    positions_of,
    ranks,
    row_order,
    stable_order,
)
from liftgbp.support.errors import InternalError
from liftgbp.support.progress import Progress, silent


def compress(
    regions: GroundRegions,
    network: GroundNetwork,
    *,
    colours: Ints | None = None,
    progress: Progress = silent,
) -> QuotientGraph:
    """The region graph that has one region for all ground regions which behave alike.

    Flooding gives each of its regions, at every iteration, the belief of all ground regions that it
    stands for. Variables of different `colours` (by default: atoms of different predicates) are
    never taken to be alike.

    >>> from liftgbp.ground.compress import ground_region_graph
    >>> from liftgbp.ground.grounding import FactorBlock, merged
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> block = FactorBlock(ring, np.zeros(4, dtype=np.int64))
    >>> network = merged(np.full(4, 2), [block], [np.eye(2)])
    >>> print(compress(ground_region_graph(network), network))
    compressed region graph (intersections): 2 regions, 1 edges, 8 ground regions
      0* v0 v1   n=4  c=1  parents × κ: none
      1  v0   n=4  c=-1  parents × κ: 0 × 2
    """
    progress("comparing potentials", 0, 1)
    if colours is None:
        colours = (
            np.zeros_like(network.ranges) if network.atoms is None else network.atoms.predicate
        )
    frames = first_frames(regions, network, colours)
    partition = refine(regions, frames, progress)
    progress("building the quotient", 0, 1)
    return _QuotientBuilder(network, partition).graph()


class _QuotientBuilder:
    """Describes each kind by its first region, the example."""

    def __init__(self, network: GroundNetwork, partition: Partition) -> None:
        self._network = network
        self._partition = partition
        self._regions = partition.regions
        self._kind, self._example = _numbered(partition.label)
        self._is_example = np.zeros(len(self._regions), dtype=bool)
        self._is_example[self._example] = True
        self._axes: Interner[Axes] = Interner()
        self._edges = EdgeTable(partition, self._kind, self._is_example, self._axes)

    def graph(self) -> QuotientGraph:
        groups = self._partition.groups
        alignment = Alignment(
            # What lies inside which is told by kinds from now on.
            regions=replace(self._regions, patterns=(), held=()),
            kind=self._kind,
            example=self._example,
            frame=tuple(self._partition.frame),
            group=self._partition.group[self._example],
            orbits=tuple(groups.orbits(group) for group in range(len(groups))),
            variables=len(self._network.ranges),
        )
        return quotient_graph(self._network, alignment, self._arrays(alignment), self._edges.kappa)

    def _arrays(self, alignment: Alignment) -> GraphArrays:
        groups, edges = self._partition.groups, self._edges
        shapes: Interner[Shape] = Interner()
        ranges = [self._network.ranges[rows] for rows in alignment.examples_in_frame]
        region_shape = [np.zeros(0, np.int64), *(numbers_of_rows(shapes, own) for own in ranges)]
        member, local = self._members()
        held = self._held()
        return GraphArrays(
            self._axes.values,
            shapes.values,
            [groups.generators(group) for group in range(len(groups))],
            narrow(np.concatenate(region_shape)),
            narrow(self._partition.group[self._example]),
            *held,
            *member,
            *local,
            *edges.edges,
            *edges.messages,
        )

    # --- what is inside

    def _members(self) -> tuple[list[Ints], list[Ints]]:
        """Rows of owner, region and axes; and rows of member, edge and number of local parents.

        Patterns only say which regions lie in which; all of two sizes are embedded at once.
        """
        inside, parents = _Embedded(), _Embedded()
        owners, regions = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        known = 0
        for pattern in self._regions.patterns:
            chosen = np.flatnonzero(self._is_example[pattern.regions])
            if not len(chosen):
                continue
            # The region of each mask; the largest mask is the region itself.
            whole = (1 << pattern.size) - 1
            at = {mask: pattern.members[chosen, k] for k, mask in enumerate(pattern.masks)}
            at[whole] = pattern.regions[chosen]
            for mask in pattern.masks:
                number = np.arange(known, known + len(chosen))
                known += len(chosen)
                owners.append(self._kind[at[whole]])
                regions.append(self._kind[at[mask]])
                inside.add(at[whole], whole, at[mask], mask, number)
                for parent in pattern.covers[mask]:
                    parents.add(at[parent], parent, at[mask], mask, number)
        axes = np.zeros(known, dtype=np.int64)
        for _, large, small, positions, number in inside.blocks():
            rows = self._partition.embed(large, small, positions)
            axes[number] = numbers_of_rows(self._axes, rows)
        owner = np.concatenate(owners)
        order = stable_order(owner)
        members = [narrow(own[order]) for own in (owner, np.concatenate(regions), axes)]
        place = ranks(order)
        width = max(1, len(self._edges.kappa))
        keys = [np.zeros(0, dtype=np.int64)]
        for size, large, small, positions, number in parents.blocks():
            rows = self._partition.embed(large, small, positions)
            trivial = self._partition.groups.trivial(positions.shape[1])
            groups = self._partition.group[large]
            code = self._partition.codes(rows, size, AROUND, trivial, groups)[:, 0]
            edges = self._edges.find(self._kind[small], self._kind[large], code)
            keys.append(place[number] * width + edges)
        every = np.sort(np.concatenate(keys))
        (heads,) = np.nonzero(np.append(True, every[1:] != every[:-1])[: len(every)])
        local, count = every[heads], np.diff(heads, append=len(every))
        return members, [narrow(own) for own in (*np.divmod(local, width), count)]

    # --- factors

    def _held(self) -> list[Ints]:
        """Region, table and axes of the factors inside the examples."""
        parts: list[Ints] = [np.zeros((3, 0), dtype=np.int64)]
        for block, held in enumerate(self._regions.held):
            chosen = np.flatnonzero(self._is_example[held.region])
            mask, region = held.mask[chosen], held.region[chosen]
            inside = (mask[:, None] >> np.arange(self._regions.rows[block].shape[1]) & 1) > 0
            axis = self._partition.axis[block][region - self._regions.starts[block]]
            widths = inside.sum(axis=1)
            for width in distinct(widths):
                own = np.flatnonzero(widths == width)
                axes = axis[own][inside[own]].reshape(len(own), width)
                numbers = numbers_of_rows(self._axes, axes)
                parts.append(np.array([self._kind[region[own]], held.table[chosen[own]], numbers]))
        rows = np.hstack(parts)
        order = stable_order(rows[0])
        return [narrow(own[order]) for own in rows]


@lru_cache(maxsize=2**14)
def _places_within(large_mask: int, mask: int) -> Axes:
    """Where the bits of a mask are among those of a larger one; thousands of patterns share few."""
    around = positions_of(large_mask)
    return tuple(around.index(k) for k in positions_of(mask))


class _Embedded:
    """Smaller regions in larger ones, by the sizes of both."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int], list[tuple[Ints, Ints, Axes, Ints]]] = {}

    def add(self, large: Ints, large_mask: int, small: Ints, mask: int, number: Ints) -> None:
        """Add regions at two places of a pattern, and their numbers."""
        places = _places_within(large_mask, mask)
        sizes = large_mask.bit_count(), len(places)
        self._parts.setdefault(sizes, []).append((large, small, places, number))

    def blocks(self) -> Iterator[tuple[int, Ints, Ints, Ints, Ints]]:
        """The larger size, larger and smaller regions, the places of variables, and numbers."""
        for (size, _), parts in self._parts.items():
            large, small, places, number = zip(*parts, strict=True)
            positions = np.repeat(in_bytes(np.array(places)), list(map(len, large)), axis=0)
            yield (
                size,
                np.concatenate(large),
                np.concatenate(small),
                positions,
                np.concatenate(number),
            )


def _numbered(label: Ints) -> tuple[Ints, Ints]:
    """The kind of each region, numbered by first regions, and the first region of each kind.

    Regions are numbered from large to small, and so are kinds.
    """
    first = first_places(label)
    is_first = np.zeros(len(label), dtype=bool)
    is_first[first] = True
    number = np.cumsum(is_first) - 1
    return number[first[label]], np.flatnonzero(is_first)


class EdgeTable:
    """The edges into the example of each kind, with the messages that they carry.

    Parents of one name send the same message. Names that a symmetry of the child takes into each
    other belong to one message with its axes permuted.

    edges     child, parent, message and axes of each
    kappa     how many parents each edge stands for
    messages  parent, child, axes and the group of symmetries of each
    """

    def __init__(
        self, partition: Partition, kind: Ints, is_example: Bools, axes: Interner[Axes]
    ) -> None:
        self._partition = partition
        self._groups = partition.groups
        self._kind = kind
        self._is_example = is_example
        self._axes = axes
        none = np.zeros(0, dtype=np.int64)
        self._parts: list[list[Ints]] = [[none] for _ in range(9)]
        self._sent = 0
        codes = [np.zeros(0, dtype=np.uint64), *map(self._add, partition.relations)]
        columns = [narrow(np.concatenate(parts)) for parts in self._parts]
        self.edges, self.messages, self.kappa = columns[:4], columns[4:8], columns[8]
        self._names = [*self.edges[:2], np.concatenate(codes)]

    def find(self, child: Ints, parent: Ints, code: Hashes) -> Ints:
        """The numbers of edges by kind of child and parent, and the code of the embedding."""
        found = places_of_rows([child, parent, code], self._names)
        if found.min(initial=0) < 0:
            raise InternalError("a region inside another has a parent that sends no message")
        return found

    def _add(self, relation: Containment) -> Hashes:
        """Add the edges between two sizes, and return the codes of their embeddings."""
        pairs = np.flatnonzero(relation.cover & self._is_example[relation.small])
        child, parent = self._kind[relation.small[pairs]], self._kind[relation.large[pairs]]
        trivial = self._groups.trivial(relation.small_size)
        code = self._partition.names(relation, pairs, AROUND, trivial)[:, 0]
        first, name = group_rows([child, parent, code])
        order = row_order([child[first], parent[first], code[first]])
        kappa = np.bincount(name, minlength=len(first))[order]
        first = first[order]
        child, parent, code = child[first], parent[first], code[first]
        orbit, turn, rows, symmetry = self._orbits(relation, pairs[first])
        head, message = group_rows([child, parent, orbit])
        # Messages of one parent lie next to each other: where there are millions, an iteration
        # spends most of its time looking up what lies far apart.
        by_parent = row_order([parent[head], head])
        head, message = head[by_parent], ranks(by_parent)[message]
        message_axes = numbers_of_rows(self._axes, rows[head])
        edge_axes = numbers_of_rows(self._axes, turn)
        edges = child, parent, self._sent + message, edge_axes
        messages = parent[head], child[head], message_axes, symmetry[head]
        for parts, own in zip(self._parts, (*edges, *messages, kappa), strict=True):
            parts.append(own)
        self._sent += len(head)
        return code

    def _orbits(self, relation: Containment, pairs: Ints) -> tuple[Hashes, Ints, Ints, Ints]:
        """For each pair the orbit of its name under the symmetries of the child.

        That is a code of the orbit, the symmetry that leads to its first name, the embedding
        turned by it, and the group of the symmetries that leave that name as it is.
        """
        partition, groups = self._partition, self._groups
        rows = partition.embeddings(relation, pairs)
        own_group = partition.group[relation.small[pairs]]
        other_group = partition.group[relation.large[pairs]]
        orbit = np.empty(len(pairs), dtype=np.uint64)
        turn = np.empty_like(rows)
        symmetry = np.empty(len(pairs), dtype=np.int64)
        for group in distinct(own_group).tolist():
            own = np.flatnonzero(own_group == group)
            codes = partition.codes(rows[own], relation.large_size, AROUND, group, other_group[own])
            choice = codes.argmin(axis=1)
            orbit[own] = np.take_along_axis(codes, choice[:, None], axis=1).ravel()
            turn[own] = groups.elements(group)[choice]
            symmetry[own] = stabilisers(groups, group, codes, choice)
        return orbit, turn, np.take_along_axis(rows, turn, axis=1), symmetry
