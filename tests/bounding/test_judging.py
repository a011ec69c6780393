"""Answers whose log Z is proven to be wrong are not trusted, and right ones stay so."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.lift.shatter import Shattering, shatter
from liftgbp.lift.via import choose_via
from liftgbp.methods.bounding import ProvenJudge
from liftgbp.methods.bounding.proving import Proof, Prover
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.posterior import Posterior
from liftgbp.report.wording import sentence
from liftgbp.solve import Solution, Tolerances
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.support.progress import silent
from random_models import models, sizes


def judge_of(model: Model, domain: dict[str, int]) -> ProvenJudge:
    objects = choose_via("lifted", Problem.of(model, None, domain))
    assert objects is not None
    return ProvenJudge("normal", Shattering(objects), Tolerances(), silent)


def quick(model: Model, domain: dict[str, int]) -> Posterior:
    return liftgbp.infer(model, domain, effort="quick").posterior


def claiming(answers: Posterior, log_z: float) -> Posterior:
    """The same answers with another log Z."""
    assert isinstance(answers.result, Solution)
    return replace(answers, result=replace(answers.result, log_z=log_z))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=3))
def test_what_is_right_stays_trusted(model: Model, domain: dict[str, int]) -> None:
    try:
        exact = reference.exact(reference.ground(model, domain), cap=2**14)
        found = quick(model, domain)
    except (CapacityError, ContradictionError):
        assume(False)
    # The answers of independent parts are judged part by part.
    assume(isinstance(found.result, Solution))
    answers = claiming(found, exact.log_z)
    assume(answers.sound)
    assert judge_of(model, domain).judge(answers).sound


@pytest.mark.parametrize("name", ["friends-smokers", "transitive", "chain"])
@pytest.mark.parametrize("people", [8, 30])
def test_what_lies_above_the_bounds_is_refused(name: str, people: int) -> None:
    model, domain = liftgbp.load(MODELS / f"{name}.mln"), {"person": people}
    answers = quick(model, domain)
    # What judges is cheap, and does without count cuts.
    plain = replace(Prover.of("normal", "objects:3", silent), rounds=0)
    upper = float(Proof(plain, shatter(model, domain)).interval.upper)
    judge = judge_of(model, domain)
    assert judge.judge(answers).sound == answers.sound
    if answers.sound:
        too_high = judge.judge(claiming(answers, upper + 0.01))
        assert "0.01 above what is proven to be possible" in sentence(too_high.result.flaw)


def test_one_of_two_mirror_worlds_is_refused() -> None:
    """Everybody smokes or nobody does: one of them alone has half of the weight."""
    model, domain = liftgbp.load(MODELS / "friends-smokers.mln"), {"person": 40}
    answers = quick(model, domain)
    judge = judge_of(model, domain)
    assert judge.judge(answers).sound
    half = answers.at(answers.result.points[0])
    assert half.sound
    assert half.result.log_z == pytest.approx(answers.result.log_z - math.log(2), abs=1e-6)
    assert "for each value of one smokes reach" in sentence(judge.judge(half).result.flaw)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "sampled"), [(10, 0.1401), (12, 0.1364)])
def test_where_minima_are_refused_independent_atoms_are_the_answer(
    people: int, sampled: float
) -> None:
    """All minima of the chain are below what two halves reach; `liftgbp sample` has the truth."""
    model = liftgbp.load(MODELS / "chain.mln")
    answers = liftgbp.infer(model, {"person": people})
    assert answers.flaw is None
    assert answers.marginal("r(x,y)") == pytest.approx(sampled, abs=0.002)
    assert any("independent atoms" in note for note in answers.notes)
    assert answers.quick is not None
    assert abs(answers.quick.marginal("r(x,y)") - sampled) > 0.015


@pytest.mark.slow
def test_a_minimum_may_be_worth_more_than_independent_atoms() -> None:
    """From fourteen people on, two halves have a minimum of their own, which nothing refuses."""
    answers = liftgbp.infer(liftgbp.load(MODELS / "chain.mln"), {"person": 14})
    assert answers.flaw is None
    assert answers.marginal("r(x,y)") == pytest.approx(0.1342, abs=0.01)
