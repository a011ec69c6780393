"""Facts from values of Python: mappings from predicates to tables, and from atoms to values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np

from liftgbp.evidence.fact_lines import read_atoms, read_facts
from liftgbp.evidence.fact_tables import TablePlace, read_table, table_facts
from liftgbp.evidence.stated_facts import (
    MOST_PROBLEMS,
    ListedObjects,
    Statements,
    TableFile,
    Texts,
    unknown_predicate,
)
from liftgbp.evidence.table_reading import TextTable, frame_columns, is_frame
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model
from liftgbp.model.writer import constant_text
from liftgbp.support.errors import EvidenceError, Source, counted, elements, wrong_type


def python_facts(model: Model, given: Mapping[str, Any]) -> list[Statements | ListedObjects]:
    """What a mapping states.

    A key is the name of a predicate, whose value is a table of its atoms, or a ground atom, whose
    value is its value or its probability.
    """
    stated, unknown = list[str](), list[str]()
    tables = list[Statements | ListedObjects]()
    for key, value in given.items():
        if not isinstance(key, str):
            raise wrong_type("a key of the evidence", "a predicate or a ground atom", key)
        if _has_table(model, key):
            tables += _table(model, model.predicates[key.strip()], value)
        elif _is_missing(value):
            unknown.append(key)
        else:
            stated.append(_fact(model, key, value))
    return [*_facts(model, stated), *_objects(read_atoms(model, unknown)), *tables]


def forgotten_atoms(model: Model, given: Mapping[str, Any]) -> list[Statements]:
    """The atoms whose value a mapping says is not known."""
    atoms = [key for key, value in given.items() if _is_missing(value)]
    return read_atoms(model, [atom for atom in atoms if not _has_table(model, atom)])


def _has_table(model: Model, key: str) -> bool:
    predicate = model.predicates.get(key.strip())
    return predicate is not None and bool(predicate.sorts)


# --- single atoms


def _fact(model: Model, atom: str, value: object) -> str:
    """A fact as a line of text."""
    if "\n" in atom:
        raise EvidenceError(f"the key {atom!r} of the evidence must be one ground atom")
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case bool():
            return atom if value else f"0 {atom}"
        case Real():
            return f"{float(value)!r} {atom}"
        case str():
            return f"{atom} = {constant_text(value)}"
    if atom.strip() not in model.predicates and "(" not in atom:
        raise EvidenceError(unknown_predicate(model, atom.strip()))
    raise wrong_type(f"the evidence about {atom}", "True, False, a value or a probability", value)


def _facts(model: Model, lines: Sequence[str]) -> list[Statements | ListedObjects]:
    return read_facts(model, Source("<evidence>", "\n".join(lines))) if lines else []


def _objects(parts: Iterable[Statements]) -> list[ListedObjects]:
    """The objects of statements, which are not made."""
    return [
        ListedObjects(sort, names, part.origin, int(part.rows[0]))
        for part in parts
        for sort, names in zip(part.predicate.sorts, part.columns, strict=True)
    ]


# --- tables


def _table(model: Model, predicate: Predicate, value: object) -> list[Statements | ListedObjects]:
    name = f"evidence[{predicate.name!r}]"
    if isinstance(value, os.PathLike):
        return read_table(model, predicate.name, TablePlace(os.fspath(value)))
    if is_frame(value):
        return table_facts(model, predicate, frame_columns(name, value))
    rows = _rows(predicate, value)
    if not rows:
        return []
    return table_facts(model, predicate, _text_table(predicate, name, rows))


def _rows(predicate: Predicate, value: object) -> list[Sequence[object]]:
    """The rows of a list of objects or tuples, or of a mapping from these to values."""
    if isinstance(value, Mapping):
        return [(*_cells(key), claim) for key, claim in value.items()]
    rows = elements(value)
    if rows is None:
        example = ", ".join(["'Anna'", "'Bob'", "'Carl'"][: len(predicate.sorts)])
        example = f"[{example}]" if len(predicate.sorts) == 1 else f"[({example})]"
        raise wrong_type(
            f"the evidence about {predicate.name}",
            f"a table, a list such as {example}, or a pathlib.Path",
            value,
        )
    return [_cells(row) for row in rows]


def _cells(row: object) -> Sequence[object]:
    if isinstance(row, np.ndarray):
        return list(row.tolist()) if row.ndim else [row.item()]
    return row if isinstance(row, list | tuple) else (row,)


def _text_table(predicate: Predicate, name: str, rows: Sequence[Sequence[object]]) -> TextTable:
    file, width = TableFile(name), len(rows[0])
    arity = len(predicate.sorts)
    uneven = ((k, row) for k, row in enumerate(rows) if len(row) != width)
    problems = [
        (f"row {k + 1}", f"it has {counted(len(row), 'cell')}, and row 1 has {width}")
        for k, row in islice(uneven, MOST_PROBLEMS + 1)
    ]
    if problems:
        raise file.problems(problems)
    columns = [
        Texts.of(_text(file, k, row[number]) for k, row in enumerate(rows))
        for number in range(width)
    ]
    headers = [str(number + 1) for number in range(arity)] + ["value", "probability"]
    headers += [str(number + 1) for number in range(len(headers), width)]
    return TextTable(file, tuple(headers[:width]), tuple(columns), chosen=True)


def _text(file: TableFile, row: int, cell: object) -> str | None:
    """A cell as text; 3.0 is 3, as in tables that are read from files."""
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, np.generic):
        cell = cell.item()
    elif hasattr(cell, "as_py"):  # a scalar of Arrow
        cell = cell.as_py()
    if _is_missing(cell):
        return None
    match cell:
        case bool():
            return "true" if cell else "false"
        case Integral():
            return str(int(cell))
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        case list() | tuple() | dict() | set() | bytes():
            raise file.problem(row, f"a cell is a name, a number or a truth value, not {cell!r}")
    return str(cell).strip()


def _is_missing(value: object) -> bool:
    """Whether a value stands for something that is not known: None, NaN, or what pandas has."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
