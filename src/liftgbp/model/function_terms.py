"""Functions and steps in time: terms that become variables with a condition that defines them.

A function is a closed relation with its value as the last argument: in a formula, `motherOf(x)` is
a new variable y together with the atom `motherOf(x,y)`. In the same way, `t+1` is a new variable
with an atom of the relation between each number and the next. What follows after the model is read
knows variables, constants and atoms only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from liftgbp.model import ast
from liftgbp.model.scopes import spread
from liftgbp.support.errors import ModelError, Span

LESS = "<"
_NEW = re.compile(r"_\d+")
_RETURNS = "isReturnValueOf"
"""In Alchemy, a predicate with a function's value in front of its arguments."""

_BUILT_IN = {"succ": 1, "prec": -1}
"""Functions of other tools that are steps, unless a model declares them."""

_Key: TypeAlias = tuple[str, tuple[ast.Term | None, ...]]


@dataclass(frozen=True, slots=True)
class TermDefinition:
    """A new variable and the atom that says which object it is."""

    variable: ast.Variable
    atom: ast.Atom

    @property
    def over(self) -> set[str]:
        """The variables that it depends on."""
        names = {term.name for term in self.atom.args if isinstance(term, ast.Variable)}
        return names - {self.variable.name}

    @property
    def key(self) -> _Key:
        """What is defined: the atom without the variable."""
        args = (None if term == self.variable else term for term in self.atom.args)
        return self.atom.predicate, tuple(args)


@dataclass(slots=True)
class Definitions:
    """The definitions that the terms of one formula need, innermost terms first."""

    taken: Collection[str]
    found: list[TermDefinition] = field(default_factory=list)
    _variables: dict[_Key, ast.Variable] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def inside(self) -> Definitions:
        """What collects the definitions below a quantifier; new variables differ from ours."""
        return Definitions(self.taken, _numbers=self._numbers)

    def value(
        self, name: str, args: Sequence[ast.Term], span: Span | None, *, place: int = -1
    ) -> ast.Term:
        """The variable that stands for a term; `place` is where its value is in the relation."""

        key: _Key = (name, (*args, None) if place == -1 else (None, *args))
        known = self._variables.get(key)
        if known is not None:
            return known
        new = next(f"_{k}" for k in self._numbers if f"_{k}" not in self.taken)  # as in _NEW
        variable = ast.Variable(new, span)
        relation = (*args, variable) if place == -1 else (variable, *args)
        self._add(TermDefinition(variable, ast.Atom(name, relation, span)))
        return variable

    def _add(self, definition: TermDefinition) -> None:
        self.found.append(definition)
        self._variables.setdefault(definition.key, definition.variable)

    def bound(
        self,
        quantifier: type[ast.Exists | ast.Forall],
        names: set[str],
        body: ast.Formula,
        inner: Definitions,
    ) -> ast.Formula:
        """The body of a quantifier over variables with these names, with what depends on them."""
        bound = set(names)
        local = []
        for definition in inner.found:
            if definition.over & bound:
                local.append(definition)
                bound.add(definition.variable.name)
            else:
                self._add(definition)
        body = _conditioned(local, body, hard=quantifier is ast.Forall)
        for definition in reversed(local):
            body = quantifier(definition.variable, body)
        return body

    def rule(self, formula: ast.Formula, *, hard: bool) -> ast.Formula:
        """The formula of a rule, true where definitions fail if it is hard, and false otherwise.

        In this way, a soft formula counts once for each substitution of its own variables.
        """
        return _conditioned(self.found, formula, hard=hard)


def _conditioned(
    definitions: Sequence[TermDefinition], body: ast.Formula, *, hard: bool
) -> ast.Formula:
    if not definitions:
        return body
    conditions = tuple(ast.Is(one.atom, span=one.atom.span) for one in definitions)
    if hard:
        return ast.Implies(conditions[0] if len(conditions) == 1 else ast.And(conditions), body)
    return ast.And((*conditions, body))


def is_new(variable: str) -> bool:
    """Whether a variable stands for a term, and was not written by the user."""
    return _NEW.fullmatch(variable) is not None


# --- steps


def step(by: int, term: ast.Term, definitions: Definitions, span: Span | None) -> ast.Term:
    """The variable that stands for `term + by`."""
    if by == 0:
        return term
    place = -1 if by > 0 else 0
    return definitions.value(f"+{abs(by)}", (term,), span, place=place)


def is_step(result: ast.Term, by: int, term: ast.Term, span: Span | None) -> ast.Formula:
    """The formula `result = term + by`."""
    if by == 0:
        return ast.Equal(result, term, span)
    args = (term, result) if by > 0 else (result, term)
    return ast.Is(ast.Atom(f"+{abs(by)}", args, span), span=span)


