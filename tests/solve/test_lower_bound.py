"""What independent atoms reach is never more than the true log Z."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from liftgbp import infer, parse
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.solve.mean_field import best_products, log_z_bounds
from liftgbp.solve.solution import Status
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

SMOKERS = """
friends(person, person)
smokes(person)
{} friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""


def bound_of(plan: Plan) -> float:
    (bound,) = log_z_bounds([plan], Tolerances())
    return bound


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=3))
def test_it_is_a_bound(model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        exact = reference.exact(ground, cap=2**14)
        plan = compile_plan(build_regions(shatter(model, domain)))
    except (CapacityError, ContradictionError):
        assume(False)
    bound = bound_of(plan)
    assert bound <= exact.log_z + 1e-9 * max(1.0, abs(exact.log_z))


@pytest.mark.parametrize("odds", [0.001, 0.3, 9.0, 12345.0])
def test_it_is_reached_without_interaction(odds: float) -> None:
    model = parse(f"p(thing)\n{math.log(odds)} p(x)")
    plan = compile_plan(build_regions(shatter(model, {"thing": 7})))
    # Ten rounds, each of which halves the distance.
    assert bound_of(plan) == pytest.approx(7 * math.log1p(odds), rel=1e-4)


@pytest.mark.parametrize("people", [100, 10**4])
def test_it_is_as_large_as_atoms_of_one_probability(people: int) -> None:
    """Of a relation that is nearly transitive: each atom holds with the same small probability.

    Over many people, improved products go too far and come back, so the last need not be the best.
    """
    triples, pairs = people * (people - 1) * (people - 2), people * (people - 1)
    chances = np.exp(np.linspace(-20.0, -0.1, 10**5))
    entropy = -chances * np.log(chances) - (1 - chances) * np.log1p(-chances)
    gains = pairs * entropy - 1.4 * triples * chances**2 * (1 - chances)
    model = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    plan = compile_plan(build_regions(shatter(model, {"person": people})))
    gain = bound_of(plan) - 1.4 * triples - people * math.log(2)
    assert 0.8 * gains.max() < gain <= gains.max() * (1 + 1e-9)


def test_it_is_nearly_reached_where_many_agree() -> None:
    """Two worlds have all the weight: five predicates that differ from the next one, and so on."""
    names, people, weight = "pqrst", 50, 2.0
    rules = [f"{weight} !({a}(x) <=> {b}(y)) | x != y" for a, b in pairwise(names)]
    model = parse("\n".join([*(f"{name}(person)" for name in names), *rules]))
    plan = compile_plan(build_regions(shatter(model, {"person": people})))
    best_world = weight * people * (people - 1) * len(rules)
    assert bound_of(plan) == pytest.approx(best_world + math.log(2), abs=1e-6)


def test_a_stack_has_the_bounds_of_its_plans() -> None:
    graphs = [build_regions(shatter(parse(SMOKERS.format(0.4)), {"person": n})) for n in (9, 10)]
    first = compile_plan(graphs[0])
    plans = [first, refill(first, graphs[0].resized(graphs[1].normal))]
    alone = [bound_of(plan) for plan in plans]
    assert log_z_bounds(plans, Tolerances()) == alone
    assert best_products(plans, Tolerances())[0] == alone


@pytest.mark.slow
@pytest.mark.parametrize(("weight", "people"), [(1.4, 100), (0.3, 200)])
def test_both_worlds_are_found_over_large_regions(weight: float, people: int) -> None:
    """Among so many people either all smoke or nobody does, whatever friendships there are."""
    answers = infer(
        parse(SMOKERS.format(weight)), {"person": people}, regions="objects:4", effort="quick"
    )
    exact = weight * people * (people - 1) + (people**2 + 1) * math.log(2)
    assert answers.log_z == pytest.approx(exact, rel=1e-9)
    assert answers.marginal("smokes(x)") == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("people", [80, 100, 300])
@pytest.mark.parametrize("weight", [1.0, 1.4, 3.0])
def test_one_of_two_worlds_is_never_the_answer(weight: float, people: int) -> None:
    answers = infer(
        parse(SMOKERS.format(weight)), {"person": people}, regions="objects:3", effort="quick"
    )
    if answers.status is Status.CONVERGED:
        assert answers.marginal("smokes(x)") == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
def test_a_minimum_above_a_better_product_is_no_answer() -> None:
    """Thirty formulas over seven predicates: false of five of them satisfies nearly all."""
    rules = [f"0.{k + 1:02} p{k // 6}(x) ^ r(x,y) => p{k % 6}(y) | x != y" for k in range(30)]
    model = parse("\n".join([*(f"p{k}(person)" for k in range(6)), "r(person, person)", *rules]))
    answers = infer(model, {"person": 100}, effort="quick")
    weights = [(k + 1) / 100 for k in range(30)]
    # Then 9900 friendships are open, and p5, which no premise mentions.
    reached = 9900 * sum(weights) + 9900 * math.log(2) + 200 * math.log(2)
    assert answers.log_z >= reached or answers.status is Status.NO_MINIMUM
    assert answers.verdict.log_z_bound == pytest.approx(reached, rel=1e-5)


@pytest.mark.parametrize(
    ("rule", "worlds"),
    [("p(x) v p(y).", 1), ("p(x) => p(y).", 2)],
)
def test_hard_formulas_leave_what_is_possible(rule: str, worlds: int) -> None:
    """All things have p, or all or none have it."""
    plan = compile_plan(build_regions(shatter(parse(f"p(thing)\n{rule}"), {"thing": 4})))
    assert bound_of(plan) == pytest.approx(math.log(worlds), abs=1e-9)


def test_products_that_share_worlds_are_not_counted_twice() -> None:
    """Nobody has p, or nobody has q: the world where nobody has either belongs to both."""
    text = "p(thing)\nq(thing)\np(x) => !q(y)."
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 4})))
    assert math.log(2**4) < bound_of(plan) <= math.log(2 * 2**4 - 1)


