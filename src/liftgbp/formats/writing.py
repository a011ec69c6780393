"""What both formats write: potentials instead of logarithms, and complete files or none."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.files import whole_files
from liftgbp.formats.text_numbers import in_bytes, without_gz
from liftgbp.grounding import GroundNetwork
from liftgbp.values import dataclass

# Doubles reach from exp(-708) to exp(709) without loss of digits.
LARGEST_LOG = 700.0


@dataclass(frozen=True, eq=False, slots=True)
class WrittenFactors:
    """Factors as a file lists them: each with its scope and the number of its table."""

    scopes: Sequence[Sequence[int]]
    table_of: Sequence[int]
    tables: Sequence[Floats]

    @classmethod
    def of(cls, network: GroundNetwork, every_variable: bool = False) -> WrittenFactors:
        """The factors of a network, and further ones that keep log Z and all variables."""
        scopes: list[Sequence[int]] = []
        table_of: list[int] = []
        tables: list[Floats] = []
        copies: list[int] = []

        def add_table(log_table: Floats) -> int:
            parts = _parts(log_table)
            tables.append(np.exp(log_table / parts))
            copies.append(parts)
            return len(tables) - 1

        def add_factor(scope: Sequence[int], table: int) -> None:
            scopes.extend([scope] * copies[table])
            table_of.extend([table] * copies[table])

        for log_table in network.tables:
            add_table(log_table)
        for block in network.blocks:
            for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
                add_factor(scope, table)
        constant = _whole_constant(network)
        if constant:
            first = network.ranges[:1]
            add_factor(range(len(first)), add_table(np.full(first, constant)))
        if every_variable:
            touched = {variable for scope in scopes for variable in scope}
            for variable, length in enumerate(network.ranges.tolist()):
                if variable not in touched:
                    add_factor((variable,), add_table(np.zeros(length)))
        return cls(scopes, table_of, tables)


def _parts(log_table: Floats) -> int:
    """How many equal factors must replace a factor so that its potentials are doubles."""
    finite = log_table[np.isfinite(log_table)]
    return max(1, math.ceil(float(np.abs(finite).max(initial=0.0)) / LARGEST_LOG))


def _whole_constant(network: GroundNetwork) -> float:
    """What log Z has besides the factors and variables of the network."""
    return network.log_constant + sum(n * math.log(length) for length, n in network.free.items())


def table_of_names(path: Path, names: Sequence[str] | None) -> dict[Path, str]:
    """The file beside a network that says which atom each variable is, and its text."""
    if names is None:
        return {}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variable", "atom"])
    writer.writerows(enumerate(names))
    return {names_path(path): text.getvalue()}


def replace_files(texts: Mapping[Path, str]) -> None:
    """Write files; existing ones are replaced once all new ones are complete."""
    with whole_files(list(texts)) as unfinished:
        for own, (path, text) in zip(unfinished, texts.items(), strict=True):
            own.write_bytes(in_bytes(path, text))


def names_path(network: Path) -> Path:
    """The file beside a network that says which variable is which ground atom."""
    return without_gz(network).with_suffix(".atoms.csv")
