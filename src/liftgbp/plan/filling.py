"""Filling layouts with numbers: what potentials, counts and weights are at some domain sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from liftgbp.lift.regions import ExactCounts, RegionGraph
from liftgbp.plan.plan import Exponents, Factored, Layout, MessageTerms, Plan
from liftgbp.support.arrays import (
    UNITS,
    Floats,
    Integers,
    Ints,
    expand,
    group_rows,
    in_parts,
    narrow,
)
from liftgbp.support.errors import SizeError

LARGEST = 1e306
"""The energy of all ground regions of a kind is less: sums over kinds and states need some room."""


def fill(layout: Layout, graph: RegionGraph, known: Plan | None = None) -> Plan:
    """The plan of a graph on its layout; `known` has the tables if they are the same."""
    if known is None:
        theta, lost = _theta(layout, lambda number: graph.log_table(number).ravel())
    else:
        theta, lost = known.theta, known.theta_lost
    try:
        # Solvers turn weights into floats later, and multiply them by what factors add to log Z;
        # what is too large for that is refused here.
        _check_energy(max(map(abs, graph.weights), default=0), theta)
        free = math.fsum(n * math.log(values) for values, n in graph.free_atoms.items())
        return Plan(
            layout=layout,
            theta=theta,
            theta_lost=lost,
            exponents=_exponents(graph.kappa_array, layout),
            weights=graph.weights,
            atom_counts=graph.numbers_of_atoms,
            log_offset=graph.log_constant + free,
            order_counts=graph.order_counts if layout.order_choices else (),
            alike_counts=graph.alike_counts if layout.alike_pairs else (),
        )
    except OverflowError:
        raise _too_large() from None


def refill(plan: Plan, graph: RegionGraph, *, same_tables: bool = False) -> Plan:
    """The plan of the same graph with other domain sizes and weights; the layout is shared.

    The graph must come from `graph.resized`, and rule out the same states. With `same_tables`, only
    sizes differ, and no table depends on them.
    """
    return fill(plan.layout, graph, plan if same_tables else None)


def refill_all(
    plan: Plan, counts: ExactCounts[Integers], tables: Sequence[Floats], constants: Sequence[int]
) -> list[Plan]:
    """The plans of the same graph with many domain sizes at once, as `refill` makes each of them.

    `tables` are the log tables of each parfactor at all sizes; `constants` are what factors without
    atoms add to log Z, in the smallest doubles.
    """
    layout, number = plan.layout, len(constants)
    flat = [table.reshape(len(table), -1) for table in tables]
    theta, lost = _theta(layout, lambda table: flat[table], (number,))

    def by_size(columns: Iterable[Integers]) -> list[tuple[int, ...]]:
        return list(zip(*(column.tolist() for column in columns), strict=True)) or [()] * number

    try:
        weights = by_size(counts.weights)
        _check_energy([max(map(abs, row), default=0) for row in weights], theta)
        atoms = by_size(counts.atom_counts.values())
        orders = by_size(counts.order_counts if layout.order_choices else ())
        alike = by_size(counts.alike_counts if layout.alike_pairs else ())
        worlds = np.zeros(number)
        for values, count in counts.free_atoms.items():
            worlds += count.astype(float) * math.log(values)
        offsets = [one / UNITS + more for one, more in zip(constants, worlds.tolist(), strict=True)]
        if len(layout.terms.what):
            exponents = [_exponents(kappa, layout) for kappa in np.stack(counts.kappa, axis=-1)]
        else:
            # The same for all sizes, which solvers take as one matrix.
            exponents = [plan.exponents] * number
        columns = (theta, lost, exponents, weights, atoms, offsets, orders, alike)
        return [Plan(layout, *row) for row in zip(*columns, strict=True)]
    except OverflowError:
        raise _too_large() from None


def _too_large() -> SizeError:
    return SizeError(
        "the domain is too large: its counts, or the energy of its worlds, exceed 1e308, the "
        "largest number of floating point"
    )


def _check_energy(largest: int | list[int], theta: Floats) -> None:
    """Refuse energies that are too large; one for each stacked theta."""
    sizes = np.abs(theta, where=np.isfinite(theta), out=np.zeros_like(theta))
    with np.errstate(over="ignore"):  # infinite energies are refused, too
        energies = np.array(largest, dtype=float) * sizes.max(axis=-1, initial=1)
    if not (energies < LARGEST).all():
        raise OverflowError


def _theta(
    layout: Layout, table: Callable[[int], Floats], stack: tuple[int, ...] = ()
) -> tuple[Floats, Floats]:
    """The sum of the log tables of all ground factors inside a region, for each of its entries.

    Beside it, what the sum has lost to rounding. A factor lies in many regions, and counts once
    only if their sums cancel: over N² pairs, the last digit of a sum is worth N² times as much.
    `table` gives the log table of a factor, flat; those of a `stack` have an axis before it.
    """
    theta = np.zeros((*stack, layout.belief_entries))
    lost = np.zeros((*stack, layout.belief_entries))
    for part in layout.potentials:
        first, which = group_rows([part.tables])
        tables = np.stack([table(number) for number in part.tables[first].tolist()], axis=-2)
        for rows in in_parts(len(which), len(part.index)):
            places = part.starts[rows][:, None] + np.arange(len(part.index))
            sums, more = theta[..., places], tables[..., part.index][..., which[rows], :]
            total = sums + more
            # What a sum of two doubles loses is a double (D. E. Knuth, The Art of Computer
            # Programming, volume 2, section 4.2.2).
            added = total - sums
            theta[..., places] = total
            rest = (sums - (total - added)) + (more - added)
            if rest.any():
                lost[..., places] += rest
    return theta, lost


def _exponents(kappa: Integers | Ints, layout: Layout) -> Exponents | Factored:
    """How often each message entry is multiplied into each belief entry."""
    terms = layout.terms
    exponents = (kappa[terms.what] - terms.inside).astype(float)
    shape = layout.belief_entries, layout.message_entries
    if layout.members is None or layout.local is None:
        which, row_starts = layout.exponent_terms
        return Exponents(terms.entries, exponents[which], row_starts, shape)
    square = layout.belief_entries, layout.belief_entries
    return Factored(
        inflow=_matrix(layout, terms, exponents, shape),
        members=_matrix(layout, layout.members, np.ones(len(layout.members.what)), square),
        local=_matrix(layout, layout.local, -layout.local.inside.astype(float), shape),
    )


def _matrix(
    layout: Layout, terms: MessageTerms, values: Floats, shape: tuple[int, int]
) -> Exponents:
    """A large matrix of these terms, in little memory."""
    # Nearly all values are one, and a byte is enough for most that are not.
    small = bool((np.abs(values) <= np.iinfo(np.int8).max).all())
    stored = values.astype(np.int8) if small else values
    lengths = narrow(np.diff(terms.starts))[layout.region_of]
    row_starts = np.zeros_like(terms.entries, shape=len(lengths))
    np.cumsum(lengths[:-1], out=row_starts[1:])
    if len(stored) and (stored == stored[0]).all():
        spread = np.full(len(terms.entries), stored[0])
    else:
        spread = stored[expand(terms.starts[layout.region_of], lengths)]
    return Exponents(terms.entries, spread, row_starts, shape)
