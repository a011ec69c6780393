"""The flat arrays that solvers run on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from liftgbp.lift.regions.ground_pairs import GroundPairs
from liftgbp.support.arrays import (
    Floats,
    Ints,
    Ragged,
    Segments,
    Shared,
    expand,
    first_and_last,
    starts_of,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


LARGE = 10**5
"""From this many exponents on, SciPy's compiled product is worth its import."""


MOST_ROWS = 18
"""How many regions a plan prints."""


def freeze(value: object) -> None:
    """Make the arrays of a frozen value read-only."""
    for one in fields(value):  # type: ignore[arg-type]
        content = getattr(value, one.name)
        if isinstance(content, np.ndarray):
            content.setflags(write=False)
        elif isinstance(content, Shared):
            for item in content.values:
                if isinstance(item, np.ndarray):
                    item.setflags(write=False)


@dataclass(frozen=True, eq=False, slots=True)
class Potentials:
    """Factors inside regions that look alike, one per region.

    starts  the first belief entry of each region
    tables  the number of each factor's table
    index   which entry of its table each entry of a region reads
    """

    starts: Ints
    tables: Ints
    index: Ints

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False, slots=True)
class MessageTerms:
    """What enters the beliefs of regions.

    starts   the first term of each region, and the number of terms at the end
    entries  for each belief entry, one after the other, the entries that its region's terms read
    what     per term, whose entries these are: the lifted edge of a message, or a region
    inside   per term, how many of the edge's ground parents lie inside the region
    """

    starts: Ints
    entries: Ints
    what: Ints
    inside: Ints

    def __post_init__(self) -> None:
        freeze(self)


