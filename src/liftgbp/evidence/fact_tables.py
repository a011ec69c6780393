"""Facts from tables: CSV and Parquet files and the tables of DuckDB, one row per fact."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import EvidenceError
from liftgbp.evidence.sources import Statements, TableFile, unknown_predicate, wrong_arity
from liftgbp.input_files import LARGEST_UNTRUSTED, PIECE, pieces
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


GLOB = "glob:"


def matching_places(place: str) -> list[str]:
    """The place itself or, if it is written `glob:PATTERN`, all files that match."""
    if not place.startswith(GLOB):
        return [place]
    pattern = place.removeprefix(GLOB)
    found = sorted(filter(is_table_file, glob(pattern, recursive=True)))  # noqa: PTH207
    if not found:
        raise EvidenceError(f"no .csv or .parquet file matches {pattern}")
    return found


def read_table(
    model: Model, predicate_name: str, place: str, untrusted: bool = False
) -> Statements:
    """The facts of a table whose columns are arguments, with an optional truth or value column."""
    predicate = model.predicates.get(predicate_name)
    if predicate is None:
        raise EvidenceError(f"{place}: {unknown_predicate(model, predicate_name)}")
    headers, columns = _table(place, untrusted)
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
_LONGEST_QUOTED = 200


LARGEST_TABLE = 2**30
"""Bytes of text in a Parquet file or a table of DuckDB, where every cell counts as eight at least.

Both formats store a billion equal cells in a few bytes.
"""

LONGEST_LINE = PIECE
"""Bytes of a line of a CSV file; DuckDB drops the last one, without a word, if it is too long."""


def _table(place: str, untrusted: bool) -> tuple[list[str], list[Any]]:
    """The names of the columns, and the columns as arrays of texts, stripped of blanks."""
    if place.lower().endswith(_CSV):
        return _csv_table(place, untrusted)
    most = LARGEST_UNTRUSTED if untrusted else LARGEST_TABLE
    if place.lower().endswith(_PARQUET):
        _check_file(place)
        with _connection(place) as connection:
            file = {"place": _literal(place)}
            rows = "FROM read_parquet($place, hive_partitioning=false)"
            _check_size(connection, place, rows, file, most)
            return _texts(connection, rows, file)
    path, colon, table = place.rpartition(":")
    if not (colon and path and table) or is_table_file(path):
        raise EvidenceError(f"cannot read {place}: {_KINDS}")
    _check_file(path)
    with _connection(place, path) as connection:
        names = table.split(".")
        if untrusted:
            _check_no_view(connection, place, names)
        rows = f"FROM {'.'.join(map(_quoted, names))}"
        _check_size(connection, place, rows, {}, most)
        return _texts(connection, rows, {})


def _csv_table(place: str, untrusted: bool = False) -> tuple[list[str], list[Any]]:
    """The table of a CSV file; its columns are always text, whatever the data look like."""
    _check_file(place)
    _check_lines(place, untrusted)
    with _connection(place) as connection:
        file = {"place": _literal(place)}
        first = "FROM read_csv($place, auto_detect=false, delim=chr(1), columns={'line': 'VARCHAR'}"
        options = ", hive_partitioning=false, header=false, quote='', escape='') LIMIT 1"
        _, (line,) = _texts(connection, first + options, file)
        if not len(line):
            raise EvidenceError(f"{place} is empty; its first line names the columns")
        text = str(line[0]).removeprefix("\ufeff")
        delimiter = max(_DELIMITERS, key=text.count)
        headers = [name.strip() for name in next(csv.reader([text], delimiter=delimiter))]
        columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(len(headers)))
        rows = (
            "FROM read_csv($place, auto_detect=false, hive_partitioning=false, header=true, "
            f"""delim=$delimiter, quote='"', escape='"', columns={{{columns}}})"""
        )
        _, texts = _texts(connection, rows, {**file, "delimiter": delimiter})
    return headers, texts


def _literal(place: str) -> str:
    """A path that DuckDB takes as it is written.

    Absolute, it has no prefix such as `s3:` or `~`; in brackets, a star is a star.
    """
    return re.sub(r"[*?[]", r"[\g<0>]", str(Path(place).absolute()))


def _check_lines(place: str, untrusted: bool) -> None:
    """Refuse a file that is too large unpacked, or has lines that are too long for DuckDB."""
    number, begun = 1, 0
    most = LARGEST_UNTRUSTED if untrusted else None
    if most is None and place.lower().endswith(".gz"):
        most = LARGEST_TABLE
    for piece in pieces(Path(place), most=most, error=EvidenceError):
        # A line inside a piece is never too long: pieces are not longer than that.
        first = piece.find(b"\n")
        if begun + (len(piece) if first < 0 else first) > LONGEST_LINE:
            raise EvidenceError(
                f"cannot read {place}: line {number} has more than {LONGEST_LINE} bytes"
            )
        begun = begun + len(piece) if first < 0 else len(piece) - 1 - piece.rfind(b"\n")
        number += piece.count(b"\n")


@contextmanager
def _connection(place: str, path: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database that reads no other files, or one that reads tables.

    A view may name any file of the machine, so a database has no access to any. No extension is
    fetched from the network.
    """
    try:
        import duckdb
    except ImportError:
        raise EvidenceError(
            f"reading {place} needs duckdb; install it with pip install 'liftgbp[data]'"
        ) from None
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,  # a table is never a variable of ours
    }
    is_file = path != ":memory:"
    if is_file:
        path = str(Path(path).absolute())
        settings |= {"enable_external_access": False, "lock_configuration": True}
    try:
        with duckdb.connect(path, read_only=is_file, config=settings) as connection:
            yield connection
    except duckdb.Error as error:
        raise EvidenceError(f"cannot read {place}: {_reason(str(error))}") from None


def _check_no_view(connection: duckdb.DuckDBPyConnection, place: str, names: Sequence[str]) -> None:
    """Refuse a view in a stranger's database, which may compute for ever."""
    query = "FROM duckdb_views() WHERE NOT internal AND lower(view_name) = lower($name)"
    if connection.execute(f"SELECT 1 {query}", {"name": names[-1]}).fetchone():
        raise EvidenceError(f"cannot read {place}: it is a view; untrusted databases need tables")


def _check_size(
    connection: duckdb.DuckDBPyConnection,
    place: str,
    rows: str,
    values: dict[str, str],
    most: int,
) -> None:
    """Refuse a table whose texts are too large, before they are in memory."""
    cells = "sum(8 + coalesce(strlen(CAST(COLUMNS(*) AS VARCHAR)), 0))"
    limited = f"FROM (SELECT * {rows} LIMIT {most // 8 + 1})"
    sizes = connection.execute(f"SELECT {cells} {limited}", values).fetchone()
    if sum(size or 0 for size in sizes or ()) > most:
        raise EvidenceError(f"cannot read {place}: it has more than {most // 2**20} MB of text")


def _texts(
    connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, str]
) -> tuple[list[str], list[Any]]:
    result = connection.execute(f"SELECT trim(CAST(COLUMNS(*) AS VARCHAR)) {query}", values)
    headers = [description[0] for description in result.description]
    return headers, list(result.fetchnumpy().values())


def _reason(message: str) -> str:
    """DuckDB's message without the type of the error and its advice."""
    lines = takewhile(lambda line: line and not _ADVICE.match(line), message.splitlines())
    return _ERROR_TYPE.sub("", "; ".join(line[:_LONGEST_QUOTED] for line in lines))


def _check_file(path: str) -> None:
    if not Path(path).is_file():
        raise EvidenceError(f"cannot read {path}: there is no such file")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
