"""The normal form: every variable ranges over one class, and different variables differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model
from liftgbp.support.arrays import UNITS, Floats, Ints

if TYPE_CHECKING:
    from fractions import Fraction

Obj: TypeAlias = tuple[int, int]
"""A placeholder for an object: (class, index inside the class)."""

ObjAtom: TypeAlias = tuple[int, tuple[Obj, ...]]
"""An atom over placeholders: (predicate number, objects)."""

SOFT = -1
"""The rule number of a factor that comes from uncertain evidence, not from a rule."""


@dataclass(frozen=True, slots=True)
class ObjectClass:
    """Interchangeable objects of one sort; a constant that rules mention is alone in its class.

    `facts` say what evidence knows about each of them, with `{}` for the object. `examples` are the
    numbers of some of them inside their sort.
    """

    sort: str
    size: int
    constant: str | None = None
    facts: tuple[str, ...] = ()
    examples: tuple[int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.constant or self.sort


@dataclass(frozen=True, slots=True)
class ClassIndex:
    """Which class each object of a sort belongs to: some are listed, some come in blocks.

    A block (start, stop, class) holds the objects from number start up to, not including, stop.
    """

    listed: Mapping[int, int]
    blocks: tuple[tuple[int, int, int], ...]
    others: int

    def of(self, number: int) -> int:
        """The class of an object."""
        cls = self.listed.get(number)
        if cls is not None:
            return cls
        inside = (cls for start, stop, cls in self.blocks if start <= number < stop)
        return next(inside, self.others)

    def members(self, cls: int, size: int) -> Iterator[int]:
        """The objects of a class, in a sort of this size; the first ones come without the others.

        >>> from itertools import islice
        >>> index = ClassIndex({1: 7}, ((2, 5, 8),), 9)
        >>> [list(islice(index.members(cls, 10**30), 4)) for cls in (7, 8, 9)]
        [[1], [2, 3, 4], [0, 5, 6, 7]]
        """
        ends = [0, *(end for start, stop, _ in self.blocks for end in (start, stop)), size]
        for start, stop in pairwise(sorted({min(end, size) for end in ends})):
            own = sorted(n for n in self.listed if start <= n < stop)
            for first, last in pairwise([start - 1, *own, stop]):
                if first >= start and self.listed[first] == cls:
                    yield first
                if first + 1 < last and self.of(first + 1) == cls:
                    yield from _numbers(first + 1, last)

    def of_all(self, numbers: Ints) -> Ints:
        """The classes of many objects."""
        classes = np.full(numbers.shape, self.others, dtype=np.int64)
        for start, stop, cls in self.blocks:
            classes[(numbers >= start) & (numbers < stop)] = cls
        listed = np.array(sorted(self.listed), dtype=np.int64)
        if len(listed):
            place = np.searchsorted(listed, numbers).clip(max=len(listed) - 1)
            found = listed[place] == numbers
            own = np.array([self.listed[number] for number in listed.tolist()], dtype=np.int64)
            classes[found] = own[place[found]]
        return classes


def _numbers(start: int, stop: int) -> Iterator[int]:
    """The numbers from start up to stop, which a range may not hold."""
    while start < stop:
        yield start
        start += 1


def pattern_of(atom: ObjAtom) -> ObjAtom:
    """The atom with the objects of each class numbered in the order of their appearance.

    >>> pattern_of((3, ((0, 7), (1, 4), (0, 7), (0, 2))))
    (3, ((0, 0), (1, 0), (0, 0), (0, 1)))
    """
    predicate, args = atom
    number: dict[Obj, int] = {}
    used: Counter[int] = Counter()
    for obj in args:
        if obj not in number:
            number[obj] = used[obj[0]]
            used[obj[0]] += 1
    return predicate, tuple((obj[0], number[obj]) for obj in args)


@dataclass(frozen=True)
class Observations:
    """Which atoms are observed: all ground atoms of a pattern, with one value, or none of them.

    `values` has an entry per observed pattern; other atoms of `closed` predicates are false.
    `counts` is the number of ground atoms with a known value, per predicate.
    """

    values: Mapping[ObjAtom, int] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    counts: Mapping[int, int] = field(default_factory=dict, compare=False)

    def __bool__(self) -> bool:
        return bool(self.values or self.closed)

    def value(self, atom: ObjAtom) -> int | None:
        """The observed value of an atom, by number."""
        unlisted = 0 if atom[0] in self.closed else None
        return self.values.get(pattern_of(atom), unlisted) if self.values else unlisted


@dataclass(frozen=True, slots=True)
class NormalParfactor:
    """One ground factor for every way to replace its placeholders by different objects.

    The axes of `log_table` follow `atoms`. Placeholders that share a group of `exchangeable` stand
    for a set: permuting them gives the same ground factor, which counts once. `rule` is the number
    of the rule behind it, or `SOFT` for an uncertain observation. The table of an `elastic` one
    changes with the domain sizes. A factor without atoms occurs `copies` times.
    """

    atoms: tuple[ObjAtom, ...]
    log_table: Floats
    exchangeable: tuple[tuple[Obj, ...], ...]
    rule: int
    elastic: bool = True
    copies: int = 1

    def __post_init__(self) -> None:
        self.log_table.setflags(write=False)


@dataclass(frozen=True)
class NormalModel:
    """A shattered model: the same ground model for the same sizes, in normal form.

    Other sizes change nothing but the counts if all classes have `same_from` objects or more; where
    tables change with sizes, or there is evidence, that is `None`.
    `constant_units` is what factors without atoms add to log Z, in the smallest doubles.
    """

    problem: Problem
    classes: tuple[ObjectClass, ...]
    class_index: Mapping[str, ClassIndex]
    observations: Observations
    predicates: tuple[Predicate, ...]
    parfactors: tuple[NormalParfactor, ...]
    constant_units: int
    table_cap: int
    same_from: int | None = None

    @property
    def model(self) -> Model:
        """The model that was shattered, with all objects that evidence names."""
        return self.problem.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.problem.sizes

    @property
    def log_constant(self) -> float:
        """What factors without atoms add to log Z, rounded."""
        return self.constant_units / UNITS

    @property
    def exact_constant(self) -> Fraction:
        """What factors without atoms add to log Z, exactly."""
        from fractions import Fraction  # slow to import, and only proofs need it

        return Fraction(self.constant_units, UNITS)

    @cached_property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of objects of each class."""
        return tuple(c.size for c in self.classes)

    @cached_property
    def ranges(self) -> tuple[int, ...]:
        """The number of values of each predicate's atoms."""
        return tuple(len(predicate.values) for predicate in self.predicates)

    @cached_property
    def predicate_number(self) -> dict[str, int]:
        """Predicate numbers by name."""
        return {predicate.name: k for k, predicate in enumerate(self.predicates)}

    def classes_of(self, sort: str) -> tuple[int, ...]:
        """The classes of a sort: constants that rules mention first, then all other objects."""
        return tuple(k for k, c in enumerate(self.classes) if c.sort == sort)

    def class_of_constant(self, sort: str, constant: str) -> int:
        """The class that a named object belongs to."""
        return self.class_index[sort].of(self.model.object_numbers(sort)[constant])
