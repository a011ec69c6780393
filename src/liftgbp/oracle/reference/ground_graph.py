"""Ground region graphs: which sets of atoms are regions, their covers, counts and supports."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from liftgbp.oracle.reference.log_tables import (
    MAX_ENTRIES,
    axes_outside,
    expand,
    read_only,
    table_shape,
)
from liftgbp.oracle.reference.plain_grounding import GroundAtom, GroundFactor, GroundModel
from liftgbp.support.arrays import Bools, Floats
from liftgbp.support.errors import CapacityError, ContradictionError, InputError, InternalError

Region: TypeAlias = frozenset[GroundAtom]
Edge: TypeAlias = tuple[Region, Region]

MAX_REGIONS = 2**16
MAX_CLUSTERS = 2**10
"""The most clusters of a family of all clusters: all pairs of them are intersected."""


@dataclass(frozen=True, eq=False, slots=True)
class GroundRegionGraph:
    """The regions of a ground model, larger ones first, with everything that message passing reads.

    Tables have one axis per atom, in the order of `sorted(region)`. `below` gives the regions that
    are reached through edges, the region itself included. `held` gives the factors of a region and
    `theta` their sum; `alive` marks the states that the hard formulas allow.
    """

    ground: GroundModel
    parents: Mapping[Region, tuple[Region, ...]]
    below: Mapping[Region, frozenset[Region]]
    counting: Mapping[Region, int]
    held: Mapping[Region, tuple[GroundFactor, ...]]
    theta: Mapping[Region, Floats]
    alive: Mapping[Region, Bools]

    def __post_init__(self) -> None:
        _check_counted_once(self)

    @property
    def regions(self) -> tuple[Region, ...]:
        """All regions, larger ones first."""
        return tuple(self.parents)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All (parent, child) pairs."""
        return tuple((parent, child) for child in self.parents for parent in self.parents[child])


def ground_regions(ground: GroundModel, regions: str = "intersections") -> GroundRegionGraph:
    """Build the ground region graph of a family.

    `regions` is one of `intersections`, `subsets`, `bethe`, `objects:k` with a number k (or one per
    sort, as in `objects:person=3,movie=2`) and `clusters:s` with a number s.
    """
    if regions == "bethe":
        return _bethe(ground)
    scopes = [frozenset(factor.scope) for factor in ground.factors]
    family = _family(ground, regions, scopes)
    members_above = _strict_supersets(family)
    parents = {region: tuple(_minimal(members_above[region])) for region in family}
    held = {region: _factors_inside(region, ground.factors) for region in family}
    return _assemble(ground, parents, held)


def _family(ground: GroundModel, regions: str, scopes: list[Region]) -> list[Region]:
    if regions == "subsets":
        return _ordered(_all_subsets(_maximal(scopes)))
    if regions == "intersections":
        return _ordered(_intersection_closure(_maximal(scopes)))
    name, _, text = regions.partition(":")
    numbers = _numbers(text)
    if name == "objects" and numbers:
        choices = _atoms_over_choices(ground, scopes, numbers)
        return _ordered(_intersection_closure(_maximal([*scopes, *choices])))
    if name == "clusters" and text.isdecimal() and int(text) > 0:
        return _ordered(_intersection_closure(_maximal([*scopes, *_clusters(scopes, int(text))])))
    raise InputError(
        f"unknown regions {regions!r}; choose intersections, subsets, bethe, objects:k or "
        "clusters:s"
    )


def _numbers(text: str) -> dict[str, int]:
    """One number under the empty name, or numbers by sort; empty if the text is neither."""
    if text.isdecimal() and int(text) > 0:
        return {"": int(text)}
    parts = [part.split("=") for part in text.split(",")]
    if any(len(part) != 2 or not part[1].isdecimal() for part in parts):
        return {}
    return {sort: int(number) for sort, number in parts}


# --- sets of atoms


def _ordered(family: Iterable[Region]) -> list[Region]:
    return sorted(family, key=lambda region: (-len(region), sorted(region)))


