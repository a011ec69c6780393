"""The lifted region graph: published sizes, and exact counts against the ground region graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import parse
from liftgbp.lift.regions import Count, LiftedRegionGraph, build, build_regions, parse_family
from liftgbp.lift.regions.lattice import closed_under_intersection, cover_parents
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import Cluster, canonise, objects_of
from liftgbp.model.ast import Atom
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.support.errors import (
    CapacityError,
    ContradictionError,
    InputError,
    InternalError,
    SizeError,
    Span,
)
from random_models import PREDICATES, SORTS, models, rules, sizes

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
TRANSITIVE = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct"
FRIENDS_KNOWS = """
friends(person, person)
knows(person, person)
1.4 friends(x,y) ^ friends(y,z) => knows(x,z) | distinct
"""
CHAIN = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"

some = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def _nothing_kept() -> Iterator[None]:
    """Every graph here is built: one that is kept would be compared with itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_kept", {})
        patch.setattr(build, "MOST_KEPT", 0)
        yield


def graph_of(text: str, people: int, regions: str = "intersections") -> LiftedRegionGraph:
    return build_regions(shatter(parse(text), {"person": people}), regions)


# --- published sizes


@pytest.mark.parametrize("people", [6, 7, 1000, 10**9])
@pytest.mark.parametrize(
    ("text", "regions", "wanted"),
    [
        (FRIENDS_SMOKERS, "intersections", (3, 3)),
        (FRIENDS_SMOKERS, "subsets", (6, 9)),
        (TRANSITIVE, "intersections", (4, 6)),
        (TRANSITIVE, "subsets", (5, 9)),
        (FRIENDS_KNOWS, "intersections", (3, 3)),
        (FRIENDS_KNOWS, "subsets", (6, 9)),
        (CHAIN, "intersections", (4, 7)),
        (CHAIN, "subsets", (4, 7)),
    ],
)
def test_regions_and_edges(text: str, regions: str, wanted: tuple[int, int], people: int) -> None:
    graph = graph_of(text, people, regions)
    assert (len(graph.regions), len(graph.edges)) == wanted


# --- against the ground region graph


def ground_counts(model: Model, domain: dict[str, int], regions: str) -> dict[Cluster, set[Any]]:
    """Per canonical region, over all its ground regions: counting number and parents per edge.

    The ground parents of one child that differ by renaming objects outside of it are one edge.
    """
    graph = reference.ground_regions(reference.ground(model, domain), regions)
    objects = GroundObjects(shatter(model, domain))
    cluster_of = {
        region: tuple(sorted(map(objects.placeholders, region))) for region in graph.regions
    }
    found: dict[Cluster, list[Any]] = defaultdict(list)
    for child, cluster in cluster_of.items():
        pins = frozenset(objects_of(cluster))
        edges = Counter(canonise(cluster_of[p], pins).cluster for p in graph.parents[child])
        parents = sorted((canonise(name).cluster, count) for name, count in edges.items())
        found[canonise(cluster).cluster].append((graph.counting[child], tuple(parents)))
    return {cluster: {(len(ways), *way) for way in ways} for cluster, ways in found.items()}


def lifted_counts(graph: LiftedRegionGraph) -> dict[Cluster, set[Any]]:
    counts = {}
    for number, region in enumerate(graph.regions):
        parents = sorted(
            (graph.regions[graph.edges[e].parent].cluster, graph.kappa[e])
            for e in graph.edges_into[number]
        )
        entry = (graph.n[number], graph.counting_numbers[number], tuple(parents))
        counts[region.cluster] = {entry}
    return counts


