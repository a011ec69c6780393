"""Worlds of ground models: a value for each atom, and how many groundings of rules they satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.evidence import Evidence, Problem, Relation
from liftgbp.ground.grounding import AtomTable, ground_network
from liftgbp.ground.grounding.atom_states import all_facts
from liftgbp.lift.shatter import TABLE_CAP
from liftgbp.model.ast import Number, Rule, TableParfactor
from liftgbp.model.rewriting import with_one_constant
from liftgbp.model.scopes import free_variables
from liftgbp.support.arrays import Bools, Ints, equal_rows
from liftgbp.worlds.optimum import exact


@dataclass(frozen=True, eq=False)
class GroundWorld:
    """A world of a problem: the values of unknown atoms, and what the evidence observes.

    Atoms that are not in the table have their first value.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("p(t)\\n1 p(x) ^ p(y) | x != y")
    >>> problem = Problem.of(model, "p(A)", {"t": 4})
    >>> atoms = AtomTable(np.zeros(3, np.int64), np.array([[1], [2], [3]]))
    >>> world = GroundWorld(problem, atoms, np.array([1, 0, 0]))
    >>> world.value("p", [1]), list(world.atoms("p")), world.tally(problem.model.rules[0])
    (1, [((0,), 1), ((1,), 1)], (10, 2))
    """

    problem: Problem
    table: AtomTable
    values: Ints

    def value(self, predicate: str, objects: Sequence[int]) -> int:
        """The value of a ground atom, by number; 0 is false, or the first value."""
        return self._values[predicate].get(tuple(map(int, objects)), 0)

    def atoms(self, predicate: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """The ground atoms that do not have their first value, with their values."""
        relation = self.relations[predicate]
        yield from zip(map(tuple, relation.args.tolist()), relation.values.tolist(), strict=True)

    def number(self, predicate: str) -> int:
        """How many atoms of a predicate do not have their first value."""
        return len(self.relations[predicate].values)

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        """The ground atoms of each predicate that do not have their first value, in order."""
        observed = self.problem.facts()
        return {
            name: self._relation(number, len(predicate.sorts), observed.get(name))
            for number, (name, predicate) in enumerate(self.problem.model.predicates.items())
        }

    def _relation(self, number: int, arity: int, observed: Relation | None) -> Relation:
        own = np.flatnonzero((self.table.predicate == number) & (self.values > 0))
        args, values = self.table.args[own, :arity], self.values[own]
        if observed is not None:
            args = np.concatenate([args, observed.args])
            values = np.concatenate([values, observed.values])
        order = np.lexsort(args.T[::-1]) if arity else np.arange(len(args))
        order = order[values[order] > 0]
        return Relation(args[order], values[order])

    @cached_property
    def _values(self) -> Mapping[str, dict[tuple[int, ...], int]]:
        return {name: dict(self.atoms(name)) for name in self.problem.model.predicates}

    @cached_property
    def evidence(self) -> Evidence:
        """The whole world as evidence."""
        return replace(
            self.problem.evidence,
            hard=dict(self.relations),
            soft={},
            closed=frozenset(self.problem.model.predicates),
            known=(),
        )

    def examples(self, sort: str, most: int) -> list[int]:
        """Some objects of a sort, of all kinds that the world has, for pictures.

        Objects are of one kind if they are in equally many atoms of each predicate, at each place.
        """
        size = self.problem.sizes[sort]
        columns = [np.zeros(size, np.int64)]
        for name, predicate in self.problem.model.predicates.items():
            relation = self.relations[name]
            for place, own in enumerate(predicate.sorts):
                if own == sort:
                    for value in range(1, len(predicate.values)):
                        there = relation.args[relation.values == value, place]
                        columns.append(np.bincount(there, minlength=size))
        rank = np.zeros(size, np.int64)
        for alike in equal_rows(columns):
            rank[alike] = np.arange(len(alike))
        return sorted(np.argsort(rank, kind="stable")[:most].tolist())

    def named(self, variables: Bools) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The ground atoms that some variables stand for; those that are observed are left out."""
        names = list(self.problem.model.predicates)
        predicates, observed = self.problem.model.predicates, self.problem.facts()
        found = []
        for number in np.flatnonzero(variables).tolist():
            kind = int(self.table.predicate[number])
            # Stand-ins for parts of large formulas are no atoms of the model.
            if kind < len(names):
                objects = self.table.args[number, : len(predicates[names[kind]].sorts)]
                found.append((names[kind], tuple(objects.tolist())))
        known = (
            {(name, tuple(row)) for name, own in observed.items() for row in own.args.tolist()}
            if found
            else set()
        )
        return tuple(atom for atom in found if atom not in known)

    def untouched(self) -> dict[str, int]:
        """How many atoms of each predicate are neither observed nor in the table."""
        used = np.bincount(self.table.predicate, minlength=len(self.problem.model.predicates))
        facts = zip(self.problem.model.predicates, all_facts(self.problem), used, strict=False)
        return {name: own.unobserved - int(n) for name, own, n in facts}

    def tally(self, rule: Rule) -> tuple[int, ...]:
        """The groundings of a rule by their state: (violated, satisfied), or by potential.

        The world is put in as evidence. Then every grounding is a constant, and these are counted
        as whole numbers of any size.
        """
        if isinstance(rule, TableParfactor):
            potentials = tuple(Number(float(k + 1)) for k in range(len(rule.potentials)))
            found = self._constants(replace(rule, potentials=potentials))
            places = {math.log(k + 1): k for k in range(len(potentials))}
            counts = [0] * len(potentials)
            for log, number in found.items():
                counts[places[log]] += number
            return tuple(counts)
        one = replace(rule, weight=Number(1.0))
        found = self._constants(one)
        model, sizes = self.problem.model, self.problem.sizes
        total = sum(found.values())
        if len(with_one_constant(model, one, sizes)) > 1:
            # It is grounded as two rules, whose constants add up.
            sorts = model.variable_sorts(rule)
            total = math.prod(sizes[sorts[v]] for v in free_variables(rule))
        satisfied = int(sum((exact(log) * n for log, n in found.items()), Fraction(0)))
        return total - satisfied, satisfied

    def _constants(self, rule: Rule) -> Mapping[float, int]:
        model = self.problem.model.with_rules((rule,))
        problem = replace(self.problem, model=model, evidence=self.evidence)
        return ground_network(problem, table_cap=TABLE_CAP).constants