def _strict_supersets(family: Iterable[Region]) -> dict[Region, set[Region]]:
    holders: dict[GroundAtom, set[Region]] = defaultdict(set)
    members = set(family)
    for region in members:
        for atom in region:
            holders[atom].add(region)
    return {
        region: set.intersection(*(holders[atom] for atom in region)) - {region}
        for region in members
    }


def _maximal(family: Iterable[Region]) -> list[Region]:
    return _ordered(region for region, above in _strict_supersets(family).items() if not above)


def _minimal(family: set[Region]) -> list[Region]:
    return _ordered(region for region in family if not any(other < region for other in family))


def _all_subsets(outer: list[Region]) -> set[Region]:
    _check_region_count(max((2 ** len(region) for region in outer), default=0))
    subsets: set[Region] = set()
    for region in outer:
        for size in range(1, len(region) + 1):
            subsets.update(map(frozenset, itertools.combinations(region, size)))
        _check_region_count(len(subsets))
    return subsets


def _intersection_closure(outer: list[Region]) -> set[Region]:
    # Every member is an intersection of outer regions, so new members need to meet only those.
    closure, fresh = set(outer), set(outer)
    while fresh:
        fresh = {region & other for region in fresh for other in outer} - closure - {frozenset()}
        closure |= fresh
        _check_region_count(len(closure))
    return closure


def _check_region_count(count: int) -> None:
    if count > MAX_REGIONS:
        raise CapacityError(f"the ground graph has {count} or more regions, above {MAX_REGIONS}")


def _clusters(scopes: list[Region], size: int) -> list[Region]:
    """All sets of `size` atoms of scopes, or the set of all atoms if there are fewer."""
    atoms = sorted(frozenset().union(*scopes))
    size = min(size, len(atoms))
    count = math.comb(len(atoms), size)
    if count > MAX_CLUSTERS:
        raise CapacityError(f"there are {count} clusters of {size} atoms, above {MAX_CLUSTERS}")
    return [frozenset(some) for some in itertools.combinations(atoms, size) if some]


def _atoms_over_choices(
    ground: GroundModel, scopes: list[Region], numbers: Mapping[str, int]
) -> Iterator[Region]:
    """For each choice of objects of every sort, the atoms of scopes that speak of them only.

    A sort without a number gives as many objects as some factor speaks of.
    """
    atoms = frozenset().union(*scopes)
    sorts = {atom: ground.argument_sorts[atom.predicate] for atom in atoms}
    used = sorted({sort for atom in atoms for sort in sorts[atom]})
    choices_per_sort = []
    for sort in used:
        spoken_of = [
            {
                obj
                for atom in scope
                for obj, own in zip(atom.objects, sorts[atom], strict=True)
                if own == sort
            }
            for scope in scopes
        ]
        wanted = numbers.get("", numbers.get(sort, max(map(len, spoken_of))))
        objects = range(ground.sizes[sort])
        choices_per_sort.append(itertools.combinations(objects, min(wanted, len(objects))))
    for choice in itertools.product(*choices_per_sort):
        chosen = dict(zip(used, choice, strict=True))
        inside = frozenset(
            atom
            for atom in atoms
            if all(obj in chosen[sort] for obj, sort in zip(atom.objects, sorts[atom], strict=True))
        )
        if inside:
            yield inside


def _factors_inside(region: Region, factors: tuple[GroundFactor, ...]) -> tuple[GroundFactor, ...]:
    return tuple(factor for factor in factors if region.issuperset(factor.scope))


# --- the Bethe graph


def _bethe(ground: GroundModel) -> GroundRegionGraph:
    outer = _maximal(frozenset(factor.scope) for factor in ground.factors)
    singles_of_factors = tuple(factor for factor in ground.factors if len(factor.scope) == 1)
    held: dict[Region, list[GroundFactor]] = {region: [] for region in outer}
    for factor in ground.factors:
        if len(factor.scope) > 1:
            holders = [region for region in outer if region.issuperset(factor.scope)]
            # A factor inside several outer regions would be counted several times: it stays alone.
            holder = holders[0] if len(holders) == 1 else frozenset(factor.scope)
            held.setdefault(holder, []).append(factor)
    for region in outer:
        for atom in region:
            held.setdefault(frozenset({atom}), [])
    parents: dict[Region, tuple[Region, ...]] = {
        region: tuple(large for large in _ordered(held) if large > region)
        if len(region) == 1
        else ()
        for region in _ordered(held)
    }
    return _assemble(
        ground,
        parents,
        {
            region: (*held[region], *_factors_inside(region, singles_of_factors))
            for region in parents
        },
    )


