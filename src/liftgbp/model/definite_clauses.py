"""Definite clauses `head :- body`, whose heads hold for no other reason than one of their bodies.

Each clause is a formula `body => head` with the clause's weight. For all clauses with heads of one
form together, a hard formula says that one of the bodies holds if the head does; and atoms of the
same predicate that no head has the form of are false (predicate completion, K. L. Clark 1978). The
variables of a body that are not in the head are quantified there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from liftgbp.errors import Span
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
    Or,
    Predicate,
    Term,
    Variable,
    WeightedFormula,
    map_formula,
)
from liftgbp.model.function_terms import TermDefinition, is_new
from liftgbp.model.scopes import free_variables

MOST_IN_FRONT = 4
"""So many terms of bodies are variables of the whole formula. All ways in which these coincide are
gone through, which is cheap for a few of them; others are quantified in their body."""


@dataclass(frozen=True, slots=True)
class DefiniteClause:
    """The head and the body of a clause, with what defines the terms of both."""

    head: Atom
    head_terms: tuple[TermDefinition, ...]
    body: Formula
    body_terms: tuple[TermDefinition, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def form(self) -> object:
        """What heads of one form have in common: everything but the names of variables."""
        return self.head.predicate, _shape(self.head.args, self.head_terms, {})

    @property
    def head_variables(self) -> tuple[str, ...]:
        """The variables of the head, and those that stand for its terms, in order of appearance."""
        return tuple(_variables(self.head.args, self.head_terms))


def completions(
    clauses: Iterable[DefiniteClause], predicates: Mapping[str, Predicate]
) -> Iterator[WeightedFormula]:
    """The hard formulas that say that heads hold for no other reason."""
    by_form: dict[object, list[DefiniteClause]] = {}
    for clause in clauses:
        by_form.setdefault(clause.form, []).append(clause)
    by_predicate: dict[str, list[DefiniteClause]] = {}
    for own in by_form.values():
        yield _reasons(own)
        by_predicate.setdefault(own[0].head.predicate, []).append(own[0])
    for forms in by_predicate.values():
        yield from _other_atoms(forms, predicates)


def _reasons(clauses: Sequence[DefiniteClause]) -> WeightedFormula:
    """If the head holds, one of the bodies does."""
    first = clauses[0]
    terms = sum(len(clause.body_terms) for clause in clauses)
    front = _Front(list(first.head_terms), set(first.head_variables), terms <= MOST_IN_FRONT)
    bodies = tuple(front.body(clause, first.head_variables) for clause in clauses)
    conditions = tuple(Is(one.atom) for one in front.terms)
    head = Is(first.head, span=first.span)
    return WeightedFormula(
        Implies(And((*conditions, head)) if conditions else head, _any_of(bodies)),
        None,
        span=first.span,
    )


@dataclass(slots=True)
class _Front:
    """The terms that depend on the variables of the head only, which stand in front."""

    terms: list[TermDefinition]
    taken: set[str]
    takes_more: bool

    def body(self, clause: DefiniteClause, head: Sequence[str]) -> Formula:
        """The body of a clause in the variables of another head of the same form."""
        new = dict(zip(clause.head_variables, head, strict=True))
        terms = {one.variable.name for one in clause.body_terms}
        local = [name for name in _all_variables(clause.body) if name not in new]
        for term in clause.body_terms:
            local += [name for name in sorted(term.over) if name not in {*new, *local, *terms}]
        for name in local:
            if name not in terms:
                new[name] = self._fresh(name, new.values())
        free = free_variables(WeightedFormula(clause.body, None))
        over = {name for term in clause.body_terms for name in term.over}
        bound = [new[name] for name in local if name not in terms and name in {*free, *over}]
        inside: list[TermDefinition] = []
        for term in clause.body_terms:
            known = {one.key: one.variable.name for one in self.terms}
            key = replace(term, atom=_renamed_atom(term.atom, new)).key
            name = known.get(key) or self._fresh(term.variable.name, new.values())
            new[term.variable.name] = name
            found = TermDefinition(Variable(name), _renamed_atom(term.atom, new))
            inner = {*bound, *(one.variable.name for one in inside)}
            if key not in known and (found.over & inner or not self.takes_more):
                inside.append(found)
            elif key not in known:
                self.terms.append(found)
                self.taken.add(name)
        formula = _renamed(clause.body, new)
        if inside:
            formula = And((*(Is(one.atom) for one in inside), formula))
        for name in reversed([*bound, *(one.variable.name for one in inside)]):
            formula = Exists(Variable(name), formula)
        return formula

    def _fresh(self, name: str, others: Collection[str]) -> str:
        taken = self.taken.union(others)
        if name not in taken:
            return name
        if is_new(name):
            return next(own for k in count(1) if (own := f"_{k}") not in taken)
        return next(own for k in count(1) if (own := name + "'" * k) not in taken)


def _other_atoms(
    forms: Sequence[DefiniteClause], predicates: Mapping[str, Predicate]
) -> Iterator[WeightedFormula]:
    """That atoms which no head has the form of are false; nothing if there are none."""
    head = forms[0].head
    names = [Variable(f"x{k + 1}") for k in range(len(head.args))]
    choices = []
    for clause in forms:
        terms = {one.variable: one.atom for one in clause.head_terms}
        parts: list[Formula] = []
        seen: dict[Term, Variable] = {}
        for name, arg in zip(names, clause.head.args, strict=True):
            if arg in seen or isinstance(arg, Constant):
                parts.append(Equal(name, seen.get(arg, arg)))
            elif isinstance(arg, Variable) and arg in terms:
                parts.append(_is_value(terms[arg], name))
            seen.setdefault(arg, name)
        if not parts:
            return
        choices.append(And(tuple(parts)) if len(parts) > 1 else parts[0])
    if _constructs_all(forms, predicates):
        return
    atom = Is(Atom(head.predicate, tuple(names)))
    yield WeightedFormula(Implies(atom, _any_of(choices)), None, span=forms[0].span)


def _is_value(atom: Atom, name: Variable) -> Formula:
    """That an object is the value of a function, for some arguments."""
    args = [Variable(f"y{k + 1}") for k in range(len(atom.args) - 1)]
    formula: Formula = Is(Atom(atom.predicate, (*args, name)))
    for variable in reversed(args):
        formula = Exists(variable, formula)
    return formula


def _constructs_all(forms: Sequence[DefiniteClause], predicates: Mapping[str, Predicate]) -> bool:
    """Whether heads differ in the function of one argument only, and all functions are there."""
    places = set()
    functions: set[str] = set()
    for clause in forms:
        atoms = {one.variable: one.atom for one in clause.head_terms}
        if any(isinstance(arg, Constant) for arg in clause.head.args) or len(atoms) != 1:
            return False
        places.add(next(k for k, arg in enumerate(clause.head.args) if arg in atoms))
        functions.update(one.predicate for one in atoms.values())
    if len(places) != 1:
        return False
    head = predicates.get(forms[0].head.predicate)
    if head is None or len(head.sorts) != len(forms[0].head.args):
        return False
    sort = head.sorts[places.pop()]
    return functions == {
        own.name for own in predicates.values() if own.kind == "function" and own.sorts[-1] == sort
    }


# --- formulas and their variables


def _any_of(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _shape(args: Sequence[Term], terms: Sequence[TermDefinition], seen: dict[str, int]) -> object:
    """The arguments with the names of variables left out."""
    atoms = {one.variable.name: one.atom for one in terms}
    shape: list[object] = []
    for arg in args:
        if isinstance(arg, Constant):
            shape.append(arg.name)
        elif arg.name in atoms:
            shape.append(
                (atoms[arg.name].predicate, _shape(atoms[arg.name].args[:-1], terms, seen))
            )
        else:
            shape.append(seen.setdefault(arg.name, len(seen)))
    return tuple(shape)


def _variables(args: Sequence[Term], terms: Sequence[TermDefinition]) -> dict[str, None]:
    atoms = {one.variable.name: one.atom for one in terms}
    found: dict[str, None] = {}
    for arg in args:
        if isinstance(arg, Variable):
            if arg.name in atoms:
                found.update(_variables(atoms[arg.name].args[:-1], terms))
            found[arg.name] = None
    return found


def _all_variables(formula: Formula) -> list[str]:
    """The variables of a formula, free and bound, in order of appearance."""
    found: dict[str, None] = {}

    def walk(part: Formula) -> Formula:
        match part:
            case Is(atom):
                terms: tuple[Term, ...] = atom.args
            case Equal(left, right):
                terms = (left, right)
            case Exists(variable) | Forall(variable):
                terms = (variable,)
            case _:
                terms = ()
        found.update((term.name, None) for term in terms if isinstance(term, Variable))
        return map_formula(walk, part)

    walk(formula)
    return list(found)


def _renamed(formula: Formula, new: Mapping[str, str]) -> Formula:
    """The formula with other names of variables, free and bound."""
    match formula:
        case Is(atom, value, span):
            return Is(_renamed_atom(atom, new), value, span)
        case Equal(left, right, span):
            return Equal(_renamed_term(left, new), _renamed_term(right, new), span)
        case Exists(variable, body) | Forall(variable, body):
            name = Variable(new.get(variable.name, variable.name), variable.span)
            return replace(formula, variable=name, body=_renamed(body, new))
    return map_formula(lambda part: _renamed(part, new), formula)


def _renamed_atom(atom: Atom, new: Mapping[str, str]) -> Atom:
    return replace(atom, args=tuple(_renamed_term(term, new) for term in atom.args))


def _renamed_term(term: Term, new: Mapping[str, str]) -> Term:
    if isinstance(term, Variable) and term.name in new:
        return Variable(new[term.name], term.span)
    return term
