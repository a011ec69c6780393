"""Writing the table of a sweep: CSV, JSON, Parquet, or a plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from liftgbp.files import check_writable, need_module, whole_file, write_table
from liftgbp.sweeps.figure import draw

Record = dict[str, object]


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
    header = list(records[0]) if records else []
    write_table(path, header, (list(record.values()) for record in records))


def _write_json(records: Sequence[Record], path: Path) -> None:
    path.write_text(json.dumps(list(records), indent=1) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Sequence[Record], Path], None]] = {
    ".csv": _write_table,
    ".json": _write_json,
    ".parquet": _write_table,
    ".png": draw,
    ".svg": draw,
}
