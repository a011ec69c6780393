"""The potentials of ground regions: which are equal up to the order of variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.ground.compress.ground_regions import GroundRegions
from liftgbp.ground.compress.permutation_groups import Groups, block_permutations
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.support.arrays import (
    Bools,
    Floats,
    Hashes,
    Ints,
    distinct,
    equal_rows,
    group_rows,
    hash_rows,
    mix,
    starts_of,
)

_WEIGHTS_SEED = 1848


@dataclass(frozen=True, eq=False, slots=True)
class Frames:
    """How the axes of kinds of regions lie in each region.

    label   the kind of each region
    frame   per size of regions, which variable (by its place in ascending order) each axis is
    group   for each region the number of the group of its kind
    groups  the groups by number
    """

    label: Ints
    frame: tuple[Ints, ...]
    group: Ints
    groups: Groups


def first_frames(regions: GroundRegions, network: GroundNetwork, colours: Ints) -> Frames:
    """Regions are of one kind if their potentials are equal for some order of variables.

    That order becomes the frame, and the orders that leave the potential as it is the group.
    Variables of different colours are told apart.
    """
    groups = Groups()
    label = np.zeros(len(regions), dtype=np.int64)
    group = np.zeros(len(regions), dtype=np.int64)
    frames = []
    _, colour = np.unique(
        network.ranges * (1 + colours.max(initial=0)) + colours, return_inverse=True
    )
    known = 0
    # The tables of all factors, one after the other.
    entries = np.concatenate([np.zeros(0), *(table.ravel() for table in network.tables)])
    starts = starts_of(np.array([table.size for table in network.tables], dtype=np.int64))
    for number, rows in enumerate(regions.rows):
        stretch = slice(regions.starts[number], regions.starts[number + 1])
        outer = regions.outer[stretch]
        of_size = _OfSize(network.ranges, (entries, starts), groups, rows, colour.ravel(), outer)
        held = regions.held[number]
        own, frame, own_group = of_size.start(held.region - stretch.start, held.table, held.mask)
        label[stretch], group[stretch] = known + own, own_group
        known += 1 + int(own.max(initial=-1))
        frames.append(frame)
    return Frames(label, tuple(frames), group, groups)


class _OfSize:
    """The regions of one size."""

    def __init__(
        self,
        ranges: Ints,
        stack: tuple[Floats, Ints],
        groups: Groups,
        rows: Ints,
        colour: Ints,
        outer: Bools,
    ) -> None:
        self._ranges = ranges[rows]
        self._entries, self._table_starts = stack
        self._groups = groups
        self._rows = rows
        self._size = rows.shape[1]
        # Axes are sorted by colour, so that tables of regions with the same colours have one shape.
        self._order = np.argsort(colour[rows], axis=1, kind="stable")
        self._colours = np.take_along_axis(colour[rows], self._order, axis=1)
        self._outer = outer

    def start(self, region: Ints, table: Ints, mask: Ints) -> tuple[Ints, Ints, Ints]:
        """Kinds, frames and groups of all regions, given the factors inside them."""
        first, pattern = self._patterns(region, table, mask)
        kind = np.zeros(len(first), dtype=np.int64)
        known = 0
        best = np.tile(np.arange(self._size), (len(first), 1))
        group = np.full(len(first), self._groups.trivial(self._size))
        shapes, shape_of = group_rows(list(self._colours[first].T))
        counts = np.bincount(region, minlength=len(self._rows))
        starts = starts_of(counts)
        for number, example in enumerate(shapes):
            own = np.flatnonzero(shape_of == number)
            tables = self._tables(first[own], starts, counts, table, mask)
            colours = self._colours[first[example]]
            allowed = block_permutations(colours.tolist())
            parts = self._told_apart(tables, first[own])
            if allowed is not None:
                parts = iter([(np.arange(len(own)), best[own], tables, allowed)])
            for part, order, in_order, permitted in parts:
                places = own[part]
                found, turn, group[places] = self._canonical(in_order, first[places], permitted)
                kind[places] = known + found
                known += len(places)
                best[places] = np.take_along_axis(order, turn, axis=1)
        _, kinds = group_rows([kind, self._outer[first].astype(np.int64)])
        frame = np.take_along_axis(self._order, best[pattern], axis=1)
        return kinds[pattern], frame, group[pattern]

    def _patterns(self, region: Ints, table: Ints, mask: Ints) -> tuple[Ints, Ints]:
        """One region for all that have the same factors at the same places, and the one of each."""
        counts = np.bincount(region, minlength=len(self._rows))
        # Factors are sorted by region.
        _, what = group_rows([table, mask]) if len(table) else (None, table)
        starts = starts_of(counts)
        first_of: list[Ints] = []
        pattern = np.zeros(len(self._rows), dtype=np.int64)
        found = 0
        for count in distinct(counts):
            chosen = np.flatnonzero(counts == count)
            where = starts[chosen][:, None] + np.arange(count)
            columns = [
                *what[where].T,
                *self._colours[chosen].T,
                *self._order[chosen].T,
                self._outer[chosen],
            ]
            first, group = group_rows(columns)
            pattern[chosen] = found + group
            found += len(first)
            first_of.append(chosen[first])
        return np.concatenate([np.zeros(0, np.int64), *first_of]), pattern

    def _tables(self, chosen: Ints, starts: Ints, counts: Ints, table: Ints, mask: Ints) -> Floats:
        """The potentials of some regions of one shape, with axes in the order of colours.

        All factors of a state are added from the smallest to the largest, so that regions which
        hold the same factors at other places have the same numbers to the last digit.
        """
        ranges = self._ranges[chosen]
        shape = np.take_along_axis(ranges, self._order[chosen], axis=1)[0]
        digits = np.indices(shape).reshape(len(shape), math.prod(shape.tolist()))
        place = np.argsort(self._order[chosen], axis=1)
        total = np.zeros((len(chosen), digits.shape[1]))
        for count in distinct(counts[chosen]):
            rows = np.flatnonzero(counts[chosen] == count)
            values = np.zeros((count, len(rows), digits.shape[1]))
            for k in range(count):
                held = starts[chosen[rows]] + k
                index = np.zeros((len(rows), digits.shape[1]), dtype=np.int64)
                for axis in range(self._size):
                    inside = (mask[held] >> axis & 1).astype(bool)
                    index[inside] *= ranges[rows[inside], axis][:, None]
                    index[inside] += digits[place[rows[inside], axis]]
                values[k] = self._entries[self._table_starts[table[held]][:, None] + index]
            values.sort(axis=0)
            total[rows] = values.sum(axis=0)
        return total + 0.0

    def _told_apart(
        self, tables: Floats, chosen: Ints
    ) -> Iterator[tuple[Ints, Ints, Floats, Ints]]:
        """Tables of many axes, reordered by what the values say about single axes.

        Yields the places of tables, their orders, the tables in these orders, and the permutations
        that remain to be tried. Where too many remain, only the identity is tried.
        """
        shape = self._ranges[chosen[0]][self._order[chosen[0]]].tolist()
        colours = np.broadcast_to(self._colours[chosen[0]], (len(tables), self._size))
        marks = np.column_stack([_marks(tables, shape, axis) for axis in range(self._size)])
        order = np.lexsort((marks, colours), axis=-1)
        states = np.arange(tables.shape[1]).reshape(shape)
        in_order = np.empty_like(tables)
        for places in equal_rows(list(order.T)):
            index = states.transpose(order[places[0]]).ravel()
            in_order[places] = tables[places][:, index]
        marks = np.take_along_axis(marks, order, axis=1)
        new = (marks[:, 1:] != marks[:, :-1]) | (colours[:, 1:] != colours[:, :-1])
        for places in equal_rows(list(new.T)):
            runs = np.append(0, np.cumsum(new[places[0]]))
            allowed = block_permutations(runs.tolist())
            if allowed is None:
                allowed = np.arange(self._size)[None, :]
            yield places, order[places], in_order[places], allowed

    def _canonical(self, tables: Floats, chosen: Ints, allowed: Ints) -> tuple[Ints, Ints, Ints]:
        """For tables of one shape: the number of the canonical form, the frame and the group.

        Of all orders of axes, the one with the smallest hash gives the canonical form. Hashes find
        equal forms and symmetries, and the tables themselves confirm them.
        """
        shape = self._ranges[chosen[0]][self._order[chosen[0]]]
        states = np.arange(tables.shape[1]).reshape(shape)
        weights = np.random.default_rng(_WEIGHTS_SEED).integers(
            0, 2**63, size=tables.shape[1], dtype=np.uint64
        )
        # Column p weighs the states as they stand after permuting the axes by p.
        spread = np.empty((tables.shape[1], len(allowed)), dtype=np.uint64)
        for column, axes in enumerate(allowed):
            spread[states.transpose(axes).ravel(), column] = weights
        whole = self._groups.add(allowed)
        permutations = self._groups.elements(whole)
        order = np.lexsort(allowed.T[::-1])
        spread = spread[:, order]
        smallest = np.empty(len(tables), dtype=np.uint64)
        choices = np.empty(len(tables), dtype=np.int64)
        group = np.empty(len(tables), dtype=np.int64)
        for rows in _parts(len(tables), len(permutations) + tables.shape[1]):
            hashes = mix(tables[rows].view(np.uint64)) @ spread
            choices[rows] = choice = hashes.argmin(axis=1)
            smallest[rows] = np.take_along_axis(hashes, choice[:, None], axis=1).ravel()
            group[rows] = stabilisers(self._groups, whole, hashes, choice)
        forms = np.empty_like(tables)
        for places in equal_rows([choices]):
            index = states.transpose(permutations[choices[places[0]]]).ravel()
            forms[places] = tables[places][:, index]
        first, number = _equal_tables(forms, smallest)
        own_group = self._true_symmetries(forms[first], states, group[first])
        return number, permutations[choices], own_group[number]

    def _true_symmetries(self, tables: Floats, states: Ints, group: Ints) -> Ints:
        """The subgroups that leave tables as they are: the groups themselves, or hashes collide."""
        true = group.copy()
        for own in distinct(group).tolist():
            places = np.flatnonzero(group == own)
            unchanged = np.ones(len(places), dtype=bool)
            for axes in self._groups.generators(own):
                moved = tables[places][:, states.transpose(axes).ravel()]
                unchanged &= (moved == tables[places]).all(axis=1)
            for place in places[~unchanged].tolist():
                table = tables[place].reshape(states.shape)
                elements = self._groups.elements(own).tolist()
                kept = [np.array_equal(table.transpose(axes), table) for axes in elements]
                true[place] = self._groups.subgroup(own, np.array(kept))
        return true


def _equal_tables(tables: Floats, hashes: Hashes) -> tuple[Ints, Ints]:
    """The first of all equal tables, and for each table the number of those equal to it.

    Hashes find equal tables; the tables themselves confirm it.
    """
    first, number = group_rows([hashes])
    if (tables[first][number] != tables).any():
        _, first, number = np.unique(tables, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.ravel().astype(np.int64)


def _marks(tables: Floats, shape: Sequence[int], axis: int) -> Hashes:
    """A hash of what tables hold for each value of one axis, whatever the order of the others."""
    split = (len(tables), math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    sums = mix(tables.view(np.uint64)).reshape(split).sum(axis=(1, 3), dtype=np.uint64)
    return hash_rows(list(sums.T))


def stabilisers(groups: Groups, group: int, hashes: Hashes, choice: Ints) -> Ints:
    """For each row, the elements that leave it as it is once it has been moved by its choice."""
    if hashes.shape[1] == 1:
        return np.full(len(hashes), group, dtype=np.int64)
    moved = np.take_along_axis(hashes, groups.products(group)[choice], axis=1)
    kept = moved == moved[:, :1]
    packed = np.packbits(kept, axis=1)
    first, number = group_rows(list(packed.T))
    return np.array([groups.subgroup(group, kept[k]) for k in first], dtype=np.int64)[number]


def _parts(count: int, width: int, room: int = 10**7) -> Iterator[slice]:
    step = max(1, room // width)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
