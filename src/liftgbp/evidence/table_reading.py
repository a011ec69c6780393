"""Tables as columns of text: CSV and Parquet files, tables of DuckDB, and data frames.

DuckDB reads all of them, and is imported only then.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.evidence.stated_facts import MOST_PROBLEMS, Numbers, TableFile, Texts
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import EvidenceError, counted
from liftgbp.support.input_files import LARGEST_UNTRUSTED, PIECE, is_file, pieces
from liftgbp.support.limits import interruptible

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False, slots=True)
class TextTable:
    """The columns of a table as texts without blanks around them.

    `chosen` says that a user has named the columns; `headed` that the first line of a file did.
    `remedy` says how to name them.
    """

    file: TableFile
    headers: tuple[str, ...]
    columns: tuple[Texts, ...]
    chosen: bool = False
    headed: bool = False
    remedy: str = ""

    def take(self, names: Sequence[str]) -> TextTable:
        """The columns of these names, in this order."""
        for name in names:
            if self.headers.count(name) != 1:
                which = "no" if name not in self.headers else "more than one"
                raise EvidenceError(
                    f"{self.file.name} has {which} column {name}; it has {', '.join(self.headers)}"
                )
        columns = tuple(self.columns[self.headers.index(name)] for name in names)
        return TextTable(self.file, tuple(names), columns, True, self.headed, self.remedy)

    def without_row_labels(self) -> TextTable:
        """The columns but those of row labels, which state nothing beside others."""
        places = [k for k, name in enumerate(self.headers) if not has_row_labels(name)]
        if not places:
            return self
        headers = tuple(self.headers[k] for k in places)
        return replace(self, headers=headers, columns=tuple(self.columns[k] for k in places))


# --- reading through DuckDB

CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
_DELIMITERS = ",;\t|"
KINDS = "write a table as friends=friends.csv, friends=friends.parquet or friends=data.duckdb:table"
_ROW_LABELS = re.compile(r"__index_level_\d+__")
_ERROR_TYPE = re.compile(r"^[\w ]+ Error: ")
_ADVICE = re.compile(r"Possible |Did you mean|LINE \d")
_LONGEST_QUOTED = 200


LARGEST_TABLE = 2**30
"""Bytes of text in a Parquet file or a table of DuckDB, where every cell counts as eight at least.

