"""Equations from which all others follow, chosen anew for every point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from liftgbp import parse
from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.model.model import Model
from liftgbp.plan import Plan, compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve.problem import polytope
from liftgbp.solve.starts import starting_beliefs
from random_models import models, sizes

CLASSES = """
friends(person, person)
smokes(person)
0.1 smokes(Anna)
0.2 smokes(Bob)
0.3 smokes(Carl)
1 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
FORMULAS = "\n".join(
    ["p(person)", "q(person)", "r(person, person)"]
    + [f"1 {a}(x) ^ r(x,y) => {b}(y) | x != y" for a in "pq" for b in "pq"]
)


def assert_enough(plan: Plan) -> None:
    consistent = polytope(plan.layout)
    if not len(consistent.matrix):
        return
    rank = np.linalg.matrix_rank(consistent.matrix)
    beliefs = starting_beliefs(plan.layout, random=2, seed=0)[:, consistent.outer]
    for chosen in consistent.enough(beliefs):
        assert len(set(chosen.tolist())) == len(chosen)
        assert np.linalg.matrix_rank(consistent.matrix[chosen]) == rank


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=5))
def test_random_models(model: Model, domain: dict[str, int]) -> None:
    try:
        plan = compile_plan(build_regions(shatter(model, domain)))
    except (CapacityError, ContradictionError):
        assume(False)
    assume(plan.layout.belief_entries < 2000)
    assert_enough(plan)


@pytest.mark.parametrize("text", [CLASSES, FORMULAS])
@pytest.mark.parametrize("regions", ["intersections", "bethe", "subsets"])
def test_models_of_many_messages(text: str, regions: str) -> None:
    plan = compile_plan(build_regions(shatter(parse(text), {"person": 20}), regions))
    assert len(polytope(plan.layout).messages) > 0
    assert_enough(plan)


def test_the_largest_beliefs_are_left_out() -> None:
    plan = compile_plan(build_regions(shatter(parse(FORMULAS), {"person": 20})))
    consistent = polytope(plan.layout)
    beliefs = starting_beliefs(plan.layout, random=1, seed=3)[:, consistent.outer]
    inner = beliefs @ consistent.to_inner.T * plan.layout.multiplicity[consistent.inner]
    for own, chosen in zip(inner, consistent.enough(beliefs), strict=True):
        for equations in consistent.messages:
            [left_out] = set(equations.tolist()) - set(chosen.tolist())
            largest = own[consistent.children[equations]].max()
            assert own[consistent.children[left_out]] == largest
