"""Kinds of ground regions with frames and groups, and the names of neighbours under them.

A kind of regions has axes, a frame for each of its regions (which variable is which axis), and a
group of permutations of the axes under which nothing that is known about the kind changes. What is
known about a region in its frame are the *names* of its neighbours: for a region inside, its kind
and the axes where it lies, up to the group of its kind; for a region around, its kind and where its
axes one lies, up to the group of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np

from liftgbp.ground.compress.ground_regions import GroundRegions
from liftgbp.ground.compress.permutation_groups import Groups
from liftgbp.ground.compress.potentials import Frames
from liftgbp.lift.regions.graph_arrays import Interner, numbers_of_rows
from liftgbp.support.arrays import (
    Bools,
    Hashes,
    Ints,
    distinct,
    expand,
    group_rows,
    positions_of,
    row_order,
    stable_order,
    starts_of,
)

_FEW = 4
"""Up to this many ways to write an embedding, finding equal embeddings first is not worth it."""

CODES = 2**64
"""How many different codes one number has room for."""

INSIDE, AROUND = 0, 1

CodePart: TypeAlias = tuple[slice, Hashes]
"""Some columns of embeddings, and the weights that turn them into one number."""


@dataclass(frozen=True, eq=False)
class Containment:
    """All pairs of a region of one size and a region of another size inside it.

    The variables of `small[p]` are those at `positions[p]` of `large[p]`, in ascending order. Pairs
    are sorted by large region; `by_small` sorts them by small region.
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
        starts, lengths = self.stretches_of(regions, first, role)
        pairs = expand(starts, lengths)
        return (pairs if role == INSIDE else self.by_small[pairs]), lengths

    def other(self, role: int) -> Ints:
        """For each pair the region beside the one in this role."""
        return self.small if role == INSIDE else self.large

    def stretches_of(self, regions: Ints, first: int, role: int) -> tuple[Ints, Ints]:
        """Where these pairs start for each region, in the order for its role, and how many."""
        starts = self.large_starts if role == INSIDE else self.small_starts
        own = starts[regions - first]
        return own, starts[regions - first + 1] - own


def in_bytes(places: Ints) -> Ints:
    """Places of variables in a region, or axes, which are few: an eighth of the memory."""
    return cast(Ints, places.astype(np.int8))


_Inside: TypeAlias = tuple[Ints, Ints, tuple[int, ...], bool]
"""Regions of one pattern, the regions at one place inside them, that place, and whether they cover
it."""


def relations(regions: GroundRegions) -> list[Containment]:
    """The pairs of regions and regions inside, for each two sizes."""
    parts: dict[tuple[int, int], list[_Inside]] = {}
    for pattern in regions.patterns:
        whole = (1 << pattern.size) - 1
        for column, mask in enumerate(pattern.masks):
            places, is_cover = positions_of(mask), pattern.covers[mask] == [whole]
            inside = pattern.regions, pattern.members[:, column], places, is_cover
            parts.setdefault((pattern.size, len(places)), []).append(inside)
    return [_relation(regions, *sizes, own) for sizes, own in sorted(parts.items())]


