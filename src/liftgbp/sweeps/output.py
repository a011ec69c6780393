"""Writing the table of a sweep: CSV, JSON, Parquet, or a plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from liftgbp.files import Schema, check_writable, need_module, whole_file, write_table
from liftgbp.sweeps.figure import draw

Record = dict[str, object]

ANSWER_TYPES: Schema = {
    "query": str,
    "atom": str,
    "where": str,
    "value": str,
    "probability": float,
    "log_z": float,
    "status": str,
    "minima": int,
}
"""The types of columns; what else a record has is a size or, with a dollar sign, a weight."""

LARGEST_BIGINT = 2**63 - 1


def check_output(path: Path) -> None:
    """Refuse what could not be written, before anything is computed."""
    check_writable(path, WRITERS)
    if WRITERS[path.suffix] is draw:
        need_module("matplotlib", "plot", f"writing {path.suffix}")


def write_records(records: Sequence[Record], path: Path) -> None:
    """Write the table; a file that was there before stays whole until the new one is complete."""
    with whole_file(path) as unfinished:
        WRITERS[path.suffix](records, unfinished)


def _write_table(records: Sequence[Record], path: Path) -> None:
    write_table(path, record_types(records), (list(record.values()) for record in records))


def record_types(records: Sequence[Record]) -> Schema:
    """The columns of a sweep with their types; sizes beyond 64 bits are floating-point numbers."""

    def column_type(name: str) -> type:
        if name in ANSWER_TYPES or name.startswith("$"):
            return ANSWER_TYPES.get(name, float)
        largest = max(int(str(record[name])) for record in records)
        return int if largest <= LARGEST_BIGINT else float

    return {name: column_type(name) for name in (records[0] if records else ())}


def _write_json(records: Sequence[Record], path: Path) -> None:
    path.write_text(json.dumps(list(records), indent=1) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Sequence[Record], Path], None]] = {
    ".csv": _write_table,
    ".json": _write_json,
    ".parquet": _write_table,
    ".png": draw,
    ".svg": draw,
}