def test_a_contradiction_has_no_product() -> None:
    text = "p(thing)\n!(p(x) <=> p(y)) | x != y."
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 4})))
    assert bound_of(plan) == -math.inf


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_an_answer_below_what_independent_atoms_reach_is_not_trusted() -> None:
    """With eight people, no minimum over four objects is plausible and as good as a product."""
    model = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    answers = infer(model, {"person": 8}, regions="objects:4", effort="quick")
    p = 0.1  # of each atom, independently of the others
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    satisfied = 1 - p * p * (1 - p)
    reached = 1.4 * 8 * 7 * 6 * satisfied + 56 * entropy + 8 * math.log(2)
    assert answers.verdict.log_z_bound >= reached - 1e-9 * reached
    assert answers.flaw is not None
    assert answers.status is Status.NO_MINIMUM
    assert infer(model, {"person": 8}, regions="auto", effort="quick").graph.family.size == 3


MOVIES = """
friends(person, person)
likes(person, movie)
-0.7 likes(x,m)
0.9 friends(x,y) ^ likes(x,m) => likes(y,m) | x != y
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_what_flat_atoms_surpass_is_no_answer_however_small_the_domain() -> None:
    """The minimum where all atoms are false lacks the entropy of all friendships."""
    flat = 0.9 * 80 * 7 / 8 - 0.7 * 20 / 2 + 45 * math.log(2)
    family = "objects:person=3,movie=2"
    answers = infer(parse(MOVIES), {"person": 5, "movie": 4}, regions=family, effort="quick")
    assert answers.log_z > flat or answers.status is Status.NO_MINIMUM


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_atoms_that_are_all_but_certain_count_too() -> None:
    """The minimum without any liking falls short of a little liking."""
    q = 0.03  # of each liking; friendships are flat
    entropy = -q * math.log(q) - (1 - q) * math.log(1 - q)
    energy = 0.9 * 112 * (1 - q * (1 - q) / 2) - 0.7 * 16 * q
    reached = energy + 16 * entropy + 64 * math.log(2)
    family = "objects:person=3,movie=2"
    answers = infer(parse(MOVIES), {"person": 8, "movie": 2}, regions=family, effort="quick")
    assert answers.log_z >= reached or answers.status is Status.NO_MINIMUM


def test_points_below_the_bound_stay_where_others_make_up_for_them() -> None:
    """All people are related to all, or few are: both are minima, one far better."""
    model = parse("r(thing, thing)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    answers = infer(model, {"thing": 6}, effort="quick")
    bound = answers.verdict.log_z_bound
    assert answers.status is Status.CONVERGED
    assert any(point.weight > 0 and point.log_z < bound - 1 for point in answers.minima)
