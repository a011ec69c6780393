"""Colour refinement of ground regions, with frames and symmetries.

A kind of regions has axes, a frame for each of its regions (which variable is which axis), and a
group of permutations of the axes under which nothing that is known about the kind changes. What is
known about a region in its frame are the *names* of its neighbours: for a region inside, its kind
and the axes where it lies, up to the group of its kind; for a region around, its kind and where its
axes one lies, up to the group of that kind. A round compares the multisets of names in all frames
that the group allows, keeps the smallest, and splits kinds whose regions differ.

Multisets are compared by sums of 64-bit hashes; `verify` looks at the names themselves in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import (
    Bools,
    Hashes,
    Ints,
    expand,
    group_rows,
    hash_rows,
    mix,
    positions_of,
    segment_sums,
    starts_of,
)
from liftgbp.compress.ground import GroundRegions, Progress, silent
from liftgbp.compress.groups import Groups
from liftgbp.compress.potentials import Frames, stabilisers

_AT_ONCE = 4 * 10**6
"""How many hashes are held in memory at once."""

_FEW = 4
"""Up to so many ways to write an embedding, looking for equal embeddings does not pay."""

INSIDE, AROUND = 0, 1


@dataclass(frozen=True, eq=False)
class Relation:
    """All pairs of a region of one size and a region of another size inside it.

    The variables of `small[p]` are those at `positions[p]` of `large[p]`, in ascending order. Pairs
    stand in the order of large regions; `by_small` lists them in the order of small ones.
    """

    large_size: int
    small_size: int
    large: Ints
    small: Ints
    positions: Ints
    cover: Bools
    by_small: Ints
    large_starts: Ints
    small_starts: Ints

    def pairs_of(self, regions: Ints, first: int, role: int) -> tuple[Ints, Ints]:
        """The pairs in which regions (numbered from `first`) are the large or the small one."""
        starts = self.large_starts if role == INSIDE else self.small_starts
        lengths = starts[regions - first + 1] - starts[regions - first]
        pairs = expand(starts[regions - first], lengths)
        return (pairs if role == INSIDE else self.by_small[pairs]), lengths


def relations(regions: GroundRegions) -> list[Relation]:
    """The pairs of regions and regions inside, for each two sizes."""
    parts: dict[tuple[int, int], list[tuple[Ints, Ints, Ints, Bools]]] = {}
    for pattern in regions.patterns:
        whole = (1 << pattern.size) - 1
        for column, mask in enumerate(pattern.masks):
            places = np.array(positions_of(mask), dtype=np.int64)
            count = len(pattern.regions)
            parts.setdefault((pattern.size, len(places)), []).append(
                (
                    pattern.regions,
                    pattern.members[:, column],
                    np.broadcast_to(places, (count, len(places))),
                    np.full(count, pattern.covers[mask] == [whole]),
                )
            )
    return [_relation(regions, *sizes, own) for sizes, own in sorted(parts.items())]


def _relation(
    regions: GroundRegions,
    large_size: int,
    small_size: int,
    parts: list[tuple[Ints, Ints, Ints, Bools]],
) -> Relation:
    large, small, positions, cover = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(large, kind="stable")
    large, small, positions, cover = large[order], small[order], positions[order], cover[order]
    bounds = regions.starts

    def starts(numbers: Ints, size: int) -> Ints:
        block = regions.block_of(size)
        first, last = bounds[block], bounds[block + 1]
        return starts_of(np.bincount(numbers - first, minlength=last - first))

    return Relation(
        large_size=large_size,
        small_size=small_size,
        large=large,
        small=small,
        positions=positions,
        cover=cover,
        by_small=np.argsort(small, kind="stable"),
        large_starts=starts(large, large_size),
        small_starts=starts(small, small_size),
    )


class Partition:
    """Kinds of regions with frames and groups, and the names of neighbours under them."""

    def __init__(self, regions: GroundRegions, frames: Frames) -> None:
        self.regions = regions
        self.groups: Groups = frames.groups
        self.label = frames.label.copy()
        self.group = frames.group.copy()
        self.frame = [own.copy() for own in frames.frame]
        # Where each variable stands in the frame: the inverse permutations.
        self.axis = [np.argsort(own, axis=1) for own in self.frame]
        self.relations = relations(regions)
        self._block = {rows.shape[1]: k for k, rows in enumerate(regions.rows)}

    def first(self, size: int) -> int:
        """The number of the first region of a size."""
        return int(self.regions.starts[self._block[size]])

    def embeddings(self, relation: Relation, pairs: Ints) -> Ints:
        """For each axis of the small region which axis of the large one it is."""
        return self.embed(relation.large[pairs], relation.small[pairs], relation.positions[pairs])

    def embed(self, large: Ints, small: Ints, positions: Ints) -> Ints:
        """The same for regions of two sizes, given the places of the small ones' variables."""
        here = self._block[int(self.regions.sizes[large[0]])] if len(large) else 0
        there = self._block[positions.shape[1]]
        frame = self.frame[there][small - self.regions.starts[there]]
        places = np.take_along_axis(positions, frame, axis=1)
        axis = self.axis[here][large - self.regions.starts[here]]
        return np.take_along_axis(axis, places, axis=1)

    def reframe(self, regions: Ints, size: int, by: Ints) -> None:
        """Permute the axes of regions."""
        block, rows = self._block[size], regions - self.first(size)
        frame = np.take_along_axis(self.frame[block][rows], by, axis=1)
        self.frame[block][rows] = frame
        self.axis[block][rows] = np.argsort(frame, axis=1)

    # --- names

    def names(self, relation: Relation, pairs: Ints, role: int, group: int) -> Hashes:
        """The codes of embeddings up to the other's group, for each element of one's own group.

        Element g stands for one's own frame permuted by g.
        """
        weights = code_weights(relation.large_size, relation.small_size)
        other = relation.small if role == INSIDE else relation.large
        rows = self.embeddings(relation, pairs)
        return self.codes(rows, weights, role, group, self.group[other[pairs]])

    def codes(
        self, rows: Ints, weights: Hashes, role: int, group: int, other_groups: Ints
    ) -> Hashes:
        """The same for embeddings as rows, when the others have these groups."""
        order = self.groups.order(group)
        codes = np.empty((len(rows), order), dtype=np.uint64)
        for theirs in np.unique(other_groups).tolist():
            own = np.flatnonzero(other_groups == theirs)
            distinct = back = np.arange(len(own))
            if order * self.groups.order(theirs) > _FEW:
                distinct, back = group_rows([rows[own].astype(np.uint64) @ weights])
            codes[own] = self._codes(rows[own[distinct]], weights, role, group, theirs)[back]
        return codes

    def _codes(self, rows: Ints, weights: Hashes, role: int, group: int, theirs: int) -> Hashes:
        codes = np.empty((len(rows), self.groups.order(group)), dtype=np.uint64)
        others = self.groups.elements(theirs)
        if role == INSIDE:
            for column, inverse in enumerate(self.groups.inverses(group)):
                variants = inverse[rows][:, others].astype(np.uint64) @ weights
                codes[:, column] = variants.min(axis=1)
        else:
            moved = others[:, rows].astype(np.uint64)
            for column, element in enumerate(self.groups.elements(group)):
                codes[:, column] = (moved[:, :, element] @ weights).min(axis=0)
        return codes


