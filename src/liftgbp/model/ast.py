"""The syntax tree: sorts, predicates, formulas, weights, rules and queries, as frozen values.

Spans point into the user's text and take no part in comparisons, so that a model built in Python
equals the same model read from a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from liftgbp.support.errors import Span
from liftgbp.support.limits import checkpoint

BOOLEAN = ("false", "true")


@dataclass(frozen=True, slots=True)
class Sort:
    """A named set of objects, some of which have names; the size may be left open.

    The model declares `constants`; objects that only evidence names are in `from_evidence`.
    """

    name: str
    constants: tuple[str, ...] = ()
    size: int | None = None
    from_evidence: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate with the sorts of its arguments and the values that its atoms take.

    Atoms of a `closed` predicate are false unless evidence says otherwise. The last argument of a
    `function` is its value; the objects of a `step` such as `time+2` and of an `order` such as
    `time<` are numbers, and its atoms follow from them.
    """

    name: str
    sorts: tuple[str, ...] = ()
    values: tuple[str, ...] = BOOLEAN
    closed: bool = False
    kind: Literal["relation", "function", "step", "order"] = "relation"
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.sorts)})" if self.sorts else self.name

    def literal(self, atom: str, value: int) -> str:
        """One of its atoms with a value, in words.

        >>> Predicate("rain").literal("rain", 0)
        '!rain'
        >>> Predicate("mood", values=("low", "high")).literal("mood(x)", 1)
        'mood(x) = high'
        """
        if self.values == BOOLEAN:
            return atom if value else f"!{atom}"
        return f"{atom} = {self.values[value]}"

    @property
    def is_stated(self) -> bool:
        """Whether people state facts about it; those of steps and orders are computed."""
        return self.kind not in ("step", "order")


def applied(name: str, arguments: Iterable[str]) -> str:
    """A predicate with its arguments as text, without parentheses if there are none.

    >>> applied("friends", ["x", "Anna"]), applied("rain", [])
    ('friends(x,Anna)', 'rain')
    """
    listed = ",".join(arguments)
    return f"{name}({listed})" if listed else name


# --- terms and atoms


@dataclass(frozen=True, slots=True)
class Variable:
    """A logical variable."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """The name of one object."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


