"""What an object and a pair of objects add at most, where no rule is about more than two.

The *cell* of an object says which values all atoms have that are about it alone. Given all cells,
atoms about different pairs are independent of each other, so each pair takes its best state. This
is the sum over cells of exact answers (`methods/exact/cells.py`) with maxima in place of sums, and
in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations

import numpy as np
import numpy.typing as npt

from liftgbp.lift.shatter import NormalModel, ObjectClasses, Shattering
from liftgbp.lift.shatter.normal import Obj, ObjAtom
from liftgbp.lift.shatter.ways import Uncounted
from liftgbp.lift.signature import objects_of
from liftgbp.methods.exact.pair_tables import NoCellsError, about_objects, placed, placeholders
from liftgbp.worlds.blocks.block_terms import Scale

Whole = npt.NDArray[np.object_]
"""An array of whole numbers of any size."""

MOST_STATES = 2**14
"""The most states of all atoms about a pair of objects: a table of whole numbers takes 10 ms."""


class PairMaxima:
    """The most that factors add for each cell and each pair of cells.

    A *case* is a combination of values of the atoms about nothing.
    """

    def __init__(self, normal: NormalModel, scale: Scale) -> None:
        self._normal = normal
        self._number = cache(scale.number)
        self._cost = scale.true_atom
        self.constant = 0
        self._tables: dict[frozenset[Obj], list[tuple[tuple[ObjAtom, ...], Whole]]] = {}
        objects = ObjectClasses(normal.problem, normal.classes, normal.class_index)
        shattering = Shattering(objects, table_cap=normal.table_cap)
        for way in (*shattering.ways(normal.classes, normal.observations), *shattering.soft):
            self._add(way)
        own = (atoms for tables in self._tables.values() for atoms, _ in tables)
        every = {atom for atoms in own for atom in atoms}
        self._about: dict[frozenset[Obj], list[ObjAtom]] = {}
        for atom in sorted(every):
            self._about.setdefault(about_objects((atom,)), []).append(atom)
        self.about_nothing = tuple(self._about.get(frozenset(), ()))
        self.cases = self._states(self.about_nothing)

    def _add(self, way: Uncounted) -> None:
        copies = way.copies(self._normal.class_sizes)
        numbers = [copies * self._number(own) for own in way.table.ravel().tolist()]
        if not way.atoms:
            self.constant += numbers[0]
            return
        table = np.array(numbers, dtype=object).reshape(way.table.shape)
        for atoms in _placements(way):
            self._tables.setdefault(about_objects(atoms), []).append((atoms, table))

    # --- atoms and states

    def about(self, obj: Obj) -> tuple[ObjAtom, ...]:
        """The atoms about one object alone."""
        first = (obj[0], 0)
        return tuple(placed(a, {first: obj}) for a in self._about.get(frozenset({first}), ()))

    def about_pair(self, one: int, other: int) -> tuple[ObjAtom, ...]:
        """The atoms about a pair of objects of these classes."""
        return tuple(self._about.get(frozenset(pair_of(one, other)), ()))

    def cells(self, cls: int) -> int:
        """How many cells a class has."""
        return self._states(self.about((cls, 0)))

    def _states(self, atoms: Sequence[ObjAtom]) -> int:
        return math.prod(self._normal.ranges[p] for p, _ in atoms)

    def values(self, atoms: Sequence[ObjAtom], state: int) -> dict[ObjAtom, int]:
        """The values of atoms in a state of all of them."""
        found = np.unravel_index(state, [self._normal.ranges[p] for p, _ in atoms])
        return {atom: int(value) for atom, value in zip(atoms, found, strict=True)}

    # --- tables

    def of_case(self) -> Whole:
        """What each case adds by itself."""
        own = self._table(frozenset(), (self.about_nothing,))
        return np.asarray(own + self.constant, dtype=object)

    def single(self, cls: int) -> Whole:
        """What an object adds by itself, (case, cell)."""
        obj = (cls, 0)
        return self._table(frozenset({obj}), (self.about_nothing, self.about(obj)))

    def pair(self, one: int, other: int) -> Whole:
        """What a pair of objects adds, (case, cell, cell, state)."""
        first, second = pair_of(one, other)
        parts = (
            self.about_nothing,
            self.about(first),
            self.about(second),
            self.about_pair(one, other),
        )
        return self._table(frozenset({first, second}), parts)

    def _table(self, objects: frozenset[Obj], parts: Sequence[Sequence[ObjAtom]]) -> Whole:
        """The sum of the tables about just these objects; true atoms of the last part cost one."""
        atoms = [atom for part in parts for atom in part]
        shape = [self._normal.ranges[p] for p, _ in atoms]
        if math.prod(shape) > MOST_STATES:
            raise NoCellsError(f"a pair of objects has more than {MOST_STATES} states")
        axis = {atom: k for k, atom in enumerate(atoms)}
        total = np.zeros(shape, dtype=object)
        costs = [
            ((atom,), np.array([0] + [-self._cost] * (shape[axis[atom]] - 1), dtype=object))
            for atom in parts[-1]
        ]
        for scope, table in (*self._tables.get(objects, ()), *costs):
            order = sorted(range(len(scope)), key=lambda k: axis[scope[k]])
            lengths = [1] * len(atoms)
            for k, atom in enumerate(scope):
                lengths[axis[atom]] = table.shape[k]
            total = total + table.transpose(order).reshape(lengths)
        return np.asarray(total, dtype=object).reshape([self._states(part) for part in parts])


def pair_of(one: int, other: int) -> tuple[Obj, Obj]:
    """A pair of objects of these classes."""
    return (one, 0), (other, 1 if one == other else 0)


def swapped(atom: ObjAtom, cls: int) -> ObjAtom:
    """The atom with the two objects of a pair exchanged."""
    first, second = pair_of(cls, cls)
    return placed(atom, {first: second, second: first})


def _placements(way: Uncounted) -> Iterator[tuple[ObjAtom, ...]]:
    """The factors of a way about one object or one pair: both orders, unless they are one."""
    objects = sorted(objects_of(way.atoms))
    if len(objects) > 2:
        raise NoCellsError("a formula is about more than two objects")
    orders = [placeholders(objects)]
    one_class = len(objects) == 2 and objects[0][0] == objects[1][0]
    if one_class and not any(len(group) > 1 for group in way.groups):
        places = list(orders[0].values())
        orders = [dict(zip(objects, own, strict=True)) for own in permutations(places)]
    for order in orders:
        yield tuple(placed(atom, order) for atom in way.atoms)
