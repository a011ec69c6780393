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

from liftgbp.lift.signature.labelling import ColouredGraph

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
    free = [obj for obj in objects if obj not in pinned]
    if len({home for home, _ in free}) == len(free):
        # Nothing to choose, and no symmetry: at most one free object in each class.
        renaming = _numbered(free, objects, pinned)
        return Signature(rename(cluster, renaming), renaming, automorphisms=1, generators=())
    graph = _signature_graph(cluster, objects, pinned)
    renaming = _numbered(
        _in_reading_order(cluster, objects, graph.canonical_ranks()), objects, pinned
    )
    generators = graph.generators()
    return Signature(
        cluster=rename(cluster, renaming),
        renaming=renaming,
        automorphisms=graph.automorphisms(generators),
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
    return _as_object_maps(graph.generators(), objects)


def _as_object_maps(
    generators: list[list[int]], objects: tuple[Obj, ...]
) -> tuple[Mapping[Obj, Obj], ...]:
    return tuple({obj: objects[image[k]] for k, obj in enumerate(objects)} for image in generators)


def _signature_graph(
    cluster: Cluster,
    objects: tuple[Obj, ...],
    pinned: frozenset[Obj],
    marked: frozenset[Atom] = frozenset(),
) -> ColouredGraph:
    vertex = {obj: k for k, obj in enumerate(objects)}
    colours = [(0, *obj) if obj in pinned else (1, obj[0], 0) for obj in objects]
    edges: list[tuple[int, int]] = []
    for atom in cluster:
        predicate, args = atom
        kind = 3 if atom in marked else 2
        if not args:
            colours.append((kind, predicate, 0))
        for position, obj in enumerate(args):
            if position:
                edges.append((len(colours) - 1, len(colours)))
            edges.append((vertex[obj], len(colours)))
            colours.append((kind, predicate, position))
    number = {colour: k for k, colour in enumerate(sorted(set(colours)))}
    return ColouredGraph(edges, [number[colour] for colour in colours])


def _in_reading_order(
    cluster: Cluster, objects: tuple[Obj, ...], ranks: list[int]
) -> Iterable[Obj]:
    """The objects as one meets them when reading the cluster.

    Any order that depends only on canonical ranks and on the shape of the cluster is canonical.
    This one begins where chains begin and follows them, which gives r(1,2) r(2,3) r(3,4) rather
    than r(1,2) r(3,1) r(4,3).
    """
    rank = dict(zip(objects, ranks, strict=False))
    leading_to: dict[Obj, list[Obj]] = {obj: [] for obj in objects}
    for _, args in cluster:
        for obj in args[1:]:
            rank[obj] += len(ranks)
            leading_to[args[0]].append(obj)
    met: dict[Obj, None] = {}
    for _, args in sorted(cluster, key=lambda a: (-len(a[1]), a[0], [rank[o] for o in a[1]])):
        waiting = list(args)
        for obj in waiting:
            if obj not in met:
                met[obj] = None
                waiting += sorted(leading_to[obj], key=rank.__getitem__)
    return met


def _numbered(
    order: Iterable[Obj], objects: tuple[Obj, ...], pinned: frozenset[Obj]
) -> dict[Obj, Obj]:
    """The renaming that numbers free objects in this order, after the pinned of their class."""
    names = {obj: obj for obj in objects if obj in pinned}
    following: dict[int, int] = {}
    for home, index in pinned:
        following[home] = max(following.get(home, 0), index + 1)
    for obj in order:
        if obj not in names:
            home = obj[0]
            index = following.get(home, 0)
            names[obj] = (home, index)
            following[home] = index + 1
    return names
