"""Rules with quantifiers inside: their outline for joins, and their expansion under evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np

from liftgbp.ground.grounding.atom_states import GroundingTask
from liftgbp.lift.shatter.rule_tables import drop_indifferent
from liftgbp.model import ast
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import CapacityError, InternalError
from liftgbp.support.limits import checkpoint

GroundAtom: TypeAlias = tuple[int, tuple[int, ...]]
"""A predicate number and objects."""

MOST_INSTANCES = 10_000_000
"""The most instances of quantified formulas that one rule may have."""


class Skeleton:
    """A rule in which an atom stands for each quantified formula.

    Such an atom is unknown. Where the rule does not depend on it, its formula is never expanded.
    """

    def __init__(self, model: Model, rule: ast.Rule) -> None:
        self.quantified: list[ast.Predicate] = []
        self._sorts = model.variable_sorts(rule)
        if isinstance(rule, ast.WeightedFormula):
            rule = replace(rule, formula=self._outline(rule.formula))
        self.rule = rule
        predicates = {**model.predicates, **{p.name: p for p in self.quantified}}
        self.model = replace(model, predicates=predicates, rules=(rule,))

    def _outline(self, formula: ast.Formula) -> ast.Formula:
        if isinstance(formula, ast.Exists | ast.Forall):
            return ast.Is(self._stand_in(formula))
        return ast.map_formula(self._outline, formula)

    def _stand_in(self, formula: ast.Formula) -> ast.Atom:
        names = free_variables(ast.WeightedFormula(formula, None))
        # No predicate of a model has a name with a question mark.
        name = f"?{len(self.quantified)}"
        self.quantified.append(ast.Predicate(name, tuple(self._sorts[v] for v in names)))
        return ast.Atom(name, tuple(map(ast.Variable, names)))


# --- what evidence leaves of a formula


@dataclass(frozen=True, slots=True)
class _Test:
    """An unknown atom has this value."""

    atom: GroundAtom
    value: int


@dataclass(frozen=True, slots=True)
class _Joined:
    """All parts hold, or with `any` at least one does."""

    any: bool
    parts: tuple[_Rest, ...]


@dataclass(frozen=True, slots=True)
class _Negated:
    body: _Rest


@dataclass(frozen=True, slots=True)
class _Alike:
    left: _Rest
    right: _Rest


_Rest: TypeAlias = bool | _Test | _Joined | _Negated | _Alike


def _negated(rest: _Rest) -> _Rest:
    return (not rest) if isinstance(rest, bool) else _Negated(rest)


def _joined(parts: Iterable[_Rest], some: bool) -> _Rest:
    """All parts, or some part; stops at the first one that decides."""
    open_parts: list[_Rest] = []
    for part in parts:
        if not isinstance(part, bool):
            open_parts.append(part)
        elif part == some:
            return some
    if len(open_parts) > 1:
        return _Joined(some, tuple(open_parts))
    return open_parts[0] if open_parts else not some


def _alike(left: _Rest, right: _Rest) -> _Rest:
    if isinstance(left, bool):
        return right if left else _negated(right)
    if isinstance(right, bool):
        return left if right else _negated(left)
    return _Alike(left, right)


Shape: TypeAlias = Callable[[Sequence[GroundAtom]], tuple[int, ...]]
"""The numbers of values of atoms."""


class Chains:
    """Atoms that stand for parts of formulas whose tables would be too large.

    A disjunction of 68 unknown atoms has a table of 2^68 entries. Over stand-ins for the
    disjunction of two parts, for that of two of these, and so on, each table has eight. They form a
    tree, so messages pass through them without loss. The atom of part k is `(predicate, (k,))`.
    """

    def __init__(self, predicate: int) -> None:
        self.predicate = predicate
        self.defined: list[tuple[tuple[GroundAtom, ...], Floats]] = []
        self._known: dict[_Rest, _Test] = {}

    def stand_in(self, rest: _Rest, shape: Shape) -> _Test:
        """The atom that stands for what is left of a formula; equal parts share one."""
        if rest not in self._known:
            found = _Test((self.predicate, (len(self.defined),)), 1)
            self._known[rest] = found
            atoms = tuple(dict.fromkeys(_atoms(rest)))
            own = (*atoms, found.atom)
            holds = _truth_table(_Alike(found, rest), own, shape(own))
            table = np.where(holds, 0.0, -np.inf)
            self.defined.append((own, table))
        return self._known[rest]


class Expansion:
    """The factor of a rule with quantifiers under one substitution and the evidence."""

    def __init__(self, task: GroundingTask, rule: ast.Rule) -> None:
        self._rule = rule
        self._model = task.model
        self._sizes = task.sizes
        self._cap = task.table_cap
        self._sorts = task.model.variable_sorts(rule)
        self._number_of = task.object_number
        self._predicates = {name: k for k, name in enumerate(task.model.predicates)}
        self._facts = task.facts
        self._chains = task.chains
        self._instances = 0
        self._listed: dict[str, dict[tuple[int, ...], int]] = {}
        self._indices: dict[tuple[str, tuple[int, ...]], dict[tuple[int, ...], list[int]]] = {}

    def __call__(self, substitution: Mapping[str, int]) -> tuple[tuple[GroundAtom, ...], Floats]:
        """The atoms that matter under a substitution, and the log table over them."""
        if not isinstance(self._rule, ast.WeightedFormula):
            raise InternalError("a table has no quantifiers")
        checkpoint()
        rest = self._rest(self._rule.formula, substitution)
        atoms = tuple(dict.fromkeys(_atoms(rest)))
        if self._chains is not None and math.prod(self._shape(atoms)) > self._cap:
            rest = self._chained(rest, self._chains)
            atoms = tuple(dict.fromkeys(_atoms(rest)))
        self._check_capacity(atoms)
        truth = _truth_table(rest, atoms, self._shape(atoms))
        if self._rule.weight is None:
            table = np.where(truth, 0.0, -np.inf)
        else:
            weight = ast.evaluate_weight(self._rule.weight, self._sizes, self._model.weights)
            table = np.where(truth, weight, 0.0)
        return drop_indifferent(atoms, table)

    def _chained(self, rest: _Rest, chains: Chains) -> _Rest:
        """The same with stand-ins, so that no part joins more than two others."""
        match rest:
            case _Negated(body):
                return _negated(self._chained(body, chains))
            case _Alike(left, right):
                sides = [self._small(self._chained(own, chains), chains) for own in (left, right)]
                return _alike(*sides)
            case _Joined(some, parts):
                open_parts = [self._small(self._chained(part, chains), chains) for part in parts]
                while len(open_parts) > 2:
                    pairs = [open_parts[k : k + 2] for k in range(0, len(open_parts), 2)]
                    open_parts = [
                        pair[0]
                        if len(pair) == 1
                        else chains.stand_in(_Joined(some, tuple(pair)), self._shape)
                        for pair in pairs
                    ]
                return _Joined(some, tuple(open_parts))
        return rest

    def _small(self, rest: _Rest, chains: Chains) -> _Rest:
        """A part, or its stand-in if it is about several atoms."""
        return rest if len(set(_atoms(rest))) < 2 else chains.stand_in(rest, self._shape)

    # --- partial evaluation

    def _rest(self, formula: ast.Formula, binding: Mapping[str, int]) -> _Rest:
        """What remains of a formula when observed atoms have their values."""
        match formula:
            case ast.Is(atom, value):
                return self._test(atom, value, binding)
            case ast.Equal(left, right):
                return self._same(left, right, binding)
            case ast.Not(body):
                return _negated(self._rest(body, binding))
            case ast.And(parts) | ast.Or(parts):
                some = isinstance(formula, ast.Or)
                return _joined((self._rest(part, binding) for part in parts), some)
            case ast.Implies(left, right):
                return self._rest(ast.Or((ast.Not(left), right)), binding)
            case ast.Iff(left, right):
                return _alike(self._rest(left, binding), self._rest(right, binding))
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                some = isinstance(formula, ast.Exists)
                inner = self._inner_bindings(variable.name, body, binding, not some)
                return _joined((self._rest(body, each) for each in inner), some)

    def _test(self, atom: ast.Atom, value: str, binding: Mapping[str, int]) -> _Rest:
        number = self._predicates[atom.predicate]
        sorts = self._model.predicates[atom.predicate].sorts
        objects = tuple(map(self._object, atom.args, sorts, [binding] * len(sorts)))
        wanted = self._model.predicates[atom.predicate].values.index(value)
        facts = self._facts[number]
        state = self._lookup(atom.predicate).get(objects, facts.default)
        return _Test((number, objects), wanted) if state == facts.unknown else state == wanted

    def _lookup(self, predicate: str) -> dict[tuple[int, ...], int]:
        if predicate not in self._listed:
            facts = self._facts[self._predicates[predicate]]
            rows = map(tuple, facts.args.tolist())
            self._listed[predicate] = dict(zip(rows, facts.values.tolist(), strict=True))
        return self._listed[predicate]

    def _object(self, term: ast.Term, sort: str, binding: Mapping[str, int]) -> int:
        if isinstance(term, ast.Constant):
            return self._number_of(sort, term.name)
        return binding[term.name]

    def _same(self, left: ast.Term, right: ast.Term, binding: Mapping[str, int]) -> bool:
        # A constant may name objects of several sorts; the variable beside it says which.
        sort = self._sorts[(right if isinstance(left, ast.Constant) else left).name]
        return self._object(left, sort, binding) == self._object(right, sort, binding)

    # --- quantifiers

    def _inner_bindings(
        self, name: str, body: ast.Formula, binding: Mapping[str, int], settled: bool
    ) -> Iterator[dict[str, int]]:
        """The bindings inside a quantifier, but for objects for which the body is `settled`."""
        numbers = self._unsettled(name, body, binding, settled)
        for number in range(self._sizes[self._sorts[name]]) if numbers is None else numbers:
            self._instances += 1
            if self._instances > MOST_INSTANCES:
                raise CapacityError(
                    f"the quantifiers inside this formula have more than {MOST_INSTANCES} "
                    "instances, above the cap; make a predicate closed-world (--closed) or use "
                    "fewer objects",
                    self._rule.span,
                )
            yield {**binding, name: number}

    def _unsettled(
        self, name: str, body: ast.Formula, binding: Mapping[str, int], settled: bool
    ) -> list[int] | None:
        """Objects for which a body may have another truth value; None if that is hard to tell."""

        def of(part: ast.Formula, value: bool) -> list[int] | None:
            return self._unsettled(name, part, binding, value)

        match body:
            case ast.Is(atom, value):
                return self._unsettled_test(name, atom, value, binding, settled)
            case ast.Equal(left, right) if not settled and left != right:
                for one, other in ((left, right), (right, left)):
                    if one == ast.Variable(name):
                        return [self._object(other, self._sorts[name], binding)]
                return None
            case ast.Not(inner):
                return of(inner, not settled)
            case ast.And(parts) | ast.Or(parts):
                found = [of(part, settled) for part in parts]
                return _fewest(found) if isinstance(body, ast.Or) == settled else _union(found)
            case ast.Implies(left, right):
                return of(ast.Or((ast.Not(left), right)), settled)
            case _:
                return None

    def _unsettled_test(
        self, name: str, atom: ast.Atom, value: str, binding: Mapping[str, int], settled: bool
    ) -> list[int] | None:
        predicate = self._model.predicates[atom.predicate]
        facts = self._facts[self._predicates[atom.predicate]]
        own = tuple(k for k, term in enumerate(atom.args) if term == ast.Variable(name))
        if not own or not facts.complete:
            return None
        if (facts.default == predicate.values.index(value)) != settled:
            return None
        others = [k for k in range(len(atom.args)) if k not in own]
        key = tuple(self._object(atom.args[k], predicate.sorts[k], binding) for k in others)
        return self._index(atom.predicate, own).get(key, [])

    def _index(self, predicate: str, own: tuple[int, ...]) -> dict[tuple[int, ...], list[int]]:
        """For the other arguments of listed atoms, the objects at all of these positions."""
        if (predicate, own) not in self._indices:
            index: dict[tuple[int, ...], list[int]] = {}
            for row in sorted(self._lookup(predicate)):
                if len({row[k] for k in own}) == 1:
                    others = tuple(number for k, number in enumerate(row) if k not in own)
                    index.setdefault(others, []).append(row[own[0]])
            self._indices[predicate, own] = index
        return self._indices[predicate, own]

    # --- tables

    def _check_capacity(self, atoms: Sequence[GroundAtom]) -> None:
        entries = math.prod(self._shape(atoms))
        if entries > self._cap:
            raise CapacityError(
                f"this formula grounds to {len(atoms)} unknown atoms and a table of {entries} "
                f"entries, above the cap of {self._cap}; make a predicate below the quantifier "
                "closed-world (--closed), use fewer objects or raise the cap (--table-cap)",
                self._rule.span,
            )

    def _shape(self, atoms: Sequence[GroundAtom]) -> tuple[int, ...]:
        # A stand-in comes after all predicates.
        ranges = [*(own.range for own in self._facts), 2]
        return tuple(ranges[predicate] for predicate, _ in atoms)


def _fewest(found: Sequence[list[int] | None]) -> list[int] | None:
    return min((some for some in found if some is not None), key=len, default=None)


def _union(found: Sequence[list[int] | None]) -> list[int] | None:
    if any(some is None for some in found):
        return None
    return sorted({number for some in found if some for number in some})


def _atoms(rest: _Rest) -> Iterator[GroundAtom]:
    match rest:
        case _Test(atom):
            yield atom
        case _Joined(_, parts):
            for part in parts:
                yield from _atoms(part)
        case _Negated(body):
            yield from _atoms(body)
        case _Alike(left, right):
            yield from _atoms(left)
            yield from _atoms(right)


def _truth_table(rest: _Rest, atoms: Sequence[GroundAtom], shape: tuple[int, ...]) -> Bools:
    """In which states of these atoms, an axis each, a formula holds."""
    axes = dict(zip(atoms, np.ix_(*map(np.arange, shape)), strict=True))
    return np.broadcast_to(_truth(rest, axes), shape)


def _truth(rest: _Rest, axes: Mapping[GroundAtom, Ints]) -> Bools:
    match rest:
        case bool():
            return np.asarray(rest)
        case _Test(atom, value):
            return np.asarray(axes[atom] == value)
        case _Joined(some, parts):
            operation = np.logical_or if some else np.logical_and
            result: Bools = reduce(operation, (_truth(part, axes) for part in parts))
            return result
        case _Negated(body):
            return np.logical_not(_truth(body, axes))
        case _Alike(left, right):
            return np.equal(_truth(left, axes), _truth(right, axes))
