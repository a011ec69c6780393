"""Compiling a lifted region graph into a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from liftgbp.errors import SizeError
from liftgbp.plan.orbits import Orbits, find_orbits
from liftgbp.plan.plan import Exponents, Floats, Ints, Layout, Plan
from liftgbp.plan.projection import project_states, projection
from liftgbp.plan.supports import alive_states
from liftgbp.regions import RegionGraph


def compile_plan(graph: RegionGraph, *, symmetric: bool = True) -> Plan:
    """The plan of a region graph with the tables of its model.

    Tables have one entry per orbit of states under the symmetries of their region; without
    `symmetric` they have one entry per state.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.regions import build_regions
    >>> from liftgbp.shatter import shatter
    >>> model = parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
    >>> print(compile_plan(build_regions(shatter(model, {"thing": 10}))))
    plan: 5 belief entries in 2 regions, 2 message entries in 1 messages, 8 exponents
      0  2×2  3 entries for 4 of 4 states  n·c=45  2 terms
      1  2  2 entries for 2 of 2 states  n·c=-80  1 terms
    """
    shapes = graph.shapes
    theta = [_potential(graph, region, shape) for region, shape in enumerate(shapes)]
    alive = alive_states(graph, shapes, theta)
    orbits = [
        find_orbits(shape, region.symmetries if symmetric else (), mask)
        for shape, region, mask in zip(shapes, graph.regions, alive, strict=True)
    ]
    return _fill(lay_out(graph, shapes, orbits, symmetric=symmetric), graph)


def refill(plan: Plan, graph: RegionGraph, *, same_tables: bool = False) -> Plan:
    """The plan of the same graph with other domain sizes and weights; the layout is shared.

    The graph must come from `graph.resized`, and rule out the same states. With `same_tables`, only
    sizes differ, and no table depends on them.
    """
    return _fill(plan.layout, graph, plan.theta if same_tables else None)


def _fill(layout: Layout, graph: RegionGraph, theta: Floats | None = None) -> Plan:
    if theta is None:
        theta = _concatenate(
            [_potential_of_states(graph, layout, r) for r in range(len(layout.shapes))]
        )
    try:
        return _numbers(layout, graph, theta)
    except OverflowError:
        raise SizeError(
            "the domain is too large: its counts exceed 1e308, the largest number of floating point"
        ) from None


def _numbers(layout: Layout, graph: RegionGraph, theta: Floats) -> Plan:
    weights = tuple(n * c for n, c in zip(graph.n, graph.counting_numbers, strict=True))
    # Solvers turn these into floats later; what is too large for that is refused here.
    float(max(map(abs, weights), default=0))
    return Plan(
        layout=layout,
        theta=theta,
        exponents=_exponents(graph, layout),
        weights=weights,
        atom_counts=graph.numbers_of_atoms,
        log_offset=graph.log_constant + _log_worlds_of_free_atoms(graph),
    )


def _potential_of_states(graph: RegionGraph, layout: Layout, region: int) -> Floats:
    """The sum of the log tables of all ground factors inside a region, for each of its entries."""
    states, shape = layout.representatives[region], layout.shapes[region]
    total = np.zeros(len(states))
    for held in graph.regions[region].held:
        table = graph.log_table(held.parfactor)
        total += table.ravel()[project_states(states, shape, held.axes)]
    return total


def _potential(graph: RegionGraph, region: int, shape: tuple[int, ...]) -> Floats:
    """The same for each state of the region, the impossible ones included."""
    total = np.zeros(shape)
    for held in graph.regions[region].held:
        table = graph.log_table(held.parfactor)
        order = np.argsort(held.axes)
        along = [shape[k] if k in held.axes else 1 for k in range(len(shape))]
        total += table.transpose(order).reshape(along)
    return total


def _log_worlds_of_free_atoms(graph: RegionGraph) -> float:
    """The log of the number of joint states of the ground atoms that lie in no region."""
    return math.fsum(count * math.log(values) for values, count in graph.free_atoms.items())


# --- the layout


def lay_out(
    graph: RegionGraph,
    shapes: Sequence[tuple[int, ...]],
    orbits: Sequence[Orbits],
    *,
    symmetric: bool,
) -> Layout:
    """Where beliefs and messages lie, and which entries each operation reads."""
    message_orbits = [
        find_orbits(
            shapes[m.child], m.symmetries if symmetric else (), orbits[m.child].orbit_of >= 0
        )
        for m in graph.messages
    ]
    region_starts = _starts([len(own) for own in orbits])
    message_starts = _starts([len(own) for own in message_orbits])
    terms = [list(_terms(graph, region)) for region in range(len(graph.regions))]
    sources, source_counts, source_starts = _sources(
        graph, shapes, orbits, message_orbits, region_starts
    )
    return Layout(
        shapes=tuple(shapes),
        entry_of=tuple(own.orbit_of for own in orbits),
        representatives=tuple(own.representatives for own in orbits),
        multiplicity=_concatenate_ints([own.sizes for own in orbits]),
        atom_of_axis=graph.atom_of_axis,
        group_of_atom=graph.group_of_atom,
        region_starts=region_starts,
        message_starts=message_starts,
        term_entries=tuple(
            _term_entries(graph, shape, own.representatives, message_orbits, message_starts, listed)
            for shape, own, listed in zip(shapes, orbits, terms, strict=True)
        ),
        term_edges=tuple(tuple(edge for edge, _, _ in own) for own in terms),
        term_inside=tuple(tuple(inside for _, _, inside in own) for own in terms),
        sources=sources,
        source_counts=source_counts,
        source_starts=source_starts,
        children=_concatenate_ints(
            [
                region_starts[m.child] + orbits[m.child].orbit_of[own.representatives]
                for m, own in zip(graph.messages, message_orbits, strict=True)
            ]
        ),
    )


def _terms(graph: RegionGraph, region: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """What enters a region's belief: an edge, the atoms it reads, its parents inside the region."""
    cluster = graph.regions[region].cluster
    for edge in graph.edges_into[region]:
        yield edge, graph.edges[edge].axes, 0
    for member in graph.regions[region].members:
        assert len(member.axes) < len(cluster)
        for edge in graph.edges_into[member.region]:
            axes = tuple(member.axes[k] for k in graph.edges[edge].axes)
            yield edge, axes, member.local_parents.get(edge, 0)


