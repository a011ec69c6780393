"""Towns of friends, and a sampler that flips whole clusters of them.

Reference: R. H. Swendsen and J.-S. Wang, *Nonuniversal critical dynamics in Monte Carlo
simulations*, Physical Review Letters 58, 1987.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from liftgbp.support.arrays import Floats, Ints

PARTS = 20
"""Into which a run is cut, for its standard error."""


def town(first: int, people: int, generator: np.random.Generator) -> list[tuple[int, int]]:
    """Friendships of people from a number on: rounds through all of them, in three random orders.

    So everybody has six friends, or fewer where rounds meet.
    """
    pairs = set()
    for _ in range(3):
        order = first + generator.permutation(people)
        ends = zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)
        pairs |= {(min(pair), max(pair)) for pair in ends}
    return sorted(pairs)


def sampled(
    weights: dict[tuple[int, int], float], fields: Floats, groups: Ints, sweeps: int, seed: int
) -> tuple[Floats, Floats]:
    """The probability of the value true in each group of variables, with standard errors.

    `weights` are those of pairs that have the same value, `fields` those of true.
    """
    generator = np.random.default_rng(seed)
    pairs, weight = np.array(list(weights)), np.array(list(weights.values()))
    chance = 1 - np.exp(-np.abs(weight))
    state = generator.integers(2, size=len(fields))
    sizes = np.bincount(groups)
    found = np.zeros((PARTS, len(sizes)))
    for sweep in range(-100, sweeps):
        agrees = (state[pairs[:, 0]] == state[pairs[:, 1]]) == (weight > 0)
        tied = pairs[agrees & (generator.random(len(pairs)) < chance)]
        links = coo_array((np.ones(len(tied)), tied.T), shape=(len(fields),) * 2)
        number, cluster = connected_components(links, directed=False)
        gain = np.bincount(cluster, fields * (1 - 2 * state), minlength=number)
        flips = generator.random(number) < 1 / (1 + np.exp(-np.clip(gain, -500, 500)))
        state ^= flips[cluster]
        if sweep >= 0:
            found[sweep * PARTS // sweeps] += np.bincount(groups, state, len(sizes)) / sizes
    found *= PARTS / sweeps
    return found.mean(axis=0), found.std(axis=0) / np.sqrt(PARTS - 1)
