"""The ground factors of a model in normal form, written out: for models that are small.

This needs no joins, so it works without a database.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice, product

import numpy as np

from liftgbp.ground.grounding.network import AtomTable, FactorBlock, GroundNetwork, merged
from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel, NormalParfactor, Obj, ObjAtom, pattern_of
from liftgbp.lift.signature import objects_of, objects_per_class
from liftgbp.support.arrays import Ints


def ground_classes(normal: NormalModel) -> GroundNetwork:
    """The ground network of a normal form, over all its objects.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.lift.shatter import shatter
    >>> network = ground_classes(shatter(parse("p(t)\\n1 p(x) ^ p(y) | x != y"), {"t": 3}))
    >>> network.blocks[0].scopes.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    used = {cls for parfactor in normal.parfactors for cls, _ in objects_of(parfactor.atoms)}
    members = {cls: class_members(normal, cls) for cls in used}
    width = 1 + max((len(predicate.sorts) for predicate in normal.predicates), default=0)
    scopes = []
    for parfactor in normal.parfactors:
        places = _placements(parfactor, members)
        column = {obj: k for k, obj in enumerate(objects_of(parfactor.atoms))}
        atoms = np.full((len(places), len(parfactor.atoms), width), -1, dtype=np.int64)
        for k, (predicate, args) in enumerate(parfactor.atoms):
            atoms[:, k, 0] = predicate
            atoms[:, k, 1 : 1 + len(args)] = places[:, [column[obj] for obj in args]]
        scopes.append(atoms)
    every = np.concatenate(
        [np.zeros((0, width), np.int64), *(s.reshape(-1, width) for s in scopes)]
    )
    rows, variable = np.unique(every, axis=0, return_inverse=True)
    ends = np.cumsum([atoms.shape[0] * atoms.shape[1] for atoms in scopes])
    blocks = [
        FactorBlock(own.reshape(atoms.shape[:2]), np.full(len(atoms), number))
        for number, (own, atoms) in enumerate(
            zip(np.split(variable.ravel(), ends), scopes, strict=False)
        )
    ]
    return merged(
        np.array(normal.ranges, dtype=np.int64)[rows[:, 0]],
        [block for block in blocks if block.scopes.shape[1]],
        [parfactor.log_table for parfactor in normal.parfactors],
        log_constant=normal.log_constant,
        free=_free_atoms(normal, rows[:, 0]),
        atoms=AtomTable(rows[:, 0], rows[:, 1:]),
    )


def _free_atoms(normal: NormalModel, predicates: Ints) -> dict[int, int]:
    """How many atoms are neither observed nor variables, by their number of values."""
    used = np.bincount(predicates, minlength=len(normal.predicates)).tolist()
    free: Counter[int] = Counter()
    for number, predicate in enumerate(normal.predicates):
        every = math.prod(normal.sizes[sort] for sort in predicate.sorts)
        left = every - normal.observations.counts.get(number, 0) - used[number]
        free[len(predicate.values)] += left
    return {size: count for size, count in free.items() if count}


def ground_factors(normal: NormalModel) -> int:
    """How many ground factors a normal form has, before those over the same atoms are merged."""
    total = 0
    for parfactor in normal.parfactors:
        used = objects_per_class(parfactor.atoms)
        ways = math.prod(falling(normal.class_sizes[cls], n) for cls, n in used.items())
        total += ways // math.prod(math.factorial(len(own)) for own in parfactor.exchangeable)
    return total


def must_join(normal: NormalModel, states: float) -> bool:
    """Whether some atom leaves with more joint states than this, in whichever order atoms leave.

    Neighbours of those who leave become neighbours. So it is certain where each of some atoms has
    that many states together with its neighbours among these: one of them is the first to leave.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.lift.shatter import shatter
    >>> pairs = shatter(parse("p(t)\\n1 p(x) ^ p(y) | x != y"), {"t": 8})
    >>> must_join(pairs, 2**7), must_join(pairs, 2**8)
    (True, False)
    """
    around: dict[ObjAtom, dict[ObjAtom, float]] = {}
    for parfactor in normal.parfactors:
        for atom in parfactor.atoms:
            seen = around.setdefault(pattern_of(atom), {})
            for other in (_seen_from(atom, own) for own in parfactor.atoms):
                if other not in seen:
                    seen[other] = _bits_seen(normal, pattern_of(atom), other)
    kinds = {
        atom: [(pattern_of(own), bits) for own, bits in seen.items()]
        for atom, seen in around.items()
    }
    left, before = set(kinds), -1
    while len(left) != before:
        before = len(left)
        left = {
            atom
            for atom in left
            if sum(bits for own, bits in kinds[atom] if own in left) > math.log2(states)
        }
    return bool(left)


def _seen_from(atom: ObjAtom, other: ObjAtom) -> ObjAtom:
    """An atom with the objects of another one first, in the order of their appearance."""
    predicate, args = other
    _, renamed = pattern_of((predicate, atom[1] + args))
    return predicate, renamed[len(atom[1]) :]


def _bits_seen(normal: NormalModel, atom: ObjAtom, other: ObjAtom) -> float:
    """The states of all ground atoms that look like this beside a given one, in bits."""
    given, both = objects_per_class((atom,)), objects_per_class((atom, other))
    sizes = normal.class_sizes
    ways = (falling(sizes[cls] - given[cls], n - given[cls]) for cls, n in both.items())
    return math.prod(ways) * math.log2(normal.ranges[other[0]])


def class_members(normal: NormalModel, cls: int, most: int | None = None) -> list[int]:
    """The objects of a class, or the first ones, by their numbers in their sort."""
    sort = normal.classes[cls].sort
    return list(islice(normal.class_index[sort].members(cls, normal.sizes[sort]), most))


def _placements(parfactor: NormalParfactor, members: dict[int, list[int]]) -> Ints:
    """All ways to replace the placeholders by different objects, a row each."""
    objects = objects_of(parfactor.atoms)
    by_class: dict[int, list[Obj]] = {}
    for obj in objects:
        by_class.setdefault(obj[0], []).append(obj)
    groups = [set(group) for group in parfactor.exchangeable]
    ways = [_ways(own, members[cls], groups) for cls, own in by_class.items()]
    rows = [sum(choice, ()) for choice in product(*ways)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(objects))


def _ways(
    placeholders: Sequence[Obj], members: Sequence[int], groups: Sequence[set[Obj]]
) -> list[tuple[int, ...]]:
    """The ways inside one class; those of an exchangeable group are in ascending order."""
    # A group takes its objects together, so that no choice has to be given up again.
    shared = [[k for k, own in enumerate(placeholders) if own in group] for group in groups]
    grouped = {k for places in shared for k in places}
    units = [*shared, *([k] for k in range(len(placeholders)) if k not in grouped)]
    found: list[dict[int, int]] = [{}]
    for unit in units:
        found = [
            {**taken, **dict(zip(unit, chosen, strict=True))}
            for taken in found
            for chosen in combinations([m for m in members if m not in taken.values()], len(unit))
        ]
    return sorted(tuple(own[k] for k in range(len(placeholders))) for own in found)
