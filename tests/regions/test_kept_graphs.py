"""Region graphs of a structure that was met before are those that would be built."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import parse, parse_evidence
from liftgbp.lift.regions import LiftedRegionGraph, build, build_regions
from liftgbp.lift.regions.families import parse_family
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""

DERIVED = (
    "n", "kappa", "counting_numbers", "atom_counts", "free_atoms", "atom_formulas", "atom_of_axis",
    "kinds", "atom_order", "alike_kinds", "factor_formulas", "shapes", "stable_from", "edges_into",
)  # fmt: skip


def parts(graph: LiftedRegionGraph) -> dict[str, object]:
    own = {field.name: getattr(graph, field.name) for field in fields(graph)}
    return own | {name: getattr(graph, name) for name in DERIVED} | {"text": str(graph)}


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    model=models(),
    domain=sizes(most=12),
    regions=st.sampled_from(["intersections", "subsets", "bethe", "objects:2"]),
)
def test_a_kept_graph_is_what_would_be_built(
    monkeypatch: pytest.MonkeyPatch, model: Model, domain: dict[str, int], regions: str
) -> None:
    """All graphs of all examples so far are kept: none of them is taken for another."""
    monkeypatch.setattr(build, "MOST_KEPT", 10**6)
    try:
        # The same model over another domain is kept, and its derived numbers are known.
        parts(build_regions(shatter(model, {sort: n + 3 for sort, n in domain.items()}), regions))
        normal = shatter(model, domain)
        found = build_regions(normal, regions)
    except (CapacityError, ContradictionError):
        assume(False)
    assert parts(found) == parts(build._built(normal, parse_family(regions), None))
    assert found.normal is normal


def test_a_structure_that_was_met_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_kept", {})
    model = parse(FRIENDS_SMOKERS)
    first = build_regions(shatter(model, {"person": 10}))
    again = parse(FRIENDS_SMOKERS.replace("1.4", "0.3"))
    second = build_regions(shatter(again, {"person": 1000}))
    assert second.regions is first.regions
    assert second.normal.model is again
    # Among three people not all pairs are there.
    assert build_regions(shatter(model, {"person": 3})).regions is not first.regions


def test_graphs_with_evidence_go_with_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_kept", {})
    model = parse(FRIENDS_SMOKERS)
    build_regions(shatter(model, {"person": 10}, evidence=parse_evidence(model, "smokes(Anna)")))
    assert not build._kept


@pytest.mark.slow
def test_only_few_graphs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_kept", {})
    for count in range(1, 2 * build.MOST_KEPT):
        predicates = "".join(f"p{k}(person)\n" for k in range(count))
        build_regions(shatter(parse(predicates + "1 p0(x) ^ p0(y)"), {"person": 5}))
    assert len(build._kept) == build.MOST_KEPT
