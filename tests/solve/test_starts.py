"""Where descent starts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from liftgbp import infer, parse
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Descent
from liftgbp.solve.starts import number_of_starts, starting_beliefs, starting_distributions

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
TRANSITIVE = "r(person, person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct"


def ring(predicates: int) -> str:
    """Predicates each of which agrees with the next."""
    declared = [f"p{k}(person)" for k in range(predicates)]
    rules = [f"0.1 p{k}(x) <=> p{(k + 1) % predicates}(y) | x != y" for k in range(predicates)]
    return "\n".join([*declared, *rules])


def plan_of(text: str, people: int) -> Plan:
    return compile_plan(build_regions(shatter(parse(text), {"person": people})))


@pytest.mark.parametrize("predicates", [3, 12])
def test_the_number_of_starts(predicates: int) -> None:
    layout = plan_of(ring(predicates), 5).layout
    assert len(starting_beliefs(layout, random=4, seed=0)) == number_of_starts(layout, 4)


def test_random_starts_cover_all_distributions() -> None:
    """The probability of one of three values is above t in a share (1 - t)² of all of them."""
    layout = plan_of("mood(person) : {good, fair, bad}\n1 mood(x) = good", 5).layout
    random = starting_distributions(layout, 4000, seed=1)[-4000:]
    (drawn,) = np.array([list(start.values()) for start in random]).swapaxes(0, 1)
    assert drawn.sum(axis=1) == pytest.approx(1)
    for t in (0.1, 0.5, 0.9):
        share = (1 - t) ** 2
        assert (drawn > t).mean(axis=0) == pytest.approx(share, abs=5 * math.sqrt(share / 4000))


def test_random_starts_follow_the_seed() -> None:
    layout = plan_of(FRIENDS_SMOKERS, 5).layout
    first, again, other = (starting_beliefs(layout, random=2, seed=seed)[-2:] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).all(axis=1).any()


@pytest.mark.slow
@pytest.mark.parametrize("predicates", [12, 20])
def test_many_predicates_that_agree(predicates: int) -> None:
    """Two worlds, all true and all false, satisfy everything and bound log Z from below."""
    answers = infer(parse(ring(predicates)), {"person": 100}, solver=Descent(), effort="quick")
    satisfied = 0.1 * predicates * 100 * 99
    assert answers.log_z >= satisfied + math.log(2) - 1e-6
    assert answers.marginal("p0(x)") == pytest.approx(0.5, abs=1e-6)
