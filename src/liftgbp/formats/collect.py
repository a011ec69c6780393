"""Collecting the factors of a file; equal tables are read and stored once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import ContradictionError
from liftgbp.formats.conditioning import OPEN, simplified
from liftgbp.formats.words import Words
from liftgbp.grounding import FactorBlock, GroundNetwork
from liftgbp.grounding.network import distinct_rows

Shape: TypeAlias = tuple[int, ...]


class Factors:
    """The factors of a file that is being read."""

    def __init__(self) -> None:
        self._blocks: list[FactorBlock] = []
        self._variables: dict[int, list[int]] = {}  # of scopes of one width, one after the other
        self._table_of: dict[int, list[int]] = {}
        self._number: dict[tuple[Shape, tuple[str, ...]], int] = {}
        self._tables: list[Floats] = []

    def add(
        self,
        scope: Sequence[int],
        shape: Shape,
        entries: Sequence[str],
        read: Callable[[], Floats],
    ) -> None:
        """Add a factor whose table is what `read` returns for these words of the file."""
        key = (shape, tuple(entries))
        if key not in self._number:
            self._number[key] = len(self._tables)
            # Variables with a single value leave at once: numpy bounds the number of axes.
            self._tables.append(read().reshape([length for length in shape if length > 1]))
        wide = [v for v, length in zip(scope, shape, strict=True) if length > 1]
        self._variables.setdefault(len(wide), []).extend(wide)
        self._table_of.setdefault(len(wide), []).append(self._number[key])

    def add_all(
        self, scopes: Ints, shape: Shape, entries: Floats, read: Callable[[Floats], Floats]
    ) -> None:
        """Add factors over equally many values, of whose rows of entries `read` makes tables.

        The tables that it returns are stacked, and of any shape with as many entries.
        """
        first, table_of = distinct_rows(entries)
        wide = [axis for axis, length in enumerate(shape) if length > 1]
        tables = read(entries[first]).reshape(len(first), *(shape[axis] for axis in wide))
        self._blocks.append(FactorBlock(scopes[:, wide], len(self._tables) + table_of))
        self._tables.extend(tables)

    def network(self, ranges: Sequence[int]) -> GroundNetwork:
        """The network of all factors."""
        blocks = self._blocks + [
            FactorBlock(
                np.array(self._variables[width], np.int64).reshape(len(table_of), width),
                np.array(table_of, np.int64),
            )
            for width, table_of in self._table_of.items()
        ]
        open_values = np.full(len(ranges), OPEN, np.int64)
        return simplified(np.array(ranges, np.int64), blocks, self._tables, open_values)


def check_scope(words: Words, scope: Sequence[int], first: int) -> None:
    """Refuse a variable that stands twice in a scope, which begins at this word."""
    if len(set(scope)) < len(scope):
        twice = next(k for k, variable in enumerate(scope) if variable in scope[:k])
        words.fail(f"variable {scope[twice]} stands twice in this factor", first + twice)


def check_possible(words: Words, table: Floats, position: int) -> None:
    """Refuse a table that is 0 everywhere."""
    if bool(np.all(np.isneginf(table))):
        words.fail(
            "this table is 0 everywhere, so no world is possible", position, ContradictionError
        )
