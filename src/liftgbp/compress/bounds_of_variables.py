"""What no joint distribution of ground variables exceeds can be told from a few of them at a time.

Pairs of variables that share a region must leave room for all variables at once. And no joint
entropy exceeds the sum of the entropies of all variables in some order, each given variables before
it that share a region with it.
"""

from __future__ import annotations

from itertools import combinations, compress

import numpy as np

from liftgbp.arrays import Ints, distinct, group_rows
from liftgbp.compress.alignment import Alignment
from liftgbp.regions.atom_bounds import Choice
from liftgbp.regions.ground_pairs import MOST_PAIRS, MOST_PLACES, GroundPairs, find_cliques

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