def code_weights(large_size: int, small_size: int) -> Hashes:
    """Weights that turn an embedding of axes into one number.

    The digits of a number to the base of the larger size, or random ones where that overflows.
    """
    if large_size**small_size < 2**64:
        return np.array([large_size**k for k in range(small_size)], dtype=np.uint64)
    return mix(np.arange(small_size, dtype=np.uint64))


def refine(regions: GroundRegions, frames: Frames, progress: Progress = silent) -> Partition:
    """The coarsest kinds such that regions of one kind have neighbours of the same names."""
    partition = Partition(regions, frames)
    refinement = _Refinement(partition)
    affected = np.arange(len(regions))
    while len(affected):
        progress("refining", refinement.kinds, len(regions))
        affected = refinement.round(affected)
    return partition


class _Refinement:
    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._sizes = partition.regions.sizes
        self.kinds = 1 + int(partition.label.max(initial=-1))
        self._count = np.bincount(partition.label, minlength=self.kinds)
        self._hash = np.zeros(self.kinds, dtype=np.uint64)

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
        changed = self._split(affected, hashes) | (new_group != group)
        partition.group[affected] = new_group
        return self._neighbours(affected[changed])

    def _parts(self, own: Ints, affected: Ints, size: int, group: int) -> Iterator[Ints]:
        """Regions in parts whose names fit into memory."""
        order = self._partition.groups.order(group)
        pairs = np.ones(len(own), dtype=np.int64)
        for relation, role in self._roles(size):
            _, lengths = relation.pairs_of(affected[own], self._partition.first(size), role)
            pairs += lengths
        part = np.cumsum(pairs * order) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(part)) + 1
        return iter(np.split(own, bounds))

    def _roles(self, size: int) -> Iterator[tuple[Relation, int]]:
        for relation in self._partition.relations:
            if relation.large_size == size:
                yield relation, INSIDE
            if relation.small_size == size:
                yield relation, AROUND

    def _hashes(self, regions: Ints, size: int, group: int) -> Hashes:
        """For each region the hash of its neighbours' names, for each element of its group."""
        partition = self._partition
        total = np.zeros((len(regions), partition.groups.order(group)), dtype=np.uint64)
        for relation, role in self._roles(size):
            pairs, lengths = relation.pairs_of(regions, partition.first(size), role)
            if not len(pairs):
                continue
            codes = partition.names(relation, pairs, role, group)
            other = relation.small if role == INSIDE else relation.large
            salt = hash_rows([partition.label[other[pairs]], relation.cover[pairs] + 2 * role])
            total += segment_sums(mix(mix(codes) + salt[:, None]), lengths)
        return total

    def _split(self, affected: Ints, hashes: Hashes) -> Bools:
        """Give new numbers to parts of kinds; tells which regions have got another one.

        Regions of a kind that are not affected have kept their hash, which is known by kind.
        """
        label = self._partition.label[affected]
        first, part = group_rows([label, hashes])
        size = np.bincount(part, minlength=len(first))
        old, value = label[first], hashes[first]
        np.subtract.at(self._count, old, size)
        keeps = value == self._hash[old]
        # A kind all of whose regions have changed leaves its number to its largest part.
        orphaned = self._count[old] == 0
        orphaned[np.isin(old, old[keeps])] = False
        largest = np.lexsort((-size, old))
        heads = largest[np.append(True, np.diff(old[largest]) != 0)] if len(old) else largest
        heir = np.zeros(len(first), dtype=bool)
        heir[heads] = True
        keeps |= heir & orphaned
        number = old.copy()
        fresh = np.flatnonzero(~keeps)
        number[fresh] = self.kinds + np.arange(len(fresh))
        self.kinds += len(fresh)
        self._hash = np.concatenate([self._hash, value[fresh]])
        self._hash[number[keeps]] = value[keeps]
        self._count = np.concatenate([self._count, np.zeros(len(fresh), dtype=np.int64)])
        np.add.at(self._count, number, size)
        self._partition.label[affected] = number[part]
        return np.asarray(~keeps[part])

    def _neighbours(self, changed: Ints) -> Ints:
        found = [np.zeros(0, dtype=np.int64)]
        sizes = self._sizes[changed]
        for size in np.unique(sizes):
            own = changed[sizes == size]
            for relation, role in self._roles(int(size)):
                pairs, _ = relation.pairs_of(own, self._partition.first(int(size)), role)
                other = relation.small if role == INSIDE else relation.large
                found.append(np.unique(other[pairs]))
        return np.unique(np.concatenate(found))
