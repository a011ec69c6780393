"""The marginals of ground atoms one by one: all of them as a table, or the most probable ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.evidence import Relation
from liftgbp.model.ast import BOOLEAN, Constant, Equal, Not, Predicate, Variable, applied
from liftgbp.model.queries import checked_atom_query
from liftgbp.model.writer import object_text
from liftgbp.posterior.answer import Answer
from liftgbp.posterior.readers import Reader
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import CapacityError, InternalError, checked_flag
from liftgbp.support.files import (
    NUMPY_TYPES,
    Schema,
    check_apart,
    check_writable,
    whole_file,
    write_table,
)
from liftgbp.support.limits import checkpoint

EXTENSIONS = (".csv", ".parquet")
SCHEMA: Schema = {
    "predicate": str,
    "arguments": str,
    "value": str,
    "probability": float,
    "observed": bool,
}

WITH_ERRORS: Schema = {**SCHEMA, "standard_error": float}
"""The columns of a table whose probabilities are sampled."""

MOST_ATOMS = 10**7
AT_ONCE = 10**5
"""Atoms whose marginals are read as one batch."""

Record = tuple[object, ...]


def write_every_atom(reader: Reader, path: Path, *, observed: bool = False) -> None:
    """Write the marginal of each ground atom: one row per value, of Boolean ones only for true.

    Atoms whose value evidence states are left out unless `observed` asks for them. Those of closed
    predicates that are not listed are always left out: they are false, and often too many.
    """
    check_writable(path, EXTENSIONS)
    check_apart(path, reader.problem.files)
    atoms = GroundAtoms(reader, observed)
    asked = atoms.everything()
    with whole_file(path) as unfinished:
        write_table(unfinished, atoms.schema, atoms.records(asked))


def columns_of_every_atom(
    reader: Reader, query: str | None, *, observed: bool = False
) -> dict[str, NDArray[Any]]:
    """The same table as arrays, of all atoms or of those that match a query."""
    atoms = GroundAtoms(reader, observed)
    asked = atoms.everything() if query is None else [atoms.matching(query)]
    cells = list(zip(*atoms.records(asked), strict=True)) or [()] * len(atoms.schema)
    return {
        name: np.array(column, NUMPY_TYPES[kind])
        for (name, kind), column in zip(atoms.schema.items(), cells, strict=True)
    }


def most_probable(
    reader: Reader, query: str, count: int | None, least: float, *, observed: bool = False
) -> list[Answer]:
    """The ground atoms that match a query, the most probable ones first.

    The probability of an atom is that of true; of other values, that of the most probable one.
    """
    atoms = GroundAtoms(reader, observed)
    asked = atoms.matching(query)
    best = _Best(asked, np.zeros((0, len(asked.predicate.sorts)), np.int64), np.zeros((0, 0)))
    for batch in atoms.batches(asked):
        best = best.joined(batch, count, least)
    return [
        Answer(query, atom, (atom,), (), "", 1, dict(zip(asked.keys, table, strict=True)), atom)
        for atom, table in zip(atoms.texts(best), best.tables.tolist(), strict=True)
    ]


Comparison: TypeAlias = tuple[int, int | None, int, bool]
"""An axis, the axis or else the object that it is compared with, and whether they are equal."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Atoms of one predicate: argument k is the object `fixed[k]`, or any object of axis `axes[k]`.

    Arguments with one axis are the same object. `restrictions` say which objects axes may have.
    """

    number: int
    predicate: Predicate
    axes: tuple[int | None, ...]
    fixed: tuple[int, ...]
    shape: tuple[int, ...]
    restrictions: tuple[Comparison, ...] = ()

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The values of an atom, as answers have them."""
        return [(value,) for value in self.predicate.values]

    def objects(self, flat: Ints) -> Ints:
        """The objects of some of the atoms, by their numbers."""
        axes = np.unravel_index(flat, self.shape) if self.shape else ()
        columns = [
            np.full(len(flat), number) if axis is None else axes[axis]
            for axis, number in zip(self.axes, self.fixed, strict=True)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(flat), 0), np.int64)

    def admitted(self, flat: Ints) -> Ints:
        """Those of the atoms that meet the restrictions."""
        if not self.restrictions:
            return flat
        axes = np.unravel_index(flat, self.shape)
        kept = np.ones(len(flat), np.bool_)
        for axis, other, number, equal in self.restrictions:
            kept &= (axes[axis] == (number if other is None else axes[other])) == equal
        return flat[kept]

    def numbers(self, objects: Ints) -> Ints:
        """The numbers of atoms, given as rows of objects, as far as they are among these."""
        fits = np.ones(len(objects), np.bool_)
        values: list[Ints | None] = [None] * len(self.shape)
        for axis, number, column in zip(self.axes, self.fixed, objects.T, strict=True):
            if axis is None:
                fits &= column == number
            elif (known := values[axis]) is not None:
                fits &= column == known
            else:
                values[axis] = column
        kept = tuple(column[fits] for column in values if column is not None)
        if not kept:
            return np.zeros(int(fits.any()), np.int64)
        result: Ints = np.unique(np.ravel_multi_index(kept, self.shape))
        return result


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Some atoms of one predicate with their marginals, and whether they are observed.

    `errors` are the standard errors of marginals that are sampled.
    """

    asked: Asked
    objects: Ints
    tables: Floats
    seen: Bools
    errors: Floats | None


@dataclass(frozen=True, eq=False, slots=True)
class _Best:
    """The most probable atoms so far."""

    asked: Asked
    objects: Ints
    tables: Floats

    def joined(self, batch: Batch, count: int | None, least: float) -> _Best:
        tables = np.concatenate([self.tables, batch.tables]) if len(self.tables) else batch.tables
        objects = np.concatenate([self.objects, batch.objects])
        boolean = self.asked.predicate.values == BOOLEAN
        chances = tables[:, 1] if boolean else tables.max(axis=1)
        order = np.argsort(-chances, kind="stable")
        order = order[chances[order] >= least][:count]
        return _Best(self.asked, objects[order], tables[order])


class GroundAtoms:
    """Ground atoms of the model that a reader knows, in batches.

    Observed atoms are among them only if that is asked for.
    """

    def __init__(self, reader: Reader, with_observed: bool) -> None:
        self._reader = reader
        self._with_observed = checked_flag("observed", with_observed)
        self._closed = reader.problem.evidence.closed
        self._names: dict[str, dict[int, str]] = {}

    @property
    def schema(self) -> Schema:
        """The columns of a table of atoms."""
        return SCHEMA if self._reader.sample is None else WITH_ERRORS

    def everything(self) -> list[Asked]:
        """All atoms, unless they are too many."""
        every = [
            self._asked(number, predicate)
            for number, predicate in enumerate(self._reader.model.predicates.values())
            if predicate.name not in self._closed or (self._with_observed and predicate.is_stated)
        ]
        sizes = {asked.predicate.name: self._size(asked) for asked in every}
        if sum(sizes.values()) > MOST_ATOMS:
            largest = max(sizes, key=lambda name: sizes[name])
            raise CapacityError(
                f"there are {sum(sizes.values()):.3g} ground atoms, {sizes[largest]:.3g} of them "
                f"of {largest}, too many to write out (the cap is {MOST_ATOMS:.0e}); ask for "
                "single ones with a query, or close a predicate (--closed)"
            )
        return every

    def matching(self, text: str) -> Asked:
        """The ground atoms that a query for one atom matches."""
        model = self._reader.model
        query = checked_atom_query(text, model)
        (atom,) = query.atoms
        number = list(model.predicates).index(atom.predicate)
        predicate = model.predicates[atom.predicate]
        variables = dict.fromkeys(t.name for t in atom.args if not isinstance(t, Constant))
        axis_of = {name: axis for axis, name in enumerate(variables)}
        sort_of = {term.name: sort for term, sort in zip(atom.args, predicate.sorts, strict=True)}
        asked = Asked(
            number,
            predicate,
            tuple(None if isinstance(t, Constant) else axis_of[t.name] for t in atom.args),
            tuple(
                model.object_numbers(sort)[term.name] if isinstance(term, Constant) else -1
                for term, sort in zip(atom.args, predicate.sorts, strict=True)
            ),
            tuple(self._reader.sizes[sort_of[name]] for name in variables),
            tuple(
                _compared(own, axis_of, lambda v, c: model.object_numbers(sort_of[v])[c])
                for own in query.restrictions
            )
            + tuple(
                (axis_of[one], axis_of[other], -1, False)
                for one, other in combinations(variables, 2)
                if query.distinct and sort_of[one] == sort_of[other]
            ),
        )
        if self._size(asked) > MOST_ATOMS:
            raise CapacityError(
                f"{text} matches {self._size(asked):.3g} ground atoms, too many to go through (the "
                f"cap is {MOST_ATOMS:.0e}); ask for classes of them with a plain query"
            )
        return asked

    def _asked(self, number: int, predicate: Predicate) -> Asked:
        count = len(predicate.sorts)
        shape = tuple(self._reader.sizes[sort] for sort in predicate.sorts)
        return Asked(number, predicate, tuple(range(count)), (-1,) * count, shape)

    def _size(self, asked: Asked) -> int:
        """How many atoms are visited."""
        if asked.predicate.name in self._closed:
            return len(self._observed(asked)) if self._with_observed else 0
        return math.prod(asked.shape)

    def batches(self, asked: Asked) -> Iterator[Batch]:
        """The atoms with their marginals, in the order of their objects."""
        listed = self._observed(asked)
        closed = asked.predicate.name in self._closed
        for start in range(0, self._size(asked), AT_ONCE):
            checkpoint()
            if closed:
                flat = listed[start : start + AT_ONCE]
            else:
                flat = np.arange(start, min(start + AT_ONCE, self._size(asked)))
            seen = np.ones(len(flat), np.bool_) if closed else np.isin(flat, listed)
            if asked.restrictions:
                kept = np.isin(flat, asked.admitted(flat))
                flat, seen = flat[kept], seen[kept]
            if not self._with_observed:
                flat, seen = flat[~seen], seen[~seen]
            if len(flat):
                objects = asked.objects(flat)
                tables = self._reader.marginals(asked.number, list(objects.T))
                # Rounding makes some probabilities larger than one, and facts a little doubtful.
                tables = np.where(seen[:, None], np.round(tables), np.minimum(tables, 1.0))
                errors = None
                if self._reader.sample is not None:
                    errors = self._reader.errors(asked.number, list(objects.T))
                yield Batch(asked, objects, tables, seen, errors)

    def records(self, every: Sequence[Asked]) -> Iterator[Record]:
        """The rows of the table of some atoms."""
        for asked in every:
            name, values = asked.predicate.name, asked.predicate.values
            shown = [(k, value) for k, value in enumerate(values) if (values, k) != (BOOLEAN, 0)]
            for batch in self.batches(asked):
                columns = [self._arguments(batch), batch.tables.tolist(), batch.seen.tolist()]
                if batch.errors is None:
                    for arguments, table, seen in zip(*columns, strict=True):
                        for k, value in shown:
                            yield name, ",".join(arguments), value, table[k], seen
                    continue
                for arguments, table, seen, errors in zip(
                    *columns, batch.errors.tolist(), strict=True
                ):
                    for k, value in shown:
                        yield name, ",".join(arguments), value, table[k], seen, errors[k]

    def texts(self, batch: Batch | _Best) -> Iterator[str]:
        """The atoms in words."""
        name = batch.asked.predicate.name
        return (applied(name, arguments) for arguments in self._arguments(batch))

    def _arguments(self, batch: Batch | _Best) -> Iterator[tuple[str, ...]]:
        sorts = batch.asked.predicate.sorts
        if not sorts:
            return iter([()] * len(batch.objects))
        columns = [
            self._names_of(sort, own.tolist())
            for sort, own in zip(sorts, batch.objects.T, strict=True)
        ]
        return zip(*columns, strict=True)

    def _observed(self, asked: Asked) -> Ints:
        """The numbers of observed atoms, in order."""
        relation = self._facts.get(asked.predicate.name)
        return np.zeros(0, np.int64) if relation is None else asked.numbers(relation.args)

    @cached_property
    def _facts(self) -> dict[str, Relation]:
        """The atoms that facts and counts of known objects state."""
        return self._reader.problem.facts()

    def _names_of(self, sort: str, numbers: list[int]) -> list[str]:
        """The names of some objects: there may be far more of a sort than facts are about."""
        names = self._names.setdefault(sort, {})
        for k in set(numbers) - names.keys():
            names[k] = object_text(self._reader.model, sort, k)
        return [names[k] for k in numbers]


def _compared(
    restriction: Equal | Not, axis_of: Mapping[str, int], number: Callable[[str, str], int]
) -> Comparison:
    """A restriction as a comparison of axes, or of an axis and an object."""
    equal = isinstance(restriction, Equal)
    inner = restriction.body if isinstance(restriction, Not) else restriction
    if not isinstance(inner, Equal):
        raise InternalError("restrictions compare two terms")
    one, other = inner.left, inner.right
    if not isinstance(one, Variable):
        one, other = other, one
    if isinstance(other, Variable):
        return axis_of[one.name], axis_of[other.name], -1, equal
    return axis_of[one.name], None, number(one.name, other.name), equal
