"""Ground models whose best worlds are looked for in `benchmarks.worlds`, each drawn from a seed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.methods.sampling.tied import tie
from liftgbp.worlds.ground.program import cubes_of
from liftgbp.worlds.ground.whole import equal_places, whole_network

FRIENDS_OF_EACH = 5
KNOWN = 0.1
"""The share of people of whom it is known whether they smoke, and whether they have cancer."""

SMOKERS = """
friends(person, person)
smokes(person)
cancer(person)
-0.5 smokes(x)
-1 cancer(x)
0.8 friends(x,y) ^ smokes(x) => smokes(y) | x != y
1.5 smokes(x) => cancer(x)
"""

RECORDS = """
same(record, record)
*alike(record, record)
*unlike(record, record)
same(x,x).
same(x,y) => same(y,x).
same(x,y) ^ same(y,z) => same(x,z) | distinct.
1.3 alike(x,y) => same(x,y)
0.9 unlike(x,y) => !same(x,y)
-0.2 same(x,y) | x != y
"""


def smokers(people: int) -> Problem:
    """Friends tend to smoke alike, and of some people it is known: one maximum flow."""
    random = np.random.default_rng(0)
    model = liftgbp.parse(SMOKERS)
    ends = random.integers(0, people, (people * FRIENDS_OF_EACH // 2, 2))
    pairs = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    facts = []
    for predicate, share in (("smokes", 0.6), ("cancer", 0.5)):
        known = random.permutation(people)[: int(KNOWN * people)].tolist()
        facts += [f"{'!' * (random.random() > share)}{predicate}(P{own})" for own in known]
    with tempfile.TemporaryDirectory() as folder:
        friends, others = Path(folder, "friends.csv"), Path(folder, "others.db")
        others.write_text("\n".join(facts), encoding="utf-8")
        both = np.concatenate([pairs, pairs[:, ::-1]]).tolist()
        rows = (f"P{one},P{other}\n" for one, other in both)
        friends.write_text("x,y\n" + "".join(rows), encoding="utf-8")
        evidence = liftgbp.load_evidence(
            model, f"friends={friends}", str(others), closed=("friends",)
        )
        return Problem.of(model, evidence, {"person": people})


def records(number: int, entities: int, noise: float) -> Problem:
    """Which records are the same? Pairs of them look alike, unlike or neither.

    `noise` is the share of pairs that look alike although they differ, or the other way round.
    """
    random = np.random.default_rng(0)
    entity = random.integers(0, entities, number)
    facts = []
    for one in range(number):
        for other in range(one + 1, number):
            same = (entity[one] == entity[other]) != (random.random() < noise)
            if random.random() < (0.8 if same else 0.5):
                facts.append(f"{'alike' if same else 'unlike'}(R{one},R{other})")
    model = liftgbp.parse(f"record = {{{', '.join(f'R{k}' for k in range(number))}}}{RECORDS}")
    return Problem.of(model, liftgbp.parse_evidence(model, "\n".join(facts)))


def glass(size: int) -> GroundNetwork:
    """A square whose neighbours rather are alike, or different, with a weak field: frustrated."""
    random = np.random.default_rng(0)
    places = np.arange(size * size).reshape(size, size)
    right = np.column_stack([places[:, :-1].ravel(), places[:, 1:].ravel()])
    down = np.column_stack([places[:-1].ravel(), places[1:].ravel()])
    ends = np.concatenate([right, down])
    strength = np.round(random.normal(size=len(ends)), 2).tolist()
    field = np.round(random.normal(size=size * size) / 10, 2).tolist()
    tables = [np.array([[w, -w], [-w, w]]) for w in strength]
    tables += [np.array([-h, h]) for h in field]
    pairs = FactorBlock(ends, np.arange(len(ends)))
    singles = FactorBlock(places.reshape(-1, 1), np.arange(len(ends), len(tables)))
    return merged(np.full(size * size, 2), [pairs, singles], tables)


@dataclass(frozen=True)
class WeightedClauses:
    """A ground network as other programs read it: literals are variables from 1, or their negation.

    `hard` clauses must hold. `soft` ones have whole weights, and a world scores `ceiling` less the
    weights of those that it violates, in `unit`s, and a `constant`.
    """

    variables: int
    hard: list[list[int]]
    soft: list[tuple[int, list[int]]]
    ceiling: int
    unit: float
    constant: float

    def score(self, violated: float) -> float:
        """The score of a world that violates clauses of such a weight."""
        return (self.ceiling - violated) * self.unit + self.constant


def clauses_of(network: GroundNetwork) -> WeightedClauses:
    """The clauses of a network of Boolean variables; atoms that hard rules tie are one variable."""
    tied = tie(network).network
    whole = whole_network(tied)
    hard: list[list[int]] = []
    soft: list[tuple[int, list[int]]] = []
    for block in whole.blocks:
        for number, rows in equal_places(block.table_of):
            for cube in cubes_of(whole.tables[number]):
                axes, values = (list(part) for part in zip(*cube.literals, strict=True))
                # A cube is violated by other values than its own.
                signs = np.where(np.array(values) == 0, 1, -1)
                found = ((block.scopes[rows][:, axes] + 1) * signs).tolist()
                if cube.cost == np.inf:
                    hard += found
                else:
                    soft += [(int(cube.cost), literals) for literals in found]
    return WeightedClauses(
        whole.size, hard, soft, whole.ceiling, float(whole.unit), tied.log_constant
    )
