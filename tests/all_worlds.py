"""The best worlds of small models by listing all worlds; beliefs of worlds by listing objects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np

from liftgbp.lift.shatter import NormalModel
from liftgbp.oracle.reference.plain_grounding import GroundAtom, GroundModel


def scores(ground: GroundModel) -> tuple[list[GroundAtom], np.ndarray]:
    """The atoms that factors touch, and the score of each of their joint states; -inf if a hard
    rule is violated."""
    atoms = sorted({atom for factor in ground.factors for atom in factor.scope})
    ranges = [ground.ranges[atom] for atom in atoms]
    place = {atom: k for k, atom in enumerate(atoms)}
    total = np.full(ranges, ground.log_constant)
    for factor in ground.factors:
        shape = [1] * len(atoms)
        for atom in factor.scope:
            shape[place[atom]] = ground.ranges[atom]
        # Scopes are sorted, and so are the axes.
        total = total + factor.log_table.reshape(shape)
    return atoms, total


def states(ground: GroundModel) -> int:
    """How many joint states the atoms that factors touch have."""
    atoms = {atom for factor in ground.factors for atom in factor.scope}
    return math.prod(ground.ranges[atom] for atom in atoms)


Atom = tuple[int, tuple[tuple[int, int], ...]]


def placed_beliefs(
    normal: NormalModel, world: Mapping[Atom, int], atoms: Sequence[Atom]
) -> dict[tuple[int, ...], Fraction]:
    """How often atoms over placeholders have each joint state, over all ways to choose different
    objects for these."""
    placeholders = sorted({obj for _, args in atoms for obj in args})
    per_class: dict[int, list[tuple[int, int]]] = {}
    for obj in placeholders:
        per_class.setdefault(obj[0], []).append(obj)
    found: dict[tuple[int, ...], int] = {}
    for chosen in product(
        *(permutations(range(normal.class_sizes[c]), len(own)) for c, own in per_class.items())
    ):
        at = {
            obj: (c, number)
            for (c, own), numbers in zip(per_class.items(), chosen, strict=True)
            for obj, number in zip(own, numbers, strict=True)
        }
        state = tuple(world[p, tuple(at[obj] for obj in args)] for p, args in atoms)
        found[state] = found.get(state, 0) + 1
    total = sum(found.values())
    return {state: Fraction(number, total) for state, number in found.items()}
