"""Variables that a factor treats alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.shatter.normal import Obj, ObjAtom


def symmetric_groups(
    atoms: Sequence[ObjAtom], table: Floats, others: Collection[Obj]
) -> list[tuple[Obj, ...]]:
    """Groups of placeholders that can be swapped without changing the factor, but for `others`.

    >>> p, q = (0, ((0, 0),)), (0, ((0, 1),))
    >>> symmetric_groups([p, q], np.array([[1.0, 2.0], [2.0, 3.0]]), ())
    [((0, 0), (0, 1))]
    >>> symmetric_groups([p, q], np.array([[1.0, 2.0], [0.0, 3.0]]), ())
    []
    """
    groups: list[list[Obj]] = []
    for obj in dict.fromkeys(obj for _, args in atoms for obj in args if obj not in others):
        for group in groups:
            if group[0][0] == obj[0] and _swaps(group[0], obj, atoms, table):
                group.append(obj)
                break
        else:
            groups.append([obj])
    return [tuple(group) for group in groups if len(group) > 1]


def _swaps(one: Obj, other: Obj, atoms: Sequence[ObjAtom], table: Floats) -> bool:
    swap = {one: other, other: one}
    moved = [(p, tuple(swap.get(obj, obj) for obj in args)) for p, args in atoms]
    if set(moved) != set(atoms):
        return False
    return np.array_equal(table, table.transpose([moved.index(atom) for atom in atoms]))
