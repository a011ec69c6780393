"""Clusters up to renaming: canonical forms, symmetries, embeddings and overlaps, by brute force."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations, product

import pytest
from hypothesis import given, settings, strategies as st

from liftgbp.lift.signature import (
    Atom,
    Cluster,
    Obj,
    canonise,
    embeddings,
    objects_of,
    overlaps,
)
from liftgbp.lift.signature.canonical import rename
from liftgbp.lift.signature.embedding import twin_groups

ARITIES = (0, 1, 1, 2, 2, 3)
thorough = settings(max_examples=120, deadline=None)


# --- random clusters, and everything about them by brute force


def row(home: int, count: int) -> list[Obj]:
    return [(home, k) for k in range(count)]


def objects(most: int = 3) -> st.SearchStrategy[Obj]:
    return st.tuples(st.sampled_from([0, 0, 1]), st.integers(0, most - 1))


def atoms(most: int = 3) -> st.SearchStrategy[Atom]:
    return st.integers(0, len(ARITIES) - 1).flatmap(
        lambda p: st.tuples(st.just(p), st.tuples(*[objects(most)] * ARITIES[p]))
    )


def clusters(most_atoms: int = 5, most_objects: int = 3) -> st.SearchStrategy[Cluster]:
    some = st.lists(atoms(most_objects), min_size=1, max_size=most_atoms, unique=True)
    return some.map(lambda chosen: tuple(sorted(chosen)))


def subsets(items: Sequence[Obj]) -> st.SearchStrategy[frozenset[Obj]]:
    return st.frozensets(st.sampled_from(items)) if items else st.just(frozenset())


def injections(sources: Sequence[Obj], targets: Iterable[Obj]) -> Iterator[dict[Obj, Obj]]:
    """All one-to-one maps that keep classes."""
    targets = sorted(targets)
    class_index = sorted({home for home, _ in sources})
    own = [[obj for obj in sources if obj[0] == home] for home in class_index]
    room = [[obj for obj in targets if obj[0] == home] for home in class_index]
    choices = [permutations(r, len(o)) for r, o in zip(room, own, strict=True)]
    for images in product(*choices):
        yield dict(zip(chain(*own), chain(*images), strict=True))


def brute_automorphisms(cluster: Cluster, pinned: frozenset[Obj]) -> list[dict[Obj, Obj]]:
    mine = objects_of(cluster)
    return [
        way
        for way in injections(mine, mine)
        if rename(cluster, way) == cluster and all(way[obj] == obj for obj in pinned & set(mine))
    ]


def isomorphic(one: Cluster, other: Cluster) -> bool:
    there = objects_of(other)
    same_size = len(one) == len(other) and len(objects_of(one)) == len(there)
    return same_size and any(rename(one, w) == other for w in injections(objects_of(one), there))


# --- canonical forms


@pytest.mark.slow
@thorough
@given(clusters(), st.data())
def test_renaming_changes_nothing(cluster: Cluster, data: st.DataObject) -> None:
    pools = {home: data.draw(st.permutations(row(home, 9))) for home in (0, 1)}
    renaming = {obj: pools[obj[0]].pop() for obj in objects_of(cluster)}
    moved = rename(cluster, renaming)
    assert canonise(moved).cluster == canonise(cluster).cluster
    assert canonise(moved).automorphisms == canonise(cluster).automorphisms


@pytest.mark.slow
@thorough
@given(clusters(), st.data())
def test_renaming_with_pins_changes_nothing(cluster: Cluster, data: st.DataObject) -> None:
    pinned = data.draw(subsets(objects_of(cluster)))
    free = [obj for obj in objects_of(cluster) if obj not in pinned]
    away = {obj: (obj[0], obj[1] + 50) for obj in free}
    shuffled = data.draw(st.sampled_from(list(injections(free, away.values()))))
    moved = rename(cluster, {**{obj: obj for obj in pinned}, **shuffled})
    assert canonise(moved, pinned).cluster == canonise(cluster, pinned).cluster


@pytest.mark.slow
@thorough
@given(clusters(), st.data())
def test_the_renaming_leads_to_the_canonical_form(cluster: Cluster, data: st.DataObject) -> None:
    pinned = data.draw(subsets(objects_of(cluster)))
    signature = canonise(cluster, pinned)
    renaming = signature.renaming
    assert set(renaming) == set(objects_of(cluster))
    assert len(set(renaming.values())) == len(renaming)
    assert all(image[0] == obj[0] for obj, image in renaming.items())
    assert all(renaming[obj] == obj for obj in pinned)
    assert rename(cluster, renaming) == signature.cluster
    assert canonise(signature.cluster, pinned).cluster == signature.cluster


@pytest.mark.slow
@thorough
@given(clusters(most_atoms=3), clusters(most_atoms=3))
def test_equal_forms_mean_isomorphic(one: Cluster, other: Cluster) -> None:
    assert (canonise(one).cluster == canonise(other).cluster) == isomorphic(one, other)


def test_all_digraphs_with_loops_on_three_objects() -> None:
    """104 of them up to isomorphism, the empty one included (OEIS A000595)."""
    three = [(0, k) for k in range(3)]
    edges = [(0, pair) for pair in product(three, three)]
    every = chain.from_iterable(combinations(edges, k) for k in range(1, 10))
    forms: dict[Cluster, Cluster] = {}
    for cluster in every:
        smallest = min(rename(cluster, way) for way in injections(three, three))
        assert forms.setdefault(canonise(cluster).cluster, smallest) == smallest
    assert len(forms) == len(set(forms.values())) == 103


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(2, "ab")], [(2, "aa")]),
        ([(2, "ab"), (2, "bc")], [(2, "ab"), (2, "ac")]),
        ([(2, "ab"), (2, "ac")], [(2, "ba"), (2, "ca")]),
        ([(2, "ab"), (3, "ab")], [(2, "ab"), (3, "ba")]),
        ([(1, "a"), (2, "ab")], [(1, "b"), (2, "ab")]),
        ([(5, "aab")], [(5, "aba")]),
        ([(5, "abc"), (5, "bca")], [(5, "abc"), (5, "bac")]),
        ([(2, "ab"), (2, "bc"), (2, "ca")], [(2, "ab"), (2, "bc"), (2, "ac")]),
        (
            [(2, "ab"), (2, "bc"), (2, "ca"), (2, "de"), (2, "ef"), (2, "fd")],
            [(2, "ab"), (2, "bc"), (2, "cd"), (2, "de"), (2, "ef"), (2, "fa")],
        ),
        ([(2, "aA")], [(2, "Aa")]),
        ([(1, "a"), (1, "A")], [(1, "a"), (1, "b")]),
    ],
)
def test_told_apart(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> None:
    """Small letters are objects of one class, capitals of another."""

    def cluster(atoms: list[tuple[int, str]]) -> Cluster:
        named = {
            letter: (int(letter.isupper()), ord(letter)) for _, word in atoms for letter in word
        }
        return tuple(sorted((p, tuple(named[letter] for letter in word)) for p, word in atoms))

    assert canonise(cluster(one)).cluster != canonise(cluster(other)).cluster


# --- symmetries


@pytest.mark.slow
@thorough
@given(clusters(), st.data())
def test_automorphisms_by_brute_force(cluster: Cluster, data: st.DataObject) -> None:
    pinned = data.draw(subsets([*objects_of(cluster), (0, 77)]))
    found = canonise(cluster, pinned).automorphisms
    assert found == len(brute_automorphisms(cluster, pinned))


@pytest.mark.slow
@thorough
@given(clusters(), st.data())
def test_generators_generate_the_group(cluster: Cluster, data: st.DataObject) -> None:
    pinned = data.draw(subsets(objects_of(cluster)))
    signature = canonise(cluster, pinned)
    group = generated(signature.generators, objects_of(cluster))
    wanted = brute_automorphisms(cluster, pinned)
    assert group == {tuple(way[obj] for obj in objects_of(cluster)) for way in wanted}


def generated(
    generators: Sequence[Mapping[Obj, Obj]], mine: tuple[Obj, ...]
) -> set[tuple[Obj, ...]]:
    group, waiting = {mine}, [mine]
    while waiting:
        element = waiting.pop()
        for generator in generators:
            image = tuple(generator[obj] for obj in element)
            if image not in group:
                group.add(image)
                waiting.append(image)
    return group


def complete(count: int) -> list[Atom]:
    return [(3, pair) for pair in permutations(row(0, count), 2)]


def stars(hubs: int, leaves: int) -> list[Atom]:
    return [(3, ((0, h), (0, 100 + h * leaves + k))) for h in range(hubs) for k in range(leaves)]


LARGE_GROUPS = {
    "20 interchangeable objects": ([(1, (obj,)) for obj in row(0, 20)], (), math.factorial(20)),
    "one of 20 pinned": ([(1, (obj,)) for obj in row(0, 20)], [(0, 7)], math.factorial(19)),
    "complete graph": (complete(15), (), math.factorial(15)),
    "two classes": (
        [(1, (obj,)) for obj in row(0, 12) + row(1, 13)],
        (),
        math.factorial(12) * math.factorial(13),
    ),
    "two stars": (stars(2, 10), (), 2 * math.factorial(10) ** 2),
    "two stars, one hub pinned": (stars(2, 10), [(0, 0)], math.factorial(10) ** 2),
    "five stars": (stars(5, 4), (), math.factorial(5) * math.factorial(4) ** 5),
    "nullary atoms do not count": (
        [(0, ()), *((1, (obj,)) for obj in row(0, 16))],
        (),
        math.factorial(16),
    ),
}


@pytest.mark.parametrize(("atoms", "pinned", "order"), LARGE_GROUPS.values(), ids=LARGE_GROUPS)
def test_large_groups_are_counted_exactly(
    atoms: list[Atom], pinned: Iterable[Obj], order: int
) -> None:
    assert canonise(tuple(sorted(atoms)), frozenset(pinned)).automorphisms == order


# --- embeddings


def brute_embeddings(
    pattern: Cluster, cluster: Cluster, groups: Sequence[Sequence[Obj]] = ()
) -> list[dict[Obj, Obj]]:
    return [
        way
        for way in injections(objects_of(pattern), objects_of(cluster))
        if set(rename(pattern, way)) <= set(cluster)
        and all([way[o] for o in group] == sorted(way[o] for o in group) for group in groups)
    ]


def as_set(ways: Iterable[Mapping[Obj, Obj]]) -> set[tuple[tuple[Obj, Obj], ...]]:
    listed = [tuple(sorted(way.items())) for way in ways]
    assert len(set(listed)) == len(listed), "no map is given twice"
    return set(listed)


@pytest.mark.slow
@thorough
@given(clusters(most_atoms=3), clusters(most_atoms=6))
def test_embeddings_by_brute_force(pattern: Cluster, cluster: Cluster) -> None:
    assert as_set(embeddings(pattern, cluster)) == as_set(brute_embeddings(pattern, cluster))


@pytest.mark.slow
@thorough
@given(clusters(most_atoms=2), clusters(most_atoms=3))
def test_a_cluster_embeds_into_a_larger_one(inner: Cluster, other: Cluster) -> None:
    larger = tuple(sorted({*inner, *other}))
    assert tuple(sorted((obj, obj) for obj in objects_of(inner))) in as_set(
        embeddings(inner, larger)
    )


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_set_of_exchangeable_objects_is_placed_once(size: int) -> None:
    hub, leaves = (0, 0), [(0, k + 1) for k in range(size)]
    pattern = [(2, (hub, leaf)) for leaf in leaves]
    cluster = tuple(sorted((2, pair) for pair in permutations(row(0, 5), 2)))
    found = as_set(embeddings(pattern, cluster, [leaves]))
    assert found == as_set(brute_embeddings(tuple(sorted(pattern)), cluster, [leaves]))
    assert len(found) == 5 * math.comb(4, size)


# --- overlaps


def brute_overlaps(cluster: Cluster, other: Cluster, class_sizes: Sequence[int]) -> set[int]:
    domain = [(home, k) for home, size in enumerate(class_sizes) for k in range(size)]
    masks = set()
    for way in injections(objects_of(other), domain):
        shared = set(rename(other, way))
        masks.add(sum(1 << k for k, atom in enumerate(cluster) if atom in shared))
    return masks - {0}


def least_sizes(*some: Cluster) -> list[int]:
    """The sizes that the classes need at least: objects are numbered from 0."""
    return [
        max((index + 1 for c in some for home, index in objects_of(c) if home == own), default=1)
        for own in (0, 1)
    ]


@pytest.mark.slow
@thorough
@given(
    clusters(most_atoms=4), clusters(most_atoms=4), st.tuples(st.integers(0, 3), st.integers(0, 3))
)
def test_overlaps_by_brute_force(cluster: Cluster, other: Cluster, extra: tuple[int, int]) -> None:
    least = least_sizes(cluster, other)
    sizes = [min(size + more, 5) for size, more in zip(least, extra, strict=True)]
    assert overlaps(cluster, other, sizes) == brute_overlaps(cluster, other, sizes)


@pytest.mark.slow
@thorough
@given(clusters(most_atoms=4), clusters(most_atoms=4))
def test_overlaps_stay_the_same_once_there_is_room(cluster: Cluster, other: Cluster) -> None:
    assert overlaps(cluster, other, [6, 6]) == overlaps(cluster, other, [10**9, 10**9])


@pytest.mark.parametrize(
    ("people", "wanted"),
    [
        # In a domain of two a copy of {r(1,2), r(2,1)} is the cluster itself.
        (2, {0b11}),
        # With a third object it may also lie elsewhere, but then it shares no atom.
        (3, {0b11}),
    ],
)
def test_overlaps_of_a_pair(people: int, wanted: set[int]) -> None:
    pair = tuple(complete(2))
    assert overlaps(pair, pair, [people]) == wanted


def test_small_domains_force_overlaps() -> None:
    """Two paths in a domain of three must meet: one of three objects lies in the middle."""
    path = ((3, ((0, 0), (0, 1))), (3, ((0, 1), (0, 2))))
    single = ((1, ((0, 0),)),)
    everybody = tuple((1, (obj,)) for obj in row(0, 3))
    assert overlaps(path, path, [3]) == {0b01, 0b10, 0b11}
    assert overlaps(everybody, everybody, [3]) == {0b111}
    assert overlaps(everybody, everybody, [4]) == {0b011, 0b101, 0b110, 0b111}
    assert overlaps(everybody, single, [3]) == {0b001, 0b010, 0b100}


# --- twins


@pytest.mark.slow
@thorough
@given(clusters(most_atoms=6))
def test_twins_may_be_swapped(cluster: Cluster) -> None:
    mine = objects_of(cluster)

    def swappable(one: Obj, other: Obj) -> bool:
        swap = {obj: obj for obj in mine} | {one: other, other: one}
        return one[0] == other[0] and rename(cluster, swap) == cluster

    group_of = {obj: k for k, group in enumerate(twin_groups(cluster)) for obj in group}
    for one, other in combinations(mine, 2):
        together = one in group_of and group_of[one] == group_of.get(other)
        assert together == swappable(one, other)


@pytest.mark.parametrize(
    ("atoms", "wanted"),
    [
        (stars(1, 4), [tuple((0, 100 + k) for k in range(4))]),
        (complete(4), [tuple(row(0, 4))]),
        ([(3, ((0, 0), (0, 1)))], []),
        ([(1, ((0, 0),)), (1, ((1, 0),))], []),
        ([(1, ((0, 0),)), (1, ((0, 1),)), (2, ((0, 2),)), (2, ((0, 3),))], 2),
    ],
)
def test_twin_groups(atoms: list[Atom], wanted: list[tuple[Obj, ...]] | int) -> None:
    groups = twin_groups(tuple(sorted(atoms)))
    assert (len(groups) if isinstance(wanted, int) else groups) == wanted
