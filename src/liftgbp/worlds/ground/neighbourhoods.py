"""Better worlds by large neighbourhoods: some variables are solved for while all others stay.

Neighbourhoods are balls in the network, as large as elimination can solve exactly. Reference:
P. Shaw, *Using constraint programming and local search methods to solve vehicle routing problems*,
CP 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from liftgbp.ground.grounding import FactorBlock
from liftgbp.support.arrays import Ints, expand, stable_order
from liftgbp.support.errors import CapacityError
from liftgbp.worlds.ground.elimination import Elimination
from liftgbp.worlds.ground.settling import conditioned
from liftgbp.worlds.ground.whole import WholeNetwork

MOST_STATES = 2**16
"""Entries of all tables of one neighbourhood: some hundredths of a second."""

FIRST_SIZE = 60
"""Variables of the first neighbourhoods; they grow while they can be solved."""


def improved(
    network: WholeNetwork, values: Ints, rounds: int, seed: int, left: Callable[[], float]
) -> Iterator[Ints]:
    """Better and better worlds.

    The search ends when every variable has been in so many neighbourhoods, in the mean, without any
    gain.
    """
    random = np.random.default_rng(seed)
    around = _Around(network)
    best = values.copy()
    size, in_vain = FIRST_SIZE, 0
    while in_vain < rounds * network.size and left() > 0:
        ball = around.ball(int(random.integers(network.size)), size, random)
        part, _ = conditioned(around.touched(ball), best, ball)
        try:
            found = Elimination(part, MOST_STATES).values
        except CapacityError:
            size = max(2, size * 9 // 10)
            continue
        size = min(network.size, size + 1)
        gain = part.score(found) - part.score(best[ball])
        # Worlds of equal score are taken, too, so that the search does not stand still.
        best[ball] = found
        in_vain = 0 if gain > 0 else in_vain + len(ball)
        if gain > 0:
            yield best.copy()


class _Around:
    """Which factors are around the variables of a network."""

    def __init__(self, network: WholeNetwork) -> None:
        self._network = network
        self._of: list[tuple[Ints, Ints]] = []
        for block in network.blocks:
            order = stable_order(block.scopes.ravel())
            width = block.scopes.shape[1]
            starts = np.searchsorted(block.scopes.ravel()[order], np.arange(network.size + 1))
            self._of.append((order // width, starts))

    def _factors(self, variables: Ints) -> Iterator[tuple[FactorBlock, Ints]]:
        for block, (factors, starts) in zip(self._network.blocks, self._of, strict=True):
            first = starts[variables]
            yield block, np.unique(factors[expand(first, starts[variables + 1] - first)])

    def touched(self, variables: Ints) -> WholeNetwork:
        """The network with the factors around some variables only."""
        blocks = (
            FactorBlock(block.scopes[rows], block.table_of[rows])
            for block, rows in self._factors(variables)
        )
        return replace(self._network, blocks=tuple(blocks))

    def ball(self, root: int, size: int, random: np.random.Generator) -> Ints:
        """The variables nearest to a root, in random order among those at the same distance."""
        inside = np.zeros(self._network.size, np.bool_)
        inside[root] = True
        rim = np.array([root])
        total = 1
        while total < size and len(rim):
            found = [block.scopes[rows].ravel() for block, rows in self._factors(rim)]
            near = np.unique(np.concatenate(found))
            rim = random.permutation(near[~inside[near]])[: size - total]
            inside[rim] = True
            total += len(rim)
        return np.flatnonzero(inside)