class Structure:
    """Stands for layouts that are equal; what follows from one of them is kept for all by it."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything lies, whatever the domain sizes and weights are.

    Belief entries of all regions follow each other, and so do message entries of all messages.
    An entry stands for an orbit of states under the symmetries of its table (or for one state, if
    the layout stores full tables); states that hard formulas rule out have no entry.

    shapes          per region, the range of each of its atoms
    entry_of        per region, for each state (a flat index into its shape) its entry counted from
                    the region's first one, or -1
    representatives per region, one state of each entry
    multiplicity    for each belief entry the number of states that it stands for
    atom_of_axis    per region, which kind of atom each axis is
    group_of_atom   for each kind of atom its group (atoms of one group have the same values)
    region_starts   the first belief entry of each region
    message_starts  the first message entry of each message
    terms           the messages that enter each region's belief; all of them, or, if the next two
                    are there, those into the region itself
    members         the regions inside each region, whose incoming messages enter its belief, too
    local           the messages among them that come from inside the region and must not enter
    potentials      the factors inside regions
    sources         belief entries of parents, grouped by the message entry that they sum up to
    source_counts   how many states of each source sum up to one state of the message
    source_starts   the first source of each message entry
    children        for each message entry the belief entry of the child
    order_choices   for each step of an order of all ground atoms, what its atoms may be conditioned
                    on: a region, an axis of it, and the axes of atoms that come before; without any
                    step no order is known
    alike_pairs     for each kind of exchangeable ground atoms, a region and two axes of it that are
                    such atoms
    ground_pairs    which ground variables share a region, where that is known
    structure       the same one for all layouts that are equal. These are different objects, as
                    plans that share a layout also have the same region graph
    """

    shapes: Shared[tuple[int, ...]]
    entry_of: Shared[Ints]
    representatives: Shared[Ints]
    multiplicity: Ints
    atom_of_axis: Ragged
    group_of_atom: tuple[int, ...]
    region_starts: Ints
    message_starts: Ints
    terms: MessageTerms
    members: MessageTerms | None
    local: MessageTerms | None
    potentials: tuple[Potentials, ...]
    sources: Ints
    source_counts: Ints
    source_starts: Ints
    children: Ints
    order_choices: tuple[tuple[tuple[int, int, tuple[int, ...]], ...], ...] = ()
    alike_pairs: tuple[tuple[int, int, int], ...] = ()
    ground_pairs: GroundPairs | None = None
    structure: Structure = field(default_factory=Structure, repr=False)

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def belief_entries(self) -> int:
        """The number of belief entries of all regions."""
        return len(self.multiplicity)

    @property
    def states(self) -> int:
        """The number of states of all regions, dead ones too."""
        counts = np.bincount(self.shapes.which, minlength=len(self.shapes.values)).tolist()
        return sum(n * math.prod(own) for n, own in zip(counts, self.shapes.values, strict=True))

    @property
    def message_entries(self) -> int:
        """The number of message entries of all messages."""
        return len(self.children)

    @cached_property
    def atom_ranges(self) -> tuple[int, ...]:
        """The number of values of each kind of atom."""
        shapes = Ragged.of(self.shapes.values)
        region, axis = self.place_of_atom
        return tuple(shapes.flat[shapes.starts[self.shapes.which[region]] + axis].tolist())

    @property
    def region_of_atom(self) -> Ints:
        """For each kind of atom the last region that has it; regions go from large to small."""
        return self.place_of_atom[0]

    @cached_property
    def place_of_atom(self) -> tuple[Ints, Ints]:
        """For each kind of atom the last region that has it, and its first axis there."""
        atoms = self.atom_of_axis
        # From the last axis of the first region to the first axis of the last one: of several
        # values for one place, NumPy keeps the last.
        sizes = np.diff(atoms.starts)
        region = np.repeat(np.arange(len(sizes)), sizes)
        axis = np.repeat(sizes, sizes) - 1 - (np.arange(len(region)) - atoms.starts[region])
        of_atom = atoms.flat[atoms.starts[region] + axis]
        last = np.zeros(len(self.group_of_atom), dtype=np.int64)
        last[of_atom] = np.arange(len(region))
        return _frozen_pair(region[last], axis[last])

    @cached_property
    def by_region(self) -> Segments:
        """The belief entries of regions."""
        return Segments(self.region_starts, self.belief_entries)

    @cached_property
    def by_message(self) -> Segments:
        """The message entries of messages."""
        return Segments(self.message_starts, self.message_entries)

    @cached_property
    def by_target(self) -> Segments:
        """The sources of message entries."""
        return Segments(self.source_starts, len(self.sources))

    @property
    def region_of(self) -> Ints:
        """The region of each belief entry."""
        return self.by_region.of

    @property
    def ends_of_messages(self) -> tuple[Ints, Ints]:
        """The regions that send and that receive each message."""
        parents = self.region_of[self.sources[self.source_starts[self.message_starts]]]
        return parents, self.region_of[self.children[self.message_starts]]

    @cached_property
    def levels(self) -> int:
        """The number of regions on the longest way from parents to children; 0 if all are alone."""
        parents, children = self.ends_of_messages
        level = np.ones(len(self.shapes), dtype=np.int64)
        # As many rounds as there are levels: a handful, for regions grow with each.
        while (level[parents] >= level[children]).any():
            np.maximum.at(level, children, level[parents] + 1)
        return int(level.max()) if len(parents) else 0

    @cached_property
    def exponent_terms(self) -> tuple[Ints, Ints]:
        """The term of each exponent, and the first exponent of each belief entry."""
        return self.spread(self.terms)

    def spread(self, terms: MessageTerms) -> tuple[Ints, Ints]:
        """For each belief entry the terms of its region, one after the other, and their starts."""
        lengths = np.diff(terms.starts)[self.region_of]
        which, starts = expand(terms.starts[self.region_of], lengths), starts_of(lengths)[:-1]
        return _frozen_pair(which, starts)

    @cached_property
    def state_counts(self) -> tuple[Floats | None, Floats | None]:
        """The numbers of states of belief entries and of sources; `None` where all are one."""
        counts = (self.multiplicity, self.source_counts)
        belief, source = (None if (own == 1).all() else own.astype(float) for own in counts)
        return belief, source

    def region_slice(self, region: int) -> slice:
        """The belief entries of a region."""
        start = self.region_starts.item(region)
        return slice(start, start + len(self.representatives[region]))

    @property
    def patterns(self) -> Ints:
        """Numbers of regions, equal for those whose tables have the same states in the same places.

        There may be millions of regions, but few patterns.
        """
        return self.entry_of.which

    def full_tables(self, regions: Ints, entries: Floats, missing: float) -> Floats:
        """The tables of regions of one pattern, which are the axis before those of the tables."""
        entry_of = self.entry_of[regions[0]]
        tables = entries.take(self.region_starts[regions][:, None] + entry_of, axis=-1)
        tables[..., entry_of < 0] = missing
        shape = *entries.shape[:-1], len(regions), *self.shapes[regions[0]]
        return np.asarray(tables.reshape(shape))

    def marginals(self, regions: Ints, axes: Sequence[int], beliefs: Floats) -> Floats:
        """The marginals of some axes, ascending, of regions of one pattern; stacked likewise."""
        tables = self.full_tables(regions, beliefs, missing=0.0)
        stack = tables.ndim - len(self.shapes[regions[0]])
        others = tuple(k for k in range(stack, tables.ndim) if k - stack not in axes)
        return np.asarray(tables.sum(axis=others) if others else tables)

    def full_table(self, region: int, entries: Floats, missing: float) -> Floats:
        """The table of a region, state by state, from all belief entries.

        The last axis numbers the entries; the axes before it stay in front of the table's.
        """
        stack = entries.shape[:-1]
        own = entries[..., self.region_slice(region)]
        own = np.concatenate([own, np.full((*stack, 1), missing)], axis=-1)
        return own.take(self.entry_of[region], axis=-1).reshape(*stack, *self.shapes[region])


