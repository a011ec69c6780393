"""The check of best worlds finds what is wrong with them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from command_shell import Shell
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models_with_evidence

FRIENDS = liftgbp.load("example:friends-smokers")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(models_with_evidence(most=3))
def test_best_worlds_of_random_models_pass(case) -> None:
    model, sizes, evidence = case
    try:
        assume(len(reference.ground(model, sizes, evidence).atoms) < 60)
        world = liftgbp.best_world(model, sizes, evidence=evidence)
    except ContradictionError:
        assume(False)
    assume(world.proven)
    found = liftgbp.check_world(world, seconds=0.05)
    assert found.agrees, found.sentence


def with_values(world: liftgbp.BestWorld, values: list[int], score: str) -> liftgbp.BestWorld:
    """Another world in its place, which claims to have some score."""
    other = replace(world.world, values=np.array(values))
    optimum = replace(world.optimum, score=Fraction(score), upper=Fraction(score), world=other)
    return replace(world, optimum=optimum, world=other)


@pytest.fixture
def alike() -> liftgbp.BestWorld:
    """Two people who smoke or do not, and rather do; the best world is that both smoke."""
    model = liftgbp.parse("p = {A, B}\nsmokes(p)\n1 smokes(x)\n2 smokes(A) <=> smokes(B)")
    return liftgbp.best_world(model)


def test_a_wrong_score(alike: liftgbp.BestWorld) -> None:
    assert liftgbp.check_world(alike, seconds=0.1).agrees
    wrong = liftgbp.check_world(with_values(alike, [1, 1], "4.5"), seconds=0.1)
    assert not wrong.agrees
    assert wrong.doubts == ("its score is 4 if counted anew",)


def test_a_world_that_a_flip_improves(alike: liftgbp.BestWorld) -> None:
    wrong = liftgbp.check_world(with_values(alike, [1, 0], "1"), seconds=0.1)
    assert "a change of smokes(1) leads to the score 4" in wrong.doubts
    assert "the bound 1 is wrong" in wrong.doubts


def test_tied_flips() -> None:
    """Where a hard rule ties atoms, only both together can change."""
    model = liftgbp.parse("p = {A, B}\nsmokes(p)\n1 smokes(x)\nsmokes(A) <=> smokes(B).")
    world = liftgbp.best_world(model)
    wrong = liftgbp.check_world(with_values(world, [0, 0], "0"), seconds=1e-6)
    assert "a change of smokes(0) and smokes(1) leads to the score 2" in wrong.doubts


def test_worlds_that_are_drawn(alike: liftgbp.BestWorld) -> None:
    """No single flip leads from nobody to everybody."""
    wrong = liftgbp.check_world(with_values(alike, [0, 0], "2"), seconds=0.3)
    assert "a world that was drawn has the score 4" in wrong.doubts


def test_a_world_that_breaks_a_hard_rule(alike: liftgbp.BestWorld) -> None:
    model = liftgbp.parse("p = {A, B}\nsmokes(p)\n1 smokes(x)\nsmokes(A) <=> smokes(B).")
    world = liftgbp.best_world(model)
    wrong = liftgbp.check_world(with_values(world, [1, 0], "2"), seconds=0.1)
    assert wrong.doubts[0] == "its score is -inf if counted anew"


def test_large_worlds_are_refused() -> None:
    world = liftgbp.best_world(FRIENDS, {"person": 10**6})
    with pytest.raises(CapacityError, match="check the best world over fewer objects"):
        liftgbp.check_world(world)


def test_networks(tmp_path) -> None:
    file = tmp_path / "pair.uai"
    file.write_text("MARKOV\n2\n2 3\n1\n2 0 1\n6\n1 2 3 4 5 1\n", encoding="utf-8")
    world = liftgbp.best_world(liftgbp.load_network(file), evidence={1: 0})
    assert world.value("x0") == "1"
    assert liftgbp.check_world(world, seconds=0.1).agrees


@pytest.mark.slow
def test_the_command(shell: Shell) -> None:
    code, out, _ = shell("map", "example:married", "-n", "person=4", "--check", "--json")
    assert code == 0
    assert json.loads(out)["check"]["agrees"]
    code, out, _ = shell("map", "example:married", "-n", "person=4", "--check")
    assert code == 0
    assert "checked: its score 16 is counted anew" in " ".join(out.split())
