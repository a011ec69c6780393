"""From kinds of ground regions to a region graph of one region per kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from liftgbp.arrays import Ints, positions_of
from liftgbp.compress.edges import EdgeTable, as_tuples
from liftgbp.compress.graph import Alignment, QuotientGraph
from liftgbp.compress.ground import GroundRegions, Pattern, Progress, silent
from liftgbp.compress.potentials import first_frames
from liftgbp.compress.refine import AROUND, Partition, code_weights, refine
from liftgbp.compress.verify import verify
from liftgbp.grounding import GroundNetwork
from liftgbp.regions.counts import Count
from liftgbp.regions.structure import HeldFactor, Member, Region


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

    >>> from liftgbp.compress import ground_region_graph
    >>> from liftgbp.grounding import FactorBlock, merged
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> block = FactorBlock(ring, np.zeros(4, dtype=np.int64))
    >>> network = merged(np.full(4, 2), [block], [np.eye(2)])
    >>> print(compress(ground_region_graph(network), network))
    compressed region graph (intersections): 2 regions, 1 edges, 8 ground regions
      0* v0 v1   n=4  c=1  parents × κ: none
      1  v0   n=4  c=-1  parents × κ: 0 × 2
    """
    progress("comparing potentials", 0, 1)
    frames = first_frames(regions, network, _colours(network) if colours is None else colours)
    partition = refine(regions, frames, progress)
    progress("building the quotient", 0, 1)
    return _Builder(network, partition).graph()


def _colours(network: GroundNetwork) -> Ints:
    if network.atoms is not None:
        return network.atoms.predicate
    return np.zeros(len(network.ranges), dtype=np.int64)


class _Builder:
    """Describes each kind by its first region, the example."""

    def __init__(self, network: GroundNetwork, partition: Partition) -> None:
        self._network = network
        self._partition = partition
        self._regions = partition.regions
        self._kind, self._example = _numbered(partition.label)
        verify(partition, self._example[self._kind])
        self._edges = EdgeTable(partition, self._kind, self._example)

    def graph(self) -> QuotientGraph:
        groups = self._partition.groups
        alignment = Alignment(
            regions=self._regions,
            kind=self._kind,
            frame=tuple(self._partition.frame),
            orbit=tuple(
                tuple(groups.orbits(group).tolist())
                for group in self._partition.group[self._example].tolist()
            ),
            variables=len(self._network.ranges),
        )
        return QuotientGraph(
            family=self._regions.family,
            regions=tuple(self._canonical_regions(alignment)),
            messages=tuple(self._edges.messages),
            edges=tuple(self._edges.edges),
            network=self._network,
            alignment=alignment,
        )

    def _canonical_regions(self, alignment: Alignment) -> Iterator[Region]:
        clusters = self._clusters(alignment)
        members = self._members()
        held = self._held()
        counts = np.bincount(self._kind, minlength=len(self._example)).tolist()
        outer = self._regions.outer[self._example].tolist()
        groups = self._partition.group[self._example].tolist()
        for number, cluster in enumerate(clusters):
            yield Region(
                cluster=tuple((variable, ()) for variable in cluster),
                count=Count((), 1, counts[number]),
                outer=outer[number],
                symmetries=self._partition.groups.generators(groups[number]),
                members=members[number],
                held=tuple(held[number]),
            )

    def _clusters(self, alignment: Alignment) -> Iterator[list[int]]:
        """The variables of the examples, in the order of axes."""
        for block, rows in enumerate(alignment.variables_in_frame):
            yield from rows[self._examples_of_block(block) - self._regions.starts[block]].tolist()

    def _examples_of_block(self, block: int) -> Ints:
        """The examples of one size, which come in order."""
        bounds = np.searchsorted(self._example, self._regions.starts[block : block + 2])
        return self._example[bounds[0] : bounds[1]]

    # --- what is inside

    def _members(self) -> list[tuple[Member, ...]]:
        members: list[tuple[Member, ...]] = [()] * len(self._example)
        is_example = np.zeros(len(self._regions), dtype=bool)
        is_example[self._example] = True
        for pattern in self._regions.patterns:
            chosen = np.flatnonzero(is_example[pattern.regions])
            if len(chosen) and pattern.masks:
                columns = [
                    self._column(pattern, chosen, column) for column in range(len(pattern.masks))
                ]
                kinds = self._kind[pattern.regions[chosen]].tolist()
                for kind, row in zip(kinds, zip(*columns, strict=True), strict=True):
                    members[kind] = row
        return members

    def _column(self, pattern: Pattern, chosen: Ints, column: int) -> Iterator[Member]:
        """The members at one place of the regions of a pattern."""
        mask = pattern.masks[column]
        small = pattern.members[chosen, column]
        axes = self._embed(pattern.regions[chosen], small, positions_of(mask))
        parents = np.column_stack(
            [
                self._local_edges(pattern, chosen, small, mask, parent)
                for parent in pattern.covers[mask]
            ]
        ).tolist()
        kinds = self._kind[small].tolist()
        for kind, own, edges in zip(kinds, as_tuples(axes), parents, strict=True):
            yield Member(kind, own, dict(Counter(edges)) if len(edges) > 1 else {edges[0]: 1})

    def _local_edges(
        self, pattern: Pattern, chosen: Ints, small: Ints, mask: int, parent: int
    ) -> Ints:
        """The edges from one place inside the regions of a pattern to a smaller one."""
        if parent == (1 << pattern.size) - 1:
            large = pattern.regions[chosen]
        else:
            large = pattern.members[chosen, pattern.masks.index(parent)]
        places = positions_of(parent)
        inside = tuple(places.index(k) for k in positions_of(mask))
        rows = self._embed(large, small, inside)
        weights = code_weights(len(places), len(inside))
        trivial = self._partition.groups.trivial(len(inside))
        their_groups = self._partition.group[large]
        code = self._partition.codes(rows, weights, AROUND, trivial, their_groups)[:, 0]
        return self._edges.find(self._kind[small], self._kind[large], code)

    def _embed(self, large: Ints, small: Ints, places: tuple[int, ...]) -> Ints:
        positions = np.broadcast_to(np.array(places, dtype=np.int64), (len(small), len(places)))
        return self._partition.embed(large, small, positions)

    # --- factors

    def _held(self) -> list[list[HeldFactor]]:
        """The factors inside each example."""
        found: list[list[HeldFactor]] = [[] for _ in self._example]
        is_example = np.zeros(len(self._regions), dtype=bool)
        is_example[self._example] = True
        for block, held in enumerate(self._regions.held):
            chosen = np.flatnonzero(is_example[held.region])
            mask, region = held.mask[chosen], held.region[chosen]
            inside = (mask[:, None] >> np.arange(self._regions.rows[block].shape[1]) & 1) > 0
            axis = self._partition.axis[block][region - self._regions.starts[block]]
            for width in np.unique(inside.sum(axis=1)):
                own = np.flatnonzero(inside.sum(axis=1) == width)
                axes = axis[own][inside[own]].reshape(len(own), width)
                kinds = self._kind[region[own]].tolist()
                tables = held.table[chosen[own]].tolist()
                for kind, table, row in zip(kinds, tables, as_tuples(axes), strict=True):
                    found[kind].append(HeldFactor(table, row))
        return found


def _numbered(label: Ints) -> tuple[Ints, Ints]:
    """The kind of each region, numbered by first regions, and the first region of each kind.

    Regions are numbered from large to small, and so are kinds.
    """
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[number.ravel()], first[order].astype(np.int64)
