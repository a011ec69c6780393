"""Compiling a region graph into a plan.

Many regions have the same shape, the same symmetries and the same dead states. Everything about
their tables is computed once, and then written to the places of all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from liftgbp.lift.regions import RegionGraph
from liftgbp.lift.regions.graph_arrays import ARRAYS, Axes, GraphArrays
from liftgbp.plan.filling import fill
from liftgbp.plan.plan import Layout, MessageTerms, Plan, Potentials
from liftgbp.plan.states import Orbits, find_orbits, project_states, projection
from liftgbp.plan.supports import alive_states
from liftgbp.support.arrays import (
    Bools,
    Ints,
    Ragged,
    Shared,
    empty_indices,
    equal_rows,
    expand,
    in_parts,
    narrow,
    places_of_rows,
    stable_order,
    starts_of,
)

FACTORED_FROM = 10**6
"""From this many exponents on, messages into a region are summed before others read them."""


def compile_plan(graph: RegionGraph, *, symmetric: bool = True, bounds: bool = True) -> Plan:
    """The plan of a region graph with the tables of its model.

    Tables have one entry per orbit of states under the symmetries of their region; without
    `symmetric` they have one entry per state. Without `bounds`, nothing is known of what entropies
    and counts are possible, which takes a large part of the time.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.lift.regions import build_regions
    >>> from liftgbp.lift.shatter import shatter
    >>> model = parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
    >>> print(compile_plan(build_regions(shatter(model, {"thing": 10}))))
    plan: 5 belief entries in 2 regions, 2 message entries in 1 messages, 8 exponents from 8 to 9
      0  2×2  3 entries for 4 of 4 states  n·c=45  2 terms
      1  2  2 entries for 2 of 2 states  n·c=-80  1 terms
    """
    return fill(_layout_of(graph, symmetric, bounds), graph)


MOST_KEPT = 32
"""How many small layouts are kept. One model, asked again with other sizes, weights or evidence,
needs a handful; what solvers derive from a layout is kept with it."""

LARGEST_KEPT = 1000
"""The most belief entries of a layout that is kept; with the equations between them, it takes some
megabytes."""

MOST_STATES = 10**5
"""The most states of a layout with hard formulas that is kept. Layouts are compared by which states
are ruled out: a formula over twenty atoms would add a megabyte to each comparison."""

_kept: dict[Hashable, Layout] = {}


def _layout_of(graph: RegionGraph, symmetric: bool, bounds: bool) -> Layout:
    """The layout of a graph, which may be a copy of that of an earlier graph."""
    alive = alive_states(graph)
    masks = 0 if alive is None else sum(mask.size for mask in alive)
    is_large = len(graph.arrays.region_shape) > LARGEST_KEPT or masks > MOST_STATES
    if is_large or (bounds and graph.ground_pairs is not None):
        return _Compiler(graph, alive, symmetric, bounds).layout()
    key = _structure(graph, alive, symmetric, bounds)
    # The order of a dictionary is that of insertion, so the least recently used comes first.
    known = _kept.pop(key, None)
    if known is not None:
        _kept[key] = known
        return copy(known)
    layout = _Compiler(graph, alive, symmetric, bounds).layout()
    if layout.belief_entries <= LARGEST_KEPT:
        _kept[key] = layout
        for oldest in list(_kept)[: max(0, len(_kept) - MOST_KEPT)]:
            _kept.pop(oldest, None)
    return layout


def _structure(
    graph: RegionGraph, alive: list[Bools] | None, symmetric: bool, bounds: bool
) -> Hashable:
    """All that a layout depends on: neither sizes nor weights."""
    columns = [getattr(graph.arrays, name) for name in ARRAYS]
    return (
        tuple(own.tobytes() if isinstance(own, np.ndarray) else tuple(own) for own in columns),
        None if alive is None else tuple(mask.tobytes() for mask in alive),
        tuple(graph.atom_of_axis),
        graph.group_of_atom,
        (graph.order_choices, graph.alike_pairs) if bounds else None,
        symmetric,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Tables:
    """The tables of all regions or of all messages: which orbits each has, and where it starts."""

    orbits: list[Orbits]
    which: Ints
    starts: Ints

    @staticmethod
    def of(orbits: list[Orbits], which: Ints) -> _Tables:
        lengths = np.array([len(own) for own in orbits], dtype=np.int64)
        return _Tables(orbits, which, starts_of(lengths[which]))

    def spread(self, values: Sequence[Ints]) -> Ints:
        """The values of each table's orbits, one table after the other."""
        rows = Ragged.of(values)
        return narrow(rows.flat[expand(rows.starts[self.which], np.diff(self.starts))])


