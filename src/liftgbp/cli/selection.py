"""Which rows of answers are kept, in which order, and how they become records of a file."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import liftgbp
from liftgbp.cli.arguments import PICTURE_FILES

LARGEST_BIGINT = 2**63 - 1


def select_rows(
    rows: Iterable[liftgbp.Answer], *, sort: str | None, top: int | None, least: float | None
) -> list[liftgbp.Answer]:
    """The rows of each query that are kept, in the order that is asked for."""
    kept: list[liftgbp.Answer] = []
    for _, group in groupby(rows, key=lambda row: row.query):
        chosen = [row for row in group if least is None or probability(row) >= least]
        if sort == "p" or (sort is None and top is not None):
            # A stable sort: rows of equal probability stay in their order.
            chosen.sort(key=probability, reverse=True)
        elif sort == "atom":
            chosen.sort(key=lambda row: (row.atom, row.where))
        kept += chosen[:top]
    return kept


def probability(row: liftgbp.Answer) -> float:
    """The probability that all atoms are true; of other values, that of the most probable ones.

    Undefined probabilities count as -1, so that they come last.
    """
    of_true = [p for values, p in row.values.items() if set(values) == {"true"}]
    defined = [p for p in of_true or row.values.values() if not math.isnan(p)]
    return max(defined, default=-1.0)


# --- one row for each ground atom


MOST_ROWS = 10_000
"""Nobody reads more rows than this; files of all atoms have no such limit."""


def rows_by_object(
    answers: liftgbp.Answers,
    queries: Sequence[str],
    sort: str | None,
    top: int | None,
    least: float | None,
    observed: bool,
) -> list[liftgbp.Answer]:
    """The ground atoms that queries match, the most probable first; without a query, all."""
    asked = queries or tuple(dict.fromkeys(row.query for row in answers.all))
    most = MOST_ROWS + 1 if top is None or sort == "atom" else top
    rows: list[liftgbp.Answer] = []
    with warnings.catch_warnings():
        # What cannot be trusted is said elsewhere.
        warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
        for query in asked:
            rows += answers.top(query, most, least=least or 0.0, observed=observed)
            if len(rows) > MOST_ROWS:
                raise liftgbp.InputError(
                    f"--objects would print more than {MOST_ROWS} rows; add --top, --min or a "
                    "query (-q), or write all atoms to a file (--all)"
                )
    return rows


# --- files


def write_answers(
    answers: liftgbp.Answers,
    rows: Sequence[liftgbp.Answer],
    result: dict[str, Any],
    path: str,
    queries: Sequence[str],
) -> None:
    """Write the whole result, a table of rows, or a picture of them or of counts."""
    if path.endswith(".json"):
        write_result(result, path)
    elif path.endswith(PICTURE_FILES):
        with warnings.catch_warnings():
            # What cannot be trusted is said elsewhere.
            warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
            answers.write_picture(path, queries, rows=rows)
    else:
        write_rows(rows, path)


def write_rows(rows: Sequence[liftgbp.Answer], path: str) -> None:
    """Write rows in long form to a .csv or .parquet file, or as CSV to standard output (-)."""
    from liftgbp.support.files import Schema, whole_file, write_csv, write_table

    largest = max((row.count for row in rows), default=0)
    schema: Schema = {
        "query": str,
        "atom": str,
        "where": str,
        "example": str,
        "count": int if largest <= LARGEST_BIGINT else float,
        "value": str,
        "probability": float,
    }
    if path == "-":
        write_csv(sys.stdout, schema, _records(rows))
        return
    with whole_file(Path(path)) as unfinished:
        write_table(unfinished, schema, _records(rows))


def _records(rows: Iterable[liftgbp.Answer]) -> Iterator[tuple[object, ...]]:
    """One record per assignment; a single Boolean atom has one record, for true."""
    for row in rows:
        lead = (row.query, row.atom, row.where, row.example, row.count)
        for values, p in row.shown_values.items():
            yield *lead, row.assignment_text(values), None if math.isnan(p) else p


def print_records(records: Sequence[dict[str, Any]]) -> None:
    """Print records as CSV."""
    from liftgbp.support.files import write_csv

    if records:
        schema = {name: bool if isinstance(v, bool) else str for name, v in records[0].items()}
        write_csv(sys.stdout, schema, (list(record.values()) for record in records))


def print_result(result: object) -> None:
    """Print a result as JSON."""
    click.echo(_as_json(result))


def write_result(result: dict[str, Any], path: str) -> None:
    """Write the whole result to a .json file."""
    from liftgbp.support.files import whole_file

    with whole_file(Path(path)) as unfinished:
        unfinished.write_text(_as_json(result) + "\n", encoding="utf-8")


def _as_json(result: object) -> str:
    import json  # slow to import, and most people read tables

    return json.dumps(result, indent=2)
