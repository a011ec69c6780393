"""Answers over so many objects that rounding could decide them: right, or not trusted."""

from __future__ import annotations

import math
import warnings

import pytest

import liftgbp

HUGE = [10**k for k in (7, 9, 10, 12, 14, 16)]


def answered(name: str, people: int, **options: object) -> liftgbp.Answers:
    model = liftgbp.load(f"example:{name}")
    warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
    return liftgbp.infer(model, dict.fromkeys(model.sorts, people), **options)


# Everybody is famous or nobody is, and the two worlds differ by the rule about Anna alone.
ANNA = 1 / (1 + math.exp(-1.5))


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["intersections", "bethe"])
def test_one_rule_about_anna_decides_between_two_worlds(regions: str) -> None:
    trusted = []
    for people in HUGE:
        answers = answered("celebrity", people, effort="quick", regions=regions)
        if answers.flaw is None:
            trusted.append(people)
            assert answers.marginal("famous(Anna)") == pytest.approx(ANNA, abs=1e-6), people
    assert 10**10 in trusted


# Nearly everybody is in a high mood, in which four people smoke for one who does not; in the
# transitive relation and in friends-knows people fall into layers of a quarter, a half and a
# quarter, between which relations are open.
LIMITS = [
    ("moods", "smokes(x)", 4 / 5),
    ("transitive", "r(x,y)", 3 / 16),
    ("friends-knows", "friends(x,y)", 5 / 32),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "query", "limit"), LIMITS)
def test_what_is_trusted_is_near_the_limit(name: str, query: str, limit: float) -> None:
    trusted = 0
    for people in HUGE[2:]:
        answers = answered(name, people)
        if answers.flaw is None:
            trusted += 1
            found = answers.query(query)[-1].values[("true",)]
            assert found == pytest.approx(limit, abs=1e-4), people
    assert trusted >= 2


@pytest.mark.slow
def test_sparse_friends_change_little_as_a_town_grows() -> None:
    small = answered("town", 10**7, effort="quick")
    trusted = []
    for people in HUGE:
        answers = answered("town", people, effort="quick")
        if answers.flaw is None:
            trusted.append(people)
            for query in ("smokes(x)", "cancer(x)"):
                # What one friend more or less changes is one in so many people.
                assert answers.marginal(query) == pytest.approx(small.marginal(query), abs=3e-7)
    assert 10**12 in trusted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transitive", "friends-knows", "chain", "movies"])
def test_one_block_is_right_or_refused(name: str) -> None:
    """With one block, relations become rare: about log N / N, and nobody likes a movie."""
    rare = {"transitive": "r(x,y)", "chain": "r(x,y)", "movies": "likes(x,m)"}
    query = rare.get(name, "friends(x,y)")
    for people in HUGE:
        answers = answered(name, people, effort="quick")
        if answers.flaw is None:
            chance = answers.query(query)[-1].values[("true",)]
            assert chance <= 1.3 * math.log(people) / people, people
            if name != "movies":
                assert chance >= 0.3 * math.log(people) / people, people


def test_the_reason_says_that_rounding_is_to_blame() -> None:
    assert "rounding" in answered("transitive", 10**16, effort="quick").reason
