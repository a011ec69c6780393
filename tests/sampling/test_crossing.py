"""Moves that cross between parts of the worlds leave the exact distribution as it is."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import GroundNetwork, ground_network
from liftgbp.methods.sampling.annealing import bracketed
from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.moves import Moves, Rhythm
from liftgbp.methods.sampling.terms import WorldWeights
from liftgbp.methods.sampling.tied import Tied, tie
from liftgbp.support.arrays import Floats, Ints

CHAINS = 64 * 200

SAME_COLOUR = "\n".join(
    f"0.9 c(x) = {colour} ^ c(y) = {colour} | x != y" for colour in ("red", "green", "blue")
)
SAME_MOOD = "\n".join(f"0.7 r(x,y) ^ m(x) = {mood} => m(y) = {mood}" for mood in ("low", "high"))

MODELS = {
    "classes": (
        "r(t,t)\nr(x,y) <=> r(y,x).\nr(x,y) ^ r(y,z) => r(x,z) | distinct.\n-0.3 r(x,y)",
        4,
    ),
    "nearly": ("r(t,t)\nr(x,y) <=> r(y,x).\n1.1 r(x,y) ^ r(y,z) => r(x,z) | distinct", 4),
    "directed": ("r(t,t)\n0.8 r(x,y) ^ r(y,z) => r(x,z) | distinct\n0.4 r(x,x) => r(x,y)", 3),
    "moods": (f"m(t) : {{low, mid, high}}\nr(t,t)\n{SAME_MOOD}\n0.3 m(x) = low", 3),
    "friends": ("s(t)\nf(t,t)\n1 f(x,y) => (s(x) <=> s(y)) | x != y\n0.4 s(x)", 3),
    "rivals": ("s(t)\n-0.9 s(x) <=> s(y) | x != y\n0.5 s(x)", 5),
    "implied": ("s(t)\nc(t)\n1.2 s(x) => s(y) | x != y\n0.7 s(x) <=> c(x)\n-0.2 c(x)", 3),
    "never both": (
        "s(t)\nc(t)\n!(s(x) ^ c(x)).\n0.8 s(x) <=> s(y) | x != y\n0.3 c(x) ^ c(y) | x != y",
        3,
    ),
    "colours": (f"c(t) : {{red, green, blue}}\n{SAME_COLOUR}\n0.3 c(x) = red", 4),
}


POSSIBLE = {
    "likenesses": {"classes", "nearly", "directed", "moods", "friends", "implied", "never both"},
    "clusters": {"directed", "moods", "friends", "rivals", "implied", "never both", "colours"},
}
"""The models that have such a move: objects have several atoms, or some factors make pairs."""


@dataclass
class Case:
    """All worlds of a model, and the moves of its chains."""

    tied: Tied
    every: Ints
    logs: Floats
    moves: Moves

    @property
    def chances(self) -> Floats:
        return np.asarray(np.exp(self.logs - logsumexp(self.logs)))

    def worlds(self, numbers: Ints) -> Worlds:
        return Worlds(self.tied.network.ranges, self.every[numbers].T.astype(np.uint8))


def listed(network: GroundNetwork) -> tuple[Ints, Floats]:
    """The possible worlds, one in each row, and their log weights, factor by factor."""
    worlds = np.array(list(itertools.product(*map(range, network.ranges.tolist()))))
    logs = np.zeros(len(worlds))
    for block in network.blocks:
        for scope, table in zip(block.scopes, block.table_of, strict=True):
            logs += network.tables[table][tuple(worlds[:, scope].T)]
    return worlds[np.isfinite(logs)], logs[np.isfinite(logs)]


def case(name: str) -> Case:
    text, size = MODELS[name]
    model = liftgbp.parse(text)
    network = ground_network(Problem.of(model, None, {"t": size}))
    tied = tie(network)
    assert network.atoms is not None
    variables = Variables(network.atoms, network.ranges, tuple(model.predicates.values()))
    sweeper = Sweeper(tied.network)
    moves = Moves(variables, {"t": size}, tied, sweeper, WorldWeights(sweeper.index))
    return Case(tied, *listed(tied.network), moves)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likenesses", "clusters"])
@pytest.mark.parametrize("name", MODELS)
def test_crossing_moves_leave_the_distribution(name: str, kind: str) -> None:
    one = case(name)
    random = np.random.default_rng(23)
    # Systematic sampling: each world starts as often as it should, up to one chain.
    place = (np.arange(CHAINS) + random.random()) / CHAINS
    first = np.searchsorted(np.cumsum(one.chances), place).clip(max=len(one.every) - 1)
    worlds = one.worlds(first)
    one.moves.rhythms = {kind: Rhythm(most=4, times=4)}
    for sweep in range(5):
        one.moves.after_sweep(sweep, worlds, random)
    key = {tuple(world): k for k, world in enumerate(one.every.tolist())}
    last = np.array([key[tuple(world)] for world in worlds.values.T.tolist()])
    expected = one.chances * CHAINS
    common = expected >= 5
    # Rare worlds are one cell of the test.
    seen = np.bincount(last, minlength=len(one.every))
    cells = np.append(seen[common], seen[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    used = wanted > 0
    statistic = ((cells - wanted)[used] ** 2 / wanted[used]).sum()
    assert statistic < chi2.ppf(1 - 1e-6, used.sum() - 1)
    assert (one.worlds(last).planes == worlds.planes).all()
    # Where a move is possible, it moves worlds.
    assert (name in POSSIBLE[kind]) == ((last != first).mean() > 0.02)


@pytest.mark.parametrize("name", sorted(POSSIBLE["likenesses"]))
def test_likenesses_balance(name: str) -> None:
    """Between any two worlds there is as much traffic in either direction; chances add up to 1."""
    one = case(name)
    likenesses = one.moves._likenesses
    numbers = {tuple(world): k for k, world in enumerate(one.every.tolist())}
    for obj in likenesses._objects:
        own = likenesses._patterns(*obj)
        outcomes = np.array(list(itertools.product(*map(range, own.ranges.tolist()))), np.uint8)
        chances = np.zeros((len(one.every), len(one.every)))
        for start in range(0, len(one.every), 64):
            some = np.arange(start, min(start + 64, len(one.every)))
            worlds = one.worlds(np.resize(some, 64))
            drawn = own.outcomes(worlds)
            total = np.zeros(64)
            for outcome in outcomes:
                chance = np.exp(drawn.log_chance(np.tile(outcome[:, None], 64)))
                total += chance
                changed = one.every[some].copy()
                changed[:, own.roots] = outcome
                for k, world in enumerate(changed.tolist()):
                    if tuple(world) in numbers:
                        chances[some[k], numbers[tuple(world)]] = chance[k]
            assert total == pytest.approx(1, abs=1e-12)
        accepted = np.minimum(chances, np.exp(one.logs[None] - one.logs[:, None]) * chances.T)
        flow = one.chances[:, None] * accepted
        assert np.abs(flow - flow.T).max() < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(POSSIBLE["clusters"]))
def test_clusters_balance(name: str) -> None:
    """The exact distribution is stationary: summed over every set of bonds, and every seed."""
    one = case(name)
    chosen = [one.moves._clusters._chosen(np.random.default_rng(k)) for k in range(40)]
    choices = {id(choice): choice for choice in chosen if choice is not None}
    numbers = {tuple(world): k for k, world in enumerate(one.every.tolist())}
    for choice in choices.values():
        bonds = choice.bonds
        sets = np.array(list(itertools.product([False, True], repeat=len(bonds.ends))))
        pairs = np.array(list(itertools.product(range(len(sets)), bonds.seeds)))
        # As many chains as there are sets and seeds, filled up to whole words.
        chains = np.arange(-(-len(pairs) // 64) * 64) % len(pairs)
        present = np.ascontiguousarray(sets[pairs[chains, 0]].T)
        seeds = pairs[chains, 1]
        clusters = bonds.clusters(present, seeds)[:, : len(pairs)]
        arrived = np.zeros(len(one.every))
        for start, world in enumerate(one.every):
            here = one.worlds(np.full(64, start))
            strengths = choice.strengths(here)[:, :1]
            missing = np.exp(-np.maximum(strengths, 0))
            chance = np.where(present, 1 - missing, missing).prod(axis=0)[: len(pairs)]
            values = np.tile(world[:, None], len(pairs)).astype(np.uint8)
            every = np.arange(len(world))
            moved = np.where(clusters, choice.exchange.of(every, values), values)
            ends = np.array([numbers.get(tuple(own), -1) for own in moved.T.tolist()])
            logs = np.where(ends >= 0, one.logs[ends], -np.inf)
            gain = bonds.gain(strengths, clusters) + logs - one.logs[start]
            flow = one.chances[start] * chance / len(bonds.seeds)
            accepted = flow * np.exp(np.minimum(gain, 0))
            np.add.at(arrived, ends[ends >= 0], accepted[ends >= 0])
            arrived[start] += (flow - accepted).sum()
        assert np.abs(arrived - one.chances).max() < 1e-12


# --- models whose worlds fall into parts


def partitions(size: int, weight: float) -> tuple[float, float]:
    """log Z and P(same) of an equivalence relation with a weight for each pair, by recursion.

    Over the class of the first object: Z(n) = sum over k of C(n-1, k-1) e^(weight k (k-1)) Z(n-k).
    """
    sums = [1.0]
    for n in range(1, size + 1):
        sums.append(
            sum(
                math.comb(n - 1, k - 1) * math.exp(weight * k * (k - 1)) * sums[n - k]
                for k in range(1, n + 1)
            )
        )
    same = sum(
        math.comb(size - 2, k - 2) * math.exp(weight * k * (k - 1)) * sums[size - k]
        for k in range(2, size + 1)
    )
    return math.log(sums[size]), same / sums[size]


EQUIVALENCE = "r(t,t)\nr(x,y) <=> r(y,x).\nr(x,y) ^ r(y,z) => r(x,z) | distinct.\n"


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.05, -0.1])
def test_objects_join_and_leave_classes(weight: float) -> None:
    model = liftgbp.parse(f"{EQUIVALENCE}{weight} r(x,y) | x != y")
    sample = liftgbp.sample(model, {"t": 12}, sweeps=500, seed=3)
    log_z, same = partitions(12, weight)
    assert sample.mixed, sample.doubt
    row = sample.query("r(x,y)")[-1]
    assert row["true"] == pytest.approx(same, abs=4 * row.errors["true",])
    assert row.errors["true",] < 0.003
    assert sample.annealed is not None
    # The atoms r(x,x) are free.
    assert sample.annealed.value == pytest.approx(
        log_z + 12 * math.log(2), abs=3 * sample.annealed.error
    )


@pytest.mark.slow
def test_towns_turn_as_a_whole() -> None:
    """Two rings of ten that one friendship connects: by transfer matrices, P is 1/2 + tanh/2."""
    names = [f"P{k}" for k in range(20)]
    model = liftgbp.parse(
        f"p = {{{', '.join(names)}}}\ns(p)\nf(p, p)\n2.5 f(x,y) => (s(x) <=> s(y)) | x != y"
    )
    ring = [(town + k, town + (k + 1) % 10) for town in (0, 10) for k in range(10)]
    facts = [f"f(P{one},P{other})" for one, other in [*ring, (4, 14)]]
    evidence = liftgbp.parse_evidence(model, "\n".join([*facts, "s(P4)"]), closed=["f"])
    sample = liftgbp.sample(model, {}, evidence=evidence, sweeps=400, log_z=False)
    assert sample.mixed, sample.doubt
    (row,) = sample.query("s(P14)")
    assert row["true"] == pytest.approx((1 + math.tanh(1.25)) / 2, abs=4 * row.errors["true",])
    # Along a ring of ten, both ways of five steps add up: (2 a^5) / (1 + a^10), a = tanh(1.25).
    a = math.tanh(1.25)
    (far,) = sample.query("s(P19)")
    there = (1 + a * 2 * a**5 / (1 + a**10)) / 2
    assert far["true"] == pytest.approx(there, abs=4 * far.errors["true",])


@pytest.mark.slow
def test_towns_of_three_colours_turn_as_a_whole() -> None:
    """Two rings of ten beside each other: given one colour, another end of a friendship of weight w
    has it with chance e^w / (e^w + 2)."""
    names = [f"P{k}" for k in range(20)]
    rules = [f"f(x,y) ^ c(x) = {own} => c(y) = {own} | x != y" for own in ("red", "green", "blue")]
    text = "\n".join(f"3 {rule}" for rule in rules)
    model = liftgbp.parse(
        f"p = {{{', '.join(names)}}}\nc(p) : {{red, green, blue}}\nf(p, p)\n{text}"
    )
    ring = [(town + k, town + (k + 1) % 10) for town in (0, 10) for k in range(10)]
    facts = [f"f(P{one},P{other})" for one, other in [*ring, (4, 14)]]
    evidence = liftgbp.parse_evidence(model, "\n".join([*facts, "c(P4) = red"]), closed=["f"])
    sample = liftgbp.sample(model, {}, evidence=evidence, sweeps=400, log_z=False)
    assert sample.mixed, sample.doubt
    (row,) = sample.query("c(P14)")
    expected = math.exp(3) / (math.exp(3) + 2)
    assert row["red"] == pytest.approx(expected, abs=4 * row.errors["red",])
    assert row["blue"] == pytest.approx((1 - expected) / 2, abs=4 * row.errors["blue",])


@pytest.mark.slow
def test_log_z_is_no_less_than_what_one_world_weighs() -> None:
    """If all are alike, every rule holds; annealing from independent atoms does not get there."""
    model = liftgbp.parse(
        "r(t,t)\nr(x,y) <=> r(y,x).\n1 r(x,y) ^ r(y,z) => r(x,z) | distinct\n0.3 r(x,y) | x != y"
    )
    sample = liftgbp.sample(model, {"t": 12}, sweeps=200)
    alike = 12 * 11 * 10 + 0.3 * 12 * 11 + 12 * math.log(2)
    assert sample.annealed is not None
    assert alike < sample.annealed.value < alike + 0.2
    low, high = np.zeros(64), np.full(64, 2.0)
    told = bracketed(low, high, best=-1.0)
    assert told is not None
    assert (told.value, told.error) == (1.0, 1.0)
    # With half the chains in one world, Z is twice its weight.
    told = bracketed(low, high, best=0.5, share=0.5)
    assert told is not None
    assert abs(told.value - 0.5 - math.log(2) / 2) < 1e-12
    assert bracketed(low, high, best=2.5) is None