def assert_same_counts(model: Model, domain: dict[str, int], regions: str) -> None:
    try:
        wanted = ground_counts(model, domain, regions)
    except ContradictionError:
        return
    assert lifted_counts(build_regions(shatter(model, domain), regions)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe", "objects:2"])
@some
@given(model=models(), domain=sizes(4))
def test_random_models(regions: str, model: Model, domain: dict[str, int]) -> None:
    try:
        factors = reference.ground(model, domain).factors
    except (CapacityError, ContradictionError):
        assume(False)
    assume(len(factors) <= 100 and max((len(f.scope) for f in factors), default=0) <= 5)
    assert_same_counts(model, domain, regions)


SMALL = {
    "friends-smokers": FRIENDS_SMOKERS,
    "transitive": TRANSITIVE,
    "chain": CHAIN,
    "symmetric": "r(person, person)\n1 r(x,y) => r(y,x)",
    "pairs": "p(person)\n1 p(x) ^ p(y) | x != y",
    "triples": "p(person)\n1 p(x) ^ p(y) ^ p(z) | distinct",
    "all coincidences": "r(person, person)\n1 r(x,y) ^ r(y,z) => r(x,z)",
    "quantifier": "r(person, person)\np(person)\n1 EXIST y r(x,y)\n1 r(x,y) => p(y)",
    "everybody": "p(person)\n1 EXIST x p(x)\n1 p(x)",
    "nested scopes": "p(person)\nq(person)\n1 p(x) ^ q(y)\n1 p(x) => q(x)\n1 p(x)",
    "constant": "r(person, person)\np(person)\n1 r(x,Anna) ^ p(x) => p(Anna)",
    "nullary": "rain\np(person)\n1 rain => p(x) ^ p(y) | x != y\n1 rain",
}


@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe", "objects:1", "objects:2"])
@pytest.mark.parametrize("text", SMALL.values(), ids=SMALL)
def test_every_small_domain(text: str, regions: str) -> None:
    for people in (1, 2, 3, 4):
        model = parse(text)
        assert_same_counts(model, {"person": people}, regions)


# --- what must not matter


def profile(model: Model, domain: dict[str, int], regions: str) -> tuple[Any, ...]:
    graph = build_regions(shatter(model, domain), regions)
    numbers = zip(graph.n, graph.counting_numbers, strict=True)
    atoms = (len(region.cluster) for region in graph.regions)
    return (
        sorted(zip(atoms, numbers, strict=True)),
        sorted(
            (graph.kappa[k], graph.n[edge.child], graph.n[edge.parent])
            for k, edge in enumerate(graph.edges)
        ),
        len(graph.messages),
    )


ARGUMENT_ORDERS = {"r": (1, 0), "s": (1, 0), "t": (2, 0, 1)}


def with_permuted_arguments(node: Any) -> Any:
    if isinstance(node, Atom):
        order = ARGUMENT_ORDERS.get(node.predicate, range(len(node.args)))
        return replace(node, args=tuple(node.args[k] for k in order))
    if isinstance(node, tuple):
        return tuple(map(with_permuted_arguments, node))
    if is_dataclass(node) and not isinstance(node, Span):
        changed = {f.name: with_permuted_arguments(getattr(node, f.name)) for f in fields(node)}
        return replace(node, **changed)
    return node


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["intersections", "bethe", "objects:2"])
@some
@given(chosen=st.lists(rules(), min_size=1, max_size=3), domain=sizes(7), data=st.data())
def test_order_and_names_do_not_matter(
    regions: str, chosen: list[Any], domain: dict[str, int], data: st.DataObject
) -> None:
    try:
        wanted = profile(Model(SORTS, PREDICATES, tuple(chosen)), domain, regions)
    except (CapacityError, ContradictionError):
        assume(False)
    mixed = Model(SORTS, PREDICATES, tuple(data.draw(st.permutations(chosen))))
    assert profile(mixed, domain, regions) == wanted
    names = data.draw(st.permutations(list(PREDICATES)))
    renumbered = Model(SORTS, {name: PREDICATES[name] for name in names}, tuple(chosen))
    assert profile(renumbered, domain, regions) == wanted
    turned = {
        p.name: replace(p, sorts=tuple(p.sorts[k] for k in ARGUMENT_ORDERS[p.name]))
        if p.name in ARGUMENT_ORDERS
        else p
        for p in PREDICATES.values()
    }
    permuted = Model(SORTS, turned, with_permuted_arguments(tuple(chosen)))
    assert profile(permuted, domain, regions) == wanted


# --- large domains


