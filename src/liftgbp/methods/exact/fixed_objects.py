"""The objects beside which others are counted: their states, and what each means for the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.methods.exact.pair_tables import Atoms, PairTables, about_objects
from liftgbp.posterior.count_cases import CountedCase, CountedRow
from liftgbp.posterior.events import spread_over
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError

MOST_STATES = 2**14
"""The most states of the objects beside which others are counted."""


class FixedObjects:
    """What is known about the fixed objects of a count, in each of their states.

    A state is a cell of each fixed object, and the values of other atoms that all counted objects
    have in common. For each world and state, `given` (W, S) is how likely these values are with the
    condition, given the cells; `number` (W, S) is how many fixed objects count.
    """

    def __init__(
        self,
        tables: PairTables,
        normal: NormalModel,
        case: CountedCase,
        alone: Callable[[ObjAtom], Floats],
    ) -> None:
        self._tables = tables
        self._normal = normal
        self._alone = alone
        self._fixed = case.fixed
        self._own = [tables.about(obj) for obj in case.fixed]
        held = [*tables.about_nothing, *(atom for own in self._own for atom in own)]
        self._others = [atom for atom in case.shared if atom not in held]
        self._order = {atom: k for k, atom in enumerate((*held, *self._others))}
        self._shape = [normal.ranges[predicate] for predicate, _ in self._order]
        if math.prod(self._shape) > MOST_STATES:
            raise QueryError("a count beside so many objects has too many states")
        self._cells = [tables.cells(cls) for cls, _ in case.fixed]
        self.states = math.prod(self._shape) // tables.worlds
        flat = (tables.worlds, self.states)
        given = self._distribution(self._others, list(self._order))
        if case.condition is not None:
            given = given * spread_over(case.condition, self._order, self._shape)
        self.given = given.reshape(flat)
        number = np.zeros(self._shape, np.int64)
        for row in case.certain:
            number += spread_over(row.truth, self._order, self._shape)
        self.number = number.reshape(flat)

    def cells(self, state: int) -> tuple[int, ...]:
        """The cell of each fixed object in a state."""
        rest = self.states // math.prod(self._cells)
        return tuple(int(k) for k in np.unravel_index(state // rest, self._cells))

    def expected(self, row: CountedRow) -> Floats:
        """How likely an object counts (W, S, C), in each state and for each cell of its own."""
        cell = self._tables.about(row.obj)
        kept = [*self._order, *cell]
        others = [atom for atom in row.open_atoms if atom not in cell]
        labels = {atom: k for k, atom in enumerate((*kept, *others))}
        atoms, truth = row.truth
        operands: list[Any] = [truth.astype(float), [labels[atom] for atom in atoms]]
        for table, scope in self._factors(others):
            operands += [table, [labels[atom] for atom in scope]]
        for atom in kept:
            operands += [np.ones(self._normal.ranges[atom[0]]), [labels[atom]]]
        found = np.einsum(*operands, [labels[atom] for atom in kept], optimize=True)
        return np.asarray(found).reshape(self._tables.worlds, self.states, -1)

    def _distribution(self, atoms: Sequence[ObjAtom], kept: Sequence[ObjAtom]) -> Floats:
        """The distribution of some atoms given all cells, over all atoms that are kept."""
        labels = {atom: k for k, atom in enumerate(kept)}
        operands: list[Any] = []
        for table, scope in self._factors(atoms):
            operands += [table, [labels[atom] for atom in scope]]
        for atom in kept:
            operands += [np.ones(self._normal.ranges[atom[0]]), [labels[atom]]]
        if not operands:
            return np.ones(())
        return np.asarray(np.einsum(*operands, list(range(len(kept))), optimize=True))

    def _factors(self, atoms: Sequence[ObjAtom]) -> Iterator[tuple[Floats, Atoms]]:
        """The distributions of atoms given all cells: of those about a pair together."""
        pairs: dict[frozenset[Obj], list[ObjAtom]] = {}
        for atom in atoms:
            objects = about_objects((atom,))
            if self._tables.holds(atom) and len(objects) == 2:
                pairs.setdefault(objects, []).append(atom)
            else:
                yield self._alone(atom), (atom,)
        for objects, own in pairs.items():
            one, other = sorted(objects)
            scope = (*self._tables.about_nothing, *self._tables.about(one))
            scope += (*self._tables.about(other), *own)
            yield self._tables.conditional(one, other, own), scope
