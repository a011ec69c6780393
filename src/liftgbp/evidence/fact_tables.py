"""Facts from tables: one row per fact, whatever the table was read from."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from glob import glob
from typing import Any

import numpy as np

from liftgbp.evidence.stated_facts import (
    MOST_PROBLEMS,
    ListedObjects,
    Statements,
    unknown_predicate,
    wrong_arity,
)
from liftgbp.evidence.table_reading import CSV, PARQUET, TextTable, has_table, read_columns
from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.model import Model
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import EvidenceError, counted
from liftgbp.support.input_files import is_file

# --- which table, and which of its columns


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A file, or a table of a database, and which of its columns are meant; all if none is named.

    A CSV file without a `header` has columns that are called 1, 2 and so on.
    """

    place: str
    columns: tuple[str, ...] = ()
    header: bool = True


_TABLE_SOURCE = re.compile(r"\s*([^\W\d]\w*)\s*=\s*(\S.*)")
_QUOTED = r'"(?:""|[^"])*"'
_BRACKETS = re.compile(rf'(?P<place>.+)\[(?P<inside>(?:{_QUOTED}|[^"\[\]])*)\]\s*')
_HEADER = re.compile(r"header\s*=\s*(yes|no)", re.IGNORECASE)
_COLUMNS = "friends=people.csv[from,to]"


def table_source(text: str) -> tuple[str, str] | None:
    """The predicate and the place of its table, if a source is written like one.

    >>> table_source("friends=data/friends.csv"), table_source("facts.db")
    (('friends', 'data/friends.csv'), None)
    """
    found = _TABLE_SOURCE.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_table_file(path: str) -> bool:
    """Whether the name of a file is that of a table.

    >>> is_table_file("friends.csv"), is_table_file("facts.db")
    (True, False)
    """
    return path.lower().endswith(CSV + PARQUET)


GLOB = "glob:"


def matching_places(place: str) -> list[TablePlace]:
    """The place itself or, if it is written `glob:PATTERN`, all files that match.

    Columns follow in brackets. What exists under a name with brackets is meant literally.
    """
    if place.startswith(GLOB):
        pattern = place.removeprefix(GLOB)
        found, chosen = _matching(pattern), TablePlace(pattern)
        if not found:
            chosen = with_columns(pattern)
            found = _matching(chosen.place)
        if not found:
            raise EvidenceError(f"no .csv or .parquet file matches {chosen.place}")
        return [TablePlace(one, chosen.columns, chosen.header) for one in found]
    return [TablePlace(place) if _exists(place) else with_columns(place)]


def _matching(pattern: str) -> list[str]:
    return sorted(filter(is_table_file, glob(pattern, recursive=True)))  # noqa: PTH207


def _exists(place: str) -> bool:
    """Whether a file, or a table of a database, has this very name."""
    if is_file(place):
        return True
    path, _, table = place.rpartition(":")
    if not (path and table.endswith("]") and is_file(path)):
        return False
    return has_table(place, path, table.split(".")[-1])


def with_columns(text: str) -> TablePlace:
    """A place whose columns are named in brackets behind it.

    >>> with_columns('people.csv[name, "works for", header=no]')
    TablePlace(place='people.csv', columns=('name', 'works for'), header=False)
    >>> with_columns("friends[1].csv")
    TablePlace(place='friends[1].csv', columns=(), header=True)
    """
    found = _BRACKETS.fullmatch(text)
    if found is None:
        return TablePlace(text)
    columns, header = list[str](), True
    try:
        items = next(csv.reader([found["inside"]], skipinitialspace=True)) or [""]
    except csv.Error as error:
        raise EvidenceError(f"{text}: {error}; write columns as in {_COLUMNS}") from None
    for item in map(str.strip, items):
        option = _HEADER.fullmatch(item)
        if option:
            header = option[1].lower() == "yes"
        elif item:
            columns.append(item)
        else:
            raise EvidenceError(f"{text}: a column has no name; write columns as in {_COLUMNS}")
    return TablePlace(found["place"].rstrip(), tuple(columns), header)


# --- what tables state


_TRUTHS = {"false": 0, "f": 0, "0": 0, "true": 1, "t": 1, "1": 1}
_VALUE_COLUMNS = {"truth", "value"}
_PROBABILITY = "probability"


