"""Spark: a cluster, or this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from liftgbp.support.errors import EvidenceError, InputError
from liftgbp.support.input_files import is_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 16
"""Into how many parts Spark cuts a table on one machine where nobody says otherwise: its own
default of 200 is for clusters, and costs a small run most of its time."""

SAY_OTHERWISE = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "MASTER")
"""Variables of the environment that are set where somebody has configured Spark."""

SECONDS_TO_ANSWER = 5.0
"""How long a cluster may take to answer at all. Spark itself would try for a minute."""

SECONDS_BETWEEN_LOOKS = 0.05
"""How long Java may go on starting once nobody waits for it."""

SECONDS_TO_HEAR = 0.5
"""How long to wait for Ctrl-C where Java ended without a word."""

QUIET = """\
rootLogger.level = off
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %m%n
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = off
"""
"""What Spark logs on one machine: nothing. By default it begins with remarks on host names, and
says what is wrong in hundreds of lines. The error has that in one."""


class SparkEngine(Engine):
    """Spark, with tables as Parquet files in the folder of work."""

    name = "spark"
    dialect = "spark"
    hash = "xxhash64"
    module = "pyspark"
    extra = "spark"
    # From one run of five iterations over 10^7 friendships, which docs/engines.md has.
    cost = Cost(memory=20, seconds=5e-7, disk=20, base=1.2e9)
    seconds_to_start = 40.0

    def __init__(self, folder: Path, memory: float | None) -> None:
        _check_master()
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            raise InputError("the engine spark needs Java; install it, or use --engine duckdb")
        import ibis
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        self._error = PySparkException
        self._sources = 0
        session = SparkSession.getActiveSession()
        self._is_ours = session is None
        with self._in_words():
            if session is None:
                builder = SparkSession.builder.appName("liftgbp")
                for key, value in _settings(folder.absolute(), memory).items():
                    builder = builder.config(key, value)
                session = _started(builder)
                logging.getLogger().addFilter(_is_no_interrupt)
                # After Ctrl-C, it also logs connections that Java has closed already.
                self._level = logging.getLogger("py4j").level
                logging.getLogger("py4j").setLevel(logging.CRITICAL)
            self._session = session
            super().__init__(folder, ibis.pyspark.connect(session))

    def create_as(self, name: str, sql: str) -> Table:
        """Keep a table as Parquet files."""
        with self._in_words():
            self._session.sql(sql).write.mode("overwrite").parquet(self._path(name))
        return self.table(name)

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._session.catalog.dropTempView(name)
        shutil.rmtree(self._path(name), ignore_errors=True)

    def names(self) -> list[str]:
        """The tables that were kept; one that was not finished lacks a mark."""
        return [path.parent.name for path in self.folder.glob("tables/*/_SUCCESS")]

    def table(self, name: str) -> Table:
        """A table that was kept."""
        with self._in_words(name):
            self._session.read.parquet(self._path(name)).createOrReplaceTempView(name)
        return super().table(name)

    def call(self, name: str, table: Table) -> Table:
        """A view of this session."""
        with self._in_words():
            self._session.sql(self.sql(table)).createOrReplaceTempView(name)
        return super().table(name)

    def rows_of(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._in_words():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    def read(self, places: Sequence[TablePlace]) -> Table:
        """A file, or a table of Spark's catalog."""
        place = places[0].place
        with self._in_words(place):
            if place.startswith(SPARK_TABLE):
                *database, name = place.removeprefix(SPARK_TABLE).split(".")
                return self.connection.table(name, database=tuple(database) or None)
            path, colon, _ = place.rpartition(":")
            if colon and is_file(path):
                raise EvidenceError(f"{place} is a table of DuckDB; use --engine duckdb")
            files = files_of(places)
            patterns = [pattern_of(file, r"[*?\[\]{}\\]", r"\\\g<0>") for file in files]
            if is_csv(place):
                form = form_of(files, places[0].header)
                names = (name.replace("`", "``") for name in form.columns)
                frame = self._session.read.csv(
                    patterns,
                    schema=", ".join(f"`{name}` STRING" for name in names),
                    header=places[0].header,
                    sep=form.delimiter,
                    quote='"',
                    escape='"',
                    mode="FAILFAST",
                )
            else:
                frame = self._session.read.parquet(*patterns)
            self._sources += 1
            name = f"source{self._sources}"
            frame.createOrReplaceTempView(name)
            return self.connection.table(name)

    def write(self, table: Table, path: Path) -> None:
        """Write a folder of files."""
        with self._in_words():
            self._session.sql(self.sql(table)).write.parquet(str(path.absolute()))

    def close(self) -> None:
        """End the session of Spark, unless it was there before."""
        if self._is_ours:
            from py4j.protocol import Py4JError

            # After Ctrl-C, Java may not listen any more; it ends with this process.
            with (
                contextlib.suppress(self._error, Py4JError, OSError),
                warnings.catch_warnings(action="ignore", category=RuntimeWarning),
            ):
                self._session.stop()
            logging.getLogger().removeFilter(_is_no_interrupt)
            logging.getLogger("py4j").setLevel(self._level)
        shutil.rmtree(self.folder / "spilled", ignore_errors=True)

    def _path(self, name: str) -> str:
        return str((self.folder / "tables" / name).absolute())

    @contextlib.contextmanager
    def _in_words(self, place: str = "") -> Iterator[None]:
        from py4j.protocol import Py4JError, Py4JJavaError

        try:
            yield
        except (self._error, *ibis_errors(), Py4JError, RuntimeError) as error:
            if isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
                # Ctrl-C may have ended Java before it is heard here.
                time.sleep(SECONDS_TO_HEAR)
            raise in_one_paragraph("Spark", place, error, _cause(error)) from None


