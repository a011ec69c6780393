"""Clusters of a given number of atoms, up to renaming: counted, listed, filed by kinds of atoms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.signature import Atom, Cluster, Obj, canonise, objects_per_class

MOST_CYCLE_TYPES = 5_000
"""Up to this many cycle types, clusters are counted exactly; beyond it, a lower bound is used."""

Sizes = Mapping[int, int] | Sequence[int]
"""The number of objects of each class."""


def ground_atoms(kinds: Iterable[Atom], sizes: Sizes) -> int:
    """How many ground atoms of these kinds there are.

    >>> ground_atoms([(0, ((0, 0), (0, 1))), (0, ((0, 0), (0, 0)))], [10])
    100
    """
    return sum(
        math.prod(falling(sizes[cls], count) for cls, count in objects_per_class((kind,)).items())
        for kind in kinds
    )


# --- listing


def cluster_levels(
    kinds: Sequence[Atom], size: int, class_sizes: Sequence[int]
) -> Iterator[set[Cluster]]:
    """The canonical clusters of one atom of these kinds, of two atoms, and so on up to `size`.

    Each is an atom added to a cluster of one atom less, over objects that the cluster has or over
    fresh ones. Where there are fewer atoms, the last level is the cluster of all.

    >>> [len(level) for level in cluster_levels([(0, ((0, 0), (0, 1)))], 3, [9])]
    [1, 5, 17]
    """
    level: set[Cluster] = {()}
    for _ in range(size):
        level = {
            canonise(tuple(sorted((*cluster, atom)))).cluster
            for cluster in level
            for kind in kinds
            for atom in placements(kind, objects_per_class(cluster), class_sizes)
            if atom not in cluster
        }
        if not level:
            return
        yield level


def placements(kind: Atom, present: Mapping[int, int], sizes: Sizes) -> Iterator[Atom]:
    """An atom over objects 0, 1, ... of each class: those present, and next ones while they last.

    >>> [args for _, args in placements((0, ((0, 0), (0, 1))), {0: 1}, [9])]
    [((0, 0), (0, 1)), ((0, 1), (0, 0)), ((0, 1), (0, 2))]
    """
    predicate, args = kind
    for image in _injections(list(dict.fromkeys(args)), {}, present, sizes):
        yield predicate, tuple(image[obj] for obj in args)


def _injections(
    objects: Sequence[Obj], image: dict[Obj, Obj], present: Mapping[int, int], sizes: Sizes
) -> Iterator[dict[Obj, Obj]]:
    if not objects:
        yield image
        return
    cls = objects[0][0]
    used = set(image.values())
    last = max([present.get(cls, 0) - 1, *(index for h, index in used if h == cls)])
    for index in range(min(last + 2, sizes[cls])):
        if (cls, index) not in used:
            yield from _injections(objects[1:], {**image, objects[0]: (cls, index)}, present, sizes)


# --- counting


def count_clusters(kinds: Sequence[Atom], size: int, class_sizes: Sequence[int]) -> int:
    """How many canonical clusters of `size` atoms there are, without listing any.

    Burnside's lemma: the average, over all permutations of objects, of the number of clusters that
    a permutation leaves as they are. Where there are too many kinds of permutations, smaller
    clusters are counted, of which there are fewer or equally many.

    >>> count_clusters([(0, ((0, 0), (0, 1)))], 2, [10**9])
    5
    """
    # More objects than a cluster can have make no difference.
    reach = {
        cls: min(
            class_sizes[cls], size * max(objects_per_class((kind,)).get(cls, 0) for kind in kinds)
        )
        for cls in sorted({cls for kind in kinds for cls in objects_per_class((kind,))})
    }
    atoms = ground_atoms(kinds, reach)
    # The atoms outside a cluster are a cluster, too.
    size = min(size, max(0, atoms - size))
    if math.prod(map(_number_of_partitions, reach.values())) > MOST_CYCLE_TYPES:
        return count_clusters(kinds, size - 1, class_sizes)
    total = sum(
        _permutations_of_type(types)
        * _fixed_clusters(kinds, size, dict(zip(reach, types, strict=True)))
        for types in product(*map(_cycle_types, reach.values()))
    )
    return total // math.prod(map(math.factorial, reach.values()))


def _number_of_partitions(total: int) -> int:
    ways = [1] + [0] * total
    for part in range(1, total + 1):
        for k in range(part, total + 1):
            ways[k] += ways[k - part]
    return ways[total]


def _cycle_types(objects: int) -> list[dict[int, int]]:
    """The ways to split objects into cycles, as the number of cycles of each length."""
    return [dict(Counter(parts)) for parts in _partitions(objects, objects)]


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def _permutations_of_type(types: Iterable[Mapping[int, int]]) -> int:
    """How many permutations have these cycles, one set of cycles for each class."""
    count = 1
    for cycles in types:
        objects = sum(length * number for length, number in cycles.items())
        same = math.prod(length**k * math.factorial(k) for length, k in cycles.items())
        count *= math.factorial(objects) // same
    return count


def _fixed_clusters(
    kinds: Sequence[Atom], size: int, types: Mapping[int, Mapping[int, int]]
) -> int:
    """How many clusters of `size` atoms a permutation with these cycles leaves as they are.

    Those are unions of cycles of atoms, which a polynomial counts: the product of 1 + x^length.
    """
    ways = [1] + [0] * size
    for length, cycles in _cycles_of_atoms(kinds, size, types).items():
        ways = [
            sum(
                ways[k - length * taken] * math.comb(cycles, taken)
                for taken in range(min(cycles, k // length) + 1)
            )
            for k in range(size + 1)
        ]
    return ways[size]


def _cycles_of_atoms(
    kinds: Sequence[Atom], longest: int, types: Mapping[int, Mapping[int, int]]
) -> dict[int, int]:
    """How many cycles of each length up to the longest a permutation of objects makes of atoms."""
    cycles: dict[int, int] = {}
    for length in range(1, longest + 1):
        # What the power of a permutation leaves as it is lies in cycles whose lengths divide it.
        still = {
            cls: sum(part * number for part, number in own.items() if length % part == 0)
            for cls, own in types.items()
        }
        shorter = sum(part * number for part, number in cycles.items() if length % part == 0)
        cycles[length] = (ground_atoms(kinds, still) - shorter) // length
    return cycles


@lru_cache(maxsize=2**14)
def kinds(cluster: Cluster) -> Counter[Cluster]:
    """How many atoms of each kind a cluster has."""
    return Counter(canonise((atom,)).cluster for atom in cluster)


class ByKind:
    """Clusters filed by the kinds of their atoms.

    Where there are many classes, most clusters have no kind in common, and are never compared.
    Clusters are known by their places; lists of places are in ascending order.

    >>> likes, knows, lonely = (((k, ((0, 0),)),) for k in range(3))
    >>> filed = ByKind([likes, knows, likes + knows, lonely])
    >>> filed.shared_kinds(likes), filed.around(knows), filed.inside(likes + knows)
    ({0: (0,), 2: (0,)}, [1, 2], [0, 1, 2])
    """

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._number: dict[Cluster, int] = {}
        self._kinds_of_atoms = [
            [
                self._number.setdefault(canonise((atom,)).cluster, len(self._number))
                for atom in cluster
            ]
            for cluster in clusters
        ]
        self._with: list[list[int]] = [[] for _ in self._number]
        self._rarest: list[list[int]] = [[] for _ in self._number]
        for place, own in enumerate(self._kinds_of_atoms):
            for kind in dict.fromkeys(own):
                self._with[kind].append(place)
        for place, own in enumerate(self._kinds_of_atoms):
            self._rarest[min(own, key=self._frequency)].append(place)

    def kinds_of(self, place: int) -> Sequence[int]:
        """The kind of each atom of a filed cluster, by number."""
        return self._kinds_of_atoms[place]

    def shared_kinds(self, cluster: Cluster) -> dict[int, tuple[int, ...]]:
        """For each cluster that has kinds of atoms in common with this one, which these are."""
        shared: dict[int, tuple[int, ...]] = {}
        for kind in sorted(self._numbers(cluster)):
            for place in self._with[kind]:
                shared[place] = (*shared.get(place, ()), kind)
        return shared

    def around(self, cluster: Cluster) -> list[int]:
        """Candidates that may contain a cluster: at least all that have every kind of its atoms."""
        numbers = self._numbers(cluster)
        if len(numbers) < len(kinds(cluster)):
            return []
        return self._with[min(numbers, key=self._frequency)]

    def inside(self, cluster: Cluster) -> list[int]:
        """Candidates that may lie in a cluster: at least all that have only kinds of its atoms."""
        numbers = self._numbers(cluster)
        return sorted(place for kind in numbers for place in self._rarest[kind])

    def _numbers(self, cluster: Cluster) -> list[int]:
        """The kinds of a cluster by number, as far as a filed cluster has them."""
        return [self._number[kind] for kind in kinds(cluster) if kind in self._number]

    def _frequency(self, kind: int) -> tuple[int, int]:
        return len(self._with[kind]), kind
