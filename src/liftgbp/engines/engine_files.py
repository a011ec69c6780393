"""The files of a source, as engines want to hear about them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from liftgbp.evidence.fact_tables import TablePlace, is_table_file, matching_places, table_source
from liftgbp.evidence.table_reading import CSV, KINDS, csv_form
from liftgbp.support.errors import EvidenceError
from liftgbp.support.input_files import is_directory, is_file, pieces


def files_of(places: Sequence[TablePlace]) -> list[str]:
    """The files of a source; a folder stands for the Parquet files in it."""
    files: list[str] = []
    for one in places:
        path = Path(one.place)
        if re.match(r"[a-z0-9]+://", one.place):
            files.append(one.place)
        elif is_directory(path):
            inside = sorted(str(file) for file in path.glob("*.parquet"))
            if not inside:
                raise EvidenceError(f"there are no .parquet files in {path}")
            files += inside
        elif is_file(path):
            if not is_table_file(one.place):
                raise EvidenceError(f"cannot read {one.place}: {KINDS}")
            files.append(str(path))
        else:
            raise EvidenceError(f"cannot read {one.place}: no such file, folder or table")
    return files


def is_csv(place: str) -> bool:
    """Whether a file is a table of text."""
    return place.lower().endswith(CSV)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """What is between the cells of CSV files, and how their columns are called."""

    delimiter: str
    columns: tuple[str, ...]


def form_of(files: Sequence[str], header: bool) -> CsvForm:
    """The common form of CSV files, by their first lines; memory reads them in the same way."""
    first = _form_of(files[0], header)
    for other in files[1:]:
        if _form_of(other, header) != first:
            raise EvidenceError(f"{other} has other columns than {files[0]}; make them two sources")
    return first


def _form_of(file: str, header: bool) -> CsvForm:
    if "://" in file:
        raise EvidenceError(f"{file}: CSV files must be on this machine; use Parquet files there")
    line = next(pieces(Path(file), most=None, error=EvidenceError), b"").partition(b"\n")[0]
    text = line.decode("utf-8", "replace").rstrip("\r")
    if not text:
        raise EvidenceError(f"{file} is empty")
    delimiter, columns = csv_form(file, text, header)
    for name in columns:
        if columns.count(name) > 1:
            raise EvidenceError(f"{file} has more than one column {name}")
    return CsvForm(delimiter, tuple(columns))


def state_of(source: str) -> list[tuple[str, int, int]]:
    """The files of a source with their sizes and when they were written; none that are elsewhere.

    A run does not go on with tables that were made from files which have changed since.
    """
    written = table_source(source)
    if written is None or "://" in written[1]:
        return []
    files = []
    for one in matching_places(written[1]):
        with contextlib.suppress(OSError):  # what cannot be read is refused later, in words
            path = Path(one.place)
            database, colon, _ = one.place.rpartition(":")
            if colon and not path.exists():
                path = Path(database)
            for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
                known = file.stat()
                files.append((str(file), known.st_size, known.st_mtime_ns))
    return files


def pattern_of(file: str, special: str, escaped: str) -> str:
    """A pattern that matches this file only, where special characters are written in some way."""
    return file if "://" in file else re.sub(special, escaped, str(Path(file).absolute()))
