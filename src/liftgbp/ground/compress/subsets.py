"""Sets of variables as rows: containment, maximal sets, common subsets, and short loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.support.arrays import (
    Bools,
    Ints,
    expand,
    group_rows,
    places_of_rows,
    stable_order,
    starts_of,
)
from liftgbp.support.errors import CapacityError

MOST_OCCURRENCES = 2 * 10**8
"""The most pairs of a set and a subset that are compared."""

WIDEST = 62
"""The most variables of one set; masks over it are 64-bit integers."""

_AT_ONCE = 2 * 10**7
"""How many numbers a comparison holds in memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Inside:
    """Pairs of sets: row `small[p]` lies in row `large[p]`, at the columns `positions[p]`."""

    small: Ints
    large: Ints
    positions: Ints


def containments(small: Ints, large: Ints) -> Inside:
    """Which rows of variables lie inside which rows of equally many or more variables.

    Rows are in ascending order, and large ones differ. Each small row meets only the large rows
    that share its rarest variable.

    >>> found = containments(np.array([[1], [2]]), np.array([[0, 1], [1, 3]]))
    >>> found.small.tolist(), found.large.tolist(), found.positions.ravel().tolist()
    ([0, 0], [0, 1], [1, 0])
    """
    width = small.shape[1]
    if not len(small) or not len(large):
        none = np.zeros(0, dtype=np.int64)
        return Inside(none, none, np.zeros((0, width), dtype=np.int64))
    if width == large.shape[1]:
        return _equal_sets(small, large)
    parts = list(_containment_parts(small, large))
    rows, holders, places = zip(*parts, strict=True)
    return Inside(np.concatenate(rows), np.concatenate(holders), np.concatenate(places))


def _equal_sets(small: Ints, large: Ints) -> Inside:
    place = places_of_rows(list(small.T), list(large.T))
    (found,) = np.nonzero(place >= 0)
    positions = np.tile(np.arange(small.shape[1]), (len(found), 1))
    return Inside(found, place[found], positions)


def _containment_parts(small: Ints, large: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    variables = 1 + int(max(small.max(), large.max()))
    degree = np.bincount(large.ravel(), minlength=variables)
    cells = stable_order(large.ravel())
    starts = starts_of(degree)
    column = degree[small].argmin(axis=1)
    rarest = np.take_along_axis(small, column[:, None], axis=1).ravel()
    _check(int(degree[rarest].sum()))
    room = max(1, _AT_ONCE // (small.shape[1] * large.shape[1]))
    for rows in _stretches(degree[rarest], room):
        lengths = degree[rarest[rows]]
        row = np.repeat(np.arange(rows.start, rows.stop), lengths)
        cell = cells[expand(starts[rarest[rows]], lengths)]
        yield _with_all_variables(small, large, row, cell, column[row])


def _with_all_variables(
    small: Ints, large: Ints, row: Ints, cell: Ints, column: Ints
) -> tuple[Ints, Ints, Ints]:
    """Of pairs that share the variable in a column, those where all others are shared, too.

    `cell` is the place of that variable among all cells of the large rows.
    """
    holder, place = np.divmod(cell, large.shape[1])
    positions = np.empty((len(row), small.shape[1]), dtype=np.int64)
    positions[np.arange(len(row)), column] = place
    # Column by column, for most pairs part soon: comparing all of them at once takes longer.
    for own in range(small.shape[1]):
        at = np.where(column == own, place, -1)
        if (at < 0).any():
            wanted = small[row, own]
            for other in range(large.shape[1]):
                at[large[holder, other] == wanted] = other
        positions[:, own] = at
        (kept,) = np.nonzero(at >= 0)
        if len(kept) < len(row):
            row, holder, place, column = row[kept], holder[kept], place[kept], column[kept]
            positions = positions[kept]
    return row, holder, positions


def _stretches(lengths: Ints, room: int) -> Iterator[slice]:
    """Consecutive segments that fit into the room together; a larger one goes alone."""
    ends = np.cumsum(lengths)
    start, done = 0, 0
    while start < len(lengths):
        stop = max(start + 1, int(np.searchsorted(ends, done + room, side="right")))
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])


def _check(occurrences: int, remedy: str = "") -> None:
    if occurrences > MOST_OCCURRENCES:
        raise CapacityError(
            f"the ground regions have {occurrences} pairs of a set and a subset to compare, "
            f"above the cap of {MOST_OCCURRENCES}; {remedy}close predicates (--closed), ask about "
            "a part of the data, or use formulas with fewer atoms"
        )


def maximal(blocks: Sequence[Ints]) -> list[Bools]:
    """Which rows lie in no other row; rows of all blocks are different sets."""
    flags = []
    for block in blocks:
        inside = np.zeros(len(block), dtype=bool)
        for larger in blocks:
            if larger.shape[1] > block.shape[1]:
                inside[containments(block, larger).small] = True
        flags.append(~inside)
    return flags


