"""The bound on the entropy: no true distribution exceeds it, and spurious minima do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import Answers, infer, parse
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Status
from liftgbp.solve.bounds import Bounds
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats
from random_models import models, sizes
from true_beliefs import beliefs_of, few_worlds, joint_of, truth_of

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
CHAIN = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"
TRANSITIVE = "r(person, person)\n{} r(x,y) ^ r(y,z) => r(x,z) | distinct"


def entropy(table: Floats) -> float:
    positive = table[table > 0]
    return -math.fsum(positive * np.log(positive))


def bound_of(plan: Plan, beliefs: Floats) -> float:
    (bound,) = Bounds([plan], beliefs[None], Tolerances()).entropy_bounds([0.0])
    return bound


@pytest.mark.slow
@pytest.mark.parametrize(
    "regions", ["intersections", "subsets", "bethe", "objects:2", "clusters:2"]
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=4))
def test_no_true_distribution_exceeds_the_bound(
    regions: str, model: Model, domain: dict[str, int]
) -> None:
    plan, beliefs, joint = truth_of(model, domain, regions)
    assert entropy(joint) <= bound_of(plan, beliefs) + 1e-9


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    weight=st.floats(-6, 6),
    people=st.integers(2, 4),
    regions=st.sampled_from(["intersections", "bethe", "objects:2", "objects:3", "clusters:3"]),
    text=st.sampled_from(
        [CHAIN.replace("1.4", "{}"), TRANSITIVE, "r(person,person)\n{} r(x,y) <=> r(y,x) | x != y"]
    ),
)
def test_no_relation_exceeds_the_bound(weight: float, people: int, regions: str, text: str) -> None:
    model, domain = parse(text.format(weight)), {"person": people}
    ground = reference.ground(model, domain)
    assume(few_worlds(ground))
    atoms, joint = joint_of(ground)
    graph = build_regions(shatter(model, domain), regions)
    plan = compile_plan(graph)
    assert entropy(joint) <= bound_of(plan, beliefs_of(graph, plan, atoms, joint)) + 1e-9


@pytest.mark.parametrize("people", [3, 4])
def test_the_bound_is_tight_for_a_region_of_all_atoms(people: int) -> None:
    model, domain = parse(TRANSITIVE.format(0.7)), {"person": people}
    ground = reference.ground(model, domain)
    atoms, joint = joint_of(ground)
    graph = build_regions(shatter(model, domain), f"objects:{people}")
    plan = compile_plan(graph)
    bound = bound_of(plan, beliefs_of(graph, plan, atoms, joint))
    assert bound == pytest.approx(entropy(joint), abs=1e-9)


def test_the_bound_is_tight_on_a_tree() -> None:
    """Atoms that depend on one atom alone: their entropies given it are all there is."""
    model = parse("rain()\nwet(place)\n1.2 rain() => wet(x)")
    answers = infer(model, {"place": 1000}, effort="quick")
    assert answers.verdict.plausible
    assert answers.verdict.entropy == pytest.approx(answers.verdict.entropy_bound, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10**9])
@pytest.mark.parametrize("regions", ["intersections", "objects:2", "objects:person=3"])
def test_the_order_has_every_atom_once(size: int, regions: str) -> None:
    text = "t(person, person, thing)\np(person)\n1 t(x,y,a) ^ p(x)\n1 p(Anna)"
    graph = build_regions(shatter(parse(text), {"person": size, "thing": size}), regions)
    plan = compile_plan(graph)
    assert sum(plan.order_counts) == sum(plan.atom_counts)


def test_the_order_has_every_atom_of_many_arguments_once() -> None:
    text = "t(thing, thing, thing, thing, thing, thing, thing)\n1 t(a,b,c,d,e,f,g) | distinct"
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 30})))
    assert sum(plan.order_counts) == sum(plan.atom_counts) == math.perm(30, 7)


# --- spurious minima; published log Z without diagonal atoms, which add log 2 each


def without_diagonal(answers: Answers, people: int) -> list[tuple[float, bool, float]]:
    return [
        (point.log_z - people * math.log(2), point.verdict.plausible, point.weight)
        for point in answers.minima
    ]


@pytest.mark.parametrize(("people", "log_z"), [(5, 45.33), (10, 247.3)])
def test_overcounted_minima_are_implausible(people: int, log_z: float) -> None:
    answers = infer(parse(FRIENDS_SMOKERS), {"person": people}, regions="objects:3", effort="quick")
    points = without_diagonal(answers, people)
    trap = [point for point in points if point[0] == pytest.approx(log_z, abs=0.01)]
    assert trap
    assert not any(plausible or weight for _, plausible, weight in trap)


@pytest.mark.parametrize(("people", "probability"), [(5, 0.202225), (6, 0.174046)])
def test_the_best_minimum_of_the_chain_stays(people: int, probability: float) -> None:
    answers = infer(parse(CHAIN), {"person": people}, effort="quick")
    assert answers.status is Status.CONVERGED
    best = answers.minima[0]
    assert best.verdict.plausible
    assert answers.at(best).marginal("r(x,y)") == pytest.approx(probability, abs=1e-6)