Term: TypeAlias = Variable | Constant


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: str
    args: tuple[Term, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return applied(self.predicate, map(str, self.args))


# --- formulas


@dataclass(frozen=True, slots=True)
class Is:
    """The atom has this value; a Boolean atom written on its own has the value `true`."""

    atom: Atom
    value: str = "true"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Equal:
    """The two terms are the same object."""

    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of any number of formulas."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of any number of formulas."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """Implication."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff:
    """Equivalence."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    """Some object of the variable's sort satisfies the body."""

    variable: Variable
    body: Formula


@dataclass(frozen=True, slots=True)
class Forall:
    """Every object of the variable's sort satisfies the body.

    Only quantifiers below the top of a formula appear as nodes: in front of a formula `FORALL` is
    the default reading of its free variables.
    """

    variable: Variable
    body: Formula


Formula: TypeAlias = Is | Equal | Not | And | Or | Implies | Iff | Exists | Forall


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas right below a formula, from left to right.

    >>> rain, wet = Is(Atom("rain")), Is(Atom("wet"))
    >>> children(Implies(Not(rain), wet)) == (Not(rain), wet), children(rain)
    (True, ())
    """
    match formula:
        case Not(body) | Exists(_, body) | Forall(_, body):
            return (body,)
        case And(parts) | Or(parts):
            return parts
        case Implies(left, right) | Iff(left, right):
            return (left, right)
    return ()


def terms_of(part: Formula) -> tuple[Term, ...]:
    """The terms of an atom, an equality or a quantifier, but not those of formulas inside."""
    match part:
        case Is(atom):
            return atom.args
        case Equal(left, right):
            return (left, right)
        case Exists(variable) | Forall(variable):
            return (variable,)
    return ()


def map_formula(function: Callable[[Formula], Formula], formula: Formula) -> Formula:
    """The same formula with each of its children replaced by the function's value of it.

    >>> rain, wet = Is(Atom("rain")), Is(Atom("wet"))
    >>> map_formula(Not, Or((rain, wet))) == Or((Not(rain), Not(wet)))
    True
    """
    checkpoint()
    match formula:
        case Is() | Equal():
            return formula
        case And(parts) | Or(parts):
            return replace(formula, parts=tuple(map(function, parts)))
        case Not(body) | Exists(_, body) | Forall(_, body):
            return replace(formula, body=function(body))
        case Implies(left, right) | Iff(left, right):
            return replace(formula, left=function(left), right=function(right))


# --- weights


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number."""

    value: float


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The number of objects of a sort, written `|person|`."""

    sort: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NamedWeight:
    """The value that the model gives to a name, written `$alpha`."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right` with an operator among `+ - * /`."""

    operator: str
    left: Weight
    right: Weight


@dataclass(frozen=True, slots=True)
class Logarithm:
    """The natural logarithm of a number, written `log(0.9/0.1)`."""

    argument: Weight


@dataclass(frozen=True, slots=True)
class OpenWeight:
    """The weight of a formula that states none; `$name` can give it a value."""

    name: str


def own_weight(text: str) -> str:
    """The name of the weight that a formula about `+x` has for one constant, in its usual form.

    >>> own_weight('w1( Anna, "Mary Ann" )'), own_weight("alpha")
    ('w1(Anna,Mary Ann)', 'alpha')
    """
    name, _, arguments = text.partition("(")
    listed = arguments.rstrip().removesuffix(")").split(",") if arguments else []
    return applied(name.strip(), (one.strip().strip('"') for one in listed))


def is_own(name: str) -> bool:
    """Whether this is the name of a weight for one constant."""
    return name.endswith(")")


@dataclass(frozen=True, slots=True)
class DataWeight:
    """The number that a variable of the formula stands for, written `conf: formula`."""

    variable: str


Weight: TypeAlias = Number | SizeOf | NamedWeight | OpenWeight | DataWeight | Arithmetic | Logarithm

_NO_NAMES: Mapping[str, float] = MappingProxyType({})


def evaluate_weight(
    weight: Weight, sizes: Mapping[str, int], named: Mapping[str, float] = _NO_NAMES
) -> float:
    """The value of a weight for these domain sizes and named weights.

    >>> evaluate_weight(Arithmetic("/", Number(1.5), SizeOf("person")), {"person": 3})
    0.5
    >>> evaluate_weight(Arithmetic("*", Number(2.0), NamedWeight("alpha")), {}, {"alpha": 0.7})
    1.4
    """
    match weight:
        case Number(value):
            return value
        case SizeOf(sort):
            return float(sizes[sort])
        case NamedWeight(name) | OpenWeight(name):
            return named[name]
        case Arithmetic(operator, left, right):
            a, b = (evaluate_weight(part, sizes, named) for part in (left, right))
            return {"+": a + b, "-": a - b, "*": a * b}[operator] if operator != "/" else a / b
        case DataWeight(variable):
            raise KeyError(variable)  # evidence puts numbers in its place first
        case Logarithm(argument):
            number = evaluate_weight(argument, sizes, named)
            return math.log(number) if number > 0 else math.nan


def weight_parts(weight: Weight) -> Iterator[Weight]:
    """The weight and all weights inside it, outermost first."""
    yield weight
    if isinstance(weight, Arithmetic):
        yield from weight_parts(weight.left)
        yield from weight_parts(weight.right)
    elif isinstance(weight, Logarithm):
        yield from weight_parts(weight.argument)


# --- rules


@dataclass(frozen=True, slots=True)
class WeightedFormula:
    """A formula with its weight; without one (`None`) it is hard.

    `restrictions` are equalities and inequalities between terms that restrict the groundings
    themselves, and `distinct` says that all free variables of one sort are different objects.
    The variables in `expanded` were written `+x`.
    """

    formula: Formula
    weight: Weight | None
    restrictions: tuple[Equal | Not, ...] = ()
    distinct: bool = False
    expanded: frozenset[str] = frozenset()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableParfactor:
    """Potentials over a list of atoms, row-major with the last atom fastest.

    A `kept` one has equal potentials: it only holds its atoms together, in one region.
    """

    atoms: tuple[Atom, ...]
    potentials: tuple[Weight, ...]
    restrictions: tuple[Equal | Not, ...] = ()
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    kept: bool = False


Rule: TypeAlias = WeightedFormula | TableParfactor


@dataclass(frozen=True, slots=True)
class Demand:
    """A formula holds with this probability, where another one holds if there is one."""

    formula: Formula
    given: Formula | None
    probability: float
    span: Span | None = field(default=None, compare=False, repr=False)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula and all formulas inside it, outermost first."""
    yield formula
    for part in children(formula):
        yield from subformulas(part)


def variable_names(formula: Formula) -> list[str]:
    """The variables of a formula, free and bound, in order of appearance."""
    terms = (term for part in subformulas(formula) for term in terms_of(part))
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


def rule_atoms(rule: Rule) -> Iterator[Atom]:
    """Every atom occurrence of a rule, in the order of the text."""
    if isinstance(rule, TableParfactor):
        yield from rule.atoms
    else:
        for part in subformulas(rule.formula):
            if isinstance(part, Is):
                yield part.atom


def rule_equalities(rule: Rule) -> Iterator[Equal]:
    """Every equality of a rule, including those in its restrictions."""
    formulas = (rule.formula,) if isinstance(rule, WeightedFormula) else ()
    for formula in (*formulas, *rule.restrictions):
        yield from (part for part in subformulas(formula) if isinstance(part, Equal))


# --- queries


@dataclass(frozen=True, slots=True)
class Query:
    """The joint distribution of some atoms, or the probability of a formula, possibly given others.

    Of an atom after the bar (`given`), all values are asked for; a formula there (`condition`)
    holds. The text takes no part in comparisons: the same question in other words is an equal
    query.
    """

    text: str = field(compare=False)
    atoms: tuple[Atom, ...]
    given: tuple[Atom, ...] = ()
    restrictions: tuple[Equal | Not, ...] = ()
    distinct: bool = False
    formula: Formula | None = None
    """What is asked for in place of atoms."""
    condition: Formula | None = None

    @property
    def single(self) -> bool:
        """Whether the query is for one atom, and there is no condition."""
        return len(self.atoms) == 1 and not self.given and self.condition is None

    @property
    def all_true(self) -> tuple[str, ...]:
        """The values at which all atoms hold, and the formula."""
        asked = len(self.atoms) if self.formula is None else 1
        return ("true",) * (asked + len(self.given))

    @property
    def rule(self) -> WeightedFormula:
        """A rule with the atoms, variables and constants of the query, in their order."""
        parts: list[Formula] = [Is(atom) for atom in self.atoms]
        parts += [] if self.formula is None else [self.formula]
        parts += [Is(atom) for atom in self.given]
        parts += [] if self.condition is None else [self.condition]
        return WeightedFormula(And(tuple(parts)), None, self.restrictions, self.distinct)

    def __str__(self) -> str:
        return self.text


# --- reserved words


_EXACT = {"v", "distinct", "parfactor"} | {
    spelled for word in ("exist", "forall") for spelled in (word, word.title(), word.upper())
}
_IN_ANY_CASE = {"inf", "infinity", "nan"}


def is_reserved(name: str) -> bool:
    """Whether a name has a meaning of its own in the language.

    >>> is_reserved("forall"), is_reserved("NaN"), is_reserved("friends")
    (True, True, False)
    """
    return name in _EXACT or name.lower() in _IN_ANY_CASE


def reserved_message(name: str) -> str:
    """The message about a reserved word that is used as a name."""
    return f"{name} is a reserved word; choose another name"
