"""Short loops of a ground network: sets of variables that become regions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.errors import CapacityError

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
