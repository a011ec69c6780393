"""Flooding on the quotient is flooding on the ground, and regular structures become small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import liftgbp
from compress_networks import ground_models, network_of, rows_as_atoms, touched_atoms
from liftgbp import reference
from liftgbp.compress import QuotientGraph, compress, ground_region_graph
from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.solve import Descent, Flooding
from random_models import models, sizes

FAMILIES = ["intersections", "subsets", "bethe"]
MODELS = Path(__file__).parent.parent.parent / "models"
RUN_AWAY = 100.0


def quotient(network: GroundNetwork, family: str = "intersections") -> QuotientGraph:
    graph = compress(ground_region_graph(network, family), network)
    assert_counted_once(graph)
    return graph


def assert_counted_once(graph: QuotientGraph) -> None:
    # Regions of one kind hold factors whose tables differ in the order of axes only.
    entries = [tuple(np.sort(table.ravel())) for table in graph.network.tables]
    atoms: Counter[int] = Counter()
    tables: Counter[tuple[float, ...]] = Counter()
    numbers = zip(graph.regions, graph.n, graph.counting_numbers, graph.atom_of_axis, strict=True)
    for region, n, c, kinds in numbers:
        for kind in kinds:
            atoms[kind] += n * c
        for held in region.held:
            tables[entries[held.parfactor]] += n * c
    assert atoms == dict(enumerate(graph.numbers_of_atoms))
    expected = (entries[t] for block in graph.network.blocks for t in block.table_of.tolist())
    assert tables == Counter(expected)


def assert_floods_like_the_ground(ground: reference.GroundModel, family: str) -> None:
    network = network_of(ground)
    try:
        expected = reference.ground_regions(ground, family)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            compile_plan(quotient(network, family))
        return
    regions = ground_region_graph(network, family)
    graph = quotient(network, family)
    sets = rows_as_atoms(ground, regions)
    atoms = touched_atoms(ground)
    plan = compile_plan(graph)
    iterates = zip(reference.iterates(expected, 0.5, 6), Flooding().iterates(plan), strict=False)
    for ground_beliefs, lifted in iterates:
        if np.abs(lifted).max(initial=0.0) > RUN_AWAY:
            break
        for number, region in enumerate(sets):
            kind = int(graph.alignment.kind[number])
            table = np.exp(plan.layout.full_table(kind, lifted, missing=-np.inf))
            in_frame = [atoms[v] for v in graph.alignment.region_row(number)]
            axes = [in_frame.index(atom) for atom in sorted(region)]
            truth = np.exp(ground_beliefs[region])
            np.testing.assert_allclose(table.transpose(axes), truth, rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=st.one_of(ground_models(), ground_models(hard=True)))
def test_random_networks(family: str, ground: reference.GroundModel) -> None:
    assert_floods_like_the_ground(ground, family)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(4))
def test_random_relational_models(family: str, model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        assume(len(ground.factors) <= 150)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 6)
        assert_floods_like_the_ground(ground, family)
    except ContradictionError:
        assume(False)
    except CapacityError:
        assume(False)


# --- beside the symbolic graph


@pytest.mark.parametrize("people", range(3, 9))
@pytest.mark.parametrize("family", ["intersections", "bethe"])
@pytest.mark.parametrize("name", ["friends_smokers", "transitive", "friends_knows", "chain"])
def test_no_more_kinds_than_the_symbolic_graph(name: str, family: str, people: int) -> None:
    model = liftgbp.load(MODELS / f"{name}.mln")
    sizes = {"person": people}
    symbolic = liftgbp.build_regions(liftgbp.shatter(model, sizes), family)
    graph = quotient(arrays(model, sizes), family)
    assert graph.ground_regions == symbolic.ground_regions
    assert len(graph.regions) <= len(symbolic.regions)
    assert len(graph.edges) <= len(symbolic.edges)
    assert len(graph.messages) <= len(symbolic.messages)
    plans = [compile_plan(symbolic), compile_plan(graph)]
    assert plans[1].layout.belief_entries <= plans[0].layout.belief_entries
    for solver in (Flooding(iterations=100), Descent(random=1)):
        first, second = (solver(plan) for plan in plans)
        assert first.status == second.status
        assert second.log_z == pytest.approx(first.log_z, rel=1e-9, nan_ok=True)
