"""Reading a compressed ground network: each query is matched against ground atoms."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from liftgbp.evidence import Problem, Relation
from liftgbp.ground.compress import QuotientGraph
from liftgbp.ground.grounding import AtomTable, atom_names
from liftgbp.lift.shatter import NormalModel, Obj, shatter
from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.model.ast import Query, applied
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import checked_query
from liftgbp.model.writer import object_text
from liftgbp.plan import Plan
from liftgbp.posterior.lookup import with_others
from liftgbp.posterior.readers import Prepared, Reader, Via
from liftgbp.posterior.rows import Row, query_rows, query_text
from liftgbp.posterior.sources import GroundBeliefs, GroundSource, Sampled
from liftgbp.support.arrays import Bools, Floats, Ints, RowIndex
from liftgbp.support.errors import QueryError

SAME_DIGITS = 12
"""Variables of one kind whose marginals agree to this many digits share a row."""

NOBODY = -1
"""Stands for an object that no fact and no factor is about."""


@dataclass(frozen=True, eq=False, repr=False)
class PreparedGround(Prepared):
    """The quotient of a ground network, with its plan and what its variables are."""

    graph: QuotientGraph
    plan: Plan
    stated: Problem
    atoms: AtomTable

    @property
    def problem(self) -> Problem:
        """The model, what is known, and the domain size of every sort."""
        return self.stated

    @property
    def via(self) -> Via:
        """From the ground model."""
        return "ground"

    def reader(self, log_beliefs: Floats) -> GroundReader:
        """What reads the answers to queries off beliefs."""
        return GroundReader(self, GroundBeliefs(self.graph, self.plan.layout, log_beliefs))

    def graph_as_dict(self) -> dict[str, object]:
        """The region graph for JSON; each region is described by one of those it stands for."""
        names = atom_names(self.atoms, self.model)
        atoms = [[names[v] for v, _ in region.cluster] for region in self.graph.regions]
        return {
            "model": self.model.name,
            "domains": self.sizes,
            **self.graph.described(atoms),
        }


@dataclass(frozen=True, eq=False)
class GroundReader(Reader):
    """Reads the variables of a ground network.

    Atoms are (predicate, ((sort, object), ...)) by numbers, and the object may be `NOBODY`. Where
    the source is `finer` than messages, it tells variables apart that these do not.
    """

    prepared: PreparedGround
    source: GroundSource
    finer: bool = False
    sample: Sampled | None = None

    @cached_property
    def kinds(self) -> Ints:
        """A number for each variable; those with equal numbers have equal distributions.

        It is negative for variables in no factor.
        """
        given = self.graph.alignment.atom_kind
        if not self.finer:
            return given
        keys = [
            (kind, *self.source.joint([k]).round(SAME_DIGITS).tolist()) if kind >= 0 else None
            for k, kind in enumerate(given.tolist())
        ]
        number = {key: k for k, key in enumerate(dict.fromkeys(k for k in keys if k is not None))}
        return np.array([-1 if key is None else number[key] for key in keys], dtype=np.int64)

    @property
    def graph(self) -> QuotientGraph:
        """The region graph."""
        return self.prepared.graph

    @property
    def atoms(self) -> AtomTable:
        """Which ground atom each variable is."""
        return self.prepared.atoms

    # --- rows

    def rows(self, query: str) -> list[Row]:
        """One row per kind of atoms that behave alike, or the one row of a conjunction."""
        asked = checked_query(parse_query(query), self.model).query
        patterns = query_rows(asked, self._plain)
        if not patterns:
            raise QueryError(f"no objects satisfy the restrictions of {query}")
        return [
            row
            for pattern in patterns
            for row in (
                self._split(asked, pattern)
                if len(pattern.every) == 1
                else [self._named_row(pattern)]
            )
        ]

    @cached_property
    def _plain(self) -> NormalModel:
        """The objects without rules and evidence: all of a sort are alike."""
        return shatter(self.model.without_rules(), self.sizes)

    def _named_row(self, pattern: Row) -> Row:
        number = self._numbers(pattern)

        def ground(atom: ObjAtom) -> ObjAtom:
            if any(obj not in number for obj in atom[1]):
                raise QueryError(
                    f"{pattern.text} is about several atoms, so its objects must be named: which "
                    "atoms behave alike is known here only for single atoms"
                )
            return self._with_sorts(atom[0], [number[obj] for obj in atom[1]])

        event = pattern.event
        return replace(
            pattern,
            atoms=tuple(map(ground, pattern.atoms)),
            given=tuple(map(ground, pattern.given)),
            event=event and replace(event, atoms=tuple(map(ground, event.atoms))),
        )

    def _numbers(self, pattern: Row) -> dict[Obj, int]:
        """The objects of the constants of a row, and those that only quantifiers range over."""
        number = dict(pattern.constants)
        unnamed = {obj[0] for _, obj in pattern.way if obj not in number}
        # Which objects are the others is open as long as those of variables are.
        for cls in {cls for cls, _ in pattern.bound} - unnamed:
            taken = {own for obj, own in number.items() if obj[0] == cls}
            others = (own for own in range(self._plain.class_sizes[cls]) if own not in taken)
            number |= zip((obj for obj in pattern.bound if obj[0] == cls), others, strict=True)
        return number

    def _with_sorts(self, predicate: int, objects: Sequence[int]) -> ObjAtom:
        sorts = self._plain.predicates[predicate].sorts
        number = list(self.sizes)
        return predicate, tuple((number.index(s), o) for s, o in zip(sorts, objects, strict=True))

    def _split(self, asked: Query, pattern: Row) -> Iterator[Row]:
        """The rows of the atoms that match a pattern: in factors, observed, and all others."""
        predicate = pattern.every[0][0]
        left = pattern.count
        each = self._groundings_of_an_atom(pattern)
        for description, args, group in self._listed(predicate):
            matching = np.flatnonzero(_matches(pattern, args))
            _, first, counts = np.unique(group[matching], return_index=True, return_counts=True)
            for example, found in zip(matching[first].tolist(), counts.tolist(), strict=True):
                count = found * each
                left -= count
                note = "" if count == pattern.count else description
                if note == "observed" and len(first) > 1:
                    value = self._plain.predicates[predicate].values[group[example]]
                    note = f"observed {value}"
                yield self._row(asked, pattern, args[example].tolist(), count, note)
        if left:
            nobody = [NOBODY] * len(pattern.every[0][1])
            closed = self._plain.predicates[predicate].name in self.problem.evidence.closed
            note = "not listed" if closed else "in no factor"
            yield self._row(asked, pattern, nobody, left, note)

    def _groundings_of_an_atom(self, pattern: Row) -> int:
        """How many groundings of a row with one atom have the same ground atom.

        They differ in the objects of variables that are only compared, or whose atoms make no
        difference. All ground atoms that match have the same number of them.
        """
        constants = dict(pattern.constants)
        named = Counter(cls for cls, _ in constants)
        chosen = Counter(cls for cls, _ in set(pattern.every[0][1]) - set(constants))
        sizes = self._plain.class_sizes
        matching = math.prod(falling(sizes[cls] - named[cls], n) for cls, n in chosen.items())
        return pattern.count // matching

    def _listed(self, predicate: int) -> Iterator[tuple[str, Ints, Ints]]:
        """Ground atoms of a predicate, each with a number for its group."""
        variables, args = self.variables(predicate)
        yield "like", args, self.kinds[variables]
        relation = self.facts.get(self._plain.predicates[predicate].name)
        if relation is not None:
            yield "observed", relation.args, relation.values

    def _row(
        self, asked: Query, pattern: Row, objects: Sequence[int], count: int, description: str
    ) -> Row:
        predicate, placeholders = pattern.every[0]
        note, example = description, ""
        if NOBODY not in objects:
            if description == "like":
                note = f"like {self._atom_text(predicate, objects)}"
            number = dict(pattern.constants) | dict(zip(placeholders, objects, strict=True))
            example = query_text(asked, self._names(pattern, number))
        atom, event = self._with_sorts(predicate, objects), pattern.event
        return replace(
            pattern,
            atoms=(atom,) * len(pattern.atoms),
            given=(atom,) * len(pattern.given),
            event=event and replace(event, atoms=(atom,) * len(event.atoms)),
            where=", ".join(part for part in (pattern.where, note) if part),
            count=count,
            example=example,
        )

    def _names(self, pattern: Row, number: dict[Obj, int]) -> dict[str, str]:
        """The names of objects for the variables of a row; any others where no number is known."""
        for _, obj in pattern.way:
            taken = {own for other, own in number.items() if other[0] == obj[0]}
            number.setdefault(obj, next(k for k in itertools.count() if k not in taken))
        sort = [cls.sort for cls in self._plain.classes]
        return {v: object_text(self.model, sort[obj[0]], number[obj]) for v, obj in pattern.way}

    def _atom_text(self, predicate: int, objects: Sequence[int]) -> str:
        own = self._plain.predicates[predicate]
        names = [object_text(self.model, s, o) for s, o in zip(own.sorts, objects, strict=True)]
        return applied(own.name, names)

    # --- where atoms are

    @cached_property
    def _by_predicate(self) -> tuple[Ints, Ints]:
        """The variables in factors, predicate by predicate, and where each one starts."""
        inside = np.flatnonzero(self.kinds >= 0)
        order = inside[np.argsort(self.atoms.predicate[inside], kind="stable")]
        numbers = np.arange(len(self._plain.predicates) + 1)
        return order, np.searchsorted(self.atoms.predicate[order], numbers)

    def variables(self, predicate: int) -> tuple[Ints, Ints]:
        """The variables of a predicate in factors, and the objects they are about."""
        order, starts = self._by_predicate
        own = order[starts[predicate] : starts[predicate + 1]]
        return own, self.atoms.args[own, : len(self._plain.predicates[predicate].sorts)]

    @cached_property
    def facts(self) -> Mapping[str, Relation]:
        """The observed atoms of each predicate."""
        return self.problem.facts()

    @cached_property
    def _indices(self) -> dict[int, RowIndex]:
        """Where atoms are found among the variables, for predicates that were asked about."""
        return {}

    def _variable(self, predicate: int, *objects: int) -> int | None:
        """The variable that is this atom, if there is one."""
        variables, args = self.variables(predicate)
        if predicate not in self._indices:
            self._indices[predicate] = RowIndex(args)
        place = self._indices[predicate].find(objects)
        return None if place is None else int(variables[place])

    def _outside(self, predicate: int, objects: Sequence[int]) -> Floats:
        """The values of an atom in no factor: observed, false since unlisted, or uniform."""
        own = self._plain.predicates[predicate]
        size = len(own.values)
        relation = self.facts.get(own.name)
        if relation is not None:
            wanted = np.array(objects, dtype=np.int64)
            found = np.flatnonzero((relation.args == wanted).all(axis=1))
            if len(found):
                return _surely(int(relation.values[found[0]]), size)
        return (
            _surely(0, size)
            if own.name in self.problem.evidence.closed
            else np.full(size, 1 / size)
        )

    # --- distributions

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms, one axis per atom."""
        found = {atom: self._variable(*_ground(atom)) for atom in atoms}
        inside = {atom: v for atom, v in found.items() if v is not None}

        def outside(atom: ObjAtom) -> Floats:
            predicate, *objects = _ground(atom)
            return self._outside(predicate, objects)

        table = self.source.joint(list(inside.values()))
        return np.asarray(with_others(atoms, list(inside), table[None], outside)[0])

    def marginals(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """The marginals of ground atoms, one array of objects per argument."""
        own = self._plain.predicates[predicate]
        sizes = [self.sizes[sort] for sort in own.sorts]
        size = len(own.values)
        unlisted = self._outside(predicate, [NOBODY] * len(sizes))
        result = np.tile(unlisted, (len(objects[0]) if objects else 1, 1))
        keys = _keys(objects, sizes)
        variables, args = self.variables(predicate)
        kinds, first, kind = np.unique(
            self.kinds[variables], return_index=True, return_inverse=True
        )
        tables = [self.source.joint([variable]) for variable in variables[first].tolist()]
        if len(kinds):
            place, found = _places(keys, _keys(args.T, sizes))
            result[found] = np.array(tables)[kind.ravel()[place[found]]]
        relation = self.facts.get(own.name)
        if relation is not None and len(relation.values):
            place, found = _places(keys, _keys(relation.args.T, sizes))
            result[found] = np.eye(size)[relation.values[place[found]]]
        return result

    def errors(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """The standard errors of these marginals, which are zero unless they are sampled."""
        own = self._plain.predicates[predicate]
        result = np.zeros((len(objects[0]) if objects else 1, len(own.values)))
        if self.sample is None:
            return result
        sizes = [self.sizes[sort] for sort in own.sorts]
        variables, args = self.variables(predicate)
        _, first, kind = np.unique(self.kinds[variables], return_index=True, return_inverse=True)
        errors = [
            self.sample.errors(self._with_sorts(predicate, args[k].tolist()), self)
            for k in first.tolist()
        ]
        if errors:
            place, known = _places(_keys(objects, sizes), _keys(args.T, sizes))
            result[known] = np.array(errors)[kind.ravel()[place[known]]]
        return result

    def values(self, atom: ObjAtom) -> tuple[str, ...]:
        """The values of the atom's predicate."""
        return self._plain.predicates[atom[0]].values


def _ground(atom: ObjAtom) -> tuple[int, ...]:
    """The predicate and the objects of an atom."""
    return atom[0], *(number for _, number in atom[1])


def _keys(columns: Sequence[Ints] | Ints, sizes: Sequence[int]) -> Ints:
    """A number for each combination of objects."""
    keys = np.zeros(len(columns[0]) if len(columns) else 1, dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys = keys * size + column
    return keys


def _places(keys: Ints, listed: Ints) -> tuple[Ints, Bools]:
    """Where each key is listed, and whether it is."""
    order = np.argsort(listed, kind="stable")
    at = np.searchsorted(listed, keys, sorter=order).clip(max=len(listed) - 1)
    return order[at], listed[order[at]] == keys


def _surely(value: int, size: int) -> Floats:
    return np.where(np.arange(size) == value, 1.0, 0.0)


def _matches(pattern: Row, args: Ints) -> Bools:
    """Which ground atoms a row over placeholders covers."""
    placeholders = pattern.every[0][1]
    number = dict(pattern.constants)
    result = np.ones(len(args), dtype=bool)
    for k, obj in enumerate(placeholders):
        if obj in number:
            result &= args[:, k] == number[obj]
            continue
        for other, taken in number.items():
            if other[0] == obj[0]:
                result &= args[:, k] != taken
        for j, before in enumerate(placeholders[:k]):
            if before == obj:
                result &= args[:, k] == args[:, j]
            elif before[0] == obj[0]:
                result &= args[:, k] != args[:, j]
    return result