class _Reads(NamedTuple):
    """Terms before their entries are known: which region reads what through which axes.

    `inside` goes along with them; `what` numbers edges, or regions.
    """

    region: Ints
    what: Ints
    source: Ints
    axes: Ints
    inside: Ints


class _Compiler:
    def __init__(
        self, graph: RegionGraph, alive: list[Bools] | None, symmetric: bool, bounds: bool
    ) -> None:
        self._graph = graph
        self._alive = alive
        self._bounds = bounds
        self._arrays: GraphArrays = graph.arrays
        self._symmetric = symmetric
        self._axes: list[Axes] = list(self._arrays.axes)
        self._axes_number = {axes: number for number, axes in enumerate(self._axes)}
        self._regions = self._region_tables()
        self._messages = self._message_tables()

    def layout(self) -> Layout:
        arrays, regions, messages = self._arrays, self._regions, self._messages
        sources, source_counts, source_starts = self._sources()
        terms, members, local = self._terms()
        return Layout(
            shapes=Shared(arrays.shapes, arrays.region_shape),
            entry_of=Shared([own.orbit_of for own in regions.orbits], regions.which),
            representatives=Shared([own.representatives for own in regions.orbits], regions.which),
            multiplicity=regions.spread([own.sizes for own in regions.orbits]),
            atom_of_axis=Ragged.of(self._graph.atom_of_axis),
            group_of_atom=self._graph.group_of_atom,
            region_starts=regions.starts[:-1],
            message_starts=messages.starts[:-1],
            terms=terms,
            members=members,
            local=local,
            potentials=self._potentials(),
            sources=sources,
            source_counts=source_counts,
            source_starts=source_starts,
            children=self._children(),
            order_choices=self._graph.order_choices if self._bounds else (),
            alike_pairs=self._graph.alike_pairs if self._bounds else (),
            ground_pairs=self._graph.ground_pairs if self._bounds else None,
        )

    # --- tables

    def _region_tables(self) -> _Tables:
        arrays, alive = self._arrays, self._alive
        which = np.empty(len(arrays.region_shape), dtype=np.int64)
        orbits: list[Orbits] = []
        self._shapes: list[tuple[int, ...]] = []
        row = np.empty(len(which), dtype=np.int64)
        for number in range(len(arrays.shapes)):
            own = np.flatnonzero(arrays.region_shape == number)
            row[own] = np.arange(len(own))
        for places in equal_rows([arrays.region_shape, arrays.region_symmetries]):
            number = int(arrays.region_shape[places[0]])
            symmetries = arrays.symmetries[arrays.region_symmetries[places[0]]]
            for same in _equal_masks(None if alive is None else alive[number][row[places]], places):
                mask = None if alive is None else alive[number][row[same[0]]]
                which[same] = len(orbits)
                shape = arrays.shapes[number]
                orbits.append(find_orbits(shape, symmetries if self._symmetric else (), mask))
                self._shapes.append(shape)
        return _Tables.of(orbits, which)

    def _message_tables(self) -> _Tables:
        arrays = self._arrays
        child = self._regions.which[arrays.message_child]
        which = np.empty(len(child), dtype=np.int64)
        orbits: list[Orbits] = []
        for places in equal_rows([child, arrays.message_symmetries]):
            pattern = int(child[places[0]])
            symmetries = arrays.symmetries[arrays.message_symmetries[places[0]]]
            mask = self._regions.orbits[pattern].orbit_of >= 0
            which[places] = len(orbits)
            orbits.append(
                find_orbits(self._shapes[pattern], symmetries if self._symmetric else (), mask)
            )
        return _Tables.of(orbits, which)

    def _potentials(self) -> tuple[Potentials, ...]:
        """The factors inside regions; a region's first ones come first, to be added in order."""
        arrays, regions = self._arrays, self._regions
        counts = np.bincount(arrays.held_region, minlength=len(regions.which))
        turn = np.arange(len(arrays.held_region)) - starts_of(counts)[arrays.held_region]
        pattern = regions.which[arrays.held_region]
        return tuple(
            Potentials(
                starts=regions.starts[arrays.held_region[places]],
                tables=arrays.held_table[places],
                index=self._projected(int(pattern[places[0]]), int(arrays.held_axes[places[0]])),
            )
            for places in equal_rows([turn, pattern, arrays.held_axes])
        )

    def _projected(self, pattern: int, axes: int) -> Ints:
        """For each entry of a table, the state of a smaller table along some of its axes."""
        states = self._regions.orbits[pattern].representatives
        return project_states(states, self._shapes[pattern], self._axes[axes])

    # --- messages

    def _sources(self) -> tuple[Ints, Ints, Ints]:
        """Which belief entries sum up to which message entries, and with how many states each.

        All states of the parent are counted by (message entry, belief entry); for symmetry, each
        state of a message entry gets the same share.
        """
        arrays, regions, messages = self._arrays, self._regions, self._messages
        parent = regions.which[arrays.message_parent]
        groups = equal_rows([parent, arrays.message_axes, messages.which])
        found = [
            _summed(
                self._shapes[int(parent[places[0]])],
                self._axes[arrays.message_axes[places[0]]],
                regions.orbits[parent[places[0]]],
                messages.orbits[messages.which[places[0]]],
            )
            for places in groups
        ]
        lengths = np.zeros(len(parent), dtype=np.int64)
        per_entry = np.zeros(messages.starts[-1], dtype=np.int64)
        for places, (own, _, entries) in zip(groups, found, strict=True):
            lengths[places] = len(own)
            per_entry[messages.starts[places][:, None] + np.arange(len(entries))] = entries
        starts = starts_of(lengths)
        sources = empty_indices(starts[-1], regions.starts[-1])
        counts = empty_indices(starts[-1], regions.starts[-1])
        for places, (own, states, _) in zip(groups, found, strict=True):
            for rows in in_parts(len(places), len(own)):
                where = starts[places[rows]][:, None] + np.arange(len(own))
                parents = arrays.message_parent[places[rows]]
                sources[where] = regions.starts[parents][:, None] + own
                counts[where] = states
        return sources, counts, narrow(starts_of(per_entry)[:-1])

    def _children(self) -> Ints:
        arrays, regions, messages = self._arrays, self._regions, self._messages
        children = empty_indices(messages.starts[-1], regions.starts[-1])
        child = regions.which[arrays.message_child]
        for places in equal_rows([child, messages.which]):
            own = messages.orbits[messages.which[places[0]]].representatives
            entries = regions.orbits[child[places[0]]].orbit_of[own]
            for rows in in_parts(len(places), len(own)):
                where = messages.starts[places[rows]][:, None] + np.arange(len(own))
                child_starts = regions.starts[arrays.message_child[places[rows]]]
                children[where] = child_starts[:, None] + entries
        return children

    # --- terms

    def _terms(self) -> tuple[MessageTerms, MessageTerms | None, MessageTerms | None]:
        """What is multiplied into beliefs: directly, or summed up region by region first."""
        arrays, regions = self._arrays, self._regions
        own = _Reads(
            arrays.edge_child,
            np.arange(len(arrays.edge_child)),
            arrays.edge_message,
            arrays.edge_axes,
            np.zeros(len(arrays.edge_child), dtype=np.int64),
        )
        incoming = np.diff(arrays.edges_by_child[1])[arrays.member_region]
        entries = np.diff(regions.starts)[arrays.member_owner]
        if int((incoming * entries).sum()) < FACTORED_FROM:
            pairs = zip(own, self._through_members(incoming), strict=True)
            return self._written(_Reads(*map(np.concatenate, pairs))), None, None
        inner = _Reads(
            arrays.member_owner,
            arrays.member_region,
            arrays.member_region,
            arrays.member_axes,
            np.zeros(len(arrays.member_owner), dtype=np.int64),
        )
        local = self._through(arrays.local_member, arrays.local_edge, arrays.local_count)
        return self._written(own), self._written(inner, regions), self._written(local)

    def _through_members(self, incoming: Ints) -> _Reads:
        """All edges into the regions inside, with the number of parents inside for each."""
        arrays = self._arrays
        by_child, starts = arrays.edges_by_child
        member = np.repeat(np.arange(len(incoming)), incoming)
        edge = by_child[expand(starts[arrays.member_region], incoming)]
        inside = np.zeros(len(edge), dtype=np.int64)
        found = places_of_rows([arrays.local_member, arrays.local_edge], [member, edge])
        inside[found] = arrays.local_count
        return self._through(member, edge, inside)

    def _through(self, member: Ints, edge: Ints, inside: Ints) -> _Reads:
        """Reading messages of edges into members, in terms of the owners' axes."""
        arrays = self._arrays
        outer, inner = arrays.member_axes[member], arrays.edge_axes[edge]
        axes = np.empty(len(member), dtype=np.int64)
        for places in equal_rows([outer, inner]):
            through = self._axes[outer[places[0]]]
            composed = tuple(through[k] for k in self._axes[inner[places[0]]])
            axes[places] = self._number_of_axes(composed)
        return _Reads(arrays.member_owner[member], edge, arrays.edge_message[edge], axes, inside)

    def _number_of_axes(self, axes: Axes) -> int:
        number = self._axes_number.setdefault(axes, len(self._axes))
        if number == len(self._axes):
            self._axes.append(axes)
        return number

    def _written(self, reads: _Reads, tables: _Tables | None = None) -> MessageTerms:
        """The entries that terms read: of messages, or of other tables."""
        regions = self._regions
        tables = self._messages if tables is None else tables
        order = stable_order(reads.region)
        region, source, axes = reads.region[order], reads.source[order], reads.axes[order]
        counts = np.bincount(region, minlength=len(regions.which))
        starts = starts_of(counts)
        blocks = starts_of(counts * np.diff(regions.starts))
        column = np.arange(len(region)) - starts[region]
        entries = empty_indices(blocks[-1], tables.starts[-1])
        pattern, theirs = regions.which[region], tables.which[source]
        for places in equal_rows([pattern, axes, theirs]):
            index = self._projected(int(pattern[places[0]]), int(axes[places[0]]))
            own = tables.orbits[theirs[places[0]]].orbit_of[index]
            for rows in in_parts(len(places), len(own)):
                part = places[rows]
                step = np.arange(len(own)) * counts[region[part]][:, None]
                where = (blocks[region[part]] + column[part])[:, None] + step
                entries[where] = tables.starts[source[part]][:, None] + own
        return MessageTerms(starts, entries, narrow(reads.what[order]), narrow(reads.inside[order]))


def _equal_masks(masks: Bools | None, places: Ints) -> list[Ints]:
    """The places whose masks are equal; all if there are none."""
    if masks is None:
        return [places]
    by_mask: dict[bytes, list[int]] = {}
    for place, row in zip(places.tolist(), np.packbits(masks, axis=1), strict=True):
        by_mask.setdefault(row.tobytes(), []).append(place)
    return [np.array(own) for own in by_mask.values()]


def _summed(
    shape: Sequence[int], axes: Axes, own: Orbits, targets: Orbits
) -> tuple[Ints, Ints, Ints]:
    """For a message: entries of the parent in order of message entries, their states, lengths."""
    alive = np.flatnonzero(own.orbit_of >= 0)
    target = targets.orbit_of[projection(shape, axes)[alive]]
    pairs, states = np.unique(target * len(own) + own.orbit_of[alive], return_counts=True)
    entry = pairs // len(own)
    lengths = np.bincount(entry, minlength=len(targets))
    return pairs % len(own), states // targets.sizes[entry], lengths