def common_subsets(outer: Sequence[Ints], *, least: int, closed: bool) -> list[Ints]:
    """The proper subsets of outer rows that lie in at least `least` of them, by size.

    With `closed`, only those that cannot be enlarged and still lie in equally many. With at least
    two holders these are the intersections of outer rows: the intersection of all holders of a
    set is the largest set with the same holders.

    >>> rows = [np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]])]
    >>> [found.tolist() for found in common_subsets(rows, least=2, closed=True)]
    [[[2]], [[1, 2], [2, 3]]]
    """
    if not outer:
        return []
    sizes = np.concatenate([np.full(len(b), b.shape[1], dtype=np.int64) for b in outer])
    if sizes.max() > WIDEST:
        raise CapacityError(f"a factor has {sizes.max()} variables; at most {WIDEST} are possible")
    flat = np.concatenate([block.ravel() for block in outer])
    starts = starts_of(sizes)
    variables = 1 + int(flat.max())
    # The empty set lies in all of them, and all sets grow out of it, one variable at a time.
    holder = np.arange(len(sizes))
    mask = np.zeros(len(sizes), dtype=np.int64)
    item = np.zeros(len(sizes), dtype=np.int64)
    rows, count = np.zeros((1, 0), dtype=np.int64), np.array([len(sizes)])
    found: list[Ints] = []
    while len(holder):
        _check(int(sizes[holder].sum()), "use regions='bethe' (--regions bethe), ")
        which = np.repeat(np.arange(len(holder)), sizes[holder])
        place = expand(np.zeros(len(holder), dtype=np.int64), sizes[holder])
        # The mask of a set ends with its last variable, so shifting tells both: inside, and after.
        outside = np.flatnonzero(mask[which] >> place & 1 == 0)
        which, place = which[outside], place[outside]
        key = item[which] * variables + flat[starts[holder[which]] + place]
        first, number = group_rows([key])
        holders = np.bincount(number, minlength=len(first))
        base, variable = np.divmod(key[first], variables)
        if rows.shape[1]:
            enlarged = np.zeros(len(rows), dtype=bool)
            enlarged[base[holders == count[base]]] = True
            full = np.zeros(len(rows), dtype=bool)
            full[item[mask == (1 << sizes[holder]) - 1]] = True
            found.append(rows[~(enlarged & closed | full)])
        last = rows[:, -1] if rows.shape[1] else np.full(1, -1)
        grows = (holders >= least) & (variable > last[base])
        renumbered = np.cumsum(grows) - 1
        kept = np.flatnonzero(grows[number])
        which, place = which[kept], place[kept]
        rows, count = np.column_stack([rows[base[grows]], variable[grows]]), holders[grows]
        item = renumbered[number[kept]]
        holder, mask = holder[which], mask[which] | 1 << place
    return found


MOST_STEPS = 2**21
"""The most steps from a variable to a neighbour in the search for loops, which takes some seconds.
Loops of four on a grid of 200 by 200 spins take 800 000."""


MOST_STATES = 2**20
"""The most states of the variables along a loop, like the usual cap of tables."""


def loops(scopes: Sequence[Ints], longest: int, ranges: Ints) -> list[Ints]:
    """The sets of variables along loops of at most this length, by size.

    Two variables are neighbours if some factor is about both.

    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [3, 4]])
    >>> [found.tolist() for found in loops([ring], 4, np.full(5, 2))]
    [[[0, 1, 2, 3]]]
    """
    neighbours: dict[int, set[int]] = defaultdict(set)
    for block in scopes:
        for row in np.unique(block, axis=0).tolist():
            for variable in row:
                neighbours[variable].update(row)
    for variable, own in neighbours.items():
        own.discard(variable)
    found: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for path in _closed_paths(neighbours, longest):
        found[len(path)].add(tuple(sorted(path)))
    sets = [np.array(sorted(found[size]), dtype=np.int64) for size in sorted(found)]
    widest = max((np.log2(ranges)[rows].sum(axis=1).max() for rows in sets), default=0.0)
    if widest > np.log2(MOST_STATES):
        raise CapacityError(
            f"the variables along a loop have 2^{widest:.0f} states, above the cap of "
            f"2^{np.log2(MOST_STATES):.0f}; use shorter loops or regions='intersections'"
        )
    return sets


def _closed_paths(neighbours: dict[int, set[int]], longest: int) -> Iterator[list[int]]:
    """Each loop once: from its least variable, towards the smaller of that one's neighbours."""
    steps = 0
    for root in sorted(neighbours):
        later = sorted(v for v in neighbours[root] if v > root)
        stack = [[root, second] for second in later]
        while stack:
            path = stack.pop()
            steps += len(neighbours[path[-1]])
            if steps > MOST_STEPS:
                raise CapacityError(
                    f"loops of up to {longest} variables are too many to look for: that takes "
                    f"more than {MOST_STEPS} steps; use shorter loops or regions='intersections'"
                )
            for step in neighbours[path[-1]]:
                if step <= root or step in path:
                    continue
                if step > path[1] and step in neighbours[root]:
                    yield [*path, step]
                if len(path) + 1 < longest:
                    stack.append([*path, step])
