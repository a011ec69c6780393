"""The law of the engine: at every iteration a belief is that of each ground region it covers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp import parse
from liftgbp.evidence import Evidence
from liftgbp.model.ast import Sort
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import check_messages
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, models_with_evidence, sizes

MOST_GROUND_FACTORS = 150


FAMILIES = [
    *("intersections", "subsets", "bethe", "objects:2", "objects:person=2,thing=1"),
    *("objects:person=1", "clusters:1", "clusters:2"),
]


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes())
def test_random_models(regions: str, model: Model, domain: dict[str, int]) -> None:
    lifted_equals_ground(model, domain, regions)


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), people=st.integers(1, 5), things=st.integers(1, 5))
def test_random_models_without_constants(
    regions: str, model: Model, people: int, things: int
) -> None:
    assume(not any(model.mentioned.values()))
    sorts = {name: Sort(name) for name in model.sorts}
    domain = {"person": people, "thing": things}
    lifted_equals_ground(replace(model, sorts=sorts), domain, regions)


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence())
def test_random_evidence_by_classes(
    regions: str, case: tuple[Model, dict[str, int], Evidence]
) -> None:
    model, domain, evidence = case
    lifted_equals_ground(model, domain, regions, evidence, via="lifted")


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence())
def test_random_evidence_on_the_ground(
    regions: str, case: tuple[Model, dict[str, int], Evidence]
) -> None:
    model, domain, evidence = case
    lifted_equals_ground(model, domain, regions, evidence, via="ground")


def lifted_equals_ground(
    model: Model,
    domain: dict[str, int],
    regions: str,
    evidence: Evidence | None = None,
    via: str = "auto",
) -> None:
    try:
        ground = reference.ground(model, domain, evidence)
        assume(len(ground.factors) <= MOST_GROUND_FACTORS)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 6)
        reference.ground_regions(ground, regions)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            check_messages(model, domain, evidence=evidence, via=via, regions=regions)
        return
    except CapacityError:
        assume(False)
    try:
        report = check_messages(
            model, domain, evidence=evidence, via=via, regions=regions, iterations=6
        )
    except ContradictionError:
        # Regions need not see that there are no worlds, but what they see is true.
        with pytest.raises((ContradictionError, CapacityError)):
            reference.exact(ground)
        return
    assert report.agrees, report


def test_contradictions_that_no_region_sees() -> None:
    """Three people cannot all differ from each other, and exact inference says so."""
    model = parse("t(person)\n!(t(x) <=> t(y)) | distinct.")
    with pytest.raises(ContradictionError):
        liftgbp.check(model, {"person": 3}, regions="clusters:1", blocks=1)