def read_table(
    model: Model, predicate_name: str, place: TablePlace, untrusted: bool = False
) -> list[Statements | ListedObjects]:
    """The facts of a table in a file or a database."""
    predicate = model.predicates.get(predicate_name)
    if predicate is None:
        raise EvidenceError(f"{place.place}: {unknown_predicate(model, predicate_name)}")
    table = read_columns(place.place, place.columns, header=place.header, untrusted=untrusted)
    return table_facts(model, predicate, table)


def table_facts(
    model: Model, predicate: Predicate, table: TextTable
) -> list[Statements | ListedObjects]:
    """What the rows of a table state, and the objects of rows that state nothing.

    The columns are the arguments; one more may hold the truth or a probability, or the value, and
    one behind that the probability of it. A row with an empty cell states nothing.
    """
    layout = _layout(predicate, table)
    empty = np.any([column.is_empty for column in table.columns], axis=0)
    kept = np.flatnonzero(~empty)
    notes = []
    if table.headed:
        _check_header(model, predicate, table, layout.arity)
        notes += _first_line_note(predicate, table, layout.arity)
    if empty.any():
        notes.append(_empty_note(table, empty))
    values, chances = _claims(predicate, table, layout, kept)
    names = tuple(column.take(kept) for column in table.columns[: layout.arity])
    facts = Statements(predicate, names, values, chances, table.file, kept, tuple(notes))
    return [*_named_elsewhere(predicate, table, empty), facts]


