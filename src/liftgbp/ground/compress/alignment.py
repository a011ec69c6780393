"""Which ground region is of which kind, axis by axis, and what that says about all variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress, pairwise

import numpy as np

from liftgbp.ground.compress.ground_regions import GroundRegions
from liftgbp.lift.regions.atom_bounds import Choice
from liftgbp.lift.regions.ground_pairs import MOST_PAIRS, MOST_PLACES, GroundPairs, find_cliques
from liftgbp.support.arrays import (
    Ints,
    distinct,
    group_rows,
    ranks,
    row_order,
    stable_order,
    starts_of,
)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which kind each ground region is, and which of its variables is which axis.

    kind       the kind of each ground region
    example    the first ground region of each kind
    frame      per size of regions, for each axis the place of its variable in ascending order
    group      the number of each kind's group of symmetries
    orbits     per group, for each axis the smallest axis that it is taken to
    variables  the number of variables
    """

    regions: GroundRegions
    kind: Ints
    example: Ints
    frame: tuple[Ints, ...]
    group: Ints
    orbits: tuple[Ints, ...]
    variables: int

    @cached_property
    def variables_in_frame(self) -> tuple[Ints, ...]:
        """Per size of regions, which variable each axis is."""
        return tuple(
            np.take_along_axis(rows, frame, axis=1)
            for rows, frame in zip(self.regions.rows, self.frame, strict=True)
        )

    @cached_property
    def examples_in_frame(self) -> tuple[Ints, ...]:
        """The same for the first region of each kind."""
        bounds = np.searchsorted(self.example, self.regions.starts).tolist()
        return tuple(
            rows[self.example[first:last] - start]
            for rows, start, (first, last) in zip(
                self.variables_in_frame, self.regions.starts, pairwise(bounds), strict=False
            )
        )

    @cached_property
    def smallest_holder(self) -> tuple[Ints, Ints]:
        """For each variable the smallest region that holds it, and its axis there; -1 if none."""
        region = np.full(self.variables, -1, dtype=np.int64)
        axis = np.full(self.variables, -1, dtype=np.int64)
        # Smaller regions come later and overwrite. The smallest one that holds a variable lies in
        # all others that do, so there is no choice.
        for start, rows in zip(self.regions.starts, self.variables_in_frame, strict=False):
            region[rows] = start + np.arange(len(rows))[:, None]
            axis[rows] = np.arange(rows.shape[1])
        return region, axis

    @cached_property
    def atom_kind(self) -> Ints:
        """For each variable its kind of atom; -1 for variables in no region."""
        region, axis = self.smallest_holder
        inside = np.flatnonzero(region >= 0)
        kind = self.kind[region[inside]]
        starts = starts_of(np.array([len(own) for own in self.orbits], dtype=np.int64))
        flat = np.concatenate([np.zeros(0, np.int64), *self.orbits])
        orbit = flat[starts[self.group[kind]] + axis[inside]]
        first, number = group_rows([kind, orbit])
        # Numbered by the regions they live in.
        order = row_order([kind[first], orbit[first]])
        atom_kind = np.full(self.variables, -1, dtype=np.int64)
        atom_kind[inside] = ranks(order)[number]
        return atom_kind

    def region_row(self, region: int) -> Ints:
        """The variables of a ground region, in the order of the axes of its kind."""
        block = int(np.searchsorted(self.regions.starts, region, side="right")) - 1
        rows: Ints = self.variables_in_frame[block]
        return np.asarray(rows[region - self.regions.starts[block]])

    @cached_property
    def _holders(self) -> tuple[Ints, Ints]:
        """For each variable the regions that hold it: where they start, and which they are."""
        rows = self.regions.rows
        variable = np.concatenate([np.zeros(0, np.int64), *(own.ravel() for own in rows)])
        region = np.repeat(np.arange(len(self.regions)), self.regions.sizes)
        order = stable_order(variable)
        return starts_of(np.bincount(variable, minlength=self.variables)), region[order]

    def smallest_region(self, variables: Sequence[int]) -> int | None:
        """The smallest ground region that holds all these variables."""
        starts, region = self._holders
        stretches = [region[starts[v] : starts[v + 1]] for v in set(variables)]
        stretches.sort(key=len)
        common = stretches[0]
        for other in stretches[1:]:
            common = common[np.isin(common, other)]
        return int(common[-1]) if len(common) else None


# --- what no joint distribution of all variables exceeds, told from a few of them at a time
#
# Pairs of variables that share a region must leave room for all variables at once. And no joint
# entropy exceeds the sum of the entropies of all variables in some order, each given variables
# before it that share a region with it.

MOST_CELLS = 10**5
"""In graphs whose regions have more variables than this altogether, no order is looked for."""

MOST_CHOICES = 20_000
"""Nor is an order used that has more different steps."""


