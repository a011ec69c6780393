"""The region graph of a ground network, in arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from liftgbp.ground.compress.subsets import Inside, common_subsets, containments, loops, maximal
from liftgbp.ground.grounding import FactorBlock, GroundNetwork
from liftgbp.lift.regions.families import BETHE, FACTOR_SCOPES, SUBSETS, Family, parse_family
from liftgbp.lift.regions.lattice import cover_parents
from liftgbp.support.arrays import (
    Bools,
    Ints,
    distinct,
    group_rows,
    row_order,
    stable_order,
    starts_of,
)
from liftgbp.support.errors import InputError
from liftgbp.support.progress import Progress, silent

FAMILIES = ("intersections", "subsets", "bethe", "loops")


@dataclass(frozen=True, eq=False, slots=True)
class Nesting:
    """Regions that have regions inside at the same places.

    size     the number of variables
    masks    the regions inside, as masks over the variables in ascending order
    regions  the numbers of the regions
    members  for each of them the numbers of the regions inside, in the order of the masks
    covers   for each mask the masks of its parents inside; the whole region is one of them
    """

    size: int
    masks: tuple[int, ...]
    regions: Ints
    members: Ints
    covers: dict[int, list[int]]


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """Factors inside regions of one size: which, and at which places, as masks."""

    region: Ints
    table: Ints
    mask: Ints


@dataclass(frozen=True, eq=False)
class GroundRegions:
    """The regions of a ground network, numbered from large to small.

    family    which sets of variables are regions
    rows      the variables of regions of equal size, in ascending order; one array per size
    outer     whether a region lies in no other one by its own right
    patterns  the regions by the regions inside them
    held      the factors inside regions, one value per size, like `rows`
    """

    family: Family
    rows: tuple[Ints, ...]
    outer: Bools
    patterns: tuple[Nesting, ...]
    held: tuple[Held, ...]

    def __len__(self) -> int:
        return len(self.outer)

    @cached_property
    def starts(self) -> Ints:
        """The number of the first region of each size, and the number of regions at the end."""
        return starts_of(np.array([len(rows) for rows in self.rows], dtype=np.int64))

    @cached_property
    def sizes(self) -> Ints:
        """The number of variables of each region."""
        return np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(r), r.shape[1], np.int64) for r in self.rows)]
        )


def ground_region_graph(
    network: GroundNetwork, family: str | Family = FACTOR_SCOPES, *, progress: Progress = silent
) -> GroundRegions:
    """The ground region graph of a network.

    >>> from liftgbp.ground.grounding import merged
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> block = FactorBlock(ring, np.zeros(4, dtype=np.int64))
    >>> network = merged(np.full(4, 2), [block], [np.eye(2)])
    >>> [len(rows) for rows in ground_region_graph(network).rows]
    [4, 4]
    """
    family = parse_family(family)
    if family.name not in FAMILIES:
        raise InputError(
            f"regions {family} are not known for ground networks; choose {', '.join(FAMILIES)}:L"
        )
    progress("finding regions", 0, 1)
    scopes = [block.scopes for block in network.blocks]
    if family.name == "loops":
        scopes = _joined([*scopes, *loops(scopes, family.size, network.ranges)])
    at_top = maximal(scopes)
    outer = [rows[flags] for rows, flags in zip(scopes, at_top, strict=True) if flags.any()]
    if family == BETHE:
        return _bethe(network, family, outer, at_top, progress)
    least, closed = (1, False) if family == SUBSETS else (2, True)
    inner = common_subsets(outer, least=least, closed=closed)
    rows, is_outer = _stacked(outer, inner)
    inside = _members(rows, list(combinations(range(len(rows)), 2)), progress)
    held = [[(f, containments(f.scopes, own)) for f in network.blocks] for own in rows]
    return _assembled(family, rows, is_outer, inside, held)


def _joined(blocks: Sequence[Ints]) -> list[Ints]:
    """Rows of equal length together, each once."""
    by_size: dict[int, list[Ints]] = {}
    for block in blocks:
        by_size.setdefault(block.shape[1], []).append(block)
    return [np.unique(np.concatenate(same), axis=0) for same in by_size.values()]


def _stacked(outer: Sequence[Ints], inner: Sequence[Ints]) -> tuple[list[Ints], Bools]:
    """All regions by size, large ones first, in the order of their variables."""
    by_size: dict[int, list[tuple[Ints, bool]]] = {}
    for blocks, flag in ((outer, True), (inner, False)):
        for block in blocks:
            if len(block):
                by_size.setdefault(block.shape[1], []).append((block, flag))
    rows, flags = [], [np.zeros(0, dtype=bool)]
    for size in sorted(by_size, reverse=True):
        block = np.concatenate([part for part, _ in by_size[size]])
        is_outer = np.concatenate([np.full(len(part), flag) for part, flag in by_size[size]])
        order = row_order(list(block.T))
        rows.append(block[order])
        flags.append(is_outer[order])
    return rows, np.concatenate(flags)


def _members(
    rows: Sequence[Ints], pairs: Sequence[tuple[int, int]], progress: Progress
) -> Iterator[tuple[int, int, Inside]]:
    """For pairs of sizes which smaller regions lie in which larger ones."""
    for done, (large, small) in enumerate(pairs):
        progress("nesting regions", done, len(pairs))
        yield large, small, containments(rows[small], rows[large])


# --- belief propagation


def _bethe(
    network: GroundNetwork,
    family: Family,
    outer: Sequence[Ints],
    at_top: Sequence[Bools],
    progress: Progress,
) -> GroundRegions:
    """Outer regions and single variables.

    A factor inside exactly one outer region is merged into it. One that lies in several is a region
    of its own: the outer regions have only single variables in common.
    """
    holders = [_last_holders(block.scopes, outer) for block in network.blocks]
    alone = [
        (count != 1) & ~top if block.scopes.shape[1] > 1 else np.zeros(len(count), dtype=bool)
        for block, top, (count, _, _) in zip(network.blocks, at_top, holders, strict=True)
    ]
    large = [*outer, *(b.scopes[own] for b, own in zip(network.blocks, alone, strict=True))]
    single = distinct(np.concatenate([np.zeros(0, np.int64), *(rows.ravel() for rows in outer)]))
    lonely = [block for block in outer if block.shape[1] == 1]
    below = np.setdiff1d(single, lonely[0]) if lonely else single
    rows, is_outer = _stacked(large, [below[:, None]])
    last = len(rows) - 1

    inside = _members(rows, [(k, last) for k in range(last)], progress)
    held = []
    for own in rows:
        parts = []
        for block, by_itself, (_, holder, size) in zip(network.blocks, alone, holders, strict=True):
            found = containments(block.scopes, own)
            if block.scopes.shape[1] > 1:
                width = np.where(by_itself, block.scopes.shape[1], size)[found.small]
                # The variables of the holder tell outer regions of one size apart.
                missing = max(0, own.shape[1] - holder.shape[1])
                padded = np.pad(holder, ((0, 0), (0, missing)), constant_values=-1)
                holders_of = padded[found.small, : own.shape[1]]
                same = (own[found.large] == holders_of).all(axis=1)
                mine = np.where(by_itself[found.small], True, same) & (width == own.shape[1])
                found = Inside(found.small[mine], found.large[mine], found.positions[mine])
            parts.append((block, found))
        held.append(parts)
    return _assembled(family, rows, is_outer, inside, held)


def _last_holders(scopes: Ints, outer: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """For each scope in how many outer regions it lies, and the last of them with its size."""
    count = np.zeros(len(scopes), dtype=np.int64)
    widest = max((rows.shape[1] for rows in outer), default=0)
    holder = np.full((len(scopes), widest), -1, dtype=np.int64)
    size = np.zeros(len(scopes), dtype=np.int64)
    for rows in outer:
        width = rows.shape[1]
        if width >= scopes.shape[1]:
            found = containments(scopes, rows)
            count += np.bincount(found.small, minlength=len(scopes))
            holder[found.small, :width] = rows[found.large]
            size[found.small] = width
    return count, holder, size


# --- the finished graph


def _assembled(
    family: Family,
    rows: Sequence[Ints],
    is_outer: Bools,
    inside: Iterator[tuple[int, int, Inside]],
    held: Sequence[Sequence[tuple[FactorBlock, Inside]]],
) -> GroundRegions:
    starts = starts_of(np.array(list(map(len, rows)), dtype=np.int64))
    return GroundRegions(
        family=family,
        rows=tuple(rows),
        outer=is_outer,
        patterns=tuple(_patterns(rows, starts, inside)),
        held=tuple(_held(starts[k], parts) for k, parts in enumerate(held)),
    )


def _held(start: int, parts: Sequence[tuple[FactorBlock, Inside]]) -> Held:
    empty = np.zeros(0, dtype=np.int64)
    region = np.concatenate([empty, *(start + found.large for _, found in parts)])
    table = np.concatenate([empty, *(block.table_of[found.small] for block, found in parts)])
    mask = np.concatenate([empty, *(_masks(found.positions) for _, found in parts)])
    order = row_order([region, mask])
    return Held(region[order], table[order], mask[order])


def _masks(positions: Ints) -> Ints:
    return np.asarray((1 << positions).sum(axis=1), dtype=np.int64)


def _patterns(
    rows: Sequence[Ints], starts: Ints, inside: Iterator[tuple[int, int, Inside]]
) -> Iterator[Nesting]:
    empty = np.zeros(0, dtype=np.int64)
    pairs: list[list[tuple[Ints, Ints, Ints]]] = [[(empty, empty, empty)] for _ in rows]
    for large, small, found in inside:
        pairs[large].append((found.large, starts[small] + found.small, _masks(found.positions)))
    for number, own in enumerate(rows):
        region, member, mask = (np.concatenate(part) for part in zip(*pairs[number], strict=True))
        order = row_order([region, mask])
        region, member, mask = region[order], member[order], mask[order]
        counts = np.bincount(region, minlength=len(own))
        first = starts_of(counts)
        for count in distinct(counts):
            chosen = np.flatnonzero(counts == count)
            where = first[chosen][:, None] + np.arange(count)
            yield from _patterns_of_count(
                own.shape[1], starts[number] + chosen, member[where], mask[where]
            )


def _patterns_of_count(size: int, regions: Ints, members: Ints, masks: Ints) -> Iterator[Nesting]:
    """The patterns of regions with equally many regions inside."""
    if not masks.shape[1]:
        yield Nesting(size, (), regions, members, {})
        return
    first, group = group_rows(list(masks.T))
    order = stable_order(group)
    bounds = starts_of(np.bincount(group, minlength=len(first)))
    whole = (1 << size) - 1
    for number, row in enumerate(masks[first].tolist()):
        chosen = order[bounds[number] : bounds[number + 1]]
        covers = cover_parents([whole, *row])
        yield Nesting(size, tuple(row), regions[chosen], members[chosen], covers)
