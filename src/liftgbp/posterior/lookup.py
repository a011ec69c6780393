"""Joint distributions of atoms, read off the belief of a region that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.shatter.normal import NormalModel, ObjAtom
from liftgbp.lift.signature import canonise, embeddings, objects_of
from liftgbp.plan import Layout
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError


def joint_table(
    atoms: Sequence[ObjAtom],
    graph: LiftedRegionGraph,
    layout: Layout,
    beliefs: Floats,
    *,
    across_regions: bool = False,
) -> Floats:
    """The joint distribution of atoms, one axis per listed atom; repeated atoms agree surely.

    Beliefs are a batch with one row per run; so is the table. `across_regions` multiplies those of
    regions that share nothing.
    """
    inside = [atom for atom in dict.fromkeys(atoms) if belongs_to_graph(atom, graph)]
    if across_regions and not layout.message_entries:
        table = _independent_table(inside, graph, layout, beliefs)
    else:
        table = region_table(inside, graph, layout, beliefs)
    return with_others(atoms, inside, table, lambda atom: alone(atom, graph.normal))


def with_others(
    atoms: Sequence[ObjAtom],
    inside: Sequence[ObjAtom],
    tables: Floats,
    others: Callable[[ObjAtom], Floats],
) -> Floats:
    """The joint tables of a batch for all listed atoms, from those of the atoms inside.

    Atoms that are not inside are independent of everything; `others` has their distributions. An
    atom that is listed twice agrees with itself.
    """
    different = list(dict.fromkeys(atoms))
    outside = [atom for atom in different if atom not in inside]
    for atom in outside:
        tables = np.multiply.outer(tables, others(atom))
    order = [*inside, *outside]
    tables = tables.transpose([0, *(1 + order.index(atom) for atom in different)])
    return repeat_axes(tables, [different.index(atom) for atom in atoms])


def alone(atom: ObjAtom, normal: NormalModel) -> Floats:
    """The distribution of an atom that no factor is about: observed, or uniform."""
    size = normal.ranges[atom[0]]
    value = normal.observations.value(atom)
    if value is None:
        return np.full(size, 1 / size)
    return np.where(np.arange(size) == value, 1.0, 0.0)


def belongs_to_graph(atom: ObjAtom, graph: LiftedRegionGraph) -> bool:
    """Whether a region is about an atom."""
    return canonise((atom,)).cluster[0] in graph.atom_counts


def region_table(
    atoms: Sequence[ObjAtom],
    graph: LiftedRegionGraph,
    layout: Layout,
    beliefs: Floats,
) -> Floats:
    """The joint tables of different atoms of a graph, by the beliefs of a region that holds them.

    Beliefs are a batch with one row per run; so is the table.
    """
    if not atoms:
        return np.ones(len(beliefs))
    wanted = Counter(canonise((atom,)).cluster[0] for atom in atoms)
    # Small regions come last and are cheapest to sum.
    for number in reversed(range(len(graph.regions))):
        cluster = graph.regions[number].cluster
        if not wanted <= graph.kinds[number]:
            continue
        placed = next(embeddings(atoms, cluster), None)
        if placed is not None:
            axes = [1 + cluster.index((p, tuple(placed[o] for o in args))) for p, args in atoms]
            belief = layout.full_table(number, beliefs, missing=0.0)
            others = tuple(k for k in range(1, belief.ndim) if k not in axes)
            kept = [0, *sorted(axes)]
            table: Floats = belief.sum(axis=others)
            return table.transpose([kept.index(axis) for axis in (0, *axes)])
    raise QueryError(_not_held(atoms, graph))


def _independent_table(
    atoms: Sequence[ObjAtom], graph: LiftedRegionGraph, layout: Layout, beliefs: Floats
) -> Floats:
    """The joint distribution of atoms where ground regions share nothing, so are independent."""
    apart = _by_ground_region(atoms, graph)
    whole = np.ones(len(beliefs))
    for own in apart:
        table = region_table(own, graph, layout, beliefs)
        before = (1,) * (whole.ndim - 1)
        whole = whole.reshape(*whole.shape, *(1,) * len(own))
        whole = whole * table.reshape(len(table), *before, *table.shape[1:])
    order = [atom for own in apart for atom in own]
    return whole.transpose([0, *(1 + order.index(atom) for atom in atoms)])


def _by_ground_region(atoms: Sequence[ObjAtom], graph: LiftedRegionGraph) -> list[list[ObjAtom]]:
    """Atoms by the ground region that they lie in, where each lies in one only."""
    found: list[list[ObjAtom]] = []
    for atom in atoms:
        own = next((group for group in found if _share_a_region((group[0], atom), graph)), None)
        if own is None:
            found.append([atom])
        else:
            own.append(atom)
    return found


def _share_a_region(atoms: Sequence[ObjAtom], graph: LiftedRegionGraph) -> bool:
    clusters = (region.cluster for region in graph.regions)
    return any(next(embeddings(atoms, cluster), None) is not None for cluster in clusters)


def _not_held(atoms: Sequence[ObjAtom], graph: LiftedRegionGraph) -> str:
    sorts = Counter(graph.normal.classes[cls].sort for cls, _ in objects_of(atoms))
    needed = max(sorts.values(), default=1)
    return (
        f"the regions are {graph.family}; --regions objects:{needed} would hold it, and so does "
        "infer(..., queries=[...]) with this query"
    )


def repeat_axes(table: Floats, axes: Sequence[int]) -> Floats:
    """The tables of a batch with axis `axes[k]` at place k; equal axes form a diagonal."""
    if list(axes) == list(range(table.ndim - 1)):
        return table
    shape = table.shape[1:]
    result = np.zeros((len(table), *(shape[axis] for axis in axes)))
    states = np.indices(shape)
    result[(slice(None), *(states[axis] for axis in axes))] = table
    return result


def conditional_table(joint: Floats, given: int) -> Floats:
    """Joint tables divided by the marginal of their last `given` axes; impossible ones are NaN."""
    total = joint.sum(axis=tuple(range(1, joint.ndim - given)), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = joint / total
    return result
