"""The factors of a network: equal tables are stored once, and no factor is larger than it need be.

Observed variables leave the factors, and so do variables on which a factor does not depend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import TypeAlias

import numpy as np

from liftgbp.ground.formats.words import WordReader
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.support.arrays import Bools, Floats, Ints, equal_rows
from liftgbp.support.errors import ContradictionError, QueryError, wrong_type
from liftgbp.support.limits import checkpoint

# --- collecting


Shape: TypeAlias = tuple[int, ...]
Logs: TypeAlias = Sequence[float]


class Factors:
    """Collects the factors of a file while it is read.

    Entries of tables are row-major or, if the `first_axis_fastest`, the other way round.
    """

    def __init__(self, *, first_axis_fastest: bool = False) -> None:
        self._first_axis_fastest = first_axis_fastest
        # By width of scopes, one scope after the other.
        self._variables: defaultdict[int, list[int]] = defaultdict(list)
        self._table_of: defaultdict[int, list[int]] = defaultdict(list)
        self._number: dict[tuple[Shape, tuple[str, ...]], int] = {}
        # The entries of all tables of a shape, one table after the other.
        self._entries: defaultdict[Shape, list[float]] = defaultdict(list)

    def add(
        self, scope: Sequence[int], shape: Shape, words: Sequence[str], read: Callable[[], Logs]
    ) -> None:
        """Add a factor; `read` returns the logs that these words of the file stand for."""
        checkpoint()
        key = (shape, tuple(words))
        if key not in self._number:
            self._number[key] = len(self._number)
            self._entries[shape] += read()
        if 1 in shape:
            scope = [v for v, length in zip(scope, shape, strict=True) if length > 1]
        self._variables[len(scope)].extend(scope)
        self._table_of[len(scope)].append(self._number[key])

    def network(self, ranges: Sequence[int]) -> GroundNetwork:
        """The network of all factors."""
        blocks = [
            FactorBlock(
                np.array(self._variables[width], np.int64).reshape(len(table_of), width),
                np.array(table_of, np.int64),
            )
            for width, table_of in self._table_of.items()
        ]
        stacks = {shape: iter(self._stack(shape)) for shape in self._entries}
        tables = [next(stacks[shape]) for shape, _ in self._number]
        open_values = np.full(len(ranges), OPEN, np.int64)
        return simplified(np.array(ranges, np.int64), blocks, tables, open_values)

    def _stack(self, shape: Shape) -> Floats:
        """The tables of a shape. Axes of a single value are dropped: numpy limits their number."""
        wide = [length for length in shape if length > 1]
        if self._first_axis_fastest:
            stack = np.array(self._entries[shape]).reshape(-1, *reversed(wide))
            return stack.transpose(0, *range(len(wide), 0, -1))
        return np.array(self._entries[shape]).reshape(-1, *wide)


def check_scope(words: WordReader, scope: Sequence[int], first: int) -> None:
    """Refuse a variable that occurs twice in the scope that begins at this word."""
    if len(set(scope)) < len(scope):
        twice = next(k for k, variable in enumerate(scope) if variable in scope[:k])
        words.fail(f"variable {scope[twice]} occurs twice in this factor", first + twice)


def check_possible(words: WordReader, table: Logs, position: int) -> None:
    """Refuse a table that is 0 everywhere."""
    if max(table) == -np.inf:
        words.fail(
            "this table is 0 everywhere, so no world is possible", position, ContradictionError
        )


# --- simplifying


OPEN = -1  # instead of a value: the variable is not observed


def conditioned(network: GroundNetwork, values: Mapping[int, int]) -> GroundNetwork:
    """The network given the values of some variables.

    Variables keep their numbers. An observed variable has a single value left, and no factors.

    >>> block = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> network = merged(np.array([2, 3]), [block], [np.arange(6.0).reshape(2, 3)])
    >>> given = conditioned(network, {0: 1})
    >>> given.ranges.tolist(), given.blocks[0].scopes.tolist(), given.tables[0].tolist()
    ([1, 3], [[1]], [3.0, 4.0, 5.0])
    """
    observed = np.full(len(network.ranges), OPEN, np.int64)
    check_observed(network, values)
    for variable, value in values.items():
        observed[variable] = value
    simple = simplified(
        np.where(observed == OPEN, network.ranges, 1), network.blocks, network.tables, observed
    )
    return merged(
        simple.ranges,
        simple.blocks,
        simple.tables,
        log_constant=network.log_constant + simple.log_constant,
        free=network.free,
        atoms=network.atoms,
    )


def check_observed(network: GroundNetwork, values: Mapping[int, int]) -> None:
    """Refuse values of variables that the network lacks, and values that variables cannot have."""
    for variable, value in values.items():
        for number in (variable, value):
            if not isinstance(number, Integral) or isinstance(number, bool):
                raise wrong_type("evidence", "a mapping from variables to values by number", number)
        if not 0 <= variable < len(network.ranges):
            raise QueryError(f"there is no variable {variable}; {described(network.ranges)}")
        if not 0 <= value < network.ranges[variable]:
            last = network.ranges[variable] - 1
            raise QueryError(f"variable {variable} has the values 0 to {last}, not {value}")


def described(ranges: Ints) -> str:
    """Which variables there are, for messages."""
    return f"the variables are 0 to {len(ranges) - 1}" if len(ranges) else "there are no variables"


def simplified(
    ranges: Ints, blocks: Sequence[FactorBlock], tables: Sequence[Floats], observed: Ints
) -> GroundNetwork:
    """The network of sliced factors, each without the variables on which it does not depend."""
    collected = _Simple(tables)
    for block in blocks:
        if len(block.table_of):
            collected.add(block, observed[block.scopes])
    return merged(ranges, collected.blocks, collected.tables, log_constant=collected.log_constant)


class _Simple:
    """Simplifies factors; those with tables of one shape and the same observed axes at once."""

    def __init__(self, given: Sequence[Floats]) -> None:
        self._given = given
        self.blocks: list[FactorBlock] = []
        self.tables: list[Floats] = []
        self.log_constant = 0.0

    def add(self, block: FactorBlock, observed: Ints) -> None:
        """Add the factors of a block, given the observed values of their variables."""
        first, kind_of = distinct_rows(np.column_stack([block.table_of, observed]))
        given = [self._given[table] for table in block.table_of[first].tolist()]
        shapes = np.array([table.shape for table in given]).reshape(len(given), -1)
        for kinds in equal_rows([*shapes.T, *observed[first].T, np.zeros_like(first)]):
            pattern = observed[first[kinds[0]]].tolist()
            cut = tuple(slice(None) if value == OPEN else value for value in pattern)
            sliced = np.array([given[kind] for kind in kinds])[(slice(None), *cut)]
            rows = np.flatnonzero(np.isin(kind_of, kinds))
            place = np.searchsorted(kinds, kind_of[rows])
            impossible = np.isneginf(sliced.reshape(len(sliced), -1)).all(axis=1)
            if impossible.any():
                raise _contradiction(block.scopes[first[kinds]][impossible.argmax()], pattern)
            open_axes = [axis for axis, value in enumerate(pattern) if value == OPEN]
            self._add_alike(block.scopes[rows][:, open_axes], sliced, place)

    def _add_alike(self, scopes: Ints, tables: Floats, table_of: Ints) -> None:
        """Add factors with tables of one shape, without the axes on which they do not depend."""
        needed = needed_axes(tables)
        for alike in equal_rows([np.zeros(len(tables), np.int64), *needed.T]):
            axes = needed[alike[0]]
            kept = np.flatnonzero(axes)
            slim = tables[(alike, *(slice(None) if used else 0 for used in axes))]
            rows = np.flatnonzero(np.isin(table_of, alike))
            place = np.searchsorted(alike, table_of[rows])
            if len(kept):
                self.blocks.append(FactorBlock(scopes[rows][:, kept], len(self.tables) + place))
                self.tables.extend(slim)
            else:
                self.log_constant += float(np.bincount(place, minlength=len(alike)) @ slim)


def _contradiction(scope: Ints, pattern: Sequence[int]) -> ContradictionError:
    observed = [f"{v} = {value}" for v, value in zip(scope, pattern, strict=True) if value != OPEN]
    reason = f"the observed values {', '.join(observed)} are" if observed else "no value is"
    return ContradictionError(
        f"{reason} {'im' if observed else ''}possible in the factor over the variables "
        f"{', '.join(map(str, scope.tolist()))}"
    )


def needed_axes(tables: Floats) -> Bools:
    """For each table of a stack, the axes along which it is not constant.

    >>> needed_axes(np.array([[[1.0, 2.0], [1.0, 2.0]]])).tolist()
    [[False, True]]
    """
    needed = np.empty((len(tables), tables.ndim - 1), dtype=bool)
    for axis in range(1, tables.ndim):
        differs = tables != tables.take([0], axis=axis)
        needed[:, axis - 1] = differs.reshape(len(tables), -1).any(axis=1)
    return needed
