"""Grounding on an engine: the factors of a model, one table for each kind of scope.

The joins are those of `grounding/`. A scope has its atoms in ascending order, by predicate and then
by objects, so that rows with equal scopes are one factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, permutations, product

import numpy as np

from liftgbp.engines.engine import Column, Engine, Table
from liftgbp.engines.engine_sources import OBJECTS, KnownFacts, sql_literal
from liftgbp.ground.grounding.join import Names, PlacedAtom, Selection, selection_query
from liftgbp.ground.grounding.patterns import Fixed, Pattern, Patterns, Place
from liftgbp.ground.grounding.quantifiers import Skeleton
from liftgbp.ground.grounding.rules import selections_of, sliced
from liftgbp.lift.shatter import TABLE_CAP
from liftgbp.lift.shatter.rule_tables import RuleTables
from liftgbp.model.ast import Rule
from liftgbp.model.model import Model
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, ContradictionError, ModelError
from liftgbp.support.progress import Progress

WIDEST = 3
"""Atoms of one factor. Regions over more need tables of columns that nobody has tried."""

MOST_SUBSTITUTIONS = 10**11
"""Substitutions of a rule that no table of facts limits; more would run for days on a cluster."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Scopes over atoms of the same predicates, by number and in ascending order."""

    predicates: tuple[int, ...]
    arities: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """How tables about this kind are called."""
        return "_".join(map(str, self.predicates))

    def key(self, axis: int) -> list[str]:
        """The columns that hold the objects of an atom."""
        return [f"k{axis}_{position}" for position in range(self.arities[axis])]

    @property
    def keys(self) -> list[str]:
        """The columns that hold the objects of all atoms."""
        return [name for axis in range(len(self.predicates)) for name in self.key(axis)]

    @property
    def states(self) -> list[tuple[int, ...]]:
        """The states of the atoms of a scope."""
        return list(product(*map(range, self.shape)))

    def columns(self, prefix: str) -> list[str]:
        """The columns of a number for each state."""
        return [column(prefix, state) for state in self.states]

    def part(self, axes: Sequence[int]) -> Kind:
        """The kind of the scopes over some of the atoms."""
        return Kind(
            tuple(self.predicates[axis] for axis in axes),
            tuple(self.arities[axis] for axis in axes),
            tuple(self.shape[axis] for axis in axes),
        )


def column(prefix: str, state: Sequence[int]) -> str:
    """The column of a number for one state, such as t01."""
    return f"{prefix}{'_'.join(map(str, state))}"


class _TextNames(Names):
    """Objects by the values that stand for them in the tables."""

    def __init__(self, values: Sequence[tuple[str, bool]]) -> None:
        self._values = values

    def objects(self, pattern: Pattern, column: int) -> str:
        return f"{OBJECTS}{pattern.sorts[column]} AS d{column}"

    def named(self, number: int) -> str:
        return sql_literal(*self._values[number])


@dataclass(frozen=True, slots=True)
class Join:
    """A query of grounding for substitutions of a rule, and the table of the rule."""

    rule: Rule
    selection: Selection
    table: Floats
    sql: str

    def left(self, code: int) -> tuple[Sequence[PlacedAtom], Floats]:
        """What is left of the rule where its atoms have these states: atoms, log potentials."""
        unknown, left = sliced(self.selection.atoms, self.table, code)
        if not unknown and left == -np.inf:
            raise ContradictionError("the tables violate this hard formula", self.rule.span)
        if np.any(left == -np.inf):
            raise _unsupported(self.rule)
        if len(unknown) > WIDEST:
            raise CapacityError(
                f"this formula leaves {len(unknown)} unknown atoms in one factor; engines take "
                f"{WIDEST}: close a predicate (--closed), or run without --engine",
                self.rule.span,
            )
        return unknown, left


