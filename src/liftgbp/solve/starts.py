"""Where descent starts: independent atoms, flat, tilted towards each value, and at random."""

from __future__ import annotations

import math
from random import Random
from typing import TypeAlias

import numpy as np

from liftgbp.plan.plan import Layout
from liftgbp.support.arrays import Floats

TILT = 0.9
"""The probability of the value that atoms are tilted towards. With 0.6, starts stay in the basin of
the flat point, and friends-smokers over objects:3 at 200 people loses one of its two minima; with
0.99, movies over objects:2 at 1e6 loses the lowest one."""

MOST_TILTED = 16
"""If groups have more values than this, all groups are tilted at once, this many times: a start for
each value would take too long (rings of sixteen predicates). With four, a model of two unary and
one binary predicate may lose one of its two minima."""


Distributions: TypeAlias = dict[int, Floats]
"""The probabilities of the values of each group of atoms."""


def starting_beliefs(layout: Layout, random: int, seed: int) -> Floats:
    """A batch of beliefs of all entries, as if atoms of each group were independent."""
    starts = starting_distributions(layout, random, seed)
    chances = {group: np.array([own[group] for own in starts]) for group in starts[0]}
    beliefs = np.ones((len(starts), layout.belief_entries))
    for first, shape, states, atoms in zip(
        layout.region_starts.tolist(),
        layout.shapes,
        layout.representatives,
        layout.atom_of_axis,
        strict=True,
    ):
        own = beliefs[:, first : first + len(states)]
        for digits, atom in zip(np.unravel_index(states, shape), atoms, strict=True):
            own *= chances[layout.group_of_atom[atom]][:, digits]
    return beliefs


def starting_distributions(layout: Layout, random: int, seed: int) -> list[Distributions]:
    """Distributions of atoms that are independent of each other.

    The first is flat. Then, for each value of each group of atoms, one in which the group's atoms
    have that value with high probability; then random ones. In models of many groups, all groups
    are tilted at once: to their first values, to their last ones, and to values at random.
    """
    sizes = group_sizes(layout)
    flat = {group: np.full(size, 1 / size) for group, size in sizes.items()}
    # Not NumPy's generators: they take 20 ms to import, and may change with its version.
    generator = Random(int(seed))
    starts = [flat]
    if sum(sizes.values()) <= MOST_TILTED:
        starts += [
            {**flat, group: _tilted(size, value)}
            for group, size in sizes.items()
            for value in range(size)
        ]
    else:
        starts += [
            {group: _tilted(size, chosen[group]) for group, size in sizes.items()}
            for chosen in _choices(sizes, generator)
        ]
    starts += [
        {group: _random_distribution(size, generator) for group, size in sizes.items()}
        for _ in range(random)
    ]
    return starts


def opposite_distributions(layout: Layout) -> list[Distributions]:
    """All groups tilted at once, to their first values and to their last ones."""
    sizes = group_sizes(layout)
    return [
        {group: _tilted(size, value % size) for group, size in sizes.items()} for value in (0, -1)
    ]


def _choices(sizes: dict[int, int], generator: Random) -> list[dict[int, int]]:
    """Values for all groups at once: where all agree, starts at random hardly ever lead."""
    first, last = dict.fromkeys(sizes, 0), {group: size - 1 for group, size in sizes.items()}
    random = [
        {group: generator.randrange(size) for group, size in sizes.items()}
        for _ in range(MOST_TILTED - 2)
    ]
    return [first, last, *random]


def number_of_starts(layout: Layout, random: int) -> int:
    """How many beliefs there are to start from."""
    return 1 + min(sum(group_sizes(layout).values()), MOST_TILTED) + random


def _tilted(size: int, value: int) -> Floats:
    tilted = np.full(size, (1 - TILT) / max(size - 1, 1))
    tilted[value] = TILT if size > 1 else 1.0
    return tilted


def _random_distribution(size: int, generator: Random) -> Floats:
    """One of all distributions, each as probable as any other."""
    parts = [-math.log1p(-generator.random()) for _ in range(size)]
    return np.array(parts, dtype=float) / sum(parts)


def group_sizes(layout: Layout) -> dict[int, int]:
    """The number of values of each group of atoms."""
    return dict(sorted(set(zip(layout.group_of_atom, layout.atom_ranges, strict=True))))
