"""Hard rules by which atoms exclude each other: about two of them at a time, or about all at once.

`category(x,c) ^ category(x,d) => c = d.` is about pairs of atoms. On the ground, regions of pairs
let the probabilities of all categories of an object add up to more than one. One formula about all
of them says the same, and puts them into one region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from liftgbp.errors import InternalError
from liftgbp.model.ast import (
    And,
    Atom,
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
    Variable,
    WeightedFormula,
    rule_atoms,
    rule_equalities,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables, quantified_variables

MOST_TOGETHER = 12
"""The most atoms that are put together. A table of twelve has 4096 entries, and one such table for
each of 2 000 objects takes 64 MB."""


def with_joint_exclusions(model: Model, sizes: Mapping[str, int]) -> Model:
    """The model in which rules about exclusive pairs are about all atoms of which one may hold.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("has(thing, colour)\\nhas(t,c) ^ has(t,d) => c = d.")
    >>> with_joint_exclusions(model, {"thing": 9, "colour": 3}).rules[0].formula.variable.name
    'c'
    """
    rules = tuple(_joint(model, rule, sizes) for rule in model.rules)
    return model if rules == model.rules else model.with_rules(rules)


def _joint(model: Model, rule: Rule, sizes: Mapping[str, int]) -> Rule:
    pair = _exclusive_pair(model, rule)
    if pair is None:
        return rule
    one, other = pair
    (place,) = (k for k, (a, b) in enumerate(zip(one.args, other.args, strict=True)) if a != b)
    if sizes[model.predicates[one.predicate].sorts[place]] > MOST_TOGETHER:
        return rule
    first, second = one.args[place], other.args[place]
    formula: Formula = Implies(And((Is(one), Is(other))), Equal(first, second))
    for variable in (second, first):
        formula = Forall(Variable(variable.name), formula)
    return WeightedFormula(formula, None, span=rule.span)


def _exclusive_pair(model: Model, rule: Rule) -> tuple[Atom, Atom] | None:
    """The two atoms that a hard rule keeps from holding together, if it says nothing else."""
    if not isinstance(rule, WeightedFormula) or rule.weight is not None or rule.expanded:
        return None
    atoms = tuple(dict.fromkeys(rule_atoms(rule)))
    if len(atoms) != 2 or quantified_variables(rule):
        return None
    one, other = atoms
    predicate = model.predicates[one.predicate]
    if other.predicate != one.predicate or predicate.kind != "relation" or predicate.closed:
        return None
    differing = [pair for pair in zip(one.args, other.args, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or not all(isinstance(term, Variable) for term in differing[0]):
        return None
    names = {term.name for term in differing[0]}
    shared = {term.name for term in one.args} & {term.name for term in other.args}
    compared = [{own.left.name, own.right.name} for own in rule_equalities(rule)]
    if names & shared or any(own != names for own in compared):
        return None
    if rule.distinct and not _distinct_alone(model, rule, names):
        return None
    return atoms if _says_only(rule, one) else None


def _distinct_alone(model: Model, rule: WeightedFormula, names: set[str]) -> bool:
    """Whether `distinct` is about these variables only."""
    sorts = model.variable_sorts(rule)
    own = {sorts[name] for name in names}
    others = [sorts[name] for name in free_variables(rule) if name not in names]
    return own.isdisjoint(others) and len(set(others)) == len(others)


def _says_only(rule: WeightedFormula, one: Atom) -> bool:
    """Whether the rule fails if both atoms hold and are different, and never else."""
    for first, second, same in product((False, True), repeat=3):
        if same and first != second:
            continue
        case = _Case(one, first, second, same)
        applies = all(map(case.holds, rule.restrictions)) and not (rule.distinct and same)
        fails = applies and not case.holds(rule.formula)
        if fails != (first and second and not same):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Case:
    """Whether two atoms hold, and whether the objects in which they differ are the same."""

    one: Atom
    first: bool
    second: bool
    same: bool

    def holds(self, formula: Formula) -> bool:
        match formula:
            case Is(atom, value):
                return (self.first if atom == self.one else self.second) == (value == "true")
            case Equal():
                return self.same
            case Not(body):
                return not self.holds(body)
            case And(parts):
                return all(map(self.holds, parts))
            case Or(parts):
                return any(map(self.holds, parts))
            case Implies(left, right):
                return not self.holds(left) or self.holds(right)
            case Iff(left, right):
                return self.holds(left) == self.holds(right)
            case Exists() | Forall():
                raise InternalError("a rule about two atoms has no quantifiers")
