from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from reference_models import (
    atom,
    chain,
    equal,
    friends_smokers,
    hard,
    is_,
    model,
    possible_seeds,
    random_model,
    soft,
    table,
    transitive,
)

from liftgbp.model.ast import And, Iff, Implies, Is, Not, Or, Predicate
from liftgbp.model.model import Model
from liftgbp.oracle.reference import (
    Beliefs,
    GroundAtom,
    GroundRegionGraph,
    Region,
    disagreement,
    exact,
    ground,
    ground_regions,
    iterates,
    log_z,
    marginal,
    run,
)
from liftgbp.support.errors import CapacityError, ContradictionError, InputError

FAMILIES = ["intersections", "subsets", "bethe", "objects:1", "objects:2"]


def names(region: Region) -> str:
    return " ".join(map(str, sorted(region)))


def counts(graph: GroundRegionGraph) -> dict[str, int]:
    return {names(region): count for region, count in graph.counting.items()}


def edges(graph: GroundRegionGraph) -> set[tuple[str, str]]:
    return {(names(parent), names(child)) for parent, child in graph.edges}


def propositional(*scopes: str) -> Model:
    """One conjunction of weight 0.5 per scope, whose letters are propositions."""
    letters = sorted({letter for scope in scopes for letter in scope})
    rules = [soft(0.5, And(tuple(is_(letter) for letter in scope))) for scope in scopes]
    return model(dict.fromkeys(letters, ()), *rules)


# --- region graphs


def test_intersections() -> None:
    graph = ground_regions(ground(friends_smokers(1.0), {"person": 2}))
    assert counts(graph) == {
        "friends(0,1) smokes(0) smokes(1)": 1,
        "friends(1,0) smokes(0) smokes(1)": 1,
        "smokes(0) smokes(1)": -1,
    }
    assert len(graph.edges) == 2


def test_intersections_of_intersections() -> None:
    graph = ground_regions(ground(propositional("abc", "abd", "ace")))
    assert counts(graph) == {
        "a() b() c()": 1,
        "a() b() d()": 1,
        "a() c() e()": 1,
        "a() b()": -1,
        "a() c()": -1,
        "a()": 0,
    }
    assert ("a() b() c()", "a()") not in edges(graph)


def test_subsets_have_the_same_counting_numbers() -> None:
    grounded = ground(transitive(1.0), {"person": 4})
    few = counts(ground_regions(grounded, "intersections"))
    all_counts = counts(ground_regions(grounded, "subsets"))
    assert all(few.get(region, 0) == count for region, count in all_counts.items())


def test_edges_are_covers() -> None:
    graph = ground_regions(ground(propositional("abc", "cd")), "subsets")
    assert len(graph.regions) == 7 + 2
    assert len(graph.edges) == 9 + 2
    assert ("a() b() c()", "a()") not in edges(graph)


def test_bethe_merges_a_factor_into_its_only_outer_region() -> None:
    graph = ground_regions(ground(propositional("abc", "cd", "ab", "a")), "bethe")
    assert counts(graph) == {
        "a() b() c()": 1,
        "c() d()": 1,
        "a()": 0,
        "b()": 0,
        "c()": -1,
        "d()": 0,
    }
    held = {names(region): len(factors) for region, factors in graph.held.items()}
    assert held["a() b() c()"] == 3
    assert held["a()"] == 1


def test_bethe_keeps_a_factor_of_several_outer_regions_apart() -> None:
    graph = ground_regions(ground(propositional("abc", "abd", "ab", "a", "e")), "bethe")
    assert counts(graph) == {
        "a() b() c()": 1,
        "a() b() d()": 1,
        "a() b()": 1,
        "a()": -2,
        "b()": -2,
        "c()": 0,
        "d()": 0,
        "e()": 1,
    }
    assert ("a() b()", "a()") in edges(graph)
    assert not any(child == "a() b()" for _, child in edges(graph))
    held = {names(region): [len(f.scope) for f in fs] for region, fs in graph.held.items()}
    assert sorted(held["a() b()"]) == [1, 2]
    assert sorted(held["a() b() c()"]) == [1, 3]


