"""Networks of pairs whose messages are proven to have one fixed point have no other."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import liftgbp
from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile as plan_compile, compile_plan
from liftgbp.plan.plan import Factored
from liftgbp.solve import Auto, Flooding, Kind, restarts
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.uniqueness import has_one_fixed_point
from random_networks import log_weights, log_z
from solve.test_flooding import CHAIN, TRANSITIVE, plan_of


@st.composite
def pairwise(draw: st.DrawFn) -> GroundNetwork:
    """Some of the pairs of up to six variables, each with a table of its own or a common one."""
    ranges = draw(st.lists(st.integers(2, 3), min_size=2, max_size=6))
    pairs = [(i, j) for j in range(len(ranges)) for i in range(j)]
    scopes = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    scale = draw(st.sampled_from([0.2, 1.0, 3.0]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    kept: dict[tuple[int, int], np.ndarray] = {}
    tables = []
    for i, j in scopes:
        own = scale * rng.normal(size=(ranges[i], ranges[j]))
        # Common tables let compression find pairs that behave alike.
        tables.append(kept.setdefault((ranges[i], ranges[j]), own) if rng.random() < 0.7 else own)
    blocks = [FactorBlock(np.array([own]), np.array([k])) for k, own in enumerate(scopes)]
    return merged(np.array(ranges), blocks, tables)


def is_proven(plan: Plan) -> bool:
    return has_one_fixed_point(plan, Tolerances())


def plan_of_network(network: GroundNetwork) -> Plan:
    return compile_plan(compress(ground_region_graph(network), network))


def factors_of(network: GroundNetwork) -> list[tuple[tuple[int, ...], np.ndarray]]:
    return [
        (tuple(scope), network.tables[table])
        for block in network.blocks
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True)
    ]


def spectral_radius(network: GroundNetwork) -> float:
    """Of the matrix of Mooij and Kappen, entry by entry."""
    factors = factors_of(network)
    messages = [(a, i) for a, (scope, _) in enumerate(factors) for i in scope]
    matrix = np.zeros((len(messages), len(messages)))
    for row, (a, i) in enumerate(messages):
        scope, table = factors[a]
        (j,) = set(scope) - {i}
        for column, (b, child) in enumerate(messages):
            if child == j and b != a:
                matrix[row, column] = strength(table)
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def strength(table: np.ndarray) -> float:
    rows, columns = map(range, table.shape)
    largest = max(
        table[a, b] + table[c, d] - table[c, b] - table[a, d]
        for (a, c), (b, d) in product(permutations(rows, 2), permutations(columns, 2))
    )
    return float(np.tanh(largest / 4))


@pytest.mark.slow
@pytest.mark.parametrize("factored", [False, True])
@settings(max_examples=60, deadline=None)
@given(network=pairwise())
def test_what_is_proven_is_what_the_matrix_says(network: GroundNetwork, factored: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if factored:
            patch.setattr(plan_compile, "FACTORED_FROM", 0)
            patch.setattr(plan_compile, "_kept", {})
        plan = plan_of_network(network)
    assert isinstance(plan.exponents, Factored) == factored
    radius = spectral_radius(network)
    if radius < 0.8:
        assert is_proven(plan)
    if radius > 1 + 1e-9:
        assert not is_proven(plan)


@settings(max_examples=30, deadline=None)
@given(network=pairwise(), seed=st.integers(0, 99))
def test_all_starts_lead_to_the_one_point(network: GroundNetwork, seed: int) -> None:
    plan = plan_of_network(network)
    if not is_proven(plan):
        return
    rng = np.random.default_rng(seed)
    starts = 5 * rng.normal(size=(4, plan.layout.message_entries))
    ends = Flooding(damping=0.0, iterations=2000).ends([plan] * 4, messages=starts)
    for end in ends[1:]:
        np.testing.assert_allclose(end.log_beliefs, ends[0].log_beliefs, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(network=pairwise())
def test_the_lowest_point_lies_below_the_product_of_its_marginals(network: GroundNetwork) -> None:
    """The bound is minus the free energy of that product, written out state by state."""
    plan = plan_of_network(network)
    if not is_proven(plan) or not plan.layout.message_entries:
        return
    found = Auto(most_work=0, most_patience=0)(plan)
    logs = log_weights(network)
    assert found.verdict.log_z_bound <= min(log_z(network), found.log_z) + 1e-9
    graph = compress(ground_region_graph(network), network)
    chances = np.ones(())
    for variable in range(logs.ndim):
        kind = graph.alignment.atom_kind[variable]
        own = np.full(logs.shape[variable], 1 / logs.shape[variable])
        if kind >= 0:
            region, axis = (int(places[kind]) for places in plan.layout.place_of_atom)
            own = plan.layout.marginals(np.array([region]), (axis,), np.exp(found.log_beliefs))[0]
        chances = np.multiply.outer(chances, own)
    free_energy = float((chances * (np.log(chances) - logs)).sum())
    assert found.verdict.log_z_bound == pytest.approx(-free_energy, abs=1e-9)


def test_a_ring_of_equal_pairs_has_one_fixed_point_however_strong_they_are() -> None:
    ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    tables = [np.array([[3.0, 0.0], [0.0, 3.0]])]
    network = merged(np.full(4, 2), [FactorBlock(ring, np.zeros(4, dtype=np.int64))], tables)
    assert len(plan_of_network(network).layout.shapes) == 2
    assert is_proven(plan_of_network(network))


@pytest.mark.parametrize("text", [CHAIN, TRANSITIVE])
def test_nothing_is_proven_about_regions_of_more_atoms(text: str) -> None:
    assert not is_proven(plan_of(text, 4))


def test_nothing_is_proven_where_states_are_impossible() -> None:
    assert not is_proven(plan_of("p(person)\n!p(x) v !p(y) | x != y.", 5))


@pytest.mark.parametrize(("weight", "again"), [(0.1, False), (1.0, True)])
def test_flooding_starts_again_only_where_another_point_may_be(
    weight: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []

    def starts(*_: object) -> list[np.ndarray]:
        started.append(True)
        return []

    monkeypatch.setattr(restarts, "_starting_messages", starts)
    Auto(most_work=0, most_patience=0)(plan_of(f"p(person)\n{weight} p(x) ^ p(y) | x != y", 6))
    assert bool(started) == again


@pytest.mark.parametrize(
    ("weight", "kind"), [(0.1, Kind.MINIMUM), (0.8, Kind.UNCHECKED)], ids=["weak", "strong"]
)
def test_the_only_stationary_point_is_the_minimum(weight: float, kind: Kind) -> None:
    """On a torus, a message depends on three others: 3 tanh(w / 2) is less than one, or more."""
    side = 8
    places = np.arange(side**2).reshape(side, side)
    rows = [np.stack([places, np.roll(places, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)]
    scopes = np.sort(np.concatenate(rows))
    rng = np.random.default_rng(0)
    tables = [np.diag([weight, weight]) + field for field in rng.normal(size=(len(scopes), 2, 1))]
    network = merged(np.full(side**2, 2), [FactorBlock(scopes, np.arange(len(scopes)))], tables)
    plan = plan_of_network(network)
    no_hessian = Flooding(tolerances=Tolerances(most_equations=0))
    found = Auto(most_work=0, most_patience=0, flooding=no_hessian)(plan)
    assert found.verdict.kind is kind
    assert found.sound
    # The Hessian says so, too, where it is computed.
    assert Flooding()(plan).verdict.kind is Kind.MINIMUM


def test_hard_formulas_beside_weak_pairs() -> None:
    """Exactly one of a(x) and b(x) holds: independent atoms would have impossible states."""
    text = "a(t)\nb(t)\nc(t)\nd(t)\na(x) <=> !b(x).\n0.1 c(x) ^ d(y) | x != y"
    model, sizes = liftgbp.parse(text), {"t": 4}
    plan = liftgbp.prepare(model, sizes).plan
    assert is_proven(plan)
    found = Auto(most_work=0, most_patience=0)(plan)
    truth = reference.exact(reference.ground(model, sizes)).log_z
    assert found.verdict.log_z_bound <= truth
    assert found.sound