class Joins:
    """The queries that ground a model."""

    def __init__(self, model: Model, known: KnownFacts) -> None:
        self._model = model
        self._known = known
        self._constants: list[tuple[str, bool]] = []

    def of(self, rule: Rule) -> Iterator[Join]:
        """The queries for one rule."""
        if Skeleton(self._model, rule).quantified:
            raise ModelError("quantifiers inside a formula are not supported on engines", rule.span)
        tables = RuleTables(self._model, rule, self._known.sizes, TABLE_CAP)
        patterns = Patterns(self._model, rule, self._known.sizes, self._number_of)
        for _, table, drivers, selections in selections_of(patterns, tables, self._known.facts):
            if drivers.constant == -np.inf and drivers.sets:
                raise _unsupported(rule)
            for selection in selections:
                if selection.free > MOST_SUBSTITUTIONS:
                    raise CapacityError(
                        f"this formula has {selection.free} substitutions that no table of facts "
                        f"limits; the limit is {MOST_SUBSTITUTIONS}: close a predicate of it "
                        "(--closed)",
                        rule.span,
                    )
                sql = selection_query(selection, _TextNames(self._constants))
                yield Join(rule, selection, table, sql)

    def kind(self, predicates: Sequence[int]) -> Kind:
        """The kind of the scopes over atoms of these predicates."""
        declared = list(self._model.predicates.values())
        return Kind(
            tuple(predicates),
            tuple(len(declared[k].sorts) for k in predicates),
            tuple(len(declared[k].values) for k in predicates),
        )

    def _number_of(self, sort: str, name: str) -> int:
        self._constants.append((name, self._known.numbers[sort]))
        return len(self._constants) - 1

    def value(self, engine: Engine, rows: Table, place: Place) -> Column:
        """The object at a place of an atom, in each row."""
        if not isinstance(place, Fixed):
            return rows[f"x{place.number}"]
        name, is_number = self._constants[place.number]
        return engine.ibis.literal(int(name) if is_number else name)


def _unsupported(rule: Rule) -> ModelError:
    return ModelError(
        "hard formulas about unknown atoms are not supported on engines; give it a large "
        "weight, or run without --engine",
        rule.span,
    )


def factor_tables(
    engine: Engine, model: Model, known: KnownFacts, progress: Progress
) -> dict[Kind, Table]:
    """A table for each kind of scope: the objects of its atoms, and a log potential per state.

    It has one row for each scope: potentials of equal scopes are added.
    """
    joins = Joins(model, known)
    pieces: dict[Kind, list[Table]] = {}
    made: list[str] = []
    for done, rule in enumerate(model.rules):
        progress("grounding", done, len(model.rules))
        for join in joins.of(rule):
            made.append(f"selected{len(made)}")
            rows = engine.create_as(made[-1], engine.translated(join.sql))
            for (code,) in engine.rows(rows.select("code").distinct()):
                unknown, left = join.left(int(code))
                if unknown:
                    chosen = rows.filter(rows.code == int(code))
                    for kind, piece in _in_all_orders(engine, joins, chosen, unknown, left):
                        pieces.setdefault(kind, []).append(piece)
    tables: dict[Kind, Table] = {}
    for done, (kind, some) in enumerate(pieces.items()):
        progress("merging factors", done, len(pieces))
        whole = engine.summed(some, kind.keys, kind.columns("t"))
        tables[kind] = engine.create(f"factors_{kind.name}", whole)
    for name in made:
        engine.drop(name)
    return tables


def _in_all_orders(
    engine: Engine, joins: Joins, rows: Table, atoms: Sequence[PlacedAtom], table: Floats
) -> Iterator[tuple[Kind, Table]]:
    """Factors over these atoms, for every order that their objects may have."""
    order = sorted(range(len(atoms)), key=lambda k: atoms[k].predicate)
    groups = [list(group) for _, group in groupby(order, key=lambda k: atoms[k].predicate)]
    for arranged in product(*(permutations(group) for group in groups)):
        axes = [k for group in arranged for k in group]
        kind = joins.kind([atoms[k].predicate for k in axes])
        objects = [[joins.value(engine, rows, place) for place in atoms[k].places] for k in axes]
        ascending = [
            _precedes(objects[k], objects[k + 1])
            for k, (one, other) in enumerate(pairwise(axes))
            if atoms[one].predicate == atoms[other].predicate
        ]
        potentials = np.transpose(table, axes)
        columns = dict(zip(kind.keys, (o for some in objects for o in some), strict=True))
        columns |= {column("t", state): engine.constant(potentials[state]) for state in kind.states}
        chosen = rows.filter(ascending) if ascending else rows
        yield kind, chosen.select(**columns)


def _precedes(left: Sequence[Column], right: Sequence[Column]) -> Column:
    """Whether the objects of an atom come before those of another of its predicate."""
    (first, *more), (other, *others) = left, right
    smaller = first < other
    return smaller | ((first == other) & _precedes(more, others)) if more else smaller