def _relation(
    regions: GroundRegions, large_size: int, small_size: int, parts: list[_Inside]
) -> Containment:
    larges, smalls, places, covers = zip(*parts, strict=True)
    large, small = np.concatenate(larges), np.concatenate(smalls)
    counts = list(map(len, larges))
    positions = np.repeat(in_bytes(np.array(places)), counts, axis=0)
    cover = np.repeat(np.array(covers), counts)
    order = stable_order(large)
    large, small, positions, cover = large[order], small[order], positions[order], cover[order]
    blocks = {rows.shape[1]: block for block, rows in enumerate(regions.rows)}

    def starts(numbers: Ints, size: int) -> Ints:
        first, last = regions.starts[blocks[size] :][:2]
        return starts_of(np.bincount(numbers - first, minlength=last - first))

    return Containment(
        large_size=large_size,
        small_size=small_size,
        large=large,
        small=small,
        positions=positions,
        cover=cover,
        by_small=stable_order(small),
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
        self.frame = [in_bytes(own) for own in frames.frame]
        # The axis of each variable: the inverse permutations.
        self.axis = [in_bytes(np.argsort(own, axis=1)) for own in self.frame]
        self.relations = relations(regions)
        self._block = {rows.shape[1]: k for k, rows in enumerate(regions.rows)}
        self._starts: list[int] = regions.starts.tolist()
        self._wide_codes: Interner[tuple[int, ...]] = Interner()

    def first(self, size: int) -> int:
        """The number of the first region of a size."""
        return self._starts[self._block[size]]

    def roles(self, size: int) -> Iterator[tuple[Containment, int]]:
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

    # --- symmetries

    def lost_symmetries(self, regions: Ints, group: int) -> Iterator[tuple[int, Bools]]:
        """The regions that some element of their group changes, with the elements that do not.

        An element changes a region if its neighbours have other names in the permuted frame.
        """
        number = {element: k for k, element in enumerate(map(tuple, self.groups.elements(group)))}
        generators = [number[own] for own in self.groups.generators(group)]
        changed = ~self._unchanged(regions, group, generators).all(axis=1)
        every = range(self.groups.order(group))
        for region in regions[changed].tolist():
            yield region, self._unchanged(np.array([region]), group, every)[0]

    def _unchanged(self, regions: Ints, group: int, elements: Sequence[int]) -> Bools:
        """For regions of one group and some of its elements, which change no name."""
        size = self.groups.elements(group).shape[1]
        unchanged = np.ones((len(regions), len(elements)), dtype=bool)
        if not elements:
            return unchanged
        for relation, role in self.roles(size):
            pairs, lengths = relation.pairs_of(regions, self.first(size), role)
            label, cover = self.label[relation.other(role)[pairs]], relation.cover[pairs]
            codes = self.names(relation, pairs, role, group)
            owner = np.repeat(np.arange(len(regions)), lengths)
            plain = codes[row_order([owner, label, cover, codes[:, 0]]), 0]
            for column, element in enumerate(elements):
                moved = codes[row_order([owner, label, cover, codes[:, element]]), element]
                unchanged[owner[moved != plain], column] = False
        return unchanged

    # --- frames

    def embeddings(self, relation: Containment, pairs: Ints) -> Ints:
        """For each axis of the small region which axis of the large one it is."""
        return self.embed(relation.large[pairs], relation.small[pairs], relation.positions[pairs])

    def embed(self, large: Ints, small: Ints, positions: Ints) -> Ints:
        """The same for regions of two sizes, given the places of the small ones' variables."""
        here = self._block[int(self.regions.sizes[large[0]])] if len(large) else 0
        there = self._block[positions.shape[1]]
        places = positions
        if positions.shape[1] > 1:
            frame = self.frame[there][small - self._starts[there]]
            places = np.take_along_axis(positions, frame, axis=1)
        axis = self.axis[here]
        rows = (large - self._starts[here])[:, None]
        return np.asarray(axis.ravel()[rows * axis.shape[1] + places])

    def reframe(self, regions: Ints, size: int, by: Ints) -> None:
        """Permute the axes of regions."""
        block, rows = self._block[size], regions - self.first(size)
        frame = np.take_along_axis(self.frame[block][rows], by, axis=1)
        self.frame[block][rows] = frame
        self.axis[block][rows] = np.argsort(frame, axis=1)

    # --- names

    def names(self, relation: Containment, pairs: Ints, role: int, group: int) -> Hashes:
        """The codes of embeddings up to the neighbour's group, for each element of the own group.

        Column g has the codes after permuting the own frame by g.
        """
        rows = self.embeddings(relation, pairs)
        return self.codes(
            rows, relation.large_size, role, group, self.group[relation.other(role)[pairs]]
        )

    def codes(
        self, rows: Ints, large_size: int, role: int, group: int, other_groups: Ints
    ) -> Hashes:
        """The same for embeddings as rows, when the others have these groups.

        Equal codes mean equal embeddings: codes are exact, not hashes.
        """
        parts = code_parts(large_size, rows.shape[1])
        order = self.groups.order(group)
        groups: list[int] = distinct(other_groups).tolist()
        if len(groups) == 1 and order * self.groups.order(groups[0]) == 1:
            # No symmetries at all: most regions of networks in which hardly anything is alike.
            return self._smallest(rows[:, None], parts, axis=1)[:, None]
        codes = np.empty((len(rows), order), dtype=np.uint64)
        for theirs in groups:
            own = np.flatnonzero(other_groups == theirs)
            examples = back = np.arange(len(own))
            if order * self.groups.order(theirs) > _FEW:
                examples, back = group_rows([_code(rows[own], part) for part in parts])
            codes[own] = self._codes(rows[own[examples]], parts, role, group, theirs)[back]
        return codes

    def _codes(
        self, rows: Ints, parts: Sequence[CodePart], role: int, group: int, theirs: int
    ) -> Hashes:
        codes = np.empty((len(rows), self.groups.order(group)), dtype=np.uint64)
        others = self.groups.elements(theirs)
        if role == INSIDE:
            for column, inverse in enumerate(self.groups.inverses(group)):
                codes[:, column] = self._smallest(inverse[rows][:, others], parts, axis=1)
        else:
            moved = others[:, rows]
            for column, element in enumerate(self.groups.elements(group)):
                codes[:, column] = self._smallest(moved[:, :, element], parts, axis=0)
        return codes

    def _smallest(self, variants: Ints, parts: Sequence[CodePart], axis: int) -> Hashes:
        """The code of the smallest of several ways to write each embedding."""
        if len(parts) == 1:
            return np.asarray(_code(variants, parts[0]).min(axis=axis))
        # Part by part; a variant that was larger in one part is out of the running.
        smallest: list[Hashes] = []
        running = np.ones(variants.shape[:-1], dtype=bool)
        for part in parts:
            code = np.where(running, _code(variants, part), np.uint64(2**64 - 1))
            smallest.append(code.min(axis=axis))
            running &= code == np.expand_dims(smallest[-1], axis)
        rows = np.column_stack(smallest).view(np.int64)
        return numbers_of_rows(self._wide_codes, rows).astype(np.uint64)


def code_parts(large_size: int, small_size: int) -> list[CodePart]:
    """How embeddings become numbers: their digits to the base of the larger size.

    One number has room for few columns of very large regions; these have several parts.

    >>> [(columns.start, columns.stop) for columns, _ in code_parts(20, 16)]
    [(0, 14), (14, 16)]
    """
    width = 1
    while width < small_size and large_size ** (width + 1) < CODES:
        width += 1
    weights = np.array([large_size**k for k in range(width)], dtype=np.uint64)
    starts = range(0, max(1, small_size), width)
    stops = [min(start + width, small_size) for start in starts]
    return [(slice(a, b), weights[: b - a]) for a, b in zip(starts, stops, strict=True)]


def _code(rows: Ints, part: CodePart) -> Hashes:
    columns, weights = part
    digits = rows[..., columns]
    if not len(weights):
        return np.zeros(rows.shape[:-1], dtype=np.uint64)
    # Column by column: a product of whole numbers takes six times as long. The first weight is 1.
    total = digits[..., 0].astype(np.uint64)
    for column in range(1, len(weights)):
        total += digits[..., column].astype(np.uint64) * weights[column]
    return np.asarray(total)


# --- comparing the names themselves, where refinement compares hashes of them


def unlike(partition: Partition, representative: Ints) -> Bools:
    """Which regions have neighbours of other names than the representative of their kind has.

    `representative` gives a region of the same kind for each region.
    """
    found = np.zeros(len(representative), dtype=bool)
    # A region that represents nothing but itself has nothing to be compared with.
    several = representative != np.arange(len(representative))
    several[representative[several]] = True
    compared = np.flatnonzero(several)
    sizes = partition.regions.sizes[compared]
    for size in distinct(sizes).tolist():
        regions = compared[sizes == size]
        theirs = np.searchsorted(regions, representative[regions])
        for relation, role in partition.roles(size):
            names, starts = _sorted_names(partition, relation, role, regions)
            lengths = np.diff(starts)
            unequal = lengths != lengths[theirs]
            found[regions[unequal]] = True
            lengths = np.where(unequal, 0, lengths)
            here, there = expand(starts[:-1], lengths), expand(starts[theirs], lengths)
            differ = np.zeros(len(here), dtype=bool)
            for column in names:
                differ |= column[here] != column[there]
            found[np.repeat(regions, lengths)[differ]] = True
    return found


def _sorted_names(
    partition: Partition, relation: Containment, role: int, regions: Ints
) -> tuple[tuple[Ints, Bools, Hashes], Ints]:
    """The names of neighbours in one role, as columns, sorted for each of some regions of a size.

    Beside them, where those of each region start.
    """
    size = relation.large_size if role == INSIDE else relation.small_size
    pairs, lengths = relation.pairs_of(regions, partition.first(size), role)
    label, cover = partition.label[relation.other(role)[pairs]], relation.cover[pairs]
    code = partition.names(relation, pairs, role, partition.groups.trivial(size))[:, 0]
    owner = np.repeat(np.arange(len(regions)), lengths)
    order = row_order([owner, label, cover, code])
    return (label[order], cover[order], code[order]), starts_of(lengths)
