"""The best values for patterns of atoms, in whole numbers of any size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from random import Random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from liftgbp.methods.exact.junction_tree import eliminated
from liftgbp.support.errors import CapacityError
from liftgbp.support.limits import checkpoint

Factor: TypeAlias = tuple[tuple[int, ...], npt.NDArray[np.object_]]
"""A table of whole numbers with the variables of its axes, in ascending order."""

PAIRS_OF = 60
"""Up to this many variables, pairs of them change together where no single one helps."""


def best_values(
    ranges: Sequence[int], factors: Sequence[Factor], most_states: int, tries: int, seed: int
) -> tuple[list[int], bool]:
    """The values with the largest sum, and whether that is certain; ties go to first values.

    It is by elimination if tables have no more than `most_states` entries, or else by climbing.

    >>> import numpy as np
    >>> differ = np.array([[0, 1], [1, 0]], dtype=object)
    >>> best_values([2, 2, 2], [((0, 1), differ), ((1, 2), differ)], 100, 1, 0)
    ([0, 1, 0], True)
    """
    try:
        return _by_elimination(ranges, factors, most_states), True
    except CapacityError:
        return _by_climbing(ranges, factors, tries, Random(seed)), False


def _by_elimination(
    ranges: Sequence[int], factors: Sequence[Factor], most_states: int
) -> list[int]:
    cliques = eliminated(ranges, [scope for scope, _ in factors], most_states)
    home = {v: step for step, clique in enumerate(cliques) for v in clique.leaving}
    inside: list[list[Factor]] = [[] for _ in cliques]
    for scope, table in factors:
        inside[min(home[v] for v in scope)].append((scope, table))
    chosen: list[npt.NDArray[np.int64]] = []
    for clique, parts in zip(cliques, inside, strict=True):
        checkpoint()
        table = _sum(parts, clique.variables, ranges)
        left = table.shape[len(clique.leaving) :]
        rows = table.reshape(prod(ranges[v] for v in clique.leaving), -1)
        choice = rows.argmax(axis=0)
        chosen.append(choice.reshape(left))
        if clique.staying:
            above = min(home[v] for v in clique.staying)
            message = rows[choice, np.arange(rows.shape[1])].reshape(left)
            inside[above].append((clique.staying, message))
    values = [0] * len(ranges)
    for clique, choice in zip(reversed(cliques), reversed(chosen), strict=True):
        state = int(choice[tuple(values[v] for v in clique.staying)])
        for v, value in zip(
            clique.leaving,
            np.unravel_index(state, [ranges[v] for v in clique.leaving]),
            strict=True,
        ):
            values[v] = int(value)
    return values


def _sum(
    parts: Sequence[Factor], variables: Sequence[int], ranges: Sequence[int]
) -> npt.NDArray[np.object_]:
    """The sum of tables as one table; small ones are added first."""
    place = {v: k for k, v in enumerate(variables)}
    total = np.zeros([1] * len(variables), dtype=object)
    for scope, table in sorted(parts, key=lambda part: part[1].size):
        order = sorted(range(len(scope)), key=lambda k: place[scope[k]])
        shape = [1] * len(variables)
        for v in scope:
            shape[place[v]] = ranges[v]
        total = total + table.transpose(order).reshape(shape)
    return np.broadcast_to(total, [ranges[v] for v in variables])


def _by_climbing(
    ranges: Sequence[int], factors: Sequence[Factor], tries: int, random: Random
) -> list[int]:
    near: list[list[Factor]] = [[] for _ in ranges]
    for factor in factors:
        for v in factor[0]:
            near[v].append(factor)
    best: tuple[int, list[int]] | None = None
    for number in range(tries):
        start = [0 if not number else random.randrange(r) for r in ranges]
        values = _climbed(start, ranges, near)
        total = _total(factors, values)
        if best is None or total > best[0]:
            best = total, values
    return best[1] if best else [0] * len(ranges)


def _total(factors: Sequence[Factor], values: Sequence[int]) -> int:
    return sum(table[tuple(values[v] for v in scope)] for scope, table in factors)


def _climbed(
    values: list[int], ranges: Sequence[int], near: Sequence[Sequence[Factor]]
) -> list[int]:
    """Values from which no change of one variable, or of two in a term, leads up."""
    moved = True
    while moved:
        checkpoint()
        moved = False
        for v in range(len(ranges)):
            moved |= _change(values, (v,), ranges, near)
        if not moved and len(ranges) <= PAIRS_OF:
            for pair in combinations(range(len(ranges)), 2):
                moved |= _change(values, pair, ranges, near)
    return values


def _change(
    values: list[int],
    variables: tuple[int, ...],
    ranges: Sequence[int],
    near: Sequence[Sequence[Factor]],
) -> bool:
    """Give some variables their best values; whether that changed them."""
    factors = list({id(factor): factor for v in variables for factor in near[v]}.values())
    before = tuple(values[v] for v in variables)
    best, choice = _total(factors, values), before
    for state in np.ndindex(*(ranges[v] for v in variables)):
        for v, value in zip(variables, state, strict=True):
            values[v] = value
        if (total := _total(factors, values)) > best:
            best, choice = total, state
    for v, value in zip(variables, choice, strict=True):
        values[v] = value
    return choice != before
