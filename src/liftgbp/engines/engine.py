"""The engines: where tables lie, how they are made, read and written.

Expressions are written once, in Ibis, which words them for each engine.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from liftgbp.errors import EvidenceError, InputError
from liftgbp.evidence.fact_tables import TablePlace

Table: TypeAlias = Any
"""An expression of Ibis that stands for a table."""

Column: TypeAlias = Any
"""An expression of Ibis that stands for a column."""

SPARK_TABLE = "spark://"
"""How a table of Spark's catalog is written as a source."""

DIALECT = "duckdb"
"""The dialect of the SQL that grounding writes; Ibis translates it for other engines."""


PARTITIONS = 16
"""Into how many parts Spark cuts a table where nobody says otherwise: its own default of 200 is for
clusters, and costs a small run most of its time."""


class Engine(ABC):
    """Tables of a run, kept in its folder of work, so that another run can go on with them."""

    name: str
    dialect: str

    def __init__(self, folder: Path, connection: Any) -> None:
        self.folder = folder
        self.ibis = importlib.import_module("ibis")
        self.connection = connection

    # --- what every engine does in its own way

    @abstractmethod
    def create_as(self, name: str, sql: str) -> Table:
        """Compute a table by SQL of this engine, and keep it; what was there before is replaced."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a table, if it is there."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether a table was kept, by this run or an earlier one."""

    @abstractmethod
    def rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of a small table."""

    @abstractmethod
    def read(self, places: Sequence[TablePlace]) -> Table:
        """The table of a source, without reading it."""

    @abstractmethod
    def write(self, table: Table, path: Path) -> None:
        """Write a table as Parquet: a file, or a folder of files."""

    @abstractmethod
    def close(self) -> None:
        """End the engine."""

    # --- what follows from that

    def table(self, name: str) -> Table:
        """A table that was kept."""
        return self.connection.table(name)

    def create(self, name: str, table: Table) -> Table:
        """Compute a table and keep it under a name; what was there before is replaced."""
        return self.create_as(name, self.sql(table))

    def sql(self, table: Table) -> str:
        """An expression in the words of the engine.

        Columns that are computed from computed columns stay subqueries of their own. Written out,
        a message would be as long as all beliefs together.
        """
        options = self.ibis.options.sql
        before, options.fuse_selects = options.fuse_selects, False
        try:
            return str(self.connection.compile(table))
        finally:
            options.fuse_selects = before

    def create_by(self, name: str, sql: str) -> Table:
        """Compute the table that SQL of grounding describes, and keep it."""
        translated = importlib.import_module("sqlglot").transpile(sql, DIALECT, self.dialect)
        return self.create_as(name, translated[0])

    def constant(self, value: float) -> Column:
        """A number of double precision; DuckDB would take 0.5 as it is written for a decimal."""
        return self.ibis.literal(repr(float(value))).cast("float64")

    def number(self, value: Any) -> Any:
        """One value that is computed from a table; None if there are no rows."""
        return self.rows(value.as_table())[0][0]


def start(name: str, folder: Path, memory: float | None) -> Engine:
    """Start an engine that keeps its tables in a folder; it may take so many GB of memory."""
    kinds = {"duckdb": DuckDBEngine, "spark": SparkEngine}
    if name not in kinds:
        raise InputError(f"engine must be duckdb or spark, got {name!r}")
    for module in ("ibis", "duckdb" if name == "duckdb" else "pyspark"):
        try:
            importlib.import_module(module)
        except ImportError:
            extra = "engine" if name == "duckdb" else "spark"
            raise InputError(
                f"the engine {name} needs {module}; install it with pip install 'liftgbp[{extra}]'"
            ) from None
    return kinds[name](folder, memory)


class DuckDBEngine(Engine):
    """DuckDB in this process, which moves to the disk what does not fit into memory."""

    name = "duckdb"
    dialect = "duckdb"

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

    def has(self, name: str) -> bool:
        """Whether a table was kept."""
        tables = self._run("SELECT table_name FROM duckdb_tables()").fetchall()
        return (name,) in tables

    def rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of a small table."""
        return list(self._run(self.sql(table)).fetchall())

    def read(self, places: Sequence[TablePlace]) -> Table:
        """A file, or a table of a database, which is read and never written."""
        place = places[0].place
        if place.startswith(SPARK_TABLE):
            raise EvidenceError(f"{place} is a table of Spark; add --engine spark")
        with self._in_words(place):
            path, colon, name = place.rpartition(":")
            if colon and Path(path).is_file() and not Path(place).exists():
                schema, _, table = name.rpartition(".")
                return self.connection.table(
                    table, database=(self._attached(path), schema or "main")
                )
            files = _files(places)
            if _is_csv(place):
                return self.connection.read_csv(
                    [_literal(file) for file in files],
                    all_varchar=True,
                    header=places[0].header,
                    strict_mode=True,
                )
            return self.connection.read_parquet([_literal(file) for file in files])

    def write(self, table: Table, path: Path) -> None:
        """Write one file."""
        target = str(path).replace("'", "''")
        self._run(f"COPY ({self.sql(table)}) TO '{target}' (FORMAT parquet)")

    def close(self) -> None:
        """Close the database, and remove what was moved to the disk."""
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
            yield
        except (self._error, *_ibis_errors()) as error:
            raise _problem("DuckDB", place, error) from None


