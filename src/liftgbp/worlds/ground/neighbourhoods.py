"""Better worlds by large neighbourhoods: some variables are solved for while all others stay.

Neighbourhoods are balls in the network, as large as elimination can solve exactly. Reference:
P. Shaw, *Using constraint programming and local search methods to solve vehicle routing problems*,
CP 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.worlds.ground.elimination import best_by_elimination
from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import CapacityError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_STATES = 2**18
"""Entries of all tables of one neighbourhood: some hundredths of a second."""

FIRST_SIZE = 60
"""Variables of the first neighbourhoods; they grow while they can be solved."""

PATIENCE = 3
"""The search ends after so many neighbourhoods for each variable of one, without any gain."""


def improved(
    network: WholeNetwork,
    values: Ints,
    seed: int,
    left: Callable[[], float],
    enough: float,
    report: Callable[[float], None],
) -> Ints:
    """A world at least as good; the search ends early at a score that is `enough`."""
    random = np.random.default_rng(seed)
    near = _neighbours(network)
    best, score = values.copy(), network.score(values)
    size, in_vain = FIRST_SIZE, 0
    # Each variable should have been inside of a few neighbourhoods.
    while left() > 0 and score < enough and in_vain * size < PATIENCE * network.size * 4:
        ball = _ball(near, int(random.integers(network.size)), size, random)
        part, _ = network.conditioned(best, ball)
        try:
            found = best_by_elimination(part, MOST_STATES)
        except CapacityError:
            size = max(2, size * 9 // 10)
            continue
        size = min(network.size, size + 1)
        gain = part.score(found) - part.score(best[ball])
        if gain < 0:
            continue
        # Worlds of equal score are taken, too, so that the search does not stand still.
        best[ball] = found
        in_vain = 0 if gain > 0 else in_vain + 1
        if gain > 0:
            score += gain
            report(score)
    return best


def _neighbours(network: WholeNetwork) -> csr_array:
    from scipy.sparse import csr_array

    ends = [np.zeros((2, 0), np.int64)]
    for block in network.blocks:
        width = block.scopes.shape[1]
        ends += [
            block.scopes[:, [one, other]].T
            for one in range(width)
            for other in range(width)
            if one != other
        ]
    one, other = np.concatenate(ends, axis=1)
    shape = (network.size, network.size)
    return csr_array((np.ones(len(one), np.bool_), (one, other)), shape=shape)


def _ball(near: csr_array, root: int, size: int, random: np.random.Generator) -> Ints:
    """The variables nearest to a root, in random order among those at the same distance."""
    inside = np.zeros(near.shape[0], np.bool_)
    inside[root] = True
    ball = [np.array([root])]
    total = 1
    while total < size and len(ball[-1]):
        around = np.unique(near[ball[-1]].indices)
        rim = random.permutation(around[~inside[around]])[: size - total]
        inside[rim] = True
        ball.append(rim)
        total += len(rim)
    return np.flatnonzero(inside)
