"""Writing files: whole or not at all, and tables as CSV or Parquet."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from liftgbp.errors import InputError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to; what is there when all went well becomes the file.

    A file that was there before stays whole until the new one is complete.
    """
    unfinished = path.with_name(f"{path.stem}.unfinished{path.suffix}")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def check_writable(path: Path, endings: Iterable[str]) -> None:
    """Refuse what could not be written, before anything is computed."""
    if path.suffix not in endings:
        raise InputError(
            f"cannot write {path}: the ending must be one of {', '.join(sorted(endings))}"
        )
    if path.suffix == ".parquet":
        need_module("duckdb", "data", "writing .parquet")
    check_place(path)


def check_place(path: Path) -> None:
    """Refuse a place where no file can be."""
    try:
        reason = "it is a directory" if path.is_dir() else ""
        if not path.parent.is_dir():
            reason = f"there is no directory {path.parent}"
    except OSError as error:  # such as a name that is too long
        reason = str(error.strerror)
    if reason:
        raise InputError(f"cannot write {path}: {reason}")


def need_module(module: str, extra: str, what: str) -> None:
    """Refuse what needs a package that is not installed."""
    if importlib.util.find_spec(module) is None:
        raise InputError(f"{what} needs {module}; install it with pip install 'liftgbp[{extra}]'")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; the ending of the path, .csv or .parquet, says how."""
    if path.suffix == ".csv":
        _write_csv(path, header, rows)
        return
    import duckdb

    table = path.with_suffix(".csv")
    try:
        _write_csv(table, header, rows)
        duckdb.read_csv(str(table)).write_parquet(str(path))
    finally:
        table.unlink(missing_ok=True)


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
