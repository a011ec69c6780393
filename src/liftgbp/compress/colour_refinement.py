"""Colour refinement of ground regions, with frames and symmetries.

A round compares the multisets of names in all frames that the group allows, keeps the smallest, and
splits kinds whose regions differ; the next one looks at the neighbours of what has changed. Rounds
that look at many regions work on whole arrays, those that look at a few go through them one by one.

Multisets are compared by sums of 64-bit hashes. In the end the names themselves are compared, and
refinement goes on where hashes agree and names do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from liftgbp.arrays import (
    Bools,
    Hashes,
    Ints,
    distinct,
    first_places,
    group_rows,
    hash_row,
    hash_rows,
    mix,
    mix_one,
    row_order,
    segment_sums,
)
from liftgbp.compress.ground_regions import GroundRegions
from liftgbp.compress.partition import AROUND, INSIDE, Partition, unlike
from liftgbp.compress.potentials import Frames, stabilisers
from liftgbp.progress import Progress, silent

_AT_ONCE = 4 * 10**6
"""How many hashes are held in memory at once."""


def refine(regions: GroundRegions, frames: Frames, progress: Progress = silent) -> Partition:
    """The coarsest kinds such that regions of one kind have neighbours of the same names."""
    partition = Partition(regions, frames)
    kinds = Kinds(partition.label)
    many, few = ManyRegions(partition, kinds), FewRegions(partition, kinds)
    affected = np.arange(len(regions))
    while True:
        while len(affected):
            progress("refining", kinds.number, len(regions))
            affected = few.round(affected) if few.suits(affected) else many.round(affected)
            # A region that is alone in its kind and has no symmetry cannot change any more.
            affected = affected[~(kinds.alone(affected) & partition.rigid(affected))]
        mistaken = _correct_mistakes(partition, kinds)
        if not len(mistaken):
            return partition
        affected = many.neighbours(mistaken)


def _correct_mistakes(partition: Partition, kinds: Kinds) -> Ints:
    """Part regions of one kind, and drop symmetries, that hashes alone have taken for granted.

    Returns the regions whose kinds or groups have changed: none, unless two hashes collide.
    """
    every = np.arange(len(partition.label))
    first = first_places(partition.label)
    wrong = unlike(partition, first[partition.label])
    if wrong.any():
        return every[kinds.split(every, wrong.astype(np.uint64))]
    changed = np.zeros(len(every), dtype=bool)
    own_group = partition.group[first]
    for group in distinct(own_group).tolist():
        examples = first[own_group == group]
        for example, kept in partition.lost_symmetries(examples, group):
            same = partition.label == partition.label[example]
            partition.group[same] = partition.groups.subgroup(group, kept)
            changed |= same
    return np.flatnonzero(changed)


class ManyRegions:
    """Rounds of refinement on arrays, for many regions."""

    def __init__(self, partition: Partition, kinds: Kinds) -> None:
        self._partition = partition
        self._kinds = kinds
        self._sizes = partition.regions.sizes

    def round(self, affected: Ints) -> Ints:
        """Split the kinds of these regions; returns the regions whose neighbours have changed."""
        partition = self._partition
        hashes = np.zeros(len(affected), dtype=np.uint64)
        choice: list[tuple[Ints, int, Ints]] = []
        group = partition.group[affected]
        new_group = group.copy()
        sizes = self._sizes[affected]
        for kind in distinct(group):
            own = np.flatnonzero(group == kind)
            size = int(sizes[own[0]])
            for rows in self._parts(own, affected, size, int(kind)):
                table = self._hashes(affected[rows], size, int(kind))
                best = table.argmin(axis=1)
                hashes[rows] = np.take_along_axis(table, best[:, None], axis=1).ravel()
                new_group[rows] = stabilisers(partition.groups, int(kind), table, best)
                moved = np.flatnonzero(best)
                elements = partition.groups.elements(int(kind))
                choice.append((affected[rows[moved]], size, elements[best[moved]]))
        # All names are read under the old frames; only now they may change.
        for regions, size, by in choice:
            partition.reframe(regions, size, by)
        changed = self._kinds.split(affected, hashes) | (new_group != group)
        partition.group[affected] = new_group
        return self.neighbours(affected[changed])

    def _parts(self, own: Ints, affected: Ints, size: int, group: int) -> Iterator[Ints]:
        """Regions in parts whose names fit into memory."""
        order = self._partition.groups.order(group)
        pairs = np.ones(len(own), dtype=np.int64)
        for relation, role in self._partition.roles(size):
            _, lengths = relation.pairs_of(affected[own], self._partition.first(size), role)
            pairs += lengths
        part = np.cumsum(pairs * order) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(part)) + 1
        return iter(np.split(own, bounds))

    def _hashes(self, regions: Ints, size: int, group: int) -> Hashes:
        """For each region the hash of its neighbours' names, for each element of its group."""
        partition = self._partition
        total = np.zeros((len(regions), partition.groups.order(group)), dtype=np.uint64)
        for relation, role in self._partition.roles(size):
            pairs, lengths = relation.pairs_of(regions, partition.first(size), role)
            if not len(pairs):
                continue
            codes = partition.names(relation, pairs, role, group)
            other = relation.small if role == INSIDE else relation.large
            salt = hash_rows([partition.label[other[pairs]], relation.cover[pairs] + 2 * role])
            total += segment_sums(mix(mix(codes) + salt[:, None]), lengths)
        return total

    def neighbours(self, changed: Ints) -> Ints:
        """The regions inside and around these."""
        found = [np.zeros(0, dtype=np.int64)]
        sizes = self._sizes[changed]
        for size in distinct(sizes):
            own = changed[sizes == size]
            for relation, role in self._partition.roles(int(size)):
                pairs, _ = relation.pairs_of(own, self._partition.first(int(size)), role)
                other = relation.small if role == INSIDE else relation.large
                found.append(distinct(other[pairs]))
        return distinct(np.concatenate(found))


