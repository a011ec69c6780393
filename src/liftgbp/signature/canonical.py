"""Canonical forms of clusters by canonical labelling of their signature graphs.

The signature graph of a cluster has one vertex per object, coloured by its class (a pinned object
has a colour of its own), and one vertex per argument position of each atom, coloured by predicate
and position. The positions of an atom form a path, and each is joined to the object that stands
there. Isomorphisms of these graphs are renamings of objects inside their classes, for predicates of
any arity; for unary and binary atoms this is the cluster signature graph of Apsel, Kersting and
Mladenov (AAAI 2014) written with vertex colours only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import pynauty

Obj: TypeAlias = tuple[int, int]
Atom: TypeAlias = tuple[int, tuple[Obj, ...]]
Cluster: TypeAlias = tuple[Atom, ...]
"""Different atoms in sorted order."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The canonical form of a cluster.

    `renaming` sends the objects of the cluster to those of `cluster`; `generators` generate the
    automorphisms of the *given* cluster that fix the pinned objects, as maps of its objects.
    """

    cluster: Cluster
    renaming: Mapping[Obj, Obj]
    automorphisms: int
    generators: tuple[Mapping[Obj, Obj], ...]


def objects_of(atoms: Iterable[Atom]) -> tuple[Obj, ...]:
    """The objects that occur in the atoms, sorted."""
    return tuple(sorted({obj for _, args in atoms for obj in args}))


def rename(atoms: Iterable[Atom], renaming: Mapping[Obj, Obj]) -> Cluster:
    """The atoms with their objects renamed, as a cluster."""
    return tuple(
        sorted((predicate, tuple(renaming[obj] for obj in args)) for predicate, args in atoms)
    )


@lru_cache(maxsize=2**16)
def canonise(cluster: Cluster, pinned: frozenset[Obj] = frozenset()) -> Signature:
    """The signature of a cluster under renamings that fix the pinned objects.

    Free objects are numbered inside their class after the pinned ones.

    >>> friends = (0, ((0, 7), (0, 3)))
    >>> smokes = (1, ((0, 3),))
    >>> canonise((friends, smokes)).cluster
    ((0, ((0, 0), (0, 1))), (1, ((0, 1),)))
    >>> canonise((friends, smokes), frozenset({(0, 3)})).cluster
    ((0, ((0, 4), (0, 3))), (1, ((0, 3),)))
    """
    objects = objects_of(cluster)
    graph = _signature_graph(cluster, objects, pinned)
    renaming = _canonical_names(cluster, objects, pynauty.canon_label(graph), pinned)
    generators, mantissa, exponent, orbits, _ = pynauty.autgrp(graph)
    return Signature(
        cluster=rename(cluster, renaming),
        renaming=renaming,
        # nauty rescales its floating-point group size once it is large.
        automorphisms=_count_by_stabilisers(cluster, objects, orbits, pinned)
        if exponent
        else round(mantissa),
        generators=_as_object_maps(generators, objects),
    )


@lru_cache(maxsize=2**16)
def stabiliser(cluster: Cluster, part: Cluster) -> tuple[Mapping[Obj, Obj], ...]:
    """Generators of the automorphisms of a cluster that send some of its atoms to themselves.

    >>> edge, back = (0, ((0, 0), (0, 1))), (0, ((0, 1), (0, 0)))
    >>> stabiliser((edge, back), (edge,))
    ()
    >>> stabiliser((edge, back), (edge, back))
    ({(0, 0): (0, 1), (0, 1): (0, 0)},)
    """
    objects = objects_of(cluster)
    graph = _signature_graph(cluster, objects, frozenset(), frozenset(part))
    return _as_object_maps(pynauty.autgrp(graph)[0], objects)


def _as_object_maps(
    generators: list[list[int]], objects: tuple[Obj, ...]
) -> tuple[Mapping[Obj, Obj], ...]:
    return tuple({obj: objects[image[k]] for k, obj in enumerate(objects)} for image in generators)


def _signature_graph(
    cluster: Cluster,
    objects: tuple[Obj, ...],
    pinned: frozenset[Obj],
    marked: frozenset[Atom] = frozenset(),
) -> pynauty.Graph:
    vertex = {obj: k for k, obj in enumerate(objects)}
    colours: dict[tuple[int, int, int], set[int]] = {}
    for obj, k in vertex.items():
        home, index = obj
        colours.setdefault((0, home, index) if obj in pinned else (1, home, 0), set()).add(k)
    neighbours: dict[int, list[int]] = {}
    count = len(objects)
    for atom in cluster:
        predicate, args = atom
        kind = 3 if atom in marked else 2
        if not args:
            colours.setdefault((kind, predicate, 0), set()).add(count)
            count += 1
        for position, obj in enumerate(args):
            colours.setdefault((kind, predicate, position), set()).add(count)
            neighbours[count] = [vertex[obj]] + ([count - 1] if position else [])
            count += 1
    cells = [colours[colour] for colour in sorted(colours)]
    return pynauty.Graph(count, adjacency_dict=neighbours, vertex_coloring=cells)


def _canonical_names(
    cluster: Cluster, objects: tuple[Obj, ...], order: list[int], pinned: frozenset[Obj]
) -> dict[Obj, Obj]:
    rank = {objects[k]: place for place, k in enumerate(order) if k < len(objects)}
    names = {obj: obj for obj in objects if obj in pinned}
    following: dict[int, int] = {}
    for home, index in pinned:
        following[home] = max(following.get(home, 0), index + 1)
    # Any rule that looks at canonical ranks alone is canonical. Numbers in reading order of the
    # larger atoms give r(1,2) r(2,3) r(3,4) rather than r(2,1) r(3,2) r(4,3).
    reading = sorted(cluster, key=lambda a: (len(a[1]), a[0], [rank[o] for o in a[1]]))
    for _, args in reversed(reading):
        for obj in args:
            if obj not in names:
                names[obj] = (obj[0], following.get(obj[0], 0))
                following[obj[0]] = names[obj][1] + 1
    return names


def _count_by_stabilisers(
    cluster: Cluster, objects: tuple[Obj, ...], orbits: list[int], pinned: frozenset[Obj]
) -> int:
    """The order of a large group in exact integers: orbit of one object times its stabiliser."""
    for k, obj in enumerate(objects):
        orbit = orbits[: len(objects)].count(orbits[k])
        if orbit > 1:
            return orbit * canonise(cluster, pinned | {obj}).automorphisms
    return 1
