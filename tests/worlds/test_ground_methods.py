"""Each method on the ground by itself, against a list of all worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from liftgbp.support.errors import CapacityError
from liftgbp.worlds.ground.elimination import Elimination
from liftgbp.worlds.ground.flow import best_by_flow, is_attractive
from liftgbp.worlds.ground.part_search import (
    Cooling,
    CuttingPlanes,
    Known,
    Method,
    Neighbourhoods,
    Regions,
    WholeNumbers,
)
from liftgbp.worlds.ground.program import cubes_of
from liftgbp.worlds.ground.whole import WholeNetwork
from worlds.whole_networks import HARD, LARGE, WHOLE, attractive_networks, listed, whole_networks

WEIGHTS = st.one_of(WHOLE, WHOLE, LARGE)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(attractive_networks(WEIGHTS))
def test_one_flow(network: WholeNetwork) -> None:
    cut, worlds = best_by_flow(network), listed(network)
    assert cut is not None
    assert network.score(cut.values) == worlds.optimum
    if worlds.optimum > -math.inf:
        assert (cut.values > 0).sum() == worlds.fewest
        assert cut.undecided.tolist() == worlds.undecided


@settings(max_examples=100, deadline=None)
@given(whole_networks(WHOLE, widest=2, values=2))
def test_flow_applies_where_some_turns_make_a_network_attractive(network: WholeNetwork) -> None:
    gains = {}
    for block in network.blocks:
        for scope, number in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
            if len(scope) == 2:
                (a, b), (c, d) = network.tables[number].tolist()
                gains[tuple(scope)] = a + d - b - c
    turns = np.indices([2] * network.size).reshape(network.size, -1).T
    attractive = any(
        all(gain * (1 if turn[i] == turn[j] else -1) >= 0 for (i, j), gain in gains.items())
        for turn in turns
    )
    assert is_attractive(network) == attractive


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(whole_networks(HARD))
def test_elimination(network: WholeNetwork) -> None:
    worlds = listed(network)
    found = Elimination(network, 2**12)
    assert network.score(found.values) == worlds.optimum
    bests = found.bests()
    for v, length in enumerate(network.ranges.tolist()):
        per_value = np.moveaxis(worlds.scores, v, 0).reshape(length, -1).max(axis=1)
        expected = per_value if worlds.optimum > -math.inf else np.full(length, -math.inf)
        assert bests[v, :length].tolist() == expected.tolist()


def test_elimination_refuses_wide_networks() -> None:
    network = frustrated(8)
    with pytest.raises(CapacityError):
        Elimination(network, 2**7)
    assert network.score(Elimination(network, 2**10).values) == listed(network).optimum


def frustrated(size: int, seed: int = 0) -> WholeNetwork:
    """All pairs of some variables, with couplings of both signs: a glass."""
    from liftgbp.ground.grounding import FactorBlock

    random = np.random.default_rng(seed)
    ends = np.array([(i, j) for i in range(size) for j in range(i)])
    strength = random.integers(1, 9, len(ends)) * random.choice([-1, 1], len(ends))
    tables = tuple(np.array([[w, -w], [-w, w]], float) for w in strength)
    block = FactorBlock(ends, np.arange(len(ends)))
    true = np.tile([0, 1], (size, 1))
    return WholeNetwork(np.full(size, 2), (block,), tables, true)


METHODS = [
    CuttingPlanes(100),
    WholeNumbers(100, 1000, 60.0, sparse=False),
    Cooling(60),
    Neighbourhoods(5),
    Regions("loops:4", 10_000),
    Regions("intersections", 10_000),
]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=str)
@settings(max_examples=40, deadline=None)
@given(network=whole_networks(HARD))
def test_worlds_and_bounds(method: Method, network: WholeNetwork) -> None:
    worlds = listed(network)
    known = Known(network)
    if isinstance(method, WholeNumbers) or method.could_improve(known):
        method.improve(known)
    check(known, network)
    if isinstance(method, WholeNumbers):
        assert known.upper == worlds.optimum
        assert worlds.optimum in (-math.inf, known.score)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(network=whole_networks(LARGE))
def test_large_weights(network: WholeNetwork) -> None:
    for method in METHODS:
        known = Known(network)
        if method.could_improve(known):
            method.improve(known)
        check(known, network)


def check(known: Known, network: WholeNetwork) -> None:
    worlds = listed(network)
    assert known.upper >= worlds.optimum
    if known.values is not None:
        assert worlds.scores[tuple(known.values)] == known.score
        assert -math.inf < known.score <= worlds.optimum
    if known.fewest:
        assert known.score == worlds.optimum
        assert (known.values > 0).sum() == worlds.fewest
    if known.undecided is not None:
        assert known.undecided.tolist() == worlds.undecided


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[1:4], ids=str)
def test_frustrated_pairs(method: Method) -> None:
    """A glass over twelve variables: what its best world is, all of these find."""
    network = frustrated(12)
    known = Known(network)
    method.improve(known)
    assert known.score == listed(network).optimum


def test_loops_bound_frustrated_rings() -> None:
    """An odd ring cannot satisfy all pairs; regions of loops know that, pairs do not."""
    from liftgbp.ground.grounding import FactorBlock

    ends = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    alike, unlike = np.eye(2), 1 - np.eye(2)
    block = FactorBlock(ends, np.array([0, 0, 0, 1]))
    ring = WholeNetwork(np.full(4, 2), (block,), (alike, unlike), np.tile([0, 1], (4, 1)))
    bounds = {}
    for family in ("intersections", "loops:4"):
        known = Known(ring)
        Regions(family, 1000).improve(known)
        bounds[family] = known.upper
    assert bounds == {"intersections": 4.0, "loops:4": 3.0}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(whole_networks(HARD, values=4))
def test_cubes_add_up_to_tables(network: WholeNetwork) -> None:
    for table in network.tables:
        assume(np.isfinite(table).any())
        costs = np.zeros(table.shape)
        for cube in cubes_of(table):
            index: list[object] = [slice(None)] * table.ndim
            for axis, value in cube.literals:
                index[axis] = value
            costs[tuple(index)] += cube.cost
        assert (table.max() - costs == table).all()
