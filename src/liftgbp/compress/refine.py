"""Colour refinement of ground regions, with frames and symmetries.

A round compares the multisets of names in all frames that the group allows, keeps the smallest, and
splits kinds whose regions differ; the next one looks at the neighbours of what has changed. Rounds
that look at many regions work on whole arrays, those that look at a few go through them one by one.

Multisets are compared by sums of 64-bit hashes; `verify` looks at the names themselves in the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from liftgbp.arrays import Hashes, Ints, hash_rows, mix, segment_sums
from liftgbp.compress.few import FewRegions
from liftgbp.compress.ground import GroundRegions, Progress, silent
from liftgbp.compress.kinds import Kinds
from liftgbp.compress.partition import INSIDE, Partition
from liftgbp.compress.potentials import Frames, stabilisers

_AT_ONCE = 4 * 10**6
"""How many hashes are held in memory at once."""


def refine(regions: GroundRegions, frames: Frames, progress: Progress = silent) -> Partition:
    """The coarsest kinds such that regions of one kind have neighbours of the same names."""
    partition = Partition(regions, frames)
    kinds = Kinds(partition.label)
    many, few = ManyRegions(partition, kinds), FewRegions(partition, kinds)
    affected = np.arange(len(regions))
    while len(affected):
        progress("refining", kinds.number, len(regions))
        affected = few.round(affected) if few.suits(affected) else many.round(affected)
        # A region without its like and without symmetries has nothing to be told apart from.
        affected = affected[~(kinds.alone(affected) & partition.rigid(affected))]
    return partition


class ManyRegions:
    """Rounds of refinement that look at many regions at once."""

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
        for kind in np.unique(group):
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
        return self._neighbours(affected[changed])

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

    def _neighbours(self, changed: Ints) -> Ints:
        found = [np.zeros(0, dtype=np.int64)]
        sizes = self._sizes[changed]
        for size in np.unique(sizes):
            own = changed[sizes == size]
            for relation, role in self._partition.roles(int(size)):
                pairs, _ = relation.pairs_of(own, self._partition.first(int(size)), role)
                other = relation.small if role == INSIDE else relation.large
                found.append(np.unique(other[pairs]))
        return np.unique(np.concatenate(found))
