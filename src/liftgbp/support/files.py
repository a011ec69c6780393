"""Writing files: whole or not at all, and tables as CSV or Parquet."""

from __future__ import annotations

import contextlib
import csv
import errno
import importlib
import importlib.util
import os
import re
import shutil
import signal
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.support.errors import BusyError, InputError

Schema: TypeAlias = Mapping[str, type[str] | type[float] | type[int] | type[bool]]
"""The columns of a table in their order, each with the type of its cells."""

SQL_TYPES = {str: "VARCHAR", float: "DOUBLE", int: "BIGINT", bool: "BOOLEAN"}
NUMPY_TYPES = {str: object, float: np.float64, int: np.int64, bool: np.bool_}

ROWS_AT_ONCE = 10**5
"""Rows that are handed to DuckDB together: enough to be fast, few enough to fit in memory."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path to write to, which replaces the file once everything is written.

    A file that existed before stays intact until then.
    """
    with whole_files([path]) as (unfinished,):
        yield unfinished


@contextlib.contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Temporary paths to write to, which replace the files once all of them are written.

    Each of them is a new file with a name of its own, so that no file of somebody else is
    overwritten, and two processes can write to one path: the later one wins.
    """
    path = paths[0]
    with contextlib.ExitStack() as stack:
        try:
            unfinished: list[Path] = []
            for path in paths:
                check_place(path)
                new = _new_file(path)
                stack.enter_context(_removed_in_the_end(new))
                unfinished.append(new)
            yield unfinished
            for path, new in zip(paths, unfinished, strict=True):
                new.replace(path)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None


LONGEST_STEM = 40
"""Characters that the name of a temporary file repeats; names have 255 bytes at most."""


def _new_file(path: Path) -> Path:
    """An empty file beside a path that was not there before, with the permissions of that path."""
    number = 0
    while True:
        number += 1
        name = f"{path.stem[:LONGEST_STEM]}.unfinished-{os.getpid()}-{number}{path.suffix}"
        with contextlib.suppress(FileExistsError):
            new = path.with_name(name)
            new.open("x").close()
            with contextlib.suppress(OSError):
                shutil.copymode(path, new)
            return new


_unfinished: list[Path] = []
"""Files that must not outlive this process."""


@contextlib.contextmanager
def _removed_in_the_end(path: Path) -> Iterator[None]:
    path = path.absolute()
    _unfinished.append(path)
    try:
        yield
    finally:
        _remove(path)
        _unfinished.remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def remove_unfinished() -> None:
    """Remove all files that are not complete, before this process ends on the spot."""
    for path in _unfinished:
        _remove(path)


@contextlib.contextmanager
def plain_texts() -> Iterator[None]:
    """Draw with matplotlib without taking what users wrote for formulas.

    Letters that its font lacks are drawn as boxes, without a warning for each.
    """
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


# --- one writer at a time


LOCK_TEXT = "liftgbp writes here: process "


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from the same output; `BusyError` if one of them holds it.

    A lock file beside the output names the process. The system itself knows whether that process
    still lives: a lock file left by a killed one is ignored.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    lock = path.with_name(f"{path.name}.lock")
    with contextlib.ExitStack() as stack:
        # A signal between the lock and what removes it would leave it behind.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            file = _locked(lock, path, fcntl)
            stack.enter_context(file)
            stack.enter_context(_removed_in_the_end(lock))
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield


def _locked(lock: Path, path: Path, fcntl: Any) -> IO[str]:
    while True:
        file = lock.open("a+", encoding="utf-8", errors="replace")
        try:
            file.seek(0)
            holder = file.readline()
            if holder and not holder.startswith(LOCK_TEXT):
                raise InputError(f"{lock} is in the way, and no lock of liftgbp; rename it")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                name = holder.removeprefix(LOCK_TEXT).strip() or "another one"
                raise BusyError(
                    f"{path} is being written by process {name}; wait for it, or choose another "
                    "output"
                ) from None
            # Whoever held it may have removed the file in the meantime.
            if _is_still(file, lock):
                file.truncate(0)
                file.write(f"{LOCK_TEXT}{os.getpid()}\n")
                file.flush()
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _is_still(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


# --- checks before the work


def check_writable(path: Path, extensions: Iterable[str]) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path.suffix not in extensions:
        raise InputError(
            f"cannot write {path}: the extension must be one of {', '.join(sorted(extensions))}"
        )
    if path.suffix == ".parquet":
        need_module("duckdb", "data", "writing .parquet")
    check_place(path)


def check_place(path: Path) -> None:
    """Refuse a path at which no file can be created."""
    try:
        reason = "it is a directory" if path.is_dir() else ""
        if not reason and path.exists() and not path.is_file():
            reason = "it is no regular file"
        if not path.parent.is_dir():
            reason = f"there is no directory {path.parent}"
    except OSError as error:  # such as a name that is too long
        reason = str(error.strerror)
    if reason:
        raise InputError(f"cannot write {path}: {reason}")


def check_apart(path: Path, read: Iterable[str]) -> None:
    """Refuse an output that is one of the files that were read for it."""
    for name in read:
        with contextlib.suppress(OSError, ValueError):  # one of them is no file
            if path.samefile(name):
                raise InputError(
                    f"cannot write {path}: the model or its evidence was read from this file; "
                    "choose another output"
                )


def need_module(module: str, extra: str, what: str) -> None:
    """Refuse what needs a package that is not installed."""
    if importlib.util.find_spec(module) is None:
        raise InputError(f"{what} needs {module}; install it with pip install 'liftgbp[{extra}]'")


# --- tables


def installed(module: str, what: str) -> Any:
    """A module that a user needs to have for what is asked."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{what} needs {module}; install it with pip install {module}") from None


