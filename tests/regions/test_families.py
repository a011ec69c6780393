"""Families beyond the scopes of factors: objects per sort, and clusters of so many atoms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from liftgbp import infer, parse
from liftgbp.lift.regions import LiftedRegionGraph, build_regions, parse_family
from liftgbp.lift.regions.clusters import cluster_levels, count_clusters, ground_atoms
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import Atom, Cluster, canonise
from liftgbp.oracle import reference
from liftgbp.oracle.messages import check_messages
from liftgbp.support.errors import CapacityError, InputError, states_text

TRANSITIVE = "r(person, person)\n{} r(x,y) ^ r(y,z) => r(x,z) | distinct"
FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
CHAIN = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"
MOVIES = """
likes(person, movie)
good(movie)
rain()
1 likes(x,m) ^ likes(y,m) => good(m) | x != y
0.5 likes(Anna,m)
0.3 rain() => good(m)
"""


def graph_of(text: str, sizes: dict[str, int], regions: str) -> LiftedRegionGraph:
    return build_regions(shatter(parse(text), sizes), regions)


# --- names


def test_a_family_prints_as_it_is_written() -> None:
    for name in ("objects:3", "objects:person=3,movie=2", "clusters:4", "bethe"):
        assert str(parse_family(name)) == name


@pytest.mark.parametrize(
    "name", ["objects:person=", "objects:=2", "objects:a=1,a=2", "objects:a=1,", "objects:a=x"]
)
def test_malformed_numbers_per_sort(name: str) -> None:
    with pytest.raises(InputError, match="unknown region family"):
        parse_family(name)


def test_an_unknown_sort_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'film'; the model has person, movie"):
        graph_of(MOVIES, {"person": 4, "movie": 4}, "objects:film=2")


# --- objects per sort


def outer_texts(graph: LiftedRegionGraph) -> set[str]:
    return {graph.region_text(k) for k, region in enumerate(graph.regions) if region.outer}


def test_objects_of_one_sort_only() -> None:
    text = "likes(person, movie)\n1 likes(x,m) ^ likes(y,m) | x != y"
    graph = graph_of(text, {"person": 5, "movie": 5}, "objects:person=3,movie=1")
    assert outer_texts(graph) == {
        "likes(person1,movie1) likes(person2,movie1) likes(person3,movie1)"
    }


def test_a_sort_without_a_number_takes_what_the_widest_factor_needs() -> None:
    text = "likes(person, movie)\n1 likes(x,m) ^ likes(y,m) | x != y"
    sizes = {"person": 5, "movie": 5}
    named = graph_of(text, sizes, "objects:person=2,movie=2")
    unnamed = graph_of(text, sizes, "objects:movie=2")
    assert outer_texts(named) == outer_texts(unnamed)


# --- clusters


def all_clusters(kinds: list[Atom], size: int, sizes: Sequence[int]) -> set[Cluster]:
    *_, last = cluster_levels(kinds, size, sizes)
    return last


KINDS: list[Atom] = [
    (0, ()),
    (1, ((0, 0),)),
    (2, ((0, 0), (0, 1))),
    (2, ((0, 0), (0, 0))),
    (3, ((0, 0), (1, 0))),
    (4, ((1, 0), (1, 1), (0, 0))),
]


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True),
    size=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 7), st.integers(2, 7)),
)
def test_clusters_are_counted_as_they_are_listed(
    kinds: list[Atom], size: int, sizes: tuple[int, int]
) -> None:
    kinds = [kind for kind in kinds if ground_atoms([kind], sizes)]
    if kinds:
        assert count_clusters(kinds, size, sizes) == len(all_clusters(kinds, size, sizes))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_listed_clusters_are_those_of_the_ground_model(size: int) -> None:
    atoms = [(0, ((0, a), (0, b))) for a in range(4) for b in range(4) if a != b]
    atoms += [(1, ((0, a),)) for a in range(4)]
    ground = {canonise(tuple(sorted(some))).cluster for some in combinations(atoms, size)}
    assert all_clusters([(0, ((0, 0), (0, 1))), (1, ((0, 0),))], size, [4]) == ground


def test_loopless_digraphs_by_arcs() -> None:
    """The numbers of directed graphs with so many arcs, without loops and isolated vertices."""
    arc = (0, ((0, 0), (0, 1)))
    assert [count_clusters([arc], arcs, [10**6]) for arcs in (1, 2, 3)] == [1, 5, 17]


def test_outer_regions_are_all_sets_of_atoms_also_disconnected_ones() -> None:
    graph = graph_of("r(person, person)\n1 r(x,y) | x != y", {"person": 10}, "clusters:2")
    assert "r(1,2) r(3,4)" in outer_texts(graph)
    pairs = sum(n for n, region in zip(graph.n, graph.regions, strict=True) if region.outer)
    assert pairs == math.comb(90, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "people", "regions"),
    [
        (FRIENDS_SMOKERS, 3, "clusters:3"),
        (FRIENDS_SMOKERS, 2, "clusters:4"),
        (FRIENDS_SMOKERS, 2, "clusters:9"),
        (TRANSITIVE.format(0.5), 4, "clusters:3"),
        (TRANSITIVE.format(0.5), 4, "clusters:2"),
        (CHAIN, 4, "clusters:2"),
        (CHAIN, 4, "clusters:3"),
    ],
)
def test_lifted_equals_ground(text: str, people: int, regions: str) -> None:
    assert check_messages(parse(text), {"person": people}, regions=regions, iterations=6).agrees


@pytest.mark.parametrize("regions", ["clusters:2", "objects:person=2", "objects:movie=2,person=1"])
def test_lifted_equals_ground_with_two_sorts_and_a_constant(regions: str) -> None:
    assert check_messages(
        parse(MOVIES), {"person": 3, "movie": 2}, regions=regions, iterations=6
    ).agrees


def test_a_cluster_of_all_atoms_is_exact() -> None:
    model = parse(FRIENDS_SMOKERS)
    exact = reference.exact(reference.ground(model, {"person": 2}))
    answers = infer(model, {"person": 2}, regions="clusters:4", effort="quick")
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)


# --- known values; published without diagonal atoms, which add log 2 each


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "people", "regions", "probability", "log_z"),
    [
        (0.5, 4, "intersections", 0.438472, 19.15288),
        (0.5, 4, "objects:3", 0.438751, 19.1531),
        (0.5, 4, "objects:4", 0.440252, 19.16849),
        (0.3, 5, "intersections", 0.440409, None),
        (0.3, 5, "objects:3", 0.440528, None),
        (0.3, 5, "objects:4", 0.441877, None),
        (0.3, 5, "objects:5", 0.441736, 29.99631),
    ],
)
def test_transitive_relation(
    weight: float, people: int, regions: str, probability: float, log_z: float | None
) -> None:
    answers = infer(
        parse(TRANSITIVE.format(weight)), {"person": people}, regions=regions, effort="quick"
    )
    assert answers.marginal("r(x,y)") == pytest.approx(probability, abs=1e-6)
    if log_z is not None:
        tolerance = 1e-4 if log_z == 19.1531 else 1e-5
        assert answers.log_z - people * math.log(2) == pytest.approx(log_z, abs=tolerance)


# --- what is refused, before anything is allocated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("objects:20", r"a table over 380 atoms with 2\.5e114 entries, above the cap of 1048576"),
        ("objects:100000", r"9999900000 atoms with 10\^301026985\d entries"),
        ("clusters:30", r"a table over 30 atoms with 1073741824 entries"),
        ("clusters:1000000", r"a table over 1000000 atoms with .*e301029 entries"),
        (
            "clusters:7",
            r"need at least 11222 clusters that differ by more than names, above the cap",
        ),
        ("clusters:20", r"clusters:20 need at least \d+ clusters"),
    ],
)
def test_sizes_above_the_cap_are_told(regions: str, message: str) -> None:
    with pytest.raises(CapacityError, match=message):
        graph_of(TRANSITIVE.format(1), {"person": 10**6}, regions)


def test_a_table_cap_holds_for_families() -> None:
    normal = shatter(parse(TRANSITIVE.format(1)), {"person": 9}, table_cap=2**12)
    assert len(build_regions(normal, "objects:4").regions[0].cluster) == 12
    normal = shatter(parse(TRANSITIVE.format(1)), {"person": 9}, table_cap=2**12 - 1)
    with pytest.raises(CapacityError, match="12 atoms with 4096 entries"):
        build_regions(normal, "objects:4")


def test_too_many_choices_of_objects() -> None:
    named = "\n".join(f"1 p(C{k})" for k in range(30))
    with pytest.raises(CapacityError, match="more than 1024 choices of objects"):
        graph_of(f"p(thing)\n{named}", {"thing": 10**9}, "objects:10")


def test_large_numbers_are_short() -> None:
    assert states_text({2: 39}) == str(2**39)
    assert states_text({2: 41}) == "2.2e12"
    assert states_text({}) == "1"
