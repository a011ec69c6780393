"""A few facts about named objects leave the blocks of all others as they are.

Nearly all partial orders have three layers of a quarter, a half and a quarter of all objects; those
of neighbouring layers are in order with probability 1/2, so that 3/16 of all pairs are (D. J.
Kleitman and B. L. Rothschild, *Asymptotic enumeration of partial orders on a finite set*, Trans.
AMS 205, 1975).
"""

from __future__ import annotations

from itertools import pairwise

import pytest

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.lift.via import choose_via

ORDERS = liftgbp.parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")


def facts(named: int) -> str:
    """A chain of people: each is below the next one."""
    names = [f"P{k}" for k in range(named)]
    return "\n".join(f"r({one},{other})" for one, other in pairwise(names))


@pytest.mark.slow
@pytest.mark.parametrize("named", [2, 5])
def test_most_orders_have_three_layers_whatever_few_facts_say(named: int) -> None:
    people = 1000
    answers = liftgbp.infer(ORDERS, {"person": people}, evidence=facts(named))
    assert answers.flaw is None
    rows = answers.posterior.answers_to("r(x,y)")
    (row,) = [own for own in rows if own.where == "no evidence on x, no evidence on y, x != y"]
    assert row["true"] == pytest.approx(3 / 16, abs=2 / people)


@pytest.mark.slow
def test_descent_that_takes_too_long_is_left_out() -> None:
    """With four people named, blocks have 570 regions: independent atoms over them are taken."""
    answers = liftgbp.infer(ORDERS, {"person": 1000}, evidence=facts(4))
    why = answers.verdict.unknown
    assert why is not None and why.kind is liftgbp.Flaw.COSTLY_MINIMUM


@pytest.mark.parametrize(("people", "named", "lifted"), [(50, 6, True), (12, 9, False)])
def test_classes_are_kept_while_most_objects_are_alike(
    people: int, named: int, lifted: bool
) -> None:
    problem = Problem.of(ORDERS, facts(named), {"person": people})
    assert (choose_via("auto", problem) is not None) == lifted


@pytest.mark.slow
def test_haste_is_made_up_for() -> None:
    """Messages alone do not settle here, and no blocks pay: descent follows."""
    model = liftgbp.parse(
        "r(person, person)\nr(x,y) <=> r(y,x).\n0.1 r(x,y) ^ r(y,z) => r(x,z) | distinct"
    )
    evidence = "r(A,B)\nr(C,D)"
    answers = liftgbp.infer(model, {"person": 30}, evidence=evidence)
    patient = liftgbp.infer(model, {"person": 30}, evidence=evidence, effort="quick")
    assert patient.result.solver.algorithm is liftgbp.Algorithm.DESCENT
    assert answers.result.log_z == pytest.approx(patient.result.log_z, rel=1e-12)
