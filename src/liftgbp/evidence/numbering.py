"""Names become numbers, and all statements about a predicate become one array.

Objects are numbered in order of appearance, those that a source lists before all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from liftgbp.evidence.evidence import Facts
from liftgbp.evidence.stated_facts import ListedObjects, Numbers, Origin, Statements, statement_text
from liftgbp.model.ast import Predicate, applied
from liftgbp.model.model import Model
from liftgbp.support.arrays import Bools, Floats, Ints, group_rows, narrow, row_keys
from liftgbp.support.errors import EvidenceError, InternalError

Names: TypeAlias = Mapping[str, Sequence[str]]
"""The objects of each sort, in the order of their numbers."""


# --- numbering


def number_names(
    model: Model, statements: Sequence[Statements], listed: Sequence[ListedObjects] = ()
) -> tuple[list[Ints], dict[str, tuple[str, ...]]]:
    """The numbers of the objects of each statement, and the names of each sort."""
    numbers = {sort: Numbers() for sort in model.sorts}
    for line in listed:
        numbers[line.sort].of(line.names)
    listed_too = {sort: len(found) for sort, found in numbers.items()}
    # Going column by column is fast, but numbers new names in the order of columns.
    args: list[Ints] = [np.empty((len(p.rows), len(p.columns)), np.int64) for p in statements]
    for part, objects in zip(statements, args, strict=True):
        for k, (column, sort) in enumerate(zip(part.columns, part.predicate.sorts, strict=True)):
            objects[:, k] = numbers[sort].of(column)
    names = {}
    for sort, found in numbers.items():
        known = listed_too[sort]
        order = _order_of_appearance(statements, args, sort, known, len(found))
        number_of = np.append(np.arange(known), known + np.argsort(order))
        for part, objects in zip(statements, args, strict=True):
            for position in _positions(part, sort):
                objects[:, position] = number_of[objects[:, position]]
        appeared = list(found)
        _check_printable(statements, listed, sort, appeared)
        appeared[known:] = [appeared[known + index] for index in order.tolist()]
        names[sort] = tuple(appeared)
    return args, names


def _order_of_appearance(
    statements: Sequence[Statements], args: Sequence[Ints], sort: str, known: int, total: int
) -> Ints:
    """The new objects of a sort, from 0, in the order in which sources mention them."""
    first_seen = np.full(total - known, np.iinfo(np.int64).max)
    width = max((len(part.columns) for part in statements), default=0)
    for part, objects, lines in zip(statements, args, _lines(statements), strict=True):
        for position in _positions(part, sort):
            new = objects[:, position] >= known
            seen = lines[new] * width + position
            np.minimum.at(first_seen, objects[new, position] - known, seen)
    return np.argsort(first_seen, kind="stable")


def _lines(statements: Sequence[Statements]) -> Iterator[Ints]:
    """The rows of statements, numbered across all sources."""
    before = 0
    first_line: dict[Origin, int] = {}
    for part in statements:
        start = first_line.setdefault(part.origin, before)
        lines = part.rows + start
        before = max(before, int(lines.max(initial=-1)) + 1)
        yield lines


def _check_printable(
    statements: Sequence[Statements],
    listed: Sequence[ListedObjects],
    sort: str,
    names: Iterable[str],
) -> None:
    """Refuses names that messages and tables could not show."""
    for wrong in (name for name in names if not name.isprintable()):
        message = f"the name {wrong!r} cannot be printed"
        for line in listed:
            if line.sort == sort and wrong in line.names:
                raise line.origin.problem(line.row, message)
        for part in statements:
            for position in _positions(part, sort):
                if wrong in part.columns[position]:
                    row = int(part.rows[part.columns[position].index(wrong)])
                    raise part.origin.problem(row, message)


def _positions(part: Statements, sort: str) -> list[int]:
    return [position for position, name in enumerate(part.predicate.sorts) if name == sort]


# --- terms of functions


def with_values(model: Model, statements: Sequence[Statements]) -> list[Statements]:
    """The statements, with the values of terms such as `walking(Anna)` where facts state them."""
    values = {
        applied(part.predicate.name, names): value
        for part in statements
        if part.predicate.kind == "function"
        for *names, value in zip(*part.columns, strict=True)
    }
    if not values:
        return [*statements]
    return [
        replace(part, columns=tuple([values.get(n, n) for n in names] for names in part.columns))
        for part in statements
    ]


def objects_of_terms(model: Model, statements: Sequence[Statements]) -> list[ListedObjects]:
    """The objects inside terms such as `walking(Anna)` that facts state no values of."""
    functions = {name: p for name, p in model.predicates.items() if p.kind == "function"}
    found: dict[str, ListedObjects] = {}
    if not functions:
        return []
    for part in statements:
        for names in part.columns:
            for name, row in zip(names, part.rows.tolist(), strict=True):
                function = functions.get(name.partition("(")[0]) if name.endswith(")") else None
                inside = name.partition("(")[2][:-1].split(",")
                if function is not None and len(inside) == len(function.sorts) - 1:
                    for argument, sort in zip(inside, function.sorts, strict=False):
                        line = ListedObjects(sort, [argument], part.origin, row)
                        found.setdefault(f"{sort} {argument}", line)
    return list(found.values())


# --- merging


@dataclass(frozen=True, eq=False, slots=True)
class MergedStatements(Facts):
    """Statements about different atoms of one predicate, in the order of their sources."""

    values: Ints
    chances: Floats

    @property
    def certain(self) -> Bools:
        """Which statements are certain."""
        return np.asarray(self.chances == 1)


def merge_statements(
    model: Model, names: Names, statements: Sequence[Statements], args: Sequence[Ints]
) -> dict[str, MergedStatements]:
    """All statements by predicate; origins are numbered like the statements."""
    parts: dict[str, list[MergedStatements]] = {}
    for number, (part, objects) in enumerate(zip(statements, args, strict=True)):
        places: Ints = np.empty((len(part.rows), 2), np.int64)
        places[:, 0], places[:, 1] = number, part.rows
        merged = MergedStatements(objects, part.values, part.chances, places=narrow(places))
        parts.setdefault(part.predicate.name, []).append(merged)
    return {
        name: _once(names, model.predicates[name], first.joined(*others), statements)
        for name, (first, *others) in parts.items()
    }


def _once(
    names: Names,
    predicate: Predicate,
    everything: MergedStatements,
    statements: Sequence[Statements],
) -> MergedStatements:
    """Each atom once, where it is stated first; later statements about it must say the same."""
    sizes = [len(names[sort]) for sort in predicate.sorts]
    firsts, atom_of = group_rows([row_keys(everything.args, sizes)])
    first_of = firsts[atom_of]
    differs = (everything.values != everything.values[first_of]) | (
        everything.chances != everything.chances[first_of]
    )
    if differs.any():
        second = int(np.flatnonzero(differs)[0])
        raise _contradiction(
            names, predicate, everything, [int(first_of[second]), second], statements
        )
    return everything.take(np.sort(firsts))


def _contradiction(
    names: Names,
    predicate: Predicate,
    everything: MergedStatements,
    both: list[int],
    statements: Sequence[Statements],
) -> EvidenceError:
    """The error for two statements about an atom."""
    args = [names[s][k] for s, k in zip(predicate.sorts, everything.args[both[0]], strict=True)]
    one, other = (
        statement_text(predicate, args, int(everything.values[k]), float(everything.chances[k]))
        for k in both
    )
    if everything.places is None:
        raise InternalError("statements that contradict each other have no places")
    (before, first_row), (origin, row) = everything.places[both].tolist()
    place = statements[before].origin.place(first_row)
    message = f"{other} contradicts {one} in {place}; drop one of them"
    error: EvidenceError = statements[origin].origin.problem(row, message)
    return error
