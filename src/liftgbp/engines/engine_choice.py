"""Which engines there are."""

from __future__ import annotations

from pathlib import Path

from liftgbp.engines.duckdb_engine import DuckDBEngine
from liftgbp.engines.engine import Engine
from liftgbp.engines.spark_engine import SparkEngine
from liftgbp.support.errors import InputError
from liftgbp.support.files import need_module

KINDS: dict[str, type[DuckDBEngine] | type[SparkEngine]] = {
    "duckdb": DuckDBEngine,
    "spark": SparkEngine,
}


def start(name: str, folder: Path, memory: float | None) -> Engine:
    """Start an engine that keeps its tables in a folder; it may take so many GB of memory."""
    if name not in KINDS:
        raise InputError(f"engine must be {' or '.join(KINDS)}, got {name!r}")
    kind = KINDS[name]
    for module in ("ibis", kind.module):
        need_module(module, kind.extra, f"the engine {name}")
    return kind(folder, memory)