def _frozen_pair(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


@dataclass(frozen=True, eq=False)
class Exponents:
    """A sparse matrix, row after row: how often each message entry enters each belief entry."""

    columns: Ints
    values: Floats | NDArray[np.int8]
    row_starts: Ints
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        # Named one by one: there is one of these for every point of a sweep.
        for array in (self.columns, self.values, self.row_starts):
            array.setflags(write=False)

    def __matmul__(self, messages: Floats) -> Floats:
        """The log of the product of powers of messages, for each belief entry.

        The last axis of messages numbers their entries. Values may have a leading axis, too, for a
        stack of matrices with the same columns.
        """
        if len(self.columns) > LARGE and self.values.ndim == 1:
            if messages.ndim == 1:
                return np.asarray(self.matrix @ messages)
            return np.array([self.matrix @ row for row in messages])
        shape = (*messages.shape[:-1], self.shape[0])
        if not len(self.columns):
            return np.zeros(shape)
        terms = self.values * messages.take(self.columns, axis=-1)
        sums = np.add.reduceat(terms, self._filled_starts, axis=-1)
        if sums.shape == shape:
            return np.asarray(sums)
        result = np.zeros(shape)
        result[..., self._filled] = sums
        return result

    def block(self, rows: slice) -> csr_array:
        """Some rows that follow each other, as a matrix that shares the memory of this one."""
        from scipy.sparse import csr_array

        ends = np.append(self.row_starts[rows.start : rows.stop + 1], len(self.columns))
        first, last = int(ends[0]), int(ends[rows.stop - rows.start])
        own = slice(first, last)
        row_ends = ends[: rows.stop - rows.start + 1] - first
        shape = rows.stop - rows.start, self.shape[1]
        return csr_array((self.values[own], self.columns[own], row_ends), shape=shape)

    def kept(self, rows: Ints) -> Exponents:
        """Some matrices of a stack; one that serves a whole stack stays as it is."""
        return self if self.values.ndim == 1 else replace(self, values=self.values[rows])

    @cached_property
    def _filled(self) -> Ints:
        """The rows that have entries; those of a region alone in the graph have none."""
        return np.flatnonzero(np.diff(np.append(self.row_starts, len(self.columns))))

    @cached_property
    def _filled_starts(self) -> Ints:
        return self.row_starts[self._filled]

    @cached_property
    def matrix(self) -> csr_array:
        """The same as a matrix of SciPy."""
        # Imported late: for small models that import takes longer than everything else together.
        from scipy.sparse import csr_array

        row_ends = np.append(self.row_starts, len(self.columns))
        return csr_array((self.values, self.columns, row_ends), shape=self.shape)


@dataclass(frozen=True, eq=False)
class Factored:
    """The same as a product: what enters regions is summed up before larger regions read it.

    A region that lies in many others has many parents, too; written out, each of those others would
    read each of its messages.
    """

    inflow: Exponents
    members: Exponents
    local: Exponents

    @property
    def values(self) -> Floats | NDArray[np.int8]:
        """The exponents of messages into regions."""
        return self.inflow.values

    def __matmul__(self, messages: Floats) -> Floats:
        """The log of the product of powers of messages, for each belief entry."""
        into = self.inflow @ messages
        total = self.members @ into
        total += into
        total += self.local @ messages
        return total

    def kept(self, rows: Ints) -> Factored:
        """Some products of a stack."""
        return replace(self, inflow=self.inflow.kept(rows))


def stacked(exponents: Sequence[Exponents | Factored]) -> Exponents | Factored:
    """The exponents of plans with one layout, as one for a stack of messages.

    Of a product, only what enters regions depends on domain sizes.
    """
    first = exponents[0]
    if all(own is first for own in exponents):
        return first
    values = np.array([own.values for own in exponents])
    if isinstance(first, Factored):
        return replace(first, inflow=replace(first.inflow, values=values))
    return replace(first, values=values)


@dataclass(frozen=True, eq=False)
class Plan:
    """A layout with the numbers of one model at one set of domain sizes.

    theta         the log potential of each belief entry
    theta_lost    what rounding took from it: the sum of both is exact
    exponents     log beliefs are `theta + exponents @ messages`
    weights       per region n times c, exactly: how often it counts in the free energy
    atom_counts   for each kind of atom how many ground atoms there are
    order_counts  how many ground atoms each step of the order of all atoms has
    alike_counts  how many atoms of each kind can be exchanged for one another
    log_offset    what atoms in no region and constant factors add to log Z
    """

    layout: Layout
    theta: Floats
    theta_lost: Floats
    exponents: Exponents | Factored
    weights: tuple[int, ...]
    atom_counts: tuple[int, ...]
    log_offset: float
    order_counts: tuple[int, ...] = ()
    alike_counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.theta.setflags(write=False)
        self.theta_lost.setflags(write=False)

    @cached_property
    def largest_weight(self) -> int:
        """The largest weight, whatever its sign."""
        return max(map(abs, self.weights), default=0)

    @cached_property
    def weight_array(self) -> Floats:
        """The weights as floats."""
        weights = np.array(self.weights, dtype=float)
        weights.setflags(write=False)
        return weights

    def __str__(self) -> str:
        layout, values = self.layout, self.exponents.values
        span = f" from {values.min():g} to {values.max():g}" if len(values) else ""
        head = (
            f"plan: {layout.belief_entries} belief entries in {len(layout.shapes)} regions, "
            f"{layout.message_entries} message entries in {len(layout.message_starts)} messages, "
            f"{len(values)} exponents{span}"
        )
        shown = first_and_last(len(layout.shapes), MOST_ROWS)
        gap = f"  … {len(layout.shapes) - MOST_ROWS} more …"
        return "\n".join([head, *(gap if k is None else self._row_text(k) for k in shown)])

    def _row_text(self, region: int) -> str:
        layout, shape = self.layout, self.layout.shapes[region]
        entries = layout.region_slice(region)
        alive = int(layout.multiplicity[entries].sum())
        terms = layout.terms.starts[region + 1] - layout.terms.starts[region]
        return (
            f"  {region}  {'×'.join(map(str, shape))}  {entries.stop - entries.start} entries "
            f"for {alive} of {math.prod(shape)} states  n·c={self.weights[region]}  {terms} terms"
        )
