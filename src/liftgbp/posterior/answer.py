"""One row of an answer, and how rows are read off the beliefs of one run or of many."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.signature import objects_of
from liftgbp.model.ast import BOOLEAN
from liftgbp.model.parser import parse_query
from liftgbp.posterior.lookup import conditional_table, joint_table
from liftgbp.posterior.readers import ClassReader, Reader
from liftgbp.posterior.rows import Row, groups_with_same_rows
from liftgbp.posterior.sources import Beliefs
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import (
    InternalError,
    NotHeldError,
    QueryError,
    checked_path,
    shown,
    wrong_type,
)
from liftgbp.support.shown import Reported, figure_of, write_picture_of
from liftgbp.support.texts import quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Reported):
    """One row of an answer.

    `atoms` are the atoms that were asked for, or the formula, which is `true` or `false`; `given`
    are the atoms of the condition, and `conditions` the formulas that hold. `atom` is the text of
    all together. `values` gives a probability for each assignment: a tuple with one value for each
    of `atoms`, then one for each of `given`. Under an impossible condition a probability is NaN.
    `count` is how many ground atoms (or groundings) the row stands for; `example` is one of them.

    >>> import liftgbp
    >>> model = liftgbp.parse("p(thing)\\nq(thing)")
    >>> (row,) = liftgbp.infer(model, {"thing": 3}).query("p(x) ^ q(x)")
    >>> row.count, round(row["true", "false"], 6)
    (3, 0.25)
    """

    query: str
    atom: str
    atoms: tuple[str, ...]
    given: tuple[str, ...]
    where: str
    count: int
    values: dict[tuple[str, ...], float]
    example: str = ""
    conditions: tuple[str, ...] = ()

    def __getitem__(self, assignment: str | tuple[str, ...]) -> float:
        """The probability of an assignment; for a single atom, its value will do."""
        key = (assignment,) if isinstance(assignment, str) else assignment
        known = isinstance(key, tuple) and all(isinstance(value, str) for value in key)
        if not known or key not in self.values:
            given = assignment if isinstance(assignment, str) else shown(assignment)
            if len(next(iter(self.values))) == 1:
                values = ", ".join(value for (value,) in self.values)
                raise QueryError(f"{self.atom} takes the values {values}, not {given}")
            names = ", ".join((*self.atoms, *self.given))
            raise QueryError(
                f"{self.atom} has no assignment {shown(assignment)}; give a value for each of "
                f"{names}, as in {next(iter(self.values))!r}"
            )
        return self.values[key]

    def assignment_text(self, assignment: tuple[str, ...]) -> str:
        """An assignment in words, split at the bar as the query is.

        Among several values, one that could be taken for two is in quotes.

        >>> row = Answer("p | q", "p | q", ("p",), ("q",), "", 1, {})
        >>> row.assignment_text(("true", "false")), row.assignment_text(("a,b", "c"))
        ('true | false', '"a,b" | c')
        """
        if not isinstance(assignment, tuple) or not all(isinstance(v, str) for v in assignment):
            raise wrong_type("assignment", "a tuple of values", assignment)
        if len(assignment) == 1:
            return assignment[0]
        asked, given = assignment[: len(self.atoms)], assignment[len(self.atoms) :]
        return " | ".join(",".join(map(quoted, part)) for part in (asked, given) if part)

    def as_dict(self) -> dict[str, object]:
        """The row for JSON; undefined probabilities are `None`."""
        return {
            "query": self.query,
            "atom": self.atom,
            "atoms": list(self.atoms),
            "given": list(self.given),
            "conditions": list(self.conditions),
            "where": self.where,
            "count": self.count,
            "example": self.example,
            "values": [
                {"assignment": list(key), "p": None if math.isnan(p) else p}
                for key, p in self.values.items()
            ],
        }

    def __str__(self) -> str:
        values = "  ".join(
            f"{self.assignment_text(key)}: {p:.6f}" for key, p in self.values.items()
        )
        return f"{self.atom}{f' [{self.where}]' if self.where else ''}  {values}"

    def error_of(self, assignment: tuple[str, ...]) -> float | None:
        """The standard error of a probability, if it has one."""
        return None

    @property
    def shown_values(self) -> dict[tuple[str, ...], float]:
        """The values to show: the probability of true says everything about a Boolean atom."""
        plain = list(self.values) == [("false",), ("true",)]
        return {("true",): self.values["true",]} if plain else self.values


AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


class AnswerRows(Reported, tuple[AnyAnswer, ...]):
    """The rows that answer a query."""

    __slots__ = ()

    def plot(self, title: str = "") -> Figure:
        """A figure of Matplotlib: probabilities as bars, with standard errors if there are any."""
        return figure_of(self, title)

    def write_picture(self, path: str | os.PathLike[str], title: str = "") -> None:
        """Write the bars to a `.png`, `.svg` or `.pdf` file."""
        write_picture_of(self, checked_path("path", path), title)


def query_all(text: str, readers: Sequence[Reader]) -> list[tuple[Answer, ...]]:
    """The rows that answer a query, for one run or for many runs with one layout.

    What belongs to the query alone is looked up once, and beliefs are read as a batch.
    """
    if len(readers) == 1 and (sample := readers[0].sample) is not None:
        rows = readers[0].rows(text)
        return [tuple(sample.read([(text, row) for row in rows], readers[0]))]
    found: dict[int, tuple[Answer, ...]] = {}
    for members in _with_same_rows(text, readers):
        group = [readers[k] for k in members]
        rows = group[0].rows(text)
        # The row with most objects comes first: the regions that its error asks for hold them all.
        widest_first = sorted(rows, key=lambda row: -len(objects_of(row.every)))
        by_row = {row: read_row(text, row, group) for row in widest_first}
        found |= zip(members, zip(*(by_row[row] for row in rows), strict=True), strict=True)
    return [found[k] for k in range(len(readers))]


def _with_same_rows(text: str, readers: Sequence[Reader]) -> list[list[int]]:
    if len(readers) == 1:
        return [[0]]
    return groups_with_same_rows(parse_query(text), [r.normal for r in _lifted(readers)])


def _lifted(readers: Sequence[Reader]) -> list[ClassReader]:
    lifted = [reader for reader in readers if isinstance(reader, ClassReader)]
    if len(lifted) < len(readers):
        raise InternalError("only runs over classes of objects are read as a batch")
    return lifted


def _joints(readers: Sequence[ClassReader], atoms: Sequence[ObjAtom]) -> Floats:
    """The joint distributions of atoms in many runs with one layout, read as a batch."""
    logs = [reader.source.log_beliefs for reader in readers if isinstance(reader.source, Beliefs)]
    prepared = readers[0].prepared
    return joint_table(atoms, prepared.graph, prepared.plan.layout, np.exp(logs))


def every_row(reader: Reader) -> Iterator[tuple[Answer, ObjAtom]]:
    """The rows of a query for each predicate, each with one of the atoms it stands for."""
    if reader.sample is not None:
        rows = list(reader.rows_of_everything())
        answers = reader.sample.read(rows, reader)
        yield from ((own, row.atoms[0]) for own, (_, row) in zip(answers, rows, strict=True))
        return
    for text, row in reader.rows_of_everything():
        yield read_row(text, row, [reader])[0], row.atoms[0]


def marginal_of(reader: Reader, atom: str, value: str | tuple[str, ...] = "true") -> float:
    """The probability that an atom has a value, for different objects without names."""
    rows = [row for row in reader.rows(atom) if row.generic]
    if len(rows) != 1:
        raise QueryError(f"{atom} has no row for different unnamed objects; use query()")
    if not isinstance(value, str | tuple):
        raise wrong_type("value", "text, or a tuple with a text for each atom", value)
    return read_row(atom, rows[0], [reader])[0][value]


def asked_values(row: Row, values: Callable[[ObjAtom], tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The values of what a row asks for, and of the atoms that it is given."""
    formula = row.event is not None and row.event.formula is not None
    return [*([BOOLEAN] if formula else []), *map(values, (*row.atoms, *row.given))]


