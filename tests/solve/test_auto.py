"""What `auto` does where descent is expensive."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from liftgbp import infer, parse, parse_evidence
from liftgbp.plan import Plan, compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve import Auto, Descent, Flooding, Kind, Solver, solver_for, with_random_starts

CHAIN = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")


@pytest.fixture
def chain() -> Plan:
    """A plan on which message passing diverges."""
    return compile_plan(build_regions(shatter(CHAIN, {"person": 5})))


def test_descent_follows_where_flooding_fails(chain: Plan) -> None:
    found = Auto(Flooding(), most_work=0)(chain)
    assert found.solver == "descent"
    assert found.converged
    assert found.log_z == Descent()(chain).log_z


def test_flooding_is_enough_where_it_converges() -> None:
    model = parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    found = Auto(most_work=0)(compile_plan(build_regions(shatter(model, {"thing": 5}))))
    assert found.solver == "flooding"
    assert found.converged


def test_flooding_starts_again_where_it_ends_on_a_saddle() -> None:
    text = "s(thing)\n1.5 s(x) <=> s(y) | x != y"
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 9})))
    first = Flooding(adaptive=True)(plan)
    assert first.converged
    assert first.verdict.kind is Kind.SADDLE
    found = Auto(most_work=0)(plan)
    assert found.trusted
    assert sum(point.weight > 0 for point in found.points) == 2
    assert found.log_z == pytest.approx(Descent()(plan).log_z, abs=1e-6)


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
    assert answers.trusted
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
