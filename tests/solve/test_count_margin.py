"""Pairs of exchangeable atoms: true ones have a margin, impossible ones have none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from liftgbp import infer, parse
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan
from liftgbp.report.answers_report import verdict_as_dict
from liftgbp.solve import Status
from liftgbp.solve.bounds import Bounds
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats
from random_models import models, sizes
from true_beliefs import truth_of

DIFFER = "s(thing)\n{} !(s(x) <=> s(y)) | x != y"


def plan_of_pairs(things: int) -> Plan:
    return compile_plan(build_regions(shatter(parse(DIFFER.format(1)), {"thing": things})))


def margin_of_counts(things: int, counts: dict[int, float]) -> float:
    """The margin of exchangeable atoms, so many of which hold with these probabilities."""
    total = math.fsum(counts.values())
    p = math.fsum(c * k / things for k, c in counts.items()) / total
    pairs = things * (things - 1)
    q = math.fsum(c * k * (k - 1) / pairs for k, c in counts.items()) / total
    plan = plan_of_pairs(things)
    tables = {2: np.array([[1 - 2 * p + q, p - q], [p - q, q]]), 1: np.array([1 - p, p])}
    beliefs = [
        tables[len(shape)].ravel()[representatives]
        for shape, representatives in zip(
            plan.layout.shapes, plan.layout.representatives, strict=True
        )
    ]
    return margin_of(plan, np.concatenate(beliefs))


def margin_of(plan: Plan, beliefs: Floats) -> float:
    ((margin, _),) = Bounds([plan], beliefs[None], Tolerances()).count_margins()
    return margin


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(things=st.integers(3, 40), data=st.data())
def test_any_distribution_of_a_count_has_a_margin(things: int, data: st.DataObject) -> None:
    weights = st.floats(0.01, 1)
    counts = data.draw(st.dictionaries(st.integers(0, things), weights, min_size=1, max_size=6))
    assert margin_of_counts(things, counts) >= -1e-9


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(things=st.integers(3, 40), data=st.data())
def test_the_margin_is_zero_for_two_neighbouring_counts(things: int, data: st.DataObject) -> None:
    """There is no distribution with the same mean and less spread."""
    low = data.draw(st.integers(1, things - 2))
    share = data.draw(st.floats(0.1, 0.9))
    assert margin_of_counts(things, {low: share, low + 1: 1 - share}) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    model=models(),
    domain=sizes(most=4),
    regions=st.sampled_from(["intersections", "bethe", "objects:2", "clusters:2"]),
)
def test_no_true_distribution_lacks_a_margin(
    model: Model, domain: dict[str, int], regions: str
) -> None:
    plan, beliefs, _ = truth_of(model, domain, regions)
    assert margin_of(plan, beliefs) >= -1e-9


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("things", [3, 4, 8])
def test_things_that_differ_in_pairs_are_trusted_only_near_the_truth(
    things: int, weight: float
) -> None:
    """Regions of two see no frustration: with strong weights all pairs differ in their beliefs."""
    model = parse(DIFFER.format(weight))
    truth = reference.exact(reference.ground(model, {"thing": things}))
    answers = infer(model, {"thing": things}, effort="quick")
    if answers.status is Status.CONVERGED:
        assert answers.log_z == pytest.approx(truth.log_z, rel=0.02)
    else:
        assert not answers.verdict.plausible
        assert answers.log_z > truth.log_z + 0.1
    counted = infer(model, {"thing": things}, sum_over="s", effort="quick")
    assert counted.log_z == pytest.approx(truth.log_z, rel=1e-12)


def test_the_verdict_says_what_is_impossible() -> None:
    verdict = infer(parse(DIFFER.format(3)), {"thing": 3}, effort="quick").verdict
    assert verdict.count_margin < -0.1
    assert "implausible (atoms exclude each other more than their number allows)" in str(verdict)
    assert verdict_as_dict(verdict)["count_margin"] == verdict.count_margin


def test_a_billion_things_that_exclude_each_other() -> None:
    """At most one of them can hold, whatever regions of two think."""
    model = parse("s(thing)\n!s(x) v !s(y) | x != y.")
    answers = infer(model, {"thing": 10**9}, effort="quick")
    assert answers.status is not Status.CONVERGED or answers.marginal("s(x)") <= 1e-9
