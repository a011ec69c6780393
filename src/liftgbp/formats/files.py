"""Networks by the ending of their files, which may be packed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from liftgbp.errors import InputError
from liftgbp.files import check_place
from liftgbp.formats.fg import read_fg, write_fg
from liftgbp.formats.packed import name_unpacked
from liftgbp.formats.uai import read_uai, write_uai
from liftgbp.grounding import GroundNetwork

READERS = {".uai": read_uai, ".fg": read_fg}
WRITERS = {".uai": write_uai, ".fg": write_fg}


def read_network(path: str | Path) -> GroundNetwork:
    """Read a network in the format that the ending of the file names."""
    return READERS[_ending(path)](path)


def write_network(
    network: GroundNetwork, path: str | Path, names: Sequence[str] | None = None
) -> None:
    """Write a network in the format that the ending of the file names."""
    WRITERS[_ending(path)](network, path, names)


def check_target(path: Path) -> None:
    """Refuse what could not be written, before there is a network."""
    _ending(path)
    check_place(path)


def _ending(path: str | Path) -> str:
    ending = name_unpacked(Path(path)).suffix.lower()
    if ending not in READERS:
        raise InputError(
            f"the ending of {path} must be one of {', '.join(READERS)}, or such a one with .gz"
        )
    return ending
