"""Kinds of ground regions with frames and groups, and the names of neighbours under them.

A kind of regions has axes, a frame for each of its regions (which variable is which axis), and a
group of permutations of the axes under which nothing that is known about the kind changes. What is
known about a region in its frame are the *names* of its neighbours: for a region inside, its kind
and the axes where it lies, up to the group of its kind; for a region around, its kind and where its
axes one lies, up to the group of that kind.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from liftgbp.arrays import (
    Bools,
    Hashes,
    Ints,
    expand,
    group_rows,
    mix,
    positions_of,
    starts_of,
)
from liftgbp.compress.ground_regions import GroundRegions
from liftgbp.compress.permutation_groups import Groups
from liftgbp.compress.potentials import Frames
from liftgbp.errors import InternalError

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

    def pairs_at(self, place: int, role: int) -> Ints | slice:
        """The pairs of the region at one place."""
        if role == INSIDE:
            return slice(self.large_starts.item(place), self.large_starts.item(place + 1))
        return self.by_small[self.small_starts.item(place) : self.small_starts.item(place + 1)]


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
        self._starts: list[int] = regions.starts.tolist()

    def first(self, size: int) -> int:
        """The number of the first region of a size."""
        return self._starts[self._block[size]]

    def roles(self, size: int) -> Iterator[tuple[Relation, int]]:
        """The relations in which regions of a size take part, and whether as large or small."""
        for relation in self.relations:
            if relation.large_size == size:
                yield relation, INSIDE
            if relation.small_size == size:
                yield relation, AROUND

    def rigid(self, regions: Ints) -> Bools:
        """Which of these regions have no symmetry left."""
        return np.asarray(self.group[regions] == self._trivial[regions])

    @cached_property
    def _trivial(self) -> Ints:
        of_size = [self.groups.trivial(own.shape[1]) for own in self.frame]
        return np.repeat(np.array(of_size, dtype=np.int64), np.diff(self.regions.starts))

    @cached_property
    def degrees(self) -> Ints:
        """How many neighbours each region has."""
        degrees = np.zeros(len(self.regions), dtype=np.int64)
        for relation in self.relations:
            for own in (relation.large, relation.small):
                degrees += np.bincount(own, minlength=len(degrees))
        return degrees

    # --- single regions

    def size_of(self, region: int) -> int:
        """The number of variables of a region."""
        return int(self.frame[self._block_of(region)].shape[1])

    def frame_of(self, region: int) -> list[int]:
        """Which variable each axis of a region is."""
        block = self._block_of(region)
        frame: list[int] = self.frame[block][region - self._starts[block]].tolist()
        return frame

    def axis_of(self, region: int) -> list[int]:
        """Which axis each variable of a region is."""
        block = self._block_of(region)
        axis: list[int] = self.axis[block][region - self._starts[block]].tolist()
        return axis

    def _block_of(self, region: int) -> int:
        return bisect_right(self._starts, region) - 1

    # --- frames

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


def verify(partition: Partition, representative: Ints) -> None:
    """Check that every region has the neighbours of the representative of its kind.

    `representative` gives a region of the same kind for each region.
    """
    for role in (INSIDE, AROUND):
        _compare(partition, representative, role)


def _compare(partition: Partition, representative: Ints, role: int) -> None:
    owners, labels, codes, sorts = [], [], [], []
    for number, relation in enumerate(partition.relations):
        pairs = np.arange(len(relation.large))
        size = relation.large_size if role == INSIDE else relation.small_size
        own, other = relation.large, relation.small
        if role == AROUND:
            own, other = other, own
        names = partition.names(relation, pairs, role, partition.groups.trivial(size))
        owners.append(own)
        labels.append(partition.label[other])
        codes.append(names[:, 0])
        sorts.append(2 * number + relation.cover)
    if not owners:
        return
    owner = np.concatenate(owners)
    _, name = group_rows([np.concatenate(part) for part in (labels, codes, sorts)])
    order = np.lexsort((name, owner))
    name = name[order]
    counts = np.bincount(owner, minlength=len(representative))
    starts = starts_of(counts)
    if (counts != counts[representative]).any():
        raise InternalError("regions of one kind have different numbers of neighbours")
    twins = name[expand(starts[representative], counts)]
    if (name != twins).any():
        raise InternalError("regions of one kind have neighbours of different names")
