"""Facts from tables: CSV and Parquet files and the tables of DuckDB, one row per fact."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import EvidenceError
from liftgbp.evidence.sources import Statements, TableFile, unknown_predicate, wrong_arity
from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.model import Model

if TYPE_CHECKING:
    import duckdb


_TRUTH_COLUMNS = {"truth", "value"}
_TRUTHS = {"false": 0, "f": 0, "0": 0, "true": 1, "t": 1, "1": 1}
_TABLE_SOURCE = re.compile(r"\s*([^\W\d]\w*)\s*=\s*(\S.*)")
_DELIMITERS = ",;\t|"
_KINDS = (
    "write a table as friends=friends.csv, friends=friends.parquet or friends=data.duckdb:table"
)


def table_source(text: str) -> tuple[str, str] | None:
    """The predicate and the place of its table, if a source is written like one.

    >>> table_source("friends=data/friends.csv"), table_source("facts.db")
    (('friends', 'data/friends.csv'), None)
    """
    found = _TABLE_SOURCE.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_table_file(path: str) -> bool:
    """Whether the name of a file is that of a table.

    >>> is_table_file("friends.csv"), is_table_file("facts.db")
    (True, False)
    """
    return path.lower().endswith(_CSV + _PARQUET)


def read_table(model: Model, predicate_name: str, place: str) -> Statements:
    """The facts of a table whose columns are arguments, with an optional truth or value column."""
    predicate = model.predicates.get(predicate_name)
    if predicate is None:
        raise EvidenceError(f"{place}: {unknown_predicate(model, predicate_name)}")
    headers, columns = _table(place)
    file = TableFile(place)
    has_values = _has_values(predicate, headers, place)
    for header, column in zip(headers, columns, strict=True):
        _check_filled(file, header, column)
    arity = len(predicate.sorts)
    count = len(columns[0])
    values = _values(predicate, file, columns[arity]) if has_values else np.ones(count, np.int64)
    if place.lower().endswith(_CSV):
        _check_header(model, predicate, headers, columns, place)
    names = tuple(column.tolist() for column in columns[:arity])
    certain: Floats = np.ones(count)
    return Statements(predicate, names, values, certain, file, np.arange(count))


# --- columns


def _has_values(predicate: Predicate, headers: Sequence[str], place: str) -> bool:
    """Whether the last column holds values, and is not an argument of a sort named like that."""
    arity = len(predicate.sorts)
    last = headers[-1].lower()
    named = last in _TRUTH_COLUMNS and last != (predicate.sorts or ("",))[-1].lower()
    arguments = len(headers) - (named or len(headers) == arity + 1)
    if arguments != arity:
        message = wrong_arity(predicate, arguments, "argument column")
        raise EvidenceError(f"{place}: {message} ({', '.join(headers)})")
    if predicate.values != BOOLEAN and len(headers) == arity:
        raise EvidenceError(
            f"{place}: {predicate.name} takes the values {', '.join(predicate.values)}; "
            "add a last column named value"
        )
    return len(headers) > arity


def _check_filled(file: TableFile, header: str, column: Any) -> None:
    empty = np.flatnonzero(np.ma.getmaskarray(column) | (np.ma.getdata(column) == ""))
    if len(empty):
        raise file.problem(int(empty[0]), f"the column {header} is empty")


def _values(predicate: Predicate, file: TableFile, column: Any) -> Ints:
    stated, numbers = np.unique(np.ma.getdata(column).astype(str), return_inverse=True)
    known = [_value_number(predicate, value) for value in stated.tolist()]
    for value, number in zip(stated.tolist(), known, strict=True):
        if number is None:
            row = int(np.flatnonzero(column == value)[0])
            wanted = ", ".join(predicate.values)
            raise file.problem(row, f"{predicate.name} takes the values {wanted}, not {value}")
    result: Ints = np.array(known, np.int64)[numbers.ravel()]
    return result


def _value_number(predicate: Predicate, value: str) -> int | None:
    if predicate.values == BOOLEAN:
        return _TRUTHS.get(value.lower())
    return predicate.values.index(value) if value in predicate.values else None


def _check_header(
    model: Model, predicate: Predicate, headers: Sequence[str], columns: Sequence[Any], place: str
) -> None:
    """Refuses a first line that is one more fact, since it would be ignored silently."""
    sorts = predicate.sorts
    for header, sort in zip(headers, sorts, strict=False):
        objects = [column for column, other in zip(columns, sorts, strict=False) if other == sort]
        if header in model.object_numbers(sort) or any((c == header).any() for c in objects):
            raise EvidenceError(
                f"{place}: the first line must name the columns, but {header} is an object; "
                "add a line of column names at the top"
            )


# --- reading through DuckDB

_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_ERROR_TYPE = re.compile(r"^[\w ]+ Error: ")
_ADVICE = re.compile(r"Possible |Did you mean|LINE \d")


def _table(place: str) -> tuple[list[str], list[Any]]:
    """The names of the columns, and the columns as arrays of texts, stripped of blanks."""
    if place.lower().endswith(_CSV):
        return _csv_table(place)
    if place.lower().endswith(_PARQUET):
        _check_file(place)
        with _connection(place) as connection:
            return _texts(connection, "FROM read_parquet($place)", {"place": place})
    path, colon, table = place.rpartition(":")
    if not (colon and path and table) or is_table_file(path):
        raise EvidenceError(f"cannot read {place}: {_KINDS}")
    _check_file(path)
    with _connection(place, path) as connection:
        return _texts(connection, f"FROM {'.'.join(map(_quoted, table.split('.')))}")


def _csv_table(place: str) -> tuple[list[str], list[Any]]:
    """The table of a CSV file; its columns are always text, whatever the data look like."""
    _check_file(place)
    with _connection(place) as connection:
        first = "FROM read_csv($place, auto_detect=false, delim=chr(1), columns={'line': 'VARCHAR'}"
        options = ", header=false, quote='', escape='') LIMIT 1"
        _, (line,) = _texts(connection, first + options, {"place": place})
        if not len(line):
            raise EvidenceError(f"{place} is empty; its first line names the columns")
        text = str(line[0]).removeprefix("\ufeff")
        delimiter = max(_DELIMITERS, key=text.count)
        headers = [name.strip() for name in next(csv.reader([text], delimiter=delimiter))]
        columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(len(headers)))
        rows = (
            "FROM read_csv($place, auto_detect=false, header=true, delim=$delimiter, "
            f"""quote='"', escape='"', columns={{{columns}}})"""
        )
        _, texts = _texts(connection, rows, {"place": place, "delimiter": delimiter})
    return headers, texts


@contextmanager
def _connection(place: str, path: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        import duckdb
    except ImportError:
        raise EvidenceError(
            f"reading {place} needs duckdb; install it with pip install 'liftgbp[data]'"
        ) from None
    try:
        with duckdb.connect(path, read_only=path != ":memory:") as connection:
            yield connection
    except duckdb.Error as error:
        raise EvidenceError(f"cannot read {place}: {_reason(str(error))}") from None


def _texts(
    connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, str] | None = None
) -> tuple[list[str], list[Any]]:
    result = connection.execute(f"SELECT trim(CAST(COLUMNS(*) AS VARCHAR)) {query}", values or {})
    headers = [description[0] for description in result.description]
    return headers, list(result.fetchnumpy().values())


def _reason(message: str) -> str:
    """DuckDB's message without the type of the error and its advice."""
    lines = takewhile(lambda line: line and not _ADVICE.match(line), message.splitlines())
    return _ERROR_TYPE.sub("", "; ".join(lines))


def _check_file(path: str) -> None:
    if not Path(path).is_file():
        raise EvidenceError(f"cannot read {path}: there is no such file")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
