"""The numbers of kinds while regions are being told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from liftgbp.arrays import Bools, Hashes, Ints, group_rows


class Kinds:
    """For each kind how many regions it has, and the hash of what is known about each of them.

    Where a kind falls into parts, one of them keeps the number: the regions that were not looked
    at, for their hash is known; or else the largest part, so that few regions change.
    """

    def __init__(self, label: Ints) -> None:
        self.label = label
        self.number = 1 + int(label.max(initial=-1))
        # There are never more kinds than regions, since each number belongs to some region.
        self._count = np.bincount(label, minlength=len(label))
        self._hash = np.zeros(len(label), dtype=np.uint64)

    def alone(self, regions: Ints) -> Bools:
        """Which of these regions are the only ones of their kinds."""
        return np.asarray(self._count[self.label[regions]] == 1)

    def split(self, regions: Ints, hashes: Hashes) -> Bools:
        """Number the parts of the kinds of these regions; tells which have got another number."""
        label = self.label[regions]
        first, part = group_rows([label, hashes])
        size = np.bincount(part, minlength=len(first))
        old, value = label[first], hashes[first]
        np.subtract.at(self._count, old, size)
        largest = np.lexsort((-size, old))
        heads = largest[np.append(True, np.diff(old[largest]) != 0)] if len(old) else largest
        heir = np.zeros(len(first), dtype=bool)
        heir[heads] = True
        keeps = np.where(self._count[old] == 0, heir, value == self._hash[old])
        number = old.copy()
        fresh = np.flatnonzero(~keeps)
        number[fresh] = self.number + np.arange(len(fresh))
        self.number += len(fresh)
        self._hash[number] = value
        np.add.at(self._count, number, size)
        self.label[regions] = number[part]
        return np.asarray(~keeps[part])

    def split_few(self, regions: Sequence[int], hashes: Sequence[int]) -> set[int]:
        """The same without arrays; returns the regions that have got another number."""
        parts: dict[int, dict[int, list[int]]] = {}
        for region, value in zip(regions, hashes, strict=True):
            parts.setdefault(self.label.item(region), {}).setdefault(value, []).append(region)
        renumbered: set[int] = set()
        for old, own in parts.items():
            self._count[old] -= sum(map(len, own.values()))
            largest = max(own, key=lambda value: len(own[value]))
            keeper = self._hash.item(old) if self._count[old] else largest
            for value, part in own.items():
                number = old
                if value != keeper:
                    number = self.number
                    self.number += 1
                    renumbered.update(part)
                    self.label[part] = number
                self._hash[number] = value
                self._count[number] += len(part)
        return renumbered