def _settings(folder: Path, memory: float | None) -> dict[str, str]:
    """What a session is asked for: little where somebody has configured Spark."""
    settings = {"spark.ui.showConsoleProgress": "false"}
    if memory is not None:
        settings["spark.driver.memory"] = f"{max(int(memory * 1024), 512)}m"
    if any(name in os.environ for name in SAY_OTHERWISE):
        return settings
    log = folder / "log4j2.properties"
    log.write_text(QUIET, encoding="utf-8")
    return settings | {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
        "spark.local.dir": str(folder / "spilled"),
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }


def _started(builder: SparkSession.Builder) -> SparkSession:
    """A new session; if it is not waited for, Java is ended.

    In the main thread, PySpark would take over Ctrl-C, and talk to Java then, in the middle of what
    it is saying to Java already.
    """
    before = _spark_processes()
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(builder.getOrCreate)
        try:
            return starting.result()
        except BaseException:
            # Java would go on to start, log what it does, and make folders that are gone by then.
            while not starting.done():
                for process in _spark_processes() - before:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                wait([starting], SECONDS_BETWEEN_LOOKS)
            if starting.exception() is None:
                starting.result().stop()
            raise


def _spark_processes() -> set[int]:
    """The processes of Spark that this one has started, where the system lists them."""
    processes: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for process in map(int, listed.read_text().split()):
                if b"spark" in Path(f"/proc/{process}/cmdline").read_bytes():
                    processes.add(process)
    return processes


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record is not about Ctrl-C, which Py4J logs with all that was called."""
    return "KeyboardInterrupt while sending" not in record.getMessage()


def _master() -> str:
    """The cluster that the settings of Spark name; empty for this machine."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder is not None:
        with contextlib.suppress(OSError):
            text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
            line = re.search(r"^\s*spark\.master[\s=:]+(\S+)", text, re.MULTILINE)
            if line is not None:
                return line[1]
    return os.environ.get("MASTER", "")


def _check_master() -> None:
    """Refuse a cluster that does not answer."""
    address = re.match(r"spark://\[?([^,/]+?)\]?:(\d+)", _master())
    if address is None:
        return
    host, port = address.groups()
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise InputError(
            f"Spark does not answer at spark://{host}:{port}: {error.strerror or error}. Start it, "
            "or name another master in MASTER or spark-defaults.conf; without one, Spark runs on "
            "this machine"
        ) from None


def _cause(error: Exception) -> str:
    """What went wrong in the first place: Java wraps errors in errors."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if cause is None:
        return str(error)
    texts = [str(error)]
    with contextlib.suppress(Exception):
        while cause is not None:
            texts.append(str(cause.getMessage() or cause.getClass().getName()))
            cause = cause.getCause()
    return texts[-1]