def ground_pairs(alignment: Alignment, ranges: Ints) -> GroundPairs | None:
    """The pairs of variables that share a region; `None` if there are none.

    If there are too many, these are all pairs of the first variables: some are better than none.
    """
    parts = []
    last = _last_variable(alignment)
    for start, rows in zip(
        alignment.regions.starts.tolist(), alignment.variables_in_frame, strict=False
    ):
        regions = np.flatnonzero(rows.min(axis=1, initial=last) < last)
        kind, own = alignment.kind[start + regions], rows[regions]
        for one, other in combinations(range(own.shape[1]), 2):
            swapped = own[:, one] > own[:, other]
            axes = np.where(swapped, other, one), np.where(swapped, one, other)
            ends = np.sort(own[:, [one, other]], axis=1)
            found = np.column_stack([ends, kind, *axes])
            parts.append(found[ends[:, 0] < last])
    if not any(map(len, parts)):
        return None
    # Regions go from large to small; the last that holds a pair is the smallest.
    table = np.concatenate(parts)[::-1]
    table = table[group_rows([table[:, 0], table[:, 1]])[0]]
    first_of_place, place = group_rows([table[:, 2], table[:, 3], table[:, 4]])
    if len(first_of_place) > MOST_PLACES:
        # A place counts for the first variable that needs it.
        needed = np.full(len(first_of_place), len(ranges))
        np.minimum.at(needed, place, table[:, 0])
        table = table[table[:, 0] < np.sort(needed)[MOST_PLACES]]
        if not len(table):
            return None
        first_of_place, place = group_rows([table[:, 2], table[:, 3], table[:, 4]])
    first, second = table[:, 0].copy(), table[:, 1].copy()
    kinds = alignment.atom_kind
    paired = distinct(np.concatenate([first, second]))
    sources = paired[group_rows([kinds[paired]])[0]]
    return GroundPairs(
        ranges=ranges,
        first=first,
        second=second,
        place=place,
        places=table[first_of_place, 2:],
        sources=sources,
        cliques=find_cliques(first, second, len(ranges), sources),
    )


def _last_variable(alignment: Alignment) -> int:
    """The pairs of the variables before this one are not too many to be listed."""
    paired = np.zeros(alignment.variables + 1, dtype=np.int64)
    for rows in alignment.variables_in_frame:
        paired += np.bincount(rows.ravel(), minlength=len(paired)) * max(0, rows.shape[1] - 1)
    return int(np.searchsorted(np.cumsum(paired), MOST_PAIRS, side="right"))


def order_of_variables(alignment: Alignment) -> dict[Choice, int]:
    """For all variables in ascending order, what they are conditioned on, and how many are alike.

    Each variable is conditioned inside the region where most variables come before it. Empty if
    there are too many variables.
    """
    if int(alignment.regions.sizes.sum()) > MOST_CELLS:
        return {}
    best = np.full(alignment.variables, -1, dtype=np.int64)
    chosen = np.zeros((alignment.variables, 2), dtype=np.int64)
    for start, rows in zip(
        alignment.regions.starts.tolist(), alignment.variables_in_frame, strict=False
    ):
        for axis in range(rows.shape[1]):
            before = (rows < rows[:, [axis]]).sum(axis=1)
            order = np.argsort(before, kind="stable")
            # Of equal variables the last one counts: the one with most before it.
            variables, last = np.unique(rows[order[::-1], axis], return_index=True)
            row = order[::-1][last]
            more = before[row] > best[variables]
            best[variables[more]] = before[row[more]]
            chosen[variables[more]] = np.column_stack([start + row[more], row[more] * 0 + axis])
    steps = _steps(alignment, np.flatnonzero(best >= 0), chosen)
    return steps if len(steps) <= MOST_CHOICES else {}


def _steps(alignment: Alignment, variables: Ints, chosen: Ints) -> dict[Choice, int]:
    """How many of some variables are conditioned alike, each in the region and axis chosen for it.

    Steps come in the order of the first variables that take them.
    """
    region, axis = chosen[variables].T
    block = np.searchsorted(alignment.regions.starts, region, side="right") - 1
    found: list[tuple[int, Choice, int]] = []
    for number, rows in enumerate(alignment.variables_in_frame):
        own = np.flatnonzero(block == number)
        before = rows[region[own] - alignment.regions.starts[number]] < variables[own, None]
        kind = alignment.kind[region[own]]
        first, which = group_rows([kind, axis[own], *np.packbits(before, axis=1).T])
        given = [tuple(compress(range(len(row)), row)) for row in before[first].tolist()]
        choices = zip(kind[first].tolist(), axis[own][first].tolist(), given, strict=True)
        counts = np.bincount(which).tolist()
        found += zip(variables[own][first].tolist(), choices, counts, strict=True)
    return {choice: count for _, choice, count in sorted(found)}
