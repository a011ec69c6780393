"""DuckDB, in this process."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from liftgbp.engines.engine import (
    SPARK_TABLE,
    Engine,
    Table,
    ibis_errors,
    in_one_paragraph,
)
from liftgbp.engines.engine_files import files_of, form_of, is_csv, pattern_of
from liftgbp.evidence.fact_tables import TablePlace
from liftgbp.report.forecasting import Cost
from liftgbp.support.errors import EvidenceError
from liftgbp.support.input_files import is_directory, is_file
from liftgbp.support.limits import interruptible


class DuckDBEngine(Engine):
    """DuckDB in this process, which moves to the disk what does not fit into memory."""

    name = "duckdb"
    dialect = "duckdb"
    hash = "hash"
    module = "duckdb"
    extra = "engine"
    # Measured on networks of 10^5 and 10^6 friendships with rules about two people (`bethe`) and
    # three (both families), where an iteration took 0.9 to 1.1 * 10^-7 s for a number.
    cost = Cost(memory=20, seconds=1e-7, disk=16, base=2e8)
    seconds_to_start = 1.5

    def __init__(self, folder: Path, memory: float | None) -> None:
        import duckdb
        import ibis

        options: dict[str, Any] = {
            "temp_directory": str(folder / "spilled"),
            # Rows need no order, which would have to be kept in memory.
            "preserve_insertion_order": False,
        }
        if memory is not None:
            options["memory_limit"] = f"{memory}GB"
        self._error = duckdb.Error
        with self._in_words():
            connection = ibis.duckdb.connect(folder / "tables.duckdb", **options)
        super().__init__(folder, connection)
        self._databases: dict[str, str] = {}

    def create_as(self, name: str, sql: str) -> Table:
        """Keep a table in the database of the run."""
        self.drop(name)
        self._run(f"CREATE TABLE {name} AS {sql}")
        return self.table(name)

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._run(f"DROP TABLE IF EXISTS {name}")

    def names(self) -> list[str]:
        """The tables that were kept."""
        sql = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
        return [name for (name,) in self._run(sql).fetchall()]

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove all tables but these, and use their place again."""
        super().keep_only(names)
        # Without it, the file grows in each iteration by what that writes.
        self._run("CHECKPOINT")

    def call(self, name: str, table: Table) -> Table:
        """A view of this connection."""
        self._run(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.sql(table)}")
        return self.table(name)

    def rows_of(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._in_words():
            return list(self._run(sql).fetchall())

    def read(self, places: Sequence[TablePlace]) -> Table:
        """A file, or a table of a database, which is read and never written."""
        place = places[0].place
        if place.startswith(SPARK_TABLE):
            raise EvidenceError(f"{place} is a table of Spark; add --engine spark")
        with self._in_words(place):
            path, colon, name = place.rpartition(":")
            if colon and is_file(path) and not is_file(place) and not is_directory(place):
                schema, _, table = name.rpartition(".")
                return self.connection.table(
                    table, database=(self._attached(path), schema or "main")
                )
            files = files_of(places)
            patterns = [pattern_of(file, r"[*?[]", r"[\g<0>]") for file in files]
            if is_csv(place):
                form = form_of(files, places[0].header)
                return self.connection.read_csv(
                    patterns,
                    header=places[0].header,
                    columns=dict.fromkeys(form.columns, "VARCHAR"),
                    delim=form.delimiter,
                    quote='"',
                    escape='"',
                    auto_detect=False,
                )
            return self.connection.read_parquet(patterns)

    def write(self, table: Table, path: Path) -> None:
        """Write one file."""
        target = str(path).replace("'", "''")
        self._run(f"COPY ({self.sql(table)}) TO '{target}' (FORMAT parquet)")

    def close(self) -> None:
        """Close the database, and remove what was moved to the disk."""
        # A database that could not write, since the disk is full, complains once more.
        with contextlib.suppress(self._error):
            self.connection.disconnect()
        shutil.rmtree(self.folder / "spilled", ignore_errors=True)

    def _attached(self, path: str) -> str:
        """The name of a database of the user's, which is read and never written."""
        if path not in self._databases:
            name, literal = f"source{len(self._databases)}", path.replace("'", "''")
            self._run(f"ATTACH '{literal}' AS {name} (READ_ONLY)")
            self._databases[path] = name
        return self._databases[path]

    def _run(self, sql: str) -> Any:
        with self._in_words():
            return self.connection.raw_sql(sql)

    @contextlib.contextmanager
    def _in_words(self, place: str = "") -> Iterator[None]:
        try:
            with interruptible():
                yield
        except (self._error, *ibis_errors()) as error:
            raise in_one_paragraph("DuckDB", place, error, str(error)) from None
