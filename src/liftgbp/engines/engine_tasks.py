"""What a run on an engine is asked to do, checked beforehand, and which engines there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path

from liftgbp.engines.duckdb_engine import DuckDBEngine
from liftgbp.engines.engine import Engine
from liftgbp.engines.engine_files import state_of
from liftgbp.engines.spark_engine import SparkEngine
from liftgbp.model.model import Model, check_model
from liftgbp.support.errors import (
    InputError,
    ModelError,
    check_function,
    check_mapping,
    checked_texts,
    shown,
    wrong_type,
)
from liftgbp.support.files import need_module
from liftgbp.support.progress import Progress

FAMILIES = ("bethe", "intersections")


@dataclass(frozen=True, slots=True)
class EngineTask:
    """A model and the tables that it is about.

    sources  tables, such as `friends=friends.parquet`
    closed   predicates of which all true atoms are listed
    sizes    how many objects there should be
    """

    model: Model
    sources: tuple[str, ...]
    closed: tuple[str, ...]
    sizes: Mapping[str, int]
    regions: str
    engine: str
    compress: bool = False

    @property
    def fingerprint(self) -> str:
        """What it is about: a run with the same can go on with the tables of another.

        Tables of Spark's catalog and files elsewhere count by their names only.
        """
        files = [state_of(source) for source in self.sources]
        settings = [getattr(self, one.name) for one in fields(self)[1:]]
        text = repr((str(self.model), dict(self.model.weights), settings, files))
        return hashlib.sha256(text.encode()).hexdigest()


def checked_task(
    model: Model,
    evidence: str | Iterable[str],
    engine: str,
    closed: str | Iterable[str],
    sizes: Mapping[str, int] | None,
    regions: str,
    memory: float | None,
    progress: Progress,
    compress: bool = False,
) -> EngineTask:
    """The task, unless something about it is wrong."""
    check_model(model)
    if not isinstance(regions, str) or regions not in FAMILIES:
        raise InputError(f"regions on an engine are {' or '.join(FAMILIES)}, got {shown(regions)}")
    if not isinstance(engine, str):
        raise wrong_type("engine", "duckdb or spark", engine)
    check_function("progress", progress)
    sizes = {} if sizes is None else sizes
    check_mapping("sizes", sizes, "from sorts to numbers of objects")
    if memory is not None and (not isinstance(memory, Real) or not memory > 0):
        raise wrong_type("memory (--engine-memory)", "a positive number of GB", memory)
    if not isinstance(compress, bool):
        raise wrong_type("compress", "True or False", compress)
    _check_supported(model)
    sources, names = checked_texts("evidence", evidence), checked_texts("closed", closed)
    return EngineTask(model, tuple(sources), tuple(names), dict(sizes), regions, engine, compress)


def _check_supported(model: Model) -> None:
    model.check_weights()
    if model.demands:
        raise ModelError("probabilities in a model are fitted first; see fit_weights")
    for predicate in model.predicates.values():
        if predicate.kind != "relation":
            raise ModelError(
                f"{predicate.name}: functions, steps and orders are not supported on engines",
                predicate.span,
            )


# --- engines


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
