"""The truths of `benchmarks.people`, beside enumeration where that is possible."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from benchmarks.people.asking import Outcome
from benchmarks.people.case import PeopleCase
from benchmarks.people.cases import ALL_CASES
from benchmarks.people.drawn import DRAWN, chain, circles, ranking, transitive
from benchmarks.people.sampling import Recipe, SampledCase, everything, in_order, stored
from benchmarks.people.summed import (
    agreement,
    asthma,
    celebrity,
    coloured_ring,
    equivalence,
    hubs,
    order,
    records,
    smokers,
)
from benchmarks.people.sums import Equivalence, Ranking, enumerated
from benchmarks.people.towns import FRIENDS_OF_EACH, regular, towns

MOST_ERRORS = 4.0
"""How many standard errors a sample may be off: one in 16 000 is, by chance."""

SUMMED = (
    equivalence(3, 0.05),
    equivalence(4, -0.1),
    equivalence(3, 0.3, mark=-0.4),
    equivalence(3, 0.3, mark=-0.4, differ=0.2),
    equivalence(5, 0.3, facts="same(Anna,Bob) !same(Anna,Carl)"),
    equivalence(5, 0.3, mark=-0.4, facts="marked(Anna) same(Anna,Bob) !marked(Carl)"),
    equivalence(5, 0.3, mark=-0.4, differ=0.2, facts="marked(Anna) !same(Anna,Carl)"),
    records(5),
    order(3, -0.4, 0.5),
    order(4, -0.4, 0.5),
    order(4, -0.4, 0.5, facts=True),
    smokers(4, 1.4, 0.1),
    smokers(5, 1.4, -0.2, "smokes(Anna) friends(Anna,Bob) !friends(Bob,Carl)"),
    asthma(4),
    celebrity(4),
    agreement(6, 0.3, 0.1, 2),
    agreement(5, 0.3, 0.1, 3),
    hubs(2, 3, 1),
    coloured_ring(7),
)


def by_enumeration(case: PeopleCase, queries: list[str]) -> dict[str, float]:
    return enumerated(case.model, case.sizes, case.evidence, queries)


@pytest.mark.parametrize("case", SUMMED, ids=lambda case: case.name)
def test_sums_equal_enumeration(case: PeopleCase) -> None:
    exact = by_enumeration(case, list(case.truth))
    for query, truth in case.truth.items():
        assert truth.error == 0
        assert truth.value == pytest.approx(exact[query], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        towns((7, 8)),
        towns((7, 7), weight=0.3),
        towns((8, 7), weight=0.4, habit=-0.2),
        towns((7, 7), weight=0.4, values=3),
    ],
    ids=lambda case: case.name,
)
def test_clusters_agree_with_enumeration(case: PeopleCase) -> None:
    exact = by_enumeration(case, list(case.truth))
    for query, truth in case.truth.items():
        assert 0 < truth.error < 0.003
        assert abs(truth.value - exact[query]) <= MOST_ERRORS * truth.error


COLD = (1.0, 0.7, 0.4)
CHAINS = (
    transitive(5, 1.4, Recipe(1000)),
    transitive(6, 1.4, Recipe(1000, betas=COLD, exchangeable="person"), "r(A,B); r(B,C)"),
    circles(6, 0.87, Recipe(1000, 32, COLD, ("r",), "person", "r"), "r(A,B); !r(B,C)"),
    chain(4, Recipe(1000)),
    ranking(4, Recipe(1000, betas=COLD, starts=(in_order, everything))),
)


@pytest.mark.slow
@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case.name)
def test_plain_chains_agree_with_enumeration(case: SampledCase) -> None:
    exact = by_enumeration(case, list(case.queries))
    for query, drawn in case.drawn.items():
        assert 0 < drawn.error < 0.02
        assert abs(drawn.value - exact[query]) <= MOST_ERRORS * drawn.error


def test_partitions_are_counted_by_bell_numbers() -> None:
    """Without weights; the Bell numbers of 9 and 10 are 21 147 and 115 975 (OEIS A000110)."""
    free = Equivalence(10, 0.0)
    assert free.log_z() == pytest.approx(math.log(115_975), abs=1e-12)
    assert free.same_probability() == pytest.approx(21_147 / 115_975, abs=1e-12)


def test_without_scores_an_order_says_nothing() -> None:
    ranking = Ranking(7, -0.4, 1e-9)
    assert ranking.good_probability() == pytest.approx(1 / (1 + math.exp(0.4)), abs=1e-8)
    assert ranking.beats_probability() == pytest.approx(0.5, abs=1e-8)


def test_everybody_in_town_has_six_friends() -> None:
    edges = regular(40, seed=3)
    assert len(set(edges)) == len(edges) == 40 * FRIENDS_OF_EACH // 2
    assert set(Counter(end for edge in edges for end in edge).values()) == {FRIENDS_OF_EACH}


def test_there_are_at_least_sixty_models() -> None:
    assert len({case.name for case in ALL_CASES}) == len(ALL_CASES) >= 60


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.name)
def test_stored_truths_are_precise(case: SampledCase) -> None:
    assert set(stored(case.name)) == set(case.queries)
    assert all(truth.error < 0.005 for truth in case.truth.values())


@pytest.mark.parametrize(
    ("standing", "probability", "error", "kind"),
    [
        ("confirmed", 0.519, 0.0, "right"),
        ("confirmed", 0.521, 0.0, "TRUSTED AND WRONG"),
        ("confirmed", 0.58, 0.041, "right"),
        ("confirmed", 0.58, 0.039, "TRUSTED AND WRONG"),
        ("unconfirmed", 0.529, 0.0, "unconfirmed right"),
        ("unconfirmed", 0.531, 0.0, "unconfirmed wrong"),
        ("confirmed", math.nan, 0.0, "TRUSTED AND WRONG"),
        ("refused", 0.5, 0.0, "refused"),
    ],
)
def test_classes(standing: str, probability: float, error: float, kind: str) -> None:
    own = Outcome("model", standing, "p(x)", probability, error, 0.5, 0.0, "", 0.0)
    assert own.kind == kind
    assert own.is_usable == kind.endswith("right")
