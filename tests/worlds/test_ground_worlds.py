"""Best worlds on the ground against a list of all worlds."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from all_worlds import scores, states
from liftgbp.evidence import Problem
from liftgbp.oracle import reference
from liftgbp.support.errors import ContradictionError
from liftgbp.worlds import Budget, Optimum
from liftgbp.worlds.ground import best_on_ground
from random_models import models_with_evidence
from worlds.written_worlds import written

MOST_STATES = 2**17

SLIGHT = 1e-9
"""Sums of a few decimals in doubles differ by less."""


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
        ("town", {"person": 4}, 3.6, 1),
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
