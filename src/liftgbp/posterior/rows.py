"""The rows of an answer: the ways in which the variables of a query can coincide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from liftgbp.lift.regions.counts import Count
from liftgbp.lift.shatter import NormalModel, Obj
from liftgbp.lift.shatter.assignments import admits, assignments
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.shatter.rule_tables import Labels, RuleTables, drop_indifferent
from liftgbp.model.ast import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Is,
    Query,
    Term,
    Variable,
    applied,
    map_formula,
    rule_atoms,
)
from liftgbp.model.queries import checked_query
from liftgbp.model.scopes import quantified_variables
from liftgbp.model.writer import constant_text, formula_text, object_text
from liftgbp.posterior.events import Event
from liftgbp.support.arrays import Bools
from liftgbp.support.errors import CapacityError, QueryError, states_text
from liftgbp.support.limits import Search

ONCE = Count((), divisor=1)

MOST_LISTED = 3
"""More constants than this are listed as a set in the description of a row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way of the variables: the atoms over placeholders, in words, and how many it covers."""

    atoms: tuple[ObjAtom, ...]
    given: tuple[ObjAtom, ...]
    atom_texts: tuple[str, ...]
    given_texts: tuple[str, ...]
    where: str
    count: int
    example: str
    generic: bool
    """Whether all variables are different objects without names."""
    constants: tuple[tuple[Obj, int], ...] = ()
    """The placeholders of the constants in the query, with their numbers in their sorts."""
    counted: Count = ONCE
    """The count as a function of the class sizes."""
    event: Event | None = None
    """The formula that is asked for or that holds; then `atom_texts` has the formula asked for."""
    conditions: tuple[str, ...] = ()
    """The formulas that hold, in words."""
    bound: tuple[Obj, ...] = ()
    """Placeholders of the objects that only quantifiers range over: all the others there are."""
    way: tuple[tuple[str, Obj], ...] = ()
    """The placeholder of each variable, which may occur in no atom that matters."""

    @property
    def text(self) -> str:
        """What is asked for, and what is given, in words."""
        return _joined(self.atom_texts, (*self.given_texts, *self.conditions))

    @property
    def every(self) -> tuple[ObjAtom, ...]:
        """All atoms whose joint distribution tells the answer."""
        return (*self.atoms, *self.given, *(() if self.event is None else self.event.atoms))

    @property
    def conditional(self) -> bool:
        """Whether something is given."""
        return bool(self.given or self.conditions)


def query_rows(query: Query, normal: NormalModel) -> list[Row]:
    """The rows that answer a query, after checking it against the model."""
    return list(_Rows(query, normal))


def query_text(query: Query, names: Mapping[str, str]) -> str:
    """A query without its restrictions, with other names of its free variables."""
    given = (*_texts(query.given, names), *_condition_texts(query, names))
    return _joined(_asked_texts(query, names), given)


def groups_with_same_rows(query: Query, every: Sequence[NormalModel]) -> list[list[int]]:
    """The positions of normal forms that differ in nothing but sizes, by the rows they have.

    All classes that have an object for each term of the query have the same ways.
    """
    rule = query.rule
    in_atoms = {term for atom in rule_atoms(rule) for term in atom.args}
    # A restriction compares two terms, and may name a constant that no atom does.
    most = len(in_atoms) + 2 * len(query.restrictions)
    # A quantifier ranges over all objects.
    whole = bool(quantified_variables(rule))
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, normal in enumerate(every):
        sizes = tuple(size if whole else min(size, most) for size in normal.class_sizes)
        groups.setdefault(sizes, []).append(k)
    return list(groups.values())


def _joined(atoms: Sequence[str], given: Sequence[str]) -> str:
    return " | ".join(part for part in (" ^ ".join(atoms), ", ".join(given)) if part)


class _Rows:
    def __init__(self, asked: Query, normal: NormalModel) -> None:
        self._normal = normal
        terms = checked_query(asked, normal.model)
        self._query = query = terms.query
        self._formulas = [f for f in (query.formula, query.condition) if f is not None]
        self._sorts, self._variables = terms.sorts, terms.variables
        self._constants = terms.constants
        self._named, self._taken = self._place_constants()
        self._name_of = {obj: constant_text(name) for (_, name), obj in self._named.items()}
        for number, cls in enumerate(normal.classes):
            if cls.constant is not None:
                self._name_of[number, 0] = constant_text(cls.constant)
        self._check_table()

    def _check_table(self) -> None:
        """Refuse a joint distribution of too many atoms."""
        predicates = self._normal.model.predicates
        every = (*self._query.atoms, *self._query.given)
        axes = Counter(len(predicates[atom.predicate].values) for atom in every)
        cap = self._normal.table_cap
        if math.prod(length**count for length, count in axes.items()) > cap:
            raise CapacityError(
                f"the answer would be a table over {len(every)} atoms with {states_text(axes)} "
                f"entries, above the cap of {cap}; ask about fewer atoms at once, or raise "
                "--table-cap (table_cap in Python)"
            )

    def _place_constants(self) -> tuple[dict[tuple[str, str], Obj], Counter[int]]:
        """Objects for the constants of the query; those that rules do not mention share a class."""
        placed: dict[tuple[str, str], Obj] = {}
        taken: Counter[int] = Counter()
        for sort, constant in self._constants:
            cls = self._normal.class_of_constant(sort, constant)
            placed[sort, constant] = (cls, taken[cls])
            taken[cls] += 1
        return placed, taken

    def __iter__(self) -> Iterator[Row]:
        classes = {v: self._normal.classes_of(self._sorts[Variable(v)]) for v in self._variables}
        sizes = self._normal.class_sizes
        distinct = self._query.distinct
        ways = Search("finding the ways in which variables coincide", "ask about fewer of them")
        for way in assignments(self._variables, classes, sizes, self._taken, distinct=distinct):
            ways.take(1 + len(way))
            if self._admits(way):
                yield self._row(way)

    def _admits(self, way: Mapping[str, Obj]) -> bool:
        def compared(term: Term, other: Term) -> Obj:
            variable = other if isinstance(term, Constant) else term
            return self._object(term, self._sorts[variable], way)

        return admits(self._query.restrictions, compared)

    def _object(self, term: Term, sort: str, way: Mapping[str, Obj]) -> Obj:
        return self._named[sort, term.name] if isinstance(term, Constant) else way[term.name]

    def _row(self, way: Mapping[str, Obj]) -> Row:
        names = self._words(way)
        counted = self._count(way)
        event = self._event(way) if self._formulas else None
        used = {*way.values(), *self._named.values()}
        return Row(
            atoms=tuple(self._ground(atom, way) for atom in self._query.atoms),
            given=tuple(self._ground(atom, way) for atom in self._query.given),
            atom_texts=_asked_texts(self._query, names),
            given_texts=_texts(self._query.given, names),
            where=", ".join(self._conditions(way, names)),
            count=counted.at(self._normal.class_sizes),
            counted=counted,
            example=self._example(way),
            generic=len(set(way.values()) - set(self._name_of)) == len(way),
            constants=tuple(
                (obj, self._normal.model.object_numbers(sort)[name])
                for (sort, name), obj in self._named.items()
            ),
            event=event,
            conditions=_condition_texts(self._query, names),
            bound=tuple(
                obj for sort in self._ranges for obj in self._ranges[sort] if obj not in used
            ),
            way=tuple(way.items()),
        )

    # --- formulas

    @cached_property
    def _tables(self) -> RuleTables:
        normal = self._normal
        return RuleTables(normal.model, self._query.rule, normal.sizes, normal.table_cap)

    @cached_property
    def _ranges(self) -> dict[str, tuple[Obj, ...]]:
        """The objects of the sorts that quantifiers range over."""
        sizes = self._normal.class_sizes
        sorts = {self._sorts[variable] for variable in quantified_variables(self._query.rule)}
        return {
            sort: tuple(
                (cls, k) for cls in self._normal.classes_of(sort) for k in range(sizes[cls])
            )
            for sort in sorted(sorts)
        }

    def _event(self, way: Mapping[str, Obj]) -> Event:
        """In which states of its atoms the formula and the condition hold."""
        objects = list(
            dict.fromkeys(
                [
                    *way.values(),
                    *self._named.values(),
                    *(o for r in self._ranges.values() for o in r),
                ]
            )
        )
        label = {obj: k for k, obj in enumerate(objects)}
        labels = Labels(
            variables=tuple((v, label[obj]) for v, obj in way.items()),
            constants=tuple((key, label[obj]) for key, obj in self._named.items()),
            domains=tuple((s, tuple(label[o] for o in r)) for s, r in self._ranges.items()),
        )

        def read(formula: Formula | None) -> tuple[tuple[ObjAtom, ...], Bools] | None:
            if formula is None:
                return None
            try:
                every, states = self._tables.truth(formula, labels)
            except CapacityError as error:
                raise QueryError(error.message) from None
            atoms, truth = drop_indifferent(every, states.astype(float))
            found = tuple((p, tuple(objects[k] for k in args)) for p, args in atoms)
            return found, truth > 0

        return Event.of(read(self._query.formula), read(self._query.condition))

    # --- atoms

    def _ground(self, atom: Atom, way: Mapping[str, Obj]) -> ObjAtom:
        sorts = self._normal.model.predicates[atom.predicate].sorts
        args = tuple(self._object(t, s, way) for t, s in zip(atom.args, sorts, strict=True))
        return self._normal.predicate_number[atom.predicate], args

    def _count(self, way: Mapping[str, Obj]) -> Count:
        new = Counter(cls for cls, index in set(way.values()) if index >= self._taken[cls])
        return Count(tuple((cls, self._taken[cls], n) for cls, n in new.items()), divisor=1)

    # --- words

    def _words(self, way: Mapping[str, Obj]) -> dict[str, str]:
        """For each variable the constant or the first variable that it coincides with."""
        first: dict[Obj, str] = {}
        return {v: self._name_of.get(obj) or first.setdefault(obj, v) for v, obj in way.items()}

    def _conditions(self, way: Mapping[str, Obj], names: Mapping[str, str]) -> Iterator[str]:
        for v, name in names.items():
            if v != name:
                yield f"{name} = {v}" if name in names else f"{v} = {name}"
        own = [v for v, name in names.items() if v == name]
        for v in own:
            yield from self._facts(v, way[v][0])
        for k, v in enumerate(own):
            yield from (f"{v} != {w}" for w in own[k + 1 :] if way[v][0] == way[w][0])
        for v in own:
            yield from self._exclusions(v, way[v][0])

    def _facts(self, variable: str, cls: int) -> Iterator[str]:
        """What evidence knows about the objects of a class."""
        own = self._normal.classes[cls]
        if own.facts and own.size == 1:
            yield f"{variable} = {object_text(self._normal.model, own.sort, own.examples[0])}"
            return
        yield from (fact.replace("{}", variable) for fact in own.facts)
        if not own.facts and any(c.facts for c in self._normal.classes if c.sort == own.sort):
            yield f"no evidence on {variable}"

    def _exclusions(self, variable: str, cls: int) -> Iterator[str]:
        """Constants that would fit the other conditions, but have rows of their own."""
        classes = self._normal.classes
        constants = [
            name
            for (other, _), name in sorted(self._name_of.items())
            if other == cls
            or (classes[other].sort == classes[cls].sort and classes[other].constant is not None)
        ]
        if len(constants) > MOST_LISTED:
            yield f"{variable} not in {{{', '.join(constants)}}}"
        else:
            yield from (f"{variable} != {constant}" for constant in constants)

    def _example(self, way: Mapping[str, Obj]) -> str:
        """The atoms of the query over objects of the row."""
        names = {v: self._name_of.get(obj) or self._examples(obj) for v, obj in way.items()}
        return query_text(self._query, names)

    def _examples(self, obj: Obj) -> str:
        """A member of the class that is no constant of the query."""
        cls, index = obj
        own = self._normal.classes[cls]
        numbers = self._normal.model.object_numbers(own.sort)
        placed = {numbers[name] for (sort, name) in self._named if sort == own.sort}
        members = [number for number in own.examples if number not in placed]
        at = index - self._taken[cls]
        if at < len(members):
            return object_text(self._normal.model, own.sort, members[at])
        return "..."


def _asked_texts(query: Query, names: Mapping[str, str]) -> tuple[str, ...]:
    if query.formula is None:
        return _texts(query.atoms, names)
    return (formula_text(renamed(query.formula, names)),)


def _condition_texts(query: Query, names: Mapping[str, str]) -> tuple[str, ...]:
    condition = query.condition
    if condition is None:
        return ()
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return tuple(formula_text(renamed(part, names)) for part in parts)


def _texts(atoms: Sequence[Atom], names: Mapping[str, str]) -> tuple[str, ...]:
    def text(atom: Atom) -> str:
        args = [
            names[t.name] if isinstance(t, Variable) else constant_text(t.name) for t in atom.args
        ]
        return applied(atom.predicate, args)

    return tuple(map(text, atoms))


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other names of its free variables; texts of constants are names, too."""

    def term(own: Term) -> Term:
        return Variable(names.get(own.name, own.name)) if isinstance(own, Variable) else own

    match formula:
        case Is(atom, value):
            return Is(Atom(atom.predicate, tuple(map(term, atom.args))), value)
        case Equal(left, right):
            return Equal(term(left), term(right))
        case Exists(variable) | Forall(variable):
            names = {name: text for name, text in names.items() if name != variable.name}
    return map_formula(lambda part: renamed(part, names), formula)
