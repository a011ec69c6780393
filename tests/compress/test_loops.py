"""Regions along short loops of a ground network."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from liftgbp import CapacityError, InputError, infer, parse
from liftgbp.ground.compress import ground_region_graph
from liftgbp.ground.compress.subsets import loops
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding import FactorBlock, merged

PAIRS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1]),
    min_size=1,
    max_size=14,
    unique=True,
)


@settings(deadline=None)
@given(PAIRS, st.integers(3, 6))
def test_sets_with_a_loop(pairs: list[tuple[int, int]], longest: int) -> None:
    found = {
        tuple(row) for rows in loops([np.array(pairs)], longest, np.full(7, 2)) for row in rows
    }
    linked = set(pairs) | {(w, v) for v, w in pairs}
    expected = {
        chosen
        for size in range(3, longest + 1)
        for chosen in combinations(range(7), size)
        if any(
            all(pair in linked for pair in pairwise((chosen[0], *order, chosen[0])))
            for order in permutations(chosen[1:])
        )
    }
    assert found == expected


def _pairwise(pairs: list[tuple[int, int]], size: int, strength: float, seed: int) -> Network:
    """Spins with random fields and couplings."""
    random = np.random.default_rng(seed)
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    tables = [strength * random.normal() * signs for _ in pairs]
    tables += [random.normal() * np.array([1.0, -1.0]) for _ in range(size)]
    blocks = [
        FactorBlock(np.array(pairs), np.arange(len(pairs))),
        FactorBlock(np.arange(size)[:, None], len(pairs) + np.arange(size)),
    ]
    return Network("spins", merged(np.full(size, 2), blocks, tables))


def _enumerated(network: Network) -> np.ndarray:
    """P(x = 1) of each variable, from all joint states."""
    ground = network.ground
    size = len(ground.ranges)
    states = np.array(list(np.ndindex(*([2] * size))))
    log = np.zeros(len(states))
    for block in ground.blocks:
        for scope, table in zip(block.scopes, block.table_of, strict=True):
            log += ground.tables[table][tuple(states[:, scope].T)]
    weight = np.exp(log - log.max())
    return np.asarray(weight @ states / weight.sum())


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(3, 6), st.floats(0.1, 2.0), st.integers(0, 1000))
def test_one_loop_is_exact(size: int, strength: float, seed: int) -> None:
    ring = [(min(v, w), max(v, w)) for v in range(size) for w in [(v + 1) % size]]
    network = _pairwise(ring, size, strength, seed)
    answers = infer(network, regions=f"loops:{size}")
    found = [answers.marginal(f"x{v}", "1") for v in range(size)]
    assert answers.flaw is None
    assert found == pytest.approx(_enumerated(network), abs=1e-8)


GRID = [(v, w) for v in range(12) for w in (v + 1, v + 4) if w < 12 and (w == v + 4 or w % 4)]


@pytest.mark.parametrize("seed", range(4))
def test_squares_of_a_grid_come_closer_than_scopes(seed: int) -> None:
    network = _pairwise(GRID, 12, 0.8, seed)
    true = _enumerated(network)

    def error(regions: str) -> float:
        answers = infer(network, regions=regions)
        assert regions == "intersections" or answers.flaw is None
        best = answers.at(answers.minima[0])
        found = np.array([best.marginal(f"x{v}", "1") for v in range(12)])
        return float(np.abs(found - true).max())

    assert error("loops:4") < error("intersections") / 3


def test_regions_of_a_grid() -> None:
    """Six squares, the edges that two of them share, and the spins where four of them meet."""
    rows = ground_region_graph(_pairwise(GRID, 12, 1.0, 0).ground, "loops:4").rows
    assert {own.shape[1]: len(own) for own in rows} == {4: 6, 2: 7, 1: 2}


def test_a_triangle_inside_a_factor_adds_nothing() -> None:
    block = FactorBlock(np.array([[0, 1, 2]]), np.zeros(1, np.int64))
    network = merged(np.full(3, 2), [block], [np.arange(8.0).reshape(2, 2, 2)])
    assert len(ground_region_graph(network, "loops:3")) == 1


@pytest.mark.slow
def test_auto_grows_along_loops_on_the_ground() -> None:
    answers = infer(_pairwise(GRID, 12, 1.0, 1), regions="auto")
    assert [str(step.graph.family) for step in answers.growth] == ["bethe", "loops:4"]
    assert answers.growth_end == "longer loops are not tried"


def test_the_default_grows_where_nothing_is_exact() -> None:
    network = _pairwise(GRID, 12, 1.0, 1)
    assert str(infer(network, exact=False).graph.family) == "loops:4"
    assert str(infer(network, effort="quick").graph.family) == "intersections"


def test_a_model_on_the_ground() -> None:
    model = parse("person = 4\np(person)\n0.7 p(x) <=> p(y) | x != y")
    whole = infer(model, regions="loops:4")
    assert whole.via == "ground"
    assert whole.log_z == pytest.approx(infer(model, exact=True).log_z, abs=1e-9)


@pytest.mark.parametrize("regions", ["loops:2", "loops", "loops:x", "loops:-3"])
def test_what_is_no_family(regions: str) -> None:
    with pytest.raises(InputError, match="L from 3"):
        infer(_pairwise(GRID, 12, 1.0, 0), regions=regions)


def test_loops_need_the_ground() -> None:
    model = parse("person = 4\np(person)\n0.7 p(x) <=> p(y) | x != y")
    with pytest.raises(InputError, match="via='ground'"):
        infer(model, regions="loops:3", via="lifted")


def test_too_many_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liftgbp.ground.compress.subsets.MOST_STEPS", 1000)
    everyone = np.array(list(combinations(range(20), 2)))
    with pytest.raises(CapacityError, match="loops of up to 6"):
        loops([everyone], 6, np.full(20, 2))


def test_many_neighbours_without_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A star has no loop, but as many ways through its centre as pairs of leaves."""
    monkeypatch.setattr("liftgbp.ground.compress.subsets.MOST_STEPS", 1000)
    star = np.array([[0, leaf] for leaf in range(1, 100)])
    assert loops([star], 4, np.full(100, 2)) == []
    with pytest.raises(CapacityError, match="loops of up to 4"):
        loops([99 - star[:, ::-1]], 4, np.full(100, 2))


def test_too_many_states() -> None:
    ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    with pytest.raises(CapacityError, match=r"2\^27 states"):
        loops([ring], 4, np.full(4, 100))
