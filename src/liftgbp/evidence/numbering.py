"""Names become numbers, and all statements about a predicate become one array.

Objects are numbered in order of appearance, those that a source lists before all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints, group_rows, narrow, row_keys
from liftgbp.errors import EvidenceError
from liftgbp.evidence.sources import ListedObjects, Numbers, Origin, Statements, statement_text
from liftgbp.model.ast import Predicate, applied
from liftgbp.model.model import Model

Names: TypeAlias = Mapping[str, Sequence[str]]
"""The objects of each sort, in the order of their numbers."""


# --- numbering


def number_names(
    model: Model, statements: Sequence[Statements], listed: Sequence[ListedObjects] = ()
) -> tuple[list[Ints], dict[str, tuple[str, ...]]]:
    """The numbers of the objects of each statement, and the names of each sort."""
    numbers = {sort: Numbers() for sort in model.sorts}
    for line in listed:
        for name in line.names:
            _check_printable(line, name)
            _ = numbers[line.sort][name]
    listed_too = {sort: len(found) for sort, found in numbers.items()}
    # Going column by column is fast, but numbers new names in the order of columns.
    args = [_args(part, numbers) for part in statements]
    names = {}
    for sort, found in numbers.items():
        known = listed_too[sort]
        order = _order_of_appearance(statements, args, sort, known, len(found))
        number_of = np.append(np.arange(known), known + np.argsort(order))
        for part, objects in zip(statements, args, strict=True):
            for position in _positions(part, sort):
                objects[:, position] = number_of[objects[:, position]]
        appeared = list(found)
        _check_all_printable(statements, sort, appeared[known:])
        appeared[known:] = [appeared[known + index] for index in order.tolist()]
        names[sort] = tuple(appeared)
    return args, names


def _args(part: Statements, numbers: Mapping[str, Numbers]) -> Ints:
    args = np.empty((len(part.rows), len(part.columns)), np.int64)
    for position, (names, sort) in enumerate(zip(part.columns, part.predicate.sorts, strict=True)):
        args[:, position] = numbers[sort].of(names)
    return args


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


def _check_printable(part: ListedObjects, name: str) -> None:
    if not name.isprintable():
        raise part.origin.problem(part.row, f"the name {name!r} cannot be printed")


def _check_all_printable(statements: Sequence[Statements], sort: str, names: Sequence[str]) -> None:
    """Refuses names that messages and tables could not show."""
    wrong = next((name for name in names if not name.isprintable()), None)
    if wrong is None:
        return
    for part in statements:
        for position in _positions(part, sort):
            if wrong in part.columns[position]:
                row = int(part.rows[part.columns[position].index(wrong)])
                raise part.origin.problem(row, f"the name {wrong!r} cannot be printed")


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
class MergedStatements:
    """Statements about different atoms of one predicate, in the order of their sources.

    `places[k]` is the number of the origin of statement k, and its row there.
    """

    predicate: Predicate
    args: Ints
    values: Ints
    chances: Floats
    places: Ints

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Which statements are certain."""
        result: NDArray[np.bool_] = self.chances == 1
        return result

    def __getitem__(self, kept: Ints) -> MergedStatements:
        return MergedStatements(
            self.predicate,
            self.args[kept],
            self.values[kept],
            self.chances[kept],
            self.places[kept],
        )


def merge_statements(
    names: Names, statements: Sequence[Statements], args: Sequence[Ints]
) -> dict[str, MergedStatements]:
    """All statements by predicate; origins are numbered like the statements."""
    by_predicate: dict[str, list[int]] = {}
    for number, part in enumerate(statements):
        by_predicate.setdefault(part.predicate.name, []).append(number)
    merged = {}
    for name, numbers in by_predicate.items():
        parts = [statements[number] for number in numbers]
        everything = MergedStatements(
            parts[0].predicate,
            np.concatenate([args[number] for number in numbers]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.chances for part in parts]),
            np.concatenate([_places(k, part) for k, part in zip(numbers, parts, strict=True)]),
        )
        merged[name] = _once(names, everything, [part.origin for part in statements])
    return merged


def _places(origin: int, part: Statements) -> Ints:
    places: Ints = np.empty((len(part.rows), 2), np.int64)
    places[:, 0], places[:, 1] = origin, part.rows
    return narrow(places)


def _once(
    names: Names, everything: MergedStatements, origins: Sequence[Origin]
) -> MergedStatements:
    """Each atom once, where it is stated first; later statements about it must say the same."""
    sizes = [len(names[sort]) for sort in everything.predicate.sorts]
    firsts, atom_of = group_rows([row_keys(everything.args, sizes)])
    first_of = firsts[atom_of]
    differs = (everything.values != everything.values[first_of]) | (
        everything.chances != everything.chances[first_of]
    )
    if differs.any():
        second = int(np.flatnonzero(differs)[0])
        raise _contradiction(names, everything, int(first_of[second]), second, origins)
    return everything[np.sort(firsts)]


def _contradiction(
    names: Names, everything: MergedStatements, first: int, second: int, origins: Sequence[Origin]
) -> EvidenceError:
    one, other = (_text(names, everything, k) for k in (first, second))
    (before, first_row), (origin, row) = everything.places[[first, second]].tolist()
    place = origins[before].place(first_row)
    message = f"{other} contradicts {one} in {place}; drop one of them"
    return cast(EvidenceError, origins[origin].problem(row, message))


def _text(names: Names, everything: MergedStatements, statement: int) -> str:
    predicate = everything.predicate
    objects = everything.args[statement].tolist()
    args = [names[sort][k] for sort, k in zip(predicate.sorts, objects, strict=True)]
    value, chance = everything.values[statement], everything.chances[statement]
    return statement_text(predicate, args, int(value), float(chance))