def test_objects_are_chosen_per_sort() -> None:
    rule = soft(1.0, And((is_("likes", "x", "d"), is_("likes", "y", "d"))), distinct=True)
    grounded = ground(
        model({"likes": ("person", "dog"), "idle": ("dog",)}, rule), {"person": 3, "dog": 2}
    )
    graph = ground_regions(grounded, "objects:2")
    outer = [region for region in graph.regions if not graph.parents[region]]
    assert len(outer) == 3
    assert all(len(region) == 4 for region in outer)
    # With one object per sort the chosen sets lie inside the scopes and change nothing.
    assert counts(ground_regions(grounded, "objects:1")) == counts(ground_regions(grounded))


def test_objects_beyond_the_domain_are_all_objects() -> None:
    graph = ground_regions(ground(friends_smokers(1.0), {"person": 3}), "objects:9")
    assert [len(region) for region in graph.regions] == [9]


@pytest.mark.parametrize("family", ["", "objects", "objects:0", "objects:x", "everything"])
def test_unknown_families(family: str) -> None:
    with pytest.raises(InputError, match="objects:k"):
        ground_regions(ground(friends_smokers(1.0), {"person": 2}), family)


def test_regions_outgrow_their_caps() -> None:
    grounded = ground(transitive(1.0), {"person": 6})
    with pytest.raises(CapacityError, match="30 atoms"):
        ground_regions(grounded, "objects:6")
    wide = ground(propositional("abcdefghijklmnopq"))
    with pytest.raises(CapacityError, match="regions"):
        ground_regions(wide, "subsets")


@pytest.mark.slow
@pytest.mark.parametrize("seed", possible_seeds(40, person=3, shop=1))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_counts_once_on_random_models(seed: int, family: str) -> None:
    # The constructor checks the sums; two iterations exercise tables of all shapes.
    graph = ground_regions(ground(random_model(seed), {"person": 3, "shop": 1}), family)
    for beliefs in iterates(graph, iterations=2):
        for region, belief in beliefs.items():
            assert np.exp(belief).sum() == pytest.approx(1.0)
            assert np.array_equal(np.isneginf(belief), ~graph.alive[region])


# --- supports


def test_supports_reach_across_regions() -> None:
    # a ∧ (a ⇔ b) ∧ (b ⇔ c): each factor alone leaves c open, only the graph closes it.
    rules = [hard(is_("a")), hard(Iff(is_("a"), is_("b"))), hard(Iff(is_("b"), is_("c")))]
    graph = ground_regions(ground(model({"a": (), "b": (), "c": ()}, *rules)))
    (last,) = (region for region in graph.regions if names(region) == "b() c()")
    assert graph.alive[last].tolist() == [[False, False], [False, True]]
    result = run(graph)
    assert marginal(graph, result.beliefs, GroundAtom("c")) == pytest.approx([0.0, 1.0])
    assert log_z(graph, result.beliefs) == pytest.approx(0.0)


def test_supports_find_contradictions_across_regions() -> None:
    rules = [hard(is_("a")), hard(Iff(is_("a"), is_("b"))), hard(Not(is_("b")))]
    with pytest.raises(ContradictionError, match="no state"):
        ground_regions(ground(model({"a": (), "b": ()}, *rules)))


def test_hard_formulas_on_a_tree_are_exact() -> None:
    rules = [
        hard(Implies(is_("p", "x"), is_("rain"))),
        soft(0.8, is_("p", "x")),
        soft(-1.0, is_("rain")),
    ]
    grounded = ground(model({"p": ("person",), "rain": ()}, *rules), {"person": 4})
    graph = ground_regions(grounded)
    assert_exact(graph, run(graph, tol=1e-13).beliefs)


