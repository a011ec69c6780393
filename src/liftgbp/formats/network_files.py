"""Reading and writing networks in the format that the extension of a file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from liftgbp.errors import InputError
from liftgbp.evidence import Evidence, Relation
from liftgbp.files import check_place
from liftgbp.formats.fg import read_fg, write_fg
from liftgbp.formats.text_numbers import name_unpacked
from liftgbp.formats.uai import read_uai, write_uai
from liftgbp.grounding import AtomTable, GroundNetwork
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model

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


# --- networks as models


def as_propositions(
    network: GroundNetwork, name: str, observed: Mapping[int, int]
) -> tuple[Evidence, AtomTable]:
    """A model that declares the variables, with what is observed, and which variable is which atom.

    The values of a variable are named by their numbers. A predicate has two of them at least: the
    second one of a variable that has a single value is ruled out as if the first were observed.
    """
    single = np.flatnonzero(network.ranges == 1).tolist()
    predicates = {
        f"x{k}": Predicate(f"x{k}", (), tuple(map(str, range(max(2, values)))))
        for k, values in enumerate(network.ranges.tolist())
    }
    facts = {
        f"x{k}": Relation(np.zeros((1, 0), np.int64), np.array([value]))
        for k, value in {**dict.fromkeys(single, 0), **observed}.items()
    }
    count = len(network.ranges)
    atoms = AtomTable(np.arange(count), np.zeros((count, 0), np.int64))
    return Evidence(Model({}, predicates, name=name), facts), atoms
