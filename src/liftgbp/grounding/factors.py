"""Ground factors before their atoms are numbered, and the network that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.grounding.facts import Facts, row_keys
from liftgbp.grounding.network import AtomTable, FactorBlock, GroundNetwork, merged
from liftgbp.model.model import Model


@dataclass(frozen=True, eq=False, slots=True)
class AtomFactors:
    """Factors with one log table, over atoms of the same predicates.

    Axis k of the table of each factor is an atom of predicate number `predicates[k]`, and row i of
    `args[k]` are the objects of this atom in factor i.
    """

    predicates: tuple[int, ...]
    args: tuple[Ints, ...]
    table: Floats


def network_of(
    model: Model,
    sizes: Mapping[str, int],
    facts: Sequence[Facts],
    factors: Sequence[AtomFactors],
    log_constant: float,
) -> GroundNetwork:
    """The network of factors over atoms, with variables for just those that factors touch."""
    atoms, numbers = _numbered(model, sizes, factors)
    blocks = [
        FactorBlock(np.stack(scope, axis=1), np.full(len(scope[0]), k))
        for k, scope in enumerate(numbers)
    ]
    free: Counter[int] = Counter()
    touched = np.bincount(atoms.predicate, minlength=len(facts)).tolist()
    for some, used in zip(facts, touched, strict=True):
        free[some.range] += some.unobserved - used
    return merged(
        np.array([some.range for some in facts], np.int64)[atoms.predicate],
        blocks,
        [some.table for some in factors],
        log_constant=log_constant,
        free={values: count for values, count in sorted(free.items()) if count},
        atoms=atoms,
    )


def _numbered(
    model: Model, sizes: Mapping[str, int], factors: Sequence[AtomFactors]
) -> tuple[AtomTable, list[list[Ints]]]:
    """The atoms of all factors in order, and for each factor and axis the numbers of its atoms."""
    uses: dict[int, list[tuple[int, int]]] = {}
    for k, some in enumerate(factors):
        for axis, number in enumerate(some.predicates):
            uses.setdefault(number, []).append((k, axis))
    scopes = [[np.zeros(0, np.int64)] * len(some.predicates) for some in factors]
    widest = max((len(p.sorts) for p in model.predicates.values()), default=0)
    predicates, objects = [np.zeros(0, np.int64)], [np.zeros((0, widest), np.int64)]
    total = 0
    for number, predicate in enumerate(model.predicates.values()):
        if number in uses:
            parts = [factors[k].args[axis] for k, axis in uses[number]]
            atoms, numbers = _unique_rows(parts, [sizes[sort] for sort in predicate.sorts])
            for (k, axis), part in zip(uses[number], numbers, strict=True):
                scopes[k][axis] = part + total
            args = np.full((len(atoms), widest), -1)
            args[:, : atoms.shape[1]] = atoms
            predicates.append(np.full(len(atoms), number))
            objects.append(args)
            total += len(atoms)
    return AtomTable(np.concatenate(predicates), np.concatenate(objects)), scopes


def _unique_rows(parts: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, list[Ints]]:
    """The different rows of all parts in order, and their numbers for each part."""
    rows = np.concatenate(parts)
    _, first, numbers = np.unique(row_keys(rows, sizes), return_index=True, return_inverse=True)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return rows[first], np.split(numbers.ravel(), ends)