# --- fixed points that are exact


def assert_exact(graph: GroundRegionGraph, beliefs: Beliefs) -> None:
    answer = exact(graph.ground)
    assert log_z(graph, beliefs) == pytest.approx(answer.log_z, abs=1e-9)
    for key, probabilities in answer.marginals.items():
        assert np.allclose(marginal(graph, beliefs, key), probabilities, rtol=0, atol=1e-9), key


@pytest.mark.parametrize("seed", possible_seeds(60, person=2, shop=1))
def test_one_region_over_everything_is_exact(seed: int) -> None:
    graph = ground_regions(ground(random_model(seed), {"person": 2, "shop": 1}), "objects:2")
    result = run(graph)
    assert (result.iterations, result.residual) == (0, 0.0)
    assert_exact(graph, result.beliefs)


@pytest.mark.parametrize("family", FAMILIES[:3])
def test_a_many_valued_tree_is_exact(family: str) -> None:
    predicates = {
        "size": Predicate("size", ("thing",), ("S", "M", "L")),
        "blue": Predicate("blue"),
    }
    rules = (
        table((atom("size", "x"), atom("blue")), 1, 2, 3, 4, 5, 0.5),
        soft(0.3, Is(atom("size", "x"), "L")),
        soft(0.9, is_("blue")),
    )
    graph = ground_regions(ground(Model({}, predicates, rules), {"thing": 3}), family)
    assert_exact(graph, run(graph, tol=1e-13).beliefs)


def test_constants_and_free_atoms_count() -> None:
    rules = [
        soft(0.25, Or((is_("p", "x"), Not(is_("p", "x"))))),
        soft(1.0, And((is_("p", "x"), equal("x", "Ann")))),
    ]
    graph = ground_regions(ground(model({"p": ("person",), "rain": ()}, *rules), {"person": 3}))
    beliefs = run(graph).beliefs
    assert log_z(graph, beliefs) == pytest.approx(0.75 + math.log1p(math.e) + 3 * math.log(2))
    assert marginal(graph, beliefs, GroundAtom("rain")).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_without_factors(family: str) -> None:
    graph = ground_regions(ground(model({"p": ("person",)}), {"person": 3}), family)
    result = run(graph)
    assert (result.beliefs, result.iterations) == ({}, 0)
    assert log_z(graph, result.beliefs) == pytest.approx(3 * math.log(2))


# --- the iteration


def test_iteration_zero_knows_only_the_tables() -> None:
    graph = ground_regions(ground(friends_smokers(1.4), {"person": 3}))
    first = next(iterates(graph))
    for region, belief in first.items():
        table_alone = np.exp(graph.theta[region])
        assert np.exp(belief) == pytest.approx(table_alone / table_alone.sum())


def test_iterations_are_counted_from_zero() -> None:
    graph = ground_regions(ground(friends_smokers(1.4), {"person": 3}))
    steps = list(iterates(graph, iterations=7))
    assert len(steps) == 8
    for updates, beliefs in enumerate(steps):
        after = run(graph, iterations=updates, tol=0.0)
        assert after.iterations == updates
        assert all(np.array_equal(after.beliefs[r], beliefs[r]) for r in graph.regions)
    assert any(not np.array_equal(steps[0][r], steps[1][r]) for r in graph.regions)
    result = run(graph, iterations=7, tol=0.0)
    assert result.iterations == 7
    assert result.residual == disagreement(graph, result.beliefs) > 0


def test_one_message_by_hand() -> None:
    # Regions ab and bc over child b; each message replaces its own part of the child's belief.
    grounded = ground(propositional("ab", "bc"))
    graph = ground_regions(grounded)
    *_, last = iterates(graph, damping=0.0, iterations=1)
    (b,) = (region for region in graph.regions if len(region) == 1)
    half = math.exp(0.5)
    assert np.exp(last[b]) == pytest.approx(
        np.array([4.0, (1 + half) ** 2]) / (4.0 + (1 + half) ** 2)
    )


