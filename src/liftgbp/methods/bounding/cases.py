"""Models in which one ground atom is fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from liftgbp.lift.shatter import NormalModel, Shattering, Split, SplitShattering
from liftgbp.lift.shatter.normal import SOFT, NormalParfactor, Obj, ObjAtom
from liftgbp.lift.signature import objects_of


def fixed(shattering: Shattering, atom: ObjAtom, value: int) -> NormalModel:
    """The model with the objects of an atom in classes of their own, and its value certain."""
    predicate, args = atom
    objects = objects_of([atom])
    splits: list[Split] = []
    counts: list[int] = []
    cell: dict[Obj, tuple[int, int]] = {}
    for cls in sorted({cls for cls, _ in objects}):
        named = [obj for obj in objects if obj[0] == cls]
        cell |= {obj: (cls, k) for k, obj in enumerate(named)}
        left = shattering.classes[cls].size - len(named)
        sizes = [1] * len(named) + [left] * (left > 0)
        if len(sizes) > 1:
            splits.append(Split(cls, sum(sizes), ((),) * len(sizes)))
            counts += sizes
    split = SplitShattering(shattering, splits).at(counts)
    normal = split.normal
    table = np.full(normal.ranges[predicate], -np.inf)
    table[value] = 0.0
    alone = predicate, tuple((split.class_of[cell[obj]], 0) for obj in args)
    factor = NormalParfactor((alone,), table, (), SOFT)
    return replace(normal, parfactors=(*normal.parfactors, factor), same_from=None)
