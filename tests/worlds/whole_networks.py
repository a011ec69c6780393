"""Random networks in whole numbers, and a list of all their worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import assume, strategies as st

from liftgbp.ground.grounding import FactorBlock, merged
from liftgbp.worlds.ground.whole import WholeNetwork

WHOLE = st.integers(-4, 4).map(float)
HARD = st.one_of(WHOLE, WHOLE, WHOLE, st.just(-math.inf))
LARGE = st.sampled_from([-(2.0**40), -(2.0**33) - 1, -3.0, 0.0, 1.0, 2.0**31, 2.0**41 + 1])


@st.composite
def whole_networks(
    draw: st.DrawFn, entries: st.SearchStrategy[float] = HARD, widest: int = 3, values: int = 3
) -> WholeNetwork:
    """Up to six variables and nine factors of any tables."""
    ranges = draw(st.lists(st.integers(2, values), min_size=1, max_size=6))
    blocks, tables = [], []
    for number in range(draw(st.integers(1, 9))):
        most = min(widest, len(ranges))
        every = st.integers(0, len(ranges) - 1)
        scope = draw(st.lists(every, min_size=1, max_size=most, unique=True))
        shape = tuple(ranges[v] for v in scope)
        size = math.prod(shape)
        table = np.array(draw(st.lists(entries, min_size=size, max_size=size))).reshape(shape)
        table.flat[draw(st.integers(0, size - 1))] = 0.0
        blocks.append(FactorBlock(np.array([scope]), np.array([number])))
        tables.append(table)
    whole = network(ranges, blocks, tables)
    # What single factors rule out is settled before.
    assume(all(np.isfinite(table).any() for table in whole.tables))
    return whole


@st.composite
def attractive_networks(draw: st.DrawFn, weights: st.SearchStrategy[float]) -> WholeNetwork:
    """Networks of pairs that are attractive once some of the variables are turned."""
    size = draw(st.integers(2, 7))
    turned = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    blocks, tables = [], []
    for number in range(draw(st.integers(1, 12))):
        one, other = draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
        alone = draw(st.booleans())
        scope = [one] if alone else [one, other]
        a, b, c = (draw(weights) for _ in range(3))
        table = np.array([a, b])
        if not alone:
            # Both equal gain as much as both different do, or more.
            gain = abs(draw(weights))
            table = np.array([[a, b], [c, b + c - a + gain]])
            if draw(st.integers(0, 4)) == 0:
                table[draw(st.sampled_from([(0, 1), (1, 0)]))] = -math.inf
            if turned[one]:
                table = table[::-1]
            if turned[other]:
                table = table[:, ::-1]
        blocks.append(FactorBlock(np.array([scope]), np.array([number])))
        tables.append(table)
    return network([2] * size, blocks, tables)


def network(ranges: list[int], blocks: list[FactorBlock], tables: list[np.ndarray]) -> WholeNetwork:
    """Factors over the same variables become one, as in all networks."""
    own = merged(np.array(ranges), blocks, tables)
    places = np.arange(max(ranges))
    true = ((places > 0) & (places < own.ranges[:, None])).astype(np.int64)
    return WholeNetwork(own.ranges, own.blocks, own.tables, true)


@dataclass
class Listed:
    """All worlds of a network with their scores."""

    scores: np.ndarray

    @property
    def optimum(self) -> float:
        return float(self.scores.max())

    @property
    def winners(self) -> np.ndarray:
        """The best worlds, one in each row."""
        return np.argwhere(self.scores == self.optimum)

    @property
    def undecided(self) -> list[bool]:
        return [len(set(column)) > 1 for column in self.winners.T.tolist()]

    @property
    def fewest(self) -> int:
        return int((self.winners > 0).sum(axis=1).min())


def listed(own: WholeNetwork) -> Listed:
    states = np.indices(own.ranges.tolist())
    total = np.zeros(own.ranges.tolist())
    for block in own.blocks:
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
            total = total + own.tables[table][tuple(states[v] for v in scope)]
    return Listed(total)
