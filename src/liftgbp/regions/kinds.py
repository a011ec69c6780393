"""The kinds of atoms in clusters: what clusters must have in common before they are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from liftgbp.signature import Cluster, canonise


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
        """A few clusters, among them all that have every kind of atom of this one."""
        numbers = self._numbers(cluster)
        if len(numbers) < len(kinds(cluster)):
            return []
        return self._with[min(numbers, key=self._frequency)]

    def inside(self, cluster: Cluster) -> list[int]:
        """A few clusters, among them all that have no kind of atom which this one has not."""
        numbers = self._numbers(cluster)
        return sorted(place for kind in numbers for place in self._rarest[kind])

    def _numbers(self, cluster: Cluster) -> list[int]:
        """The kinds of a cluster by number, as far as a filed cluster has them."""
        return [self._number[kind] for kind in kinds(cluster) if kind in self._number]

    def _frequency(self, kind: int) -> tuple[int, int]:
        return len(self._with[kind]), kind