def _term_entries(
    graph: RegionGraph,
    shape: tuple[int, ...],
    states: Ints,
    message_orbits: Sequence[Orbits],
    message_starts: Ints,
    terms: Sequence[tuple[int, tuple[int, ...], int]],
) -> Ints:
    entries = np.empty((len(states), len(terms)), dtype=np.int64)
    for column, (number, axes, _) in enumerate(terms):
        message = graph.edges[number].message
        index = project_states(states, shape, axes)
        entries[:, column] = message_starts[message] + message_orbits[message].orbit_of[index]
    return entries


def _sources(
    graph: RegionGraph,
    shapes: Sequence[tuple[int, ...]],
    orbits: Sequence[Orbits],
    message_orbits: Sequence[Orbits],
    region_starts: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Which belief entries sum up to which message entries, and with how many states each.

    All states of the parent are counted by (message entry, belief entry); for symmetry, each state
    of a message entry gets the same share.
    """
    sources: list[Ints] = []
    counts: list[Ints] = []
    lengths: list[Ints] = []
    for message, targets in zip(graph.messages, message_orbits, strict=True):
        own = orbits[message.parent]
        alive = np.flatnonzero(own.orbit_of >= 0)
        target = targets.orbit_of[projection(shapes[message.parent], message.axes)[alive]]
        pairs, states = np.unique(target * len(own) + own.orbit_of[alive], return_counts=True)
        entry = pairs // len(own)
        sources.append(region_starts[message.parent] + pairs % len(own))
        counts.append(states // targets.sizes[entry])
        lengths.append(np.bincount(entry, minlength=len(targets)))
    return (
        _concatenate_ints(sources),
        _concatenate_ints(counts),
        _starts(_concatenate_ints(lengths)),
    )


def _starts(lengths: Sequence[int] | Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)[: len(lengths)]


def _concatenate(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)


def _concatenate_ints(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


# --- the numbers


def _exponents(graph: RegionGraph, layout: Layout) -> Exponents:
    """How often each message entry is multiplied into each belief entry."""
    terms, terms_of = layout.exponent_terms
    # Counts are integers up to here, so that no digits are lost in the difference.
    values = np.array([float(graph.kappa[edge] - inside) for edge, inside in terms], dtype=float)
    return Exponents(
        columns=layout.exponent_columns,
        values=_concatenate(
            [
                np.broadcast_to(values[own], entries.shape).ravel()
                for own, entries in zip(terms_of, layout.term_entries, strict=True)
            ]
        ),
        row_starts=layout.exponent_rows,
        shape=(layout.belief_entries, layout.message_entries),
    )
