"""Factors without what they do not need: observed variables, and those they are indifferent to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from liftgbp.errors import ContradictionError, QueryError, wrong_type
from liftgbp.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.grounding.network import Floats, Ints

OPEN = -1  # in the place of a value: the variable is not observed


def conditioned(network: GroundNetwork, values: Mapping[int, int]) -> GroundNetwork:
    """The network given the values of some variables.

    Variables keep their numbers; an observed one is in no factor and has a single value left.

    >>> block = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> network = merged(np.array([2, 3]), [block], [np.arange(6.0).reshape(2, 3)])
    >>> given = conditioned(network, {0: 1})
    >>> given.ranges.tolist(), given.blocks[0].scopes.tolist(), given.tables[0].tolist()
    ([1, 3], [[1]], [3.0, 4.0, 5.0])
    """
    observed = np.full(len(network.ranges), OPEN, np.int64)
    for variable, value in values.items():
        _check(network, variable, value)
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


def _check(network: GroundNetwork, variable: int, value: int) -> None:
    for number in (variable, value):
        if not isinstance(number, Integral) or isinstance(number, bool):
            raise wrong_type("evidence", "a mapping from variables to values by number", number)
    if not 0 <= variable < len(network.ranges):
        raise QueryError(f"there is no variable {variable}; {described(network.ranges)}")
    if not 0 <= value < network.ranges[variable]:
        raise QueryError(
            f"variable {variable} has the values 0 to {network.ranges[variable] - 1}, not {value}"
        )


def described(ranges: Ints) -> str:
    """Which variables there are, for messages."""
    return f"the variables are 0 to {len(ranges) - 1}" if len(ranges) else "there are no variables"


def simplified(
    ranges: Ints, blocks: Sequence[FactorBlock], tables: Sequence[Floats], observed: Ints
) -> GroundNetwork:
    """The network of factors that are sliced, and each by itself freed of idle variables."""
    log_constant = 0.0
    new_blocks: list[FactorBlock] = []
    new_tables: list[Floats] = []
    for block in blocks:
        if not len(block.table_of):
            continue
        kinds, kind_of = np.unique(
            np.column_stack([block.table_of, observed[block.scopes]]), axis=0, return_inverse=True
        )
        members = np.split(
            np.argsort(kind_of.ravel(), kind="stable"),
            np.cumsum(np.bincount(kind_of.ravel(), minlength=len(kinds)))[:-1],
        )
        for (table, *pattern), rows in zip(kinds.tolist(), members, strict=True):
            sliced = tables[table][tuple(slice(None) if v == OPEN else v for v in pattern)]
            if bool(np.all(np.isneginf(sliced))):
                raise _contradiction(block.scopes[rows[0]], pattern)
            needed = needed_axes(sliced)
            if needed:
                open_axes = [axis for axis, value in enumerate(pattern) if value == OPEN]
                columns = [open_axes[axis] for axis in needed]
                numbers = np.full(len(rows), len(new_tables))
                new_blocks.append(FactorBlock(block.scopes[rows][:, columns], numbers))
                new_tables.append(_without_idle_axes(sliced, needed))
            else:
                log_constant += len(rows) * float(sliced.flat[0])
    return merged(ranges, new_blocks, new_tables, log_constant=log_constant)


def _contradiction(scope: Ints, pattern: Sequence[int]) -> ContradictionError:
    observed = [f"{v} = {value}" for v, value in zip(scope, pattern, strict=True) if value != OPEN]
    reason = f"the observed values {', '.join(observed)} are" if observed else "no value is"
    return ContradictionError(
        f"{reason} {'im' if observed else ''}possible in the factor over the variables "
        f"{', '.join(map(str, scope.tolist()))}"
    )


def needed_axes(table: Floats) -> list[int]:
    """The axes along which a table is not constant.

    >>> needed_axes(np.array([[1.0, 2.0], [1.0, 2.0]]))
    [1]
    """
    return [
        axis for axis in range(table.ndim) if not bool(np.all(table == table.take([0], axis=axis)))
    ]


def _without_idle_axes(table: Floats, needed: Sequence[int]) -> Floats:
    return table[tuple(slice(None) if axis in needed else 0 for axis in range(table.ndim))]
