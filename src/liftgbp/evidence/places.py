"""Where facts were stated, without an object per fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.errors import Span
from liftgbp.evidence.statements import FactFile, Origin


@dataclass(frozen=True, eq=False, slots=True)
class PlacedRows:
    """The atoms of one predicate, each with the number of its origin and the row there."""

    args: Ints
    origins: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Places(Mapping[tuple[str, tuple[int, ...]], Span]):
    """From predicate and objects to the place of the fact about them, found when asked for.

    Facts from tables have no place in a text.
    """

    origins: Sequence[Origin]
    placed: Mapping[str, PlacedRows]

    def __getitem__(self, atom: tuple[str, tuple[int, ...]]) -> Span:
        predicate, objects = atom
        placed = self.placed[predicate]
        if len(objects) == placed.args.shape[1]:
            for index in np.flatnonzero((placed.args == np.array(objects, np.int64)).all(axis=1)):
                origin = self.origins[placed.origins[index]]
                if isinstance(origin, FactFile):
                    return origin.span(int(placed.rows[index]))
        raise KeyError(atom)

    def __iter__(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for predicate, placed in self.placed.items():
            for objects in placed.args[self._in_text(placed)].tolist():
                yield predicate, tuple(objects)

    def __len__(self) -> int:
        return sum(int(self._in_text(placed).sum()) for placed in self.placed.values())

    def _in_text(self, placed: PlacedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        texts = np.array([isinstance(origin, FactFile) for origin in self.origins], np.bool_)
        result: np.ndarray[tuple[int], np.dtype[np.bool_]] = texts[placed.origins]
        return result
