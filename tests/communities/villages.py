"""Villages in which everybody is a friend of everybody, with exact answers by counting.

A village of n people weighs as much in all worlds with the same number of people who have each
value. People who have a friend elsewhere, or are asked about, are named; the others are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.support.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Villages:
    """Villages of some sizes, and friendships between them.

    weight   of two friends in a village who have the same value
    links    pairs of people, each a village and a number, with the weight of their friendship
    values   how many values people have
    fields   for each village the weight of the last value
    pinned   people whose last value is known
    """

    sizes: Sequence[int]
    weight: float
    links: dict[tuple[tuple[int, int], tuple[int, int]], float]
    values: int = 2
    fields: dict[int, float] = field(default_factory=dict)
    pinned: tuple[tuple[int, int], ...] = ()

    def number(self, person: tuple[int, int]) -> int:
        """The variable of a person."""
        return sum(self.sizes[: person[0]]) + person[1]

    @property
    def village(self) -> Ints:
        """The village of each variable."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def network(self) -> GroundNetwork:
        """The same as a network."""
        pairs = [
            (self.number((k, a)), self.number((k, b)), 0)
            for k, size in enumerate(self.sizes)
            for a in range(size)
            for b in range(a)
        ]
        same = np.eye(self.values)
        tables = [self.weight * same]
        for (one, other), weight in self.links.items():
            pairs.append((self.number(one), self.number(other), len(tables)))
            tables.append(weight * same)
        last = same[-1]
        singles = []
        for k, size in enumerate(self.sizes):
            tables.append(self.fields.get(k, 0.0) * last)
            singles += [(self.number((k, a)), len(tables) - 1) for a in range(size)]
        tables.append(np.where(last > 0, 0.0, -50.0))
        singles += [(self.number(person), len(tables) - 1) for person in self.pinned]
        rows, ones = np.array(pairs), np.array(singles)
        blocks = [FactorBlock(rows[:, :2], rows[:, 2]), FactorBlock(ones[:, :1], ones[:, 1])]
        return merged(np.full(sum(self.sizes), self.values), blocks, tables)

    def exact(self, asked: Sequence[tuple[int, int]]) -> tuple[Floats, float]:
        """The joint distribution of some people, and log Z."""
        linked = [person for pair in self.links for person in pair]
        named = list(dict.fromkeys([*asked, *linked, *self.pinned]))
        total = np.zeros((self.values,) * len(named))
        for states in product(range(self.values), repeat=len(named)):
            at = dict(zip(named, states, strict=True))
            log = sum(w for (a, b), w in self.links.items() if at[a] == at[b])
            log -= sum(50.0 for person in self.pinned if at[person] < self.values - 1)
            weight = math.exp(log)
            for k in range(len(self.sizes)):
                own = [s for person, s in at.items() if person[0] == k]
                weight *= self._counted(k, tuple(own.count(v) for v in range(self.values)))
            total[states] = weight
        z = total.sum()
        joint = total.sum(axis=tuple(range(len(asked), len(named))))
        return joint / z, math.log(z)

    @cache  # noqa: B019 (a handful of them in all)
    def _counted(self, village: int, named: tuple[int, ...]) -> float:
        """The weight of a village, by how many of the named people have each value."""
        others = self.sizes[village] - sum(named)
        found = 0.0
        for counts in product(range(others + 1), repeat=self.values):
            if sum(counts) == others:
                ways = math.factorial(others) / math.prod(map(math.factorial, counts))
                every = [a + b for a, b in zip(named, counts, strict=True)]
                log = self.weight * sum(math.comb(n, 2) for n in every)
                found += ways * math.exp(log + self.fields.get(village, 0.0) * every[-1])
        return found