class SparkEngine(Engine):
    """Spark, with tables as Parquet files in the folder of work."""

    name = "spark"
    dialect = "spark"

    def __init__(self, folder: Path, memory: float | None) -> None:
        if shutil.which("java") is None:
            raise InputError("the engine spark needs Java; install it, or use --engine duckdb")
        import ibis
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        self._error = PySparkException
        builder = SparkSession.builder.appName("liftgbp")
        settings = {
            "spark.sql.warehouse.dir": str((folder / "warehouse").absolute()),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }
        if os.environ.get("SPARK_REMOTE") is None and os.environ.get("MASTER") is None:
            settings["spark.sql.shuffle.partitions"] = str(PARTITIONS)
        if memory is not None:
            settings["spark.driver.memory"] = f"{max(int(memory * 1024), 512)}m"
        # What a cluster's own settings or spark-submit say comes first.
        for key, value in settings.items():
            builder = builder.config(key, value)
        try:
            self._session = builder.getOrCreate()
        except (PySparkException, RuntimeError) as error:
            raise _problem("Spark", "", error) from None
        self._session.sparkContext.setLogLevel("ERROR")
        super().__init__(folder, ibis.pyspark.connect(self._session))

    def create_as(self, name: str, sql: str) -> Table:
        """Keep a table as Parquet files."""
        with self._in_words():
            self._session.sql(sql).write.mode("overwrite").parquet(self._path(name))
        return self.table(name)

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._session.catalog.dropTempView(name)
        shutil.rmtree(self._path(name), ignore_errors=True)

    def has(self, name: str) -> bool:
        """Whether a table was kept."""
        return (Path(self._path(name)) / "_SUCCESS").exists()

    def table(self, name: str) -> Table:
        """A table that was kept."""
        with self._in_words(name):
            self._session.read.parquet(self._path(name)).createOrReplaceTempView(name)
        return super().table(name)

    def rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of a small table."""
        with self._in_words():
            return [tuple(row) for row in self._session.sql(self.sql(table)).collect()]

    def read(self, places: Sequence[TablePlace]) -> Table:
        """A file, or a table of Spark's catalog."""
        place = places[0].place
        with self._in_words(place):
            if place.startswith(SPARK_TABLE):
                *database, name = place.removeprefix(SPARK_TABLE).split(".")
                return self.connection.table(name, database=tuple(database) or None)
            path, colon, _ = place.rpartition(":")
            if colon and Path(path).is_file():
                raise EvidenceError(f"{place} is a table of DuckDB; use --engine duckdb")
            files = [_escaped(file) for file in _files(places)]
            if _is_csv(place):
                return self.connection.read_csv(
                    files, header=places[0].header, inferSchema=False, mode="FAILFAST"
                )
            return self.connection.read_parquet(files if len(files) > 1 else files[0])

    def write(self, table: Table, path: Path) -> None:
        """Write a folder of files."""
        with self._in_words():
            self._session.sql(self.sql(table)).write.parquet(str(path.absolute()))

    def close(self) -> None:
        """End the session of Spark."""
        self._session.stop()

    def _path(self, name: str) -> str:
        return str((self.folder / "tables" / name).absolute())

    @contextlib.contextmanager
    def _in_words(self, place: str = "") -> Iterator[None]:
        from py4j.protocol import Py4JError

        try:
            yield
        except (self._error, *_ibis_errors(), Py4JError) as error:
            raise _problem("Spark", place, error) from None


# --- files


def _files(places: Sequence[TablePlace]) -> list[str]:
    """The files of a source; a folder stands for the Parquet files in it."""
    found: list[str] = []
    for one in places:
        path = Path(one.place)
        if re.match(r"[a-z0-9]+://", one.place):
            found.append(one.place)
        elif path.is_dir():
            inside = sorted(str(file) for file in path.glob("*.parquet"))
            if not inside:
                raise EvidenceError(f"there are no .parquet files in {path}")
            found += inside
        elif path.is_file():
            found.append(str(path))
        else:
            raise EvidenceError(f"cannot read {one.place}: no such file, folder or table")
    return found


def _is_csv(place: str) -> bool:
    return place.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _literal(file: str) -> str:
    return file if "://" in file else re.sub(r"[*?[]", r"[\g<0>]", str(Path(file).absolute()))


def _escaped(file: str) -> str:
    return (
        file if "://" in file else re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", str(Path(file).absolute()))
    )


def _ibis_errors() -> tuple[type[Exception], type[Exception]]:
    from ibis.common.exceptions import IbisError, TableNotFound

    return IbisError, TableNotFound


def _problem(engine: str, place: str, error: Exception) -> InputError:
    """What an engine complains about, in one line."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    where = f"{place}: " if place else ""
    if type(error).__name__ == "TableNotFound":
        return EvidenceError(f"{where}{engine} has no such table")
    return EvidenceError(f"{where}{engine} says: {line.strip()[:300]}")
