"""Layouts of a structure that was met before are copies, and nothing else stays when answers go."""

from __future__ import annotations

import gc
from dataclasses import fields, is_dataclass
from random import Random
from weakref import ref

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.plan import Layout, compile, compile_plan
from liftgbp.plan.plan import Structure
from liftgbp.plan.supports import alive_states
from liftgbp.support.arrays import Ragged, Shared
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
$w = 1.4
"""


def parts(value: object) -> object:
    """A value as tuples and lists that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Shared):
        return parts(value.values), value.which.tolist()
    if isinstance(value, Ragged):
        return value.flat.tolist(), value.starts.tolist()
    if isinstance(value, list | tuple):
        return [parts(own) for own in value]
    if is_dataclass(value):
        return [(own.name, parts(getattr(value, own.name))) for own in fields(value)]
    return None if isinstance(value, Structure) else value


@pytest.mark.slow
@pytest.mark.parametrize("symmetric", [True, False])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(), sizes())
def test_a_kept_layout_is_what_would_be_compiled(
    monkeypatch: pytest.MonkeyPatch, symmetric: bool, model: Model, domain: dict[str, int]
) -> None:
    """All layouts of all examples so far are kept: none of them is taken for another."""
    monkeypatch.setattr(compile, "MOST_KEPT", 10**6)
    try:
        graph = build_regions(shatter(model, domain))
        found = compile_plan(graph, symmetric=symmetric).layout
    except (CapacityError, ContradictionError):
        assume(False)
    fresh = compile._Compiler(graph, alive_states(graph), symmetric, bounds=True).layout()
    assert parts(found) == parts(fresh)


def layout_of(text: str, people: int, weight: float = 1.4) -> Layout:
    model = liftgbp.parse(text).with_weights({"w": weight})
    return compile_plan(build_regions(shatter(model, {"person": people}))).layout


def test_sizes_and_weights_share_a_structure_and_no_layout() -> None:
    first, second = layout_of(FRIENDS_SMOKERS, 10), layout_of(FRIENDS_SMOKERS, 1000, weight=0.3)
    assert first is not second
    assert first.structure is second.structure
    # The only person has no other friend.
    assert layout_of(FRIENDS_SMOKERS, 1).structure is not first.structure


def test_hard_formulas_have_a_structure_of_their_own() -> None:
    soft = layout_of("p(person)\nq(person)\n$w p(x) => q(y)\n$w = 1\n1 p(x) v q(x)", 9)
    hard = layout_of("p(person)\nq(person)\n$w p(x) => q(y)\n$w = 1\np(x) v q(x).", 9)
    assert soft.structure is not hard.structure


@pytest.mark.slow
def test_only_few_small_layouts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile, "_kept", {})
    for count in range(1, 60):
        layout_of("\n".join(["$w = 1", *(f"p{k}(person)\n$w p{k}(x)" for k in range(count))]), 5)
    assert len(compile._kept) == compile.MOST_KEPT
    monkeypatch.setattr(compile, "LARGEST_KEPT", 5)
    latest = list(compile._kept)[-1]
    layout_of(FRIENDS_SMOKERS, 10)
    assert list(compile._kept)[-1] == latest


def left(kind: type) -> int:
    gc.collect()
    return sum(isinstance(own, kind) for own in gc.get_objects())


@pytest.mark.slow
@pytest.mark.parametrize("solver", [liftgbp.Descent(), liftgbp.Flooding(), liftgbp.Auto()])
def test_layouts_go_with_their_answers(solver: liftgbp.Solver) -> None:
    model = liftgbp.parse(FRIENDS_SMOKERS)
    for people in range(5, 9):
        liftgbp.infer(model, {"person": people}, solver=solver, effort="quick")
    before = left(Layout)
    for people in range(10, 30):
        liftgbp.infer(model, {"person": people}, solver=solver, effort="quick")
    assert left(Layout) <= before


@pytest.mark.slow
@pytest.mark.parametrize("solver", [liftgbp.Descent(), liftgbp.Flooding(), liftgbp.Auto()])
def test_ground_networks_go_with_their_answers(solver: liftgbp.Solver) -> None:
    """Nothing that is known about their variables, pairs and blocks may hold them."""
    model, random = liftgbp.parse(FRIENDS_SMOKERS).with_weights({"w": 0.3}), Random(1)
    names = [f"P{k}" for k in range(12)]
    facts = [f"friends({a},{b})" for a in names for b in names if random.random() < 0.3]
    evidence = liftgbp.parse_evidence(model, "\n".join(facts), closed=("friends",))
    answers = liftgbp.infer(
        model, {"person": 12}, evidence=evidence, via="ground", solver=solver, effort="quick"
    )
    assert 0 < answers.marginal("smokes(P1)") < 1
    gone = ref(answers.posterior.reader)
    before = left(Layout)
    del answers
    gc.collect()
    assert gone() is None
    assert left(Layout) < before
