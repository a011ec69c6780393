"""The regions inside an outer region, as bit masks over its atoms, and which cover which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from liftgbp.lift.regions.clusters import ByKind, ground_atoms
from liftgbp.lift.regions.families import Family
from liftgbp.lift.signature import Cluster, canonise, objects_of, overlaps
from liftgbp.support.errors import CapacityError

LATTICE_CAP = 2**12
"""The most regions that one outer region may hold."""


class OuterRegions:
    """The outer regions, and what a cluster may share with them."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self.clusters = clusters
        self.by_kind = ByKind(clusters)
        self._parts: dict[tuple[int, tuple[int, ...]], tuple[Cluster, frozenset[int]]] = {}

    def shareable_parts(self, cluster: Cluster) -> set[Cluster]:
        """What of each outer region may coincide with atoms of a cluster; equal parts are one.

        The rest of an outer region is left out if its objects are of classes that the cluster has
        none of: these find their places whatever the others do.
        """
        classes = {cls for cls, _ in objects_of(cluster)}
        parts: set[Cluster] = set()
        for shared in self.by_kind.shared_kinds(cluster).items():
            if shared not in self._parts:
                self._parts[shared] = self._part(*shared)
            part, classes_of_rest = self._parts[shared]
            parts.add(part if classes.isdisjoint(classes_of_rest) else self.clusters[shared[0]])
        return parts

    def _part(self, place: int, shared: tuple[int, ...]) -> tuple[Cluster, frozenset[int]]:
        """The atoms of these kinds, and the classes of the objects that occur in no such atom."""
        other = self.clusters[place]
        kinds_of_atoms = self.by_kind.kinds_of(place)
        part = tuple(a for a, kind in zip(other, kinds_of_atoms, strict=True) if kind in shared)
        rest = set(objects_of(other)) - set(objects_of(part))
        return part, frozenset(cls for cls, _ in rest)


def inner_masks(
    cluster: Cluster, outer: OuterRegions, family: Family, class_sizes: Sequence[int]
) -> set[int]:
    """The proper subsets of an outer region that are regions."""
    whole = (1 << len(cluster)) - 1
    match family.name:
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
            if family.name == "clusters" and _has_neighbours(
                cluster, outer.clusters, family, class_sizes
            ):
                return set(range(1, whole))
            shared: set[int] = set()
            for part in outer.shareable_parts(cluster):
                shared |= _overlaps(cluster, part, class_sizes)
            return closed_under_intersection(shared - {whole})


def _overlaps(cluster: Cluster, part: Cluster, class_sizes: Sequence[int]) -> set[int]:
    """The intersections of a cluster with all placements of a part of an outer region."""
    if len(part) > 1:
        return overlaps(cluster, part, class_sizes)
    # A single atom may fall on any atom of its kind. Most parts are like that.
    kind = canonise(part).cluster
    return {1 << k for k, atom in enumerate(cluster) if canonise((atom,)).cluster == kind}


def _has_neighbours(
    cluster: Cluster, outer: Sequence[Cluster], family: Family, class_sizes: Sequence[int]
) -> bool:
    """Whether a cluster of the family `clusters` shares all but any one of its atoms with another.

    It does where there is one more atom to exchange for one of its own; then all its subsets are
    intersections.
    """
    every_kind = {canonise((atom,)).cluster[0] for one in outer for atom in one}
    return len(cluster) == family.size and ground_atoms(every_kind, class_sizes) > family.size


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


# --- covers


def cover_parents(masks: Collection[int]) -> dict[int, list[int]]:
    """For each mask its smallest proper supersets among the masks.

    >>> cover_parents([0b111, 0b011, 0b001])
    {7: [], 3: [7], 1: [3]}
    """
    by_size = sorted(masks, key=int.bit_count)
    return {mask: _minimal_supersets(mask, by_size) for mask in masks}


def _minimal_supersets(mask: int, by_size: list[int]) -> list[int]:
    minimal: list[int] = []
    for other in by_size:
        larger = other & mask == mask and other != mask
        if larger and not any(found & other == found for found in minimal):
            minimal.append(other)
    return minimal