# --- once all declarations are known


def resolved_rule(rule: ast.Rule, predicates: dict[str, ast.Predicate]) -> ast.Rule:
    """The rule whose steps are atoms of relations over a sort, which are added to the predicates.

    A comparison with the value of a function becomes an atom of its relation.
    """
    if not isinstance(rule, ast.WeightedFormula):
        return rule
    formula = _resolved(rule.formula, predicates)
    rule = replace(rule, formula=formula)
    if not any(_is_placeholder(atom) for atom in ast.rule_atoms(rule)):
        return rule
    sorts = _sorts(rule, predicates)
    return replace(rule, formula=_typed(formula, sorts, predicates))


def _resolved(formula: ast.Formula, predicates: Mapping[str, ast.Predicate]) -> ast.Formula:
    match formula:
        case ast.Is(ast.Atom(name, args, atom_span), value, span):
            known = predicates.get(name)
            if known is None and name.startswith(_RETURNS):
                name = name.removeprefix(_RETURNS)
                return ast.Is(ast.Atom(name, (*args[1:], *args[:1]), atom_span), span=span)
            if known and known.kind == "relation" and _is_hoisted(args, known):
                raise ModelError(
                    f"{name} is a predicate; only functions, declared like "
                    "person motherOf(person), can stand among arguments or be compared with <; "
                    "constraints on counts are not supported (for |y| p(x,y) <= 1, write "
                    "p(x,y) ^ p(x,z) => y = z.)",
                    atom_span,
                )
            if known is None and name in _BUILT_IN and len(args) == 2:
                return is_step(args[1], _BUILT_IN[name], args[0], span)
            if known and known.kind == "function" and len(args) == len(known.sorts) - 1:
                term = _value_term(value, span)
                return ast.Is(ast.Atom(name, (*args, term), atom_span), span=span)
    return ast.map_formula(lambda part: _resolved(part, predicates), formula)


def _is_hoisted(args: Sequence[ast.Term], known: ast.Predicate) -> bool:
    """Whether an atom says which object a new variable is."""
    return len(args) > len(known.sorts) and is_new(args[-1].name)


def _value_term(value: str, span: Span | None) -> ast.Term:
    """The term behind the equals sign, which a many-valued predicate would take as a value."""
    quoted = span is not None and span.text.rstrip().endswith('"')
    if value[0].isupper() or value[0].isdigit() or quoted:
        return ast.Constant(value, span)
    return ast.Variable(value, span)


def _is_placeholder(atom: ast.Atom) -> bool:
    return atom.predicate[0] in "+<"


def _sorts(rule: ast.WeightedFormula, predicates: Mapping[str, ast.Predicate]) -> dict[str, str]:
    """The sorts of the variables, as far as atoms and comparisons tell."""
    sorts: dict[str, str] = {}
    pairs: list[Sequence[ast.Term]] = [(e.left, e.right) for e in ast.rule_equalities(rule)]
    for atom in ast.rule_atoms(rule):
        if _is_placeholder(atom):
            pairs.append(atom.args)
        elif atom.predicate in predicates:
            for term, sort in zip(atom.args, predicates[atom.predicate].sorts, strict=False):
                if isinstance(term, ast.Variable):
                    sorts.setdefault(term.name, sort)
    spread(
        sorts,
        [
            (one.name, other.name)
            for one, other in pairs
            if isinstance(one, ast.Variable) and isinstance(other, ast.Variable)
        ],
    )
    return sorts


def _typed(
    formula: ast.Formula, sorts: Mapping[str, str], predicates: dict[str, ast.Predicate]
) -> ast.Formula:
    match formula:
        case ast.Is(ast.Atom(name, args, span)) if name[0] in "+<":
            known = (sorts.get(term.name) for term in args if isinstance(term, ast.Variable))
            sort = next((sort for sort in known if sort is not None), None)
            if sort is None:
                names = " and ".join(map(str, args))
                raise ModelError(f"the sort of {names} is unknown; use a variable in an atom", span)
            predicate = step_predicate(sort, name)
            predicates.setdefault(predicate.name, predicate)
            return replace(formula, atom=replace(formula.atom, predicate=predicate.name))
    return ast.map_formula(lambda part: _typed(part, sorts, predicates), formula)


def step_predicate(sort: str, placeholder: str) -> ast.Predicate:
    """The relation between numbers of a sort that a placeholder (`+1` or `<`) stands for.

    >>> step_predicate("time", "+2").name
    'time+2'
    """
    name = f"{sort}{placeholder}"
    if placeholder == LESS:
        return ast.Predicate(name, (sort, sort), closed=True, kind="order")
    return ast.Predicate(name, (sort, sort), closed=True, kind="step")
