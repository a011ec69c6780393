"""Models, rules and formulas as text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

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
    Rule,
    SizeOf,
    Sort,
    TableParfactor,
    Term,
    Variable,
    Weight,
    WeightedFormula,
)
from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.model.writer import constant_text, model_text, rule_text, weight_text

# Texts that the writer gives back as they are, one statement per line.
WRITTEN = """
$alpha = 1.4
$Beta = -2
person = {Anna, Bob, "mary ann"}
person = 1000
number = {1, ..., 20}
few = {1, 2, 3}
gap = {1, 2, 4, 5}
friends(person, person)
smokes(person)
rain
mood(person) : {low, High, 3, "very high"}
weather : {sunny, grey}
*knows(person, person)
*late
counts(number)
1.4 friends(x,y) ^ smokes(x) => smokes(y)
-2 !smokes(x) v rain
1.4/|person| smokes(x) | x != Anna
(1+2)*0.5/|person| rain
|person|-(1-2) rain
1-(-2)*(-3) rain
$alpha smokes(x)
2*$alpha/|person| smokes(x)
0-($alpha+$Beta)*3 rain
1e-07 smokes("mary ann")
1 smokes(x) <=> (EXIST y friends(x,y))
(EXIST y friends(x,y)) => smokes(x).
!(EXIST y friends(x,y) ^ smokes(y)) v rain.
friends(x,y) => friends(y,x) | x != y.
friends(x,y) ^ friends(y,z) => friends(x,z) | z != Anna, distinct.
1 friends(+x,y) => smokes(+x)
2 mood(x) = High ^ mood(y) != 3 ^ mood(z) = "very high"
2 weather = sunny => smokes(x) = false
2 friends(x,y) ^ x = y ^ x != Anna ^ !(x = y ^ y = Bob)
3 (smokes(x) => rain) => rain
3 smokes(x) => rain => rain
3 (rain <=> rain) <=> rain
3 rain <=> rain <=> rain
3 (rain v rain) ^ (rain ^ rain) ^ !!rain
3 counts(7) v counts(n)
parfactor mood(x), rain : [1, 2, 3, 4, 5, 6, $alpha, 1/|person|]
parfactor smokes(x), smokes(y) | x != y, distinct : [1, 0, 0, 1]
""".strip()


def test_canonical_texts_stay_as_they_are() -> None:
    assert model_text(parse(WRITTEN)).splitlines() == WRITTEN.splitlines()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.50 p( x )^(p(y))", "1.5 p(x) ^ p(y)"),
        ("r(x,y). | x!=y,distinct", "r(x,y) | x != y, distinct."),
        ('2 p("Anna")', "2 p(Anna)"),
        ("2 (p(x) ^ p(y)) v p(y)", "2 p(x) ^ p(y) v p(y)"),
        ("-0 !x=y ^ p(x)", "0 x != y ^ p(x)"),
        ("1e20/2.50e-3 p(x)", "1e+20/0.0025 p(x)"),
        ("-|person| FORALL x p(x)", "0-|person| p(x)"),
        ("-$a*(2) p(x)", "(0-$a)*2 p(x)"),
        ("1 EXIST x,y p(x) ^ p(y)", "1 EXIST x EXIST y p(x) ^ p(y)"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    (rule,) = parse(f"$a = 1\np(person)\nr(person,person)\n{text}").rules
    assert rule_text(rule) == canonical


def test_a_quantifier_that_was_not_dropped_keeps_its_meaning() -> None:
    x = Variable("x")
    every = Forall(x, Is(Atom("p", (x,))))
    assert rule_text(WeightedFormula(every, Number(1.0))) == "1 !!(FORALL x p(x))"
    assert rule_text(WeightedFormula(Not(every), None)) == "!(FORALL x p(x))."


def test_changed_values_are_written() -> None:
    model = parse("rain\n$alpha rain\n$alpha = 1.40")
    assert model_text(model) == "$alpha = 1.4\nrain\n$alpha rain"
    assert model_text(model.with_weights({"alpha": 1e-7})) == "$alpha = 1e-07\nrain\n$alpha rain"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Anna", "Anna"),
        ("Émile_2", "Émile_2"),
        ("7", "7"),
        ("0.5", "0.5"),
        ("Anna Lee", '"Anna Lee"'),
        ("x", '"x"'),
        ("_A", '"_A"'),
        ("7a", '"7a"'),
        ("Exist", '"Exist"'),
        ("NaN", '"NaN"'),
        ('a "b" \\', r'"a \"b\" \\"'),
    ],
)
def test_constant_text(name: str, text: str) -> None:
    assert constant_text(name) == text
    for place in (f"1 p({text})", f"1 p(x) ^ {text} = x", f"1 p(x) | x != {text}"):
        assert parse(f"p(person)\n{place}").constants("person") == (name,)


def test_no_text_for_an_empty_model() -> None:
    assert model_text(Model({}, {})) == ""


# --- whatever a rule says, its text says the same

NAMES = (
    "Anna",
    "Émile",
    "7",
    "0.5",
    "mary ann",
    "anna",
    "Inf",
    "Exist",
    'a "b" \\',
    "inf",
    "v",
    "// x /*",
)
VARIABLES = tuple(map(Variable, ("x", "y", "v", "exists")))
PREDICATES = {
    predicate.name: predicate
    for predicate in (
        Predicate("p", ("person",)),
        Predicate("Likes", ("person", "person")),
        Predicate("rain"),
        Predicate("mood", ("person",), ("low", "High", "3", "so so", "v", "distinct")),
        Predicate("weather", (), ("true", "exist", "1.5")),
    )
}
WEIGHT_NAMES = ("alpha", "Beta", "v", "é_2", "inf")
SORTS = {"person": Sort("person", NAMES, 10**9), "city": Sort("city", size=3)}

variables = st.sampled_from(VARIABLES)
constants = st.sampled_from(NAMES).map(Constant)
terms: st.SearchStrategy[Term] = st.one_of(variables, constants)


@st.composite
def atoms(draw: st.DrawFn) -> Atom:
    predicate = draw(st.sampled_from([*PREDICATES.values()]))
    return Atom(predicate.name, tuple(draw(terms) for _ in predicate.sorts))


@st.composite
def value_tests(draw: st.DrawFn) -> Formula:
    atom = draw(atoms())
    return Is(atom, draw(st.sampled_from(PREDICATES[atom.predicate].values)))


equalities = st.one_of(st.builds(Equal, variables, terms), st.builds(Equal, constants, variables))


def _grown(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Not, parts),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
        st.builds(Exists, variables, parts),
        st.builds(Forall, variables, parts),
    )


formulas = st.recursive(st.one_of(value_tests(), equalities), _grown, max_leaves=12)

numbers = st.floats(allow_nan=False, allow_infinity=False)
named_weights = st.sampled_from([*map(NamedWeight, WEIGHT_NAMES)])
named_values = st.fixed_dictionaries(dict.fromkeys(WEIGHT_NAMES, numbers))
small_weights = st.one_of(
    st.builds(Number, numbers),
    st.sampled_from([*map(SizeOf, SORTS)]),
    named_weights,
)


def _sums(parts: st.SearchStrategy[Weight]) -> st.SearchStrategy[Weight]:
    # Multiplied with a size, so that no literal arithmetic overflows or divides by zero.
    sized = st.builds(Arithmetic, st.just("*"), st.just(SizeOf("person")), parts)
    return st.builds(
        Arithmetic, st.sampled_from("+-*/"), sized, sized | st.builds(Logarithm, sized)
    )


weights = st.recursive(small_weights, _sums, max_leaves=5)
restrictions = st.lists(st.one_of(equalities, st.builds(Not, equalities)), max_size=2).map(tuple)

# Atoms with all variables, which give each of them a sort.
ANCHORS = tuple(Is(Atom("p", (variable,))) for variable in VARIABLES)


@st.composite
def weighted_formulas(draw: st.DrawFn) -> Rule:
    formula = draw(formulas)
    anchored: list[Formula] = [And((*ANCHORS, formula)), Implies(formula, Or(ANCHORS))]
    return WeightedFormula(
        draw(st.sampled_from(anchored)),
        draw(st.none() | weights),
        draw(restrictions),
        draw(st.booleans()),
        draw(st.frozensets(st.sampled_from([variable.name for variable in VARIABLES]))),
    )


@st.composite
def tables(draw: st.DrawFn) -> Rule:
    scope = tuple(Atom("p", (variable,)) for variable in VARIABLES)
    potentials = st.builds(Number, st.floats(0, 1e300)) | named_weights
    entries = draw(st.lists(potentials, min_size=16, max_size=16))
    return TableParfactor(scope, tuple(entries), draw(restrictions), draw(st.booleans()))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.one_of(weighted_formulas(), tables()), max_size=3), named_values)
def test_round_trip(rules: list[Rule], named: dict[str, float]) -> None:
    model = Model(SORTS, PREDICATES, tuple(rules), weights=named)
    assert parse(model_text(model)) == model


@pytest.mark.slow
@settings(deadline=None)
@given(weights)
def test_weight_round_trip(weight: Weight) -> None:
    rule = WeightedFormula(Is(Atom("rain")), weight)
    named = "".join(f"${name} = 1\n" for name in WEIGHT_NAMES)
    text = f"{named}city = 3\nperson = 3\nrain\n{weight_text(weight)} rain"
    assert parse(text).rules == (rule,)
