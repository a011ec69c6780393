"""Texts and the models they describe."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from liftgbp.model.ast import (
    And,
    Arithmetic,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Is,
    Logarithm,
    NamedWeight,
    Not,
    Number,
    Or,
    Predicate,
    Query,
    SizeOf,
    Sort,
    TableParfactor,
    Term,
    Variable,
    Weight,
    WeightedFormula,
)
from liftgbp.model.model import Model
from liftgbp.model.parser import load, parse, parse_query
from liftgbp.model.writer import rule_text
from liftgbp.oracle import reference
from liftgbp.support.errors import Span

DECLARATIONS = """
person = {Anna, Bob}
p(person)
q(person)
r(person, person)
mood(person) : {low, mid, high}
rain
weather : {sunny, Foggy, 3}
visits(person)
"""

X, Y, Z, V = map(Variable, "xyzv")
ANNA = Constant("Anna")


def atom(predicate: str, *args: Term) -> Atom:
    return Atom(predicate, args)


def p(term: Term) -> Is:
    return Is(atom("p", term))


def q(term: Term) -> Is:
    return Is(atom("q", term))


def r(left: Term, right: Term) -> Is:
    return Is(atom("r", left, right))


RAIN = Is(Atom("rain"))


def only_rule(statement: str) -> WeightedFormula:
    (rule,) = parse(DECLARATIONS + statement).rules
    assert isinstance(rule, WeightedFormula)
    return rule


FORMULAS: list[tuple[str, Formula]] = [
    ("p(x)", p(X)),
    ("rain", RAIN),
    ("rain()", RAIN),
    ("!p(x)", Not(p(X))),
    ("!!p(x)", Not(Not(p(X)))),
    ("p(x) ^ q(x)", And((p(X), q(X)))),
    ("p(x) ^ q(x) ^ rain", And((p(X), q(X), RAIN))),
    ("(p(x) ^ q(x)) ^ rain", And((And((p(X), q(X))), RAIN))),
    ("p(x) v q(x) v rain", Or((p(X), q(X), RAIN))),
    ("p(x) v q(x) ^ rain", Or((p(X), And((q(X), RAIN))))),
    ("(p(x) v q(x)) ^ rain", And((Or((p(X), q(X))), RAIN))),
    ("!p(x) ^ q(x)", And((Not(p(X)), q(X)))),
    ("!(p(x) ^ q(x))", Not(And((p(X), q(X))))),
    ("p(x) => q(x) => rain", Implies(p(X), Implies(q(X), RAIN))),
    ("(p(x) => q(x)) => rain", Implies(Implies(p(X), q(X)), RAIN)),
    ("p(x) ^ q(x) => rain v p(x)", Implies(And((p(X), q(X))), Or((RAIN, p(X))))),
    ("p(x) => q(x) <=> rain", Iff(Implies(p(X), q(X)), RAIN)),
    ("p(x) <=> q(x) => rain", Iff(p(X), Implies(q(X), RAIN))),
    ("p(x)^q(x)=>rain", Implies(And((p(X), q(X))), RAIN)),
    # --- terms
    ("r(x, Anna)", r(X, ANNA)),
    ('r(x, "Mary Ann")', r(X, Constant("Mary Ann"))),
    ('p("anna")', p(Constant("anna"))),
    ('p("Anna")', p(ANNA)),
    (r'p("a \"b\" \\c")', p(Constant(r'a "b" \c'))),
    ('p("// no /* comment")', p(Constant("// no /* comment"))),
    ("p(1)", p(Constant("1"))),
    ("p(_x)", p(Variable("_x"))),
    ("p(é)", p(Variable("é"))),
    ("p(Émile)", p(Constant("Émile"))),
    # --- the letter v
    ("p(v)", p(V)),
    ("p(v) v q(v)", Or((p(V), q(V)))),
    ("p(x)v q(x)", Or((p(X), q(X)))),
    ("visits(v) v visits(x)", Or((Is(atom("visits", V)), Is(atom("visits", X))))),
    ("rain v rain", Or((RAIN, RAIN))),
    ("p(v) ^ q(x) ^ x != v v rain", Or((And((p(V), q(X), Not(Equal(X, V)))), RAIN))),
    ("EXIST v p(v) v q(v)", Exists(V, Or((p(V), q(V))))),
    # --- equalities and values
    ("x = y ^ r(x,y)", And((Equal(X, Y), r(X, Y)))),
    ("x != y ^ r(x,y)", And((Not(Equal(X, Y)), r(X, Y)))),
    ("!x = y ^ r(x,y)", And((Not(Equal(X, Y)), r(X, Y)))),
    ("p(x) ^ x = Anna", And((p(X), Equal(X, ANNA)))),
    ("Anna = x ^ p(x)", And((Equal(ANNA, X), p(X)))),
    ("1 = x ^ p(x)", And((Equal(Constant("1"), X), p(X)))),
    ("p(x) ^ x != 1 v rain", Or((And((p(X), Not(Equal(X, Constant("1"))))), RAIN))),
    ("mood(x) = high", Is(atom("mood", X), "high")),
    ("mood(x) != high", Not(Is(atom("mood", X), "high"))),
    ("p(x) = false", Is(atom("p", X), "false")),
    ("p(x) = true", p(X)),
    ("weather = sunny", Is(Atom("weather"), "sunny")),
    ("weather() = Foggy", Is(Atom("weather"), "Foggy")),
    ("!(weather != 3)", Not(Not(Is(Atom("weather"), "3")))),
    ("EXIST x (p(x) ^ weather = 3)", Exists(X, And((p(X), Is(Atom("weather"), "3"))))),
    # --- quantifiers
    ("p(x) => EXIST y r(x,y)", Implies(p(X), Exists(Y, r(X, Y)))),
    ("EXIST y (r(x,y)) ^ p(x)", Exists(Y, And((r(X, Y), p(X))))),
    ("(EXIST y r(x,y)) ^ p(x)", And((Exists(Y, r(X, Y)), p(X)))),
    ("p(x) ^ EXIST y r(x,y) v q(y)", And((p(X), Exists(Y, Or((r(X, Y), q(Y))))))),
    ("p(x) ^ EXIST y q(y) <=> rain", And((p(X), Exists(Y, Iff(q(Y), RAIN))))),
    ("!EXIST y q(y) ^ rain", Not(Exists(Y, And((q(Y), RAIN))))),
    ("EXIST x,y r(x,y)", Exists(X, Exists(Y, r(X, Y)))),
    ("exist x forall y r(x,y)", Exists(X, Forall(Y, r(X, Y)))),
    ("Exist x Forall y,z (r(x,y) v q(z))", Exists(X, Forall(Y, Forall(Z, Or((r(X, Y), q(Z))))))),
    ("p(x) => FORALL y r(x,y)", Implies(p(X), Forall(Y, r(X, Y)))),
    # --- a quantifier in front of everything is the default reading
    ("FORALL x p(x) => q(x)", Implies(p(X), q(X))),
    ("FORALL x (p(x)) => q(x)", Implies(p(X), q(X))),
    ("FORALL x,y r(x,y)", r(X, Y)),
    ("FORALL x FORALL y r(x,y)", r(X, Y)),
    ("(FORALL x (FORALL y r(x,y)))", r(X, Y)),
    ("FORALL x EXIST y r(x,y)", Exists(Y, r(X, Y))),
]


@pytest.mark.parametrize(("text", "expected"), FORMULAS, ids=[text for text, _ in FORMULAS])
def test_formula(text: str, expected: Formula) -> None:
    assert only_rule(f"2 {text}") == WeightedFormula(expected, Number(2.0))
    assert only_rule(f"{text}.") == WeightedFormula(expected, None)
    assert only_rule(f"-.5 ({text})").formula == expected


PERSON = SizeOf("person")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.4", Number(1.4)),
        ("-2", Number(-2.0)),
        (".5", Number(0.5)),
        ("1e-3", Number(0.001)),
        ("2.5E+2", Number(250.0)),
        ("--2", Number(2.0)),
        ("1.4/|person|", Arithmetic("/", Number(1.4), PERSON)),
        ("|person|", PERSON),
        ("-|person|", Arithmetic("-", Number(0.0), PERSON)),
        ("1+2*3", Arithmetic("+", Number(1.0), Arithmetic("*", Number(2.0), Number(3.0)))),
        ("1-2-3", Arithmetic("-", Arithmetic("-", Number(1.0), Number(2.0)), Number(3.0))),
        ("1 - -2", Arithmetic("-", Number(1.0), Number(-2.0))),
        ("2*-3", Arithmetic("*", Number(2.0), Number(-3.0))),
        ("log(0.5)", Logarithm(Number(0.5))),
        ("logx (.5)", Logarithm(Number(0.5))),
        ("-log(|person|)", Arithmetic("-", Number(0.0), Logarithm(PERSON))),
        (
            "2*log((1+2)/3)",
            Arithmetic(
                "*",
                Number(2.0),
                Logarithm(Arithmetic("/", Arithmetic("+", Number(1.0), Number(2.0)), Number(3.0))),
            ),
        ),
        (
            "(1+2)*0.5 / | person |",
            Arithmetic(
                "/",
                Arithmetic("*", Arithmetic("+", Number(1.0), Number(2.0)), Number(0.5)),
                PERSON,
            ),
        ),
    ],
)
def test_weight(text: str, expected: Weight) -> None:
    assert only_rule(f"{text} p(x)") == WeightedFormula(p(X), expected)
    assert only_rule(f"{text} (p(x))") == WeightedFormula(p(X), expected)
    assert only_rule(f"({text}) !p(x)") == WeightedFormula(Not(p(X)), expected)


def test_a_predicate_may_be_called_log() -> None:
    model = parse("log(person)\n2 log(x)\nlog(x) => log(y).\n2 log(5)")
    assert [rule_text(rule) for rule in model.rules] == [
        "2 log(x)",
        "log(x) => log(y).",
        "2 log(5)",
    ]


def test_commas_join_premises() -> None:
    commas = "1.4 p(x), p(y) v rain, x != y => p(z) ^ rain"
    assert only_rule(commas) == only_rule("1.4 p(x) ^ (p(y) v rain) ^ x != y => p(z) ^ rain")
    assert only_rule("p(x),\n p(y) => rain.") == only_rule("p(x) ^ p(y) => rain.")
    assert only_rule("1 p(x), p(y) => rain | x != y") == only_rule("1 p(x) ^ p(y) => rain | x != y")


@pytest.mark.parametrize(
    ("text", "sorts"),
    [
        ("lives(human, place!)", ("human", "place")),
        ("*lives(human, place!)", ("human", "place")),
        ("lives(human, place)\nlives(h, p!)", ("human", "place")),
        ("lives(place!)", ("place",)),
    ],
)
def test_marks_of_uniqueness(text: str, sorts: tuple[str, ...]) -> None:
    model = parse(f"place = {{Bonn, Kiel}}\n{text}")
    assert model.predicates["lives"].sorts == sorts
    assert model.predicates["lives"].closed == text.startswith("*")
    sizes = {sort: 2 if sort == "place" else 1 for sort in sorts}
    assert worlds(model, sizes) == [{0}, {1}]


def test_marks_on_several_arguments() -> None:
    """Exactly one pair for each object that is not marked."""
    model = parse("meets(person, place!, day!)")
    assert worlds(model, {"person": 1, "place": 2, "day": 2}) == [{0}, {1}, {2}, {3}]


def worlds(model: Model, sizes: dict[str, int]) -> list[set[int]]:
    """The worlds that hard formulas allow, each by the numbers of its true atoms.

    Nothing is observed, and no predicate is closed.
    """
    open_predicates = {name: replace(p, closed=False) for name, p in model.predicates.items()}
    ground = reference.ground(replace(model, predicates=open_predicates), sizes)
    found = []
    for world in product(range(2), repeat=len(ground.atoms)):
        values = dict(zip(ground.atoms, world, strict=True))
        tables = (f.log_table[tuple(values[a] for a in f.scope)] for f in ground.factors)
        if sum(tables) > -math.inf:
            found.append({number for number, value in enumerate(world) if value})
    return sorted(found, key=sorted)


ALPHA = NamedWeight("alpha")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$alpha", ALPHA),
        ("-$alpha", Arithmetic("-", Number(0.0), ALPHA)),
        ("$alpha*2", Arithmetic("*", ALPHA, Number(2.0))),
        (
            "2*$alpha/|person|",
            Arithmetic("/", Arithmetic("*", Number(2.0), ALPHA), PERSON),
        ),
        ("1 - ($alpha)", Arithmetic("-", Number(1.0), ALPHA)),
    ],
)
def test_named_weight(text: str, expected: Weight) -> None:
    for statement in (f"$alpha = 1\n{text} p(x)", f"{text} (p(x))\n$alpha = 1"):
        assert only_rule(statement) == WeightedFormula(p(X), expected)
    (table,) = parse(DECLARATIONS + f"$alpha = 1\nparfactor rain : [1, {text}]").rules
    assert table == TableParfactor((Atom("rain"),), (Number(1.0), expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$alpha = 1.4", {"alpha": 1.4}),
        ("$alpha=-.5", {"alpha": -0.5}),
        ("$Alpha = 1\n$alpha = 2", {"Alpha": 1.0, "alpha": 2.0}),
        (
            "$v = 1\n$inf = 2\n$exist = 3\n$é_2 = 4",
            {"v": 1.0, "inf": 2.0, "exist": 3.0, "é_2": 4.0},
        ),
        ("$alpha = (1+2)*-3/4", {"alpha": -2.25}),
        ("$alpha = 2\n$alpha = 1+1", {"alpha": 2.0}),
        ("$alpha\n  = // the default\n  1 +\n  2\n  * 3", {"alpha": 7.0}),
        ("$alpha = (\n1\n)\n$beta = 2", {"alpha": 1.0, "beta": 2.0}),
    ],
)
def test_declaration_of_a_named_weight(text: str, expected: dict[str, float]) -> None:
    assert parse(text) == Model({}, {}, weights=expected)


X_IS_NOT_Y = Not(Equal(X, Y))


@pytest.mark.parametrize(
    ("text", "weight", "restrictions", "distinct"),
    [
        ("1 r(x,y) | x != y", Number(1.0), (X_IS_NOT_Y,), False),
        ("1 r(x,y) | distinct", Number(1.0), (), True),
        ("1 r(x,y) | x = y, distinct", Number(1.0), (Equal(X, Y),), True),
        (
            "1 r(x,y) | x != y, y != Anna",
            Number(1.0),
            (X_IS_NOT_Y, Not(Equal(Y, ANNA))),
            False,
        ),
        ("r(x,y) | x != y.", None, (X_IS_NOT_Y,), False),
        ("r(x,y). | x != y", None, (X_IS_NOT_Y,), False),
        ("r(x,y) | y != 1.", None, (Not(Equal(Y, Constant("1"))),), False),
        ("r(x,y). | distinct", None, (), True),
    ],
)
def test_restriction(
    text: str, weight: Weight | None, restrictions: tuple[Equal | Not, ...], distinct: bool
) -> None:
    assert only_rule(text) == WeightedFormula(r(X, Y), weight, restrictions, distinct)


def test_expanded_variables() -> None:
    rule = only_rule("1 r(+x,y) => p(+x)")
    assert rule == WeightedFormula(Implies(r(X, Y), p(X)), Number(1.0), expanded=frozenset({"x"}))


def numbers(*values: float) -> tuple[Weight, ...]:
    return tuple(map(Number, values))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "parfactor mood(x), p(x) : [1, 2, 3, 1, 1, 4]",
            TableParfactor((atom("mood", X), atom("p", X)), numbers(1, 2, 3, 1, 1, 4)),
        ),
        (
            "parfactor p(x), p(y) | x != y\n : [\n1, 0, // off\n 0,\n\n 1\n]",
            TableParfactor((atom("p", X), atom("p", Y)), numbers(1, 0, 0, 1), (X_IS_NOT_Y,)),
        ),
        (
            "parfactor p(x), p(Anna) | distinct, x != Anna : [1, 2, 3, 4]",
            TableParfactor(
                (atom("p", X), atom("p", ANNA)),
                numbers(1, 2, 3, 4),
                (Not(Equal(X, ANNA)),),
                distinct=True,
            ),
        ),
        (
            "parfactor rain : [1/|person|, -1*|person|]",
            TableParfactor(
                (Atom("rain"),),
                (
                    Arithmetic("/", Number(1.0), PERSON),
                    Arithmetic("*", Number(-1.0), PERSON),
                ),
            ),
        ),
    ],
)
def test_table(text: str, expected: TableParfactor) -> None:
    assert parse(DECLARATIONS + text).rules == (expected,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = {Anna, Bob}", Sort("a", ("Anna", "Bob"))),
        ("a = {1,...,4}", Sort("a", ("1", "2", "3", "4"))),
        ("a = {A, 0, ..., 2, B}", Sort("a", ("A", "0", "1", "2", "B"))),
        ("a = {1, ..., 2, 4, ..., 5}", Sort("a", ("1", "2", "4", "5"))),
        ('a = {"Mary Ann", "bob", 7}', Sort("a", ("Mary Ann", "bob", "7"))),
        ("a = {\n  Anna,\n  Bob\n}", Sort("a", ("Anna", "Bob"))),
        ("a = 1000", Sort("a", size=1000)),
        ("a = 1e6", Sort("a", size=1_000_000)),
        ("a = 2.5e1", Sort("a", size=25)),
        ("a = 123456789012345678901", Sort("a", size=123456789012345678901)),
        ("a = 5\na = 5", Sort("a", size=5)),
        ("a = {A, B}\na = 5", Sort("a", ("A", "B"), 5)),
        ("a = 5\na = {A, B}\na = 5", Sort("a", ("A", "B"), 5)),
    ],
)
def test_sort(text: str, expected: Sort) -> None:
    assert parse(text) == Model({"a": expected}, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("likes(person, thing)", Predicate("likes", ("person", "thing"))),
        ("Likes(person,thing)", Predicate("Likes", ("person", "thing"))),
        ("likes", Predicate("likes")),
        ("likes()", Predicate("likes")),
        ("Likes", Predicate("Likes")),
        ("m(person) : {low, High, 3}", Predicate("m", ("person",), ("low", "High", "3"))),
        ("m : {1, ..., 3}", Predicate("m", (), ("1", "2", "3"))),
        ('m() : {a, "b c"}', Predicate("m", (), ("a", "b c"))),
        ("m(person) :\n  {a, b}", Predicate("m", ("person",), ("a", "b"))),
        ("likes(person)\nlikes(person)", Predicate("likes", ("person",))),
        ("parfactors(person)", Predicate("parfactors", ("person",))),
        ("infer(person)", Predicate("infer", ("person",))),
    ],
)
def test_predicate(text: str, expected: Predicate) -> None:
    model = parse(text)
    assert model == Model({}, {expected.name: expected})


def test_declarations_may_follow_their_use() -> None:
    model = parse("1 weather = sunny ^ p(x)\np(person)\nweather : {sunny, grey}\nperson = 3")
    (rule,) = model.rules
    assert rule == WeightedFormula(And((Is(Atom("weather"), "sunny"), p(X))), Number(1.0))
    assert model.domain_sizes() == {"person": 3}


LAYOUTS = [
    "p(person)\nq(person)\n1 p(x) ^ q(x)\n2 p(x)",
    "p(person)\r\nq(person)\r\n1 p(x) ^ q(x)\r\n2 p(x)\r\n",
    "p(person)\rq(person)\r1 p(x) ^ q(x)\r2 p(x)\r",
    "\ufeffp(person)\nq(person)\n1 p(x) ^ q(x)\n2 p(x)\n\n\n",
    "\n\n  \t\np(person)\n\n\tq(person)  \n1\tp(x)\t^\tq(x)   \n   2 p(x)   ",
    "// head\np(person) // tail\nq(person)/* a */\n1 p(x) /* b\n c */ ^ q(x)\n/* d\n\n */2 p(x)//",
    "p(person)\nq(person)\n1 p(x) ^\n  q(x)\n2 p(x)",
    "p(person)\nq(person)\n1 p(x)\n  // both\n\n  ^ q(x)\n2 p(x)",
    "p(\nperson\n)\nq(person)\n1 (\np(x) ^ q(x)\n)\n2 p(\nx)",
    "p(person)\nq(person)\n1 p(x) ^ q(x) /**/ /* * / */\n2 p(x) /* // */",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_layout(text: str) -> None:
    person = ("person",)
    assert parse(text) == Model(
        {},
        {"p": Predicate("p", person), "q": Predicate("q", person)},
        (
            WeightedFormula(And((p(X), q(X))), Number(1.0)),
            WeightedFormula(p(X), Number(2.0)),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "1 p(x) v\nq(x)",
        "1 p(x)\nv q(x)",
        "1 p(x) v // or\n\n\nq(x)",
        "1 p(x)\nv\nq(x)",
    ],
)
def test_disjunction_over_two_lines(text: str) -> None:
    assert only_rule(text).formula == Or((p(X), q(X)))


@pytest.mark.parametrize(
    "text",
    [
        "1 r(x,y) => p(x) | x != y,\n  y != Anna",
        "1 r(x,y)\n  => p(x)\n  | x != y\n  , y != Anna",
        "1 r(x,y) =>\np(x) |\nx !=\ny, y\n!= Anna",
        "1\n* 1 r(x,y) => p(x) | x != y, y != Anna",
    ],
)
def test_restrictions_over_several_lines(text: str) -> None:
    assert only_rule(text).restrictions == (X_IS_NOT_Y, Not(Equal(Y, ANNA)))


def test_lines_that_begin_with_a_weight_are_statements() -> None:
    rules = parse(DECLARATIONS + "1 p(x)\n-2 p(x)\n|person| p(x)\n.5 p(v)\n(3) p(x)").rules
    weights = [rule.weight for rule in rules if isinstance(rule, WeightedFormula)]
    assert weights == [Number(1.0), Number(-2.0), PERSON, Number(0.5), Number(3.0)]


def test_lines_that_begin_with_a_named_weight_are_statements() -> None:
    text = """
        $alpha = 1
        $v = 2
        |person| p(x)
        $alpha p(x) v
          p(x)
        $v p(x)
          | x != Anna
        -$alpha
          * $v p(x)
    """
    model = parse(DECLARATIONS + text)
    weights = [rule.weight for rule in model.rules if isinstance(rule, WeightedFormula)]
    product = Arithmetic("*", Arithmetic("-", Number(0.0), ALPHA), NamedWeight("v"))
    assert weights == [PERSON, ALPHA, NamedWeight("v"), product]
    assert model.weights == {"alpha": 1.0, "v": 2.0}


def test_a_variable_v_ends_a_line() -> None:
    model = parse(DECLARATIONS + "1 p(v) ^ q(x) ^ x != v\nlast(person)")
    assert "last" in model.predicates


def test_a_variable_v_begins_a_line() -> None:
    text = "1 p(x)\nv = x ^ p(v) ^ p(x).\n v  != x v p(v) v p(x)."
    assert len(parse(DECLARATIONS + text).rules) == 3


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n", "// nothing", "/* nothing */", "\ufeff"])
def test_empty_text(text: str) -> None:
    assert parse(text) == Model({}, {})


def spans(rule: WeightedFormula) -> list[str]:
    assert isinstance(rule.formula, And)
    found: list[Span | None] = [rule.span]
    for part in rule.formula.parts:
        if isinstance(part, Is):
            found += [part.span, part.atom.span, *(term.span for term in part.atom.args)]
        if isinstance(part, Equal):
            found += [part.span, part.left.span, part.right.span]
    if isinstance(rule.weight, SizeOf):
        found.append(rule.weight.span)
    return [span.text for span in found if span is not None]


def test_spans_cover_what_was_written() -> None:
    statement = "|person| (p( x )) ^ mood(x)  = high /* ! */ ^ rain ^ x = y ^ r(x,y) | x != y"
    rule = only_rule(f"  {statement}  // end")
    assert spans(rule) == [
        statement,
        *("p( x )", "p( x )", "x"),
        *("mood(x)  = high", "mood(x)", "x"),
        *("rain", "rain"),
        *("x = y", "x", "y"),
        *("r(x,y)", "r(x,y)", "x", "y"),
        "|person|",
    ]
    assert rule.span is not None
    assert (rule.span.line, rule.span.column) == (10, 3)


def test_spans_of_value_tests_without_arguments() -> None:
    rule = only_rule("1 weather = sunny")
    assert isinstance(rule.formula, Is)
    assert rule.formula.span is not None
    assert rule.formula.atom.span is not None
    assert rule.formula.span.text == "weather = sunny"
    assert rule.formula.atom.span.text == "weather"


def test_spans_of_declarations() -> None:
    model = parse("  a = {A, B} // all\n m(a) : {u, w}.5 m(x) = u".replace(".5", "\n.5"))
    assert [s.span.text for s in model.sorts.values() if s.span] == ["a = {A, B}"]
    assert [d.span.text for d in model.predicates.values() if d.span] == ["m(a) : {u, w}"]


def test_span_of_a_named_weight() -> None:
    weight = only_rule("$alpha = 1\n $alpha p(x)").weight
    assert isinstance(weight, NamedWeight)
    assert weight.span is not None
    assert weight.span.text == "$alpha"


def test_names_of_models() -> None:
    assert parse("").name == "<text>"
    assert parse("", "models/smokers.mln").name == "smokers"


# --- files


def test_load_follows_includes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    main, rules, types = tmp_path / "main.mln", tmp_path / "sub" / "rules.mln", tmp_path / "t.mln"
    main.write_text('1 p(x)\n#include "sub/rules.mln" // relative to this file\n3 p(x)')
    rules.write_text('\ufeff#include "../t.mln"\r\n2 p(x)\r\n', encoding="utf-8", newline="")
    types.write_text("p(person)")
    model = load(main)
    assert model.name == "main"
    assert [rule.weight for rule in model.rules if isinstance(rule, WeightedFormula)] == list(
        numbers(1, 2, 3)
    )
    places = [(rule.span.source.name, rule.span.line) for rule in model.rules if rule.span]
    assert places == [
        (str(main), 1),
        (str(tmp_path / "sub/rules.mln"), 2),
        (str(main), 3),
    ]
    assert load(str(main)) == parse(main.read_text(), str(main)) == model


def test_a_file_included_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "rules.mln").write_text("p(person)\n1 p(x)")
    (tmp_path / "other.mln").write_text('#include "rules.mln"')
    (tmp_path / "main.mln").write_text('#include "rules.mln"\n#include "other.mln"')
    assert len(load(tmp_path / "main.mln").rules) == 1


def test_named_weights_come_from_included_files(tmp_path: Path) -> None:
    (tmp_path / "weights.mln").write_text("$alpha = 1.4")
    (tmp_path / "main.mln").write_text('p(person)\n$alpha p(x)\n#include "weights.mln"')
    assert load(tmp_path / "main.mln").weights == {"alpha": 1.4}


# --- queries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(x)", Query("", (atom("p", X),))),
        ("rain", Query("", (Atom("rain"),))),
        ("r(x,Anna)", Query("", (atom("r", X, ANNA),))),
        ("r(x,y) ^ p(x)", Query("", (atom("r", X, Y), atom("p", X)))),
        ("r(x,y), p(x)", Query("", (atom("r", X, Y), atom("p", X)))),
        ("p(y) | r(x,y), p(x)", Query("", (atom("p", Y),), (atom("r", X, Y), atom("p", X)))),
        ("p(y) | r(x,y) ^ rain", Query("", (atom("p", Y),), (atom("r", X, Y), Atom("rain")))),
        (
            "r(x,y) ^ r(y,z) | distinct",
            Query("", (atom("r", X, Y), atom("r", Y, Z)), distinct=True),
        ),
        (
            "p(y) | r(x,y), x != y",
            Query("", (atom("p", Y),), (atom("r", X, Y),), (X_IS_NOT_Y,)),
        ),
        (
            "p(y) | y = Anna, distinct, rain",
            Query("", (atom("p", Y),), (Atom("rain"),), (Equal(Y, ANNA),), distinct=True),
        ),
        (
            "p(x)\n ^ p(y)\n\n| distinct // end",
            Query("", (atom("p", X), atom("p", Y)), (), (), True),
        ),
        ("p(x)\n| rain", Query("", (atom("p", X),), (Atom("rain"),))),
        ("(p(x)) ^ (p(y))", Query("", (atom("p", X), atom("p", Y)))),
        ("!p(x)", Query("", (), formula=Not(Is(atom("p", X))))),
        ("p(x) ^ !p(y)", Query("", (), formula=And((Is(atom("p", X)), Not(Is(atom("p", Y))))))),
        ("p(x), !p(y)", Query("", (), formula=And((Is(atom("p", X)), Not(Is(atom("p", Y))))))),
        ("EXIST y p(y)", Query("", (), formula=Exists(Y, Is(atom("p", Y))))),
        ("FORALL y p(y)", Query("", (), formula=Forall(Y, Is(atom("p", Y))))),
        ("mood(x) = high", Query("", (), formula=Is(atom("mood", X), "high"))),
        (
            "p(x) | !p(y), rain, x != y, mood(y) = low",
            Query(
                "",
                (atom("p", X),),
                (Atom("rain"),),
                (Not(Equal(X, Y)),),
                condition=And((Not(Is(atom("p", Y))), Is(atom("mood", Y), "low"))),
            ),
        ),
    ],
)
def test_query(text: str, expected: Query) -> None:
    query = parse_query(f"  {text} ")
    assert query == expected
    assert query.text == str(query) == text


def test_query_spans() -> None:
    query = parse_query("p(x) | r(x,y), x != y")
    assert [a.span.text for a in (*query.atoms, *query.given) if a.span] == ["p(x)", "r(x,y)"]
    assert query.atoms[0].span is not None
    assert query.atoms[0].span.source.name == "<query>"


# --- closed predicates


@pytest.mark.parametrize(
    "text",
    [
        "*s(person, person)\nrain\np(person)",
        "rain\n* s(person, person)\np(person)",
        "rain\ns(person, person)\n*s(person, person)\np(person)",
        "p(person)\n*s(person, person)\n\ns(person,person)\nrain",
        "rain // dry\n/* known */ *s(person,\n person)\np(person)",
    ],
)
def test_closed_predicates(text: str) -> None:
    model = parse(text)
    assert {name for name, predicate in model.predicates.items() if predicate.closed} == {"s"}
    assert model.predicates["s"] == Predicate("s", ("person", "person"), closed=True)
    assert parse(str(model)) == model


def test_a_star_in_front_of_a_weight_continues_the_line_above() -> None:
    (rule,) = parse("$a = 2\np(person)\n3\n* $a\n*|person| p(x)").rules
    assert isinstance(rule, WeightedFormula)
    assert rule_text(rule) == "3*$a*|person| p(x)"
