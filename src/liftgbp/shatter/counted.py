"""Normal forms with a given number of objects in each class that have a property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from liftgbp.shatter.normal import (
    SOFT,
    NormalModel,
    NormalParfactor,
    Obj,
    ObjAtom,
    ObjectClass,
    Observations,
    pattern_of,
)
from liftgbp.shatter.observe import atoms_of_pattern, sliced
from liftgbp.shatter.shattering import Shattering

Cell: TypeAlias = tuple[int, int]
"""A part of a class: (class before splitting, number of the part)."""


@dataclass(frozen=True, slots=True)
class Split:
    """A class that is split by the values of Boolean predicates which are not observed there.

    `cells` has the values of these predicates (by number), for each part.
    """

    cls: int
    size: int
    cells: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class CountedNormal:
    """A normal form over split classes, and the class that each non-empty part became."""

    normal: NormalModel
    class_of: dict[Cell, int]


class CountedShattering:
    """Splits the classes of a shattering by how many objects have some unary predicates."""

    def __init__(self, shattering: Shattering, predicates: Sequence[str]) -> None:
        self._shattering = shattering
        number = {name: k for k, name in enumerate(shattering.model.predicates)}
        self.predicates = tuple(number[name] for name in predicates)
        self.splits = tuple(
            Split(cls, own.size, cells)
            for cls, own in enumerate(shattering.classes)
            if len(cells := self._cells_of(cls, own)) > 1
        )

    @cached_property
    def base(self) -> NormalModel:
        """The normal form without splitting."""
        return self._shattering.normal()

    def _cells_of(self, cls: int, own: ObjectClass) -> tuple[tuple[tuple[int, int], ...], ...]:
        declared = list(self._shattering.model.predicates.values())
        unobserved = [
            p
            for p in self.predicates
            if declared[p].sorts == (own.sort,)
            and self._shattering.observations.value((p, ((cls, 0),))) is None
        ]
        values = product(*([1, 0] for _ in unobserved))
        return tuple(tuple(zip(unobserved, own_values, strict=True)) for own_values in values)

    def at(self, counts: Sequence[int]) -> CountedNormal:
        """The normal form with these numbers of objects in the cells of all splits, one by one."""
        return _Counted(self._shattering, self.splits, counts).normal


class _Counted:
    def __init__(
        self, shattering: Shattering, splits: Sequence[Split], counts: Sequence[int]
    ) -> None:
        self._shattering = shattering
        self._splits = {split.cls: split for split in splits}
        self._cells: dict[int, list[Cell]] = {}
        self._classes: list[ObjectClass] = []
        self._class_of: dict[Cell, int] = {}
        self._values: dict[ObjAtom, int] = {}
        left = iter(counts)
        for cls, own in enumerate(shattering.classes):
            split = self._splits.get(cls)
            sizes = [own.size] if split is None else [next(left) for _ in split.cells]
            self._cells[cls] = [(cls, k) for k, size in enumerate(sizes) if size]
            for cell in self._cells[cls]:
                self._add(own, cell, sizes[cell[1]], () if split is None else split.cells[cell[1]])
        # Counts do not say which objects are where, so there is no class index.
        self.normal = CountedNormal(
            shattering.over(tuple(self._classes), {}, self._observations, self._soft()),
            self._class_of,
        )

    def _add(
        self, own: ObjectClass, cell: Cell, size: int, values: Sequence[tuple[int, int]]
    ) -> None:
        number = self._class_of[cell] = len(self._classes)
        names = list(self._shattering.model.predicates)
        words = tuple(f"{'' if value else '!'}{names[p]}({{}})" for p, value in values)
        self._classes.append(ObjectClass(own.sort, size, own.constant, (*own.facts, *words)))
        self._values |= {(p, ((number, 0),)): value for p, value in values}

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
                cls = self._class_of[cell]
                placed[obj] = (cls, used[cls])
                used[cls] += 1
            if all(self._classes[cls].size >= count for cls, count in used.items()):
                yield pattern_of((predicate, tuple(placed[obj] for obj in args)))

    def _soft(self) -> Iterator[NormalParfactor]:
        for whole in self._shattering.soft:
            if not whole.atoms:
                yield whole
                continue
            for pattern in dict.fromkeys(self._spread(whole.atoms[0])):
                atoms, left = sliced((pattern,), whole.log_table, self._observations)
                copies = 1 if atoms else atoms_of_pattern(pattern, self._classes)
                yield NormalParfactor(atoms, left, (), SOFT, copies=copies)
