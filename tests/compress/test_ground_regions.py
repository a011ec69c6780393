"""The ground region graph in arrays is that of the reference."""

from __future__ import annotations

import pytest
from compress_networks import network_of, plain_model, rows_as_atoms
from hypothesis import HealthCheck, assume, given, settings

from liftgbp.ground.compress import ground_region_graph
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from random_models import models, sizes


@pytest.mark.slow
@pytest.mark.parametrize("family", ["intersections", "subsets", "bethe"])
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(4))
def test_equals_the_reference(family: str, model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        assume(len(ground.factors) <= 150)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 6)
        expected = reference.ground_regions(ground, family)
    except (CapacityError, ContradictionError):
        assume(False)
    regions = ground_region_graph(network_of(ground), family)
    sets = rows_as_atoms(ground, regions)
    assert len(set(sets)) == len(sets)
    assert set(sets) == set(expected.regions)
    outermost = {region for region, parents in expected.parents.items() if not parents}
    assert {s for s, outer in zip(sets, regions.outer, strict=True) if outer} == outermost
    parents: dict[object, set[object]] = {region: set() for region in sets}
    seen = 0
    for pattern in regions.patterns:
        whole = (1 << pattern.size) - 1
        for region, members in zip(pattern.regions, pattern.members, strict=True):
            seen += 1
            assert {sets[m] for m in members} == expected.below[sets[region]] - {sets[region]}
            for mask, member in zip(pattern.masks, members, strict=True):
                assert sets[member] == frozenset(
                    sorted(sets[region])[k] for k in range(pattern.size) if mask >> k & 1
                )
                if pattern.covers[mask] == [whole]:
                    parents[sets[member]].add(sets[region])
    assert seen == len(sets)
    assert {r: frozenset(p) for r, p in expected.parents.items()} == parents
    held: dict[object, set[frozenset[object]]] = {region: set() for region in sets}
    for block in regions.held:
        for region, mask in zip(block.region, block.mask, strict=True):
            atoms = sorted(sets[region])
            held[sets[region]].add(frozenset(atom for k, atom in enumerate(atoms) if mask >> k & 1))
    assert held == {r: {frozenset(f.scope) for f in fs} for r, fs in expected.held.items()}


def test_other_families_are_refused_with_a_remedy() -> None:
    model = plain_model({}, ())
    with pytest.raises(InputError, match="choose intersections, subsets, bethe"):
        ground_region_graph(network_of(model), "objects:2")
