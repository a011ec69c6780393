"""What both formats write: potentials instead of logarithms, and complete files or none."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.ground.formats.words import DECIMALS
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import SizeError
from liftgbp.support.files import whole_files
from liftgbp.support.input_files import is_gzipped

# Doubles reach from exp(-708) to exp(709) without loss of digits.
LARGEST_LOG = 700.0

LARGEST_EXPONENT = 1e18
"""Decimals reach from exp(-2e18) to exp(2e18)."""

COMPRESSION_LEVEL = 6

Decimals: TypeAlias = NDArray[np.object_]


@dataclass(frozen=True, eq=False, slots=True)
class WrittenFactors:
    """Factors as a file lists them: each with its scope and the number of its table."""

    scopes: Sequence[Sequence[int]]
    table_of: Sequence[int]
    tables: Sequence[Floats | Decimals]

    @classmethod
    def of(cls, network: GroundNetwork, every_variable: bool = False) -> WrittenFactors:
        """The factors of a network, and further ones that keep log Z and all variables.

        What log Z has besides is one more factor; or, if that exceeds the range of doubles, each
        factor gets a share of it.
        """
        copies = [_parts(log_table) for log_table in network.tables]
        logs = [table / parts for table, parts in zip(network.tables, copies, strict=True)]
        scopes: list[Sequence[int]] = []
        table_of: list[int] = []
        for block in network.blocks:
            for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
                scopes.extend([scope] * copies[table])
                table_of.extend([table] * copies[table])
        free = sum(n * math.log(length) for length, n in network.free.items())
        constant = network.log_constant + free
        share = _share(constant, logs, len(table_of))
        tables: list[Floats | Decimals] = [np.exp(log_table + share) for log_table in logs]
        if constant and not share:
            first = network.ranges[:1]
            scopes.append(range(len(first)))
            table_of.append(len(tables))
            tables.append(np.full(first, _exponential(constant)))
        if every_variable:
            touched = {variable for scope in scopes for variable in scope}
            for variable, length in enumerate(network.ranges.tolist()):
                if variable not in touched:
                    scopes.append((variable,))
                    table_of.append(len(tables))
                    tables.append(np.ones(length))
        return cls(scopes, table_of, tables)


def number_text(number: float | Decimal) -> str:
    """A potential as files have it."""
    return str(number) if isinstance(number, Decimal) else repr(number)


def _share(constant: float, logs: Sequence[Floats], factors: int) -> float:
    """What each factor gets of a constant that is too large for one; zero if they have no room."""
    if abs(constant) <= LARGEST_LOG or not factors:
        return 0.0
    largest = max(
        float(np.abs(log_table[np.isfinite(log_table)]).max(initial=0.0)) for log_table in logs
    )
    share = constant / factors
    return share if largest + abs(share) <= LARGEST_LOG else 0.0


def _exponential(log: float) -> float | Decimal:
    """The exponential of a number; in decimals, where doubles do not reach."""
    if abs(log) > LARGEST_EXPONENT and log != -math.inf:
        raise SizeError(
            f"log Z has more than {LARGEST_EXPONENT:g} besides the factors, as many objects are in "
            "none of them; no number in a file is that large, so export fewer objects"
        )
    return math.exp(log) if abs(log) <= LARGEST_LOG else DECIMALS.exp(Decimal(log))


def _parts(log_table: Floats) -> int:
    """How many equal factors must replace a factor so that its potentials are doubles."""
    finite = log_table[np.isfinite(log_table)]
    return max(1, math.ceil(float(np.abs(finite).max(initial=0.0)) / LARGEST_LOG))


def write_files(path: Path, parts: Iterable[str], names: Sequence[str] | None) -> None:
    """Write a network, and beside it which atom each variable is, if the atoms have names.

    Existing files are replaced once all new ones are complete.
    """
    texts = {path: "".join(parts)}
    if names is not None:
        table = io.StringIO(newline="")
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["variable", "atom"])
        writer.writerows(enumerate(names))
        texts[names_path(path)] = table.getvalue()
    with whole_files(list(texts)) as unfinished:
        for file, (target, text) in zip(unfinished, texts.items(), strict=True):
            raw = text.encode("utf-8")
            if is_gzipped(target):  # the same text gives the same bytes
                raw = gzip.compress(raw, COMPRESSION_LEVEL, mtime=0)
            file.write_bytes(raw)


def names_path(network: Path) -> Path:
    """The file beside a network that says which variable is which ground atom."""
    return without_gz(network).with_suffix(".atoms.csv")


def without_gz(path: Path) -> Path:
    """The path without the extension `.gz`.

    >>> without_gz(Path("net.uai.gz")).name, without_gz(Path("net.uai")).name
    ('net.uai', 'net.uai')
    """
    return path.with_suffix("") if is_gzipped(path) else path
