"""Formulas in queries: from a table over atoms to the probability of a formula.

Every reader has joint distributions of atoms; this is the one place that turns them into answers
about formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.support.arrays import Bools, Floats

Truth: TypeAlias = tuple[tuple[ObjAtom, ...], Bools]
"""Atoms, and in which of their states a formula holds."""


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """In which states of `atoms` a formula and a condition hold; either may be missing."""

    atoms: tuple[ObjAtom, ...]
    formula: Bools | None
    condition: Bools | None

    @classmethod
    def of(cls, formula: Truth | None, condition: Truth | None) -> Event:
        """Both over the atoms of both."""
        parts = [part for part in (formula, condition) if part is not None]
        length = {
            atom: size
            for atoms, truth in parts
            for atom, size in zip(atoms, truth.shape, strict=True)
        }
        order, shape = {atom: k for k, atom in enumerate(length)}, tuple(length.values())

        def wide(part: Truth | None) -> Bools | None:
            return None if part is None else np.array(spread_over(part, order, shape))

        return cls(tuple(length), wide(formula), wide(condition))

    @property
    def masks(self) -> Bools:
        """The states that count, a row for each value of the formula; one row without one."""
        size = 0 if self.formula is None else self.formula.size
        condition = np.ones(size, bool) if self.condition is None else self.condition.ravel()
        if self.formula is None:
            return condition[None]
        holds = self.formula.ravel()
        return np.array([~holds & condition, holds & condition])

    def folded(self, tables: Floats, given: int) -> Floats:
        """Tables about atoms asked for, `given` ones and those of the event, without the latter.

        All axes before those of atoms are a batch: there are as many of them as `tables` has more
        axes than atoms. A formula has one axis with its values, in place of atoms asked for.
        """
        masks = self.masks.astype(float)
        own = len(self.atoms)
        kept = tables.shape[: tables.ndim - own]
        found = tables.reshape(*kept, masks.shape[1]) @ masks.T
        if self.formula is None:
            return np.asarray(found[..., 0])
        return np.moveaxis(found, -1, len(kept) - given)


def spread_over(truth: Truth, order: Mapping[ObjAtom, int], shape: Sequence[int]) -> Bools:
    """A table over some atoms as one over more, whose axes are in this order."""
    atoms, table = truth
    axes = np.argsort([order[atom] for atom in atoms]).tolist()
    places = {order[atom] for atom in atoms}
    lengths = [size if k in places else 1 for k, size in enumerate(shape)]
    return np.broadcast_to(table.transpose(axes).reshape(lengths), tuple(shape))
