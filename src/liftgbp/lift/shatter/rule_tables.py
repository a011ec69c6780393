"""The table of one grounding pattern of a rule: which atoms it has, and a log value per state.

Only equality between objects matters here, so patterns use small integers (labels) for objects.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, TypeVar

import numpy as np

from liftgbp.lift.shatter.normal import Obj, ObjAtom
from liftgbp.model import ast
from liftgbp.model.model import Model
from liftgbp.support.arrays import Bools, Floats, logs_of
from liftgbp.support.errors import CapacityError, ModelError, states_text

LabelAtom: TypeAlias = tuple[int, tuple[int, ...]]
LabelTable: TypeAlias = tuple[tuple[LabelAtom, ...], Floats]
AnyAtom = TypeVar("AnyAtom")

BITS = 64
"""No memory holds a table of more than 2^64 entries, so atoms beyond these need not be listed."""

LARGEST_WEIGHT = 1e15
"""Entropies would be lost in rounding beside a larger weight."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Which label every term has: variables by name, constants by (sort, name), and all of a sort.

    Domains are there for the sorts that the rule quantifies over inside.
    """

    variables: tuple[tuple[str, int], ...]
    constants: tuple[tuple[tuple[str, str], int], ...]
    domains: tuple[tuple[str, tuple[int, ...]], ...]

    def of(self, term: ast.Term, sort: str) -> int:
        """The label of a term in the place of an object of this sort."""
        if isinstance(term, ast.Constant):
            return dict(self.constants)[sort, term.name]
        return dict(self.variables)[term.name]

    def each(self, variable: str, sort: str) -> list[Labels]:
        """The same labels with a quantified variable sent to every object of its sort."""
        outside = tuple(pair for pair in self.variables if pair[0] != variable)
        return [
            replace(self, variables=(*outside, (variable, label)))
            for label in dict(self.domains)[sort]
        ]


class RuleTables:
    """Evaluates one rule under grounding patterns; weights and sorts are looked up once."""

    def __init__(self, model: Model, rule: ast.Rule, sizes: Mapping[str, int], cap: int) -> None:
        self._model = model
        self._rule = rule
        self._cap = cap
        self._sorts = model.scope(rule).sorts
        self._number = {name: k for k, name in enumerate(model.predicates)}
        self._range = [len(predicate.values) for predicate in model.predicates.values()]
        if isinstance(rule, ast.TableParfactor):
            self._potentials = _log_potentials(rule, sizes, model.weights)
        else:
            self._weight = _finite_weight(rule, sizes, model.weights)

    def __call__(self, labels: Labels) -> LabelTable:
        """The atoms that matter under this pattern, and the log table over them."""
        if isinstance(self._rule, ast.TableParfactor):
            atoms, table = self._read_table(self._rule, labels)
            if self._rule.kept:
                return atoms, table
        else:
            atoms, table = self._read_formula(self._rule, labels)
        return drop_indifferent(atoms, table)

    def _read_table(
        self, rule: ast.TableParfactor, labels: Labels
    ) -> tuple[tuple[LabelAtom, ...], Floats]:
        named = [self._label(atom, labels) for atom in rule.atoms]
        atoms = tuple(dict.fromkeys(named))
        # Atoms that became equal share an axis: einsum reads the table on its diagonal.
        axes = [atoms.index(atom) for atom in named]
        shape = [self._range[predicate] for predicate, _ in named]
        diagonal = np.einsum(self._potentials.reshape(shape), axes, list(range(len(atoms))))  # type: ignore[arg-type]
        return atoms, diagonal

    def _read_formula(
        self, rule: ast.WeightedFormula, labels: Labels
    ) -> tuple[tuple[LabelAtom, ...], Floats]:
        atoms, truth = self.truth(rule.formula, labels)
        if self._weight is None:
            return atoms, np.where(truth, 0.0, -np.inf)
        return atoms, np.where(truth, self._weight, 0.0)

    def truth(self, formula: ast.Formula, labels: Labels) -> tuple[tuple[LabelAtom, ...], Bools]:
        """The atoms of a formula inside the rule, and in which of their states it holds."""
        atoms: dict[LabelAtom, None] = {}
        self._collect(formula, labels, atoms)
        self._check_capacity(atoms)
        axis = {atom: k for k, atom in enumerate(atoms)}
        shape = tuple(self._range[predicate] for predicate, _ in atoms)
        return tuple(atoms), np.broadcast_to(self._truth(formula, labels, axis), shape)

    def _check_capacity(self, atoms: Mapping[LabelAtom, None], *, at_least: str = "") -> None:
        axes = Counter(self._range[predicate] for predicate, _ in atoms)
        if sum(count * math.log2(length) for length, count in axes.items()) > BITS or (
            math.prod(length**count for length, count in axes.items()) > self._cap
        ):
            raise CapacityError(
                f"this formula grounds to {at_least}{len(atoms)} atoms and a table of "
                f"{at_least}{states_text(axes)} entries, "
                f"above the cap of {self._cap}; use fewer variables, a smaller sort below EXIST, "
                "or raise the cap (--table-cap)",
                self._rule.span,
            )

    def _label(self, atom: ast.Atom, labels: Labels) -> LabelAtom:
        sorts = self._model.predicates[atom.predicate].sorts
        objects = tuple(labels.of(term, sort) for term, sort in zip(atom.args, sorts, strict=True))
        return self._number[atom.predicate], objects

    def _collect(self, formula: ast.Formula, labels: Labels, found: dict[LabelAtom, None]) -> None:
        match formula:
            case ast.Is(atom):
                found[self._label(atom, labels)] = None
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                for inner in labels.each(variable.name, self._sorts[variable.name]):
                    self._collect(body, inner, found)
                    if len(found) > BITS:
                        self._check_capacity(found, at_least="at least ")
            case _:
                for part in ast.children(formula):
                    self._collect(part, labels, found)

    def _truth(self, formula: ast.Formula, labels: Labels, axis: Mapping[LabelAtom, int]) -> Bools:
        """Bools by state, as an array that broadcasts over the axes of all atoms."""

        def truth(part: ast.Formula) -> Bools:
            return self._truth(part, labels, axis)

        match formula:
            case ast.Is(atom, value):
                return self._value_test(atom, value, labels, axis)
            case ast.Equal(left, right):
                return np.asarray(self._same(left, right, labels))
            case ast.Not(body):
                return np.logical_not(truth(body))
            case ast.And(parts) | ast.Or(parts):
                return _joined(map(truth, parts), isinstance(formula, ast.Or))
            case ast.Implies(premise, conclusion):
                return np.logical_or(np.logical_not(truth(premise)), truth(conclusion))
            case ast.Iff(one, other):
                return np.equal(truth(one), truth(other))
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                each = labels.each(variable.name, self._sorts[variable.name])
                inner = (self._truth(body, labels, axis) for labels in each)
                return _joined(inner, isinstance(formula, ast.Exists))

    def _value_test(
        self, atom: ast.Atom, value: str, labels: Labels, axis: Mapping[LabelAtom, int]
    ) -> Bools:
        values = self._model.predicates[atom.predicate].values
        shape = [1] * len(axis)
        position = axis[self._label(atom, labels)]
        shape[position] = len(values)
        truth: Bools = np.arange(len(values)) == values.index(value)
        return truth.reshape(shape)

    def _same(self, left: ast.Term, right: ast.Term, labels: Labels) -> bool:
        variable = right if isinstance(left, ast.Constant) else left
        sort = self._sorts[variable.name]
        return labels.of(left, sort) == labels.of(right, sort)


def _joined(parts: Iterable[Bools], some: bool) -> Bools:
    """Where all parts hold or, with `some`, at least one does."""
    operation = np.logical_or if some else np.logical_and
    result: Bools = reduce(operation, parts, np.asarray(not some))
    return result


def drop_indifferent(
    atoms: tuple[AnyAtom, ...], table: Floats
) -> tuple[tuple[AnyAtom, ...], Floats]:
    """Leave out the atoms that the table does not depend on."""
    kept = list(atoms)
    for axis in reversed(range(table.ndim)):
        first = table.take([0], axis=axis)
        if np.array_equal(np.broadcast_to(first, table.shape), table):
            table = first.squeeze(axis)
            del kept[axis]
    return tuple(kept), np.array(table)


def _finite_weight(
    rule: ast.WeightedFormula, sizes: Mapping[str, int], named: Mapping[str, float]
) -> float | None:
    if rule.weight is None:
        return None
    try:
        weight = ast.evaluate_weight(rule.weight, sizes, named)
    except (ZeroDivisionError, OverflowError):
        weight = math.nan
    if not math.isfinite(weight):
        raise ModelError(
            f"the weight is not a finite number for {_setting_text(sizes, named)}", rule.span
        )
    if abs(weight) > LARGEST_WEIGHT:
        raise ModelError(
            f"the weight is {weight:g} for {_setting_text(sizes, named)}, and above "
            f"{LARGEST_WEIGHT:g} nothing else would count; end the formula with a period instead, "
            "which makes it hard",
            rule.span,
        )
    return weight


def _log_potentials(
    rule: ast.TableParfactor, sizes: Mapping[str, int], named: Mapping[str, float]
) -> Floats:
    try:
        potentials = np.array([ast.evaluate_weight(p, sizes, named) for p in rule.potentials])
    except (ZeroDivisionError, OverflowError):
        potentials = np.array([math.nan])
    if not np.isfinite(potentials).all() or (potentials < 0).any():
        raise ModelError(
            f"potentials must be finite and not negative; for {_setting_text(sizes, named)} they "
            f"are {', '.join(f'{p:g}' for p in potentials)}",
            rule.span,
        )
    return logs_of(potentials)


def _setting_text(sizes: Mapping[str, int], named: Mapping[str, float]) -> str:
    parts = [f"|{sort}| = {size}" for sort, size in sizes.items()]
    parts += [f"${name} = {value:g}" for name, value in named.items()]
    return ", ".join(parts) or "this model"


def symmetric_groups(
    atoms: Sequence[ObjAtom], table: Floats, others: Collection[Obj]
) -> list[tuple[Obj, ...]]:
    """Groups of placeholders that can be swapped without changing the factor, but for `others`.

    >>> p, q = (0, ((0, 0),)), (0, ((0, 1),))
    >>> symmetric_groups([p, q], np.array([[1.0, 2.0], [2.0, 3.0]]), ())
    [((0, 0), (0, 1))]
    >>> symmetric_groups([p, q], np.array([[1.0, 2.0], [0.0, 3.0]]), ())
    []
    """
    groups: list[list[Obj]] = []
    for obj in dict.fromkeys(obj for _, args in atoms for obj in args if obj not in others):
        for group in groups:
            if group[0][0] == obj[0] and _swaps(group[0], obj, atoms, table):
                group.append(obj)
                break
        else:
            groups.append([obj])
    return [tuple(group) for group in groups if len(group) > 1]


def _swaps(one: Obj, other: Obj, atoms: Sequence[ObjAtom], table: Floats) -> bool:
    swap = {one: other, other: one}
    moved = [(p, tuple(swap.get(obj, obj) for obj in args)) for p, args in atoms]
    if set(moved) != set(atoms):
        return False
    return np.array_equal(table, table.transpose([moved.index(atom) for atom in atoms]))