def test_regions_of_one_orbit_have_equal_beliefs() -> None:
    graph = ground_regions(ground(chain(1.4), {"person": 4}))
    for beliefs in itertools.islice(iterates(graph), 20):
        singles = [np.exp(beliefs[region]) for region in graph.regions if len(region) == 1]
        assert np.ptp(singles, axis=0) == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.slow
def test_flooding_diverges_on_the_chain() -> None:
    graph = ground_regions(ground(chain(1.4), {"person": 5}))
    *_, last = iterates(graph, iterations=60)
    # The messages run away and push every belief into a corner.
    assert marginal(graph, last, GroundAtom("r", (0, 1)))[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_runaway_messages_end_the_iteration_quietly() -> None:
    graph = ground_regions(ground(chain(1.4), {"person": 4}))
    steps = list(iterates(graph, damping=-20.0, iterations=500))
    assert 1 < len(steps) < 501
    assert all(np.isfinite(belief).all() for belief in steps[-1].values())


# --- known values

INTERSECTIONS = [
    (friends_smokers, "friends", 1.4, 4, 0.5, 1e-11, 0.4419851737, 26.6382328807),
    (friends_smokers, "friends", 1.4, 8, 0.5, 1e-11, 0.4419851737, 116.9181835),
    (transitive, "r", 1.4, 4, 0.5, 1e-10, 0.36600303, 39.7739689),
    (transitive, "r", 1.4, 5, 0.5, 1e-9, 0.30263751, 93.0502459),
    # The chain needs more damping: with less, rounding breaks the symmetry and grows.
    (chain, "r", 1.4, 4, 0.8, 1e-10, 0.32176581, 39.3585199),
    (chain, "r", 1.4, 5, 0.97, 1e-7, 0.20222528, 175.3992336),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "name", "w", "persons", "damping", "tol", "probability", "log_z_known"),
    INTERSECTIONS,
)
def test_known_fixed_points(
    build: Callable[[float], Model],
    name: str,
    w: float,
    persons: int,
    damping: float,
    tol: float,
    probability: float,
    log_z_known: float,
) -> None:
    graph = ground_regions(ground(build(w), {"person": persons}))
    result = run(graph, damping=damping, iterations=700, tol=tol)
    assert result.residual <= tol
    found = marginal(graph, result.beliefs, GroundAtom(name, (0, 1)))[1]
    assert found == pytest.approx(probability, abs=max(1e-8, 2 * tol))
    # The known values leave the diagonal atoms out; each of them is free and adds log 2.
    estimate = log_z(graph, result.beliefs) - persons * math.log(2)
    # An edge that disagrees by the residual may shift the sum over regions by as much.
    assert estimate == pytest.approx(log_z_known, abs=max(1e-7, len(graph.edges) * tol))


@pytest.mark.slow
@pytest.mark.parametrize("persons", range(2, 9))
def test_known_belief_propagation(persons: int) -> None:
    graph = ground_regions(ground(friends_smokers(1.4), {"person": persons}), "bethe")
    result = run(graph, tol=1e-11)
    found = marginal(graph, result.beliefs, GroundAtom("friends", (0, 1)))[1]
    assert found == pytest.approx(0.4333408993, abs=2e-10)
    if persons == 4:
        estimate = log_z(graph, result.beliefs) - 4 * math.log(2)
        assert estimate == pytest.approx(26.5557737596, abs=1e-9)


def test_subsets_and_intersections_share_fixed_points() -> None:
    grounded = ground(friends_smokers(1.4), {"person": 3})
    few, many = ground_regions(grounded), ground_regions(grounded, "subsets")
    one, other = run(few, tol=1e-12), run(many, tol=1e-12)
    assert log_z(few, one.beliefs) == pytest.approx(log_z(many, other.beliefs), abs=1e-9)