# --- from regions and covers to the finished graph


def _assemble(
    ground: GroundModel,
    parents: Mapping[Region, tuple[Region, ...]],
    held: Mapping[Region, tuple[GroundFactor, ...]],
) -> GroundRegionGraph:
    below = _reached_regions(parents)
    theta = {region: _sum_of_tables(ground, region, held[region]) for region in parents}
    alive = _supports(parents, theta)
    return GroundRegionGraph(
        ground=ground,
        parents=MappingProxyType(dict(parents)),
        below=MappingProxyType(below),
        counting=MappingProxyType(_counting_numbers(below)),
        held=MappingProxyType(dict(held)),
        theta=MappingProxyType({region: read_only(table) for region, table in theta.items()}),
        alive=MappingProxyType({region: read_only(states) for region, states in alive.items()}),
    )


def _reached_regions(
    parents: Mapping[Region, tuple[Region, ...]],
) -> dict[Region, frozenset[Region]]:
    reached = {region: {region} for region in parents}
    # Smaller regions come last in `parents`; backwards, a child is complete before its parents.
    for child in reversed(list(parents)):
        for parent in parents[child]:
            reached[parent] |= reached[child]
    return {region: frozenset(inner) for region, inner in reached.items()}


def _counting_numbers(below: Mapping[Region, frozenset[Region]]) -> dict[Region, int]:
    counting = dict.fromkeys(below, 1)
    # Larger regions come first, so a region's number is final before it is subtracted.
    for region in below:
        for inner in below[region] - {region}:
            counting[inner] -= counting[region]
    return counting


def _check_counted_once(graph: GroundRegionGraph) -> None:
    atom_counts: dict[GroundAtom, int] = defaultdict(int)
    factor_counts: dict[tuple[GroundAtom, ...], int] = defaultdict(int)
    for region, count in graph.counting.items():
        for atom in region:
            atom_counts[atom] += count
        for factor in graph.held[region]:
            factor_counts[factor.scope] += count
    for factor in graph.ground.factors:
        if factor_counts[factor.scope] != 1 or any(atom_counts[a] != 1 for a in factor.scope):
            names = ", ".join(map(str, factor.scope))
            raise InternalError(f"the factor over {names} or one of its atoms is not counted once")


def _sum_of_tables(
    ground: GroundModel, region: Region, factors: tuple[GroundFactor, ...]
) -> Floats:
    entries = math.prod(ground.ranges[atom] for atom in region)
    if entries > MAX_ENTRIES:
        raise CapacityError(
            f"a region of {len(region)} atoms has {entries} states, above {MAX_ENTRIES}"
        )
    atoms = sorted(region)
    total = np.zeros(table_shape(atoms, ground.ranges))
    for factor in factors:
        total += expand(factor.log_table, factor.scope, atoms)
    return total


def _supports(
    parents: Mapping[Region, tuple[Region, ...]], theta: Mapping[Region, Floats]
) -> dict[Region, Bools]:
    """The largest sets of states that agree along all edges, upwards and downwards."""
    alive = {region: ~np.isneginf(table) for region, table in theta.items()}
    edges = [(parent, child) for child in parents for parent in parents[child]]
    changed = True
    while changed:
        changed = False
        for parent, child in edges:
            atoms = sorted(parent)
            upper = alive[parent] & expand(alive[child], child, atoms)
            lower = alive[child] & upper.any(axis=axes_outside(atoms, child))
            changed |= upper.sum() < alive[parent].sum() or lower.sum() < alive[child].sum()
            alive[parent], alive[child] = upper, lower
    for region, states in alive.items():
        if not states.any():
            names = ", ".join(map(str, sorted(region)))
            raise ContradictionError(f"the hard formulas leave no state for {names}")
    return alive
