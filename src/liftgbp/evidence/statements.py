"""What sources say, before names are numbers: statements with the places where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import EvidenceError, Source, Span
from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.model import Model
from liftgbp.model.writer import constant_text


class Origin(Protocol):
    """A file whose rows, counted from 0, hold statements."""

    def place(self, row: int) -> str:
        """Where a row is, in words."""

    def problem(self, row: int, message: str) -> EvidenceError:
        """The error that points at a row."""


@dataclass(frozen=True, eq=False, slots=True)
class Statements:
    """What one source says about atoms of one predicate, in its order.

    Statement k gives value number `values[k]` the probability `chances[k]`, and all other values
    equal shares of the rest. Its atom is over the objects named `columns[0][k]`, `columns[1][k]`
    and so on, and it stands in row `rows[k]` of its origin.
    """

    predicate: Predicate
    columns: tuple[Sequence[str], ...]
    values: Ints
    chances: Floats
    origin: Origin
    rows: Ints


@dataclass(frozen=True, eq=False, slots=True)
class ListedObjects:
    """Names of objects of a sort that a source lists without saying anything about them."""

    sort: str
    names: Sequence[str]
    origin: Origin
    row: int


@dataclass(frozen=True, eq=False)
class FactFile:
    """A text of facts, one per line; in `lines`, comments are blank."""

    source: Source
    lines: Sequence[str]

    @cached_property
    def _starts(self) -> Ints:
        lengths = np.fromiter(map(len, self.lines), np.int64, len(self.lines))
        return np.cumsum(lengths + 1) - lengths - 1

    def span(self, row: int, start: int | None = None, end: int | None = None) -> Span:
        """The fact in a line, or some of its columns (from 0)."""
        line = self.lines[row]
        offset = int(self._starts[row])
        first = len(line) - len(line.lstrip()) if start is None else start
        last = len(line.rstrip()) if end is None else end
        return Span(self.source, offset + first, offset + last)

    def place(self, row: int) -> str:
        """File, line and column."""
        span = self.span(row)
        return f"{self.source.name}, line {row + 1}, column {span.column}"

    def problem(
        self, row: int, message: str, start: int | None = None, end: int | None = None
    ) -> EvidenceError:
        """The error that points at a line or at some of its columns."""
        return EvidenceError(message, self.span(row, start, end))


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table of facts; its rows are counted without the names of columns."""

    name: str

    def place(self, row: int) -> str:
        """File and row."""
        return f"{self.name}, row {row + 1}"

    def problem(self, row: int, message: str) -> EvidenceError:
        """The error that names a row."""
        return EvidenceError(f"{self.place(row)}: {message}")


def unknown_predicate(model: Model, name: str) -> str:
    """What to say about a predicate that the model has not."""
    for known in model.predicates:
        if known.lower() == name.lower():
            return f"unknown predicate {name}; the model writes {known}, and case matters"
    return f"unknown predicate {name}; the model has {', '.join(model.predicates) or 'none'}"


def wrong_arity(predicate: Predicate, found: int, what: str = "argument") -> str:
    """What to say about the number of arguments."""
    wanted = len(predicate.sorts)
    return f"{predicate.name} takes {wanted} {what}{'s' * (wanted != 1)}, got {found}"


def atom_text(predicate: Predicate, names: Sequence[str]) -> str:
    """A ground atom as text."""
    arguments = ",".join(map(constant_text, names))
    return f"{predicate.name}({arguments})" if arguments else predicate.name


def statement_text(predicate: Predicate, names: Sequence[str], value: int, chance: float) -> str:
    """A statement as one line of text."""
    atom = atom_text(predicate, names)
    if predicate.values == BOOLEAN:
        text = atom if value else f"!{atom}"
    else:
        text = f"{atom} = {predicate.values[value]}"
    return text if chance == 1 else f"{chance:g} {text}"
