"""Canonical forms and symmetries beside nauty, another program for the same questions."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterable, Mapping, Sequence

import pytest

import processes
from liftgbp.lift.signature import Atom, Cluster, Obj, canonise, objects_of
from liftgbp.lift.signature.labelling import EXACT_BELOW, ColouredGraph

ARITIES = (0, 1, 1, 2, 2, 3)
CLASSES = 2
PINNED = {"nothing pinned": 0, "up to one pinned": 1, "up to three pinned": 3}
LATER = """
import sys
{first}
import {second}
import igraph, liftgbp.lift.signature.labelling as labelling
assert igraph._igraph.GraphBase is labelling._GraphBase is igraph.GraphBase
assert igraph.split_join_distance([0, 0, 1], [0, 1, 1]) == (1, 1)
assert igraph.Graph.Famous("petersen").count_automorphisms() == 120
"""


def random_cluster(rng: random.Random, objects: int, atoms: int) -> Cluster:
    def atom() -> Atom:
        predicate = rng.randrange(len(ARITIES))
        args = [(rng.randrange(CLASSES), rng.randrange(objects)) for _ in range(ARITIES[predicate])]
        return predicate, tuple(args)

    return tuple(sorted({atom() for _ in range(rng.randint(1, atoms))}))


def random_cases(seed: int, most_pinned: int) -> list[tuple[Cluster, frozenset[Obj]]]:
    """Small clusters, many of them alike, and larger ones."""
    rng = random.Random(seed)
    pins = [(home, index) for home in range(CLASSES) for index in range(2)]
    shapes = [(2, 3)] * 150 + [(3, 3)] * 150 + [(4, 8)] * 60 + [(8, 24)] * 20
    return [
        (random_cluster(rng, *shape), frozenset(rng.sample(pins, rng.randint(0, most_pinned))))
        for shape in shapes
    ]


# --- the same graph for nauty


class Nauty:
    """A cluster as nauty sees it: a vertex per object, per atom and per argument position."""

    def __init__(self, cluster: Cluster, pinned: frozenset[Obj]) -> None:
        self.pynauty = pytest.importorskip(
            "pynauty", reason="pynauty, the oracle, is not installed (it needs a C compiler)"
        )
        self.objects = objects_of(cluster)
        colours: list[tuple[object, ...]] = [
            ("pinned", *obj) if obj in pinned else ("free", obj[0]) for obj in self.objects
        ]
        joined: dict[int, list[int]] = {}
        for predicate, args in cluster:
            whole = len(colours)
            colours.append(("atom", predicate))
            for position, obj in enumerate(args):
                joined[len(colours)] = [whole, self.objects.index(obj)]
                colours.append(("position", predicate, position))
        cells: dict[tuple[object, ...], set[int]] = {}
        for vertex, colour in enumerate(colours):
            cells.setdefault(colour, set()).add(vertex)
        order = sorted(cells, key=repr)
        self.shape = tuple((colour, len(cells[colour])) for colour in order)
        self.graph = self.pynauty.Graph(
            len(colours),
            adjacency_dict=joined,
            vertex_coloring=[cells[colour] for colour in order],
        )

    def certificate(self) -> tuple[object, ...]:
        """Equal for two clusters if and only if they are alike."""
        return self.shape, self.pynauty.certificate(self.graph)

    def orbits(self) -> set[frozenset[Obj]]:
        found: dict[int, set[Obj]] = {}
        orbits = self.pynauty.autgrp(self.graph)[3]
        for obj, orbit in zip(self.objects, orbits, strict=False):
            found.setdefault(orbit, set()).add(obj)
        return {frozenset(orbit) for orbit in found.values()}

    def automorphisms(self) -> int:
        _, mantissa, exponent, _, _ = self.pynauty.autgrp(self.graph)
        assert exponent == 0, "nauty's count is exact"
        return round(mantissa)


def orbits(generators: Iterable[Mapping[Obj, Obj]], objects: Sequence[Obj]) -> set[frozenset[Obj]]:
    orbit = {obj: {obj} for obj in objects}
    for generator in generators:
        for obj, image in generator.items():
            if orbit[obj] is not orbit[image]:
                orbit[obj] |= orbit[image]
                orbit.update(dict.fromkeys(orbit[image], orbit[obj]))
    return {frozenset(members) for members in orbit.values()}


@pytest.mark.slow
@pytest.mark.parametrize("most_pinned", PINNED.values(), ids=PINNED)
@pytest.mark.parametrize("seed", range(4))
def test_the_same_orbits_and_as_many_automorphisms(seed: int, most_pinned: int) -> None:
    for cluster, pinned in random_cases(seed, most_pinned):
        found, nauty = canonise(cluster, pinned), Nauty(cluster, pinned)
        assert orbits(found.generators, objects_of(cluster)) == nauty.orbits()
        assert found.automorphisms == nauty.automorphisms()


@pytest.mark.parametrize("most_pinned", PINNED.values(), ids=PINNED)
@pytest.mark.parametrize("seed", range(4))
def test_the_same_clusters_are_alike(seed: int, most_pinned: int) -> None:
    """Forms and certificates correspond one to one, over all pairs of a few hundred clusters."""
    form_of: dict[object, Cluster] = {}
    certificate_of: dict[Cluster, object] = {}
    for cluster, pinned in random_cases(seed, most_pinned):
        present = pinned & set(objects_of(cluster))
        # Pins that do not occur only push numbers up; nauty does not see them.
        form, certificate = canonise(cluster, present).cluster, Nauty(cluster, present)
        key = (present, certificate.certificate())
        assert form_of.setdefault(key, form) == form
        assert certificate_of.setdefault((present, form), key) == key
    assert 50 < len(form_of) < 330, "some are alike, and many are not"


# --- igraph itself


def test_groups_are_counted_exactly_whatever_igraph_computes_with() -> None:
    """The count by orbits and stabilisers, which takes over from 2**53 on, at both sides of it."""
    for count in (5, 18, 19, 30):
        graph = ColouredGraph([], [0] * count)
        generators = graph.generators()
        assert graph.automorphisms(generators) == math.factorial(count)
        assert graph._count_by_stabilisers(generators) == math.factorial(count)
    assert math.factorial(18) < EXACT_BELOW < math.factorial(19)


def test_ranks_follow_colours() -> None:
    assert ColouredGraph([(0, 1)], [2, 0, 1, 3]).canonical_ranks() == [2, 0, 1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "import igraph", "import igraph.clustering"])
def test_igraph_can_be_imported_before_and_after(first: str) -> None:
    script = LATER.format(first=first, second="liftgbp.lift.signature")
    done = processes.run([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr


def test_only_the_extension_of_igraph_is_loaded() -> None:
    """`import igraph` would import matplotlib where it is installed."""
    script = "import sys, liftgbp.lift.signature; print(*sys.modules)"
    done = processes.run([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert {"igraph", "igraph.drawing", "matplotlib"}.isdisjoint(done.stdout.split())