Both formats store a billion equal cells in a few bytes.
"""

LONGEST_LINE = PIECE
"""Bytes of a line of a CSV file; DuckDB drops the last one, without a word, if it is too long."""


def read_columns(
    place: str, chosen: Sequence[str] = (), *, header: bool = True, untrusted: bool = False
) -> TextTable:
    """The table at a place: the columns that are chosen, or all of them.

    A CSV file without a `header` has columns that are called 1, 2 and so on.
    """
    if place.lower().endswith(CSV):
        table = _csv_table(place, header, untrusted)
    elif not header:
        raise EvidenceError(f"{place}: header=no is for .csv and .tsv files")
    else:
        headers, columns = _typed_table(place, untrusted)
        table = TextTable(TableFile(place), headers, columns, remedy=_CHOOSE.format(place))
    return table.take(chosen) if chosen else table.without_row_labels()


def has_row_labels(column: str) -> bool:
    """Whether this is a column in which pandas keeps its row labels in Parquet files.

    >>> has_row_labels("__index_level_0__"), has_row_labels("person")
    (True, False)
    """
    return _ROW_LABELS.fullmatch(column) is not None


def has_table(place: str, path: str, name: str) -> bool:
    """Whether a database has a table or a view of this very name."""
    with _connection(place, path) as connection:
        query = "FROM information_schema.tables WHERE table_catalog = $database"
        names = {"database": DATABASE, "name": name}
        return bool(connection.execute(f"{query} AND table_name = $name", names).fetchone())


_CHOOSE = "choose columns as in {}[from,to]"


def _typed_table(place: str, untrusted: bool) -> tuple[tuple[str, ...], tuple[Texts, ...]]:
    """The columns of a Parquet file or a table of DuckDB."""
    most = LARGEST_UNTRUSTED if untrusted else LARGEST_TABLE
    if place.lower().endswith(PARQUET):
        _check_file(place)
        with _connection(place) as connection:
            file = {"place": _literal(place)}
            rows = "FROM read_parquet($place, hive_partitioning=false)"
            _check_size(connection, place, rows, file, most)
            return _texts(connection, rows, file)
    path, colon, table = place.rpartition(":")
    if not (colon and path and table) or path.lower().endswith(CSV + PARQUET):
        raise EvidenceError(f"cannot read {place}: {KINDS}")
    _check_file(path)
    with _connection(place, path) as connection:
        schema, _, name = table.rpartition(".")
        # DuckDB calls a database like its file, and users may write data.main.people.
        first, dot, rest = schema.partition(".")
        if dot and first.lower() == Path(path).stem.lower():
            schema = rest
        if untrusted:
            _check_nothing_computed(connection, place, name)
        rows = f"FROM {DATABASE}.{_quoted(schema or 'main')}.{_quoted(name)}"
        _check_size(connection, place, rows, {}, most)
        return _texts(connection, rows, {})


def _csv_table(place: str, header: bool, untrusted: bool) -> TextTable:
    """The table of a CSV file; its columns are always text, whatever the data look like."""
    _check_file(place)
    _check_lines(place, untrusted)
    file = TableFile(place)
    with _connection(place) as connection:
        values = {"place": _literal(place)}
        first = "FROM read_csv($place, auto_detect=false, delim=chr(1), columns={'line': 'VARCHAR'}"
        options = ", hive_partitioning=false, header=false, quote='', escape='') LIMIT 1"
        _, (line,) = _texts(connection, first + options, values)
        if not len(line):
            what = "; its first line names the columns" if header else ""
            raise EvidenceError(f"{place} is empty{what}")
        delimiter, headers = csv_form(place, line[0], header)
        columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(len(headers)))
        rows = (
            "FROM read_csv($place, auto_detect=false, hive_partitioning=false, "
            f"""header={header}, delim=$delimiter, quote='"', escape='"', """
            f"columns={{{columns}}}, store_rejects=true, rejects_limit={MOST_PROBLEMS + 1})"
        )
        _, texts = _texts(connection, rows, {**values, "delimiter": delimiter})
        rejected = connection.execute(
            "SELECT line, error_message, csv_line FROM reject_errors ORDER BY line, column_idx"
        ).fetchall()
    if rejected:
        raise file.problems(
            [
                (f"line {number}", f"{_rejection(reason)}: {cells.strip()[:_LONGEST_QUOTED]}")
                for number, reason, cells in rejected
            ]
        )
    remedy = _CHOOSE.format(place) if header else f"choose columns as in {place}[1,2,header=no]"
    return TextTable(file, tuple(headers), texts, headed=header, remedy=remedy)


def csv_form(place: str, line: str, header: bool) -> tuple[str, list[str]]:
    """What is between the cells of a CSV file, and the names of its columns, by its first line.

    >>> csv_form("friends.csv", "from;to", True), csv_form("friends.csv", "Anna,Bob", False)
    ((';', ['from', 'to']), (',', ['1', '2']))
    """
    text = line.removeprefix("\ufeff")
    delimiter = max(_DELIMITERS, key=text.count)
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [""])]
    except csv.Error as error:
        raise EvidenceError(f"{place}, row 1: {error}") from None
    return delimiter, names if header else [str(number + 1) for number in range(len(names))]


_WRONG_COUNT = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


def _rejection(reason: str) -> str:
    """DuckDB's reason in other words."""
    found = _WRONG_COUNT.search(reason)
    if found:
        return f"{counted(int(found[2]), 'cell')} instead of {found[1]}; quote cells with commas"
    return reason[:_LONGEST_QUOTED].rstrip(".")


# --- data frames


