"""What `auto` does where descent is expensive."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import comb

import numpy as np
import pytest

from liftgbp import infer, parse, parse_evidence, prepare
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import (
    Algorithm,
    Auto,
    Descent,
    Finding,
    Flaw,
    Flooding,
    Kind,
    Solver,
    solver_for,
    with_random_starts,
)

CHAIN = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")


@pytest.fixture
def chain() -> Plan:
    """A plan on which message passing diverges."""
    return compile_plan(build_regions(shatter(CHAIN, {"person": 5})))


def test_descent_follows_where_flooding_fails(chain: Plan) -> None:
    found = Auto(Flooding(), most_work=0)(chain)
    assert found.solver.algorithm is Algorithm.DESCENT
    assert found.converged
    assert found.log_z == Descent()(chain).log_z


def test_flooding_is_enough_where_it_converges() -> None:
    model = parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    found = Auto(most_work=0)(compile_plan(build_regions(shatter(model, {"thing": 5}))))
    assert found.solver.algorithm is Algorithm.FLOODING
    assert found.converged


@pytest.mark.slow
def test_damping_comes_back_where_it_is_needed(chain: Plan) -> None:
    """Without damping this chain diverges within a hundred iterations, with some it converges."""
    free = Flooding(damping=0.0, adaptive=True, iterations=100)
    assert not free(chain).converged
    damped = Flooding(adaptive=True)(chain)
    assert damped.converged
    found = Auto(most_work=0, most_patience=0)(chain)
    assert found.converged
    assert found.iterations == damped.iterations
    asked = Auto(Flooding(), most_work=0, most_patience=0)(chain)
    assert asked.status is Flooding()(chain).status


def test_most_networks_need_no_damping() -> None:
    plan = prepare(parse("p(thing)\n0.1 p(x) ^ p(y) | x != y"), {"thing": 9}).plan
    free, damped = Auto(most_work=0)(plan), Auto(Flooding(), most_work=0)(plan)
    assert free.iterations < damped.iterations
    assert free.log_z == pytest.approx(damped.log_z, rel=1e-12)


def test_flooding_starts_again_where_it_ends_on_a_saddle() -> None:
    text = "s(thing)\n1.5 s(x) <=> s(y) | x != y"
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 9})))
    first = Flooding(adaptive=True)(plan)
    assert first.converged
    assert first.verdict.kind is Kind.SADDLE
    found = Auto(most_work=0)(plan)
    assert found.sound
    assert sum(point.weight > 0 for point in found.points) == 2
    assert found.log_z == pytest.approx(Descent()(plan).log_z, abs=1e-6)


ALIKE = "s(thing)\n1.5 s(x) <=> s(y) | x != y"


@pytest.fixture(params=["lifted", "ground"])
def alike(request: pytest.FixtureRequest) -> Plan:
    """Nine things that are alike, over classes of objects or as a network."""
    return prepare(parse(ALIKE), {"thing": 9}, via=request.param).plan


def all_alike() -> float:
    """The log Z of nine things that are alike."""
    logs = [np.log(comb(9, k)) + 1.5 * (k * (k - 1) + (9 - k) * (8 - k)) for k in range(10)]
    return float(np.logaddexp.reduce(logs))


def test_a_saddle_is_never_the_answer(alike: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdict leads to descent, or the answer is not trusted."""
    flooded = Flooding(adaptive=True)(alike)
    assert flooded.converged
    assert flooded.verdict.kind is Kind.SADDLE
    assert not flooded.sound
    assert flooded.log_z < all_alike() - 1
    again = Auto(most_work=0, most_patience=0)(alike)
    assert again.solver.algorithm is Algorithm.FLOODING
    assert again.sound
    assert again.log_z == pytest.approx(all_alike(), abs=1e-3)
    monkeypatch.setattr("liftgbp.solve.auto.flooded_again", lambda _, __, first, *___: first)
    descended = Auto(most_work=0)(alike)
    assert descended.solver.algorithm is Algorithm.DESCENT
    assert descended.sound
    assert descended.log_z == pytest.approx(all_alike(), abs=1e-3)
    left_out = Auto(most_work=0, most_patience=0)(alike)
    assert left_out.converged
    assert not left_out.sound
    assert left_out.flaw == Finding(Flaw.SADDLE)


def test_what_is_not_known_is_not_trusted(alike: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = Descent()(alike)
    assert solution.sound
    verdict = replace(solution.verdict, kind=Kind.UNKNOWN, unknown=Finding(Flaw.HIDDEN_CURVATURE))
    assert not solution.with_verdict(verdict).sound
    monkeypatch.setattr("liftgbp.solve.auto.flooded_again", lambda _, __, first, *___: first)
    monkeypatch.setattr("liftgbp.solve.flooding.classify", lambda own, _: [verdict for _ in own])
    assert Auto(most_work=0)(alike).solver.algorithm is Algorithm.DESCENT
    assert not Auto(most_work=0, most_patience=0)(alike).sound


FRIENDS = "friends(person, person)\nsmokes(person)\n"
SMOKERS = "1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
FACTS = [(0, 1), (2, 3), (3, 4), (5, 4)]


def smokers() -> float:
    """The probability that the first of twelve people smokes, given who is friends with whom."""
    smokes = np.array(list(product((False, True), repeat=12)))
    log_weight = np.zeros(len(smokes))
    for one, other in permutations(range(12), 2):
        holds = ~smokes[:, one] | smokes[:, other]
        if (one, other) in FACTS:
            log_weight += 1.4 * holds
        else:
            log_weight += np.log(np.exp(1.4) + np.exp(1.4 * holds))
    weight = np.exp(log_weight - log_weight.max())
    return float((weight * smokes[:, 0]).sum() / weight.sum())


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_one_of_two_mirror_worlds_is_not_the_answer(via: str) -> None:
    """Nearly all of twelve people smoke, or nearly nobody does."""
    names = ["Anna", "Bob", "Carl", "Dora", "Emil", "Fred"]
    model = parse(FRIENDS + SMOKERS)
    facts = "\n".join(f"friends({names[one]},{names[other]})" for one, other in FACTS)
    answers = infer(
        model,
        {"person": 12},
        evidence=parse_evidence(model, facts),
        via=via,
        effort="quick",
        solver=Auto(most_work=0, most_patience=0),
    )
    assert answers.flaw is None
    assert answers.marginal("smokes(Anna)") == pytest.approx(smokers(), abs=0.005)


def test_descent_that_takes_very_long_is_left_out(chain: Plan) -> None:
    assert not Auto(Flooding(), most_work=0, most_patience=0)(chain).converged


def test_descent_comes_first_where_it_is_cheap(chain: Plan) -> None:
    expensive = Auto(most_work=0)
    assert solver_for(expensive, chain.layout) is expensive
    few = with_random_starts(Auto(), 1)
    assert solver_for(few, chain.layout) == Descent(random=1)
    assert few(chain).log_z == Descent(random=1)(chain).log_z


@pytest.mark.parametrize("solver", [Auto(), Descent(seed=3), Flooding(damping=0.7)])
def test_random_starts_leave_other_options_alone(solver: Solver) -> None:
    assert with_random_starts(with_random_starts(solver, 1), 4) == solver
