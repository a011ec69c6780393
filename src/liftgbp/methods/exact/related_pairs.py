"""What pairs add, given how a relation with a structure puts their objects into blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.methods.exact.pair_tables import (
    Atoms,
    PairTables,
    kept_axes,
    placed,
    placeholders,
    shares_over,
)
from liftgbp.methods.exact.structures import Structure, reverse
from liftgbp.posterior.events import Truth, spread_over
from liftgbp.support.arrays import Floats


class RelatedPairs(PairTables):
    """Tables about pairs, in which one relation is set apart: it depends on blocks.

    The factors about one object and about pairs say nothing about blocks of objects that are not of
    the sort of the relation.
    """

    def __init__(
        self, normal: NormalModel, predicate: int, structure: Structure, classes: Sequence[int]
    ) -> None:
        super().__init__(normal)
        self.structure = structure
        self.related_classes = classes
        self._predicate = predicate
        self._fixed: tuple[int, Obj] | None = None
        self._truths: dict[tuple[Obj, Obj], Truth] = {}

    def are_related(self, one: int, other: int) -> bool:
        """Whether objects of these classes are put into blocks."""
        return one in self.related_classes and other in self.related_classes

    def pair(self, one: int, other: int) -> Floats:
        """What a pair of objects adds (W, C, C) wherever their blocks are, as a logarithm."""
        if self.are_related(one, other):
            return np.zeros((self.worlds, self.cells(one), self.cells(other)))
        return super().pair(one, other)

    def by_relation(self, one: int, other: int) -> Floats:
        """What a pair of objects adds (W, C, C, relation), as a logarithm."""
        cells = (self.worlds, self.cells(one), self.cells(other))
        if not self.are_related(one, other) or (one == other and self.sizes[one] == 1):
            # No two of these objects are ever in one block.
            return np.broadcast_to(np.array([-np.inf, 0.0, 0.0]), (*cells, len(self.structure.of)))
        table, _ = self._with_values(*self.objects(one, other))
        logs = np.logaddexp.reduce(table.reshape(*cells, 2, 2, -1), axis=-1)
        return np.stack([logs[..., there, back] for there, back in self.structure.of], axis=-1)

    def seen(self, cls: int) -> Floats:
        """What all others notice of each cell of a class, a row each."""
        rows = [super().seen(cls)]
        for other in self.related_classes if cls in self.related_classes else ():
            own = np.moveaxis(self.by_relation(cls, other), 1, 0)
            rows.append(own.reshape(len(own), -1))
        return np.concatenate(rows, axis=1)

    def given_relation(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about a pair, given their cells and the relation (W, C, C, R).

        That of the atoms about nothing and of each cell has an axis for each atom.
        """
        order = placeholders({one, other})
        first, second = order[one], order[other]
        table, pair = self._with_values(first, second)
        given = table.ndim - len(pair)
        shares = []
        for values in self.structure.of:
            own = np.full(table.shape, -np.inf)
            chosen: tuple[Any, ...] = (..., *values, *[slice(None)] * (len(pair) - 2))
            own[chosen] = table[chosen]
            shares.append(shares_over(own, given))
        wanted = [1 + given + pair.index(placed(atom, order)) for atom in atoms]
        return kept_axes(np.stack(shares, axis=given), 1 + given, wanted)

    def at(self, relation: int, obj: Obj) -> RelatedPairs:
        """The same tables where the block of an object lies like this to that of any other."""
        fixed = copy(self)
        fixed._fixed = relation, obj
        return fixed

    def conditional(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about a pair, given the atoms about nothing and both cells."""
        if self._fixed is None or not self.are_related(one[0], other[0]):
            return super().conditional(one, other, atoms)
        relation, obj = self._fixed
        given = self.given_relation(one, other, atoms)
        way = relation if one == obj else reverse(relation)
        return np.asarray(given.take(way, axis=given.ndim - len(atoms) - 1))

    def link(self, one: Obj, other: Obj) -> ObjAtom:
        """The atom of the relation from one object to another."""
        return self._predicate, (one, other)

    def possible(
        self, one: Obj, other: Obj, given: Mapping[ObjAtom, int], atoms: Sequence[ObjAtom]
    ) -> Truth:
        """Which values of atoms the rules about a pair allow, where others have given values."""
        named, allowed = self._allowed(one, other)
        index: tuple[Any, ...] = tuple(given.get(atom, slice(None)) for atom in named)
        left = [atom for atom in named if atom not in given]
        kept = [atom for atom in left if atom in atoms]
        others = tuple(k for k, atom in enumerate(left) if atom not in kept)
        return tuple(kept), np.asarray(allowed[index].any(axis=others))

    def _allowed(self, one: Obj, other: Obj) -> Truth:
        """Which values of all atoms about a pair the rules about it allow."""
        if (one, other) not in self._truths:
            order = placeholders({one, other})
            first, second = order[one], order[other]
            table, axes = self.with_pair(first, second)
            if self.are_related(one[0], other[0]):
                table, pair = self._with_values(first, second)
                axes = (*axes[: table.ndim - len(pair)], *pair)
            allowed = table > -np.inf
            place = {atom: k for k, atom in enumerate(axes)}
            for obj in (first, second):
                cell = (*self.about_nothing, *self.about(obj))
                single = self.single(obj[0]).reshape([self._normal.ranges[p] for p, _ in cell])
                allowed = allowed & spread_over((cell, single > -np.inf), place, table.shape)
            back = {new: old for old, new in order.items()}
            self._truths[one, other] = tuple(placed(atom, back) for atom in axes), allowed
        return self._truths[one, other]

    def _with_values(self, first: Obj, second: Obj) -> tuple[Floats, Atoms]:
        """The table about a pair, and its atoms about both: first those of the relation.

        Values other than the observed ones are impossible.
        """
        table, atoms = self.with_pair(first, second)
        given = len(self.about_nothing) + len(self.about(first)) + len(self.about(second))
        pair = list(atoms[given:])
        relation = [self.link(first, second), self.link(second, first)]
        for atom in relation:
            if atom not in pair:
                known = self._normal.observations.value(atom)
                logs = np.zeros(2)
                if known is not None:
                    logs[1 - known] = -np.inf
                table, pair = np.add.outer(table, logs), [*pair, atom]
        others = [atom for atom in pair if atom not in relation]
        places = [given + pair.index(atom) for atom in (*relation, *others)]
        return table.transpose([*range(given), *places]), (*relation, *others)
