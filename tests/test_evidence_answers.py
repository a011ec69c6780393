"""Answers with evidence against ground message passing on the conditioned model."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.evidence import Evidence, Known, Problem, Relation
from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.methods.effort import EFFORTS
from liftgbp.methods.sampling.sampler import Target
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.strategy.ground_case import GroundCase, prepare_ground
from liftgbp.strategy.run import Run
from liftgbp.support.errors import CapacityError, ContradictionError, SizeError
from liftgbp.support.progress import silent
from random_models import models_with_evidence

SMOKERS = liftgbp.parse("""
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
""")


@pytest.mark.slow
@pytest.mark.parametrize("via", ["lifted", "ground"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=4))
def test_log_z_and_marginals_are_those_of_ground_message_passing(
    via: str, case: tuple[Model, dict[str, int], Evidence]
) -> None:
    model, domain, evidence = case
    try:
        ground = reference.ground(model, domain, evidence)
        assume(len(ground.factors) <= 60)
        graph = reference.ground_regions(ground)
        answers = liftgbp.infer(
            model,
            domain,
            evidence=evidence,
            via=via,
            solver=liftgbp.Flooding(iterations=20, tol=1e-300),
            effort="quick",
        )
    except (ContradictionError, CapacityError):
        assume(False)
    *_, beliefs = reference.iterates(graph, 0.5, 20)
    assume(all(np.abs(b[np.isfinite(b)]).max(initial=0) < 50 for b in beliefs.values()))
    wanted = reference.log_z(graph, beliefs)
    assert answers.result.log_z == pytest.approx(wanted, rel=1e-9, abs=1e-8)
    everything = {}
    for number, predicate in enumerate(answers.model.predicates.values()):
        atoms = list(product(*(range(answers.sizes[sort]) for sort in predicate.sorts)))
        objects = list(np.array(atoms, dtype=np.int64).reshape(len(atoms), -1).T)
        tables = answers.posterior.reader.marginals(number, objects)
        for args, table in zip(atoms, tables, strict=True):
            everything[reference.GroundAtom(predicate.name, args)] = table
    for atom, table in everything.items():
        if atom in ground.observed:
            expected = np.eye(len(table))[ground.observed[atom]]
        else:
            expected = reference.marginal(graph, beliefs, atom)
        assert table == pytest.approx(expected, abs=1e-9)


def known(*counts: tuple[int, int]) -> Evidence:
    return Evidence(
        SMOKERS, known=tuple(Known("person", (("smokes", v),), count) for v, count in counts)
    )


def test_counts_make_classes() -> None:
    answers = liftgbp.infer(
        SMOKERS, {"person": 10**6}, evidence=known((1, 300_000), (0, 200_000)), effort="quick"
    )
    rows = answers.query("smokes(x)")
    assert [(row.where, row.count) for row in rows] == [
        ("smokes(x)", 300_000),
        ("!smokes(x)", 200_000),
        ("no evidence on x", 500_000),
    ]
    assert [row.example for row in rows] == ["smokes(#1)", "smokes(#300001)", "smokes(#500001)"]
    assert rows[0].values == {("false",): 0.0, ("true",): 1.0}
    assert rows[1].values == {("false",): 1.0, ("true",): 0.0}


def test_friends_of_observed_people_are_exact() -> None:
    """With all people observed, each friendship is independent of the others."""
    answers = liftgbp.infer(
        SMOKERS, {"person": 1000}, evidence=known((1, 400), (0, 600)), effort="quick"
    )
    w = 1.4
    probability = {row.where: row["true"] for row in answers.query("friends(x,y) | x != y")}
    assert probability["smokes(x), !smokes(y)"] == pytest.approx(1 / (1 + math.exp(w)))
    assert probability["!smokes(x), smokes(y)"] == pytest.approx(0.5)
    assert probability["smokes(x), smokes(y), x != y"] == pytest.approx(0.5)
    broken = 400 * 600
    free = 1000 * 999 - broken
    exact = (
        1000 * math.log(2)  # the diagonal
        + broken * math.log(1 + math.exp(w))
        + free * (math.log(2) + w)
    )
    assert answers.log_z == pytest.approx(exact, rel=1e-12)


def test_too_many_are_counted() -> None:
    with pytest.raises(SizeError, match="-n person=12"):
        liftgbp.infer(SMOKERS, {"person": 10}, evidence=known((1, 12)), effort="quick")


def test_twins_share_a_class() -> None:
    model = liftgbp.parse("""
    person = {Anna, Bob, Carl, Dora}
    friends(person, person)
    smokes(person)
    1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    """)
    friends = Relation(np.array([[0, 1], [0, 2], [1, 2], [2, 1]]), np.array([1, 1, 0, 0]))
    answers = liftgbp.infer(
        model, {"person": 50}, evidence=Evidence(model, {"friends": friends}), effort="quick"
    )
    assert [row.count for row in answers.query("smokes(x)")] == [1, 2, 47]
    (anna,) = answers.query("friends(Anna,Bob)")
    assert anna.values == {("false",): 0.0, ("true",): 1.0}
    (carl,) = answers.query("smokes(Carl)")
    (bob,) = answers.query("smokes(Bob)")
    assert carl.values == bob.values


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_violations_name_facts_below_quantifiers(via: str) -> None:
    model = liftgbp.parse("lives(person, place!)")
    evidence = liftgbp.parse_evidence(model, "lives(Ute, Bonn)\n  lives(Ute, Kiel)", name="f.db")
    with pytest.raises(ContradictionError) as caught:
        liftgbp.infer(model, evidence=evidence, via=via, effort="quick")
    assert "x1 = Ute: lives(Ute,Bonn) is true (f.db:1:1), lives(Ute,Kiel) is true (f.db:2:3)" in (
        caught.value.message
    )


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_violations_by_counted_objects(via: str) -> None:
    model = liftgbp.parse("smokes(person)\ncancer(person)\nsmokes(x) => cancer(x).")
    evidence = liftgbp.parse_evidence(model, "smokes(Ute)", known=["smokes(x) ^ !cancer(x) = 2"])
    with pytest.raises(ContradictionError) as caught:
        liftgbp.infer(model, {"person": 5}, evidence=evidence, via=via, effort="quick")
    assert caught.value.message == (
        "the evidence violates this hard formula for x = #2: smokes(#2) is true, "
        "cancer(#2) is false"
    )


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_check_closes_what_the_model_closes(via: str) -> None:
    model = liftgbp.parse("""
    *friends(person, person)
    smokes(person)
    1.4 friends(x,y) ^ smokes(x) => smokes(y)
    0.3 smokes(x)
    """)
    assert liftgbp.check_messages(model, sizes={"person": 3}, via=via).agrees
    report = liftgbp.check(model, {"person": 3}, via=via)
    assert report.comparison is not None
    wanted = 1.4 * 9 + 3 * math.log(1 + math.exp(0.3))
    assert report.comparison.second_log_z == pytest.approx(wanted)


@pytest.mark.slow
def test_descent_on_the_ground_ends_in_time() -> None:
    model = liftgbp.parse("""
        r(person, person)
        1.2 r(x,y) ^ r(y,z) => r(x,z) | distinct
        0.4 r(x,y) => r(y,x) | x != y
    """)
    evidence = liftgbp.parse_evidence(model, "r(Anna,Bob)\nr(Carl,Bob)")
    problem = Problem.of(model, evidence, {"person": 4})
    run = Run(liftgbp.Descent(tol=1e-300), 2**20, silent)

    def iterations(**budget: Any) -> int:
        target = partial(Target.of_problem, problem, silent)
        case = GroundCase(
            lambda family: prepare_ground(problem, family, run), None, run, target, **budget
        )
        return case.over(FACTOR_SCOPES, EFFORTS["quick"]).result.iterations

    assert iterations(most_work=0.0, fewest_iterations=3) == 3 < iterations()


def test_objects_that_only_rules_name_can_be_asked_for_on_the_ground() -> None:
    model = liftgbp.parse("person = 5\nsmokes(person)\n1 smokes(Anna)\n0.3 smokes(x)")
    answers = liftgbp.infer(model, via="ground", effort="quick")
    assert answers.marginal("smokes(Anna)") == pytest.approx(1 / (1 + math.exp(-1.3)), abs=1e-12)
