"""What a model knows about itself, and what it refuses to be."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from liftgbp.model.ast import (
    Arithmetic,
    Atom,
    Constant,
    Equal,
    Exists,
    Formula,
    Is,
    NamedWeight,
    Not,
    Number,
    Predicate,
    Rule,
    SizeOf,
    Sort,
    TableParfactor,
    Variable,
    Weight,
    WeightedFormula,
    evaluate_weight,
)
from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.model.scopes import free_variables, quantified_variables
from liftgbp.support.errors import ModelError, QueryError, SizeError

X, Y, A = Variable("x"), Variable("y"), Variable("a")
ANNA, BOB = Constant("Anna"), Constant("Bob")
P_X = Is(Atom("p", (X,)))
PREDICATES = {
    predicate.name: predicate
    for predicate in (
        Predicate("p", ("person",)),
        Predicate("lives", ("person", "city")),
        Predicate("mood", ("person",), ("low", "high")),
    )
}
LIVES = Is(Atom("lives", (X, A)))


def with_rules(*rules: Rule, **sorts: Sort) -> Model:
    return Model(sorts, PREDICATES, rules, weights={"alpha": 1.4})


def weighted(formula: Formula, weight: Weight | None = None) -> WeightedFormula:
    return WeightedFormula(formula, weight)


# --- sorts, constants and sizes


def test_sorts_are_implied_by_predicates() -> None:
    model = with_rules(person=Sort("person", size=5))
    assert model.sorts == {"person": Sort("person", size=5), "city": Sort("city")}


def test_equal_whatever_the_source() -> None:
    one = parse("p(person)\n1 p(x)", "one.mln")
    other = parse("// the same\np( person )\n\n1.0 (p(x))", "other.mln")
    assert one == other
    assert one != parse("p(person)\n2 p(x)")


def test_constants_that_rules_mention() -> None:
    model = parse("""
        person = {Anna, Bob}
        p(person)
        lives(person, city)
        1 lives(Carl, Rome) ^ p(Anna)
        1 lives(x, c) | x != Dora, c != Oslo
        1 p(Carl)
    """)
    assert model.mentioned == {"person": ("Carl", "Anna", "Dora"), "city": ("Rome", "Oslo")}
    assert model.constants("person") == ("Anna", "Bob", "Carl", "Dora")
    assert model.constants("city") == ("Rome", "Oslo")
    assert model.notes == ("formulas mention Carl, Dora besides the declared constants of person",)


def test_expanded_variables_mention_every_declared_constant() -> None:
    model = parse("person = {Anna, Bob}\np(person)\n1 p(+x)")
    assert model.mentioned == {"person": ("Anna", "Bob")}
    assert model.notes == ()


@pytest.mark.parametrize(
    ("declaration", "given", "expected"),
    [
        ("person = 7", None, 7),
        ("person = 7", {}, 7),
        ("person = 7", {"person": 3}, 3),
        ("person = 7", {"person": 3.0}, 3),
        ("person = 7", {"person": np.int64(10**12)}, 10**12),
        ("person = {A, B}", None, 2),
        ("person = {A, B}", {"person": 5}, 5),
        ("person = {A, B}\nperson = 5", None, 5),
        ("person = {A, B}\n1 p(C)", None, 3),
        ("1 p(C)", None, 1),
    ],
)
def test_domain_size(declaration: str, given: dict[str, int] | None, expected: int) -> None:
    assert parse(f"p(person)\n{declaration}").domain_sizes(given) == {"person": expected}


@pytest.mark.parametrize(
    ("declaration", "given", "message"),
    [
        ("", {}, "sort person has no size; give one with -n person=1000"),
        ("", {"city": 3}, "unknown sort city; the model has person"),
        ("", {"person": 0}, "size 0 is too small for sort person: it must be at least 1"),
        ("", {"person": 2.5}, "the size of person must be a whole number, got 2.5"),
        ("", {"person": "3"}, "the size of person must be a whole number, got '3'"),
        ("", {"person": True}, "the size of person must be a whole number, got True"),
        ("", {"person": float("nan")}, "the size of person must be a whole number, got nan"),
        ("person = {A, B, C}", {"person": 2}, "size 2 is too small for sort person: the model"),
        ("person = {A, B, C}", {"person": 2}, "give at least -n person=3"),
        ("person = {A, B}\nperson = 1", {}, "size 1 is too small for sort person: the model"),
    ],
)
def test_wrong_domain_size(declaration: str, given: dict[str, int], message: str) -> None:
    with pytest.raises(SizeError) as caught:
        parse(f"p(person)\n{declaration}").domain_sizes(given)
    assert message in caught.value.message


def test_a_missing_size_points_at_the_declaration() -> None:
    with pytest.raises(SizeError) as caught:
        parse("rain\np(person)").domain_sizes()
    assert caught.value.span is not None
    assert caught.value.span.text == "p(person)"


# --- printing


def test_a_model_prints_as_its_text() -> None:
    text = "person = 3\nfriends(person, person)\n1.5 friends(x,y) | x != y"
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(person)\nrain\n1 p(x)", "<Model friends-smokers: 2 predicates, 1 rule>"),
        ("rain", "<Model friends-smokers: 1 predicate, 0 rules>"),
    ],
)
def test_short_form_of_a_model(text: str, expected: str) -> None:
    assert repr(parse(text, "models/friends-smokers.mln")) == expected


# --- variables


def test_variables_of_a_rule() -> None:
    (rule,) = parse("""
        p(person)
        lives(person, city)
        1 (EXIST c lives(y,c) ^ d = c) ^ p(x) ^ z != x
    """).rules
    model = with_rules(rule)
    assert free_variables(rule) == ("y", "d", "x", "z")
    assert [variable.name for variable in quantified_variables(rule)] == ["c"]
    people, cities = dict.fromkeys("yxz", "person"), dict.fromkeys("cd", "city")
    assert model.variable_sorts(rule) == people | cities


def test_one_name_may_be_free_and_quantified() -> None:
    (rule,) = parse("p(person)\n1 p(x) ^ EXIST x p(x)").rules
    assert free_variables(rule) == ("x",)


# --- checks


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (weighted(Is(Atom("q"))), "unknown predicate q; the model declares p, lives, mood"),
        (weighted(Is(Atom("p"))), "p takes 1 argument, got 0"),
        (weighted(Is(Atom("mood", (X,)))), "mood takes the values low, high; write mood(x) = low"),
        (weighted(Is(Atom("p", (X,)), "high")), "p takes the values false, true"),
        (weighted(Is(Atom("lives", (X, X)))), "variable x is a person elsewhere"),
        (
            WeightedFormula(LIVES, None, (Equal(X, A),)),
            "x is a person and a is a city; only objects of one sort can be compared",
        ),
        (weighted(Exists(Y, P_X)), "the sort of variable y is unknown; use it in an atom"),
        (weighted(Not(Equal(ANNA, BOB))), "Anna and Bob are both constants"),
        (weighted(P_X, Number(float("inf"))), "inf is not a finite number"),
        (
            weighted(P_X, Arithmetic("*", Number(float("nan")), SizeOf("person"))),
            "nan is not a finite number",
        ),
        (
            weighted(P_X, Arithmetic("*", Number(2.0), NamedWeight("beta"))),
            "unknown weight $beta; the model declares $alpha",
        ),
        (weighted(P_X, SizeOf("year")), "unknown sort year; the model has person, city"),
        (
            WeightedFormula(Exists(X, P_X), None, expanded=frozenset("x")),
            "+x is bound by a quantifier; drop the +",
        ),
        (
            TableParfactor((P_X.atom,), (Number(1.0),)),
            "the table has 1 entries, but its atoms need 2",
        ),
        (
            TableParfactor((P_X.atom, LIVES.atom), (Number(1.0),)),
            "the table has 1 entries, but its atoms need 2 x 2 = 4",
        ),
        (
            TableParfactor((P_X.atom,), (Number(1.0), NamedWeight("beta"))),
            "unknown weight $beta; the model declares $alpha",
        ),
        (
            TableParfactor((P_X.atom,), (Number(1.0), SizeOf("year"))),
            "unknown sort year; the model has person, city",
        ),
        (TableParfactor((Atom("q"),), (Number(1.0),)), "unknown predicate q"),
    ],
)
def test_wrong_rule(rule: Rule, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        with_rules(rule)
    assert message in caught.value.message
    assert caught.value.span is None


@pytest.mark.parametrize("values", [(), ("a",), ("a", "b", "a")])
def test_wrong_values(values: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="m needs at least two values, all different"):
        Model({}, {"m": Predicate("m", (), values)})


def test_check_atom_raises_what_is_asked_for() -> None:
    model = with_rules()
    assert model.check_atom(Atom("p", (X,))) == PREDICATES["p"]
    with pytest.raises(QueryError, match="unknown predicate q"):
        model.check_atom(Atom("q"), QueryError)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2-3*4", -10.0), ("|person|/4", 2.5), ("1/|person|+1/|city|", 0.6), ("-|city|", -2.0)],
)
def test_value_of_a_weight(text: str, expected: float) -> None:
    (rule,) = parse(f"city = 2\np(person)\n{text} p(x)").rules
    assert isinstance(rule, WeightedFormula)
    assert rule.weight is not None
    assert evaluate_weight(rule.weight, {"person": 10, "city": 2}) == pytest.approx(expected)


# --- named weights


def test_values_of_named_weights() -> None:
    model = parse("$alpha = 0.5\n$beta = 2\np(person)\n2*$alpha/|person|-$beta p(x)")
    (rule,) = model.rules
    assert isinstance(rule, WeightedFormula)
    assert rule.weight is not None
    assert evaluate_weight(rule.weight, {"person": 10}, model.weights) == pytest.approx(-1.9)


def test_other_values_make_another_model() -> None:
    model = parse("$alpha = 0.5\n$beta = 2\np(person)\n$alpha p(x)\n$beta !p(x)", "a.mln")
    other = model.with_weights({"beta": np.int64(3)})
    assert model.weights == {"alpha": 0.5, "beta": 2.0}
    assert other.weights == {"alpha": 0.5, "beta": 3.0}
    assert other != model
    assert (other.rules, other.name) == (model.rules, "a")
    assert other.with_weights({"beta": 2}) == model.with_weights({}) == model


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gamma": 1.0}, "unknown weight $gamma; the model declares $alpha"),
        ({"alpha": float("nan")}, "the value of $alpha must be a finite number, got nan"),
        ({"alpha": float("-inf")}, "the value of $alpha must be a finite number, got -inf"),
        ({"alpha": "2"}, "the value of $alpha must be a finite number, got '2'"),
    ],
)
def test_wrong_values_of_named_weights(values: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        with_rules().with_weights(values)
    assert caught.value.message == message


def test_a_model_refuses_named_weights_that_are_not_finite() -> None:
    with pytest.raises(ModelError, match="must be a finite number, got inf"):
        Model({}, {}, weights={"alpha": float("inf")})


# --- names from elsewhere


def test_further_constants_follow_all_others() -> None:
    model = parse("person = {Anna}\np(person)\nlives(person, city)\n1 p(Bob) v p(Carl)", "a.mln")
    more = model.with_constants({"person": ["Dora", "Carl", "Anna"], "city": ["Rome"]})
    assert more.constants("person") == ("Anna", "Bob", "Carl", "Dora")
    assert more.constants("city") == ("Rome",)
    assert more.object_numbers("person") == {"Anna": 0, "Bob": 1, "Carl": 2, "Dora": 3}
    assert more.domain_sizes() == {"person": 4, "city": 1}
    assert (more.mentioned, more.notes) == (model.mentioned, model.notes)
    again = more.with_constants({"person": ["Emil"]})
    assert again.constants("person") == (*more.constants("person"), "Emil")
    assert parse(str(again)).constants("person") == again.constants("person")


@pytest.mark.parametrize(("declared", "names", "size"), [(5, "AB", 5), (2, "ABC", 3), (2, "", 2)])
def test_a_declared_size_grows_with_further_constants(declared: int, names: str, size: int) -> None:
    model = parse(f"person = {declared}\np(person)").with_constants({"person": [*names]})
    assert model.domain_sizes() == {"person": size}


def test_further_constants_are_not_expanded() -> None:
    model = parse("person = {Anna}\np(person)\n1 p(+x)").with_constants({"person": ["Bob"]})
    assert model.mentioned == {"person": ("Anna",)}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"city": ["Rome"]}, "unknown sort city; the model has person"),
        ({"person": ["Rome", ""]}, "'' among the constants is not a name"),
        ({"person": "Rome"}, "constants must be a list of names, got 'Rome'"),
    ],
)
def test_wrong_further_constants(names: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse("p(person)").with_constants(names)
    assert caught.value.message == message


def test_a_closed_predicate_is_boolean() -> None:
    with pytest.raises(ModelError, match="only a predicate with the values false and true"):
        Model({}, {"m": Predicate("m", (), ("low", "high"), closed=True)})


def test_all_missing_sizes_are_named_at_once() -> None:
    model = parse("lives(person, city)\nowns(person, pet)\npet = 3")
    with pytest.raises(SizeError, match="sorts person, city have no sizes") as caught:
        model.domain_sizes()
    assert "-n person=1000 -n city=1000" in caught.value.message


def test_sorts_of_variables_are_known_by_the_rule_itself() -> None:
    """They are kept by the identity of rules, which another rule may have after pickling."""
    text = "p(thing)\nq(place)\n1 p(x)\n1 q(x)"
    model = parse(text)
    model.variable_sorts(model.rules[0]).clear()
    sorts = [{"x": "thing"}, {"x": "place"}]
    assert [model.variable_sorts(rule) for rule in model.rules] == sorts
    for again in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert "_scopes" not in vars(again)
        assert [again.variable_sorts(rule) for rule in again.rules] == sorts
    # Rules of others are not kept: their identity may be that of another one later.
    assert [model.variable_sorts(rule) for rule in parse(text).rules] == sorts
    assert len(model._scopes) == 2