class _Stream:
    """Something with the Arrow stream interface, which DuckDB reads without other packages."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def is_frame(value: object) -> bool:
    """Whether a value is a table with named columns, and not a single column."""
    if _is_pandas(value):
        return True
    if not hasattr(value, "__arrow_c_stream__"):
        return False
    return any(hasattr(value, name) for name in ("columns", "schema")) or not hasattr(
        value, "__iter__"
    )


def _is_pandas(value: object) -> bool:
    # Its stream interface needs pyarrow, and DuckDB reads its frames without.
    return type(value).__module__.split(".")[0] == "pandas" and type(value).__name__ == "DataFrame"


def frame_columns(name: str, frame: object) -> TextTable:
    """The columns of a pandas, Polars or Arrow table or a DuckDB relation."""
    with _connection(name) as connection:
        connection.register("frame", frame if _is_pandas(frame) else _Stream(frame))
        # A stream is read only once.
        connection.execute("CREATE TABLE copied AS FROM frame")
        headers, columns = _texts(connection, "FROM copied", {})
    return TextTable(TableFile(name), headers, columns, remedy="choose its columns")


# --- files


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


DATABASE = "facts"
"""What a database is called while it is read."""


@contextmanager
def _connection(place: str, path: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database that reads no other files, or one that reads tables.

    A view may name any file of the machine, so a database has no access to any. Its macros may have
    the names of functions that are used here, so it is attached, where they are not looked for. No
    extension is fetched from the network.
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
    try:
        with interruptible(), duckdb.connect(":memory:", config=settings) as connection:
            if path is not None:
                file = str(Path(path).absolute()).replace("'", "''")
                connection.execute(f"ATTACH '{file}' AS {DATABASE} (READ_ONLY)")
                connection.execute("SET enable_external_access = false")
                connection.execute("SET lock_configuration = true")
            yield connection
    except duckdb.Error as error:
        raise EvidenceError(f"cannot read {place}: {_reason(str(error))}") from None


def _check_nothing_computed(connection: duckdb.DuckDBPyConnection, place: str, name: str) -> None:
    """Refuse views and generated columns in a stranger's database, which may compute for ever."""
    query = "FROM duckdb_views() WHERE NOT internal AND lower(view_name) = lower($name)"
    if connection.execute(f"SELECT 1 {query}", {"name": name}).fetchone():
        raise EvidenceError(f"cannot read {place}: it is a view; untrusted databases need tables")
    query = "FROM information_schema.columns WHERE is_generated = 'ALWAYS'"
    query += " AND lower(table_name) = lower($name)"
    generated = connection.execute(f"SELECT column_name {query}", {"name": name}).fetchone()
    if generated:
        raise EvidenceError(
            f"cannot read {place}: its column {generated[0]} is generated; untrusted databases "
            "need columns that are stored"
        )


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


_WITH_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


ROWS_AT_ONCE = 2**18
"""How many rows are fetched at once. Ten million names of a million people would be as many texts,
and leave 600 MB in pieces that nothing else fits in."""


def _texts(
    connection: duckdb.DuckDBPyConnection, rows: str, values: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Texts, ...]]:
    """The names of columns, and the columns; a text that occurs in several of them is kept once."""
    described = connection.execute(f"DESCRIBE SELECT * {rows}", values).fetchall()
    names = [f"c{number}" for number in range(len(described))]
    texts = ", ".join(
        f"{_text(name, str(kind))} AS {name}"
        for name, (_, kind, *_) in zip(names, described, strict=True)
    )
    query = f"SELECT {texts} FROM (SELECT * {rows}) AS t({', '.join(names)})"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE texts AS {query}", values)
    (number,) = connection.execute("SELECT count(*) FROM texts").fetchone() or (0,)
    codes = [np.empty(number, dtype=np.int32) for _ in names]
    known = Numbers()
    for first in range(0, number, ROWS_AT_ONCE):
        part = f"FROM texts WHERE rowid >= {first} AND rowid < {first + ROWS_AT_ONCE}"
        found = connection.execute(part).fetchnumpy()
        for column, cells in zip(codes, found.values(), strict=True):
            column[first : first + len(cells)] = _codes(cells, known)
    different = list(known)
    columns = tuple(Texts(column, different) for column in codes)
    return tuple(name for name, *_ in described), columns


def _codes(cells: Any, known: Numbers) -> Ints:
    """The numbers of the texts of cells, and -1 for cells without a text."""
    texts, empty = np.ma.getdata(cells), np.ma.getmaskarray(cells)
    empty = empty | (texts == "")
    if not empty.any():
        return known.of(texts.tolist())
    found = np.full(len(cells), -1)
    found[~empty] = known.of(texts[~empty].tolist())
    return found


def _text(column: str, kind: str) -> str:
    """A column as text; 3.0 is 3, since tools store whole numbers with gaps between them so."""
    text = f"trim(CAST({column} AS VARCHAR))"
    if not kind.startswith(_WITH_FRACTIONS):
        return text
    double = f"CAST({column} AS DOUBLE)"
    whole = f"abs({double}) < 1e15 AND {double} = floor({double})"
    return (
        f"CASE WHEN isnan({double}) THEN NULL WHEN {whole} "
        f"THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE {text} END"
    )


def _reason(message: str) -> str:
    """DuckDB's message without the type of the error and its advice."""
    lines = takewhile(lambda line: line and not _ADVICE.match(line), message.splitlines())
    return _ERROR_TYPE.sub("", "; ".join(line[:_LONGEST_QUOTED] for line in lines))


def _check_file(path: str) -> None:
    if not is_file(path):
        raise EvidenceError(f"cannot read {path}: there is no such file")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
