"""The marginals of all ground atoms, as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from liftgbp.errors import CapacityError
from liftgbp.files import check_writable, whole_file, write_table
from liftgbp.model.ast import BOOLEAN, applied
from liftgbp.model.writer import object_text
from liftgbp.query.reader import Reader

ENDINGS = (".csv", ".parquet")
HEADER = ("predicate", "atom", "value", "probability")

MOST_ATOMS = 10**7
AT_ONCE = 10**5
"""Atoms that are worked off together."""


def check_every_atom(reader: Reader, path: Path) -> None:
    """Refuse a file that cannot be written, or would be too long."""
    check_writable(path, ENDINGS)
    atoms = sum(_count(reader, sorts) for sorts in _sorts(reader))
    if atoms > MOST_ATOMS:
        raise CapacityError(
            f"there are {atoms:.3g} ground atoms, too many to write out (the cap is "
            f"{MOST_ATOMS:.0e}); ask for single ones with a query"
        )


def write_every_atom(reader: Reader, log_beliefs: NDArray[np.float64], path: Path) -> None:
    """Write the marginal of each ground atom: one row per value, of Boolean ones only for true."""
    check_every_atom(reader, path)
    with whole_file(path) as unfinished:
        write_table(unfinished, HEADER, _rows(reader, log_beliefs))


def _sorts(reader: Reader) -> list[tuple[str, ...]]:
    return [predicate.sorts for predicate in reader.model.predicates.values()]


def _count(reader: Reader, sorts: Sequence[str]) -> int:
    return math.prod(reader.sizes[sort] for sort in sorts)


def _rows(
    reader: Reader, log_beliefs: NDArray[np.float64]
) -> Iterator[tuple[str, str, str, float]]:
    names = {
        sort: [object_text(reader.model, sort, k) for k in range(size)]
        for sort, size in reader.sizes.items()
        if size <= MOST_ATOMS
    }
    for number, predicate in enumerate(reader.model.predicates.values()):
        shape = [reader.sizes[sort] for sort in predicate.sorts]
        shown = [
            (k, v) for k, v in enumerate(predicate.values) if (predicate.values, k) != (BOOLEAN, 0)
        ]
        for start in range(0, math.prod(shape), AT_ONCE):
            flat = np.arange(start, min(start + AT_ONCE, math.prod(shape)))
            objects = np.unravel_index(flat, shape) if shape else ()
            tables = reader.marginals(number, objects, log_beliefs).tolist()
            columns = [
                [names[sort][k] for k in own.tolist()]
                for sort, own in zip(predicate.sorts, objects, strict=True)
            ]
            for args, table in zip(
                zip(*columns, strict=True) if columns else [()], tables, strict=True
            ):
                atom = applied(predicate.name, args)
                yield from ((predicate.name, atom, value, table[k]) for k, value in shown)
