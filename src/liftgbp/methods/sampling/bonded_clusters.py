"""Clusters of variables that pull at each other exchange two values at once.

Bonds are drawn between variables that agree, more often where they pull more strongly; what bonds
connect is a cluster. One cluster in each chain exchanges two values in all of its variables. Bonds
inside are as likely after that as before, so that its boundary decides, beside what the exchange of
values changes inside. Where a pair repels each other, bonds are drawn if the two differ.

References: R. H. Swendsen and J.-S. Wang, *Nonuniversal critical dynamics in Monte Carlo
simulations*, Physical Review Letters 58, 1987; U. Wolff, *Collective Monte Carlo updating for spin
systems*, Physical Review Letters 62, 1989; A. Barbu and S.-C. Zhu, *Generalizing Swendsen-Wang to
sampling arbitrary posterior probabilities*, IEEE Transactions on Pattern Analysis and Machine
Intelligence 27, 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.chains import Worlds, settled
from liftgbp.methods.sampling.terms import HARD, Bytes, FactorIndex, WorldWeights
from liftgbp.methods.sampling.tied import Tied
from liftgbp.support.arrays import Bools, Floats, Ints

MOST_PAIRS = 2**14
"""Where there are more pairs than this, drawing bonds takes longer than a sweep."""

FEWEST_VARIABLES = 3
"""Smaller clusters help little, since sweeps change them as well."""

WEAKEST = 1e-9
"""Pairs that pull less than this are left out: what is left is rounding."""

MOST_KNOWN = 32
"""The pairs of at most this many choices of predicates and values are kept."""


@dataclass(frozen=True, eq=False, slots=True)
class Exchange:
    """Which two values each variable exchanges, (variables,): -1 for none."""

    one: Ints
    other: Ints

    @property
    def included(self) -> Bools:
        """The variables that may exchange values."""
        return self.one >= 0

    def signs(self, variables: Ints, values: Bytes) -> NDArray[np.int8]:
        """1 for the first of the two values, -1 for the second, 0 for any other one: (n, C)."""
        one, other = self.one[variables, None], self.other[variables, None]
        return np.asarray((values == one).astype(np.int8) - (values == other).astype(np.int8))

    def of(self, variables: Ints, values: Bytes) -> Bytes:
        """The values of some variables after the exchange."""
        one, other = self.one[variables, None], self.other[variables, None]
        changed = np.where(values == one, other, np.where(values == other, one, values))
        return changed.astype(np.uint8)


@dataclass(frozen=True, eq=False, slots=True)
class PairBlock:
    """Pairs in factors of one table whose other variables are not included.

    ends     the two variables of each pair, (pairs, 2)
    others   the other variables of their factors, (pairs, k)
    lengths  how many values these have
    pull     for each state of these: how much more two variables weigh that agree than two that
             do not, on average
    """

    ends: Ints
    others: Ints
    lengths: tuple[int, ...]
    pull: Floats

    def pulls(self, worlds: Worlds) -> Floats:
        """How much each pair pulls in each chain, (pairs, C or 1)."""
        if not self.lengths:
            return np.full((len(self.ends), 1), self.pull.item())
        values = tuple(worlds.values[column] for column in self.others.T)
        return np.asarray(self.pull.ravel()[np.ravel_multi_index(values, self.lengths)])


def pair_blocks(network: GroundNetwork, exchange: Exchange) -> Iterator[PairBlock]:
    """The pairs that factors with two included variables make of these, if they pull at all."""
    for block in network.blocks:
        inside = exchange.included[block.scopes]
        factors = np.flatnonzero(inside.sum(axis=1) == 2)
        scopes = block.scopes[factors]
        axes = np.nonzero(inside[factors])[1].reshape(-1, 2)
        ends = np.take_along_axis(scopes, axes, axis=1)
        values = np.stack([exchange.one[ends], exchange.other[ends]], axis=2).reshape(-1, 4)
        first, kind = distinct_rows(np.column_stack([block.table_of[factors], axes, values]))
        for number, example in enumerate(first.tolist()):
            same = np.flatnonzero(kind == number)
            table = network.tables[block.table_of[factors[example]]]
            table = np.moveaxis(np.maximum(table, -HARD), axes[example], (0, 1))
            one, other = np.split(values[example].reshape(2, 2), 2, axis=1)
            (a, b), (c, d) = one.ravel().tolist(), other.ravel().tolist()
            pull = (table[a, b] + table[c, d] - table[a, d] - table[c, b]) / 2
            if np.abs(pull).max() > WEAKEST:
                rest = np.delete(scopes[same], axes[example], axis=1)
                yield PairBlock(ends[same], rest, table.shape[2:], pull)


class Bonds:
    """Bonds between the ends of pairs, (pairs, 2), and the clusters that they make."""

    def __init__(self, ends: Ints, variables: int) -> None:
        self.ends = ends
        self.seeds = np.unique(ends)
        """The variables of the pairs."""
        self._variables = variables
        both = np.concatenate([ends, ends[:, ::-1]])
        self._order = np.argsort(both[:, 1], kind="stable")
        self._source = both[self._order, 0]
        self._target, self._starts = np.unique(both[self._order, 1], return_index=True)

    def clusters(self, bonds: Bools, seeds: Ints) -> Bools:
        """Which variables bonds, (pairs, C), connect to the seed of each chain: (variables, C)."""
        chains = np.arange(bonds.shape[1])
        first = np.zeros((self._variables, len(chains)), np.uint8)
        first[seeds, chains] = 1
        reached = np.packbits(first, axis=1, bitorder="little").view(np.uint64)
        bonded = np.packbits(bonds, axis=1, bitorder="little").view(np.uint64)
        bonded = np.concatenate([bonded, bonded])[self._order]
        while True:
            passed = np.bitwise_or.reduceat(reached[self._source] & bonded, self._starts, axis=0)
            grown = reached[self._target] | passed
            if (grown == reached[self._target]).all():
                bits = np.unpackbits(reached.view(np.uint8), axis=1, bitorder="little")
                return bits.astype(bool)
            reached[self._target] = grown

    def gain(self, strengths: Floats, clusters: Bools) -> Floats:
        """How much more likely bonds at boundaries are to be missing after the exchange, as logs.

        Missing bonds have the chance exp(-max(0, strength)), and the exchange changes its sign.
        """
        boundary = clusters[self.ends[:, 0]] != clusters[self.ends[:, 1]]
        return np.asarray(np.where(boundary, strengths, 0.0).sum(axis=0))


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """What may exchange values, the pairs of it, and the factors about it."""

    exchange: Exchange
    blocks: tuple[PairBlock, ...]
    bonds: Bonds
    weights: WorldWeights

    def strengths(self, worlds: Worlds) -> Floats:
        """How much more pairs weigh than if one end had exchanged its values, (pairs, C)."""
        parts = []
        for block in self.blocks:
            one, other = (self.exchange.signs(ends, worlds.values[ends]) for ends in block.ends.T)
            parts.append(block.pulls(worlds) * (one * other))
        return np.concatenate(parts)


class Clusters:
    """Lets clusters exchange two values."""

    def __init__(self, variables: Variables, tied: Tied, index: FactorIndex) -> None:
        self._index = index
        ranges = tied.network.ranges
        predicate = variables.atoms.predicate[tied.decides]
        arity = np.array([len(own.sorts) for own in variables.predicates], np.int64)
        # Variables of other tools are predicates without arguments: all of them are one kind.
        kind = np.where(arity[predicate] > 0, predicate, -1)
        self._kinds = [
            np.flatnonzero((kind == number) & (ranges > 1)) for number in np.unique(kind).tolist()
        ]
        self._kinds = [members for members in self._kinds if len(members)]
        self._values = [int(ranges[members].min()) for members in self._kinds]
        self._known: dict[tuple[tuple[int, int, int], ...], Choice | None] = {}

    def __call__(self, worlds: Worlds, random: np.random.Generator) -> Bools | None:
        """Exchange values in one cluster of each chain: where that is accepted and not trivial."""
        choice = self._chosen(random)
        if choice is None:
            return None
        bonds, strengths = choice.bonds, choice.strengths(worlds)
        chances = -np.expm1(-np.maximum(strengths, 0.0))
        present = random.random(strengths.shape, dtype=np.float32) < chances
        seeds = bonds.seeds[random.integers(len(bonds.seeds), size=worlds.chains)]
        clusters = bonds.clusters(present, seeds)
        gain = bonds.gain(strengths, clusters) - choice.weights.full(worlds.planes)
        changed = np.flatnonzero(clusters.any(axis=1))
        old = worlds.values[changed]
        new = np.where(clusters[changed], choice.exchange.of(changed, old), old)
        worlds.put(changed, new)
        gain += choice.weights.full(worlds.planes)
        accepted = settled(gain, changed, old, worlds, random)
        return np.asarray(accepted & ((new != old).sum(axis=0) >= FEWEST_VARIABLES))

    def _chosen(self, random: np.random.Generator) -> Choice | None:
        """The atoms of one predicate, or those of all predicates, and two values of each."""
        if not self._kinds:
            return None
        kinds = list(range(len(self._kinds)))
        if random.random() < 0.5:
            kinds = [int(random.integers(len(kinds)))]
        pairs = [random.choice(self._values[kind], 2, replace=False) for kind in kinds]
        key = tuple((kind, *sorted(pair.tolist())) for kind, pair in zip(kinds, pairs, strict=True))
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._choice(key)
        return self._known[key]

    def _choice(self, key: tuple[tuple[int, int, int], ...]) -> Choice | None:
        network = self._index.network
        one, other = np.full((2, len(network.ranges)), -1)
        for kind, first, second in key:
            one[self._kinds[kind]], other[self._kinds[kind]] = first, second
        exchange = Exchange(one, other)
        blocks = tuple(pair_blocks(network, exchange))
        if not 0 < sum(len(block.ends) for block in blocks) <= MOST_PAIRS:
            return None
        bonds = Bonds(np.concatenate([block.ends for block in blocks]), len(network.ranges))
        weights = WorldWeights(self._index, np.flatnonzero(exchange.included))
        return Choice(exchange, blocks, bonds, weights)
