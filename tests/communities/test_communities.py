"""Minima of communities, against exact sums over villages and samples of towns."""

from __future__ import annotations

import numpy as np
import pytest
from cluster_flips import sampled, town
from villages import Villages

import liftgbp
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.methods.communities import CommunitySolution, by_communities
from liftgbp.methods.communities.coarse_network import (
    MixedMinima,
    coarse_answers,
    coarse_network,
)
from liftgbp.methods.communities.community_search import communities_of
from liftgbp.methods.communities.community_solution import SEARCHING, SETTLING
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.methods.effort import EFFORTS
from liftgbp.support.arrays import Ints
from liftgbp.support.progress import silent

NOBODY: Ints = np.zeros(0, dtype=np.int64)


def solved(network: GroundNetwork) -> CommunitySolution | None:
    return by_communities(network, FACTOR_SCOPES, EFFORTS["normal"], silent)


def chain(
    villages: int, weight: float = 1.0
) -> dict[tuple[tuple[int, int], tuple[int, int]], float]:
    return {((k, 0), (k + 1, 1)): weight for k in range(villages - 1)}


KNOWN = ((0, 5),)

VILLAGES = {
    "two": Villages([10] * 2, 0.8, chain(2), pinned=KNOWN),
    "four in a chain": Villages([10] * 4, 0.8, chain(4), pinned=KNOWN),
    "five in a ring": Villages(
        [9] * 5, 0.8, {((k, 0), ((k + 1) % 5, 1)): 1.0 for k in range(5)}, pinned=KNOWN
    ),
    "a star": Villages(
        [9] * 5, 0.8, {((0, k), (k, 0)): 1.0 for k in range(1, 5)}, pinned=((1, 5),)
    ),
    "unequal": Villages([9, 16, 8], 0.8, chain(3), pinned=KNOWN),
    "fields": Villages([10, 12, 10], 0.8, chain(3), fields={1: 0.1, 2: -0.1}, pinned=KNOWN),
    "enemies": Villages([10] * 3, 0.8, chain(3, -1.0), pinned=KNOWN),
    "three values": Villages([9] * 3, 1.0, chain(3), values=3, pinned=KNOWN),
    "several links": Villages(
        [10] * 2,
        0.8,
        {((0, 0), (1, 0)): 1.0, ((0, 1), (1, 1)): 1.0, ((0, 0), (1, 2)): 0.5},
        pinned=KNOWN,
    ),
}


@pytest.mark.parametrize("name", VILLAGES)
def test_villages_are_answered_as_by_counting(name: str) -> None:
    villages = VILLAGES[name]
    solution = solved(villages.network())
    assert solution is not None
    last = len(villages.sizes) - 1
    for asked in (
        [(0, 2)],
        [(last, 3)],
        [(0, 2), (last, 3)],
        [(last, 3), (last, 4)],
        *villages.links,
    ):
        exact, log_z = villages.exact(asked)
        found = solution.joint([villages.number(person) for person in asked])
        np.testing.assert_allclose(found, exact, atol=0.003)
    assert solution.log_z == pytest.approx(log_z, abs=0.01)


def test_one_minimum_of_the_whole_would_be_wrong() -> None:
    """What the test above is about: the known person decides in one village, not in all."""
    exact, _ = VILLAGES["four in a chain"].exact([(3, 3)])
    assert exact[1] < 0.6
    solution = solved(VILLAGES["four in a chain"].network())
    assert solution is not None and solution.phases.chances.max() > 0.99


def test_each_village_is_a_community() -> None:
    villages = VILLAGES["five in a ring"]
    network = villages.network()
    found = communities_of(network, VariableMessages(network, FACTOR_SCOPES, NOBODY), SEARCHING)
    assert found is not None
    np.testing.assert_array_equal(found, villages.village)


def test_weak_couplings_make_no_communities() -> None:
    assert solved(Villages([10] * 3, 0.2, chain(3), pinned=KNOWN).network()) is None


def test_one_village_has_its_minima_alone() -> None:
    villages = Villages([12], 0.8, {}, fields={0: -0.05})
    solution = solved(villages.network())
    assert solution is not None and solution.communities == (2,)
    exact, log_z = villages.exact([(0, 3)])
    np.testing.assert_allclose(solution.joint([3]), exact, atol=0.003)
    assert solution.log_z == pytest.approx(log_z, abs=0.01)


def test_people_between_villages_belong_to_none() -> None:
    """Somebody with two friends in each of three villages."""
    villages = Villages(
        [10, 10, 10, 1],
        0.8,
        {((k, friend), (3, 0)): 1.0 for k in range(3) for friend in range(2)},
        pinned=KNOWN,
    )
    solution = solved(villages.network())
    assert solution is not None
    assert solution.cut.community[30] == -1
    for asked in [(3, 0)], [(1, 5)], [(3, 0), (1, 5)], [(3, 0), (0, 0)]:
        exact, _ = villages.exact(asked)
        found = solution.joint([villages.number(person) for person in asked])
        np.testing.assert_allclose(found, exact, atol=0.003)


