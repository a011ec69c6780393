"""Region families: which clusters are outer regions, and which of their subsets are regions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from liftgbp.errors import CapacityError, InputError
from liftgbp.shatter import NormalModel
from liftgbp.signature import Atom, Cluster, Obj, canonise, embeddings, overlaps, twin_groups

FAMILIES = ("intersections", "subsets", "bethe", "objects:k")
LATTICE_CAP = 2**12
"""The most regions that one outer region may hold."""


@dataclass(frozen=True, slots=True)
class Family:
    """A choice of regions by name; `objects:k` carries its number."""

    kind: str
    objects: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.objects}" if self.kind == "objects" else self.kind


def parse_family(text: str) -> Family:
    """The family that a name stands for.

    >>> parse_family("objects:3")
    Family(kind='objects', objects=3)
    """
    kind, _, number = text.partition(":")
    if kind == "objects" and number.isdecimal() and int(number) > 0:
        return Family(kind, int(number))
    if text in FAMILIES and text != "objects:k":
        return Family(text)
    raise InputError(
        f"unknown region family {text!r}; choose among {', '.join(FAMILIES)} with a number k"
    )


# --- outer regions


def outer_clusters(normal: NormalModel, family: Family) -> list[Cluster]:
    """The maximal scopes of the factors, and what the family adds, each in canonical form."""
    scopes = {canonise(tuple(sorted(p.atoms))).cluster for p in normal.parfactors}
    if family.kind == "objects":
        scopes |= set(_all_atoms_over(normal, family.objects, scopes))
    return _maximal(scopes)


def _maximal(clusters: Iterable[Cluster]) -> list[Cluster]:
    maximal: list[Cluster] = []
    for cluster in sorted(clusters, key=lambda c: (-len(c), c)):
        if not any(_lies_in(cluster, larger) for larger in maximal):
            maximal.append(cluster)
    return maximal


def _lies_in(cluster: Cluster, larger: Cluster) -> bool:
    # Counting kinds of atoms is cheap, and most pairs have none in common.
    if not kinds(cluster) <= kinds(larger):
        return False
    return next(embeddings(cluster, larger, twin_groups(cluster)), None) is not None


@lru_cache(maxsize=2**14)
def kinds(cluster: Cluster) -> Counter[Cluster]:
    """How many atoms of each kind a cluster has."""
    return Counter(canonise((atom,)).cluster for atom in cluster)


def _all_atoms_over(
    normal: NormalModel, wanted: int, scopes: Iterable[Cluster]
) -> Iterator[Cluster]:
    """For each choice of `wanted` objects of every sort, the atoms over them that factors mention.

    A choice is given by how many objects it takes from each class.
    """
    mentioned = {canonise((atom,)).cluster for scope in scopes for atom in scope}
    per_sort = [
        list(_shares(min(wanted, size), [(k, normal.class_sizes[k]) for k in normal.classes_of(s)]))
        for s, size in normal.sizes.items()
    ]
    for choice in product(*per_sort):
        objects = [(home, i) for share in choice for home, count in share for i in range(count)]
        atoms = [
            atom for atom in _atoms_over(normal, objects) if canonise((atom,)).cluster in mentioned
        ]
        if atoms:
            _check_table(normal, atoms, wanted)
            yield canonise(tuple(sorted(atoms))).cluster


def _shares(total: int, room: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The ways to take `total` objects from classes with so much room."""
    if not room:
        if total == 0:
            yield ()
        return
    (home, size), *rest = room
    for count in range(min(total, size) + 1):
        for others in _shares(total - count, rest):
            yield ((home, count), *others)


def _atoms_over(normal: NormalModel, objects: Sequence[Obj]) -> Iterator[Atom]:
    for number, predicate in enumerate(normal.predicates):
        choices = [
            [obj for obj in objects if normal.classes[obj[0]].sort == sort]
            for sort in predicate.sorts
        ]
        yield from ((number, args) for args in product(*choices))


def _check_table(normal: NormalModel, atoms: Sequence[Atom], wanted: int) -> None:
    entries = math.prod(normal.ranges[predicate] for predicate, _ in atoms)
    if entries > normal.table_cap:
        raise CapacityError(
            f"regions objects:{wanted} need a table over {len(atoms)} atoms with {entries} "
            f"entries, above the cap of {normal.table_cap}; take fewer objects or raise the cap "
            "(--table-cap)"
        )


# --- regions inside an outer region, as bit masks over its atoms


def inner_masks(
    cluster: Cluster, outer: Sequence[Cluster], family: Family, class_sizes: Sequence[int]
) -> set[int]:
    """The proper subsets of an outer region that are regions."""
    whole = (1 << len(cluster)) - 1
    match family.kind:
        case "bethe":
            return {1 << k for k in range(len(cluster))} - {whole}
        case "subsets":
            if whole > LATTICE_CAP:
                raise CapacityError(
                    f"an outer region of {len(cluster)} atoms has {whole} subsets, above the cap "
                    f"of {LATTICE_CAP}; use regions='intersections'"
                )
            return set(range(1, whole))
        case _:
            shared: set[int] = set()
            for other in outer:
                if kinds(cluster) & kinds(other):
                    shared |= overlaps(cluster, other, class_sizes)
            return closed_under_intersection(shared - {whole})


def closed_under_intersection(masks: Iterable[int]) -> set[int]:
    """The masks and all their non-empty intersections.

    >>> sorted(closed_under_intersection({0b011, 0b110}))
    [2, 3, 6]
    """
    closed: set[int] = set()
    for mask in masks:
        closed |= {mask & other for other in closed} | {mask}
        if len(closed) > LATTICE_CAP:
            raise CapacityError(
                f"one outer region has more than {LATTICE_CAP} different intersections with "
                "others; use regions='bethe' or formulas with fewer atoms"
            )
    return closed - {0}
