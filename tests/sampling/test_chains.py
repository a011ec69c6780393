"""Sweeps leave the exact distribution as it is, whatever factors, ties and ranges there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, ground_network
from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.moves import Moves, Rhythm
from liftgbp.methods.sampling.terms import MOST_CONFIGURATIONS, WorldWeights, count_bits
from liftgbp.methods.sampling.tied import tie
from liftgbp.support.arrays import Floats, Ints

CHAINS = 64 * 200

MODELS = {
    "soft": "p(thing)\nq(thing, thing)\n0.8 p(x) ^ q(x,y) => p(y) | x != y\n-0.4 p(x)",
    "values": "m(thing) : {low, mid, high}\n1 m(x) = low => m(y) = mid | x != y\n0.3 m(x) = high",
    "hard": "p(thing)\nq(thing)\n!(p(x) ^ p(y)) | x != y.\nEXIST x p(x).\n0.7 p(x) => q(x)",
    "one of two": "p(thing)\nq(thing)\np(x) <=> !q(x).\n0.9 p(x) ^ p(y) | x != y\n0.5 q(x)",
    "tie": "e(thing, thing)\ne(x,y) <=> e(y,x).\n0.7 e(x,y) ^ e(y,z) => e(x,z) | distinct",
    "wide": "p(thing)\n1.2 (EXIST x p(x)) => (FORALL y p(y))\n0.4 p(x) ^ p(y) | x != y",
}


def networks() -> list[tuple[str, GroundNetwork]]:
    found = []
    for name, text in MODELS.items():
        model = liftgbp.parse(text)
        size = {"soft": 2, "tie": 3}.get(name, 4)
        found.append((name, ground_network(Problem.of(model, None, {"thing": size}))))
    random = np.random.default_rng(5)
    tables = tuple(random.normal(size=shape) for shape in [(2, 3), (3, 2, 2), (2, 2), (3,)])
    blocks = (
        FactorBlock(np.array([[1]]), np.array([3])),
        FactorBlock(np.array([[0, 1], [0, 3]]), np.array([0, 2])),
        FactorBlock(np.array([[1, 2, 3]]), np.array([1])),
    )
    found.append(("tables", GroundNetwork(np.array([2, 3, 2, 2]), blocks, tables)))
    return found


def distribution(network: GroundNetwork) -> tuple[Ints, Floats]:
    """All worlds, one in each row, and the probability of each: by brute force."""
    worlds = np.array(list(itertools.product(*map(range, network.ranges.tolist()))))
    logs = np.zeros(len(worlds))
    for block in network.blocks:
        for scope, table in zip(block.scopes, block.table_of, strict=True):
            logs += network.tables[table][tuple(worlds[:, scope].T)]
    weights = np.exp(logs - logs.max())
    return worlds, weights / weights.sum()


def check_distribution(worlds: Worlds, every: Ints, chances: Floats) -> None:
    """Whether worlds are distributed as they should, by a test of chi squared."""
    key = {tuple(world): k for k, world in enumerate(every.tolist())}
    seen = np.bincount([key[tuple(w)] for w in worlds.values.T.tolist()], minlength=len(every))
    expected = chances * CHAINS
    assert seen[expected == 0].sum() == 0
    # Rare worlds are one cell of the test.
    common = expected >= 5
    cells = np.append(seen[common], seen[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    used = wanted > 0
    statistic = ((cells - wanted)[used] ** 2 / wanted[used]).sum()
    assert statistic < chi2.ppf(1 - 1e-6, used.sum() - 1)


@pytest.mark.parametrize(("name", "network"), networks(), ids=lambda own: str(own)[:10])
@pytest.mark.parametrize("lookup", [False, True])
def test_a_sweep_leaves_the_distribution(name: str, network: GroundNetwork, lookup: bool) -> None:
    tied = tie(network).network
    every, chances = distribution(tied)
    random = np.random.default_rng(11)
    # Systematic sampling: each world starts as often as it should, up to one chain.
    place = (np.arange(CHAINS) + random.random()) / CHAINS
    first = np.searchsorted(np.cumsum(chances), place).clip(max=len(every) - 1)
    worlds = Worlds(tied.ranges, every[first].T.astype(np.uint8))
    most = 0 if lookup else MOST_CONFIGURATIONS
    Sweeper(tied, most).sweep(worlds, random)
    check_distribution(worlds, every, chances)
    assert (every[first] != worlds.values.T).any(axis=1).mean() > 0.03


@pytest.mark.parametrize(("name", "network"), networks(), ids=lambda own: str(own)[:10])
def test_the_weights_of_worlds(name: str, network: GroundNetwork) -> None:
    random = np.random.default_rng(2)
    values = np.array([random.integers(0, r, 64) for r in network.ranges.tolist()], np.uint8)
    weights = WorldWeights(Sweeper(network).index)
    worlds = Worlds(network.ranges, values)
    soft, hard = np.zeros(64), np.zeros(64)
    for block in network.blocks:
        for scope, table in zip(block.scopes, block.table_of, strict=True):
            own = network.tables[table][tuple(values[scope])]
            soft += np.where(np.isneginf(own), 0.0, own)
            hard += np.isneginf(own)
    assert weights.soft(worlds.planes) == pytest.approx(soft)
    assert weights.violations(worlds.planes).tolist() == hard.tolist()


@pytest.mark.slow
def test_ties_become_one_variable() -> None:
    model = liftgbp.parse(
        "e(thing, thing)\nn(thing, thing)\ne(x,y) <=> e(y,x).\ne(x,y) <=> !n(y,x)."
    )
    network = ground_network(Problem.of(model, None, {"thing": 3}))
    tied = tie(network)
    assert len(network.ranges) == 18
    assert len(tied.network.ranges) == 6
    every, chances = distribution(network)
    possible = {tuple(world) for world in every[chances > 0].tolist()}
    roots = itertools.product(*map(range, tied.network.ranges.tolist()))
    written = {
        tuple(tied.value[np.arange(18), np.array(world)[tied.root]].tolist()) for world in roots
    }
    assert written == possible


def test_counting_bits() -> None:
    random = np.random.default_rng(0)
    words = random.integers(0, 2**63, (600, 3, 2)).astype(np.uint64)
    bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    assert count_bits(words).tolist() == bits.sum(axis=0).tolist()


def test_worlds_of_bits() -> None:
    ranges = np.array([2, 4, 1, 3])
    random = np.random.default_rng(4)
    values = random.integers(0, ranges[:, None], (4, 64)).astype(np.uint8)
    worlds = Worlds(ranges, values)
    again = Worlds.of_bits(ranges, worlds.planes[[1, 3, 4, 5, 8, 9]])
    assert (again.values == values).all()


# --- moves of many atoms


@pytest.mark.slow
@pytest.mark.parametrize("name", ["soft", "values", "hard", "tie", "wide"])
@pytest.mark.parametrize("kind", ["objects", "exchanges", "mirrors"])
def test_moves_leave_the_distribution(name: str, kind: str) -> None:
    model = liftgbp.parse(MODELS[name])
    size = {"soft": 2, "tie": 3}.get(name, 4)
    network = ground_network(Problem.of(model, None, {"thing": size}))
    tied = tie(network)
    every, chances = distribution(tied.network)
    random = np.random.default_rng(17)
    place = (np.arange(CHAINS) + random.random()) / CHAINS
    first = np.searchsorted(np.cumsum(chances), place).clip(max=len(every) - 1)
    worlds = Worlds(tied.network.ranges, every[first].T.astype(np.uint8))
    sweeper = Sweeper(tied.network)
    assert network.atoms is not None
    variables = Variables(network.atoms, network.ranges, tuple(model.predicates.values()))
    weights = WorldWeights(sweeper.index)
    moves = Moves(variables, {"thing": size}, tied, sweeper, weights)
    moves.rhythms = {kind: Rhythm(1)}
    for sweep in range(6):
        moves.after_sweep(sweep, worlds, random)
    check_distribution(worlds, every, chances)
    # Bits and values are the same worlds, also where some chains went back.
    again = Worlds(tied.network.ranges, worlds.values.copy())
    assert (again.planes == worlds.planes).all()
    if kind == "objects" and name in ("values", "wide"):
        # Each object has one atom, which sweeps draw.
        assert moves.rhythms[kind].tries == 0
    else:
        assert moves.rhythms[kind].accepted > 0
