"""Rounds of colour refinement that look at a few regions only, one after the other.

In long networks, such as chains, what happens at one end needs thousands of rounds to arrive at the
other. Each of them changes a few regions, and a call on an array costs more than all the work in
it. Names, hashes and choices are those of rounds on arrays, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from liftgbp.arrays import Ints, hash_row, mix, mix_one
from liftgbp.compress.kinds import Kinds
from liftgbp.compress.partition import AROUND, INSIDE, Partition, code_weights

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
    """What is needed to look at single regions; gathered when a region comes up."""

    def __init__(self, partition: Partition, kinds: Kinds) -> None:
        self._partition = partition
        self._groups = partition.groups
        self._kinds = kinds
        self._neighbours: dict[int, list[_Neighbour]] = {}
        self._codes: dict[tuple[int, int, int, tuple[int, ...]], Codes] = {}
        self._salts: dict[tuple[int, int], int] = {}

    def suits(self, regions: Ints) -> bool:
        """Whether so few names are to be looked at that arrays do not pay."""
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
        """The codes of an embedding for each element of one's own group; few are different."""
        key = role, group, theirs, row
        if key not in self._codes:
            large = self._groups.elements(group if role == INSIDE else theirs).shape[1]
            codes = self._partition.codes(
                np.array(row, dtype=np.int64)[None, :],
                code_weights(large, len(row)),
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
