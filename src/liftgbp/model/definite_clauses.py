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

from liftgbp.model import ast
from liftgbp.model.function_terms import TermDefinition, is_new
from liftgbp.model.scopes import free_variables
from liftgbp.support.errors import Span

MOST_IN_FRONT = 4
"""So many terms of bodies are variables of the whole formula. All ways in which these coincide are
gone through, which is cheap for a few of them; others are quantified in their body."""


@dataclass(frozen=True, slots=True)
class DefiniteClause:
    """The head and the body of a clause, with what defines the terms of both."""

    head: ast.Atom
    head_terms: tuple[TermDefinition, ...]
    body: ast.Formula
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
    clauses: Iterable[DefiniteClause], predicates: Mapping[str, ast.Predicate]
) -> Iterator[ast.WeightedFormula]:
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


def _reasons(clauses: Sequence[DefiniteClause]) -> ast.WeightedFormula:
    """If the head holds, one of the bodies does."""
    first = clauses[0]
    terms = sum(len(clause.body_terms) for clause in clauses)
    front = _Front(list(first.head_terms), set(first.head_variables), terms <= MOST_IN_FRONT)
    bodies = tuple(front.body(clause, first.head_variables) for clause in clauses)
    conditions = tuple(ast.Is(one.atom) for one in front.terms)
    head = ast.Is(first.head, span=first.span)
    return ast.WeightedFormula(
        ast.Implies(ast.And((*conditions, head)) if conditions else head, _any_of(bodies)),
        None,
        span=first.span,
    )


@dataclass(slots=True)
class _Front:
    """The terms that depend on the variables of the head only, which stand in front."""

    terms: list[TermDefinition]
    taken: set[str]
    takes_more: bool

    def body(self, clause: DefiniteClause, head: Sequence[str]) -> ast.Formula:
        """The body of a clause in the variables of another head of the same form."""
        new = dict(zip(clause.head_variables, head, strict=True))
        terms = {one.variable.name for one in clause.body_terms}
        local = [name for name in ast.variable_names(clause.body) if name not in new]
        for term in clause.body_terms:
            local += [name for name in sorted(term.over) if name not in {*new, *local, *terms}]
        for name in local:
            if name not in terms:
                new[name] = self._fresh(name, new.values())
        free = free_variables(ast.WeightedFormula(clause.body, None))
        over = {name for term in clause.body_terms for name in term.over}
        bound = [new[name] for name in local if name not in terms and name in {*free, *over}]
        inside: list[TermDefinition] = []
        for term in clause.body_terms:
            known = {one.key: one.variable.name for one in self.terms}
            key = replace(term, atom=_renamed_atom(term.atom, new)).key
            name = known.get(key) or self._fresh(term.variable.name, new.values())
            new[term.variable.name] = name
            found = TermDefinition(ast.Variable(name), _renamed_atom(term.atom, new))
            inner = {*bound, *(one.variable.name for one in inside)}
            if key not in known and (found.over & inner or not self.takes_more):
                inside.append(found)
            elif key not in known:
                self.terms.append(found)
                self.taken.add(name)
        formula = _renamed(clause.body, new)
        if inside:
            formula = ast.And((*(ast.Is(one.atom) for one in inside), formula))
        for name in reversed([*bound, *(one.variable.name for one in inside)]):
            formula = ast.Exists(ast.Variable(name), formula)
        return formula

    def _fresh(self, name: str, others: Collection[str]) -> str:
        taken = self.taken.union(others)
        if name not in taken:
            return name
        if is_new(name):
            return next(own for k in count(1) if (own := f"_{k}") not in taken)
        return next(own for k in count(1) if (own := name + "'" * k) not in taken)


