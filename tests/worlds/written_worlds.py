"""Worlds written out atom by atom, and what rules say about them, from definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from liftgbp.evidence import Problem
from liftgbp.model import ast

Ground = tuple[str, tuple[int, ...]]


@dataclass
class Written:
    """A value for every ground atom."""

    problem: Problem
    values: Mapping[Ground, int]

    def tally(self, rule: ast.Rule) -> tuple[int, ...]:
        model, sizes = self.problem.model, self.problem.sizes
        scope = model.scope(rule)
        number = (
            2
            if isinstance(rule, ast.WeightedFormula)
            else math.prod(len(model.predicates[a.predicate].values) for a in rule.atoms)
        )
        counts = [0] * number
        for objects in product(*(range(sizes[scope.sorts[name]]) for name in scope.free)):
            env = dict(zip(scope.free, objects, strict=True))
            own = [(scope.sorts[name], k) for name, k in env.items()]
            if rule.distinct and len(set(own)) < len(own):
                continue
            if all(self.holds(part, env, scope.sorts) for part in rule.restrictions):
                counts[self._state(rule, env, scope.sorts)] += 1
        return tuple(counts)

    def _state(self, rule: ast.Rule, env: Mapping[str, int], sorts: Mapping[str, str]) -> int:
        if isinstance(rule, ast.WeightedFormula):
            return int(self.holds(rule.formula, env, sorts))
        state = 0
        for atom in rule.atoms:
            values = len(self.problem.model.predicates[atom.predicate].values)
            state = state * values + self.values[self._ground(atom, env)]
        return state

    def _number(self, term: ast.Term, sort: str, env: Mapping[str, int]) -> int:
        if isinstance(term, ast.Variable):
            return env[term.name]
        return self.problem.model.constants(sort).index(term.name)

    def _ground(self, atom: ast.Atom, env: Mapping[str, int]) -> Ground:
        sorts = self.problem.model.predicates[atom.predicate].sorts
        numbers = (self._number(t, s, env) for t, s in zip(atom.args, sorts, strict=True))
        return atom.predicate, tuple(numbers)

    def holds(self, formula: ast.Formula, env: Mapping[str, int], sorts: Mapping[str, str]) -> bool:
        model = self.problem.model
        match formula:
            case ast.Is(atom, value):
                wanted = model.predicates[atom.predicate].values.index(value)
                return self.values[self._ground(atom, env)] == wanted
            case ast.Equal(left, right):
                name = left.name if isinstance(left, ast.Variable) else right.name
                sort = sorts[name]
                return self._number(left, sort, env) == self._number(right, sort, env)
            case ast.Not(body):
                return not self.holds(body, env, sorts)
            case ast.And(parts):
                return all(self.holds(part, env, sorts) for part in parts)
            case ast.Or(parts):
                return any(self.holds(part, env, sorts) for part in parts)
            case ast.Implies(left, right):
                return not self.holds(left, env, sorts) or self.holds(right, env, sorts)
            case ast.Iff(left, right):
                return self.holds(left, env, sorts) == self.holds(right, env, sorts)
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                every = range(self.problem.sizes[sorts[variable.name]])
                inner = [self.holds(body, {**env, variable.name: k}, sorts) for k in every]
                return any(inner) if isinstance(formula, ast.Exists) else all(inner)
        raise TypeError(formula)

    def score(self) -> float:
        """The sum of weights; minus infinity if a hard rule is violated."""
        model, sizes, evidence = self.problem.model, self.problem.sizes, self.problem.evidence
        total = 0.0
        for rule in model.rules:
            if isinstance(rule, ast.TableParfactor):
                numbers = [
                    ast.evaluate_weight(own, sizes, model.weights) for own in rule.potentials
                ]
                logs = [math.log(number) if number else -math.inf for number in numbers]
            elif rule.weight is None:
                logs = [-math.inf, 0.0]
            else:
                logs = [0.0, ast.evaluate_weight(rule.weight, sizes, model.weights)]
            for number, own in zip(self.tally(rule), logs, strict=True):
                total += number * own if number else 0.0
        for name, relation in evidence.soft.items():
            for row, own in zip(relation.args.tolist(), relation.log_potentials, strict=True):
                total += float(own[self.values[name, tuple(row)]])
        return total


def ground_atoms(problem: Problem) -> Iterator[Ground]:
    for name, predicate in problem.model.predicates.items():
        for objects in product(*(range(problem.sizes[sort]) for sort in predicate.sorts)):
            yield name, objects


def written(problem: Problem, value: Callable[[str, Sequence[int]], int]) -> Written:
    return Written(problem, {atom: value(*atom) for atom in ground_atoms(problem)})
