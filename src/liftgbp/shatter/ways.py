"""What a rule becomes where its variables coincide in one way, for classes of any sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from liftgbp.arrays import Floats, Integers, in_units
from liftgbp.shatter.assignments import Size, falling
from liftgbp.shatter.normal import NormalParfactor, Obj, ObjAtom


@dataclass(frozen=True, eq=False, slots=True)
class Way:
    """A parfactor but for how often each of its factors occurs, which depends on class sizes.

    `gone` and `present` count the objects of each class that left the scope and those in it;
    `substitution` says what the variables of the rule stand for.
    `swaps` is how often each factor occurs however large the classes are; a `sized` table depends
    on the sizes of domains.
    """

    atoms: tuple[ObjAtom, ...]
    table: Floats
    groups: tuple[tuple[Obj, ...], ...]
    rule: int
    sized: bool
    swaps: int
    gone: Counter[int]
    present: Counter[int]
    substitution: Mapping[str, Obj] = field(default_factory=dict)

    @property
    def scope(self) -> object:
        """What is equal for ways that add up to one parfactor."""
        return self.rule, self.atoms, self.groups

    def parfactor(self, sizes: Sequence[int]) -> NormalParfactor:
        """The parfactor over classes of these sizes: variables that left the scope are free."""
        copies = self.copies(sizes)
        elastic = self.sized or bool(self.gone)
        if not self.atoms:
            return NormalParfactor(self.atoms, self.table, self.groups, self.rule, elastic, copies)
        table = self.table if copies == 1 else self.table * float(copies)
        return NormalParfactor(self.atoms, table, self.groups, self.rule, elastic)

    def copies(self, sizes: Sequence[Size]) -> Size:
        """How often each factor occurs; arrays are many sizes of each class at once."""
        copies: Any = self.swaps
        for cls, count in self.gone.items():
            copies = copies * falling(sizes[cls] - self.present[cls], count)
        return cast(Size, copies)


class ManySizes:
    """The tables of parfactors, and their constant, over many sizes of the same classes."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self._constant: list[Way] = []
        scopes: dict[object, list[Way]] = {}
        for way in ways:
            if way.atoms:
                scopes.setdefault(way.scope, []).append(way)
            else:
                self._constant.append(way)
        self._scopes = list(scopes.values())

    def tables(self, sizes: Sequence[Integers]) -> list[Floats]:
        """The log tables of each parfactor, stacked: one for each entry of the sizes of a class."""
        number = len(sizes[0])
        found: list[Floats] = []
        for ways in self._scopes:
            shape = number, *(1,) * ways[0].table.ndim
            added = (
                way.table * np.broadcast_to(way.copies(sizes), number).astype(float).reshape(shape)
                for way in ways
            )
            found.append(sum(added, next(added)))
        return found

    def constants(self, sizes: Sequence[Integers]) -> list[int]:
        """What factors without atoms add to log Z, in the smallest doubles (see `arrays.UNITS`)."""
        total = np.zeros(len(sizes[0]), dtype=object)
        for way in self._constant:
            total = total + way.copies(sizes) * in_units(float(way.table))
        return list(map(int, total))
