"""Groups of permutations of axes, written out, each kept once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

from liftgbp.support.arrays import Bools, Ints

LARGEST = 720
"""The most elements of a group; larger groups are not looked for."""


class Groups:
    """All groups that have been met, by number.

    A permutation p of axes takes axis k to the place of axis p[k]; (p q)[k] = p[q[k]]. The
    elements of a group are in lexicographic order, so the identity comes first.
    """

    def __init__(self) -> None:
        self._number: dict[tuple[int, bytes], int] = {}
        self._elements: list[Ints] = []
        self._inverses: list[Ints] = []
        self._products: dict[int, Ints] = {}
        self._generators: dict[int, tuple[tuple[int, ...], ...]] = {}

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, elements: Ints) -> int:
        """The number of a group."""
        elements, key = _sorted_elements(elements)
        if key not in self._number:
            self._number[key] = len(self._elements)
            self._elements.append(elements)
            self._inverses.append(np.argsort(elements, axis=1))
        return self._number[key]

    def trivial(self, size: int) -> int:
        """The group without any symmetry."""
        return self.add(np.arange(size, dtype=np.int64)[None, :])

    def elements(self, group: int) -> Ints:
        """All permutations of a group."""
        return self._elements[group]

    def inverses(self, group: int) -> Ints:
        """The inverse of each element."""
        return self._inverses[group]

    def order(self, group: int) -> int:
        """The number of elements."""
        return len(self._elements[group])

    def products(self, group: int) -> Ints:
        """The number of the product of each two elements."""
        if group not in self._products:
            own = self._elements[group]
            number = {element: k for k, element in enumerate(map(tuple, own.tolist()))}
            table = own[:, own].reshape(-1, own.shape[1]).tolist()
            flat = [number[element] for element in map(tuple, table)]
            self._products[group] = np.array(flat, dtype=np.int64).reshape(len(own), len(own))
        return self._products[group]

    def subgroup(self, group: int, kept: Bools) -> int:
        """The smallest subgroup that holds the marked elements.

        These are a subgroup themselves, unless colliding hashes have marked too many.
        """
        if kept.all():
            return group
        elements, key = _sorted_elements(self._elements[group][kept])
        if key not in self._number:
            chosen = generators_of(elements.tolist())
            closed = _closure(chosen) if chosen else ()
            if len(closed) > len(elements):
                return self.add(np.array(sorted(closed), dtype=np.int64))
        return self.add(elements)

    def generators(self, group: int) -> tuple[tuple[int, ...], ...]:
        """A few elements that generate the group."""
        if group not in self._generators:
            self._generators[group] = generators_of(self._elements[group].tolist())
        return self._generators[group]

    def orbits(self, group: int) -> Ints:
        """For each axis the smallest axis that the group takes it to."""
        return np.asarray(self._elements[group].min(axis=0), dtype=np.int64)


def _sorted_elements(elements: Ints) -> tuple[Ints, tuple[int, bytes]]:
    """The elements of a group in lexicographic order, and a key that tells groups apart."""
    elements = elements[np.lexsort(elements.T[::-1])] if elements.shape[1] else elements[:1]
    return elements, (elements.shape[1], elements.tobytes())


def generators_of(elements: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """A few of the elements that generate all of them.

    >>> generators_of([(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
    ((0, 2, 1), (1, 0, 2))
    """
    chosen: list[tuple[int, ...]] = []
    reached = {tuple(range(len(elements[0])))}
    for element in map(tuple, elements):
        if element not in reached:
            chosen.append(element)
            reached = _closure(chosen)
    return tuple(chosen)


def _closure(generators: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
    identity = tuple(range(len(generators[0])))
    found, waiting = {identity}, [identity]
    while waiting:
        element = waiting.pop()
        for generator in generators:
            image = tuple(element[k] for k in generator)
            if image not in found:
                found.add(image)
                waiting.append(image)
    return found


def block_permutations(kinds: Sequence[int]) -> Ints | None:
    """All permutations that keep the kind of each axis; `None` where there are too many.

    >>> block_permutations([5, 5, 7]).tolist()
    [[0, 1, 2], [1, 0, 2]]
    """
    places: dict[int, list[int]] = defaultdict(list)
    for axis, kind in enumerate(kinds):
        places[kind].append(axis)
    count = 1
    for own in places.values():
        for factor in range(2, len(own) + 1):
            count *= factor
    if count > LARGEST:
        return None
    found = np.empty((count, len(kinds)), dtype=np.int64)
    choices = product(*(permutations(own) for own in places.values()))
    for number, choice in enumerate(choices):
        for own, image in zip(places.values(), choice, strict=True):
            found[number, own] = image
    return found
