"""Substitutions with the observed values of their atoms, found by joins over tables of facts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from liftgbp.ground.grounding.atom_states import Facts
from liftgbp.ground.grounding.patterns import Fixed, Pattern, Place, Varying
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import InputError
from liftgbp.support.limits import interruptible

COUNTED_FROM = 100_000
"""Joins that may have more rows are counted, in milliseconds: a rule has one for each way in which
its variables coincide, and their bounds add up."""


@dataclass(frozen=True, slots=True)
class PlacedAtom:
    """An atom of a rule under a pattern: predicate number, objects, and what is known about it."""

    predicate: int
    places: tuple[Place, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Selection:
    """The substitutions of a pattern for which all `drivers` are listed atoms.

    Drivers are positions in `atoms`. Substitutions for which all atoms of some set in `earlier` are
    listed are left out, so that the selections of a pattern do not overlap.
    """

    pattern: Pattern
    atoms: tuple[PlacedAtom, ...]
    drivers: frozenset[int]
    earlier: tuple[frozenset[int], ...] = ()

    @property
    def free(self) -> int:
        """How many substitutions there are of the variables that no driver is about."""
        driven = {place for k in self.drivers for place in self.atoms[k].places}
        sizes = enumerate(self.pattern.domains)
        return math.prod(size for k, size in sizes if Varying(k) not in driven)


class Names:
    """How a database calls the facts, the objects of a column, and a named object.

    Facts of predicate k are a table `fk` with the columns a0, a1, ... and the state v; objects are
    numbers.
    """

    def objects(self, pattern: Pattern, column: int) -> str:
        """A table `d` and the number of the column, which has all its objects in a column x."""
        return f"range({pattern.domains[column]}) AS d{column}(x)"

    def named(self, number: int) -> str:
        """The object with this number."""
        return str(number)


NUMBERED = Names()


class Database:
    """The facts in an embedded database."""

    def __init__(self, facts: Sequence[Facts]) -> None:
        self._connection = _connect()
        for number, some in enumerate(facts):
            if len(some.values):
                self._create(number, some)

    def close(self) -> None:
        """Release the memory."""
        self._connection.close()

    def _create(self, number: int, facts: Facts) -> None:
        columns = {f"a{k}": np.ascontiguousarray(column) for k, column in enumerate(facts.args.T)}
        self._connection.register("given", {**columns, "v": facts.values})
        with interruptible():
            self._connection.execute(f"CREATE TABLE f{number} AS SELECT * FROM given")
        self._connection.unregister("given")

    def _list(self, query: str) -> list[tuple[Any, ...]]:
        with interruptible():
            return list(self._connection.execute(query).fetchall())

    def bound(self, selection: Selection, cap: int) -> int:
        """An upper bound on the rows of a selection, which are counted only where it may matter."""
        drivers = [selection.atoms[k] for k in sorted(selection.drivers)]
        joined = math.prod(len(atom.facts.values) for atom in drivers)
        others = selection.free
        if len(drivers) > 1 and joined * others > min(cap, COUNTED_FROM):
            inner = _Inner(selection)
            # The limit stops counting a join that is too large anyway.
            query = f"SELECT COUNT(*) FROM (SELECT 1 {inner.joined()} LIMIT {cap + 1})"
            joined = int(self._list(query)[0][0])
        return joined * others

    def counts(self, selection: Selection) -> dict[int, int]:
        """How many substitutions have which states of their atoms; none of them is listed."""
        query = (
            f"SELECT code, COUNT(*) FROM ({selection_query(selection)}) GROUP BY code ORDER BY code"
        )
        return {int(code): int(count) for code, count in self._list(query)}

    def rows(
        self, selection: Selection, codes: Collection[int] | None = None, most: int | None = None
    ) -> tuple[Ints, Ints]:
        """The objects of each substitution, and the states of its atoms as one number.

        The states are the digits of that number, the first atom's first; `states_of` reads them.
        With `codes`, only substitutions with these are listed; with `most`, the first so many.
        """
        query = selection_query(selection)
        if codes is not None:
            wanted = ", ".join(map(str, codes)) or "NULL"
            query = f"SELECT * FROM ({query}) WHERE code IN ({wanted})"
        if most is not None:
            query += f" ORDER BY ALL LIMIT {most}"
        with interruptible():
            found = self._connection.execute(query).fetchnumpy()
        codes = np.asarray(found["code"], np.int64)
        columns = [
            np.asarray(found[f"x{k}"], np.int64) for k in range(len(selection.pattern.domains))
        ]
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(codes), 0), np.int64)
        return rows, codes


def states_of(atoms: Sequence[PlacedAtom], code: int) -> tuple[int, ...]:
    """The states of atoms that the number of a substitution stands for."""
    states: list[int] = []
    for atom in reversed(atoms):
        code, state = divmod(code, atom.facts.range + 1)
        states.append(state)
    return tuple(reversed(states))


def _connect() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise InputError(
            "grounding needs duckdb; install it with pip install 'liftgbp[data]'"
        ) from error
    return duckdb.connect(":memory:")


class _Inner:
    """The join of the drivers with the domains of the columns that occur in no driver."""

    def __init__(self, selection: Selection, names: Names = NUMBERED) -> None:
        self._pattern = selection.pattern
        self._names = names
        self._tables: list[str] = []
        self._conditions: list[str] = []
        self._columns: dict[int, str] = {}
        self._values = [f"t{k}.v AS s{k}" for k in sorted(selection.drivers)]
        for k in sorted(selection.drivers):
            self._tables.append(f"f{selection.atoms[k].predicate} AS t{k}")
            for position, place in enumerate(selection.atoms[k].places):
                self._hold(f"t{k}.a{position}", place)

    def _hold(self, term: str, place: Place) -> None:
        if isinstance(place, Fixed):
            self._conditions.append(f"{term} = {self._names.named(place.number)}")
        elif place.number in self._columns:
            self._conditions.append(f"{term} = {self._columns[place.number]}")
        else:
            self._columns[place.number] = term

    def joined(self) -> str:
        """The join of the drivers alone."""
        return f"FROM {', '.join(self._tables)}{_where(self._conditions)}"

    def query(self) -> str:
        """All columns of the pattern and the values of the drivers."""
        tables, columns = list(self._tables), dict(self._columns)
        for k in range(len(self._pattern.domains)):
            if k not in columns:
                tables.append(self._names.objects(self._pattern, k))
                columns[k] = f"d{k}.x"
        conditions = list(self._conditions)
        conditions += [f"{columns[i]} <> {columns[j]}" for i, j in self._pattern.different]
        for k, numbers in enumerate(self._pattern.excluded):
            conditions += [f"{columns[k]} <> {self._names.named(n)}" for n in numbers]
        selected = [f"{columns[k]} AS x{k}" for k in sorted(columns)] + self._values
        source = f" FROM {', '.join(tables)}" if tables else ""
        return f"SELECT {', '.join(selected) or '1 AS one'}{source}{_where(conditions)}"


def selection_query(selection: Selection, names: Names = NUMBERED) -> str:
    """The columns x0, x1, ... of the substitutions, and the number of their states, as SQL."""
    joins: list[str] = []
    code = "0"
    for k, atom in enumerate(selection.atoms):
        some = atom.facts
        state = str(some.default)
        if k in selection.drivers:
            state = f"s{k}"
        elif len(some.values):
            joins.append(f" LEFT JOIN f{atom.predicate} AS t{k} ON {_matches(k, atom, names)}")
            state = f"COALESCE(t{k}.v, {some.default})"
        code = f"({code}) * {some.range + 1} + {state}"
    columns = [f"x{k}" for k in range(len(selection.pattern.domains))]
    unseen = [
        f"({' OR '.join(f't{k}.v IS NULL' for k in sorted(drivers - selection.drivers))})"
        for drivers in selection.earlier
    ]
    return (
        f"SELECT {', '.join([*columns, f'{code} AS code'])} FROM "
        f"({_Inner(selection, names).query()}) AS r"
        f"{''.join(joins)}{_where(unseen)}"
    )


def _matches(k: int, atom: PlacedAtom, names: Names) -> str:
    equal = [
        f"t{k}.a{position} = "
        + (f"r.x{p.number}" if isinstance(p, Varying) else names.named(p.number))
        for position, p in enumerate(atom.places)
    ]
    return " AND ".join(equal) or "TRUE"


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
