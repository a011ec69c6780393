"""Colour refinement of ground regions, with frames and symmetries.

A round compares the multisets of names in all frames that the group allows, keeps the smallest, and
splits kinds whose regions differ; the next one looks at the neighbours of what has changed.

Multisets are compared by sums of 64-bit hashes. In the end the names themselves are compared, and
refinement goes on where hashes agree and names do not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from liftgbp.ground.compress.ground_regions import GroundRegions
from liftgbp.ground.compress.partition import Partition, unlike
from liftgbp.ground.compress.potentials import Frames, stabilisers
from liftgbp.support.arrays import (
    Bools,
    Hashes,
    Ints,
    distinct,
    first_places,
    group_rows,
    hash_rows,
    mix,
    row_order,
    segment_sums,
)
from liftgbp.support.progress import Progress, silent

_AT_ONCE = 4 * 10**6
"""How many hashes are held in memory at once."""


def refine(regions: GroundRegions, frames: Frames, progress: Progress = silent) -> Partition:
    """The coarsest kinds such that regions of one kind have neighbours of the same names."""
    partition = Partition(regions, frames)
    kinds = Kinds(partition.label)
    rounds = Rounds(partition, kinds)
    affected = np.arange(len(regions))
    while True:
        while len(affected):
            progress("refining", kinds.number, len(regions))
            affected = rounds.split(affected)
            # A region that is alone in its kind and has no symmetry cannot change any more.
            affected = affected[~(kinds.alone(affected) & partition.rigid(affected))]
        mistaken = _correct_mistakes(partition, kinds)
        if not len(mistaken):
            return partition
        affected = rounds.neighbours(mistaken)


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


class Rounds:
    """Rounds of refinement."""

    def __init__(self, partition: Partition, kinds: Kinds) -> None:
        self._partition = partition
        self._kinds = kinds
        self._sizes = partition.regions.sizes

    def split(self, affected: Ints) -> Ints:
        """Split the kinds of these regions; returns the regions whose neighbours have changed."""
        partition = self._partition
        hashes = np.zeros(len(affected), dtype=np.uint64)
        choice: list[tuple[Ints, int, Ints]] = []
        group = partition.group[affected]
        new_group = group.copy()
        sizes = self._sizes[affected]
        for kind in distinct(group):
            members = np.flatnonzero(group == kind)
            size = int(sizes[members[0]])
            for rows in self._parts(members, affected, size, int(kind)):
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

    def _parts(self, members: Ints, affected: Ints, size: int, group: int) -> Iterator[Ints]:
        """Regions in parts whose names fit into memory."""
        order = self._partition.groups.order(group)
        pairs = np.ones(len(members), dtype=np.int64)
        for relation, role in self._partition.roles(size):
            pairs += relation.stretches_of(affected[members], self._partition.first(size), role)[1]
        part = np.cumsum(pairs * order) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(part)) + 1
        return iter(np.split(members, bounds))

    def _hashes(self, regions: Ints, size: int, group: int) -> Hashes:
        """For each region the hash of its neighbours' names, for each element of its group."""
        partition = self._partition
        total = np.zeros((len(regions), partition.groups.order(group)), dtype=np.uint64)
        for relation, role in self._partition.roles(size):
            pairs, lengths = relation.pairs_of(regions, partition.first(size), role)
            if not len(pairs):
                continue
            codes = partition.names(relation, pairs, role, group)
            salt = hash_rows(
                [partition.label[relation.other(role)[pairs]], relation.cover[pairs] + 2 * role]
            )
            total += segment_sums(mix(mix(codes) + salt[:, None]), lengths)
        return total

    def neighbours(self, changed: Ints) -> Ints:
        """The regions inside and around these."""
        found = [np.zeros(0, dtype=np.int64)]
        sizes = self._sizes[changed]
        for size in distinct(sizes):
            of_size = changed[sizes == size]
            for relation, role in self._partition.roles(int(size)):
                pairs, _ = relation.pairs_of(of_size, self._partition.first(int(size)), role)
                found.append(distinct(relation.other(role)[pairs]))
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
