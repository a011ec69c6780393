"""Quantifiers over large sorts: each becomes an atom, with a definition of what it stands for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from liftgbp.model.ast import (
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Is,
    Not,
    Number,
    Predicate,
    Rule,
    TableParfactor,
    Variable,
    WeightedFormula,
    map_formula,
    rule_atoms,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables, quantified_variables

MARK = "?"
"""Names of stand-ins begin with it; no predicate of a text does."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The stand-in holds if and only if some object satisfies the body.

    `outer` is the free variable of the quantified formula, `inner` the quantified one; `sorts` are
    those of all variables of the body.
    """

    stand_in: Predicate
    outer: str
    inner: str
    body: Formula
    sorts: dict[str, str]

    @property
    def rule(self) -> WeightedFormula:
        """A rule with the atoms of the body and the stand-in, and so the sorts of all variables."""
        stand_in = Is(Atom(self.stand_in.name, (Variable(self.outer),)))
        return WeightedFormula(And((stand_in, self.body)), None)


@dataclass(frozen=True, slots=True)
class Outlined:
    """A model in which atoms stand for quantified formulas."""

    model: Model
    definitions: tuple[Definition, ...]


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
    definitions: list[Definition] = []
    rules: list[Rule] = []
    for rule in model.rules:
        sorts = model.variable_sorts(rule)

        def outline(formula: Formula, sorts: dict[str, str] = sorts) -> Formula:
            if not isinstance(formula, Exists | Forall):
                return map_formula(lambda part: outline(part, sorts), formula)
            if sorts[formula.variable.name] not in large:
                return map_formula(lambda part: outline(part, sorts), formula)
            body = formula.body if isinstance(formula, Exists) else Not(formula.body)
            found = _definition(len(definitions), formula.variable.name, body, sorts)
            definitions.append(found)
            atom = Is(Atom(found.stand_in.name, (Variable(found.outer),)))
            return atom if isinstance(formula, Exists) else Not(atom)

        if isinstance(rule, WeightedFormula) and quantified_variables(rule):
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


def _definition(number: int, inner: str, body: Formula, sorts: dict[str, str]) -> Definition:
    free = [name for name in free_variables(WeightedFormula(body, None)) if name != inner]
    if len(free) != 1 or quantified_variables(WeightedFormula(body, None)):
        raise _Unsuitable
    stand_in = Predicate(f"{MARK}{number}", (sorts[free[0]],))
    own = {name: sorts[name] for name in (free[0], inner)}
    return Definition(stand_in, free[0], inner, body, own)


def _kept(
    definitions: list[Definition], predicates: dict[str, Predicate]
) -> Iterator[TableParfactor]:
    """Tables that change nothing, so that all atoms of a definition are in factors."""
    for own in definitions:
        atoms = tuple(dict.fromkeys(rule_atoms(own.rule)))
        entries = math.prod(len(predicates[atom.predicate].values) for atom in atoms)
        yield TableParfactor(atoms, (Number(1.0),) * entries, kept=True)
