"""A ground Markov random field in arrays: many factors share few tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from liftgbp.model.model import Model
from liftgbp.model.writer import ground_atom_text
from liftgbp.support.arrays import Floats, Ints, distinct, group_rows, ranks, row_order

STAND_IN = "?"
"""How variables are called that stand for parts of large formulas."""


@dataclass(frozen=True, eq=False, slots=True)
class FactorBlock:
    """Factors over equally many variables.

    Factor k is over the different variables `scopes[k]`, in the order of the axes of its log table
    `tables[table_of[k]]` in the network.
    """

    scopes: Ints
    table_of: Ints


@dataclass(frozen=True, eq=False, slots=True)
class AtomTable:
    """Which ground atom each variable stands for.

    Variable k is the atom of predicate number `predicate[k]` over the objects `args[k]`, which has
    as many columns as the largest arity; unused columns hold -1.
    """

    predicate: Ints
    args: Ints


@dataclass(frozen=True, eq=False)
class GroundNetwork:
    """A Markov random field over discrete variables.

    ranges        the number of values of each variable
    blocks        the factors, one block per number of variables; no two factors of the network
                  have the same set of variables, and each scope is in ascending order
    tables        log tables that factors refer to; each depends on all variables of its factor
    log_constant  what factors without variables add to log Z
    free          how many further atoms no factor touches, by their number of values
    atoms         the ground atoms that the variables stand for; `None` for networks of other tools
    constants     how many groundings of rules without variables there are of each log weight; they
                  sum up to `log_constant`, which is rounded. Empty where nobody counted
    """

    ranges: Ints
    blocks: tuple[FactorBlock, ...]
    tables: tuple[Floats, ...]
    log_constant: float = 0.0
    free: Mapping[int, int] = field(default_factory=dict)
    atoms: AtomTable | None = None
    constants: Mapping[float, int] = field(default_factory=dict)

    @property
    def factors(self) -> int:
        """The number of factors."""
        return sum(len(block.table_of) for block in self.blocks)


def merged(
    ranges: Ints,
    blocks: Iterable[FactorBlock],
    tables: Sequence[Floats],
    *,
    log_constant: float = 0.0,
    free: Mapping[int, int] | None = None,
    atoms: AtomTable | None = None,
) -> GroundNetwork:
    """The network of these factors, with sorted scopes and one factor for each set of variables.

    >>> block = FactorBlock(np.array([[1, 0], [0, 1]]), np.array([0, 0]))
    >>> table = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> network = merged(np.array([2, 2]), [block], [table])
    >>> network.blocks[0].scopes.tolist(), network.tables[0].tolist()
    ([[0, 1]], [[0.0, 3.0], [3.0, 0.0]])
    """
    pool = _TablePool(tables)
    by_width: dict[int, list[FactorBlock]] = {}
    for block in blocks:
        if len(block.table_of):
            by_width.setdefault(block.scopes.shape[1], []).append(block)
    wide = [_merge(by_width[width], pool) for width in sorted(by_width)]
    used = distinct(np.concatenate([np.zeros(0, np.int64), *(block.table_of for block in wide)]))
    return GroundNetwork(
        ranges=ranges,
        blocks=tuple(FactorBlock(b.scopes, np.searchsorted(used, b.table_of)) for b in wide),
        tables=tuple(pool.tables[number] for number in used),
        log_constant=log_constant,
        free=dict(free or {}),
        atoms=atoms,
    )


class _TablePool:
    """Numbers tables; equal tables have the same number."""

    def __init__(self, given: Sequence[Floats]) -> None:
        self._given = given
        self._number: dict[tuple[tuple[int, ...], bytes], int] = {}
        self.tables: list[Floats] = []

    def transposed(self, given: Sequence[int], order: Sequence[int]) -> list[int]:
        """The numbers of given tables with their axes in another order."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for place, table in enumerate(given):
            alike.setdefault(self._given[table].shape, []).append(place)
        numbers = [0] * len(given)
        for places in alike.values():
            stack = np.array([self._given[given[place]] for place in places])
            tables = stack.transpose(0, *(1 + axis for axis in order))
            for place, number in zip(places, self._add(tables), strict=True):
                numbers[place] = number
        return numbers

    def sum(self, numbers: Sequence[int]) -> int:
        """The number of the sum of tables."""
        # Added from the smallest to the largest, so that rounding does not depend on the order.
        stacked = np.sort(np.array([self.tables[number] for number in numbers]), axis=0)
        return self._add(stacked.sum(axis=0)[None])[0]

    def _add(self, stack: Floats) -> list[int]:
        """The numbers of stacked tables."""
        stack = np.ascontiguousarray(stack, dtype=float) + 0.0
        stack.setflags(write=False)
        shape, every, step = stack.shape[1:], stack.tobytes(), stack[0].nbytes
        numbers = []
        for place in range(len(stack)):
            key = (shape, every[place * step : (place + 1) * step])
            numbers.append(self._number.setdefault(key, len(self.tables)))
            if numbers[-1] == len(self.tables):
                self.tables.append(stack[place, ...])
        return numbers


def _merge(blocks: Sequence[FactorBlock], pool: _TablePool) -> FactorBlock:
    """Factors over equally many variables as one block, in ascending order of scopes."""
    scopes = np.concatenate([block.scopes for block in blocks])
    given = np.concatenate([block.table_of for block in blocks])
    if (scopes[:, 1:] > scopes[:, :-1]).all():
        # Most are in order, and sorting takes longer than all the rest.
        order = np.broadcast_to(np.arange(scopes.shape[1]), scopes.shape)
        first, kind_of = distinct_rows(given[:, None])
    else:
        order = np.argsort(scopes, axis=1)
        scopes = np.take_along_axis(scopes, order, axis=1)
        first, kind_of = distinct_rows(np.column_stack([given, order]))
    numbers = np.empty(len(first), np.int64)
    examples, order_of = distinct_rows(order[first])
    for number, example in enumerate(first[examples]):
        own = np.flatnonzero(order_of == number)
        numbers[own] = pool.transposed(given[first[own]].tolist(), order[example].tolist())
    table_of = numbers[kind_of]
    by_scope = row_order([*scopes.T, table_of])
    scopes, table_of = scopes[by_scope], table_of[by_scope]
    new = np.append(True, (scopes[1:] != scopes[:-1]).any(axis=1))
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(scopes)))
    total = table_of[starts]
    for length in distinct(lengths[lengths > 1]):
        rows = np.flatnonzero(lengths == length)
        groups = table_of[starts[rows][:, None] + np.arange(length)]
        first, kind_of = distinct_rows(groups)
        total[rows] = np.array([pool.sum(kind) for kind in groups[first].tolist()])[kind_of]
    return FactorBlock(scopes[starts], total)


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The first row of each group of equal rows, and the group of each row.

    >>> first, group = distinct_rows(np.array([[7, 8], [7, 9], [7, 8]]))
    >>> first.tolist(), group.tolist()
    ([0, 1], [0, 1, 0])
    """
    if not rows.shape[1]:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    first, kind = group_rows(list(rows.T))
    order = np.argsort(first)
    return first[order], ranks(order)[kind]


def atom_names(atoms: AtomTable, model: Model) -> list[str]:
    """The ground atom that each variable stands for, as text."""
    predicates = list(model.predicates.values())
    rows = zip(atoms.predicate.tolist(), atoms.args.tolist(), strict=True)
    return [
        ground_atom_text(model, predicates[k].name, args[: len(predicates[k].sorts)])
        if k < len(predicates)
        else f"{STAND_IN}{args[0]}"
        for k, args in rows
    ]
