"""What worlds weigh is never more than Z, and refutes answers that weigh less."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import ground_network
from liftgbp.lift.shatter import shatter
from liftgbp.oracle import reference
from liftgbp.solve.findings import Flaw, KnownWorlds
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from liftgbp.worlds.world_judge import weight_on_ground, weight_over_classes
from worlds.drawn_worlds import Case, cases

RANKING = liftgbp.parse("""
r(player, player)
2.26 r(x,y) ^ r(y,z) => r(x,z) | distinct
!(r(x,y) ^ r(y,x)) | x != y.
1.45 r(x,y) v r(y,x) | x != y
""")


def linear_orders(players: int) -> float:
    """The log of the weight of all linear orders; of atoms r(x,x), both values count."""
    triples = players * (players - 1) * (players - 2)
    score = 2.26 * triples + 1.45 * players * (players - 1)
    return score + math.lgamma(players + 1) + players * math.log(2)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_worlds_weigh_no_more_than_all_of_them(case: Case) -> None:
    """Rules of all kinds, some of them hard, with evidence."""
    model, sizes, evidence = case
    try:
        problem = Problem.of(model, evidence, sizes)
        exact = reference.exact(reference.ground(problem.model, sizes, evidence), cap=2**14)
        normal = shatter(problem.model, sizes, evidence=evidence)
        network = ground_network(problem, table_cap=2**16, chained=True)
    except (CapacityError, ContradictionError, InputError):
        assume(False)
    found = weight_over_classes(normal, "normal"), weight_on_ground(network, "normal")
    for weight in found:
        assert weight.log_z is None or weight.log_z <= exact.log_z + 1e-9


@pytest.mark.parametrize("players", [3, 40, 10**6])
def test_linear_orders(players: int) -> None:
    weight = weight_over_classes(shatter(RANKING, {"player": players}), "normal")
    assert float(weight.log_z or 0) == pytest.approx(linear_orders(players), rel=1e-12)
    assert weight.worlds.log_number == pytest.approx(math.lgamma(players + 1))


@pytest.mark.slow
@pytest.mark.parametrize("players", [200, 1000])
def test_linear_orders_refute_a_few_layers(players: int) -> None:
    answers = liftgbp.infer(RANKING, {"player": players})
    flaw = answers.flaw
    assert flaw is not None and flaw.kind is Flaw.TOO_LIGHT and isinstance(flaw.by, KnownWorlds)
    assert flaw.numbers[0] == pytest.approx(linear_orders(players) - answers.result.log_z, rel=1e-6)
    assert "below what a best world and its renamings reach" in answers.reason


@pytest.mark.slow
def test_what_was_asked_for_by_hand_is_not_judged() -> None:
    answers = liftgbp.infer(RANKING, {"player": 40}, blocks=3, regions="intersections")
    assert answers.result.log_z < linear_orders(40) and answers.flaw is None


@pytest.mark.slow
def test_a_world_refutes_an_answer_on_the_ground() -> None:
    """The same with one fact, written out: another world is less likely than the order of names."""
    weight = weight_on_ground(
        ground_network(Problem.of(RANKING, "r(A,B)", {"player": 8}), table_cap=2**16), "normal"
    )
    ordered = 2.26 * 8 * 7 * 6 + 1.45 * 8 * 7
    assert float(weight.log_z or 0) == pytest.approx(ordered + 8 * math.log(2))


@pytest.mark.slow
def test_large_networks_are_left_alone() -> None:
    network = ground_network(Problem.of(RANKING, None, {"player": 34}), table_cap=2**16)
    assert network.factors > 30_000
    assert weight_on_ground(network, "normal").log_z is None
