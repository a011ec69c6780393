"""Normal forms whose classes are split: by a property that objects have or lack, or into blocks.

The cells of a class may differ in what is known about their objects, which a sum over counts makes
evidence. Cells about whose objects the same is known are blocks: their objects differ only in how
they turn out to behave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from typing import TypeAlias

from liftgbp.lift.shatter.normal import (
    NormalModel,
    Obj,
    ObjAtom,
    ObjectClass,
    Observations,
    pattern_of,
)
from liftgbp.lift.shatter.shattering import Shattering
from liftgbp.lift.shatter.ways import ManySizes, Uncounted, sliced, soft_way
from liftgbp.model.ast import Predicate, applied

Cell: TypeAlias = tuple[int, int]
"""A part of a class: (class before splitting, number of the part)."""

Values: TypeAlias = tuple[tuple[int, int], ...]
"""The values of atoms about one object, by the number of their predicate: those that all objects
of a cell have. Of a predicate with several arguments, it is the atom on the diagonal, r(x,x)."""


@dataclass(frozen=True, slots=True)
class Split:
    """A class that is split into cells, each with what is known about its objects."""

    cls: int
    size: int
    cells: tuple[Values, ...]

    @property
    def groups(self) -> list[list[int]]:
        """The cells about which the same is known, by number."""
        found: dict[Values, list[int]] = {}
        for number, values in enumerate(self.cells):
            found.setdefault(values, []).append(number)
        return list(found.values())


@dataclass(frozen=True)
class SplitNormal:
    """A normal form over split classes, and the class that each non-empty cell became."""

    normal: NormalModel
    class_of: dict[Cell, int]


def splits_by_value(shattering: Shattering, predicates: Sequence[str]) -> tuple[Split, ...]:
    """The classes that atoms about one object split, where these are not observed."""
    names = list(shattering.model.predicates)
    numbers = [names.index(name) for name in predicates]
    declared = list(shattering.model.predicates.values())

    def cells(cls: int, own: ObjectClass) -> tuple[Values, ...]:
        unobserved = [
            p
            for p in numbers
            if set(declared[p].sorts) == {own.sort}
            and shattering.observations.value((p, ((cls, 0),) * len(declared[p].sorts))) is None
        ]
        # Of a Boolean predicate, those that have it come first.
        ranges = [range(len(declared[p].values)) for p in unobserved]
        values = product(*([1, 0] if len(own) == 2 else own for own in ranges))
        return tuple(tuple(zip(unobserved, own_values, strict=True)) for own_values in values)

    found = [Split(k, own.size, cells(k, own)) for k, own in enumerate(shattering.classes)]
    return tuple(split for split in found if len(split.cells) > 1)


def value_text(predicate: Predicate, obj: str, value: int) -> str:
    """The value of the atom about one object, in words.

    >>> value_text(Predicate("likes", ("person", "person")), "x", 0)
    '!likes(x,x)'
    """
    return predicate.literal(applied(predicate.name, [obj] * len(predicate.sorts)), value)


class SplitShattering:
    """A shattering whose classes are split into cells of any sizes."""

    def __init__(self, shattering: Shattering, splits: Sequence[Split]) -> None:
        self.shattering = shattering
        self.splits = tuple(splits)
        self._alike: dict[tuple[int, ...], AlikeCounts] = {}

    @cached_property
    def base(self) -> NormalModel:
        """The normal form without splitting."""
        return self.shattering.normal()

    def at(self, counts: Sequence[int]) -> SplitNormal:
        """The normal form with these numbers of objects in the cells of all splits, one by one."""
        return self.alike(counts).at(counts)

    def alike(self, counts: Sequence[int]) -> AlikeCounts:
        """The counts that are like these: cells that are small have the same sizes."""
        enough = self.shattering.enough
        key = tuple([min(count, enough) for count in counts])
        found = self._alike.get(key)
        if found is None:
            found = self._alike[key] = AlikeCounts(self.shattering, self.splits, counts)
        return found


class AlikeCounts:
    """Counts whose normal forms differ in nothing but the sizes of classes, and tables with them.

    `counts` are some of them.
    """

    def __init__(
        self, shattering: Shattering, splits: Sequence[Split], counts: Sequence[int]
    ) -> None:
        self._shattering = shattering
        self._splits = {split.cls: split for split in splits}
        self._cells: dict[int, list[Cell]] = {}
        self._classes: list[ObjectClass] = []
        self._places: list[int | None] = []
        self.class_of: dict[Cell, int] = {}
        self._values: dict[ObjAtom, int] = {}
        place = 0
        for cls, own in enumerate(shattering.classes):
            split = self._splits.get(cls)
            if split is None:
                self._cells[cls] = [(cls, 0)]
                self._add(own, (cls, 0), own.size, None, (), None)
                continue
            sizes = counts[place : place + len(split.cells)]
            self._cells[cls] = [(cls, k) for k, size in enumerate(sizes) if size]
            blocks = {k: group.index(k) for group in split.groups if len(group) > 1 for k in group}
            for cell in self._cells[cls]:
                k = cell[1]
                self._add(own, cell, sizes[k], place + k, split.cells[k], blocks.get(k))
            place += len(split.cells)

    def at(self, counts: Sequence[int]) -> SplitNormal:
        """The normal form at some of these counts."""
        pairs = zip(self._classes, self.class_sizes(counts), strict=True)
        classes = tuple(replace(own, size=size) for own, size in pairs)
        # Counts do not say which objects are where, so there is no class index.
        normal = self._shattering.over(classes, {}, self._observations, self._soft)
        return SplitNormal(normal, self.class_of)

    def class_sizes(self, counts: Sequence[int]) -> tuple[int, ...]:
        """The sizes of all classes at some of these counts."""
        pairs = zip(self._classes, self._places, strict=True)
        return tuple([own.size if place is None else counts[place] for own, place in pairs])

    @cached_property
    def factors(self) -> ManySizes:
        """The tables of factors over any sizes."""
        ways = self._shattering.ways(tuple(self._classes), self._observations)
        return ManySizes(chain(ways, self._soft))

    def _add(
        self,
        own: ObjectClass,
        cell: Cell,
        size: int,
        place: int | None,
        values: Values,
        block: int | None,
    ) -> None:
        number = self.class_of[cell] = len(self._classes)
        predicates = list(self._shattering.model.predicates.values())
        words = [value_text(predicates[p], "{}", value) for p, value in values]
        if block is not None:
            words.append(f"{{}} in block {block + 1}")
        self._classes.append(ObjectClass(own.sort, size, own.constant, (*own.facts, *words)))
        self._places.append(place)
        self._values |= {
            (p, ((number, 0),) * len(predicates[p].sorts)): value for p, value in values
        }

    @cached_property
    def _observations(self) -> Observations:
        base = self._shattering.observations
        for pattern, value in base.values.items():
            self._values |= dict.fromkeys(self._spread(pattern), value)
        counts = Counter(base.counts)
        for split in self._splits.values():
            counts.update({p: split.size for p, _ in split.cells[0]})
        return Observations(self._values, base.closed, counts)

    def _spread(self, pattern: ObjAtom) -> Iterator[ObjAtom]:
        """The patterns over parts of classes that make up a pattern over whole classes."""
        predicate, args = pattern
        objects = list(dict.fromkeys(args))
        for choice in product(*(self._cells[cls] for cls, _ in objects)):
            used: Counter[int] = Counter()
            placed: dict[Obj, Obj] = {}
            for obj, cell in zip(objects, choice, strict=True):
                cls = self.class_of[cell]
                placed[obj] = (cls, used[cls])
                used[cls] += 1
            if all(self._classes[cls].size >= count for cls, count in used.items()):
                yield pattern_of((predicate, tuple(placed[obj] for obj in args)))

    @cached_property
    def _soft(self) -> tuple[Uncounted, ...]:
        return tuple(self._spread_soft())

    def _spread_soft(self) -> Iterator[Uncounted]:
        whole_sizes = [own.size for own in self._shattering.classes]
        for whole in self._shattering.soft:
            if not whole.atoms:
                copies = whole.parfactor(whole_sizes).copies
                yield replace(whole, swaps=copies, gone=Counter())
                continue
            for pattern in dict.fromkeys(self._spread(whole.atoms[0])):
                yield soft_way(pattern, *sliced((pattern,), whole.table, self._observations))
