"""The files of a source, as engines want to hear about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from liftgbp.errors import EvidenceError
from liftgbp.evidence.fact_tables import TablePlace
from liftgbp.input_files import is_directory, is_file


def files_of(places: Sequence[TablePlace]) -> list[str]:
    """The files of a source; a folder stands for the Parquet files in it."""
    found: list[str] = []
    for one in places:
        path = Path(one.place)
        if re.match(r"[a-z0-9]+://", one.place):
            found.append(one.place)
        elif is_directory(path):
            inside = sorted(str(file) for file in path.glob("*.parquet"))
            if not inside:
                raise EvidenceError(f"there are no .parquet files in {path}")
            found += inside
        elif is_file(path):
            found.append(str(path))
        else:
            raise EvidenceError(f"cannot read {one.place}: no such file, folder or table")
    return found


def is_csv(place: str) -> bool:
    """Whether a file is a table of text."""
    return place.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def literal_pattern(file: str) -> str:
    """A pattern of DuckDB that matches this file only."""
    return file if "://" in file else re.sub(r"[*?[]", r"[\g<0>]", str(Path(file).absolute()))


def escaped_pattern(file: str) -> str:
    """A pattern of Hadoop that matches this file only."""
    return (
        file if "://" in file else re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", str(Path(file).absolute()))
    )
