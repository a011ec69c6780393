"""Plain grounding: every atom and every ground factor of a model, written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from liftgbp.evidence import Evidence, Problem
from liftgbp.model import ast
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables
from liftgbp.oracle.reference.log_tables import (
    MAX_ENTRIES,
    axes_outside,
    expand,
    read_only,
    table_shape,
)
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import CapacityError, ContradictionError, ModelError

Binding: TypeAlias = Mapping[str, int]


class GroundAtom(NamedTuple):
    """A predicate applied to objects, which are numbered from 0 within their sorts.

    >>> print(GroundAtom("friends", (0, 1)))
    friends(0,1)
    """

    predicate: str
    objects: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(map(str, self.objects))})"


@dataclass(frozen=True, eq=False, slots=True)
class GroundFactor:
    """A log table with one axis per atom of its sorted scope."""

    scope: tuple[GroundAtom, ...]
    log_table: Floats


@dataclass(frozen=True, eq=False, slots=True)
class GroundModel:
    """A Markov random field over every ground atom of every declared predicate.

    Atoms that evidence observes are not variables: `observed` has their values, and no other field
    mentions them. `log_constant` collects the factors without atoms. No two factors have the
    same scope. `sizes` are the domain sizes and `argument_sorts` the sorts of each predicate's
    arguments.
    """

    atoms: tuple[GroundAtom, ...]
    ranges: Mapping[GroundAtom, int]
    factors: tuple[GroundFactor, ...]
    log_constant: float
    sizes: Mapping[str, int]
    argument_sorts: Mapping[str, tuple[str, ...]]
    observed: Mapping[GroundAtom, int]


def ground(
    model: Model, sizes: Mapping[str, int] | None = None, evidence: Evidence | None = None
) -> GroundModel:
    """Write out a model over domains of these sizes, conditioned on evidence.

    The objects of a sort are 0..N−1, the named ones first: those of the model in the order of
    `model.constants`, then others that only evidence names.

    >>> smokes = ast.Is(ast.Atom("smokes", (ast.Variable("x"),)))
    >>> model = Model({}, {"smokes": ast.Predicate("smokes", ("person",))},
    ...               (ast.WeightedFormula(smokes, ast.Number(1.5)),))
    >>> for factor in ground(model, {"person": 2}).factors:
    ...     print(*factor.scope, factor.log_table)
    smokes(0) [0.  1.5]
    smokes(1) [0.  1.5]
    """
    problem = Problem.of(model, evidence, sizes)
    model, evidence, domain_sizes = problem.model, problem.evidence, problem.sizes
    ranges = _all_atoms(model, domain_sizes)
    observed = observed_values(problem)
    total = _Product()
    for rule in model.rules:
        grounder = _RuleGrounder.of(model, rule, domain_sizes, ranges, observed)
        for factor in grounder.factors():
            total.multiply(factor)
    for factor in _soft_factors(evidence, observed):
        total.multiply(factor)
    free = {atom: length for atom, length in ranges.items() if atom not in observed}
    return GroundModel(
        atoms=tuple(sorted(free)),
        ranges=MappingProxyType(free),
        factors=total.factors(),
        log_constant=total.log_constant,
        sizes=MappingProxyType(domain_sizes),
        argument_sorts=MappingProxyType({p.name: p.sorts for p in model.predicates.values()}),
        observed=MappingProxyType(observed),
    )


def ground_factors(
    ranges: Mapping[str, int],
    factors: Iterable[tuple[Sequence[str], Floats]],
    observed: Mapping[str, int],
    log_constant: float = 0.0,
) -> GroundModel:
    """Numbered or named variables and log tables over them as a model without objects.

    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> pair = ground_factors({"x": 2, "y": 2}, [(("y", "x"), table)], {"x": 1})
    >>> pair.factors[0].scope, pair.factors[0].log_table.tolist()
    ((GroundAtom(predicate='y', objects=()),), [2.0, 4.0])
    """
    total = _Product()
    total.log_constant = log_constant
    for names, table in factors:
        known = tuple(observed.get(name, slice(None)) for name in names)
        left = [name for name in names if name not in observed]
        order = sorted(range(len(left)), key=left.__getitem__)
        scope = tuple(GroundAtom(left[k]) for k in order)
        total.multiply(GroundFactor(scope, np.asarray(table[known]).transpose(order)))
    free = {GroundAtom(name): n for name, n in ranges.items() if name not in observed}
    return GroundModel(
        atoms=tuple(sorted(free)),
        ranges=MappingProxyType(free),
        factors=total.factors(),
        log_constant=total.log_constant,
        sizes=MappingProxyType({}),
        argument_sorts=MappingProxyType(dict.fromkeys(ranges, ())),
        observed=MappingProxyType({GroundAtom(name): v for name, v in observed.items()}),
    )


class _Product:
    """Factors multiplied: each without atoms it is indifferent to, one per scope."""

    def __init__(self) -> None:
        self.log_constant = 0.0
        self._tables: dict[tuple[GroundAtom, ...], Floats] = {}

    def multiply(self, whole: GroundFactor) -> None:
        factor = _without_idle_atoms(whole)
        if factor.scope:
            known = self._tables.get(factor.scope, np.zeros(()))
            self._tables[factor.scope] = known + factor.log_table
        else:
            self.log_constant += float(factor.log_table)

    def factors(self) -> tuple[GroundFactor, ...]:
        tables = self._tables
        return tuple(GroundFactor(scope, read_only(tables[scope])) for scope in sorted(tables))


def _soft_factors(evidence: Evidence, observed: Mapping[GroundAtom, int]) -> Iterator[GroundFactor]:
    for name, relation in evidence.soft.items():
        for objects, log_potentials in zip(
            relation.args.tolist(), relation.log_potentials, strict=True
        ):
            atom = GroundAtom(name, tuple(objects))
            is_observed = atom in observed
            table = np.asarray(log_potentials[observed[atom]] if is_observed else log_potentials)
            if bool(np.all(np.isneginf(table))):
                raise ContradictionError(
                    f"soft evidence rules out every value that {atom} can have",
                    evidence.place(name, atom.objects),
                )
            yield GroundFactor(() if is_observed else (atom,), table)


def observed_values(problem: Problem) -> dict[GroundAtom, int]:
    """The value number of every atom that evidence observes."""
    evidence = problem.evidence
    observed = {atom: 0 for name in evidence.closed for atom in _all_of(problem, name)}
    for name, relation in evidence.hard.items():
        for objects, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True):
            observed[GroundAtom(name, tuple(objects))] = value
    observed.update(_known_values(problem))
    return observed


def _all_of(problem: Problem, name: str) -> Iterator[GroundAtom]:
    domains = (range(problem.sizes[sort]) for sort in problem.model.predicates[name].sorts)
    return (GroundAtom(name, objects) for objects in itertools.product(*domains))


def _known_values(problem: Problem) -> Iterator[tuple[GroundAtom, int]]:
    """The values of objects without names, which follow the named ones as they are stated."""
    first = {sort: len(problem.model.constants(sort)) for sort in problem.sizes}
    for known in problem.evidence.known:
        last = first[known.sort] + known.count
        for number in range(first[known.sort], last):
            for name, value in known.values:
                yield GroundAtom(name, (number,)), value
        first[known.sort] = last


def _all_atoms(model: Model, sizes: Mapping[str, int]) -> dict[GroundAtom, int]:
    ranges: dict[GroundAtom, int] = {}
    for predicate in model.predicates.values():
        _check_capacity(
            math.prod(sizes[sort] for sort in predicate.sorts), f"{predicate} has", "ground atoms"
        )
        for objects in itertools.product(*(range(sizes[sort]) for sort in predicate.sorts)):
            ranges[GroundAtom(predicate.name, objects)] = len(predicate.values)
    return ranges


def _check_capacity(count: int, who: str, what: str, rule: ast.Rule | None = None) -> None:
    if count > MAX_ENTRIES:
        raise CapacityError(
            f"{who} {count} {what}, more than the {MAX_ENTRIES} that plain grounding allows",
            rule.span if rule else None,
        )


def _without_idle_atoms(factor: GroundFactor) -> GroundFactor:
    table = factor.log_table
    needed = []
    for axis, atom in enumerate(factor.scope):
        first = table.take([0], axis=axis)
        if bool(np.all(table == first)):
            table = first
        else:
            needed.append(atom)
    return GroundFactor(tuple(needed), table.squeeze(axis=axes_outside(factor.scope, needed)))


@dataclass(frozen=True, slots=True)
class _RuleGrounder:
    """One rule with all that its groundings look up."""

    model: Model
    rule: ast.Rule
    sizes: Mapping[str, int]
    ranges: Mapping[GroundAtom, int]
    observed: Mapping[GroundAtom, int]
    variable_sorts: Mapping[str, str]
    constant_objects: Mapping[tuple[str, str], int]

    @classmethod
    def of(
        cls,
        model: Model,
        rule: ast.Rule,
        sizes: Mapping[str, int],
        ranges: Mapping[GroundAtom, int],
        observed: Mapping[GroundAtom, int],
    ) -> _RuleGrounder:
        constant_objects = {
            (sort, name): position
            for sort in model.sorts
            for position, name in enumerate(model.constants(sort))
        }
        sorts = model.variable_sorts(rule)
        return cls(model, rule, sizes, ranges, observed, sorts, constant_objects)

    def factors(self) -> Iterator[GroundFactor]:
        """One factor per substitution, over all free atoms that the rule mentions under it."""
        rule = self.rule
        if isinstance(rule, ast.WeightedFormula):
            where_true, where_false = self._log_weights(rule)
            for binding in self._substitutions():
                atoms = set(self._atoms_of(rule.formula, binding))
                scope = self._scope(atoms)
                truth = self._truth(rule.formula, binding, self._states(atoms, scope))
                shape = table_shape(scope, self.ranges)
                table = np.where(np.broadcast_to(truth, shape), where_true, where_false)
                yield self._possible(GroundFactor(scope, table), atoms)
        else:
            log_potentials = self._log_potentials(rule)
            for binding in self._substitutions():
                axes = [self._ground_atom(atom, binding) for atom in rule.atoms]
                atoms = set(axes)
                scope = self._scope(atoms)
                states = self._states(atoms, scope)
                # An atom that occurs twice indexes two axes with one state: the diagonal.
                table = np.asarray(log_potentials[tuple(states[atom] for atom in axes)])
                yield self._possible(GroundFactor(scope, table), atoms)

    def _possible(self, factor: GroundFactor, atoms: set[GroundAtom]) -> GroundFactor:
        if not bool(np.all(np.isneginf(factor.log_table))):
            return factor
        if len(factor.scope) < len(atoms):
            raise ContradictionError("the evidence violates this hard formula", self.rule.span)
        raise ContradictionError(
            "this hard rule fails whatever the atoms are, so no world is possible", self.rule.span
        )

    # --- substitutions

    def _substitutions(self) -> Iterator[Binding]:
        names = free_variables(self.rule)
        domains = [self.sizes[self.variable_sorts[name]] for name in names]
        _check_capacity(math.prod(domains), "this rule has", "substitutions", self.rule)
        for objects in itertools.product(*map(range, domains)):
            binding = dict(zip(names, objects, strict=True))
            if self.rule.distinct and not self._all_different(binding):
                continue
            if all(self._truth(part, binding, {}) for part in self.rule.restrictions):
                yield binding

    def _all_different(self, binding: Binding) -> bool:
        objects = {(self.variable_sorts[name], value) for name, value in binding.items()}
        return len(objects) == len(binding)

    # --- atoms and their joint states

    def _object(self, term: ast.Term, sort: str, binding: Binding) -> int:
        if isinstance(term, ast.Variable):
            return binding[term.name]
        return self.constant_objects[sort, term.name]

    def _ground_atom(self, atom: ast.Atom, binding: Binding) -> GroundAtom:
        sorts = self.model.predicates[atom.predicate].sorts
        objects = (
            self._object(term, sort, binding) for term, sort in zip(atom.args, sorts, strict=True)
        )
        return GroundAtom(atom.predicate, tuple(objects))

    def _atoms_of(self, formula: ast.Formula, binding: Binding) -> Iterator[GroundAtom]:
        match formula:
            case ast.Is(atom):
                yield self._ground_atom(atom, binding)
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                for inner in self._inner_bindings(variable, binding):
                    yield from self._atoms_of(body, inner)
            case _:
                for part in ast.children(formula):
                    yield from self._atoms_of(part, binding)

    def _scope(self, atoms: set[GroundAtom]) -> tuple[GroundAtom, ...]:
        free = sorted(atom for atom in atoms if atom not in self.observed)
        entries = math.prod(self.ranges[atom] for atom in free)
        _check_capacity(entries, "a ground factor of this rule has", "table entries", self.rule)
        return tuple(free)

    def _states(
        self, atoms: set[GroundAtom], scope: tuple[GroundAtom, ...]
    ) -> dict[GroundAtom, Ints]:
        """Per atom its state in every joint state, as arrays that broadcast against each other.

        An observed atom has one state in all of them, so that tables are born sliced.
        """
        return {
            atom: np.asarray(self.observed[atom])
            if atom in self.observed
            else expand(np.arange(self.ranges[atom]), {atom}, scope)
            for atom in atoms
        }

    # --- truth

    def _inner_bindings(self, variable: ast.Variable, binding: Binding) -> Iterator[Binding]:
        for value in range(self.sizes[self.variable_sorts[variable.name]]):
            # The inner variable hides an outer one of the same name.
            yield {**binding, variable.name: value}

    def _truth(
        self, formula: ast.Formula, binding: Binding, states: Mapping[GroundAtom, Ints]
    ) -> Bools:
        """Whether a formula holds, in every joint state at once."""
        match formula:
            case ast.Is(atom, value):
                wanted = self.model.predicates[atom.predicate].values.index(value)
                return np.asarray(states[self._ground_atom(atom, binding)] == wanted)
            case ast.Equal(left, right):
                return np.asarray(self._same_object(left, right, binding))
            case ast.Not(body):
                return ~self._truth(body, binding, states)
            case ast.And(parts):
                return _all(self._truth(part, binding, states) for part in parts)
            case ast.Or(parts):
                return _any(self._truth(part, binding, states) for part in parts)
            case ast.Implies(left, right):
                premise = self._truth(left, binding, states)
                return ~premise | self._truth(right, binding, states)
            case ast.Iff(left, right):
                return np.asarray(
                    self._truth(left, binding, states) == self._truth(right, binding, states)
                )
            case ast.Exists(variable, body):
                inner_bindings = self._inner_bindings(variable, binding)
                return _any(self._truth(body, inner, states) for inner in inner_bindings)
            case ast.Forall(variable, body):
                inner_bindings = self._inner_bindings(variable, binding)
                return _all(self._truth(body, inner, states) for inner in inner_bindings)

    def _same_object(self, left: ast.Term, right: ast.Term, binding: Binding) -> bool:
        # A constant may name objects of several sorts; the variable beside it says which.
        variable = right if isinstance(left, ast.Constant) else left
        sort = self.variable_sorts[variable.name]
        return self._object(left, sort, binding) == self._object(right, sort, binding)

    # --- weights

    def _log_weights(self, rule: ast.WeightedFormula) -> tuple[float, float]:
        if rule.weight is None:
            return 0.0, -math.inf
        return self._number(rule.weight), 0.0

    def _log_potentials(self, rule: ast.TableParfactor) -> Floats:
        potentials = [self._number(potential) for potential in rule.potentials]
        if min(potentials) < 0:
            raise ModelError(f"{min(potentials)} is negative; potentials are 0 or more", rule.span)
        logs = [math.log(value) if value else -math.inf for value in potentials]
        shape = [len(self.model.predicates[atom.predicate].values) for atom in rule.atoms]
        return np.array(logs).reshape(shape)

    def _number(self, weight: ast.Weight) -> float:
        try:
            value = ast.evaluate_weight(weight, self.sizes, self.model.weights)
        except ZeroDivisionError:
            value = math.nan
        if not math.isfinite(value):
            raise ModelError(
                "a weight is not finite under these domain sizes and named weights", self.rule.span
            )
        return value


def _all(parts: Iterator[Bools]) -> Bools:
    return reduce(np.logical_and, parts, np.asarray(True))


def _any(parts: Iterator[Bools]) -> Bools:
    return reduce(np.logical_or, parts, np.asarray(False))
