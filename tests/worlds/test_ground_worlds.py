"""Best worlds on the ground against a list of all worlds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from all_worlds import scores, states
from liftgbp.evidence import Problem
from liftgbp.model.ast import Not, WeightedFormula
from liftgbp.model.writer import rule_text
from liftgbp.oracle import reference
from liftgbp.support.errors import ContradictionError
from liftgbp.worlds import Budget, Optimum
from liftgbp.worlds.ground import best_on_ground
from random_models import models_with_evidence
from worlds.written_worlds import written

MOST_STATES = 2**17

SLIGHT = 1e-9
"""Sums of a few decimals in doubles differ by less."""


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(models_with_evidence(most=3), st.sampled_from(["quick", "normal"]))
def test_random_models(case, effort: str) -> None:
    model, sizes, evidence = case
    try:
        problem = Problem.of(model, evidence, sizes)
        ground = reference.ground(model, sizes, evidence)
    except ContradictionError:
        assume(False)
    assume(states(ground) <= MOST_STATES)
    check_against_all_worlds(problem, ground, effort)


def check_against_all_worlds(
    problem: Problem, ground: reference.GroundModel, effort: str = "normal"
) -> Optimum | None:
    """The best world is none that a list of all worlds refutes."""
    atoms, total = scores(ground)
    optimum = float(total.max())
    if optimum == -math.inf:
        with pytest.raises(ContradictionError):
            best_on_ground(problem, Budget(effort=effort))
        return None
    best = best_on_ground(problem, Budget(effort=effort))
    assert best.world is not None
    assert written(problem, best.world.value).score() == pytest.approx(float(best.score), abs=1e-8)
    assert best.score <= optimum + SLIGHT
    assert best.upper >= optimum - SLIGHT
    if best.proven:
        assert float(best.score) == pytest.approx(optimum, abs=SLIGHT)
    winners = np.argwhere(total >= optimum - SLIGHT)
    if best.fewest:
        seen = sum(value > 0 for value in ground.observed.values())
        assert best.true_atoms == seen + (winners > 0).sum(axis=1).min()
    if best.undecided is not None:
        check_undecided(best, atoms, total, winners)
    return best


def check_undecided(best: Optimum, atoms, total, winners) -> None:
    """Atoms that differ between best worlds are undecided, or no rule depends on them."""
    differ = {
        (atom.predicate, atom.objects): axis
        for axis, atom in enumerate(atoms)
        if len(set(winners[:, axis].tolist())) > 1
    }
    assert set(best.undecided) <= set(differ)
    others = Counter(name for name, _ in set(differ) - set(best.undecided))
    for atom, axis in differ.items():
        if atom not in best.undecided:
            first = total.take([0], axis=axis)
            same = (total == first) | (np.abs(total - first) < SLIGHT)
            assert same.all(), atom
    assert all(best.free.get(name, 0) >= number for name, number in others.items())


@pytest.mark.parametrize(
    ("name", "sizes", "score", "number"),
    [
        ("friends-smokers", {"person": 4}, 16.8, 13_824),
        ("transitive", {"person": 4}, 33.6, 355),
        ("chain", {"person": 4}, 33.6, 154),
        ("married", {"person": 4}, 16.0, 10),
        ("moods", {"person": 4}, 10 * math.log(4), 1),
        ("celebrity", {"person": 4}, 11.1, 864),
        pytest.param("town", {"person": 4}, 3.6, 1, marks=pytest.mark.slow),
        ("friends-knows", {"person": 3}, 8.4, 2_025),
        ("smoking-network", {"person": 3}, 9.3, 64),
        ("movies", {"person": 3, "movie": 2}, 10.8, 64),
    ],
)
def test_examples(name: str, sizes: dict[str, int], score: float, number: int) -> None:
    model = liftgbp.load(f"example:{name}")
    ground = reference.ground(model, sizes)
    assert states(ground) <= 2**24
    best = check_against_all_worlds(Problem.of(model, None, sizes), ground)
    _, total = scores(ground)
    assert (total >= total.max() - SLIGHT).sum() == number
    assert best.proven
    assert float(best.score) == pytest.approx(score, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models_with_evidence(most=2), st.randoms(use_true_random=False))
def test_contradictions_name_rules_that_contradict_each_other(case, random) -> None:
    """Together they leave no world; without any one of them there is one."""
    model, sizes, evidence = case
    hard = [replace(own, weight=None) for own in model.rules if isinstance(own, WeightedFormula)]
    rules = {rule_text(own): own for own in hard}
    rules |= {rule_text(no): no for no in (replace(own, formula=Not(own.formula)) for own in hard)}
    texts = sorted(rules)
    random.shuffle(texts)

    def possible(some: list[str]) -> bool:
        own = model.with_rules([rules[text] for text in some])
        try:
            ground = reference.ground(own, sizes, evidence)
        except ContradictionError:
            return False
        assume(states(ground) <= MOST_STATES)
        return bool(scores(ground)[1].max() > -math.inf)

    assume(texts and not possible(texts))
    problem = Problem.of(model.with_rules([rules[text] for text in texts]), evidence, sizes)
    with pytest.raises(ContradictionError) as caught:
        best_on_ground(problem, Budget())
    if "violates this hard formula" in caught.value.message:
        return
    listed = caught.value.message.partition(": ")[2].removeprefix("no world satisfies all of ")
    named = listed.split("; ")
    assert not possible(named)
    for text in named:
        assert possible([other for other in named if other != text])


def test_a_contradiction_of_three_rules() -> None:
    text = "s(p)\nr(p,p)\n!s(x) v r(x,y).\n1 s(x)\n!r(A,B).\ns(A).\nr(x,y) => r(y,x).\n1 r(x,y)"
    with pytest.raises(ContradictionError) as caught:
        liftgbp.best_world(liftgbp.parse(text), {"p": 3})
    assert caught.value.message == (
        "the hard rules contradict each other: no world satisfies all of "
        "!s(x) v r(x,y).; !r(A,B).; s(A)."
    )
    assert caught.value.span.line == 6


def test_evidence_that_no_hard_rule_allows() -> None:
    model = liftgbp.parse("s(p)\nr(p,p)\n!s(x) v r(x,y).\nr(x,y) => s(y).\n1 s(x)")
    with pytest.raises(ContradictionError, match="contradict each other under this evidence"):
        liftgbp.best_world(model, {"p": 3}, evidence="s(A)\n!s(B)")


KARATE = files("liftgbp") / "model" / "example_files" / "karate.db"


def test_the_karate_club() -> None:
    """Three best worlds: members 3 and 10 stay with a side that both of their friends are on."""
    model = liftgbp.load("example:karate")
    world = liftgbp.best_world(model, evidence=liftgbp.load_evidence(model, KARATE))
    assert (world.score, world.proven, world.fewest) == (573.0, True, True)
    assert world.undecided == ["officers(3)", "officers(10)"]
    costs = [
        world.cost({"officers(3)": three, "officers(10)": ten})
        for three in (False, True)
        for ten in (False, True)
    ]
    assert sorted(costs)[:3] == [0, 0, 0] < sorted(costs)[3:]


def test_the_smoking_network() -> None:
    model = liftgbp.load("example:smoking-network")
    facts = KARATE.with_name("smoking-network.db")
    evidence = liftgbp.load_evidence(model, facts, closed=["friends"])
    world = liftgbp.best_world(model, evidence=evidence)
    assert world.proven
    assert world.score == pytest.approx(40.596027, abs=1e-6)