class Kinds:
    """For each kind how many regions it has, and the hash of what is known about each of them.

    Where a kind falls into parts, one of them keeps the number: the regions that were not looked
    at, for their hash is known; or else the largest part, so that few regions change.
    """

    def __init__(self, label: Ints) -> None:
        self.label = label
        self.number = 1 + int(label.max(initial=-1))
        # There are never more kinds than regions, since each number belongs to some region.
        self._count = np.bincount(label, minlength=len(label))
        self._hash = np.zeros(len(label), dtype=np.uint64)

    def alone(self, regions: Ints) -> Bools:
        """Which of these regions are the only ones of their kinds."""
        return np.asarray(self._count[self.label[regions]] == 1)

    def split(self, regions: Ints, hashes: Hashes) -> Bools:
        """Number the parts of the kinds of these regions; tells which have got another number."""
        label = self.label[regions]
        first, part = group_rows([label, hashes])
        size = np.bincount(part, minlength=len(first))
        old, value = label[first], hashes[first]
        np.subtract.at(self._count, old, size)
        largest = row_order([old, -size])
        heads = largest[np.append(True, np.diff(old[largest]) != 0)] if len(old) else largest
        heir = np.zeros(len(first), dtype=bool)
        heir[heads] = True
        keeps = np.where(self._count[old] == 0, heir, value == self._hash[old])
        number = old.copy()
        fresh = np.flatnonzero(~keeps)
        number[fresh] = self.number + np.arange(len(fresh))
        self.number += len(fresh)
        self._hash[number] = value
        np.add.at(self._count, number, size)
        self.label[regions] = number[part]
        return np.asarray(~keeps[part])

    def split_few(self, regions: Sequence[int], hashes: Sequence[int]) -> set[int]:
        """The same without arrays; returns the regions that have got another number."""
        parts: dict[int, dict[int, list[int]]] = {}
        for region, value in zip(regions, hashes, strict=True):
            parts.setdefault(self.label.item(region), {}).setdefault(value, []).append(region)
        renumbered: set[int] = set()
        for old, own in parts.items():
            self._count[old] -= sum(map(len, own.values()))
            largest = max(own, key=lambda value: len(own[value]))
            keeper = self._hash.item(old) if self._count[old] else largest
            for value, part in own.items():
                number = old
                if value != keeper:
                    number = self.number
                    self.number += 1
                    renumbered.update(part)
                    self.label[part] = number
                self._hash[number] = value
                self._count[number] += len(part)
        return renumbered


MOST_REGIONS, MOST_NAMES = 64, 512
"""Rounds with more regions, or with more names in all frames together, work on arrays."""

Codes: TypeAlias = tuple[int, ...]


class _Neighbour(NamedTuple):
    """A region inside or around another one, with the places of the smaller one's variables."""

    region: int
    role: int
    cover: bool
    positions: tuple[int, ...]


