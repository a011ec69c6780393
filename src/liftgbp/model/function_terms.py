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

from liftgbp.errors import ModelError, Span
from liftgbp.model.ast import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Implies,
    Is,
    Predicate,
    Rule,
    Term,
    Variable,
    WeightedFormula,
    map_formula,
    rule_atoms,
    rule_equalities,
)
from liftgbp.model.scopes import spread

LESS = "<"
_NEW = re.compile(r"_\d+")
_RETURNS = "isReturnValueOf"
"""In Alchemy, a predicate with a function's value in front of its arguments."""

_BUILT_IN = {"succ": 1, "prec": -1}
"""Functions of other tools that are steps, unless a model declares them."""

_Key: TypeAlias = tuple[str, tuple[Term | None, ...]]


@dataclass(frozen=True, slots=True)
class TermDefinition:
    """A new variable and the atom that says which object it is."""

    variable: Variable
    atom: Atom

    @property
    def over(self) -> set[str]:
        """The variables that it depends on."""
        names = {term.name for term in self.atom.args if isinstance(term, Variable)}
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
    _variables: dict[_Key, Variable] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def inside(self) -> Definitions:
        """What collects the definitions below a quantifier; new variables differ from ours."""
        return Definitions(self.taken, _numbers=self._numbers)

    def value(self, name: str, args: Sequence[Term], span: Span | None, *, place: int = -1) -> Term:
        """The variable that stands for a term; `place` is where its value is in the relation."""

        key: _Key = (name, (*args, None) if place == -1 else (None, *args))
        known = self._variables.get(key)
        if known is not None:
            return known
        new = next(f"_{k}" for k in self._numbers if f"_{k}" not in self.taken)  # as in _NEW
        variable = Variable(new, span)
        relation = (*args, variable) if place == -1 else (variable, *args)
        self._add(TermDefinition(variable, Atom(name, relation, span)))
        return variable

    def _add(self, definition: TermDefinition) -> None:
        self.found.append(definition)
        self._variables.setdefault(definition.key, definition.variable)

    def bound(
        self, quantifier: type[Exists | Forall], names: set[str], body: Formula, inner: Definitions
    ) -> Formula:
        """The body of a quantifier over variables with these names, with what depends on them."""
        bound = set(names)
        local = []
        for definition in inner.found:
            if definition.over & bound:
                local.append(definition)
                bound.add(definition.variable.name)
            else:
                self._add(definition)
        body = _conditioned(local, body, hard=quantifier is Forall)
        for definition in reversed(local):
            body = quantifier(definition.variable, body)
        return body

    def rule(self, formula: Formula, *, hard: bool) -> Formula:
        """The formula of a rule, true where definitions fail if it is hard, and false otherwise.

        In this way, a soft formula counts once for each substitution of its own variables.
        """
        return _conditioned(self.found, formula, hard=hard)


def _conditioned(definitions: Sequence[TermDefinition], body: Formula, *, hard: bool) -> Formula:
    if not definitions:
        return body
    conditions = tuple(Is(one.atom, span=one.atom.span) for one in definitions)
    if hard:
        return Implies(conditions[0] if len(conditions) == 1 else And(conditions), body)
    return And((*conditions, body))


def is_new(variable: str) -> bool:
    """Whether a variable stands for a term, and was not written by the user."""
    return _NEW.fullmatch(variable) is not None


# --- steps


def step(by: int, term: Term, definitions: Definitions, span: Span | None) -> Term:
    """The variable that stands for `term + by`."""
    if by == 0:
        return term
    place = -1 if by > 0 else 0
    return definitions.value(f"+{abs(by)}", (term,), span, place=place)


def is_step(result: Term, by: int, term: Term, span: Span | None) -> Formula:
    """The formula `result = term + by`."""
    if by == 0:
        return Equal(result, term, span)
    args = (term, result) if by > 0 else (result, term)
    return Is(Atom(f"+{abs(by)}", args, span), span=span)


# --- once all declarations are known


def resolved_rule(rule: Rule, predicates: dict[str, Predicate]) -> Rule:
    """The rule whose steps are atoms of relations over a sort, which are added to the predicates.

    A comparison with the value of a function becomes an atom of its relation.
    """
    if not isinstance(rule, WeightedFormula):
        return rule
    formula = _resolved(rule.formula, predicates)
    rule = replace(rule, formula=formula)
    if not any(_is_placeholder(atom) for atom in rule_atoms(rule)):
        return rule
    sorts = _sorts(rule, predicates)
    return replace(rule, formula=_typed(formula, sorts, predicates))


def _resolved(formula: Formula, predicates: Mapping[str, Predicate]) -> Formula:
    match formula:
        case Is(Atom(name, args, atom_span), value, span):
            known = predicates.get(name)
            if known is None and name.startswith(_RETURNS):
                name = name.removeprefix(_RETURNS)
                return Is(Atom(name, (*args[1:], *args[:1]), atom_span), span=span)
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
                return Is(Atom(name, (*args, term), atom_span), span=span)
    return map_formula(lambda part: _resolved(part, predicates), formula)


def _is_hoisted(args: Sequence[Term], known: Predicate) -> bool:
    """Whether an atom says which object a new variable is."""
    return len(args) > len(known.sorts) and is_new(args[-1].name)


def _value_term(value: str, span: Span | None) -> Term:
    """The term behind the equals sign, which a many-valued predicate would take as a value."""
    quoted = span is not None and span.text.rstrip().endswith('"')
    if value[0].isupper() or value[0].isdigit() or quoted:
        return Constant(value, span)
    return Variable(value, span)


def _is_placeholder(atom: Atom) -> bool:
    return atom.predicate[0] in "+<"


def _sorts(rule: WeightedFormula, predicates: Mapping[str, Predicate]) -> dict[str, str]:
    """The sorts of the variables, as far as atoms and comparisons tell."""
    sorts: dict[str, str] = {}
    pairs: list[Sequence[Term]] = [(e.left, e.right) for e in rule_equalities(rule)]
    for atom in rule_atoms(rule):
        if _is_placeholder(atom):
            pairs.append(atom.args)
        elif atom.predicate in predicates:
            for term, sort in zip(atom.args, predicates[atom.predicate].sorts, strict=False):
                if isinstance(term, Variable):
                    sorts.setdefault(term.name, sort)
    spread(
        sorts,
        [
            (one.name, other.name)
            for one, other in pairs
            if isinstance(one, Variable) and isinstance(other, Variable)
        ],
    )
    return sorts


def _typed(formula: Formula, sorts: Mapping[str, str], predicates: dict[str, Predicate]) -> Formula:
    match formula:
        case Is(Atom(name, args, span)) if name[0] in "+<":
            known = (sorts.get(term.name) for term in args if isinstance(term, Variable))
            sort = next((sort for sort in known if sort is not None), None)
            if sort is None:
                names = " and ".join(map(str, args))
                raise ModelError(f"the sort of {names} is unknown; use a variable in an atom", span)
            predicate = step_predicate(sort, name)
            predicates.setdefault(predicate.name, predicate)
            return replace(formula, atom=replace(formula.atom, predicate=predicate.name))
    return map_formula(lambda part: _typed(part, sorts, predicates), formula)


def step_predicate(sort: str, placeholder: str) -> Predicate:
    """The relation between numbers of a sort that a placeholder (`+1` or `<`) stands for.

    >>> step_predicate("time", "+2").name
    'time+2'
    """
    name = f"{sort}{placeholder}"
    if placeholder == LESS:
        return Predicate(name, (sort, sort), closed=True, kind="order")
    return Predicate(name, (sort, sort), closed=True, kind="step")
