"""What `auto` does where descent is dear."""

from __future__ import annotations

import pytest

from liftgbp import parse
from liftgbp.plan import Plan, compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve import choose
from liftgbp.solve.choose import FloodingFirst
from liftgbp.solve.descent import Descent

CHAIN = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")


@pytest.fixture
def chain() -> Plan:
    """A plan on which message passing diverges."""
    return compile_plan(build_regions(shatter(CHAIN, {"person": 5})))


def test_descent_follows_where_flooding_fails(chain: Plan) -> None:
    found = FloodingFirst()(chain)
    assert found.solver == "descent"
    assert found.converged
    assert found.log_z == Descent()(chain).log_z


def test_flooding_is_enough_where_it_converges() -> None:
    model = parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    found = FloodingFirst()(compile_plan(build_regions(shatter(model, {"thing": 5}))))
    assert found.solver == "flooding"
    assert found.converged


def test_descent_that_takes_very_long_is_left_out(
    chain: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "MOST_PATIENCE", 0)
    assert not FloodingFirst()(chain).converged
