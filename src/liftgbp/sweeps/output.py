"""Writing the table of a sweep: CSV, JSON, Parquet, or a plot."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from liftgbp.errors import InputError
from liftgbp.sweeps.figure import draw

Record = dict[str, object]

EXTRAS = {".parquet": ("duckdb", "data"), ".png": ("matplotlib", "plot")}
EXTRAS[".svg"] = EXTRAS[".png"]


def check_output(path: Path) -> None:
    """Refuse what could not be written, before anything is computed."""
    if path.suffix not in WRITERS:
        raise InputError(
            f"cannot write {path}: the ending must be one of {', '.join(sorted(WRITERS))}"
        )
    if path.suffix in EXTRAS:
        module, extra = EXTRAS[path.suffix]
        if importlib.util.find_spec(module) is None:
            raise InputError(
                f"writing {path.suffix} needs {module}; install it with "
                f"pip install 'liftgbp[{extra}]'"
            )
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory")


def write_records(records: Sequence[Record], path: Path) -> None:
    """Write the table; a file that was there before stays whole until the new one is complete."""
    unfinished = path.with_name(f"{path.stem}.unfinished{path.suffix}")
    try:
        WRITERS[path.suffix](records, unfinished)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _write_csv(records: Sequence[Record], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]) if records else [])
        writer.writeheader()
        writer.writerows(records)


def _write_json(records: Sequence[Record], path: Path) -> None:
    path.write_text(json.dumps(list(records), indent=1) + "\n", encoding="utf-8")


def _write_parquet(records: Sequence[Record], path: Path) -> None:
    import duckdb

    table = path.with_suffix(".csv")
    _write_csv(records, table)
    try:
        duckdb.read_csv(str(table)).write_parquet(str(path))
    finally:
        table.unlink()


WRITERS: dict[str, Callable[[Sequence[Record], Path], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
    ".png": draw,
    ".svg": draw,
}
