"""Pairs of ground variables: true ones leave room for all variables at once, others do not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp.ground.compress import QuotientGraph, compress, ground_region_graph
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.lift.regions.ground_pairs import find_cliques
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Auto, Flooding
from liftgbp.solve.bounds import Bounds
from liftgbp.solve.pair_margins import _clique_margins, pair_margins
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats
from random_networks import log_weights, networks


def graph_of(network: GroundNetwork, regions: str = "intersections") -> QuotientGraph:
    return compress(ground_region_graph(network, regions), network)


def true_beliefs(graph: QuotientGraph, plan: Plan, joint: Floats) -> Floats:
    """The beliefs of all regions, read off a distribution of all variables."""
    beliefs = []
    for number in range(len(graph.regions)):
        places = graph.variables(number)
        others = tuple(k for k in range(joint.ndim) if k not in places)
        marginal = joint.sum(axis=others).transpose(np.argsort(np.argsort(places)))
        beliefs.append(marginal.ravel()[plan.layout.representatives[number]])
    return np.concatenate([np.zeros(0), *beliefs])


def pairwise_network(ranges: list[int], tables: list[Floats], edges: object) -> GroundNetwork:
    blocks = [FactorBlock(np.array([edge]), np.array([k])) for k, edge in enumerate(edges)]  # type: ignore[call-overload]
    return merged(np.array(ranges, np.int64), blocks, tables, log_constant=0.0, free={})


def check(network: GroundNetwork, regions: str) -> None:
    logs = log_weights(network)
    assume(logs.max(initial=-math.inf) > -math.inf)
    joint = np.exp(logs - logs.max())
    joint /= joint.sum()
    graph = graph_of(network, regions)
    plan = compile_plan(graph)
    if not len(graph.regions):
        return
    beliefs = true_beliefs(graph, plan, joint)
    (margins,) = pair_margins(plan.layout, beliefs[None], Tolerances())
    assert margins.clique >= -1e-9
    assert margins.cycle >= -1e-9
    (bound,) = Bounds([plan], beliefs[None], Tolerances()).entropy_bounds([0.0])
    inside = [v for v in range(joint.ndim) if graph.alignment.atom_kind[v] >= 0]
    own = joint.sum(axis=tuple(v for v in range(joint.ndim) if v not in inside))
    entropy = -float((own * np.log(np.where(own > 0, own, 1.0))).sum())
    assert entropy <= bound + 1e-9


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(network=networks(), regions=st.sampled_from(["intersections", "bethe", "subsets"]))
def test_no_true_distribution_is_impossible(network: GroundNetwork, regions: str) -> None:
    check(network, regions)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), ranges=st.lists(st.integers(2, 3), min_size=3, max_size=6))
def test_nor_is_one_of_pairs(data: st.DataObject, ranges: list[int]) -> None:
    edges = list(itertools.combinations(range(len(ranges)), 2))
    chosen = data.draw(st.lists(st.sampled_from(edges), min_size=2, unique=True))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    strength = data.draw(st.sampled_from([0.3, 2.0, 20.0]))
    tables = [generator.normal(0, strength, (ranges[a], ranges[b])) for a, b in chosen]
    check(pairwise_network(ranges, tables, chosen), "intersections")


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("length", [3, 4, 7, 150])
def test_a_frustrated_cycle_is_impossible(length: int, values: int) -> None:
    """Neighbours agree, but for two that differ; only the ends of long paths may have moved."""
    agree = np.where(np.eye(values) > 0, 0.0, -9.0)
    edges = [(k, k + 1) for k in range(length - 1)] + [(0, length - 1)]
    tables = [agree] * (length - 1) + [np.where(np.eye(values) > 0, -9.0, 0.0)]
    network = pairwise_network([values] * length, tables, edges)
    plan = compile_plan(graph_of(network))
    solution = Auto()(plan)
    assert not solution.sound
    (margins,) = pair_margins(plan.layout, np.exp(solution.log_beliefs)[None], Tolerances())
    assert margins.cycle < -0.5


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    values=st.integers(2, 3),
    strength=st.sampled_from([0.5, 2.0, 6.0]),
    field=st.sampled_from([0.0, 2.0]),
)
def test_large_networks_are_searched_as_small_ones(
    seed: int, values: int, strength: float, field: float
) -> None:
    """Where nothing can be wrong, nothing is looked for; all cycles that are too short are found.

    Leaves, variables that hold more often than not, and neighbourhoods are left out on the way.
    """
    generator = np.random.default_rng(seed)
    edges = [own for own in itertools.combinations(range(9), 2) if generator.random() < 0.4]
    assume(len(edges) > 2)
    fields = generator.normal(0, field, (9, values))
    tables = [
        generator.normal(0, strength, (values, values)) + fields[a][:, None] for a, _ in edges
    ]
    plan = compile_plan(graph_of(pairwise_network([values] * 9, tables, edges)))
    beliefs = np.exp(Flooding()(plan).log_beliefs)[None]
    assume(np.isfinite(beliefs).all())
    (small,) = pair_margins(plan.layout, beliefs, Tolerances())
    (large,) = pair_margins(plan.layout, beliefs, Tolerances(most_decomposed=0))
    assert min(large.cycle, 0.0) == pytest.approx(min(small.cycle, 0.0), abs=1e-9)


def test_some_of_those_networks_are_impossible() -> None:
    """Otherwise the test above would compare nothing: three neighbours, each of which differs."""
    differ = np.array([[0.0, 3.0], [3.0, 0.0]])
    tied = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]
    plan = compile_plan(graph_of(pairwise_network([2] * 5, [differ] * 5, tied)))
    beliefs = np.exp(Flooding()(plan).log_beliefs)[None]
    for most in (0, 256):
        (margins,) = pair_margins(plan.layout, beliefs, Tolerances(most_decomposed=most))
        assert margins.cycle < -0.5


def test_cliques_are_found() -> None:
    """Of eight people who are married to at most one, each row is a clique of seven atoms."""
    model = liftgbp.parse("m(a,a)\nm(x,y) ^ m(x,z) => y = z | x != y, x != z.")
    prepared = liftgbp.prepare(model, {"a": 8}, via="ground")
    pairs = prepared.plan.layout.ground_pairs
    assert pairs is not None
    assert {len(own) for own in pairs.cliques} == {7}


def exact_of(text: str, things: int) -> reference.ExactValues:
    return reference.exact(reference.ground(liftgbp.parse(text), {"t": things}))


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize("exact", [None, False])
def test_three_cannot_all_differ(via: str, exact: bool | None) -> None:
    text = "p(t)\n!(p(x) <=> p(y)) | distinct."
    with pytest.raises(liftgbp.ContradictionError):
        exact_of(text, 3)
    effort = "quick" if exact is None else "normal"
    try:
        answers = liftgbp.infer(liftgbp.parse(text), {"t": 3}, via=via, effort=effort, exact=exact)
    except liftgbp.ContradictionError:
        return
    assert answers.flaw is not None


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_classes_and_the_ground_refuse_alike(via: str) -> None:
    text = "p(t)\n-0.68 (p(x) <=> p(y)) | distinct\n-0.99 p(x)"
    exact = exact_of(text, 8)
    assert exact.log_z == pytest.approx(-15.5, abs=0.05)
    quick = liftgbp.infer(liftgbp.parse(text), {"t": 8}, via=via, effort="quick")
    assert quick.flaw is not None
    assert "exclude each other" in quick.reason
    normal = liftgbp.infer(liftgbp.parse(text), {"t": 8}, via=via, effort="normal")
    assert normal.flaw is None
    assert normal.log_z == pytest.approx(exact.log_z, rel=1e-9)


def test_both_routes_have_the_same_margin() -> None:
    model = liftgbp.parse("p(t)\n-0.68 (p(x) <=> p(y)) | distinct\n-0.99 p(x)")
    lifted, ground = (
        liftgbp.infer(model, {"t": 8}, via=via, effort="quick").verdict  # type: ignore[arg-type]
        for via in ("lifted", "ground")
    )
    # The ground may count some atoms where they do not hold, which can only show more.
    assert ground.count_margin <= lifted.count_margin + 1e-9 < 0


@settings(deadline=None)
@given(
    pairs=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=25),
    sources=st.sets(st.integers(0, 8)),
)
def test_cliques_are_found_where_there_are_triangles(
    pairs: set[tuple[int, int]], sources: set[int]
) -> None:
    edges = {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}
    first, second = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2).T
    found = find_cliques(first, second, 9, np.array(sorted(sources), dtype=np.int64))
    for clique in found:
        assert len(clique) > 2
        assert edges.issuperset(itertools.combinations(clique.tolist(), 2))
    triangles = [
        own
        for own in itertools.combinations(range(9), 3)
        if edges.issuperset(itertools.combinations(own, 2))
    ]
    wanted = sources & {variable for own in triangles for variable in own}
    assert wanted <= {variable for clique in found for variable in clique.tolist()}


# --- many cliques at once


def plain_margin(single: Floats, differ: Floats) -> float:
    """One clique: both starts, and one sign after the other, as long as the margin falls."""
    m = len(single)
    means, products = 2 * single - 1, np.eye(m)
    for (i, j), own in zip(itertools.combinations(range(m), 2), differ, strict=True):
        products[i, j] = products[j, i] = 1 - 2 * own
    lowest = np.linalg.eigh(products)[1][:, 0]
    least = math.inf
    for start in (np.ones(m), np.where(lowest < 0, -1.0, 1.0)):
        signs, best = start, math.inf
        while True:
            tilt = signs @ means
            k = math.floor((m + tilt) / 2)
            a = 2 * k - m
            size = max(1.0, ((m + tilt) / 2) ** 2)
            own = (signs @ products @ signs - (2 * a + 2) * tilt + a * (a + 2)) / 4
            own *= m / (m - 1) / size
            if not own < best:
                break
            best = own
            change = 4 - 4 * signs * (products @ signs) + 4 * (a + 1) * signs * means
            if change.min() >= 0:
                break
            signs = np.where(np.arange(m) == change.argmin(), -signs, signs)
        least = min(least, best)
    return least


@pytest.mark.parametrize("m", [3, 4, 7])
def test_cliques_of_one_size_are_judged_as_one_by_one(m: int) -> None:
    generator = np.random.default_rng(m)
    single = generator.uniform(size=(50, m))
    differ = generator.uniform(size=(50, m * (m - 1) // 2))
    wanted = [plain_margin(*own) for own in zip(single, differ, strict=True)]
    found = _clique_margins(single, differ, Tolerances())
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
