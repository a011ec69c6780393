"""Queries of many runs at once, for runs that differ in sizes and weights alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import QueryError
from liftgbp.model.parser import parse_query
from liftgbp.query.answers import Answer
from liftgbp.query.lookup import conditional_table, joint_table
from liftgbp.query.reader import LiftedReader
from liftgbp.query.rows import Row, groups_with_same_rows
from liftgbp.signature import objects_of


def query_all(
    text: str, readers: Sequence[LiftedReader], log_beliefs: Sequence[Floats]
) -> list[tuple[Answer, ...]]:
    """The rows that answer a query, for each of many runs with one layout.

    What belongs to the query alone is looked up once, and beliefs are read off as a stack.
    """
    normals = [reader.graph.normal for reader in readers]
    found: dict[int, tuple[Answer, ...]] = {}
    for members in groups_with_same_rows(parse_query(text), normals):
        group = [readers[k] for k in members]
        beliefs = np.exp([log_beliefs[k] for k in members])
        rows = group[0].rows(text)
        # The row with most objects comes first: the regions that its error asks for hold them all.
        widest_first = sorted(rows, key=lambda row: -len(objects_of((*row.atoms, *row.given))))
        by_row = {row: _read(text, row, group, beliefs) for row in widest_first}
        found |= zip(members, zip(*(by_row[row] for row in rows), strict=True), strict=True)
    return [found[k] for k in range(len(readers))]


def _read(text: str, row: Row, readers: Sequence[LiftedReader], beliefs: Floats) -> list[Answer]:
    """One row of a query, read off the beliefs of all."""
    graph, layout = readers[0].graph, readers[0].plan.layout
    atoms = (*row.atoms, *row.given)
    try:
        tables = joint_table(atoms, graph, layout, beliefs)
    except QueryError as error:
        where = f" where {row.where}" if row.where else ""
        raise QueryError(f"no region holds {row.text}{where}: {error.message}") from None
    if row.given:
        tables = conditional_table(tables, len(row.given))
    keys = list(map(",".join, product(*map(readers[0].values, atoms))))
    counts = [row.counted.at(reader.graph.class_sizes) for reader in readers]
    return [
        Answer(text, row.text, row.where, count, dict(zip(keys, values, strict=True)), row.example)
        for count, values in zip(counts, tables.reshape(len(readers), -1).tolist(), strict=True)
    ]
