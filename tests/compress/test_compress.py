"""Flooding on the quotient is flooding on the ground, and regular structures become small."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from compress_networks import (
    ground_models,
    network_of,
    plain_model,
    rows_as_atoms,
    touched_atoms,
)
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp.ground.compress import (
    QuotientGraph,
    colour_refinement,
    compress,
    ground_region_graph,
    potentials,
)
from liftgbp.ground.compress.alignment import order_of_variables
from liftgbp.ground.grounding import AtomTable, FactorBlock, GroundNetwork, merged
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Auto, Descent, Flooding, Solution, solver_for
from liftgbp.support import arrays
from liftgbp.support.arrays import mix
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

FAMILIES = ["intersections", "subsets", "bethe"]
RUN_AWAY = 100.0


def quotient(network: GroundNetwork, family: str = "intersections") -> QuotientGraph:
    graph = compress(ground_region_graph(network, family), network)
    assert_counted_once(graph)
    return graph


def assert_counted_once(graph: QuotientGraph) -> None:
    """Atoms are counted once, and so are factors, by the average of their log tables.

    Regions of one kind have equal potentials, but may owe them to different factors.
    """
    means = [float(table.mean()) for table in graph.network.tables]
    hard = -np.inf in means
    atoms: Counter[int] = Counter()
    total = 0.0
    numbers = zip(graph.regions, graph.n, graph.counting_numbers, graph.atom_of_axis, strict=True)
    for region, n, c, kinds in numbers:
        for kind in kinds:
            atoms[kind] += n * c
        if c and not hard:
            total += n * c * sum(means[held.parfactor] for held in region.held)
    assert atoms == dict(enumerate(graph.numbers_of_atoms))
    expected = sum(means[t] for block in graph.network.blocks for t in block.table_of.tolist())
    # Where one factor rules a state out, nobody sees what others say about it.
    assert hard or total == pytest.approx(expected, rel=1e-9, abs=1e-9)


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


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=st.one_of(ground_models(), ground_models(hard=True)))
def test_random_networks(family: str, ground: reference.GroundModel) -> None:
    assert_floods_like_the_ground(ground, family)


@pytest.mark.slow
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


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=ground_models(), family=st.sampled_from(FAMILIES), data=st.data())
def test_a_shuffled_copy_adds_no_kinds(
    ground: reference.GroundModel, family: str, data: st.DataObject
) -> None:
    network = network_of(ground)
    count = len(network.ranges)
    number = np.array(data.draw(st.permutations(range(2 * count))), dtype=np.int64)
    ranges, predicate = np.empty((2, 2 * count), dtype=np.int64)
    ranges[number] = np.tile(network.ranges, 2)
    assert network.atoms is not None
    predicate[number] = np.tile(network.atoms.predicate, 2)
    copies = [
        FactorBlock(number[block.scopes + shift], block.table_of)
        for block in network.blocks
        for shift in (0, count)
    ]
    atoms = AtomTable(predicate, np.zeros((2 * count, 0), dtype=np.int64))
    alone = quotient(network, family)
    both = quotient(merged(ranges, copies, network.tables, atoms=atoms), family)
    assert sorted(both.n) == [2 * n for n in sorted(alone.n)]
    assert sorted(both.kappa) == sorted(alone.kappa)
    assert len(both.messages) == len(alone.messages)
    plans = compile_plan(alone), compile_plan(both)
    assert plans[0].layout.belief_entries == plans[1].layout.belief_entries
    assert plans[0].layout.message_entries == plans[1].layout.message_entries


# --- hashes that collide


def poor_hashes(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """Leave so few bits of all hashes that different things have the same hash."""
    mask = 2**bits - 1
    for module in (arrays, colour_refinement, potentials):
        monkeypatch.setattr(module, "mix", lambda values: mix(values) & np.uint64(mask))


@pytest.mark.slow
@pytest.mark.parametrize("bits", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=st.one_of(ground_models(), ground_models(hard=True)))
def test_colliding_hashes_merge_nothing(
    family: str, bits: int, ground: reference.GroundModel
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        poor_hashes(patch, bits)
        assert_floods_like_the_ground(ground, family)


def test_different_tables_of_one_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    poor_hashes(monkeypatch, 0)
    block = FactorBlock(np.array([[0, 1], [2, 3], [4, 5]]), np.array([0, 1, 0]))
    attraction, repulsion = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    graph = quotient(merged(np.full(6, 2), [block], [attraction, repulsion]))
    assert sorted(graph.n) == [1, 2]


def test_a_hash_does_not_make_a_table_symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    poor_hashes(monkeypatch, 0)
    block = FactorBlock(np.array([[0, 1]]), np.array([0]))
    graph = quotient(merged(np.full(2, 2), [block], [np.array([[0.0, 2.0], [1.0, 0.0]])]))
    assert [region.symmetries for region in graph.regions] == [()]


@pytest.mark.slow
@pytest.mark.parametrize("codes", [2, 20, 100])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=ground_models(), family=st.sampled_from(["intersections", "subsets"]))
def test_embeddings_whose_codes_need_several_numbers(
    codes: int, ground: reference.GroundModel, family: str
) -> None:
    network = network_of(ground)
    narrow = quotient(network, family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liftgbp.ground.compress.partition.CODES", codes)
        assert quotient(network, family).n == narrow.n
        assert_floods_like_the_ground(ground, family)


# --- beside the symbolic graph


@pytest.mark.slow
@pytest.mark.parametrize("people", range(3, 9))
@pytest.mark.parametrize("family", ["intersections", "bethe"])
@pytest.mark.parametrize("name", ["friends-smokers", "transitive", "friends-knows", "chain"])
def test_no_more_kinds_than_the_symbolic_graph(name: str, family: str, people: int) -> None:
    model = liftgbp.load(MODELS / f"{name}.mln")
    sizes = {"person": people}
    symbolic = build_regions(shatter(model, sizes), family)
    graph = quotient(network_of(reference.ground(model, sizes)), family)
    assert graph.ground_regions == symbolic.ground_regions
    assert len(graph.regions) <= len(symbolic.regions)
    assert len(graph.edges) <= len(symbolic.edges)
    assert len(graph.messages) <= len(symbolic.messages)
    plans = [compile_plan(symbolic), compile_plan(graph)]
    assert plans[1].layout.belief_entries <= plans[0].layout.belief_entries
    # Later, rounding decides whether a run leaves a saddle (friends-smokers over bethe at 8).
    flooded = [Flooding(iterations=40)(plan) for plan in plans]
    assert flooded[0].status == flooded[1].status
    assert flooded[1].log_z == pytest.approx(flooded[0].log_z, rel=1e-9)
    # Minima of one log Z come in any order.
    first, second = (lowest_minima(plan, Descent(random=1)(plan)) for plan in plans)
    np.testing.assert_allclose(second, first, rtol=0, atol=1e-7)


def lowest_minima(plan: Plan, solution: Solution) -> list[list[float]]:
    best = solution.points[0].log_z
    points = [p for p in solution.points if p.log_z == pytest.approx(best, rel=1e-9)]
    return sorted([best, *marginals(plan, point.log_beliefs)] for point in points)


def marginals(plan: Plan, log_beliefs: np.ndarray) -> list[float]:
    """The probability that an atom is true, for each kind of atom, in ascending order."""
    layout, beliefs = plan.layout, np.exp(log_beliefs)
    found = []
    for atom, region in enumerate(layout.region_of_atom):
        axis = layout.atom_of_axis[region].index(atom)
        table = layout.full_table(region, beliefs, missing=0.0)
        found.append(float(np.take(table, 1, axis=axis).sum()))
    return sorted(found)


# --- structures whose quotient is known


def pairwise(pairs: np.ndarray, tables: list[np.ndarray], which: np.ndarray) -> GroundNetwork:
    variables = int(pairs.max()) + 1
    return merged(np.full(variables, 2), [FactorBlock(pairs, which)], tables)


COUPLING = np.array([[0.7, 0.0], [0.0, 0.7]])
ARROW = np.array([[0.7, 0.3], [0.0, 0.7]])


def test_a_ring_is_one_pair_and_one_variable() -> None:
    ends = np.arange(1000)
    graph = quotient(pairwise(np.column_stack([ends, (ends + 1) % 1000]), [COUPLING], 0 * ends))
    assert graph.n == (1000, 1000)
    assert graph.kappa == (2,)
    assert graph.regions[0].symmetries == ((1, 0),)
    assert compile_plan(graph).layout.belief_entries == 3 + 2


def test_a_directed_ring_keeps_its_two_edges() -> None:
    ends = np.arange(1000)
    graph = quotient(pairwise(np.column_stack([ends, (ends + 1) % 1000]), [ARROW], 0 * ends))
    assert graph.n == (1000, 1000)
    assert graph.kappa == (1, 1)
    assert graph.regions[0].symmetries == ()


def test_a_torus_of_squares_is_as_small_as_one_square() -> None:
    side = 12
    x, y = (axis.ravel() for axis in np.indices((side, side)))

    def number(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x % side * side + y % side

    squares = np.column_stack(
        [number(x, y), number(x + 1, y), number(x, y + 1), number(x + 1, y + 1)]
    )
    table = np.zeros((2, 2, 2, 2))
    table[0, 0, 0, 0] = table[1, 1, 1, 1] = 1.3
    block = FactorBlock(squares, np.zeros(side**2, dtype=np.int64))
    network = merged(np.full(side**2, 2), [block], [table])
    graph = quotient(network)
    assert graph.n == (side**2, 2 * side**2, side**2)
    assert sorted(graph.kappa) == [2, 4]
    # The square keeps the eight symmetries of a square, not all 24 of the table.
    assert compile_plan(graph).layout.multiplicity.tolist()[:6] == [1, 4, 4, 2, 4, 1]


def test_complete_symmetry_of_the_table_survives_where_the_surroundings_have_it() -> None:
    table = np.zeros((2,) * 5)
    table[(1,) * 5] = 2.0
    block = FactorBlock(np.arange(10).reshape(2, 5), np.zeros(2, dtype=np.int64))
    graph = quotient(merged(np.full(10, 2), [block], [table]))
    assert graph.n == (2,)
    assert compile_plan(graph).layout.multiplicity.tolist() == [1, 5, 10, 10, 5, 1]
    assert graph.numbers_of_atoms == (10,)


@pytest.mark.parametrize("symmetric", [False, True])
def test_copies_of_a_wide_table_are_aligned(symmetric: bool) -> None:
    """Too many orders to try them all; the values of the table tell most variables apart."""
    generator = np.random.default_rng(3)
    table = generator.normal(size=(2,) * 8)
    if symmetric:
        table = table + table.transpose(1, 0, *range(2, 8))
    variables = generator.permutation(8 * 20).reshape(20, 8)
    block = FactorBlock(variables, np.zeros(20, dtype=np.int64))
    graph = quotient(merged(np.full(160, 2), [block], [table]))
    assert graph.n == (20,)
    assert len(graph.regions[0].symmetries) == symmetric
    assert len(graph.numbers_of_atoms) == 8 - symmetric


def test_wide_symmetric_tables_are_right_if_not_small() -> None:
    """Ten variables that only count: more symmetries than are written out."""
    atoms = tuple(reference.GroundAtom("v", (k,)) for k in range(12))
    table = np.indices((2,) * 10).sum(axis=0) * 0.1
    factors = (
        reference.GroundFactor(atoms[:10], table**2),
        reference.GroundFactor(atoms[2:], table**2),
    )
    model = plain_model(dict.fromkeys(atoms, 2), factors)
    assert_floods_like_the_ground(model, "intersections")
    assert_floods_like_the_ground(model, "bethe")


def test_a_chain_is_folded_in_the_middle() -> None:
    ends = np.arange(100)
    graph = quotient(pairwise(np.column_stack([ends, ends + 1]), [COUPLING], 0 * ends))
    # 101 variables, of which the two at the ends lie in one pair only and are no regions.
    assert graph.n == (2,) * 50 + (2,) * 49 + (1,)
    assert len(graph.edges) == 50 + 49


@pytest.mark.slow
def test_a_long_chain_of_triples_has_no_two_alike() -> None:
    """The ends differ, and thousands of rounds carry that to the middle."""
    first = np.arange(3000)
    table = np.zeros((2, 2, 2))
    table[1, 1, 0], table[0, 0, 1] = 1.0, 0.3
    triples = FactorBlock(first[:, None] + np.arange(3), 0 * first)
    graph = quotient(merged(np.full(3002, 2), [triples], [table]))
    assert set(graph.n) == {1}
    # Two triples in a row share a pair, and pairs in a row a variable.
    assert len(graph.n) == 3000 + 2999 + 2998


def test_a_broken_ring_is_folded_at_the_break() -> None:
    ends = np.arange(301)
    which = (ends == 7).astype(np.int64)
    network = pairwise(np.column_stack([ends, (ends + 1) % 301]), [COUPLING, 2 * COUPLING], which)
    graph = quotient(network)
    # The other pair stays by itself, and so does the variable opposite of it.
    assert Counter(graph.n) == {2: 150 + 150, 1: 2}
    symmetric = [len(region.cluster) for region in graph.regions if region.symmetries]
    assert symmetric == [2]


def test_a_network_without_symmetry_is_left_as_it_is() -> None:
    generator = np.random.default_rng(1)
    pairs = np.array([[k, m] for k in range(6) for m in range(k + 1, 6)])
    tables = [generator.normal(size=(2, 2)) for _ in pairs]
    graph = quotient(pairwise(pairs, tables, np.arange(len(pairs))))
    assert set(graph.n) == {1}
    assert len(graph.regions) == len(pairs) + 6
    assert set(graph.kappa) == {1}
    assert len(graph.edges) == len(graph.messages) == 2 * len(pairs)
    assert not any(region.symmetries for region in graph.regions)


def test_colours_keep_variables_apart() -> None:
    ends = np.arange(6)
    network = pairwise(np.column_stack([ends, (ends + 1) % 6]), [COUPLING], 0 * ends)
    regions = ground_region_graph(network)
    graph = compress(regions, network, colours=ends % 2)
    assert sorted(graph.n) == [3, 3, 6]


# --- the way back to the ground


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=ground_models(), family=st.sampled_from(FAMILIES))
def test_marginals_of_all_variables(ground: reference.GroundModel, family: str) -> None:
    network = network_of(ground)
    graph = quotient(network, family)
    plan = compile_plan(graph)
    expected = reference.ground_regions(ground, family)
    lifted = next(Flooding().iterates(plan))
    beliefs = next(reference.iterates(expected))
    regions, axes = graph.alignment.smallest_holder
    kinds = graph.alignment.kind[regions]
    for variable, atom in enumerate(touched_atoms(ground)):
        table = np.exp(plan.layout.full_table(kinds[variable], lifted, missing=-np.inf))
        others = tuple(k for k in range(table.ndim) if k != axes[variable])
        truth = reference.marginal(expected, beliefs, atom)
        np.testing.assert_allclose(table.sum(axis=others), truth, rtol=0, atol=1e-12)
        where = graph.where([variable])
        assert where is not None
        assert where[0] == kinds[variable]
        assert graph.atom_of_axis[where[0]][where[1][0]] == graph.alignment.atom_kind[variable]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=ground_models(), family=st.sampled_from(FAMILIES))
def test_steps_of_an_order_of_all_variables(ground: reference.GroundModel, family: str) -> None:
    """Each variable is conditioned on as many earlier ones as one of its regions has."""
    alignment = quotient(network_of(ground), family).alignment
    possible: dict[int, dict[tuple[int, int, tuple[int, ...]], int]] = {}
    for number, kind in enumerate(alignment.kind.tolist()):
        row = alignment.region_row(number).tolist()
        for axis, variable in enumerate(row):
            given = tuple(k for k, other in enumerate(row) if other < variable)
            possible.setdefault(variable, {})[kind, axis, given] = len(given)
    allowed = Counter(
        choice
        for choices in possible.values()
        for choice, before in choices.items()
        if before == max(choices.values())
    )
    found = order_of_variables(alignment)
    assert sum(found.values()) == len(possible)
    assert all(count <= allowed[choice] for choice, count in found.items())


def test_variables_are_looked_up_in_the_smallest_region() -> None:
    scopes = [np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]]), np.array([[4, 5]])]
    generator = np.random.default_rng(2)
    tables = [generator.normal(size=(2,) * 3) for _ in range(3)] + [generator.normal(size=(2, 2))]
    blocks = [FactorBlock(scopes[0], np.arange(3)), FactorBlock(scopes[1], np.array([3]))]
    graph = quotient(merged(np.full(7, 2), blocks, tables))

    def variables(where: tuple[int, tuple[int, ...]] | None) -> tuple[list[int], int]:
        assert where is not None
        cluster = [v for v, _ in graph.regions[where[0]].cluster]
        return [cluster[k] for k in where[1]], len(cluster)

    assert variables(graph.where([2])) == ([2], 1)
    assert variables(graph.where([3, 2])) == ([3, 2], 2)
    assert variables(graph.where([0])) == ([0], 3)
    assert variables(graph.where([5, 4])) == ([5, 4], 2)
    assert graph.where([0, 3]) is None
    assert graph.where([6]) is None
    assert graph.free_atoms == {2: 1}
    assert graph.alignment.atom_kind[6] == -1


def test_prints_the_first_and_last_rows() -> None:
    ends = np.arange(200)
    graph = quotient(pairwise(np.column_stack([ends, ends + 1]), [COUPLING], 0 * ends))
    lines = str(graph).splitlines()
    assert lines[0].startswith("compressed region graph (intersections): 200 regions")
    assert len(lines) == 20
    assert lines[10] == "  … 182 more …"
    assert lines[-1].startswith("  199  v")
    atoms = [[f"v{v}" for v, _ in region.cluster] for region in graph.regions]
    edges = graph.described(atoms)["edges"]
    assert len(edges) == len(graph.edges)  # type: ignore[arg-type]


# --- how it is solved


def test_auto_descends_on_small_quotients_and_floods_on_large_ones() -> None:
    ends = np.arange(400)
    around = np.column_stack([ends, (ends + 1) % 400])
    ring = compile_plan(quotient(pairwise(around, [COUPLING], 0 * ends)))
    generator = np.random.default_rng(4)
    tables = [COUPLING * weight for weight in generator.uniform(0.1, 0.5, size=400)]
    uneven = compile_plan(quotient(pairwise(around, tables, ends)))
    assert solver_for(Auto(), ring.layout) == Descent()
    assert solver_for(Auto(), uneven.layout) == Auto()


def test_factored_plans_flood_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    pairs = np.array([[k, m] for k in range(6) for m in range(k + 1, 6)])
    tables = [generator.normal(size=(2, 2)) for _ in range(3)]
    graph = quotient(pairwise(pairs, tables, np.arange(len(pairs)) % 3))
    plain = Flooding(iterations=20)(compile_plan(graph))
    monkeypatch.setattr("liftgbp.plan.compile.FACTORED_FROM", 0)
    monkeypatch.setattr("liftgbp.plan.compile._kept", {})
    factored = Flooding(iterations=20)(compile_plan(graph))
    np.testing.assert_allclose(factored.log_beliefs, plain.log_beliefs, rtol=0, atol=1e-9)