# --- columns


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns of a table hold arguments, values and probabilities."""

    arity: int
    value: int | None
    probability: int | None


def _layout(predicate: Predicate, table: TextTable) -> _Layout:
    arity, count = len(predicate.sorts), len(table.headers)
    names = [header.lower() for header in table.headers]
    # Columns that a user has chosen are what their places say, whatever they are called.
    extra = count - arity if table.chosen else _extra(predicate, names)
    with_probability = extra == 2 and (table.chosen or names[-1] == _PROBABILITY)
    if count - extra != arity or not (extra in (0, 1) or with_probability):
        arguments = count if table.chosen else count - extra
        message = wrong_arity(predicate, arguments, "argument column")
        remedy = f"; {table.remedy}" if table.remedy else ""
        raise EvidenceError(f"{table.file.name}: {message} ({', '.join(table.headers)}){remedy}")
    only_probability = extra == 1 and not table.chosen and names[-1] == _PROBABILITY
    if predicate.values != BOOLEAN and (not extra or only_probability):
        raise EvidenceError(
            f"{table.file.name}: {predicate.name} takes the values {', '.join(predicate.values)}; "
            f"add a {'last ' if not extra else ''}column named value"
        )
    return _Layout(arity, arity if extra else None, arity + 1 if extra == 2 else None)


def _extra(predicate: Predicate, names: list[str]) -> int:
    """How many columns stand behind the arguments, by their names and by how many there are."""
    arity = len(predicate.sorts)
    last_sort = (predicate.sorts or ("",))[-1].lower()
    found = len(names)
    if names[-1] == _PROBABILITY and last_sort != _PROBABILITY:
        names = names[:-1]
    if names and names[-1] in _VALUE_COLUMNS and names[-1] != last_sort:
        names = names[:-1]
    named = found - len(names)
    return 1 if named == 0 and found == arity + 1 else named or 0


def _empty_note(table: TextTable, empty: Bools) -> str:
    row = int(np.flatnonzero(empty)[0])
    header = next(
        header
        for header, column in zip(table.headers, table.columns, strict=True)
        if column.is_empty[row]
    )
    count = int(empty.sum())
    verb = "has an empty cell and states" if count == 1 else "have empty cells and state"
    return (
        f"{table.file.name}: {counted(count, 'row')} {verb} nothing"
        f"{', the first' * (count > 1)} (row {row + 1}, column {header})"
    )


def _named_elsewhere(predicate: Predicate, table: TextTable, empty: Bools) -> list[ListedObjects]:
    """The objects in rows that state nothing, so that they are not lost."""
    listed: list[ListedObjects] = []
    for sort, column in zip(predicate.sorts, table.columns, strict=False):
        rows = np.flatnonzero(empty & ~column.is_empty)
        if len(rows):
            names = list(dict.fromkeys(column.take(rows)))
            listed.append(ListedObjects(sort, names, table.file, int(rows[0])))
    return listed


# --- values and probabilities


def _claims(
    predicate: Predicate, table: TextTable, layout: _Layout, kept: Ints
) -> tuple[Ints, Floats]:
    """The number of the value that each row states, and its probability."""
    values: Ints = np.ones(len(kept), np.int64)
    chances: Floats = np.ones(len(kept))
    problems: list[tuple[int, str, str]] = []
    if layout.value is not None:
        meanings, which = _read(table, layout.value, kept, lambda text: _value(predicate, text))
        values = np.array([value for value, _ in meanings], np.int64)[which]
        chances = np.array([chance for _, chance in meanings], np.float64)[which]
        wanted = ", ".join(predicate.values)
        if predicate.values == BOOLEAN and layout.probability is None:
            wanted += " or a probability between 0 and 1"
        message = f"{predicate.name} takes the values {wanted}"
        problems += _wrong(table, layout.value, kept, values < 0, message)
    if layout.probability is not None:
        meanings, which = _read(table, layout.probability, kept, _probability)
        stated = np.array(meanings, np.float64)[which]
        message = "a probability is between 0 and 1"
        problems += _wrong(table, layout.probability, kept, ~(stated >= 0), message)
        uncertain = chances < 1
        message = "a row with a probability has a truth value before it"
        problems += _wrong(table, layout.value or 0, kept, uncertain, message)
        chances = stated
    if problems:
        problems.sort()
        raise table.file.problems(
            [(f"row {row + 1}, column {header}", message) for row, header, message in problems]
        )
    if len(predicate.values) == 2:
        # What one value certainly is not, is certainly the other.
        values = np.where(chances == 0, 1 - values, values)
        chances = np.where(chances == 0, 1.0, chances)
    return values, chances


def _read(table: TextTable, number: int, kept: Ints, meaning: Any) -> tuple[list[Any], Ints]:
    """What the different texts of a column mean, and which of them each row has."""
    different, which = table.columns[number].take(kept).each()
    return [meaning(text) for text in different], which


def _value(predicate: Predicate, text: str) -> tuple[int, float]:
    """The number of a value and its probability; -1 if the text is neither."""
    if predicate.values != BOOLEAN:
        known = text in predicate.values
        return (predicate.values.index(text) if known else -1), 1.0
    truth = _TRUTHS.get(text.lower())
    if truth is not None:
        return truth, 1.0
    chance = _probability(text)
    return (1, chance) if chance >= 0 else (-1, 1.0)


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def _probability(text: str) -> float:
    """The probability that a text states; -1 if it states none."""
    if not _NUMBER.fullmatch(text):
        return -1.0
    number = float(text)
    return number if 0 <= number <= 1 else -1.0


def _wrong(
    table: TextTable, number: int, kept: Ints, wrong: Bools, message: str
) -> list[tuple[int, str, str]]:
    rows = kept[np.flatnonzero(wrong)[: MOST_PROBLEMS + 1]].tolist()
    column, header = table.columns[number], table.headers[number]
    return [(row, header, f"{message}, not {column[row]}") for row in rows]


# --- the first line of a file


def _check_header(model: Model, predicate: Predicate, table: TextTable, arity: int) -> None:
    """Refuse a first line that is one more fact, since it would be ignored silently."""
    if table.chosen:
        return
    sorts = predicate.sorts
    for header, sort in zip(table.headers[:arity], sorts, strict=True):
        objects = [
            column for column, other in zip(table.columns, sorts, strict=False) if other == sort
        ]
        if header in model.object_numbers(sort) or any(header in column for column in objects):
            raise EvidenceError(
                f"{table.file.name}: the first line must name the columns, but {header} is an "
                "object; add a line of column names at the top, or say that there is none: "
                f"{predicate.name}={table.file.name}[header=no]"
            )


def _first_line_note(predicate: Predicate, table: TextTable, arity: int) -> list[str]:
    """A note on a first line that looks like the facts below it."""
    headers = table.headers[:arity]
    if table.chosen or not headers or not len(table.columns[0]):
        return []
    cells = [column[0] for column in table.columns[:arity]]
    if not all(text[:1].isupper() or text[:1].isdigit() for text in (*headers, *cells)):
        return []
    return [
        f"{table.file.name}: the first line ({', '.join(headers)}) is taken for the names of the "
        f"columns; if it is a fact, write {predicate.name}={table.file.name}[header=no]"
    ]
