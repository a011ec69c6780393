"""What a model must satisfy, and the errors that say where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from typing import TYPE_CHECKING

from liftgbp.model import ast
from liftgbp.model.scopes import check_restricted_variables, free_variables
from liftgbp.model.writer import rule_text
from liftgbp.support.errors import (
    InputError,
    ModelError,
    SizeError,
    Span,
    comma_list,
    counted,
    elements,
    shown,
    wrong_type,
)
from liftgbp.support.limits import checkpoint

if TYPE_CHECKING:
    from liftgbp.model.model import Model

MOST_LISTED = 10
"""A message lists at most so many formulas without a weight."""


def check_whole(model: Model) -> None:
    """Refuse a model whose parts do not fit together."""
    for predicate in model.predicates.values():
        _check_predicate(predicate)
    _check_all_declared(model)
    for rule in model.rules:
        _check_rule(model, rule)
    for demand in model.demands:
        _check_demand(model, demand)


# --- predicates and atoms


def _check_predicate(predicate: ast.Predicate) -> None:
    if len(predicate.values) < 2 or len(set(predicate.values)) < len(predicate.values):
        raise ModelError(
            f"{predicate.name} needs at least two values, all different", predicate.span
        )
    if predicate.closed and predicate.values != ast.BOOLEAN:
        raise ModelError(
            f"{predicate.name} cannot be closed: only a predicate with the values false and true "
            "can; drop its *",
            predicate.span,
        )


def _check_all_declared(model: Model) -> None:
    """Names all unknown predicates at once, if there are several."""
    atoms = [atom for rule in model.rules for atom in ast.rule_atoms(rule)]
    unknown = dict[str, Span | None]()
    for atom in atoms:
        if atom.predicate not in model.predicates:
            unknown.setdefault(atom.predicate, atom.span)
    if len(unknown) > 1:
        raise ModelError(
            f"unknown predicates {', '.join(unknown)}; {_declared(model, next(iter(unknown)))}",
            next(iter(unknown.values())),
        )


def _declared(model: Model, unknown: str) -> str:
    """What the model declares instead of an unknown predicate."""
    kinds = ("relation", "function")
    names = [name for name, p in model.predicates.items() if p.kind in kinds]
    for name in names:
        if name.lower() == unknown.lower():
            return f"the model writes {name}, and case matters"
    if not names and model.rules:
        return (
            f"the model declares none: declare predicates with their sorts, as in "
            f"{unknown}(person), or read the file that includes this one"
        )
    return f"the model declares {comma_list(names)}"


def checked_predicate(
    model: Model, atom: ast.Atom, error: type[InputError] = ModelError
) -> ast.Predicate:
    """The predicate of an atom, or an error that points at the atom."""
    checkpoint()
    if not isinstance(atom, ast.Atom):
        raise wrong_type("atom", "an Atom", atom)
    predicate = model.predicates.get(atom.predicate)
    if predicate is None:
        raise error(
            f"unknown predicate {atom.predicate}; {_declared(model, atom.predicate)}", atom.span
        )
    if len(atom.args) != len(predicate.sorts):
        wanted, got = len(predicate.sorts), len(atom.args)
        raise error(f"{predicate.name} takes {counted(wanted, 'argument')}, got {got}", atom.span)
    return predicate


def check_value(model: Model, part: ast.Is) -> None:
    """Refuse a value that the predicate does not take."""
    predicate = model.predicates[part.atom.predicate]
    if part.value not in predicate.values:
        values = comma_list(predicate.values)
        remedy = ""
        if part.value == "true":
            remedy = f"; write {part.atom} = {predicate.values[0]}"
        elif part.value in model.predicates:
            remedy = (
                f", and is compared with one of these; to see how often it agrees with "
                f"{part.value}, ask for both, as in -q '{part.atom}, {part.value}'"
            )
        raise ModelError(
            f"{predicate.name} takes the values {values}{remedy}", part.span or part.atom.span
        )


# --- rules


def _check_rule(model: Model, rule: ast.Rule) -> None:
    for atom in ast.rule_atoms(rule):
        checked_predicate(model, atom)
    check_restricted_variables(rule)
    model.variable_sorts(rule)
    if isinstance(rule, ast.TableParfactor):
        _check_table(model, rule)
        return
    for part in ast.subformulas(rule.formula):
        if isinstance(part, ast.Is):
            check_value(model, part)
    if rule.weight is not None:
        _check_weight(model, rule.weight, rule)
    _check_expanded(rule)


def _check_demand(model: Model, demand: ast.Demand) -> None:
    given = () if demand.given is None else (demand.given,)
    for formula in (demand.formula, *given):
        _check_rule(model, ast.WeightedFormula(formula, None, span=demand.span))


def _check_expanded(rule: ast.WeightedFormula) -> None:
    free = set(free_variables(rule))
    for variable in sorted(rule.expanded):
        if variable not in free:
            raise ModelError(f"+{variable} is bound by a quantifier; drop the +", rule.span)


def _check_table(model: Model, table: ast.TableParfactor) -> None:
    ranges = [len(model.predicates[atom.predicate].values) for atom in table.atoms]
    wanted = math.prod(ranges)
    if len(table.potentials) != wanted:
        product = f"{' x '.join(map(str, ranges))} = " if len(ranges) > 1 else ""
        raise ModelError(
            f"the table has {len(table.potentials)} entries, but its atoms need {product}{wanted}",
            table.span,
        )
    for potential in table.potentials:
        _check_weight(model, potential, table)


def _check_weight(model: Model, weight: ast.Weight, rule: ast.Rule) -> None:
    for part in ast.weight_parts(weight):
        if isinstance(part, ast.DataWeight) and part.variable not in free_variables(rule):
            raise ModelError(
                f"{part.variable} is no free variable of this formula, so it is not known "
                "which weight is meant",
                rule.span,
            )
        if isinstance(part, ast.NamedWeight):
            check_weight_name(model, part.name, part.span or rule.span)
        if isinstance(part, ast.SizeOf) and part.sort not in model.sorts:
            raise ModelError(
                f"unknown sort {part.sort}; the model has {comma_list(model.sorts)}",
                part.span or rule.span,
            )
        if isinstance(part, ast.Number) and not math.isfinite(part.value):
            raise ModelError(
                f"{part.value} is not a finite number; a formula that must hold is written "
                "without a weight and with a period at its end",
                rule.span,
            )


# --- weights


def check_weight_name(model: Model, name: str, span: Span | None = None) -> None:
    """Refuse a weight that the model does not declare."""
    if name not in model.weights:
        declared = comma_list(f"${known}" for known in model.weights)
        raise ModelError(f"unknown weight ${name}; the model declares {declared}", span)


def finite_value(name: str, value: object) -> float:
    """The value of a named weight, or an error that says what is wrong with it."""
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or isinstance(value, bool):
        raise ModelError(f"the value of ${name} must be a finite number, got {shown(value)}")
    return number


def missing_weights(model: Model, missing: Mapping[str, ast.WeightedFormula]) -> ModelError:
    """The error that names the formulas without a weight, and how to give them one."""
    lines = []
    for name, rule in list(missing.items())[:MOST_LISTED]:
        place = f" ({rule.span.source.name}, line {rule.span.line})" if rule.span else ""
        lines.append(f"  ${name} for {rule_text(rule)}{place}{_for_constants(model, name, rule)}")
    if len(missing) > MOST_LISTED:
        lines.append(f"  and {len(missing) - MOST_LISTED} more")
    first = next(iter(missing))
    what = "1 formula has" if len(missing) == 1 else f"{len(missing)} formulas have"
    return ModelError(
        f"{what} no weight:\n" + "\n".join(lines) + "\nwrite one in front, or give it with "
        f'-w {first}=0.5 (model.with_weights({{"{first}": 0.5}}) in Python); '
        "a formula that must hold ends in a period"
    )


def _for_constants(model: Model, name: str, rule: ast.WeightedFormula) -> str:
    """The names of the weights for single constants, of those that have none yet."""
    if not rule.expanded:
        return ""
    own = model.own_weights(rule)
    left = (chosen for chosen in model.choices_of_constants(rule) if chosen not in own)
    names = [f"${ast.applied(name, chosen)}" for chosen in islice(left, 4)]
    listed = ", ".join([*names[:3], "..."] if len(names) > 3 else names)
    return f"; for single constants {listed}" if names else ""


# --- names and sizes


def checked_names(given: Iterable[str | int], what: str) -> tuple[str, ...]:
    """The names of constants or values; whole numbers are names, too."""
    items = elements(given)
    if items is None:
        raise ModelError(f"{what} must be a list of names, got {shown(given)}")
    listed: dict[str, None] = {}  # keeps the order
    for item in items:
        # Texts are told at once; of a million names, asking whether they are numbers takes longer.
        is_number = not isinstance(item, str) and isinstance(item, Integral)
        name = str(item) if is_number else item
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ModelError(f"{shown(name)} among the {what} is not a name")
        if name in listed:
            raise ModelError(f"{name} is listed twice among the {what}")
        listed[name] = None
    return tuple(listed)


def whole_size(sort: str, size: object) -> int:
    """The size that is given for a sort, if it is a whole number."""
    try:
        whole = int(size)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole != size or isinstance(size, bool):
        raise SizeError(f"the size of {sort} must be a whole number, got {shown(size)}")
    return int(whole)


COUNTABLE = 10**306
"""The most atoms of a predicate, or groundings of a rule: counts become floating point, which ends
at 1e308, and energies and sums need some room."""

LARGE_DOMAIN = 10**6
"""With fewer objects, no rule has so many variables that its groundings need to be counted."""


def check_countable(model: Model, sizes: Mapping[str, int]) -> None:
    """Refuse domains over which atoms or groundings are too many for floating point."""
    if max(sizes.values(), default=0) <= LARGE_DOMAIN:
        return
    for predicate in model.predicates.values():
        atoms = math.prod(sizes[sort] for sort in predicate.sorts)
        if atoms > COUNTABLE:
            raise _uncountable(f"{predicate.name} has", atoms, "atoms", predicate.span)
    for rule in model.rules:
        groundings = math.prod(sizes[sort] for sort in model.scope(rule).sorts.values())
        if groundings > COUNTABLE:
            raise _uncountable("this rule has", groundings, "groundings", rule.span)


def _uncountable(owner: str, number: int, noun: str, span: Span | None) -> SizeError:
    return SizeError(
        f"the domain is too large: {owner} about 1e{math.log10(number):.0f} {noun}, and floating "
        "point ends at 1e308; take fewer objects",
        span,
    )


def missing_sizes(sorts: Sequence[ast.Sort]) -> SizeError:
    """The error that says how to give sizes to sorts."""
    names = [sort.name for sort in sorts]
    options = " ".join(f"-n {name}=1000" for name in names)
    mapping = ", ".join(f'"{name}": 1000' for name in names)
    declared = " and ".join(f"{name} = 1000" for name in names)
    what = (
        f"sort {names[0]} has no size; give one"
        if len(names) == 1
        else (f"sorts {', '.join(names)} have no sizes; give them")
    )
    return SizeError(
        f"{what} with {options} (sizes={{{mapping}}} in Python) or declare {declared}",
        sorts[0].span,
    )
