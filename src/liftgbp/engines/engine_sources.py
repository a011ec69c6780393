"""Evidence as tables of an engine: facts, and the objects of each sort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.engines.engine import SPARK_TABLE, Column, Engine, Table
from liftgbp.evidence.fact_tables import TablePlace, matching_places, table_source, with_columns
from liftgbp.evidence.read import EVERY
from liftgbp.evidence.stated_facts import unknown_predicate
from liftgbp.evidence.table_reading import has_row_labels
from liftgbp.ground.grounding.atom_states import Facts
from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.model import Model
from liftgbp.support.errors import EvidenceError, SizeError, counted
from liftgbp.support.input_files import is_directory

FACTS = "f"
"""Tables of facts are called f0, f1, ... by the number of the predicate, as grounding expects."""

OBJECTS = "objects_"
TRUTHS = {"true": 1, "t": 1, "1": 1, "false": 0, "f": 0, "0": 0}


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """What an engine knows: which states the facts of each predicate have, and the domain sizes.

    The arrays of `facts` are empty but for the states, which is what planning the joins needs.
    `numbers` says whether the objects of a sort are numbers in the tables; else they are texts.
    """

    facts: tuple[Facts, ...]
    sizes: Mapping[str, int]
    numbers: Mapping[str, bool]
    rows: Mapping[str, int]

    @property
    def numbered(self) -> list[int]:
        """How many facts there are about each predicate, by number."""
        return list(self.rows.values())


def read_sources(
    engine: Engine,
    model: Model,
    sources: Iterable[str],
    closed: Iterable[str],
    sizes: Mapping[str, int],
    *,
    counting: bool = False,
) -> KnownFacts:
    """Make a table of the facts about each predicate, and one of the objects of each sort.

    For `counting`, facts stay where they are: those that are stated twice count twice, and facts
    that contradict each other are not found.
    """
    declared = (name for name, predicate in model.predicates.items() if predicate.closed)
    reader = _Reader(engine, model, frozenset(closed).union(declared), counting)
    for source in sources:
        reader.add(source)
    return reader.finish(sizes)


def sql_literal(name: str, number: bool) -> str:
    """An object as SQL writes it.

    >>> sql_literal("O'Neil", False), sql_literal("7", True)
    ("'O''Neil'", '7')
    """
    return str(int(name)) if number else "'" + name.replace("'", "''") + "'"


def _trimmed(column: Column) -> Column:
    """Texts without blanks around them; an empty one is none, as without an engine."""
    return column.cast("string").strip().nullif("")


class _Reader:
    def __init__(
        self, engine: Engine, model: Model, closed: frozenset[str], counting: bool
    ) -> None:
        self._engine = engine
        self._counting = counting
        self._model = model
        self._closed = closed
        self._tables: dict[str, list[tuple[str, Table]]] = {}
        self._listed: dict[str, list[Column]] = {}
        for name in closed - set(model.predicates) - {EVERY}:
            raise EvidenceError(unknown_predicate(model, name))

    def add(self, source: str) -> None:
        """Take in a source, such as `friends=friends.parquet`."""
        written = table_source(source)
        if written is None:
            raise EvidenceError(
                f"{source}: an engine reads tables; write friends=friends.parquet, "
                f"friends=data.duckdb:friends or friends={SPARK_TABLE}friends"
            )
        name, place = written
        chosen: Sequence[TablePlace]
        if "://" in place or is_directory(place):
            chosen = [with_columns(place)]
        else:
            chosen = matching_places(place)
        table = self._columns(source, self._engine.read(chosen), chosen[0].columns)
        if name in self._model.predicates:
            predicate = self._model.predicates[name]
            if predicate.kind != "relation":
                raise EvidenceError(f"{source}: functions are not supported on engines")
            self._check_width(source, predicate, table)
            self._tables.setdefault(name, []).append((source, table))
        elif name in self._model.sorts:
            self._listed.setdefault(name, []).append(table[table.columns[0]])
        else:
            raise EvidenceError(f"{source}: {unknown_predicate(self._model, name)}")

    def finish(self, sizes: Mapping[str, int]) -> KnownFacts:
        """Make the tables."""
        if EVERY in self._closed:
            self._closed |= set(self._tables)
        numbers = {sort: self._are_numbers(sort) for sort in self._model.sorts}
        counts = {sort: self._objects(sort, numbers[sort]) for sort in self._model.sorts}
        for sort, size in sizes.items():
            if sort in counts and size != counts[sort]:
                raise SizeError(
                    f"the tables name {counted(counts[sort], 'object')} of {sort}, not {size}; an "
                    f"engine knows the objects that tables name: list all, as in "
                    f"-e {sort}={sort}.parquet, and drop -n {sort}={size}"
                )
        facts, rows = [], {}
        for number, (name, predicate) in enumerate(self._model.predicates.items()):
            states, rows[name] = self._facts(number, predicate, numbers)
            default = 0 if name in self._closed else len(predicate.values)
            facts.append(
                Facts(
                    args=np.zeros((0, len(predicate.sorts)), np.int64),
                    values=np.array([state for state in states if state != default], np.int64),
                    range=len(predicate.values),
                    default=default,
                    unobserved=0,
                )
            )
        return KnownFacts(tuple(facts), counts, numbers, rows)

    # --- columns

    def _columns(self, source: str, table: Table, chosen: Sequence[str]) -> Table:
        missing = [name for name in chosen if name not in table.columns]
        if missing:
            raise EvidenceError(
                f"{source}: there is no column {missing[0]}; there are {', '.join(table.columns)}"
            )
        if not chosen:
            chosen = [name for name in table.columns if not has_row_labels(name)]
        return table.select(*chosen) if chosen else table

    def _check_width(self, source: str, predicate: Predicate, table: Table) -> None:
        width = len(predicate.sorts)
        if len(table.columns) not in (width, width + 1):
            raise EvidenceError(
                f"{source} has {counted(len(table.columns), 'column')}; {predicate} needs {width}, "
                f"or {width + 1} with the value last; choose them as in "
                f"{predicate.name}=table.parquet[from,to]"
            )
        for name in table.columns[:width]:
            kind = table[name].type()
            if not (kind.is_integer() or kind.is_string()):
                raise EvidenceError(
                    f"{source}: column {name} is {kind}; objects are integers or texts"
                )

    def _argument_columns(self, sort: str) -> list[Column]:
        """The columns of all tables that hold objects of a sort."""
        columns = list(self._listed.get(sort, ()))
        for name, tables in self._tables.items():
            for position, other in enumerate(self._model.predicates[name].sorts):
                if other == sort:
                    columns += [table[table.columns[position]] for _, table in tables]
        return columns

    def _are_numbers(self, sort: str) -> bool:
        columns = self._argument_columns(sort)
        names = self._model.constants(sort)
        return (
            bool(columns)
            and all(column.type().is_integer() for column in columns)
            and all(name.lstrip("-").isdigit() for name in names)
        )

    def _typed(self, column: Column, number: bool) -> Column:
        return column.cast("int64") if number else _trimmed(column)

    # --- tables

    def _objects(self, sort: str, number: bool) -> int:
        """Make the table of all objects of a sort; returns how many there are."""
        parts = [
            column.as_table().select(x=self._typed(column, number)).filter(lambda t: t.x.notnull())
            for column in self._argument_columns(sort)
        ]
        names = self._model.constants(sort)
        if names:
            literals = [sql_literal(name, number) for name in names]
            sql = " UNION ALL ".join(f"SELECT {literal} AS x" for literal in literals)
            named = self._engine.create_as(f"named_{sort}", sql)
            parts.append(named.select(x=self._typed(named.x, number)))
        if not parts:
            return 0
        table = self._engine.create(f"{OBJECTS}{sort}", self._engine.union(parts).distinct())
        return int(self._engine.number(table.count()))

    def _facts(
        self, number: int, predicate: Predicate, numbers: Mapping[str, bool]
    ) -> tuple[list[int], int]:
        """Make the table of the facts about a predicate; returns their states, and how many."""
        parts = [
            self._states(predicate, *one, numbers) for one in self._tables.get(predicate.name, ())
        ]
        if not parts:
            return [], 0
        whole = self._engine.union(parts)
        keys = [f"a{k}" for k in range(len(predicate.sorts))]
        whole = whole.filter([whole[key].notnull() for key in keys])
        table = self._table(number, whole)
        (totals,) = self._engine.rows(
            table.aggregate(rows=table.count(), unclear=(table.v < 0).sum())
        )
        rows, unclear = int(totals[0]), int(totals[1] or 0)
        if unclear:
            raise EvidenceError(
                f"{predicate.name}: {counted(unclear, 'row')} with a value other than "
                f"{' or '.join(predicate.values)}; engines take no uncertain facts"
            )
        states = sorted(int(row[0]) for row in self._engine.rows(table.select("v").distinct()))
        if len(states) > 1 and not self._counting:
            self._check_agreement(predicate, table, keys)
        if predicate.name in self._closed and 0 in states:
            self._table(number, whole.filter(whole.v != 0))
        return states, rows

    def _table(self, number: int, facts: Table) -> Table:
        """The table of the facts about a predicate, or its name if they are only counted."""
        if self._counting:
            return self._engine.call(f"{FACTS}{number}", facts)
        return self._engine.create(f"{FACTS}{number}", facts.distinct())

    def _states(
        self, predicate: Predicate, source: str, table: Table, numbers: Mapping[str, bool]
    ) -> Table:
        width = len(predicate.sorts)
        columns = {
            f"a{k}": self._typed(table[table.columns[k]], numbers[sort])
            for k, sort in enumerate(predicate.sorts)
        }
        if len(table.columns) == width:
            if predicate.values != BOOLEAN:
                raise EvidenceError(
                    f"{source}: {predicate.name} needs a last column with its value"
                )
            return table.select(**columns, v=self._engine.ibis.literal(1, "int64"))
        value = _trimmed(table[table.columns[-1]])
        known = dict(TRUTHS) if predicate.values == BOOLEAN else {}
        known |= {text: state for state, text in enumerate(predicate.values)}
        text = value.lower() if predicate.values == BOOLEAN else value
        state = text.cases(*known.items(), else_=-1).cast("int64")
        return table.filter(value.notnull()).select(**columns, v=state)

    def _check_agreement(self, predicate: Predicate, table: Table, keys: Sequence[str]) -> None:
        twice = table.group_by(keys).aggregate(states=table.count()).filter(lambda t: t.states > 1)
        rows = self._engine.rows(twice.limit(1))
        if rows:
            arguments = ",".join(map(str, rows[0][:-1]))
            raise EvidenceError(
                f"{predicate.name}({arguments}) has two values in the tables; keep one of them"
            )