def _other_atoms(
    forms: Sequence[DefiniteClause], predicates: Mapping[str, ast.Predicate]
) -> Iterator[ast.WeightedFormula]:
    """That atoms which no head has the form of are false; nothing if there are none."""
    head = forms[0].head
    names = [ast.Variable(f"x{k + 1}") for k in range(len(head.args))]
    choices = []
    for clause in forms:
        terms = {one.variable: one.atom for one in clause.head_terms}
        parts: list[ast.Formula] = []
        seen: dict[ast.Term, ast.Variable] = {}
        for name, arg in zip(names, clause.head.args, strict=True):
            if arg in seen or isinstance(arg, ast.Constant):
                parts.append(ast.Equal(name, seen.get(arg, arg)))
            elif isinstance(arg, ast.Variable) and arg in terms:
                parts.append(_is_value(terms[arg], name))
            seen.setdefault(arg, name)
        if not parts:
            return
        choices.append(ast.And(tuple(parts)) if len(parts) > 1 else parts[0])
    if _constructs_all(forms, predicates):
        return
    atom = ast.Is(ast.Atom(head.predicate, tuple(names)))
    yield ast.WeightedFormula(ast.Implies(atom, _any_of(choices)), None, span=forms[0].span)


def _is_value(atom: ast.Atom, name: ast.Variable) -> ast.Formula:
    """That an object is the value of a function, for some arguments."""
    args = [ast.Variable(f"y{k + 1}") for k in range(len(atom.args) - 1)]
    formula: ast.Formula = ast.Is(ast.Atom(atom.predicate, (*args, name)))
    for variable in reversed(args):
        formula = ast.Exists(variable, formula)
    return formula


def _constructs_all(
    forms: Sequence[DefiniteClause], predicates: Mapping[str, ast.Predicate]
) -> bool:
    """Whether heads differ in the function of one argument only, and all functions are there."""
    places = set()
    functions: set[str] = set()
    for clause in forms:
        atoms = {one.variable: one.atom for one in clause.head_terms}
        if any(isinstance(arg, ast.Constant) for arg in clause.head.args) or len(atoms) != 1:
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


def _any_of(parts: Sequence[ast.Formula]) -> ast.Formula:
    return parts[0] if len(parts) == 1 else ast.Or(tuple(parts))


def _shape(
    args: Sequence[ast.Term], terms: Sequence[TermDefinition], seen: dict[str, int]
) -> object:
    """The arguments with the names of variables left out."""
    atoms = {one.variable.name: one.atom for one in terms}
    shape: list[object] = []
    for arg in args:
        if isinstance(arg, ast.Constant):
            shape.append(arg.name)
        elif arg.name in atoms:
            shape.append(
                (atoms[arg.name].predicate, _shape(atoms[arg.name].args[:-1], terms, seen))
            )
        else:
            shape.append(seen.setdefault(arg.name, len(seen)))
    return tuple(shape)


def _variables(args: Sequence[ast.Term], terms: Sequence[TermDefinition]) -> dict[str, None]:
    atoms = {one.variable.name: one.atom for one in terms}
    found: dict[str, None] = {}
    for arg in args:
        if isinstance(arg, ast.Variable):
            if arg.name in atoms:
                found.update(_variables(atoms[arg.name].args[:-1], terms))
            found[arg.name] = None
    return found


def _renamed(formula: ast.Formula, new: Mapping[str, str]) -> ast.Formula:
    """The formula with other names of variables, free and bound."""
    match formula:
        case ast.Is(atom, value, span):
            return ast.Is(_renamed_atom(atom, new), value, span)
        case ast.Equal(left, right, span):
            return ast.Equal(_renamed_term(left, new), _renamed_term(right, new), span)
        case ast.Exists(variable, body) | ast.Forall(variable, body):
            name = ast.Variable(new.get(variable.name, variable.name), variable.span)
            return replace(formula, variable=name, body=_renamed(body, new))
    return ast.map_formula(lambda part: _renamed(part, new), formula)


def _renamed_atom(atom: ast.Atom, new: Mapping[str, str]) -> ast.Atom:
    return replace(atom, args=tuple(_renamed_term(term, new) for term in atom.args))


def _renamed_term(term: ast.Term, new: Mapping[str, str]) -> ast.Term:
    if isinstance(term, ast.Variable) and term.name in new:
        return ast.Variable(new[term.name], term.span)
    return term
