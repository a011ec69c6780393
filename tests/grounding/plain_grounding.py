"""Grounding under evidence by loops over everything: slow, and easy to check by eye."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from liftgbp.evidence import Evidence
from liftgbp.model.ast import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Rule,
    TableParfactor,
    Term,
    evaluate_weight,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables

PlainAtom = tuple[str, tuple[int, ...]]
World = dict[PlainAtom, int]


class ViolatedError(Exception):
    """Some factor rules out every state of its atoms."""


@dataclass
class Plain:
    """The factors that evidence leaves, by scope."""

    tables: dict[tuple[PlainAtom, ...], NDArray[np.float64]] = field(default_factory=dict)
    log_constant: float = 0.0
    unobserved: dict[PlainAtom, int] = field(default_factory=dict)

    def free(self) -> dict[int, int]:
        touched = {atom for scope in self.tables for atom in scope}
        return dict(Counter(k for atom, k in self.unobserved.items() if atom not in touched))


class PlainGrounder:
    def __init__(self, evidence: Evidence, sizes: Mapping[str, int]) -> None:
        self.model: Model = evidence.vocabulary
        self.evidence = evidence
        self.sizes = self.model.domain_sizes(sizes)
        self.values = {name: len(p.values) for name, p in self.model.predicates.items()}
        self.observed = self._observed()

    def atoms(self) -> list[PlainAtom]:
        return [
            (name, objects)
            for name, p in self.model.predicates.items()
            for objects in product(*(range(self.sizes[sort]) for sort in p.sorts))
        ]

    def _observed(self) -> World:
        observed = {atom: 0 for atom in self.atoms() if atom[0] in self.evidence.closed}
        for name, relation in self.evidence.hard.items():
            for args, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True):
                observed[name, tuple(args)] = value
        following = {sort: len(self.model.constants(sort)) for sort in self.sizes}
        for known in self.evidence.known:
            for _ in range(known.count):
                for name, value in known.values:
                    observed[name, (following[known.sort],)] = value
                following[known.sort] += 1
        return observed

    # --- one substitution

    def substitutions(self, rule: Rule) -> Iterator[dict[str, int]]:
        sorts = self.model.variable_sorts(rule)
        names = free_variables(rule)
        for objects in product(*(range(self.sizes[sorts[name]]) for name in names)):
            way = dict(zip(names, objects, strict=True))
            pairs = [(sorts[name], number) for name, number in way.items()]
            if rule.distinct and len(set(pairs)) < len(pairs):
                continue
            if all(self.holds(part, rule, way, {}) for part in rule.restrictions):
                yield way

    def _object(self, term: Term, sort: str, way: Mapping[str, int]) -> int:
        if isinstance(term, Constant):
            return self.model.constants(sort).index(term.name)
        return way[term.name]

    def ground_atom(self, atom: Atom, way: Mapping[str, int]) -> PlainAtom:
        sorts = self.model.predicates[atom.predicate].sorts
        return atom.predicate, tuple(
            self._object(t, s, way) for t, s in zip(atom.args, sorts, strict=True)
        )

    def holds(self, formula: Formula, rule: Rule, way: Mapping[str, int], world: World) -> bool:
        sorts = self.model.variable_sorts(rule)

        def inner(part: Formula) -> bool:
            return self.holds(part, rule, way, world)

        match formula:
            case Is(atom, value):
                wanted = self.model.predicates[atom.predicate].values.index(value)
                return world[self.ground_atom(atom, way)] == wanted
            case Equal(left, right):
                sort = sorts[(right if isinstance(left, Constant) else left).name]
                return self._object(left, sort, way) == self._object(right, sort, way)
            case Not(body):
                return not inner(body)
            case And(parts):
                return all(inner(part) for part in parts)
            case Or(parts):
                return any(inner(part) for part in parts)
            case Implies(left, right):
                return not inner(left) or inner(right)
            case Iff(left, right):
                return inner(left) == inner(right)
            case Exists(variable, body) | Forall(variable, body):
                domain = range(self.sizes[sorts[variable.name]])
                each = [self.holds(body, rule, {**way, variable.name: k}, world) for k in domain]
                return any(each) if isinstance(formula, Exists) else all(each)

    def log_value(self, rule: Rule, way: Mapping[str, int], world: World) -> float:
        if isinstance(rule, TableParfactor):
            place = 0
            for atom in rule.atoms:
                place = place * self.values[atom.predicate] + world[self.ground_atom(atom, way)]
            potential = evaluate_weight(rule.potentials[place], self.sizes, self.model.weights)
            return math.log(potential) if potential else -math.inf
        truth = self.holds(rule.formula, rule, way, world)
        if rule.weight is None:
            return 0.0 if truth else -math.inf
        return evaluate_weight(rule.weight, self.sizes, self.model.weights) if truth else 0.0

    def rule_atoms(self, rule: Rule, way: Mapping[str, int]) -> list[PlainAtom]:
        if isinstance(rule, TableParfactor):
            return [self.ground_atom(atom, way) for atom in rule.atoms]
        return list(self._formula_atoms(rule.formula, rule, way))

    def _formula_atoms(
        self, formula: Formula, rule: Rule, way: Mapping[str, int]
    ) -> Iterator[PlainAtom]:
        match formula:
            case Is(atom):
                yield self.ground_atom(atom, way)
            case Not(body):
                yield from self._formula_atoms(body, rule, way)
            case And(parts) | Or(parts):
                for part in parts:
                    yield from self._formula_atoms(part, rule, way)
            case Implies(left, right) | Iff(left, right):
                yield from self._formula_atoms(left, rule, way)
                yield from self._formula_atoms(right, rule, way)
            case Exists(variable, body) | Forall(variable, body):
                for k in range(self.sizes[self.model.variable_sorts(rule)[variable.name]]):
                    yield from self._formula_atoms(body, rule, {**way, variable.name: k})

    # --- everything

    def ground(self) -> Plain:
        """All factors, sliced one by one, and only then added up by scope."""
        plain = Plain()
        plain.unobserved = {
            atom: self.values[atom[0]] for atom in self.atoms() if atom not in self.observed
        }
        for rule in self.model.rules:
            for way in self.substitutions(rule):
                atoms = sorted(set(self.rule_atoms(rule, way)))
                unknown = [atom for atom in atoms if atom not in self.observed]
                table = np.empty([self.values[name] for name, _ in unknown])
                for state in np.ndindex(*table.shape):
                    world = {**self.observed, **dict(zip(unknown, state, strict=True))}
                    table[state] = self.log_value(rule, way, world)
                self._add(plain, unknown, table)
        for name, args, log_potentials in self._soft():
            atom = (name, args)
            if atom in self.observed:
                self._add(plain, [], np.asarray(log_potentials[self.observed[atom]]))
            else:
                self._add(plain, [atom], log_potentials)
        return plain

    def _soft(self) -> Iterator[tuple[str, tuple[int, ...], NDArray[np.float64]]]:
        for name, relation in self.evidence.soft.items():
            for args, row in zip(relation.args.tolist(), relation.log_potentials, strict=True):
                yield name, tuple(args), row

    @staticmethod
    def _add(plain: Plain, atoms: list[PlainAtom], table: NDArray[np.float64]) -> None:
        if (table == -np.inf).all():
            raise ViolatedError
        kept = [k for k in range(table.ndim) if not all_same(np.moveaxis(table, k, 0))]
        rest = table[tuple(slice(None) if k in kept else 0 for k in range(table.ndim))]
        scope = tuple(atoms[k] for k in kept)
        if scope:
            plain.tables[scope] = plain.tables.get(scope, np.zeros(rest.shape)) + rest
        else:
            plain.log_constant += float(rest)

    def log_weight(self, world: World) -> float:
        """The log weight of a whole world, straight from the meaning of the rules."""
        total = sum(
            self.log_value(rule, way, world)
            for rule in self.model.rules
            for way in self.substitutions(rule)
        )
        return total + sum(float(row[world[name, args]]) for name, args, row in self._soft())


def all_same(slices: NDArray[np.float64]) -> bool:
    return all(np.array_equal(one, slices[0]) for one in slices)