def write_table(path: Path, schema: Schema, rows: Iterable[Sequence[object]]) -> None:
    """Write a table; the extension of the path, .csv or .parquet, says in which format."""
    if path.suffix == ".parquet":
        _write_parquet(path, schema, rows)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, schema, rows)


def write_csv(file: IO[str], schema: Schema, rows: Iterable[Sequence[object]]) -> None:
    r"""Write a table as CSV; truth values are written in lower case, as in models.

    >>> import sys
    >>> write_csv(sys.stdout, {"atom": str, "observed": bool}, [["friends(Anna,Bob)", True]])
    atom,observed
    "friends(Anna,Bob)",true
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(schema)
    truth = [k for k, kind in enumerate(schema.values()) if kind is bool]
    if not truth:
        writer.writerows(rows)
        return
    for row in rows:
        cells = list(row)
        for k in truth:
            cells[k] = "true" if cells[k] else "false"
        writer.writerow(cells)


def _write_parquet(path: Path, schema: Schema, rows: Iterable[Sequence[object]]) -> None:
    """Write typed columns, so that no type is ever guessed from the first rows."""
    import duckdb

    if len({name.lower() for name in schema}) < len(schema):
        raise InputError(
            f"cannot write {path.suffix}: some columns differ only in case; write .csv instead"
        )
    remaining = iter(rows)
    with _as_os_error(duckdb.Error), duckdb.connect() as connection:
        columns = ", ".join(f"{_quoted(name)} {SQL_TYPES[kind]}" for name, kind in schema.items())
        connection.execute(f"CREATE TABLE written ({columns})")
        while chunk := list(islice(remaining, ROWS_AT_ONCE)):
            # Numbered columns, since DuckDB does not tell `a` from `A`.
            arrays: dict[str, NDArray[Any]] = {
                f"c{k}": np.array(cells, dtype=NUMPY_TYPES[kind])
                for k, (cells, kind) in enumerate(
                    zip(zip(*chunk, strict=True), schema.values(), strict=True)
                )
            }
            connection.register("chunk", arrays)
            connection.execute("INSERT INTO written SELECT * FROM chunk")
            connection.unregister("chunk")
        connection.table("written").write_parquet(str(path.absolute()))


_ERROR_NUMBER = re.compile(r'"errno":"(\d{1,9})"')


@contextlib.contextmanager
def _as_os_error(kind: type[Exception]) -> Iterator[None]:
    """Raise what every other file raises that cannot be written, as on a full disk."""
    try:
        yield
    except kind as error:
        # DuckDB states the number of the reason, or its words behind the name of the file.
        number, text = _ERROR_NUMBER.search(str(error)), str(error).partition("\n")[0]
        reason = os.strerror(int(number[1])) if number else text.rpartition(": ")[2]
        raise OSError(errno.EIO, reason) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