def test_friends_smokers_exactly() -> None:
    """Outer regions friends(x,y) smokes(x) smokes(y), pairs smokes(x) smokes(y), and atoms."""
    n = 10**9
    graph = graph_of(FRIENDS_SMOKERS, n)
    assert graph.n == (n * (n - 1), n * (n - 1) // 2, n)
    assert graph.counting_numbers == (1, -1, 2 - n)
    # Two outer regions around a pair, one for each direction of friendship, with one message.
    assert graph.kappa == (1, 1, n - 1)
    assert len(graph.messages) == 2
    assert graph.ground_regions == n * (n - 1) + n * (n - 1) // 2 + n
    assert graph.stable_from == (4,)


def test_sets_of_four_exactly() -> None:
    """All sets of at most four people are regions, and each lies in those with one more."""
    n = 10**12
    graph = graph_of("p(person)\n1 p(x) ^ p(y) ^ p(z) ^ p(u) | distinct", n)
    assert graph.n == (
        n * (n - 1) * (n - 2) * (n - 3) // 24,
        n * (n - 1) * (n - 2) // 6,
        n * (n - 1) // 2,
        n,
    )
    assert graph.kappa == (n - 3, n - 2, n - 1)
    assert all(isinstance(number, int) for number in (*graph.n, *graph.kappa))


def test_divisor_of_kappa() -> None:
    """Straight from triples to atoms: each person is in (n-1)(n-2)/2 of the sets of three."""
    n = 10**9
    graph = graph_of("p(person)\n1 p(x) ^ p(y) ^ p(z) | distinct", n, "bethe")
    assert graph.kappa == ((n - 1) * (n - 2) // 2,)
    assert graph.counting_numbers == (1, 1 - (n - 1) * (n - 2) // 2)


def shape(graph: LiftedRegionGraph) -> tuple[Any, ...]:
    """All of a graph except what depends on the sizes."""
    return graph.regions, graph.messages, graph.edges


@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe", "objects:2"])
@pytest.mark.parametrize(
    "text",
    [
        FRIENDS_SMOKERS,
        TRANSITIVE,
        CHAIN,
        "r(person, person)\np(person)\n1 r(x,y) => p(Anna) ^ p(x)\n1 r(Bob,x)",
        "p(person)\nq(person)\n1 p(x) ^ q(y)\n1 p(x) => q(x)",
    ],
)
def test_stable_graphs(text: str, regions: str) -> None:
    least = max(graph_of(text, 50, regions).stable_from) + 2
    small = graph_of(text, least, regions)
    for people in (least + 1, 1000, 10**9):
        large = graph_of(text, people, regions)
        assert shape(large) == shape(small)
        resized = small.resized(large.normal)
        assert (resized.n, resized.kappa) == (large.n, large.kappa)
        assert resized.counting_numbers == large.counting_numbers


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (CHAIN, 8, 7),
        (CHAIN, 7, 8),
        (FRIENDS_SMOKERS, 4, 3),
        # The weight is zero at 12 people: the factor and its regions disappear.
        ("p(person)\n(|person| - 12) p(x) ^ p(y) | x != y\n1 p(x)", 10, 12),
    ],
)
def test_resizing_is_refused_where_the_graph_changes(text: str, before: int, after: int) -> None:
    graph = graph_of(text, before)
    with pytest.raises(SizeError, match="stable from"):
        graph.resized(shatter(parse(text), {"person": after}))


def test_resizing_is_refused_for_another_model() -> None:
    graph = graph_of(FRIENDS_SMOKERS, 8)
    with pytest.raises(SizeError):
        graph.resized(shatter(parse(TRANSITIVE), {"person": 8}))


def test_resizing_to_the_same_size_is_always_possible() -> None:
    graph = graph_of(CHAIN, 5)
    assert graph.resized(shatter(parse(CHAIN), {"person": 5})).n == graph.n


# --- counts


@pytest.mark.parametrize(
    ("count", "class_sizes", "value", "text"),
    [
        (Count((), 1), [5], 1, "1"),
        (Count(((0, 0, 3),), 6), [5], 10, "N(N-1)(N-2)/6"),
        (Count(((0, 2, 1),), 1), [5], 3, "(N-2)"),
        (Count(((0, 0, 2),), 2), [10**30], 10**30 * (10**30 - 1) // 2, "N(N-1)/2"),
        (Count(((0, 0, 1), (1, 1, 1)), 1), [4, 7], 24, "N0(N1-1)"),
        (Count(((0, 0, 3),), 1), [2], 0, "N(N-1)(N-2)"),
    ],
)
def test_counts(count: Count, class_sizes: list[int], value: int, text: str) -> None:
    assert count.at(class_sizes) == value
    assert str(count) == text


def test_counts_are_whole_numbers() -> None:
    with pytest.raises(InternalError, match="multiple"):
        Count(((0, 0, 1),), 2).at([3])


def test_covers_are_minimal() -> None:
    parents = cover_parents([0b1111, 0b0111, 0b1110, 0b0110, 0b0010, 0b1000])
    assert {mask: sorted(above) for mask, above in parents.items()} == {
        0b1111: [],
        0b0111: [0b1111],
        0b1110: [0b1111],
        0b0110: [0b0111, 0b1110],
        0b0010: [0b0110],
        0b1000: [0b1110],
    }


@given(st.sets(st.integers(1, 255), max_size=8))
@settings(max_examples=100, deadline=None)
def test_closure_by_brute_force(masks: set[int]) -> None:
    closed = set(masks)
    while more := {a & b for a in closed for b in closed} - closed - {0}:
        closed |= more
    assert closed_under_intersection(masks) == closed


# --- what is refused


def test_caps() -> None:
    wide = "r(person, person)\n1 " + " ^ ".join(f"r(x{k},x{k + 1})" for k in range(13))
    with pytest.raises(CapacityError, match="13 atoms has 8191 subsets"):
        graph_of(f"{wide} | distinct", 20, "subsets")
    with pytest.raises(CapacityError, match="objects:5 need a table over 25 atoms"):
        graph_of("r(person, person)\n1 r(x,y)", 20, "objects:5")
    all_but_one = {(2**13 - 1) & ~(1 << k) for k in range(13)}
    with pytest.raises(CapacityError, match="different intersections"):
        closed_under_intersection(all_but_one)


@pytest.mark.parametrize(
    "name",
    [
        *("", "kikuchi", "Intersections", "objects", "objects:", "objects:k", "objects:0"),
        *("objects:-1", "objects:2.5", "objects:2:3", "bethe:2", "clusters:0", "clusters:x=2"),
    ],
)
def test_unknown_families(name: str) -> None:
    with pytest.raises(InputError, match="unknown region family"):
        parse_family(name)


# --- words


def test_a_graph_prints_itself() -> None:
    assert str(graph_of(FRIENDS_SMOKERS, 10)).splitlines() == [
        "lifted region graph (intersections, person=10): 3 regions, 3 edges, 145 ground regions",
        "  0* friends(1,2) smokes(1) smokes(2)   n=90  c=1  parents × κ: none",
        "  1  smokes(1) smokes(2)   n=45  c=-1  parents × κ: 0 × 1, 0 × 1",
        "  2  smokes(1)   n=10  c=-8  parents × κ: 1 × 9",
    ]


def test_a_graph_names_constants_and_sorts() -> None:
    model = parse("likes(person, movie)\n1 likes(Anna, m)\n1 likes(x, m) ^ likes(x, k) | k != m")
    text = str(build_regions(shatter(model, {"person": 5, "movie": 5})))
    assert "likes(Anna,movie1) likes(Anna,movie2)" in text
    assert "likes(person1,movie1) likes(person1,movie2)" in text


def test_a_graph_as_a_dictionary() -> None:
    content = graph_of(FRIENDS_SMOKERS, 10**9).as_dict()
    assert content["regions"][2]["n"] == 10**9
    edge = content["edges"][2]
    assert (edge["kappa"], edge["kappa_formula"]) == (10**9 - 1, "(|person|-1)")
    assert edge["mapping"] in {"smokes(1)→smokes(1)", "smokes(2)→smokes(1)"}
