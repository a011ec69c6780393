"""Clusters filed by the kinds of their atoms: nothing that could be shared is overlooked."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from liftgbp import parse
from liftgbp.lift.regions import build_regions
from liftgbp.lift.regions.clusters import ByKind, kinds
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import Atom, Cluster

ATOMS = st.tuples(
    st.integers(0, 2), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2)
).map(lambda drawn: (drawn[0], tuple(drawn[1])))
CLUSTERS = st.lists(ATOMS, min_size=1, max_size=4, unique=True).map(lambda a: tuple(sorted(a)))


def kind_of(atom: Atom) -> object:
    """Predicate, classes of the arguments, and which of them are equal."""
    predicate, args = atom
    return predicate, tuple((obj[0], args.index(obj)) for obj in args)


def kinds_by_hand(cluster: Cluster) -> Counter[object]:
    return Counter(map(kind_of, cluster))


@given(CLUSTERS, CLUSTERS)
def test_kinds_are_predicates_classes_and_equalities(one: Cluster, other: Cluster) -> None:
    assert (kinds(one) == kinds(other)) == (kinds_by_hand(one) == kinds_by_hand(other))


@pytest.mark.slow
@given(st.lists(CLUSTERS, max_size=8), CLUSTERS)
def test_nothing_is_overlooked(filed: list[Cluster], cluster: Cluster) -> None:
    by_kind = ByKind(filed)
    own = kinds_by_hand(cluster)
    places = dict(enumerate(map(kinds_by_hand, filed)))
    shared = by_kind.shared_kinds(cluster)
    assert {k: len(v) for k, v in shared.items()} == {
        k: len(other.keys() & own.keys()) for k, other in places.items() if other.keys() & own
    }
    assert {k for k, other in places.items() if own <= other} <= set(by_kind.around(cluster))
    assert {k for k, other in places.items() if other <= own} <= set(by_kind.inside(cluster))
    assert by_kind.inside(cluster) == sorted(set(by_kind.inside(cluster)))


@pytest.mark.slow
@pytest.mark.parametrize("named", [0, 1, 2, 5, 25])
@pytest.mark.parametrize("people", [30, 10**9])
def test_the_graph_over_many_classes(named: int, people: int) -> None:
    """A region for each ordered pair of people, each pair, each person, up to who is anonymous."""
    facts = [f"0.{k + 1:02} smokes(P{k})" for k in range(named)]
    rule = "0.5 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    text = "\n".join(["friends(person, person)", "smokes(person)", *facts, rule])
    graph = build_regions(shatter(parse(text), {"person": people}))
    others = people - named
    assert Counter(graph.n) == (
        Counter({1: named * (named - 1), others * (others - 1): 1})
        + Counter({others: 2 * named})
        + Counter({1: named * (named - 1) // 2, others * (others - 1) // 2: 1})
        + Counter({others: named})
        + Counter({1: named, others: 1})
    )
    # A pair has two parents, and a person as many as there are others.
    into_pairs = Counter({1: 2 * (named * (named - 1) // 2 + named + 1)})
    into_people = Counter({1: named * (named - 1) + named}) + Counter({others: named})
    assert Counter(graph.kappa) == into_pairs + into_people + Counter({others - 1: 1})
    held = sorted(h.parfactor for r in graph.regions if len(r.cluster) == 1 for h in r.held)
    assert len(held) == named
