"""Building the lifted region graph from a model in normal form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from liftgbp.lift.regions.clusters import ByKind, kinds
from liftgbp.lift.regions.counts import choose
from liftgbp.lift.regions.families import BETHE, FACTOR_SCOPES, Family, outer_clusters, parse_family
from liftgbp.lift.regions.lattice import OuterRegions, cover_parents, inner_masks
from liftgbp.lift.regions.lifted_graph import LiftedRegionGraph
from liftgbp.lift.regions.region_graph import Edge, HeldFactor, Member, Message, Region
from liftgbp.lift.shatter import NormalModel
from liftgbp.lift.signature import (
    Atom,
    Cluster,
    Obj,
    canonise,
    embeddings,
    objects_of,
    stabiliser,
    twin_groups,
)
from liftgbp.lift.signature.canonical import rename
from liftgbp.support.errors import wrong_type
from liftgbp.support.limits import searching

_OUTSIDE = 1 << 20
"""Added to the index of objects outside a child, to keep them apart from the child's own."""


class Coarser:
    """The region graph of the same ground model over fewer, larger classes.

    `whole` says in which of its classes each class lies. The regions inside a ground region are the
    same, whatever the classes are, so they are read here instead of being searched for again.
    """

    def __init__(self, graph: LiftedRegionGraph, whole: Mapping[int, int]) -> None:
        self._whole = whole
        self._regions = {region.cluster: region for region in graph.regions}

    def atoms(self, cluster: Cluster) -> Cluster:
        """The atoms of a cluster over the larger classes, in the same order."""
        placed: dict[Obj, Obj] = {}
        used: Counter[int] = Counter()
        for obj in objects_of(cluster):
            cls = self._whole[obj[0]]
            placed[obj] = (cls, used[cls])
            used[cls] += 1
        return tuple(_rename_atom(atom, placed) for atom in cluster)

    def inner_masks(self, cluster: Cluster) -> set[int] | None:
        """The proper subsets of a region that are regions; `None` if it is no region here."""
        atoms = self.atoms(cluster)
        signature = canonise(tuple(sorted(atoms)))
        region = self._regions.get(signature.cluster)
        if region is None:
            return None
        place = {_rename_atom(atom, signature.renaming): k for k, atom in enumerate(atoms)}
        bits = [1 << place[atom] for atom in region.cluster]
        return {sum(bits[axis] for axis in member.axes) for member in region.members}


def build_regions(
    normal: NormalModel, regions: str | Family = FACTOR_SCOPES, coarser: Coarser | None = None
) -> LiftedRegionGraph:
    """The lifted region graph of a model in normal form.

    With `regions="subsets"` this is Algorithm 1 of the paper (Apsel, Lifted Message Passing for the
    Generalized Belief Propagation): every subset of a region is a region, and a child has one atom
    less than its parents. Other families keep fewer subsets. Here, edges are named by pinned
    signatures, which is how the paper's filter of over-counted mappings comes about. A graph over
    larger classes, if there is one, saves the search for the regions inside outer ones.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.lift.shatter import shatter
    >>> model = parse("r(person, person)\\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")
    >>> graph = build_regions(shatter(model, {"person": 10}))
    >>> len(graph.regions), len(graph.edges)
    (4, 7)
    """
    family = parse_family(regions)
    if not isinstance(normal, NormalModel):
        raise wrong_type("normal", "a NormalModel (shatter makes it)", normal)
    knows_facts = normal.problem.evidence or normal.observations
    if coarser is not None or knows_facts or len(normal.parfactors) > MOST_PARFACTORS:
        return _built(normal, family, coarser)
    key = _structure(normal, family)
    # The order of a dictionary is that of insertion, so the least recently used comes first.
    known = _kept.pop(key, None)
    if known is not None and known.fits(normal):
        graph = known.resized(normal)
    else:
        graph = _built(normal, family, None)
    _kept[key] = graph
    for oldest in list(_kept)[: max(0, len(_kept) - MOST_KEPT)]:
        _kept.pop(oldest, None)
    return graph


MOST_KEPT = 32
"""How many graphs are kept. One model, asked again with other sizes or weights, needs a handful."""

MOST_PARFACTORS = 20
"""Graphs of models with more parfactors are not kept, nor those of models with evidence: they hold
the model, which may be large."""

_kept: dict[Hashable, LiftedRegionGraph] = {}


def _structure(normal: NormalModel, family: Family) -> Hashable:
    """All that a graph depends on, but for small classes."""
    return (
        family,
        normal.predicates,
        tuple((c.sort, c.constant, c.facts) for c in normal.classes),
        tuple((p.atoms, p.exchangeable) for p in normal.parfactors),
        normal.table_cap,
    )


