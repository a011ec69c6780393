"""Atoms that hard formulas tie together: one of them decides the others.

`e(x,y) <=> e(y,x).` makes two atoms one, and so does `e(x,y) => e(y,x).` Independent atoms cannot
obey such a formula unless they are certain, so atoms that are tied share one probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, NormalParfactor, Obj, ObjAtom, pattern_of
from liftgbp.support.arrays import Bools

Symmetry: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""An order of the objects of an atom, and the value that each value of the atom becomes."""


@dataclass(frozen=True, slots=True)
class Tied:
    """The atom that decides another: its kind, the places of its objects, and, for each of its
    values, the value of the other atom."""

    kind: int
    places: tuple[int, ...]
    values: tuple[int, ...]


class Ties:
    """The kinds of atoms of a normal form, and which of them decide which others.

    patterns    those of all atoms
    kinds       patterns of atoms that decide themselves
    symmetries  for each kind, what turns an atom into one that it is tied to; itself first
    """

    def __init__(self, normal: NormalModel) -> None:
        self._ranges = normal.ranges
        atoms = dict.fromkeys(pattern_of(a) for p in normal.parfactors for a in p.atoms)
        # For each pattern: the pattern that decides it, with the order of objects and the values.
        self._root: dict[ObjAtom, tuple[ObjAtom, Symmetry]] = {
            own: (own, self._identity(own)) for own in atoms
        }
        self._group: dict[ObjAtom, set[Symmetry]] = {own: {self._identity(own)} for own in atoms}
        for (one, other), possible in _possible_pairs(normal.parfactors).items():
            self._tie(one, other, possible)
        self.patterns = tuple(atoms)
        self.kinds = tuple(own for own in atoms if self._root[own][0] == own)
        self._number = {own: k for k, own in enumerate(self.kinds)}
        self.symmetries = tuple(
            tuple(sorted(self._group[own], key=lambda g: g != self._identity(own)))
            for own in self.kinds
        )

    def of(self, atom: ObjAtom, objects: Sequence[Obj]) -> Tied:
        """What decides an atom over some objects; one of several by the order of the objects."""
        root, places, values = self._decided(atom, objects)
        choices = [
            (tuple(places[k] for k in turn), tuple(_inverse(change)))
            for turn, change in self._group[root]
        ]
        best, change = min(choices)
        return Tied(self._number[root], best, tuple(values[v] for v in change))

    def _identity(self, atom: ObjAtom) -> Symmetry:
        return tuple(range(len(set(atom[1])))), tuple(range(self._ranges[atom[0]]))

    def _tie(self, one: ObjAtom, other: ObjAtom, possible: Bools) -> None:
        """Note that two atoms are tied together, if each value of one leaves one of the other."""
        if possible.shape[0] != possible.shape[1]:
            return
        if (possible.sum(axis=0) != 1).any() or (possible.sum(axis=1) != 1).any():
            return
        objects = tuple(dict.fromkeys(one[1]))
        first, places, values = self._decided(one, objects)
        second, other_places, other_values = self._decided(other, objects)
        # The value of the second root, for each value of the first one.
        partner = possible.argmax(axis=1)
        back = _inverse(other_values)
        change = tuple(back[partner[value]] for value in values)
        turn = tuple(places.index(place) for place in other_places)
        if first == second:
            self._grow(first, (turn, change))
        else:
            self._join(first, second, (turn, change))

    def _decided(
        self, atom: ObjAtom, objects: Sequence[Obj]
    ) -> tuple[ObjAtom, tuple[int, ...], tuple[int, ...]]:
        """The pattern that decides an atom, where its objects are among these, and values."""
        root, (order, values) = self._root[pattern_of(atom)]
        own = tuple(dict.fromkeys(atom[1]))
        return root, tuple(objects.index(own[k]) for k in order), values

    def _grow(self, root: ObjAtom, symmetry: Symmetry) -> None:
        """Add a symmetry to those of a kind, unless values would contradict each other."""
        group = {*self._group[root], symmetry}
        while len(more := {_after(g, h) for g in group for h in group} | group) > len(group):
            group = more
        if sum(turn == self._identity(root)[0] for turn, _ in group) == 1:
            self._group[root] = group

    def _join(self, root: ObjAtom, other: ObjAtom, symmetry: Symmetry) -> None:
        """Let one root decide another one: its atom, turned and changed, is the other atom."""
        turn, change = symmetry
        if len(self._group[other]) > 1:
            return  # Rare: the tie stays a formula.
        for own, (decides, (order, values)) in list(self._root.items()):
            if decides == other:
                moved = tuple(order[k] for k in _inverse(turn))
                self._root[own] = (
                    root,
                    (moved, tuple(values[change[v]] for v in range(len(change)))),
                )


def _possible_pairs(
    parfactors: Sequence[NormalParfactor],
) -> dict[tuple[ObjAtom, ObjAtom], Bools]:
    """Which values two atoms over the same objects can have together, by all formulas about both.

    An implication from one to the other may come back with its objects in another order.
    """
    found: dict[tuple[ObjAtom, ObjAtom], Bools] = {}
    for parfactor in parfactors:
        if len(parfactor.atoms) != 2 or len({frozenset(args) for _, args in parfactor.atoms}) > 1:
            continue
        possible = np.isfinite(parfactor.log_table)
        one, other = parfactor.atoms
        for first, second, table in ((one, other, possible), (other, one, possible.T)):
            pair = pattern_of(first), _renamed(second, first)
            found[pair] = found[pair] & table if pair in found else table
    return found


def _renamed(atom: ObjAtom, first: ObjAtom) -> ObjAtom:
    """An atom with its objects called as in the pattern of another atom over the same objects."""
    names = dict(zip(first[1], pattern_of(first)[1], strict=True))
    return atom[0], tuple(names[obj] for obj in atom[1])


def _after(first: Symmetry, second: Symmetry) -> Symmetry:
    return (
        tuple(first[0][k] for k in second[0]),
        tuple(second[1][v] for v in first[1]),
    )


def _inverse(permutation: Sequence[int]) -> list[int]:
    inverse = [0] * len(permutation)
    for k, value in enumerate(permutation):
        inverse[value] = k
    return inverse