def read_row(text: str, row: Row, readers: Sequence[Reader]) -> list[Answer]:
    """One row of a query, which all readers have in common, read off the beliefs of each."""
    if len(readers) == 1 and (sample := readers[0].sample) is not None:
        return list(sample.read([(text, row)], readers[0]))
    try:
        if len(readers) == 1:
            tables, counts = readers[0].joint(row.every)[None], [row.count]
        else:
            tables = _joints(_lifted(readers), row.every)
            counts = [row.counted.at(r.normal.class_sizes) for r in _lifted(readers)]
    except QueryError as error:
        where = f" where {row.where}" if row.where else ""
        raise NotHeldError(f"no region holds {row.text}{where}: {error.message}") from None
    if row.event is not None:
        tables = row.event.folded(tables, len(row.given))
    if row.conditional:
        tables = conditional_table(tables, len(row.given))
    keys = list(product(*asked_values(row, readers[0].values)))
    # Rounding makes some probabilities larger than one.
    probabilities = np.minimum(tables.reshape(len(readers), -1), 1.0).tolist()
    return [
        Answer(
            text,
            row.text,
            row.atom_texts,
            row.given_texts,
            row.where,
            count,
            dict(zip(keys, own, strict=True)),
            row.example,
            row.conditions,
        )
        for count, own in zip(counts, probabilities, strict=True)
    ]
