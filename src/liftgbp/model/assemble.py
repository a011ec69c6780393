"""From statements to a model: declarations are merged, names resolved, rules completed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import cast

from liftgbp.model import ast
from liftgbp.model.definite_clauses import DefiniteClause, completions
from liftgbp.model.function_terms import is_new, resolved_rule
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables
from liftgbp.model.statements import (
    NEEDS_WEIGHT,
    BareAtom,
    ExactlyOne,
    Statement,
    WeightDeclaration,
)
from liftgbp.support.errors import ModelError, Span
from liftgbp.support.limits import checkpoint


def assemble(statements: Iterable[Statement], name: str, *, untrusted: bool = False) -> Model:
    """The model that the statements describe; names may be used before they are declared."""
    weights: dict[str, WeightDeclaration] = {}
    sorts: dict[str, ast.Sort] = {}
    predicates: dict[str, ast.Predicate] = {}
    rules: list[ast.Rule] = []
    demands: list[ast.Demand] = []
    clauses: list[DefiniteClause] = []
    statements = tuple(statements)
    named_sorts = {statement.name for statement in statements if isinstance(statement, ast.Sort)}
    usual = set(_usually_declared(statements))
    for statement in statements:
        checkpoint()
        if isinstance(statement, WeightDeclaration):
            _name_weight(weights, statement)
        elif isinstance(statement, ast.Sort):
            _check_names((statement.name,), statement.span)
            sorts[statement.name] = _merged(sorts.get(statement.name, statement), statement)
        elif isinstance(statement, ast.Predicate):
            _check_names((statement.name, *statement.sorts), statement.span)
            _declare(predicates, statement)
            named_sorts.update(statement.sorts)
        elif isinstance(statement, ExactlyOne):
            _declare_unless_known(predicates, statement.predicate)
            named_sorts.update(predicates[statement.predicate.name].sorts)
            rules.append(_uniqueness(statement))
        elif isinstance(statement, ast.Demand):
            demands.append(statement)
        elif isinstance(statement, DefiniteClause):
            clauses.append(statement)
        elif isinstance(statement, BareAtom):
            if _declares(statement, predicates, named_sorts, usual):
                new = cast(ast.Predicate, statement.declared)
                _check_names((new.name, *new.sorts), new.span)
                _declare(predicates, new)
                named_sorts.update(new.sorts)
            else:
                rules.append(statement.formula)
        else:
            rules.append(statement)
    propositions = frozenset(p.name for p in predicates.values() if not p.sorts)
    named = list(_with_named_weights([*rules, *completions(clauses, predicates)]))
    final_rules = tuple(resolved_rule(_final(rule, propositions), predicates) for rule in named)
    values = {weight.name: weight.value for weight in weights.values()}
    model = Model(sorts, predicates, final_rules, name, values, untrusted, tuple(demands))
    spelled_out = tuple(_distinct_as_written(model, rule) for rule in final_rules)
    return model if spelled_out == final_rules else replace(model, rules=spelled_out)


def _distinct_as_written(model: Model, rule: ast.Rule) -> ast.Rule:
    """A rule whose `distinct` is about the variables that it shows, not about values of terms."""
    free = free_variables(rule)
    if not rule.distinct or not any(map(is_new, free)):
        return rule
    sorts = model.variable_sorts(rule)
    different = []
    for left, right in combinations([name for name in free if not is_new(name)], 2):
        checkpoint()
        if sorts[left] == sorts[right]:
            different.append(ast.Not(ast.Equal(ast.Variable(left), ast.Variable(right))))
    return replace(rule, distinct=False, restrictions=(*rule.restrictions, *different))


# --- declarations


def _check_names(names: Iterable[str], span: Span | None) -> None:
    for name in names:
        if ast.is_reserved(name):
            raise ModelError(ast.reserved_message(name), span)


def _name_weight(weights: dict[str, WeightDeclaration], new: WeightDeclaration) -> None:
    known = weights.setdefault(new.name, new)
    if known.value != new.value:
        raise ModelError(f"${new.name} was declared as {known.value:g}{_at(known)}", new.span)


def _merged(known: ast.Sort, new: ast.Sort) -> ast.Sort:
    """Both declarations as one: one may name objects and the other give the size."""
    if known.constants and new.constants and known.constants != new.constants:
        raise ModelError(f"{new.name} was declared with other constants{_at(known)}", new.span)
    if known.size and new.size and known.size != new.size:
        raise ModelError(f"{new.name} was declared with size {known.size}{_at(known)}", new.span)
    return replace(known, constants=known.constants or new.constants, size=known.size or new.size)


def _declare(predicates: dict[str, ast.Predicate], new: ast.Predicate) -> None:
    known = predicates.setdefault(new.name, new)
    if new.closed and not known.closed:  # one mark is enough, as with sizes of sorts
        predicates[new.name] = replace(known, closed=True)
    if known.sorts != new.sorts:
        # In a text, a formula without its weight looks like a declaration.
        hint = f"; {NEEDS_WEIGHT}" if new.span and new.values == ast.BOOLEAN else ""
        raise ModelError(f"{new.name} was declared as {known}{_at(known)}{hint}", new.span)
    if known.kind != new.kind:
        raise ModelError(f"{new.name} was declared as a {known.kind}{_at(known)}", new.span)
    if known.values != new.values:
        values = ", ".join(known.values)
        raise ModelError(f"{new.name} was declared with values {values}{_at(known)}", new.span)


def _declare_unless_known(predicates: dict[str, ast.Predicate], marked: ast.Predicate) -> None:
    """Declares a marked predicate; if it is known, the statement may name variables instead."""
    known = predicates.get(marked.name)
    if known is None or len(known.sorts) != len(marked.sorts):
        _check_names((marked.name, *marked.sorts), marked.span)
        _declare(predicates, marked)
    elif marked.closed:
        predicates[marked.name] = replace(known, closed=True)


def _usually_declared(statements: Iterable[Statement]) -> Iterator[str]:
    """The predicates that some statement declares, other than an atom with capital letters."""
    for statement in statements:
        if isinstance(statement, ast.Predicate):
            yield statement.name
        elif isinstance(statement, ExactlyOne):
            yield statement.predicate.name
        elif isinstance(statement, BareAtom) and statement.declared and statement.lower:
            yield statement.declared.name


def _declares(
    statement: BareAtom, predicates: Mapping[str, ast.Predicate], sorts: set[str], usual: set[str]
) -> bool:
    """Whether an atom on its own declares a predicate; otherwise it is a formula.

    It does so where nothing else declares the predicate, or if it names the sorts of others.
    """
    new = statement.declared
    if new is None:
        return False
    known = predicates.get(new.name)
    if known is None:
        return statement.lower or new.name not in usual
    return len(known.sorts) != len(new.sorts) or not sorts.isdisjoint(new.sorts)


def _at(known: WeightDeclaration | ast.Sort | ast.Predicate) -> str:
    return f" in {known.span.source.name}, line {known.span.line}" if known.span else ""


# --- rules


def _with_named_weights(rules: Sequence[ast.Rule]) -> Iterator[ast.Rule]:
    """The rules, in which weights that were left out have the names w1, w2 and so on."""
    taken = {
        part.name
        for rule in rules
        if isinstance(rule, ast.WeightedFormula) and rule.weight is not None
        for part in ast.weight_parts(rule.weight)
        if isinstance(part, ast.NamedWeight)
    }
    names = (name for k in count(1) if (name := f"w{k}") not in taken)
    for rule in rules:
        if isinstance(rule, ast.WeightedFormula) and isinstance(rule.weight, ast.OpenWeight):
            yield replace(rule, weight=ast.OpenWeight(next(names)))
        else:
            yield rule


def _uniqueness(statement: ExactlyOne) -> ast.WeightedFormula:
    """One hard formula, so that all atoms of which exactly one holds are in one region."""
    name, arity = statement.predicate.name, len(statement.predicate.sorts)
    given = {i: ast.Variable(f"x{i + 1}") for i in range(arity)}
    one = {i: ast.Variable(f"y{i + 1}") for i in statement.marked}
    other = {i: ast.Variable(f"z{i + 1}") for i in statement.marked}

    def atom(chosen: Mapping[int, ast.Variable]) -> ast.Is:
        return ast.Is(ast.Atom(name, tuple(chosen.get(i, given[i]) for i in range(arity))))

    same = tuple(ast.Equal(other[i], one[i]) for i in statement.marked)
    only: ast.Formula = ast.Implies(atom(other), same[0] if len(same) == 1 else ast.And(same))
    for i in reversed(statement.marked):
        only = ast.Forall(other[i], only)
    formula: ast.Formula = ast.And((atom(one), only))
    for i in reversed(statement.marked):
        formula = ast.Exists(one[i], formula)
    return ast.WeightedFormula(formula, None, span=statement.predicate.span)


def _final(rule: ast.Rule, propositions: frozenset[str]) -> ast.Rule:
    _check_restrictions(rule, propositions)
    if isinstance(rule, ast.TableParfactor):
        return rule
    resolved = replace(rule, formula=resolved_formula(rule.formula, propositions))
    return _without_leading_foralls(resolved)


def _check_restrictions(rule: ast.Rule, propositions: frozenset[str]) -> None:
    for restriction in rule.restrictions:
        match restriction:
            case ast.Equal(ast.Variable(name), _, span) | ast.Not(
                ast.Equal(ast.Variable(name), _, span)
            ):
                if name in propositions:
                    raise ModelError(
                        f"{name} is a predicate; a restriction compares variables and constants",
                        span or rule.span,
                    )


def resolved_formula(formula: ast.Formula, propositions: frozenset[str]) -> ast.Formula:
    """The formula in which `weather = sunny` tests a value if weather is a predicate."""

    match formula:
        case ast.Equal(left, right, span) if left.name in propositions:
            return ast.Is(ast.Atom(left.name, span=left.span), right.name, span)
    return ast.map_formula(lambda part: resolved_formula(part, propositions), formula)


def _without_leading_foralls(rule: ast.WeightedFormula) -> ast.WeightedFormula:
    """The rule without leading `FORALL x`, which is how free variables are read anyway."""
    variables = []
    formula = rule.formula
    while isinstance(formula, ast.Forall):
        variables.append(formula.variable)
        formula = formula.body
    stripped = replace(rule, formula=formula)
    free = free_variables(stripped)
    for variable in variables:
        if variable.name not in free:
            raise ModelError(
                f"variable {variable} does not occur in the formula", variable.span or rule.span
            )
    return stripped
