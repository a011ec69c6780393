"""Weights so different that sums of them in doubles hide which world is better."""

from __future__ import annotations

from fractions import Fraction

import pytest

import liftgbp
from liftgbp.worlds.optimum import exact

CANCELLING = """p(person)
q(person)
1000000000000.3 p(x)
-1000000000000 p(x)
{} q(x)
!p(x) v !q(x).
"""


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize(("other", "best"), [("0.30004", "0.60008"), ("0.29996", "0.6")])
def test_nothing_is_proven_that_rounding_hides(via: str, other: str, best: str) -> None:
    model = liftgbp.parse(CANCELLING.format(other))
    world = liftgbp.best_world(model, {"person": 2}, via=via)  # type: ignore[arg-type]
    counts = world.count("p(x)"), world.count("q(x)")
    assert sum(counts) == 2
    assert world.exact_score == counts[0] * Fraction("0.3") + counts[1] * Fraction(other)
    assert world.exact_score <= Fraction(best) <= world.optimum.upper
    assert not world.proven


def test_a_small_weight_beside_a_large_one() -> None:
    model = liftgbp.parse("p(t)\n1000000000 p(x)\n0.000000001 !p(x)")
    world = liftgbp.best_world(model, {"t": 2}, via="ground")
    assert world.exact_score == 2 * 10**9 and not world.proven


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_large_weights_are_read_as_they_are_written(via: str) -> None:
    rules = "1000000000000.001 p(x)\n1000000000000 q(x)\n!p(x) v !q(x)."
    world = liftgbp.best_world(liftgbp.parse(f"p(t)\nq(t)\n{rules}"), {"t": 2}, via=via)  # type: ignore[arg-type]
    best = 2 * Fraction("1000000000000.001")
    assert world.exact_score <= best <= world.optimum.upper
    assert not world.proven or world.exact_score == best


@pytest.mark.parametrize("text", ["0.3", "1e9", "1000000000000.001", "123456.789", "-1.4", "1e-9"])
def test_written_numbers_are_exact(text: str) -> None:
    assert exact(float(text)) == Fraction(text)


def test_sums_of_decimals_stand_for_decimals() -> None:
    numbers = ["0.1", "0.2", "0.7", "1.4", "2.35", "17.9"]
    for one in numbers:
        for two in numbers:
            for three in numbers:
                total = float(one) + float(two) - float(three)
                assert exact(total) == Fraction(one) + Fraction(two) - Fraction(three)
