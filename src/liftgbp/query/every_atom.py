"""The marginals of all ground atoms, as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from liftgbp.arrays import Bools, Ints
from liftgbp.errors import CapacityError
from liftgbp.evidence import Relation
from liftgbp.files import Schema, check_writable, whole_file, write_table
from liftgbp.model.ast import BOOLEAN, Predicate, applied
from liftgbp.model.writer import object_text
from liftgbp.query.readers import Reader

EXTENSIONS = (".csv", ".parquet")
SCHEMA: Schema = {
    "predicate": str,
    "atom": str,
    "value": str,
    "probability": float,
    "observed": bool,
}

MOST_ATOMS = 10**7
AT_ONCE = 10**5
"""Atoms whose marginals are read as one batch."""


def write_every_atom(reader: Reader, path: Path, *, observed: bool = False) -> None:
    """Write the marginal of each ground atom: one row per value, of Boolean ones only for true.

    Atoms whose value evidence states are left out unless `observed` asks for them.
    """
    check_writable(path, EXTENSIONS)
    atoms = _Atoms(reader, observed)
    atoms.check_count()
    with whole_file(path) as unfinished:
        write_table(unfinished, SCHEMA, atoms.rows())


class _Atoms:
    """The ground atoms to write, predicate by predicate."""

    def __init__(self, reader: Reader, with_observed: bool) -> None:
        self._reader = reader
        self._with_observed = with_observed
        self._closed = reader.evidence.closed
        # All atoms of a closed predicate are observed: those that are not listed are false.
        self._predicates = [
            (number, predicate)
            for number, predicate in enumerate(reader.model.predicates.values())
            if (with_observed and reader.evidence.is_stated(predicate.name))
            or predicate.name not in self._closed
        ]
        self._names: dict[str, list[str]] = {}

    def check_count(self) -> None:
        """Refuse a table that would be too long."""
        atoms = sum(math.prod(self._shape(predicate)) for _, predicate in self._predicates)
        if atoms > MOST_ATOMS:
            raise CapacityError(
                f"there are {atoms:.3g} ground atoms, too many to write out (the cap is "
                f"{MOST_ATOMS:.0e}); ask for single ones with a query"
            )

    def rows(self) -> Iterator[tuple[str, str, str, float, bool]]:
        """The rows of the table."""
        for number, predicate in self._predicates:
            shape = self._shape(predicate)
            shown = [
                (k, value)
                for k, value in enumerate(predicate.values)
                if (predicate.values, k) != (BOOLEAN, 0)
            ]
            for batch in self._batches(math.prod(shape)):
                seen = self._is_observed(predicate, batch, shape)
                wanted = np.ones_like(seen) if self._with_observed else ~seen
                if not wanted.any():
                    continue
                flat, seen = batch[wanted], seen[wanted]
                objects = np.unravel_index(flat, shape) if shape else ()
                tables = self._reader.marginals(number, objects).tolist()
                atoms = self._texts(predicate, objects)
                for atom, table, known in zip(atoms, tables, seen.tolist(), strict=True):
                    for k, value in shown:
                        yield predicate.name, atom, value, table[k], known

    @staticmethod
    def _batches(count: int) -> Iterator[Ints]:
        for start in range(0, count, AT_ONCE):
            yield np.arange(start, min(start + AT_ONCE, count))

    def _shape(self, predicate: Predicate) -> list[int]:
        return [self._reader.sizes[sort] for sort in predicate.sorts]

    def _is_observed(self, predicate: Predicate, flat: Ints, shape: Sequence[int]) -> Bools:
        if predicate.name in self._closed:
            return np.ones(len(flat), dtype=bool)
        relation = self._facts.get(predicate.name)
        if relation is None:
            return np.zeros(len(flat), dtype=bool)
        if not shape:
            return np.full(len(flat), len(relation.values) > 0)
        return np.isin(flat, np.ravel_multi_index(tuple(relation.args.T), tuple(shape)))

    @cached_property
    def _facts(self) -> dict[str, Relation]:
        """The atoms that facts and counts of known objects state."""
        return self._reader.evidence.facts(self._reader.sizes)

    def _texts(self, predicate: Predicate, objects: Sequence[Ints]) -> Iterator[str]:
        if not predicate.sorts:
            yield predicate.name
            return
        columns = [
            [self._names_of(sort)[k] for k in own.tolist()]
            for sort, own in zip(predicate.sorts, objects, strict=True)
        ]
        for args in zip(*columns, strict=True):
            yield applied(predicate.name, args)

    def _names_of(self, sort: str) -> list[str]:
        if sort not in self._names:
            size = self._reader.sizes[sort]
            self._names[sort] = [object_text(self._reader.model, sort, k) for k in range(size)]
        return self._names[sort]
