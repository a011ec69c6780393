"""Which variables a rule quantifies over, and the sort of each variable and constant."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from liftgbp.model import ast
from liftgbp.support.errors import ModelError, Span

Known = TypeVar("Known", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RuleScope:
    """What a rule is about.

    sorts       the sort of each variable, free or quantified
    free        the variables whose substitutions make its groundings, in order of appearance
    quantified  the variables of the quantifiers inside
    constants   the (sort, constant) pairs that it mentions, each once
    """

    sorts: Mapping[str, str]
    free: tuple[str, ...]
    quantified: tuple[ast.Variable, ...]
    constants: tuple[tuple[str, str], ...]

    @staticmethod
    def of(rule: ast.Rule, predicates: Mapping[str, ast.Predicate]) -> RuleScope:
        """The scope of a rule about these predicates."""
        sorts = term_sorts(rule, predicates)
        return RuleScope(
            sorts={
                term.name: sort for term, sort in sorts.items() if isinstance(term, ast.Variable)
            },
            free=free_variables(rule),
            quantified=quantified_variables(rule),
            constants=tuple(dict.fromkeys(constants_of(rule, predicates, sorts))),
        )


def free_variables(rule: ast.Rule) -> tuple[str, ...]:
    """The variables whose substitutions make the groundings of a rule, in order of appearance."""
    seen: dict[str, None] = {}
    if isinstance(rule, ast.TableParfactor):
        for atom in rule.atoms:
            seen.update((term.name, None) for term in atom.args if isinstance(term, ast.Variable))
    else:
        seen.update((name, None) for name in _free(rule.formula, frozenset()))
    for restriction in rule.restrictions:
        seen.update((name, None) for name in _free(restriction, frozenset()))
    return tuple(seen)


def _free(formula: ast.Formula, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(formula, ast.Exists | ast.Forall):
        bound |= {formula.variable.name}
    names = (term.name for term in ast.terms_of(formula) if isinstance(term, ast.Variable))
    yield from (name for name in names if name not in bound)
    for part in ast.children(formula):
        yield from _free(part, bound)


def quantified_variables(rule: ast.Rule) -> tuple[ast.Variable, ...]:
    """The variables of the quantifiers inside a rule."""
    if isinstance(rule, ast.TableParfactor):
        return ()
    return tuple(
        part.variable
        for part in ast.subformulas(rule.formula)
        if isinstance(part, ast.Exists | ast.Forall)
    )


def check_restricted_variables(rule: ast.Rule) -> None:
    """Refuses restrictions on variables that are not free in what they restrict.

    The groundings would range over such a variable too, which would multiply the weight.
    """
    free = set(free_variables(replace(rule, restrictions=())))
    bound = {variable.name for variable in quantified_variables(rule)}
    for restriction in rule.restrictions:
        for part in ast.subformulas(restriction):
            for term in ast.terms_of(part):
                if isinstance(term, ast.Variable) and term.name not in free:
                    problem = (
                        "is bound by a quantifier; restrictions are about free variables"
                        if term.name in bound
                        else "occurs only after the bar; use it in the formula"
                    )
                    raise ModelError(f"{term} {problem}", term.span or rule.span)


def term_sorts(rule: ast.Rule, predicates: Mapping[str, ast.Predicate]) -> dict[ast.Term, str]:
    """The sort of each variable and constant of a rule.

    A variable has one sort in a rule, given by its argument positions or by a term that it is
    compared with. A constant may belong to several sorts, one per position; the entry here is the
    sort that it is compared in.
    """
    sorts: dict[ast.Term, str] = {}
    for atom in ast.rule_atoms(rule):
        for term, sort in zip(atom.args, predicates[atom.predicate].sorts, strict=True):
            known = sorts.setdefault(term, sort)
            if known != sort and isinstance(term, ast.Variable):
                raise ModelError(
                    f"variable {term} is a {known} elsewhere in this formula and a {sort} here; "
                    "use two variables",
                    term.span or atom.span,
                )
    equalities = list(ast.rule_equalities(rule))
    spread(sorts, [(equality.left, equality.right) for equality in equalities])
    for equality in equalities:
        _check_comparable(equality, sorts, rule.span)
    compared = [term for equality in equalities for term in (equality.left, equality.right)]
    variables = [term for term in compared if isinstance(term, ast.Variable)]
    for variable in (*variables, *quantified_variables(rule)):
        if variable not in sorts:
            raise ModelError(
                f"the sort of variable {variable} is unknown; use it in an atom",
                variable.span or rule.span,
            )
    return sorts


def spread(sorts: dict[Known, str], pairs: Sequence[tuple[Known, Known]]) -> None:
    """Give the sort of one of a pair to the other, as far as that leads.

    >>> sorts = {"x": "person"}
    >>> spread(sorts, [("z", "y"), ("y", "x")])
    >>> sorts
    {'x': 'person', 'y': 'person', 'z': 'person'}
    """
    partners: dict[Known, list[Known]] = {}
    for one, other in pairs:
        partners.setdefault(one, []).append(other)
        partners.setdefault(other, []).append(one)
    left = deque(one for one in partners if one in sorts)
    while left:
        one = left.popleft()
        for other in partners[one]:
            if other not in sorts:
                sorts[other] = sorts[one]
                left.append(other)


def _check_comparable(
    equality: ast.Equal, sorts: Mapping[ast.Term, str], rule_span: Span | None
) -> None:
    left, right = equality.left, equality.right
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        raise ModelError(
            f"{left} and {right} are both constants; compare a variable with one of them",
            equality.span or rule_span,
        )
    both_variables = isinstance(left, ast.Variable) and isinstance(right, ast.Variable)
    if both_variables and sorts.get(left) != sorts.get(right):
        raise ModelError(
            f"{left} is a {sorts.get(left)} and {right} is a {sorts.get(right)}; "
            "only objects of one sort can be compared",
            equality.span or rule_span,
        )


def constants_of(
    rule: ast.Rule, predicates: Mapping[str, ast.Predicate], sorts: Mapping[ast.Term, str]
) -> Iterator[tuple[str, str]]:
    """The (sort, constant) pairs that a rule mentions, with repetitions."""
    for atom in ast.rule_atoms(rule):
        for term, sort in zip(atom.args, predicates[atom.predicate].sorts, strict=True):
            if isinstance(term, ast.Constant):
                yield sort, term.name
    for equality in ast.rule_equalities(rule):
        for one, other in ((equality.left, equality.right), (equality.right, equality.left)):
            # The variable at the other side decides, since a constant may name several objects.
            if isinstance(one, ast.Constant) and isinstance(other, ast.Variable):
                yield sorts[other], one.name


def expanded_variables(rule: ast.Rule) -> frozenset[str]:
    """The variables written `+x`."""
    return rule.expanded if isinstance(rule, ast.WeightedFormula) else frozenset()


def shared_weight(rule: ast.Rule) -> str | None:
    """The name of the weight of a rule about `+x`, of which each constant can have its own."""
    if not isinstance(rule, ast.WeightedFormula) or not rule.expanded:
        return None
    return rule.weight.name if isinstance(rule.weight, ast.NamedWeight | ast.OpenWeight) else None