def _built(normal: NormalModel, family: Family, coarser: Coarser | None) -> LiftedRegionGraph:
    with searching(f"building the regions ({family})", "use formulas with fewer variables"):
        return _Builder(normal, family, coarser).graph()


@dataclass(frozen=True, slots=True)
class _Inside:
    """A region inside a larger one: its canonical form and how it lies there."""

    mask: int
    cluster: Cluster
    renaming: Mapping[Obj, Obj]
    axes: tuple[int, ...]


class _Builder:
    """Collects clusters first, then names the edges between them."""

    def __init__(self, normal: NormalModel, family: Family, coarser: Coarser | None) -> None:
        self._normal = normal
        self._family = family
        self._coarser = coarser
        self._outer = OuterRegions(outer_clusters(normal, family))
        scopes = [tuple(sorted(p.atoms)) for p in normal.parfactors]
        self._scope_kinds = [kinds(scope) for scope in scopes]
        self._scopes_by_kind = ByKind(scopes)
        self._holder = self._holders_of_factors() if family == BETHE else {}
        self._outermost = dict.fromkeys((*self._outer.clusters, *self._holder.values()))
        self._inside: dict[Cluster, list[_Inside]] = {}
        for cluster in self._outermost:
            self._collect(cluster)
        self._clusters = sorted(self._inside, key=lambda c: (-len(c), c))
        self._number = {cluster: k for k, cluster in enumerate(self._clusters)}
        self._messages: list[Message] = []
        self._edges: list[Edge] = []
        self._edge_by_name: dict[tuple[int, Cluster], int] = {}

    def graph(self) -> LiftedRegionGraph:
        for cluster in self._clusters:
            self._add_edges(cluster)
        return LiftedRegionGraph(
            normal=self._normal,
            family=self._family,
            regions=tuple(self._region(cluster) for cluster in self._clusters),
            messages=tuple(self._messages),
            edges=tuple(self._edges),
        )

    # --- which clusters are regions

    def _collect(self, cluster: Cluster) -> None:
        masks = None if self._coarser is None else self._coarser.inner_masks(cluster)
        if masks is None:
            masks = inner_masks(cluster, self._outer, self._family, self._normal.class_sizes)
        inside = [_canonise_inside(cluster, mask) for mask in sorted(masks)]
        self._inside[cluster] = inside
        for region in inside:
            if region.cluster not in self._inside:
                self._inside[region.cluster] = [
                    _canonise_inside(region.cluster, _pull_back(part.mask, region.axes))
                    for part in inside
                    if part.mask != region.mask and part.mask & region.mask == part.mask
                ]

    def _holders_of_factors(self) -> dict[int, Cluster]:
        """For belief propagation, the one region that holds each factor of two atoms or more.

        A factor inside exactly one outer region is merged into it. One that lies in several is a
        region of its own: the outer regions have only single atoms in common.
        """
        holders: dict[int, Cluster] = {}
        sizes = self._normal.class_sizes
        for number, parfactor in enumerate(self._normal.parfactors):
            if len(parfactor.atoms) == 1:
                continue
            scope = canonise(tuple(sorted(parfactor.atoms)))
            scopes = choose(objects_of(scope.cluster), (), scope.automorphisms).at(sizes)
            twins = twin_groups(scope.cluster)
            around = self._outer.by_kind.around(scope.cluster)
            pairs = {
                outer: len(
                    {rename(scope.cluster, e) for e in embeddings(scope.cluster, outer, twins)}
                )
                * choose(objects_of(outer), (), canonise(outer).automorphisms).at(sizes)
                for outer in map(self._outer.clusters.__getitem__, around)
            }
            alone = sum(pairs.values()) == scopes
            holders[number] = (
                next(o for o, count in pairs.items() if count) if alone else scope.cluster
            )
        return holders

    # --- edges

    def _add_edges(self, cluster: Cluster) -> None:
        whole = (1 << len(cluster)) - 1
        parents = cover_parents([whole, *(region.mask for region in self._inside[cluster])])
        for region in self._inside[cluster]:
            if parents[region.mask] == [whole]:
                self._add_orbit(cluster, region)

    def _add_orbit(self, parent: Cluster, region: _Inside) -> None:
        """The edges that carry one message: images of one edge under the child's automorphisms."""
        child = self._number[region.cluster]
        aligned = _align(parent, region.renaming)
        if (child, canonise(aligned, _pins(region.cluster)).cluster) in self._edge_by_name:
            return
        self._messages.append(
            Message(self._number[parent], child, region.axes, _shared_symmetries(parent, region))
        )
        identity = {obj: obj for obj in objects_of(region.cluster)}
        waiting = [identity]
        while waiting:
            symmetry = waiting.pop()
            if self._add_edge(parent, region.cluster, _align(aligned, symmetry), symmetry):
                waiting += [
                    {obj: generator[image] for obj, image in symmetry.items()}
                    for generator in canonise(region.cluster).generators
                ]

    def _add_edge(
        self, parent: Cluster, child: Cluster, aligned: Cluster, symmetry: Mapping[Obj, Obj]
    ) -> bool:
        signature = canonise(aligned, _pins(child))
        name = self._number[child], signature.cluster
        if name in self._edge_by_name:
            return False
        self._edge_by_name[name] = len(self._edges)
        self._edges.append(
            Edge(
                child=self._number[child],
                parent=self._number[parent],
                message=len(self._messages) - 1,
                axes=_atom_permutation(child, symmetry),
                count=choose(
                    objects_of(signature.cluster), objects_of(child), signature.automorphisms
                ),
            )
        )
        return True

    # --- regions

    def _region(self, cluster: Cluster) -> Region:
        signature = canonise(cluster)
        return Region(
            cluster=cluster,
            count=choose(objects_of(cluster), (), signature.automorphisms),
            outer=cluster in self._outermost,
            symmetries=tuple(_atom_permutation(cluster, g) for g in signature.generators),
            members=self._members(cluster),
            held=self._held(cluster),
        )

    def _members(self, cluster: Cluster) -> tuple[Member, ...]:
        inside = self._inside[cluster]
        whole = (1 << len(cluster)) - 1
        parents = cover_parents([whole, *(region.mask for region in inside)])
        return tuple(
            Member(
                region=self._number[region.cluster],
                axes=region.axes,
                local_parents=dict(
                    Counter(self._edge_name(cluster, mask, region) for mask in parents[region.mask])
                ),
            )
            for region in inside
        )

    def _edge_name(self, cluster: Cluster, parent: int, region: _Inside) -> int:
        aligned = _align(_atoms_of(cluster, parent), region.renaming)
        name = canonise(aligned, _pins(region.cluster)).cluster
        return self._edge_by_name[self._number[region.cluster], name]

    def _held(self, cluster: Cluster) -> tuple[HeldFactor, ...]:
        position = {atom: k for k, atom in enumerate(cluster)}
        own = kinds(cluster)
        parfactors = self._normal.parfactors
        candidates = ((k, parfactors[k]) for k in self._scopes_by_kind.inside(cluster))
        return tuple(
            HeldFactor(number, tuple(position[_rename_atom(a, placed)] for a in parfactor.atoms))
            for number, parfactor in candidates
            if self._holder.get(number, cluster) == cluster and self._scope_kinds[number] <= own
            for placed in embeddings(parfactor.atoms, cluster, parfactor.exchangeable)
        )


