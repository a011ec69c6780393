"""Examples whose best worlds are known at every size: scores by formula, structure in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import liftgbp


def across(parts: int) -> Callable[[int], int]:
    """The ordered pairs between as many equal parts (Mantel, Turán)."""

    def pairs(n: int) -> int:
        sizes = [n // parts + (k < n % parts) for k in range(parts)]
        return n * n - sum(size * size for size in sizes)

    return pairs


def cyclic_triples(n: int) -> int:
    """Kendall and Babington Smith, 1940; each counts three times."""
    return 3 * (n**3 - n) // 24 if n % 2 else 3 * (n**3 - 4 * n) // 24


SCORES: dict[str, Callable[[int], int]] = {
    "opposites": across(2),
    "two-sides": across(2),
    "no-triangles": across(2),
    "no-shortcuts": across(2),
    "no-four-friends": across(3),
    "three-teams": across(3),
    "couples": lambda n: 2 * (n // 2),
    "pairs": lambda n: 2 * (n // 2),
    "ranking": lambda n: n * (n - 1) * (n - 2),
    "cycles": cyclic_triples,
    # Of two people, one gives to the other one and gets something back: no third one is there.
    "one-step": lambda n: n * n // 4 if n > 2 else 2,
}

WORDS = {
    "opposites": (
        "person: two halves, A (500,000) and B (500,000)",
        "friends: only between A and B",
        "left: only B",
    ),
    "no-triangles": (
        "person: two halves, A (500,000) and B (500,000)",
        "friends: only between A and B",
    ),
    "no-four-friends": (
        "person: three thirds, A (333,333), B (333,333) and C (333,334)",
        "friends: only between any two of different parts",
    ),
    "three-teams": (
        "person: three thirds, A (333,334), B (333,333) and C (333,333)",
        "team: red for A; green for B; blue for C",
    ),
    "couples": ("person: 500,000 pairs", "married: only inside each pair"),
    "pairs": (
        "record: 500,000 pairs",
        "same: only inside each pair, and of each object with itself",
    ),
    "ranking": (
        "player: all 1,000,000 in one order",
        "beats: only from each to all that come later",
    ),
    "cycles": (
        "player: A (500,000) and B (500,000); A and B side by side in order",
        "beats: only from each to the next half of a circle: all A and all B",
    ),
}


def best(name: str, size: int) -> liftgbp.BestWorld:
    model = liftgbp.load(f"example:{name}")
    (sort,) = model.sorts
    return liftgbp.best_world(model, {sort: size})


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("name", SCORES)
def test_small(name: str, size: int) -> None:
    world = best(name, size)
    assert world.proven, world.reason
    assert world.exact_score == world.upper == SCORES[name](size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [6, 7, 8, 9])
@pytest.mark.parametrize("name", SCORES)
def test_medium(name: str, size: int) -> None:
    test_small(name, size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000, 1_001, 10**6, 10**9 + 1, 10**18])
@pytest.mark.parametrize("name", SCORES)
def test_large(name: str, size: int) -> None:
    world = best(name, size)
    assert world.proven, world.reason
    assert world.exact_score == world.optimum.upper == SCORES[name](size)
    assert not any(rule.violated for rule in world.rules if rule.weight is None)
    counted = sum(int(rule.weight) * rule.satisfied for rule in world.rules if rule.weight)
    assert counted == world.exact_score


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDS)
def test_words(name: str) -> None:
    structure = best(name, 10**6).structure
    assert structure is not None
    assert structure.words == WORDS[name]


@pytest.mark.parametrize("name", ["opposites", "no-triangles", "couples", "pairs", "ranking"])
def test_words_of_worlds_that_are_written_out(name: str) -> None:
    """At six objects the world is found atom by atom; what it looks like is found again."""
    structure = best(name, 6).structure
    assert structure is not None
    half, whole = ("500,000", "3"), ("1,000,000", "6")
    assert structure.words == tuple(line.replace(*half).replace(*whole) for line in WORDS[name])
