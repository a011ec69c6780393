"""The engines: where tables lie, how they are made, read and written.

Expressions are written once, in Ibis, which words them for each engine.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from liftgbp.evidence.fact_tables import TablePlace
from liftgbp.report.forecasting import Cost
from liftgbp.support.errors import EvidenceError, InputError

Table: TypeAlias = Any
"""An expression of Ibis that stands for a table."""

Column: TypeAlias = Any
"""An expression of Ibis that stands for a column."""

SPARK_TABLE = "spark://"
"""How a table of Spark's catalog is written as a source."""

DIALECT = "duckdb"
"""The dialect of the SQL that grounding writes; Ibis translates it for other engines."""


class Engine(ABC):
    """Tables of a run, kept in its folder of work, so that another run can go on with them."""

    name: str
    dialect: str
    hash: str
    """The function of the engine that makes one number of 64 bits from others."""
    module: str
    """What has to be installed."""
    extra: str
    """The extra of liftgbp that installs it."""
    cost: Cost
    """What a number in a table takes, which is a row times a column, in any stage and each
    iteration."""
    seconds_to_start: float
    """Until the engine has done a small run."""

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
    def names(self) -> list[str]:
        """The tables that were kept, by this run or an earlier one."""

    @abstractmethod
    def call(self, name: str, table: Table) -> Table:
        """Call an expression by a name, without computing it."""

    @abstractmethod
    def rows_of(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows that SQL of this engine describes; they must be few."""

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

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove all tables but these."""
        for name in set(self.names()).difference(names):
            self.drop(name)

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

    def translated(self, sql: str) -> str:
        """SQL of grounding in the words of this engine."""
        return str(importlib.import_module("sqlglot").transpile(sql, DIALECT, self.dialect)[0])

    def rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of a small table."""
        return self.rows_of(self.sql(table))

    def hashed(self, one: Column, other: Column) -> Column:
        """One number for two; different numbers for different pairs, almost always."""
        signature = ((one.type(), other.type()), "int64")
        function = self.ibis.udf.scalar.builtin(_two, name=self.hash, signature=signature)
        return function(one, other)

    def constant(self, value: float) -> Column:
        """A number of double precision; DuckDB would take 0.5 as it is written for a decimal."""
        return self.ibis.literal(repr(float(value))).cast("float64")

    def number(self, value: Any) -> Any:
        """One value that is computed from a table; None if there are no rows."""
        return self.rows(value.as_table())[0][0]

    def union(self, parts: Sequence[Table]) -> Table:
        """The rows of one or several tables."""
        return parts[0] if len(parts) == 1 else self.ibis.union(*parts)

    def summed(self, parts: Sequence[Table], keys: Sequence[str], names: Sequence[str]) -> Table:
        """The sums of some columns over the rows of tables with the same keys."""
        whole = self.union(parts)
        return whole.group_by(keys).aggregate(**{name: whole[name].sum() for name in names})


def joined(
    table: Table,
    right: Table,
    keys: Sequence[str],
    right_keys: Sequence[str],
    names: Mapping[str, str],
    *,
    outer: bool = False,
) -> Table:
    """Rows with columns of another table under new names.

    Rows that are not in the other table are left out; in an `outer` join, they have zeros.
    """
    columns = {f"right_{name}": right[name] for name in right_keys}
    chosen = right.select(**columns, **{new: right[old] for old, new in names.items()}).view()
    pairs = zip(keys, right_keys, strict=True)
    matches = [table[key] == chosen[f"right_{other}"] for key, other in pairs]
    if not outer:
        return table.join(chosen, matches).select(*table.columns, *names.values())
    both = table.left_join(chosen, matches)
    filled = {new: both[new].fill_null(0.0) for new in names.values()}
    return both.select(*table.columns, **filled)


def _two(one: Any, other: Any) -> None:
    """The form of a function of an engine that takes two numbers."""


# --- what engines complain about, in one paragraph that says what to do

NO_SPACE = (
    "no space left on device",
    "file too large",
    "quota exceeded",
    "failed to offload",
    "max_temp_directory_size",
)
"""What engines and systems say when something cannot be written for want of space."""

NO_MEMORY = ("out of memory", "outofmemoryerror", "java heap space", "gc overhead limit")
"""What engines say when they cannot do with the memory that they may take."""

GO_ON = "run the same command again: it goes on from the last complete iteration, if there is one"


def in_one_paragraph(engine: str, place: str, error: Exception, text: str) -> InputError:
    """The error for what an engine says about a place, which may be empty."""
    line = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    line = " ".join(line.split())[:300]
    where = f"{place}: " if place else ""
    if type(error).__name__ == "TableNotFound":
        return EvidenceError(f"{where}{engine} has no such table")
    low = text.lower()
    if any(words in low for words in NO_SPACE):
        return InputError(f"the disk is full. {engine} says: {line}. Free some space, and {GO_ON}")
    if any(words in low for words in NO_MEMORY):
        return InputError(
            f"{engine} needs more memory. It says: {line}. Allow more by --engine-memory, and "
            f"{GO_ON}"
        )
    return EvidenceError(f"{where}{engine} says: {line}")


def ibis_errors() -> tuple[type[Exception], type[Exception]]:
    """What Ibis raises itself."""
    from ibis.common.exceptions import IbisError, TableNotFound

    return IbisError, TableNotFound
