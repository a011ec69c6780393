"""Towns of friends with single friendships between them, sampled by clusters.

Reference: R. H. Swendsen and J.-S. Wang, *Nonuniversal critical dynamics in Monte Carlo
simulations*, 1987. Friends who agree are bound with the probability 1 - exp(-w); each cluster of
bound people then takes one value. People who are bound surely agree, and others are independent but
for known ones, so that probabilities are means over clusters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from benchmarks.people.case import PeopleCase, Truth

COPIES, STEPS, WARM_UP = 32, 300, 20
FRIENDS_OF_EACH = 6
SWITCHES = 20
"""How often each friendship of a ring is switched, until the network is random."""

VALUES = ("low", "mid", "high")


class Clusters:
    """Independent copies of a network of people who tend to agree with their friends.

    `fields` has a log weight for each person and value.
    """

    def __init__(
        self, edges: Sequence[tuple[int, int]], weight: float, fields: np.ndarray, seed: int = 0
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._fields = fields
        self._ends = np.array(edges).T
        self._bind = -math.expm1(-weight)
        values = fields.shape[1]
        free = np.broadcast_to(fields, (COPIES, *fields.shape))
        start = self._random.integers(values, size=(COPIES, 1, 1)) == np.arange(values)
        self._states = np.argmax(np.where(np.isneginf(free), -1, start), axis=2)

    def steps(self, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The cluster of each person in each copy, and the probabilities of their values."""
        copies, people = self._states.shape
        first, second = self._ends
        base = (np.arange(copies) * people)[:, None]
        for _ in range(number):
            agree = self._states[:, first] == self._states[:, second]
            bound = agree & (self._random.random(agree.shape) < self._bind)
            ends = (base + first)[bound], (base + second)[bound]
            graph = coo_matrix((np.ones(len(ends[0])), ends), (copies * people,) * 2)
            clusters, labels = connected_components(graph, directed=False)
            logs = np.stack(
                [
                    np.bincount(labels, np.tile(field_of, copies), clusters)
                    for field_of in self._fields.T
                ],
                axis=1,
            )
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            drawn = np.argmax(logs + self._random.gumbel(size=logs.shape), axis=1)
            self._states = drawn[labels].reshape(copies, people)
            yield labels.reshape(copies, people), shares[labels].reshape(copies, people, -1)


def _mean(values: Sequence[np.ndarray]) -> Truth:
    """The mean of a list of what each copy says, after a warm-up."""
    means = np.mean(values[WARM_UP:], axis=0)
    return Truth(float(means.mean()), float(means.std(ddof=1) / math.sqrt(len(means))))


def agreement_of(
    edges: Sequence[tuple[int, int]], people: int, weight: float, values: int, one: int, other: int
) -> Truth:
    """How often two people of a network without fields are in one cluster."""
    clusters = Clusters(edges, weight, np.zeros((people, values)))
    return _mean([labels[:, one] == labels[:, other] for labels, _ in clusters.steps(STEPS)])


def regular(people: int, seed: int) -> list[tuple[int, int]]:
    """A random network in which everybody has six friends: a ring whose friendships are switched.

    Two friendships exchange their ends as long as nobody becomes a friend of themselves or twice.
    """
    random = Random(seed)
    edges = [
        (k, (k + step) % people)
        for k in range(people)
        for step in range(1, FRIENDS_OF_EACH // 2 + 1)
    ]
    known = {frozenset(edge) for edge in edges}
    for _ in range(SWITCHES * len(edges)):
        i, j = random.sample(range(len(edges)), 2)
        (a, b), (c, d) = edges[i], edges[j]
        new = {frozenset((a, d)), frozenset((c, b))}
        if len({a, b, c, d}) == 4 and not new & known:
            known -= {frozenset((a, b)), frozenset((c, d))}
            known |= new
            edges[i], edges[j] = (a, d), (c, b)
    return sorted((min(edge), max(edge)) for edge in edges)


def towns(
    sizes: Sequence[int], weight: float = 1.0, values: int = 2, habit: float = 0.0
) -> PeopleCase:
    """Towns in a row, with one friendship between neighbours and one known person in the first.

    Without a habit, values are exchangeable: a correlation across a single friendship is a product,
    so that only the agreement of two people of one town is sampled. A habit, the weight of one
    value of everybody, is sampled over all towns.
    """
    inside = [regular(size, seed) for seed, size in enumerate(sizes)]
    names = [[f"T{town + 1}P{k}" for k in range(size)] for town, size in enumerate(sizes)]
    # The known person is 0; friendships between towns join 1 of one to 2 of the next.
    asked, leaves, enters = 0, 1, 2
    facts = [
        f"friends({names[town][a]},{names[town][b]})"
        for town, edges in enumerate(inside)
        for a, b in edges
    ]
    bridges = list(itertools.pairwise(range(len(sizes))))
    facts += [f"friends({names[a][leaves]},{names[b][enters]})" for a, b in bridges]
    if values == 2:
        text = "friends(person, person)\nsmokes(person)\n"
        text += f"{weight} friends(x,y) => (smokes(x) <=> smokes(y))\n"
        text += f"{habit} smokes(x)\n" if habit else ""
        atom, value = "smokes({})", ""
    else:
        text = f"friends(person, person)\nmood(person) : {{{', '.join(VALUES)}}}\n"
        text += "".join(
            f"{weight} friends(x,y) ^ mood(x) = {own} ^ mood(y) = {own}\n" for own in VALUES
        )
        atom, value = "mood({})", " = high"
    facts.append(atom.format(names[0][0]) + value)

    def by_transfer() -> Iterator[tuple[str, Truth]]:
        bind = -math.expm1(-weight)
        across = bind / (bind + (1 - bind) * values)
        reached, relative = 1.0, 0.0
        for town, size in enumerate(sizes[:-1]):
            entry = enters if town else 0
            own = agreement_of(inside[town], size, weight, values, entry, leaves)
            reached *= own.value * across
            relative += own.error / own.value
            there = agreement_of(inside[town + 1], sizes[town + 1], weight, values, enters, asked)
            total = reached * there.value
            error = total * (relative + there.error / there.value) * (1 - 1 / values)
            yield names[town + 1][asked], Truth(total + (1 - total) / values, error)

    def by_clusters() -> Iterator[tuple[str, Truth]]:
        first = [0, *itertools.accumulate(sizes)]
        edges = [
            (first[town] + a, first[town] + b) for town, own in enumerate(inside) for a, b in own
        ]
        edges += [(first[a] + leaves, first[b] + enters) for a, b in bridges]
        fields = np.zeros((sum(sizes), 2))
        fields[:, 1] = habit
        fields[0, 0] = -np.inf
        steps = list(Clusters(edges, weight, fields).steps(4 * STEPS))
        for town in range(1, len(sizes)):
            place = first[town] + asked
            yield names[town][asked], _mean([shares[:, place, 1] for _, shares in steps])

    def truths() -> Mapping[str, Truth]:
        found = by_clusters() if habit else by_transfer()
        return {atom.format(name) + value: truth for name, truth in found}

    told = f", {values} values" if values > 2 else f", habit {habit}" if habit else ""
    return PeopleCase(
        f"towns {' '.join(map(str, sizes))}, {weight}{told}",
        text,
        {"person": sum(sizes)},
        "clusters" if habit else "transfer across bridges, clusters inside",
        truths,
        "\n".join(facts),
        ("friends",),
    )
