"""What factors about one object and about pairs add, for each value of the atoms about them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations
from typing import TypeAlias

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, NormalParfactor, Obj, ObjAtom
from liftgbp.lift.signature import objects_of
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError

Atoms: TypeAlias = tuple[ObjAtom, ...]

MOST_TABLE = 2**16
"""The most states of all atoms about one pair of objects."""


class NoCellsError(CapacityError):
    """The model is none whose pairs of objects are independent given their cells."""


def about_objects(atoms: Iterable[ObjAtom]) -> frozenset[Obj]:
    """The objects that atoms are about."""
    return frozenset(objects_of(atoms))


def placeholders(objects: Iterable[Obj]) -> dict[Obj, Obj]:
    """Placeholders for some objects: the first ones of their classes."""
    used: Counter[int] = Counter()
    order = {}
    for obj in sorted(objects):
        order[obj] = (obj[0], used[obj[0]])
        used[obj[0]] += 1
    return order


def placed(atom: ObjAtom, objects: Mapping[Obj, Obj]) -> ObjAtom:
    """The atom about other objects."""
    return atom[0], tuple(objects[obj] for obj in atom[1])


class PairTables:
    """What factors add for each value of the atoms about nothing, an object, and a pair.

    A *world* is a combination of values of the atoms about nothing. The objects of a pair are
    `(a, 0)` and `(b, 0)`, or `(a, 0)` and `(a, 1)` if both are of one class.
    """

    def __init__(self, normal: NormalModel) -> None:
        self._normal = normal
        self.sizes = normal.class_sizes
        self.classes = len(normal.classes)
        self._placements: dict[frozenset[Obj], list[tuple[Atoms, Floats]]] = {}
        for parfactor in normal.parfactors:
            for own in _placements(parfactor):
                self._placements.setdefault(about_objects(own[0]), []).append(own)
        every = chain.from_iterable(self._placements.values())
        self.atoms = {atom for atoms, _ in every for atom in atoms}
        self._atoms_about: dict[frozenset[Obj], list[ObjAtom]] = {}
        for atom in sorted(self.atoms):
            self._atoms_about.setdefault(about_objects((atom,)), []).append(atom)
        self.about_nothing = self._about(frozenset())
        self.worlds = math.prod(normal.ranges[p] for p, _ in self.about_nothing)
        self._pair: dict[tuple[int, int], Floats] = {}
        self.of_world = self._table(frozenset(), self.about_nothing).reshape(-1)

    def _about(self, objects: frozenset[Obj]) -> Atoms:
        """The atoms of factors that are about just these objects."""
        return tuple(self._atoms_about.get(objects, ()))

    def about(self, obj: Obj) -> Atoms:
        """The atoms about one object alone."""
        first = (obj[0], 0)
        return tuple(placed(atom, {first: obj}) for atom in self._about(frozenset({first})))

    def _table(self, objects: frozenset[Obj], atoms: Atoms) -> Floats:
        """The sum of the factors about just these objects."""
        shape = tuple(self._normal.ranges[p] for p, _ in atoms)
        if math.prod(shape) > MOST_TABLE:
            raise NoCellsError(f"a pair of objects has more than {MOST_TABLE} states")
        table = np.zeros(shape)
        axis = {atom: k for k, atom in enumerate(atoms)}
        for scope, log_table in self._placements.get(objects, ()):
            places = [axis[atom] for atom in scope]
            order = sorted(range(len(scope)), key=places.__getitem__)
            lengths = dict(zip(places, log_table.shape, strict=True))
            table = table + log_table.transpose(order).reshape(
                [lengths.get(k, 1) for k in range(len(shape))]
            )
        return table

    def single(self, cls: int) -> Floats:
        """The weights (W, C) of the cells of a class, as logarithms."""
        obj = (cls, 0)
        atoms = (*self.about_nothing, *self.about(obj))
        return self._table(frozenset({obj}), atoms).reshape(self.worlds, -1)

    def pair(self, one: int, other: int) -> Floats:
        """What a pair of objects adds (W, C, C), as a logarithm; a class of one object has none."""
        if (one, other) not in self._pair:
            first, second = self.objects(one, other)
            logs, _ = self.with_pair(first, second)
            cells = (self.worlds, self.cells(one), self.cells(other))
            total = np.logaddexp.reduce(logs.reshape(*cells, -1), axis=-1)
            self._pair[one, other] = total
            self._pair[other, one] = np.swapaxes(total, 1, 2)
        return self._pair[one, other]

    def seen(self, cls: int) -> Floats:
        """What all others notice of each cell of a class, a row each."""
        seen = [self.pair(cls, other) for other in range(self.classes)]
        return np.concatenate(
            [np.moveaxis(own, 1, 0).reshape(own.shape[1], -1) for own in seen], axis=1
        )

    @staticmethod
    def objects(one: int, other: int) -> tuple[Obj, Obj]:
        """A pair of objects of these classes."""
        return (one, 0), (other, 1 if one == other else 0)

    def cells(self, cls: int) -> int:
        """How many cells a class has."""
        return math.prod(self._normal.ranges[p] for p, _ in self.about((cls, 0)))

    def holds(self, atom: ObjAtom) -> bool:
        """Whether factors are about an atom."""
        return placed(atom, placeholders(objects_of((atom,)))) in self.atoms

    def with_pair(self, first: Obj, second: Obj) -> tuple[Floats, Atoms]:
        """The table about a pair, and its atoms: about nothing, about each object, about both."""
        pair = self._about(frozenset({first, second}))
        atoms = (*self.about_nothing, *self.about(first), *self.about(second), *pair)
        return self._table(frozenset({first, second}), atoms), atoms

    def conditional(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about a pair, given the atoms about nothing and both cells."""
        order = placeholders({one, other})
        first, second = order[one], order[other]
        table, _ = self.with_pair(first, second)
        given = len(self.about_nothing) + len(self.about(first)) + len(self.about(second))
        pair = self._about(frozenset({first, second}))
        shares = shares_over(table, given)
        return kept_axes(shares, given, [given + pair.index(placed(own, order)) for own in atoms])


def shares_over(logs: Floats, given: int) -> Floats:
    """Weights divided by their sum over all axes but the first ones; zero where that is zero."""
    axes = tuple(range(given, logs.ndim))
    top = logs.max(axis=axes, keepdims=True)
    weights = np.exp(logs - np.where(top > -np.inf, top, 0.0))
    total = weights.sum(axis=axes, keepdims=True)
    shares: Floats = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return shares


def kept_axes(table: Floats, given: int, wanted: Sequence[int]) -> Floats:
    """The sum over all axes but the first ones and those that are wanted, in this order."""
    others = tuple(k for k in range(given, table.ndim) if k not in wanted)
    kept = [*range(given), *sorted(wanted)]
    places = [kept.index(axis) for axis in (*range(given), *wanted)]
    return np.asarray(table.sum(axis=others).transpose(places))


def _placements(parfactor: NormalParfactor) -> Iterator[tuple[Atoms, Floats]]:
    """The factors of a parfactor about one object or one pair: both orders, unless they are one."""
    objects = sorted(objects_of(parfactor.atoms))
    if len(objects) > 2:
        raise NoCellsError("a formula is about more than two objects")
    orders = [placeholders(objects)]
    if len(objects) == 2 and objects[0][0] == objects[1][0]:
        places = list(orders[0].values())
        if not any(len(group) > 1 for group in parfactor.exchangeable):
            orders = [dict(zip(objects, own, strict=True)) for own in permutations(places)]
    for order in orders:
        yield tuple(placed(atom, order) for atom in parfactor.atoms), parfactor.log_table
