"""What `auto` does where descent is expensive."""

from __future__ import annotations

import pytest

from liftgbp import parse
from liftgbp.plan import Plan, compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve import Auto, Descent, Flooding, Solver, auto, solver_for, with_random_starts

CHAIN = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")


@pytest.fixture(autouse=True)
def expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any descent costs too much to come first."""
    monkeypatch.setattr(auto, "MOST_WORK", 0)


@pytest.fixture
def chain() -> Plan:
    """A plan on which message passing diverges."""
    return compile_plan(build_regions(shatter(CHAIN, {"person": 5})))


def test_descent_follows_where_flooding_fails(chain: Plan) -> None:
    found = Auto(Flooding())(chain)
    assert found.solver == "descent"
    assert found.converged
    assert found.log_z == Descent()(chain).log_z


def test_flooding_is_enough_where_it_converges() -> None:
    model = parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    found = Auto()(compile_plan(build_regions(shatter(model, {"thing": 5}))))
    assert found.solver == "flooding"
    assert found.converged


def test_descent_that_takes_very_long_is_left_out(
    chain: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "MOST_PATIENCE", 0)
    assert not Auto(Flooding())(chain).converged


def test_descent_comes_first_where_it_is_cheap(
    chain: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert solver_for(Auto(), chain.layout) == Auto()
    monkeypatch.undo()
    few = with_random_starts(Auto(), 1)
    assert solver_for(few, chain.layout) == Descent(random=1)
    assert few(chain).log_z == Descent(random=1)(chain).log_z


@pytest.mark.parametrize("solver", [Auto(), Descent(seed=3), Flooding(damping=0.7)])
def test_random_starts_leave_other_options_alone(solver: Solver) -> None:
    assert with_random_starts(with_random_starts(solver, 1), 4) == solver
