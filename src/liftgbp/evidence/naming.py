"""Names become numbers: first the objects of the model, then new ones in order of appearance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.evidence.statements import ListedObjects, Origin, Statements
from liftgbp.model.model import Model


def number_names(
    model: Model, statements: Sequence[Statements], listed: Sequence[ListedObjects] = ()
) -> tuple[list[Ints], dict[str, list[str]]]:
    """The numbers of the objects of each statement, and the new names of each sort.

    Objects that are listed come before those that only statements name.
    """
    numbers = {sort: _Numbers(model.object_numbers(sort)) for sort in model.sorts}
    for line in listed:
        for name in line.names:
            _check_printable(line, name)
            _ = numbers[line.sort][name]
    settled = {sort: len(found) for sort, found in numbers.items()}
    # Column by column is quick, but leaves new names in the order of columns.
    args = [_args(part, numbers) for part in statements]
    new_names = {}
    for sort, found in numbers.items():
        known = settled[sort]
        order = _order_of_appearance(statements, args, sort, known, len(found))
        number_of = np.append(np.arange(known), known + np.argsort(order))
        for part, objects in zip(statements, args, strict=True):
            for position in _positions(part, sort):
                objects[:, position] = number_of[objects[:, position]]
        names = list(found)
        _check_all_printable(statements, sort, names[known:])
        new_names[sort] = names[len(model.constants(sort)) : known]
        new_names[sort] += [names[known + index] for index in order.tolist()]
    return args, new_names


class _Numbers(dict[str, int]):
    """The numbers of the objects of one sort; a new name gets the next one."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def _args(part: Statements, numbers: Mapping[str, _Numbers]) -> Ints:
    args = np.empty((len(part.rows), len(part.columns)), np.int64)
    for position, (names, sort) in enumerate(zip(part.columns, part.predicate.sorts, strict=True)):
        found = map(numbers[sort].__getitem__, names)
        args[:, position] = np.fromiter(found, np.int64, len(names))
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
    return np.argsort(first_seen)


def _lines(statements: Sequence[Statements]) -> Iterator[Ints]:
    """The rows of statements, counted through all sources."""
    before = 0
    first_line: dict[Origin, int] = {}
    for part in statements:
        start = first_line.setdefault(part.origin, before)
        lines = part.rows + start
        before = max(before, int(lines.max(initial=-1)) + 1)
        yield lines


def _check_printable(part: ListedObjects, name: str) -> None:
    if not name.isprintable():
        raise part.origin.problem(part.row, f"{name!r} is not a name that can be printed")


def _check_all_printable(statements: Sequence[Statements], sort: str, names: Sequence[str]) -> None:
    """Refuses names that no message and no table could show."""
    wrong = next((name for name in names if not name.isprintable()), None)
    if wrong is None:
        return
    for part in statements:
        for position in _positions(part, sort):
            if wrong in part.columns[position]:
                row = int(part.rows[part.columns[position].index(wrong)])
                raise part.origin.problem(row, f"{wrong!r} is not a name that can be printed")


def _positions(part: Statements, sort: str) -> list[int]:
    return [position for position, name in enumerate(part.predicate.sorts) if name == sort]