def test_a_large_network_of_communities_is_answered_by_messages() -> None:
    """The same numbers as by a junction tree, for villages in a row, where both are exact."""
    network = VILLAGES["four in a chain"].network()
    solution = solved(network)
    assert solution is not None
    coarse = coarse_network(network, solution.cut, solution.phases)
    by_messages = coarse_answers(coarse, 0, SETTLING)
    assert isinstance(by_messages, MixedMinima)
    assert by_messages.log_z == pytest.approx(solution.log_z, abs=1e-8)
    for village in range(4):
        np.testing.assert_allclose(by_messages.joint([village]), solution.coarse.joint([village]))


# --- towns


def towns(
    people: list[int], between: list[tuple[int, int]], weight: float
) -> dict[tuple[int, int], float]:
    generator = np.random.default_rng(7)
    first = np.cumsum([0, *people])
    weights = {
        pair: 1.0
        for start, size in zip(first.tolist(), people, strict=False)
        for pair in town(start, size, generator)
    }
    for one, other in between:
        ends = [first[k] + int(generator.integers(people[k])) for k in (one, other)]
        weights[int(min(ends)), int(max(ends))] = weight
    return weights


def ground(weights: dict[tuple[int, int], float], fields: np.ndarray) -> GroundNetwork:
    values = sorted(set(weights.values()))
    tables = [value * np.eye(2) for value in values]
    tables += [np.array([0.0, own]) for own in fields.tolist()]
    pairs = np.array([(a, b, values.index(w)) for (a, b), w in weights.items()])
    singles = np.flatnonzero(fields)
    blocks = [
        FactorBlock(pairs[:, :2], pairs[:, 2]),
        FactorBlock(singles[:, None], len(values) + singles),
    ]
    return merged(np.full(len(fields), 2), blocks, tables)


@pytest.mark.parametrize(
    ("people", "between", "weight"),
    [
        ([120] * 4, [(0, 1), (1, 2), (2, 3)], 1.0),
        ([50, 120, 70], [(0, 1)] * 3 + [(1, 2)] * 3, 0.5),
        ([60] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], -1.0),
    ],
    ids=["four towns", "three links each", "a ring of enemies"],
)
def test_towns_are_answered_as_by_a_sample(
    people: list[int], between: list[tuple[int, int]], weight: float
) -> None:
    weights = towns(people, between, weight)
    town_of = np.repeat(np.arange(len(people)), people)
    fields = np.zeros(len(town_of))
    fields[5] = 40.0
    solution = solved(ground(weights, fields))
    assert solution is not None
    mean, error = sampled(weights, fields, town_of, sweeps=3000, seed=3)
    chances = np.array([solution.joint([k])[1] for k in range(len(town_of))])
    found = np.bincount(town_of, chances) / np.bincount(town_of)
    assert error.max() < 0.02
    np.testing.assert_array_less(np.abs(found - mean), 3 * error + 0.003)


def test_answers_about_towns_are_made_of_communities() -> None:
    weights = towns([20] * 4, [(0, 1), (1, 2), (2, 3)], 1.0)
    facts = "\n".join(f"friends(P{a},P{b})" for a, b in weights)
    model = liftgbp.parse(
        "smokes(person)\nfriends(person, person)\n1 friends(x,y) => (smokes(x) <=> smokes(y))"
    )
    known = liftgbp.parse_evidence(model, facts + "\nsmokes(P5)", closed="friends")
    answers = liftgbp.infer(model, evidence=known, exact=False)
    assert answers.posterior.provenance.communities == (2, 2, 2, 2)
    fields = np.zeros(80)
    fields[5] = 40.0
    mean, error = sampled(weights, fields, np.arange(80) // 20, sweeps=1500, seed=4)
    asked = [answers.query(f"smokes(P{20 * k + 9})")[0]["true"] for k in range(4)]
    np.testing.assert_array_less(np.abs(np.array(asked) - mean), 3 * error + 0.005)


def test_minima_that_fluctuations_connect_are_not_trusted() -> None:
    """Near a critical strength, small towns have worlds between their minima."""
    generator = np.random.default_rng(7)
    first, second = town(0, 40, generator), town(40, 40, generator)
    fields = np.zeros(80)
    fields[5] = 40.0
    links = [*first, *second, (3, 43)]
    near = solved(ground(dict.fromkeys(links, 0.47), fields))
    far = solved(ground(dict.fromkeys(links, 0.8), fields))
    assert near is not None and far is not None and far.flaw is None
    assert near.flaw is not None and near.flaw.kind is liftgbp.Flaw.CLOSE_MINIMA
    mean, _ = sampled(dict.fromkeys(links, 0.47), fields, np.arange(80) // 40, 3000, seed=5)
    assert abs(near.joint([7])[1] - mean[0]) > 0.05
