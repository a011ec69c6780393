"""Which rows of answers are kept, in which order, and how they become records of a file."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import liftgbp
from liftgbp.cli.arguments import PICTURE_FILES
from liftgbp.support.texts import quoted

LARGEST_BIGINT = 2**63 - 1

Row = dict[str, Any]


def select_rows(
    rows: Sequence[Row], *, sort: str | None, top: int | None, least: float | None
) -> list[Row]:
    """The rows of each query that are kept, in the order that is asked for."""
    kept: list[Row] = []
    for _, group in groupby(rows, key=lambda row: row["query"]):
        own = [row for row in group if least is None or probability(row) >= least]
        if sort == "p" or (sort is None and top is not None):
            # A stable sort: rows of equal probability stay in their order.
            own.sort(key=probability, reverse=True)
        elif sort == "atom":
            own.sort(key=lambda row: (row["atom"], row["where"]))
        kept += own[:top]
    return kept


def _as_answer(row: Row) -> liftgbp.Answer:
    """The row as a value again, for what draws it."""
    return liftgbp.Answer(
        row["query"],
        row["atom"],
        tuple(row["atoms"]),
        tuple(row["given"]),
        row["where"],
        row["count"],
        {tuple(values): math.nan if p is None else p for values, p in assignments(row)},
        row["example"],
    )


def probability(row: Row) -> float:
    """The probability that all atoms are true; of other values, that of the most probable ones.

    Undefined probabilities count as -1, so that they come last.
    """
    of_true = [p for values, p in assignments(row) if set(values) == {"true"}]
    defined = [p for p in of_true or [p for _, p in assignments(row)] if p is not None]
    return max(defined, default=-1.0)


def assignments(row: Row) -> list[tuple[list[str], float | None]]:
    """The values of the atoms of a row, those of given atoms last, with their probabilities."""
    return [(value["assignment"], value["p"]) for value in row["values"]]


def assignment_text(row: Row, values: Sequence[str]) -> str:
    """Values as `Answer.assignment_text` writes them: those of given atoms follow a bar."""
    if len(values) == 1:
        return values[0]
    count = len(row["atoms"])
    queried, given = (",".join(map(quoted, part)) for part in (values[:count], values[count:]))
    return f"{queried} | {given}" if given else queried


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
) -> list[Row]:
    """The ground atoms that queries match, the most probable first; without a query, all."""
    asked = queries or tuple(dict.fromkeys(row.query for row in answers.all))
    most = MOST_ROWS + 1 if top is None or sort == "atom" else top
    rows: list[Row] = []
    with warnings.catch_warnings():
        # What cannot be trusted is said elsewhere.
        warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
        for query in asked:
            found = answers.top(query, most, least=least or 0.0, observed=observed)
            rows += [row.as_dict() for row in found]
            if len(rows) > MOST_ROWS:
                raise liftgbp.InputError(
                    f"--objects would print more than {MOST_ROWS} rows; add --top, --min or a "
                    "query (-q), or write all atoms to a file (--all)"
                )
    return rows


# --- files


def write_answers(
    answers: liftgbp.Answers, result: dict[str, Any], path: str, queries: Sequence[str]
) -> None:
    """Write the whole result, a table of rows, or a picture of them or of counts."""
    if path.endswith(".json"):
        write_result(result, path)
    elif path.endswith(PICTURE_FILES):
        with warnings.catch_warnings():
            # What cannot be trusted is said elsewhere.
            warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
            answers.write_picture(path, queries, rows=map(_as_answer, result["answers"]))
    else:
        write_rows(result["answers"], path)


def write_rows(rows: Sequence[Row], path: str) -> None:
    """Write rows in long form to a .csv or .parquet file, or as CSV to standard output (-)."""
    from liftgbp.support.files import Schema, whole_file, write_csv, write_table

    largest = max((row["count"] for row in rows), default=0)
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


def _records(rows: Sequence[Row]) -> Iterator[tuple[object, ...]]:
    """One record per assignment; a single Boolean atom has one record, for true."""
    for row in rows:
        every = assignments(row)
        boolean = [values for values, _ in every] == [["false"], ["true"]]
        for values, p in every[boolean:]:
            lead = (row[name] for name in ("query", "atom", "where", "example", "count"))
            yield *lead, assignment_text(row, values), p


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
