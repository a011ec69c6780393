"""No model has a log Z outside its proven bounds, nor a probability."""

from __future__ import annotations

import math
import re
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.evidence import Evidence
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, models_with_evidence, sizes

ROUNDING = 1e-9


def check_contains(bounds: liftgbp.Bounds, log_z: float) -> None:
    slack = ROUNDING * max(1.0, abs(log_z))
    assert bounds.lower <= log_z + slack
    assert log_z <= bounds.upper + slack


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["quick", "normal"])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=3))
def test_log_z_lies_within(effort: str, model: Model, domain: dict[str, int]) -> None:
    try:
        exact = reference.exact(reference.ground(model, domain), cap=2**14)
        bounds = liftgbp.bounds(model, domain, effort=effort)
    except (CapacityError, ContradictionError):
        assume(False)
    check_contains(bounds, exact.log_z)


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=3))
def test_log_z_lies_within_given_evidence(case: tuple[Model, dict[str, int], Evidence]) -> None:
    model, domain, evidence = case
    try:
        exact = reference.exact(reference.ground(model, domain, evidence), cap=2**14)
        bounds = liftgbp.bounds(model, domain, evidence=evidence, effort="quick")
    except (CapacityError, ContradictionError):
        assume(False)
    check_contains(bounds, exact.log_z)


ATOMS = {
    "rain": reference.GroundAtom("rain", ()),
    "p(Anna)": reference.GroundAtom("p", (0,)),
    "r(Anna,Bob)": reference.GroundAtom("r", (0, 1)),
}


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=3))
def test_probabilities_lie_within(case: tuple[Model, dict[str, int], Evidence]) -> None:
    model, domain, evidence = case
    try:
        ground = reference.ground(model, domain, evidence)
        exact = reference.exact(ground, cap=2**14)
        bounds = liftgbp.bounds(
            model, domain, evidence=evidence, effort="quick", queries=list(ATOMS)
        )
    except (CapacityError, ContradictionError):
        assume(False)
    for row, atom in zip(bounds.rows, ATOMS.values(), strict=True):
        if atom in ground.observed:
            table = [float(v == ground.observed[atom]) for v in range(2)]
        else:
            table = exact.marginals[atom].tolist()
        for p, (least, most) in zip(table, row.values.values(), strict=True):
            assert least - ROUNDING <= p <= most + ROUNDING


PAPER = ("friends-smokers", "transitive", "friends-knows", "chain")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_large_domains(name: str) -> None:
    """Bounds per atom converge, and rounding does not cross them."""
    model = liftgbp.load(f"example:{name}")
    small, large = (liftgbp.bounds(model, {"person": people}) for people in (10**6, 10**9))
    assert large.lower <= large.upper
    assert 0 <= large.width_per_atom == pytest.approx(small.width_per_atom, abs=1e-4)


def sum_over_smokers(people: int, weight: float) -> float:
    """Log Z of friends-smokers: given who smokes, friends are independent."""
    free, kept = math.log(2) + weight, math.log1p(math.exp(weight))
    logs = [
        math.lgamma(people + 1)
        - math.lgamma(k + 1)
        - math.lgamma(people - k + 1)
        + (people * (people - 1) - k * (people - k)) * free
        + k * (people - k) * kept
        for k in range(people + 1)
    ]
    top = max(logs)
    return people * math.log(2) + top + math.log(math.fsum(math.exp(own - top) for own in logs))


@pytest.mark.parametrize("people", [2, 10, 100, 1000])
def test_friends_smokers_are_nearly_known(people: int) -> None:
    model = liftgbp.load("example:friends-smokers")
    bounds = liftgbp.bounds(model, {"person": people})
    exact = sum_over_smokers(people, 1.4)
    check_contains(bounds, exact)
    # Everybody smokes, or nobody: the larger the domain, the more certain is that.
    assert bounds.width < (0.5 if people < 100 else 1e-6)


@pytest.mark.slow
def test_an_estimate_outside_is_not_trusted() -> None:
    model = liftgbp.load("example:transitive")
    plain = liftgbp.infer(model, {"person": 40}, effort="quick")
    assert plain.flaw is None
    bounded = liftgbp.infer(model, {"person": 40}, effort="quick", bounds=True)
    assert bounded.bounds is not None
    assert bounded.result.log_z < bounded.bounds.lower
    assert bounded.flaw is not None
    assert "below what independent atoms over blocks" in bounded.reason


