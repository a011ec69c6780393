"""The best values for patterns of atoms, in whole numbers of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def best_values(
    ranges: Sequence[int],
    factors: Sequence[Factor],
    violation: int,
    most_states: int,
    tries: int,
    seed: int,
    pairs: int = 0,
) -> list[int]:
    """The values with the largest sum.

    They are found by elimination if its tables have no more than `most_states` entries, or else
    by climbing. Of up to `pairs` variables, two change together where no single one helps. A state
    of a table that falls short of another one by half a `violation` is not
    used to begin with.

    >>> import numpy as np
    >>> differ = np.array([[0, 1], [1, 0]], dtype=object)
    >>> first = np.array([0, -1], dtype=object)
    >>> factors = [((0, 1), 4 * differ), ((1, 2), 4 * differ), ((0,), first)]
    >>> best_values([2, 2, 2], factors, 9, 100, 1, 0)
    [0, 1, 0]
    """
    untied = Untied(ranges, factors, violation)
    left = [v for v in range(len(ranges)) if untied.decided[v][0] == v]
    number = {v: k for k, v in enumerate(left)}
    kept = [(tuple(number[v] for v in scope), table) for scope, table in untied.factors.items()]
    own_ranges = [ranges[v] for v in left]
    try:
        found = _by_elimination(own_ranges, kept, most_states)
    except CapacityError:
        found = _by_climbing(own_ranges, kept, tries, Random(seed), pairs)
    return untied.whole(dict(zip(left, found, strict=True)))


class Untied:
    """Tables over fewer variables: those that hard rules leave no choice are read off others.

    decided  for each variable the one that decides it, perhaps itself, or none, with its value for
             each value of that one
    """

    def __init__(self, ranges: Sequence[int], factors: Sequence[Factor], violation: int) -> None:
        self._violation = violation
        self.decided: list[tuple[int | None, tuple[int, ...]]] = [
            (v, tuple(range(r))) for v, r in enumerate(ranges)
        ]
        self.factors: dict[tuple[int, ...], npt.NDArray[np.object_]] = {}
        for scope, table in factors:
            self._add(scope, table)
        while (tie := self._tie()) is not None:
            self._substitute(*tie)

    def whole(self, values: Mapping[int, int]) -> list[int]:
        """The values of all variables, by those of the ones that decide themselves."""
        return [by[0 if root is None else values[root]] for root, by in self.decided]

    def _add(self, scope: tuple[int, ...], table: npt.NDArray[np.object_]) -> None:
        if scope in self.factors:
            table = table + self.factors[scope]
        self.factors[scope] = table

    def _tie(self) -> tuple[int, int | None, tuple[int, ...]] | None:
        """A variable, what decides it, and its values; the first one that is found."""
        for scope, table in self.factors.items():
            if len(scope) > 2:
                continue
            possible = np.asarray(2 * (table.max() - table) < self._violation, np.bool_)
            if len(scope) == 1 and possible.sum() == 1:
                return scope[0], None, (int(possible.argmax()),)
            each = [possible.sum(axis=axis) == 1 for axis in range(len(scope))]
            if len(scope) == 2 and np.concatenate(each).all():
                return scope[1], scope[0], tuple(possible.argmax(axis=1).tolist())
        return None

    def _substitute(self, variable: int, root: int | None, by: tuple[int, ...]) -> None:
        """Read a variable off another one everywhere."""
        for v, (own, values) in enumerate(self.decided):
            if own == variable:
                self.decided[v] = root, tuple(values[k] for k in by)
        touched = [scope for scope in self.factors if variable in scope]
        for scope in touched:
            table = self.factors.pop(scope)
            table = table.take(by, axis=scope.index(variable))
            if root is None:
                table = table.squeeze(axis=scope.index(variable))
                left = tuple(v for v in scope if v != variable)
            else:
                axes = [root if v == variable else v for v in scope]
                left = tuple(sorted(set(axes)))
                index = np.indices([table.shape[axes.index(v)] for v in left])
                table = table[tuple(index[left.index(v)] for v in axes)]
            if left:
                self._add(left, np.asarray(table, dtype=object))


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
    ranges: Sequence[int], factors: Sequence[Factor], tries: int, random: Random, pairs: int
) -> list[int]:
    near: list[list[Factor]] = [[] for _ in ranges]
    for factor in factors:
        for v in factor[0]:
            near[v].append(factor)
    best: tuple[int, list[int]] | None = None
    for number in range(tries):
        start = [0 if not number else random.randrange(r) for r in ranges]
        values = _climbed(start, ranges, near, pairs)
        total = _total(factors, values)
        if best is None or total > best[0]:
            best = total, values
    return best[1] if best else [0] * len(ranges)


def _total(factors: Sequence[Factor], values: Sequence[int]) -> int:
    return sum(table[tuple(values[v] for v in scope)] for scope, table in factors)


def _climbed(
    values: list[int], ranges: Sequence[int], near: Sequence[Sequence[Factor]], pairs: int
) -> list[int]:
    """Values from which no change of one variable, or of two in a term, leads up."""
    moved = True
    while moved:
        checkpoint()
        moved = False
        for v in range(len(ranges)):
            moved |= _change(values, (v,), ranges, near)
        if not moved and len(ranges) <= pairs:
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
