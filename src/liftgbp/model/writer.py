"""Models, rules and their parts as text of the language that `liftgbp.parse` reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from liftgbp.model import ast
from liftgbp.pictures.cards import MOST_LETTERS, code, count_text, shortened, table
from liftgbp.pictures.markup import Content

if TYPE_CHECKING:
    from liftgbp.model.model import Model

# How tightly each kind of formula binds; what binds more loosely than its place gets parentheses.
# A quantifier extends as far as possible, so inside other formulas it always gets them.
_LOOSEST, _IFF, _IMPLIES, _OR, _AND, _UNARY = range(6)
_SUM, _PRODUCT, _FACTOR = range(3)

# Patterns, compiled when a model is first written: most runs write none.
_STEP = r"<$|\+\d+$"  # at the end of the names of orders and steps
_NAME = r"[^\W\d]\w*"
_NUMBER = r"-?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?"


def model_text(model: Model) -> str:
    """The whole model as text, one statement per line.

    A sort without constants and size is not written; the predicates that use it imply it.

    >>> from liftgbp.model.parser import parse
    >>> print(model_text(parse("person=1e3 \\n smokes(person) \\n rain \\n 2 rain=>smokes(x)")))
    person = 1000
    smokes(person)
    rain
    2 rain => smokes(x)
    """
    blocks = (
        [f"${name} = {_number_text(value)}" for name, value in model.weights.items()],
        [line for sort in model.sorts.values() for line in _lines_of_sort(model, sort)],
        [predicate_text(p) for p in model.predicates.values() if p.is_stated],
        [rule_text(rule) for rule in model.rules],
        [demand_text(demand) for demand in model.demands],
    )
    return "\n".join(line for block in blocks for line in block)


def rule_text(rule: ast.Rule) -> str:
    """A rule as one line of text.

    >>> from liftgbp.model.ast import Atom, Is, Number, Variable, WeightedFormula
    >>> smokes = Is(Atom("smokes", (Variable("x"),)))
    >>> rule_text(WeightedFormula(smokes, Number(1.5))), rule_text(WeightedFormula(smokes, None))
    ('1.5 smokes(x)', 'smokes(x).')
    """
    restriction = _restriction_text(rule.restrictions, rule.distinct)
    if isinstance(rule, ast.TableParfactor):
        atoms = ", ".join(atom_text(atom) for atom in rule.atoms)
        potentials = ", ".join(weight_text(potential) for potential in rule.potentials)
        return f"parfactor {atoms}{restriction} : [{potentials}]"
    formula = _rule_formula(rule)
    if rule.weight is None:
        return f"{formula}{restriction}."
    if isinstance(rule.weight, ast.OpenWeight):
        return f"{formula}{restriction}"
    if isinstance(rule.weight, ast.DataWeight):
        return f"{rule.weight.variable}: {formula}{restriction}"
    return f"{weight_text(rule.weight)} {formula}{restriction}"


def _rule_formula(rule: ast.WeightedFormula) -> str:
    # At the top of a formula, FORALL is the default reading of free variables; here it is not.
    inner = isinstance(rule.formula, ast.Forall)
    return formula_text(ast.Not(ast.Not(rule.formula)) if inner else rule.formula, rule.expanded)


def demand_text(demand: ast.Demand) -> str:
    """A demand as one line of text."""
    given = "" if demand.given is None else f" | {formula_text(demand.given)}"
    return f"P({formula_text(demand.formula)}{given}) = {demand.probability:g}"


def model_body(model: Model) -> Iterable[Content]:
    """What notebooks show of a model: its sorts with sizes, its predicates, its rules."""
    sorts = [(s.name, _size_text(model, s), _names_text(model, s)) for s in model.sorts.values()]
    yield table(("sort", "size", "objects with names"), sorts, numbers=[1])
    weights = [(f"${name}", f"{value:.6g}") for name, value in model.weights.items()]
    if weights:
        yield table(("named weight", "value"), weights, numbers=[1])
    declared = [p for p in model.predicates.values() if p.is_stated]
    remarks = {"function": "function", "relation": ""}
    yield table(
        ("predicate", ""),
        [
            (code(predicate_text(p)), "closed world" if p.closed else remarks.get(p.kind, ""))
            for p in declared
        ],
    )
    yield table(("weight", "rule", "where"), map(_rule_cells, model.rules), numbers=[0])
    if model.demands:
        yield table(("demanded probability",), [(code(demand_text(d)),) for d in model.demands])


def _size_text(model: Model, sort: ast.Sort) -> str:
    if sort.size is not None:
        return count_text(sort.size)
    named = len(model.constants(sort.name))
    return count_text(named) if named else "to be given"


def _names_text(model: Model, sort: ast.Sort) -> str:
    names = model.constants(sort.name)
    shown = ", ".join(map(constant_text, names[:MOST_NAMES]))
    left = len(names) - MOST_NAMES
    return f"{shown} and {left} more" if left > 0 else shown


def _rule_cells(rule: ast.Rule) -> tuple[Content, ...]:
    """Weight, formula and restrictions."""
    where = _restriction_text(rule.restrictions, rule.distinct).removeprefix(" | ")
    if isinstance(rule, ast.TableParfactor):
        whole = rule_text(rule).removesuffix(f" | {where}") if where else rule_text(rule)
        return "", code(shortened(whole, MOST_LETTERS)), code(where)
    weight: Content
    match rule.weight:
        case None:
            weight = "hard"
        case ast.OpenWeight():
            weight = "none yet"
        case _:
            weight = code(weight_text(rule.weight))
    return weight, code(shortened(_rule_formula(rule), MOST_LETTERS)), code(where) if where else ""


MOST_NAMES = 6
"""How many objects of a sort notebooks name."""


# --- declarations


def _lines_of_sort(model: Model, sort: ast.Sort) -> Iterable[str]:
    # Names from evidence follow those that rules mention; only a full list keeps this order.
    return sort_lines(sort, model.constants(sort.name) if sort.from_evidence else sort.constants)


def sort_lines(sort: ast.Sort, constants: tuple[str, ...]) -> Iterable[str]:
    """The declarations of a sort: the names of objects, and its size."""
    if constants:
        yield f"{sort.name} = {{{', '.join(_listed_constants(constants))}}}"
    if sort.size is not None:
        yield f"{sort.name} = {sort.size}"


def _listed_constants(constants: tuple[str, ...]) -> list[str]:
    first, last = constants[0], constants[-1]
    if len(constants) > 3 and first.isdecimal() and last.isdecimal():
        whole_range = tuple(map(str, range(int(first), int(last) + 1)))
        if constants == whole_range:
            return [first, "...", last]
    return [constant_text(constant) for constant in constants]


def predicate_text(predicate: ast.Predicate) -> str:
    """The declaration of a predicate."""
    if predicate.kind == "function":
        *arguments, result = predicate.sorts
        return f"{result} {predicate.name}({', '.join(arguments)})"
    sorts = f"({', '.join(predicate.sorts)})" if predicate.sorts else ""
    if predicate.values == ast.BOOLEAN:
        return "*" * predicate.closed + predicate.name + sorts
    return f"{predicate.name}{sorts} : {{{', '.join(map(_value_text, predicate.values))}}}"


# --- formulas


def formula_text(formula: ast.Formula, expanded: frozenset[str] = frozenset()) -> str:
    """A formula as text, with as few parentheses as its operators need.

    >>> from liftgbp.model.ast import And, Atom, Is, Not, Or
    >>> rain, wet = Is(Atom("rain")), Is(Atom("wet"))
    >>> formula_text(And((Or((rain, wet)), Not(rain))))
    '(rain v wet) ^ !rain'
    """
    return _operand(formula, _LOOSEST, expanded)


def _operand(formula: ast.Formula, place: int, expanded: frozenset[str]) -> str:
    """The formula, in parentheses if it binds more loosely than its place allows."""
    text, binding = _text_and_binding(formula, expanded)
    return f"({text})" if binding < place else text


def _text_and_binding(formula: ast.Formula, expanded: frozenset[str]) -> tuple[str, int]:
    def joined(operator: str, parts: Iterable[ast.Formula], place: int) -> str:
        return operator.join(_operand(part, place, expanded) for part in parts)

    match formula:
        case ast.Is() | ast.Equal():
            return _comparison(formula, "=", expanded), _UNARY
        case ast.Not(ast.Equal() | ast.Is() as body) if not _is_plain(body):
            return _comparison(body, "!=", expanded), _UNARY
        case ast.Not(body):
            return f"!{_operand(body, _UNARY, expanded)}", _UNARY
        case ast.And(parts):
            return joined(" ^ ", parts, _UNARY), _AND
        case ast.Or(parts):
            return joined(" v ", parts, _AND), _OR
        case ast.Implies(left, right):
            first = _operand(left, _OR, expanded)
            return f"{first} => {_operand(right, _IMPLIES, expanded)}", _IMPLIES
        case ast.Iff(left, right):
            first = _operand(left, _IMPLIES, expanded)
            return f"{first} <=> {_operand(right, _IFF, expanded)}", _IFF
        case ast.Exists(variable, body) | ast.Forall(variable, body):
            word = "EXIST" if isinstance(formula, ast.Exists) else "FORALL"
            return f"{word} {variable} {formula_text(body, expanded)}", _LOOSEST


def _is_plain(part: ast.Is | ast.Equal) -> bool:
    return (
        isinstance(part, ast.Is)
        and part.value == "true"
        and not re.search(_STEP, part.atom.predicate)
    )


def _comparison(part: ast.Is | ast.Equal, operator: str, expanded: frozenset[str]) -> str:
    if isinstance(part, ast.Equal):
        return f"{_compared_text(part.left)} {operator} {_compared_text(part.right)}"
    if step := re.search(_STEP, part.atom.predicate):
        first, second = map(_compared_text, part.atom.args)
        if step[0] == "<":
            return f"{first} {'<' if operator == '=' else '>='} {second}"
        return f"{second} {operator} {first}{step[0]}"
    atom = atom_text(part.atom, expanded)
    return atom if _is_plain(part) else f"{atom} {operator} {_value_text(part.value)}"


def _restriction_text(restrictions: tuple[ast.Equal | ast.Not, ...], distinct: bool) -> str:
    items = [formula_text(restriction) for restriction in restrictions]
    if distinct:
        items.append("distinct")
    return f" | {', '.join(items)}" if items else ""


# --- atoms and terms


def atom_text(atom: ast.Atom, expanded: frozenset[str] = frozenset()) -> str:
    """An atom as text.

    >>> from liftgbp.model.ast import Atom, Constant, Variable
    >>> atom_text(Atom("friends", (Variable("x"), Constant("Mary Ann"))))
    'friends(x,"Mary Ann")'
    """
    terms = ",".join(_argument_text(term, expanded) for term in atom.args)
    return f"{atom.predicate}({terms})" if terms else atom.predicate


def _argument_text(term: ast.Term, expanded: frozenset[str]) -> str:
    is_expanded = isinstance(term, ast.Variable) and term.name in expanded
    return f"+{term}" if is_expanded else _term_text(term)


def _term_text(term: ast.Term) -> str:
    return term.name if isinstance(term, ast.Variable) else constant_text(term.name)


def _compared_text(term: ast.Term) -> str:
    """A term beside a comparison, where a minus sign may belong to a weight or a step."""
    return _quoted(term.name) if term.name.startswith("-") else _term_text(term)


def constant_text(name: str) -> str:
    """The name of an object as text, in quotes where it would be read as something else.

    >>> print(constant_text("Anna"), constant_text("-7"), constant_text("Anna Lee"))
    Anna -7 "Anna Lee"
    >>> print(constant_text("x"), constant_text("Exist"))
    "x" "Exist"
    """
    starts_well = name[:1].isupper() or name[:1].isdecimal() or name[:1] == "-"
    return _value_text(name) if starts_well and not ast.is_reserved(name) else _quoted(name)


def object_text(model: Model, sort: str, number: int) -> str:
    """The name of an object, given its number; `#12` is the twelfth object, which has no name."""
    names = model.constants(sort)
    return constant_text(names[number]) if number < len(names) else f"#{number + 1}"


def ground_atom_text(model: Model, predicate: str, objects: Iterable[int]) -> str:
    """A ground atom as text, by the numbers of its objects.

    >>> from liftgbp.model.parser import parse
    >>> ground_atom_text(parse("person = {Anna}\\nfriends(person, person)"), "friends", (0, 4))
    'friends(Anna,#5)'
    """
    sorts = model.predicates[predicate].sorts
    return ast.applied(
        predicate, (object_text(model, s, k) for s, k in zip(sorts, objects, strict=True))
    )


def _value_text(name: str) -> str:
    return name if re.fullmatch(_NAME, name) or re.fullmatch(_NUMBER, name) else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- weights


def weight_text(weight: ast.Weight) -> str:
    """A weight as text.

    >>> from liftgbp.model.ast import Arithmetic, Number, SizeOf
    >>> weight_text(Arithmetic("/", Number(1.4), SizeOf("person")))
    '1.4/|person|'
    """
    return _weight_operand(weight, _SUM)


def _weight_operand(weight: ast.Weight, place: int) -> str:
    match weight:
        case ast.Number(value):
            text = _number_text(value)
            binding = _SUM if value < 0 else _FACTOR
        case ast.SizeOf(sort):
            return f"|{sort}|"
        case ast.NamedWeight(name) | ast.OpenWeight(name):
            return f"${name}"
        case ast.DataWeight(variable):
            return variable
        case ast.Logarithm(argument):
            return f"log({_weight_operand(argument, _SUM)})"
        case ast.Arithmetic(operator, left, right):
            binding = _SUM if operator in "+-" else _PRODUCT
            # Operators of equal strength group to the left.
            text = (
                f"{_weight_operand(left, binding)}{operator}{_weight_operand(right, binding + 1)}"
            )
    return f"({text})" if binding < place else text


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