class FewRegions:
    """Rounds of refinement region by region; what a region needs is gathered at first use."""

    def __init__(self, partition: Partition, kinds: Kinds) -> None:
        self._partition = partition
        self._groups = partition.groups
        self._kinds = kinds
        self._neighbours: dict[int, list[_Neighbour]] = {}
        self._codes: dict[tuple[int, int, int, tuple[int, ...]], Codes] = {}
        self._salts: dict[tuple[int, int], int] = {}

    def suits(self, regions: Ints) -> bool:
        """Whether there are so few names that arrays would be slower."""
        if len(regions) > MOST_REGIONS:
            return False
        orders = [self._groups.order(group) for group in self._partition.group[regions].tolist()]
        return int(self._partition.degrees[regions] @ np.array(orders)) <= MOST_NAMES

    def round(self, affected: Ints) -> Ints:
        """Split the kinds of these regions; returns the regions whose neighbours have changed."""
        partition, groups = self._partition, self._groups
        regions: list[int] = affected.tolist()
        old_groups: list[int] = partition.group[affected].tolist()
        tables = [self._hashes(*own) for own in zip(regions, old_groups, strict=True)]
        best = [min(table) for table in tables]
        changed: set[int] = set()
        # All names are read under the old frames; only now they may change.
        for region, group, table, least in zip(regions, old_groups, tables, best, strict=True):
            choice = table.index(least)
            if choice:
                size = partition.size_of(region)
                partition.reframe(np.array([region]), size, groups.elements(group)[[choice]])
            kept = self._stabiliser(group, table, choice)
            if kept != group:
                partition.group[region] = kept
                changed.add(region)
        changed |= self._kinds.split_few(regions, best)
        found = {near.region for region in changed for near in self._neighbours_of(region)}
        return np.array(sorted(found), dtype=np.int64)

    def _hashes(self, region: int, group: int) -> list[int]:
        """The hash of the names of a region's neighbours, for each element of its group."""
        partition = self._partition
        totals = [0] * self._groups.order(group)
        own_frame, own_axis = partition.frame_of(region), partition.axis_of(region)
        for other, role, cover, positions in self._neighbours_of(region):
            frame = partition.frame_of(other) if role == INSIDE else own_frame
            axis = own_axis if role == INSIDE else partition.axis_of(other)
            row = tuple([axis[positions[k]] for k in frame])
            salt = self._salt(self._kinds.label.item(other), cover + 2 * role)
            codes = self._mixed_codes(role, group, partition.group.item(other), row)
            for element, code in enumerate(codes):
                totals[element] += mix_one(code + salt)
        return [total % 2**64 for total in totals]

    def _salt(self, label: int, sort: int) -> int:
        key = label, sort
        if key not in self._salts:
            self._salts[key] = hash_row(key)
        return self._salts[key]

    def _mixed_codes(self, role: int, group: int, theirs: int, row: tuple[int, ...]) -> Codes:
        """The codes of an embedding for each element of the own group; few embeddings differ."""
        key = role, group, theirs, row
        if key not in self._codes:
            large = self._groups.elements(group if role == INSIDE else theirs).shape[1]
            codes = self._partition.codes(
                np.array(row, dtype=np.int64)[None, :],
                large,
                role,
                group,
                np.array([theirs]),
            )
            self._codes[key] = tuple(mix(codes)[0].tolist())
        return self._codes[key]

    def _stabiliser(self, group: int, table: list[int], choice: int) -> int:
        """The group of the elements that leave the chosen frame as good as it is."""
        if len(table) == 1:
            return group
        moved = self._groups.products(group)[choice].tolist()
        kept = [table[k] == table[choice] for k in moved]
        return self._groups.subgroup(group, np.array(kept))

    def _neighbours_of(self, region: int) -> list[_Neighbour]:
        if region not in self._neighbours:
            self._neighbours[region] = self._gather(region)
        return self._neighbours[region]

    def _gather(self, region: int) -> list[_Neighbour]:
        size = self._partition.size_of(region)
        found: list[_Neighbour] = []
        for relation, role in self._partition.roles(size):
            pairs = relation.pairs_at(region - self._partition.first(size), role)
            other = relation.large if role == AROUND else relation.small
            columns = other[pairs].tolist(), relation.cover[pairs].tolist()
            places = map(tuple, relation.positions[pairs].tolist())
            found += [
                _Neighbour(near, role, cover, own)
                for near, cover, own in zip(*columns, places, strict=True)
            ]
        return found