def test_an_estimate_above_is_not_trusted() -> None:
    """Five things on a complete graph: small regions overestimate how well they agree."""
    model = liftgbp.parse("p(thing)\n0.41 p(x) <=> p(y) | x != y")
    counts = [math.comb(5, k) * math.exp(0.41 * (20 - 2 * k * (5 - k))) for k in range(6)]
    exact = math.log(sum(counts))
    plain = liftgbp.infer(model, {"thing": 5}, effort="quick", exact=False)
    assert plain.flaw is None
    assert plain.log_z > exact + 0.01
    bounded = liftgbp.infer(model, {"thing": 5}, effort="quick", exact=False, bounds=True)
    assert bounded.bounds is not None
    check_contains(bounded.bounds, exact)
    assert bounded.flaw is not None
    assert "above what is proven to be possible" in bounded.reason


@pytest.mark.slow
def test_answers_are_compared_with_bounds() -> None:
    model = liftgbp.load("example:friends-smokers")
    bounds = liftgbp.bounds(model, {"person": 100}, queries=["smokes(x)", "friends(x,y)"])
    right = liftgbp.infer(model, {"person": 100}, effort="normal").compare(bounds)
    assert right.agrees
    assert right.sentence.startswith("agrees with the proven bounds")
    # One world of two that mirror each other.
    flooding = liftgbp.Flooding(iterations=5)
    with pytest.warns(liftgbp.UntrustedAnswer):
        wrong = liftgbp.infer(model, {"person": 100}, solver=flooding).compare(bounds)
    assert wrong.differs
    assert wrong.largest is not None
    assert wrong.largest.atom == "friends(x,y)"


def test_no_information() -> None:
    """Many people who must all agree: fixing one of them leaves nothing to say."""
    row = liftgbp.ProbabilityBounds(
        "p(x)", "p(x)", "", 9, {"false": (0.0, 1.0), "true": (0.0, 1.0)}
    )
    assert not row.informative
    assert str(row) == "p(x)  no information"
    assert not liftgbp.ProbabilityBounds("p", "p", "", 1, {"true": (1e-8, 1.0)}).informative
    assert liftgbp.ProbabilityBounds("p", "p", "", 1, {"true": (0.1, 1.0)}).informative


@pytest.mark.slow
def test_impossible_and_certain_values() -> None:
    model = liftgbp.parse("p(thing)\nq(thing)\n!p(x).\n0.5 q(x) ^ !p(x)")
    p, q = liftgbp.bounds(model, {"thing": 5}, queries=["p(x)", "q(x)"]).rows
    assert p["true"] == (0.0, 0.0)
    assert p["false"][0] == pytest.approx(1.0, abs=1e-9)
    exact = 1 / (1 + math.exp(-0.5))
    assert q["true"] == pytest.approx((exact, exact), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"queries": "p(x) ^ q(x)"}, "bounds are about single atoms"),
        ({"queries": "s(x)"}, "unknown predicate"),
        ({"queries": 3}, "queries must be text"),
        ({"regions": "auto"}, "leave regions='auto' out"),
        ({"regions": 3}, "regions must be the name"),
        ({"effort": "lazy"}, "unknown effort"),
        ({"evidence": "facts.db"}, "is read as facts, not as the name of a file"),
    ],
)
def test_bad_input(options: dict[str, Any], words: str) -> None:
    model = liftgbp.parse("p(thing)\nq(thing)\n0.5 p(x) ^ q(x)")
    with pytest.raises(liftgbp.InputError, match=re.escape(words)):
        liftgbp.bounds(model, {"thing": 5}, **options)


def test_the_ground_route_has_no_bounds() -> None:
    model = liftgbp.load("example:friends-smokers")
    with pytest.raises(liftgbp.InputError, match="use via lifted"):
        liftgbp.infer(model, {"person": 3}, via="ground", bounds=True)


def test_evidence_that_tells_everybody_apart() -> None:
    model = liftgbp.load("example:friends-smokers")
    names = [f"Person{k}" for k in range(40)]
    facts = "\n".join(f"friends({a},{b})" for a, b in pairwise(names))
    evidence = liftgbp.parse_evidence(model, facts)
    for ask in (liftgbp.bounds, partial(liftgbp.infer, bounds=True)):
        with pytest.raises(liftgbp.CapacityError, match="tells too many objects apart"):
            ask(model, {"person": 40}, evidence=evidence)


@pytest.mark.parametrize("size", [10**78, 10**100])
def test_more_factors_than_floats_count(size: int) -> None:
    """They are refused in words, and NumPy warns of nothing."""
    model = liftgbp.parse("r(p,p)\n1 r(x,y) ^ r(y,z) => r(z,u) | distinct")
    with pytest.raises(liftgbp.InputError, match="too large"):
        liftgbp.bounds(model, {"p": size})
