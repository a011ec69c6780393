"""Models with the same worlds whose rules suit exact answers over classes, or the ground."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from liftgbp.model import ast
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables, quantified_variables
from liftgbp.support.errors import InternalError

# --- quantifiers over large sorts become atoms

MARK = "?"
"""Names of stand-ins begin with it; no predicate of a text does."""


@dataclass(frozen=True, slots=True)
class QuantifierDefinition:
    """The stand-in holds if and only if some object satisfies the body.

    `outer` is the free variable of the quantified formula, `inner` the quantified one; `sorts` are
    those of all variables of the body.
    """

    stand_in: ast.Predicate
    outer: str
    inner: str
    body: ast.Formula
    sorts: dict[str, str]

    @property
    def rule(self) -> ast.WeightedFormula:
        """A rule with the atoms of the body and the stand-in, and so the sorts of all variables."""
        stand_in = ast.Is(ast.Atom(self.stand_in.name, (ast.Variable(self.outer),)))
        return ast.WeightedFormula(ast.And((stand_in, self.body)), None)


@dataclass(frozen=True, slots=True)
class Outlined:
    """A model in which atoms stand for quantified formulas."""

    model: Model
    definitions: tuple[QuantifierDefinition, ...]


def large_quantifiers(model: Model, large: Collection[str]) -> bool:
    """Whether a rule quantifies inside over one of these sorts."""
    return any(
        model.variable_sorts(rule)[variable.name] in large
        for rule in model.rules
        for variable in quantified_variables(rule)
    )


def outlined(model: Model, large: Collection[str]) -> Outlined | None:
    """The model with a stand-in for each quantifier over a large sort; `None` if there is one that
    has none: below another quantifier, or with other than one free variable.

    >>> from liftgbp.model.parser import parse
    >>> found = outlined(parse("s(t)\\nr(t,t)\\n1 s(x) => EXIST y r(x,y)"), {"t"})
    >>> print(found.model.rules[0].formula.right.atom, found.definitions[0].body.atom)
    ?0(x) r(x,y)
    """
    definitions: list[QuantifierDefinition] = []
    rules: list[ast.Rule] = []
    for rule in model.rules:
        sorts = model.variable_sorts(rule)

        def outline(formula: ast.Formula, sorts: dict[str, str] = sorts) -> ast.Formula:
            if not isinstance(formula, ast.Exists | ast.Forall):
                return ast.map_formula(lambda part: outline(part, sorts), formula)
            if sorts[formula.variable.name] not in large:
                return ast.map_formula(lambda part: outline(part, sorts), formula)
            body = formula.body if isinstance(formula, ast.Exists) else ast.Not(formula.body)
            found = _definition(len(definitions), formula.variable.name, body, sorts)
            definitions.append(found)
            atom = ast.Is(ast.Atom(found.stand_in.name, (ast.Variable(found.outer),)))
            return atom if isinstance(formula, ast.Exists) else ast.Not(atom)

        if isinstance(rule, ast.WeightedFormula) and quantified_variables(rule):
            try:
                rules.append(replace(rule, formula=outline(rule.formula)))
            except _Unsuitable:
                return None
        else:
            rules.append(rule)
    stand_ins = {own.stand_in.name: own.stand_in for own in definitions}
    predicates = {**model.predicates, **stand_ins}
    rules += _kept(definitions, predicates)
    # Rules that mention constants in another order must not give them other numbers.
    named = model.with_rules(())
    return Outlined(replace(named, predicates=predicates, rules=tuple(rules)), tuple(definitions))


class _Unsuitable(Exception):  # noqa: N818
    """A quantified formula has no stand-in."""


def _definition(
    number: int, inner: str, body: ast.Formula, sorts: dict[str, str]
) -> QuantifierDefinition:
    free = [name for name in free_variables(ast.WeightedFormula(body, None)) if name != inner]
    if len(free) != 1 or quantified_variables(ast.WeightedFormula(body, None)):
        raise _Unsuitable
    stand_in = ast.Predicate(f"{MARK}{number}", (sorts[free[0]],))
    own = {name: sorts[name] for name in (free[0], inner)}
    return QuantifierDefinition(stand_in, free[0], inner, body, own)


def _kept(
    definitions: list[QuantifierDefinition], predicates: dict[str, ast.Predicate]
) -> Iterator[ast.TableParfactor]:
    """Tables that change nothing, so that all atoms of a definition are in factors."""
    for own in definitions:
        atoms = tuple(dict.fromkeys(ast.rule_atoms(own.rule)))
        entries = math.prod(len(predicates[atom.predicate].values) for atom in atoms)
        yield ast.TableParfactor(atoms, (ast.Number(1.0),) * entries, kept=True)


# --- rules by which atoms exclude each other
#
# `category(x,c) ^ category(x,d) => c = d.` is about pairs of atoms. On the ground, regions of pairs
# let the probabilities of all categories of an object add up to more than one. One formula about
# all of them says the same, and puts them into one region.

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


def _joint(model: Model, rule: ast.Rule, sizes: Mapping[str, int]) -> ast.Rule:
    pair = _exclusive_pair(model, rule)
    if pair is None:
        return rule
    one, other = pair
    (place,) = (k for k, (a, b) in enumerate(zip(one.args, other.args, strict=True)) if a != b)
    if sizes[model.predicates[one.predicate].sorts[place]] > MOST_TOGETHER:
        return rule
    first, second = one.args[place], other.args[place]
    formula: ast.Formula = ast.Implies(
        ast.And((ast.Is(one), ast.Is(other))), ast.Equal(first, second)
    )
    for variable in (second, first):
        formula = ast.Forall(ast.Variable(variable.name), formula)
    return ast.WeightedFormula(formula, None, span=rule.span)


def _exclusive_pair(model: Model, rule: ast.Rule) -> tuple[ast.Atom, ast.Atom] | None:
    """The two atoms that a hard rule keeps from holding together, if it says nothing else."""
    if not isinstance(rule, ast.WeightedFormula) or rule.weight is not None or rule.expanded:
        return None
    atoms = tuple(dict.fromkeys(ast.rule_atoms(rule)))
    if len(atoms) != 2 or quantified_variables(rule):
        return None
    one, other = atoms
    predicate = model.predicates[one.predicate]
    if other.predicate != one.predicate or predicate.kind != "relation" or predicate.closed:
        return None
    differing = [pair for pair in zip(one.args, other.args, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or not all(isinstance(term, ast.Variable) for term in differing[0]):
        return None
    names = {term.name for term in differing[0]}
    shared = {term.name for term in one.args} & {term.name for term in other.args}
    compared = [{own.left.name, own.right.name} for own in ast.rule_equalities(rule)]
    if names & shared or any(own != names for own in compared):
        return None
    if rule.distinct and not _distinct_alone(model, rule, names):
        return None
    return atoms if _says_only(rule, one) else None


def _distinct_alone(model: Model, rule: ast.WeightedFormula, names: set[str]) -> bool:
    """Whether `distinct` is about these variables only."""
    sorts = model.variable_sorts(rule)
    own = {sorts[name] for name in names}
    others = [sorts[name] for name in free_variables(rule) if name not in names]
    return own.isdisjoint(others) and len(set(others)) == len(others)


def _says_only(rule: ast.WeightedFormula, one: ast.Atom) -> bool:
    """Whether the rule fails if both atoms hold and are different, and never else."""
    for first, second, same in product((False, True), repeat=3):
        if same and first != second:
            continue
        case = _PairCase(one, first, second, same)
        applies = all(map(case.holds, rule.restrictions)) and not (rule.distinct and same)
        fails = applies and not case.holds(rule.formula)
        if fails != (first and second and not same):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _PairCase:
    """Whether two atoms hold, and whether the objects in which they differ are the same."""

    one: ast.Atom
    first: bool
    second: bool
    same: bool

    def holds(self, formula: ast.Formula) -> bool:
        match formula:
            case ast.Is(atom, value):
                return (self.first if atom == self.one else self.second) == (value == "true")
            case ast.Equal():
                return self.same
            case ast.Not(body):
                return not self.holds(body)
            case ast.And(parts):
                return all(map(self.holds, parts))
            case ast.Or(parts):
                return any(map(self.holds, parts))
            case ast.Implies(left, right):
                return not self.holds(left) or self.holds(right)
            case ast.Iff(left, right):
                return self.holds(left) == self.holds(right)
            case ast.Exists() | ast.Forall():
                raise InternalError("a rule about two atoms has no quantifiers")


# --- soft clauses about terms of functions
#
# Where its definitions fail, a rule `f(x,y) ^ (p(y) => q(x))` is false; where they hold and the
# clause has a false premise, it is true. Only one of these constants can be left to counting. As
# w [d ^ c] = w [d] - w [d ^ !c], the rule is the same as one about the definitions alone, which is
# a number, and one that is false unless the definitions and all premises hold.


def with_one_constant(
    model: Model, rule: ast.Rule, sizes: Mapping[str, int]
) -> tuple[ast.Rule, ...]:
    """The rule, or the two rules that stand for it."""
    if (
        not isinstance(rule, ast.WeightedFormula)
        or rule.weight is None
        or rule.restrictions
        or rule.distinct
    ):
        return (rule,)
    match rule.formula:
        case ast.And((*definitions, ast.Or() | ast.Implies() as clause)) if all(
            isinstance(part, ast.Is) and model.predicates[part.atom.predicate].kind != "relation"
            for part in definitions
        ):
            defined = {
                term.name
                for part in definitions
                if isinstance(part, ast.Is)
                for term in part.atom.args
                if isinstance(term, ast.Variable)
            }
            sorts = model.variable_sorts(rule)
            others = [v for v in free_variables(rule) if v not in defined]
            times = ast.Number(float(math.prod(sizes[sorts[v]] for v in others)))
            return (
                replace(
                    rule,
                    formula=ast.And(tuple(definitions)),
                    weight=ast.Arithmetic("*", rule.weight, times),
                    expanded=frozenset(),
                ),
                replace(
                    rule,
                    formula=ast.And((*definitions, ast.Not(clause))),
                    weight=ast.Arithmetic("-", ast.Number(0.0), rule.weight),
                ),
            )
    return (rule,)
