"""What `auto` does where descent is expensive."""

from __future__ import annotations

import pytest

from liftgbp import parse
from liftgbp.plan import Plan, compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve import Auto, Descent, Flooding, Solver, solver_for, with_random_starts

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


def test_descent_follows_where_flooding_ends_on_a_saddle() -> None:
    text = "s(thing)\n1.5 s(x) <=> s(y) | x != y"
    plan = compile_plan(build_regions(shatter(parse(text), {"thing": 9})))
    assert Flooding(adaptive=True)(plan).converged
    found = Auto(most_work=0)(plan)
    assert found.solver == "descent"
    assert found.trusted


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