def _atoms_of(cluster: Cluster, mask: int) -> Cluster:
    return tuple(atom for k, atom in enumerate(cluster) if mask >> k & 1)


def _canonise_inside(cluster: Cluster, mask: int) -> _Inside:
    signature = canonise(_atoms_of(cluster, mask))
    axis = {
        _rename_atom(atom, signature.renaming): k for k, atom in enumerate(cluster) if mask >> k & 1
    }
    return _Inside(
        mask=mask,
        cluster=signature.cluster,
        renaming=signature.renaming,
        axes=tuple(axis[atom] for atom in signature.cluster),
    )


def _atom_permutation(cluster: Cluster, symmetry: Mapping[Obj, Obj]) -> tuple[int, ...]:
    return tuple(cluster.index(_rename_atom(atom, symmetry)) for atom in cluster)


def _shared_symmetries(parent: Cluster, region: _Inside) -> tuple[tuple[int, ...], ...]:
    """The symmetries of the parent that keep a region inside, as permutations of its atoms."""
    place = {axis: k for k, axis in enumerate(region.axes)}
    found = set()
    for symmetry in stabiliser(parent, _atoms_of(parent, region.mask)):
        moved = _atom_permutation(parent, symmetry)
        found.add(tuple(place[moved[axis]] for axis in region.axes))
    return tuple(sorted(found - {tuple(range(len(place)))}))


def _pull_back(mask: int, axes: Sequence[int]) -> int:
    """A mask over the larger region, written over the atoms of a region inside."""
    return sum(1 << k for k, axis in enumerate(axes) if mask >> axis & 1)


def _rename_atom(atom: Atom, renaming: Mapping[Obj, Obj]) -> Atom:
    return atom[0], tuple(renaming[obj] for obj in atom[1])


def _align(parent: Cluster, renaming: Mapping[Obj, Obj]) -> Cluster:
    """The parent with the child's objects renamed and all others moved out of their way."""
    moved = {obj: (obj[0], obj[1] % _OUTSIDE + _OUTSIDE) for obj in objects_of(parent)}
    return rename(parent, {**moved, **renaming})


def _pins(child: Cluster) -> frozenset[Obj]:
    return frozenset(objects_of(child))
