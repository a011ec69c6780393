"""Models in the notations of other tools, written here; what they mean is computed in Python."""

from __future__ import annotations

import math

import pytest

import liftgbp
from liftgbp.model.ast import Constant, Variable, rule_atoms
from liftgbp.model.parser import parse
from liftgbp.support.errors import EvidenceError, ModelError
from small_worlds import World, listed_worlds

PEOPLE = "person = {Anna, Bob}\nsmokes(person)\nfriends(person, person)\n"


def same(one: str, other: str) -> None:
    assert parse(PEOPLE + one) == parse(PEOPLE + other)


# --- operators and names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1 smokes(x) & friends(x,y)", "1 smokes(x) ^ friends(x,y)"),
        ("1 smokes(x) AND friends(x,y)", "1 smokes(x) ^ friends(x,y)"),
        ("1 smokes(x) ∧ ¬friends(x,y)", "1 smokes(x) ^ !friends(x,y)"),
        ("1 smokes(x) OR friends(x,y)", "1 smokes(x) v friends(x,y)"),
        ("1 smokes(x) AND\nfriends(x,y)", "1 smokes(x) ^ friends(x,y)"),
        ("1 smokes(x)\nOR friends(x,y)", "1 smokes(x) v friends(x,y)"),
        ("1 ~smokes(x)", "1 !smokes(x)"),
        ("1 smokes(x) | friends(x,y)", "1 smokes(x) v friends(x,y)"),
        ("1 smokes(x)|!friends(x,y) | smokes(y)", "1 smokes(x) v !friends(x,y) v smokes(y)"),
        ("1 (smokes(x)) | (friends(x,y)) | x != y", "1 smokes(x) v friends(x,y) | x != y"),
        ("1/|person| (smokes(x) v friends(x,y))", "1/|person| smokes(x) v friends(x,y)"),
        ("1/|person| smokes(x)", "1/|person| smokes(x)"),
        ("1 friends(x,y) ^ x =/= y", "1 friends(x,y) ^ x != y"),
        ("1 [smokes(x) v smokes(y)] ^ friends(x,y)", "1 (smokes(x) v smokes(y)) ^ friends(x,y)"),
        ("2*domSize(person) smokes(x)", "2*|person| smokes(x)"),
        ("log(float(2)/3) smokes(x)", "log(2/3) smokes(x)"),
        ("logx(domSize(person)) smokes(x)", "log(|person|) smokes(x)"),
        ("logx(0.000) smokes(x)", "!smokes(x)."),
        ("log(0) friends(x,y) | x != y", "!friends(x,y) | x != y."),
        ("@5 smokes(x)", "5 smokes(x)"),
        ("#fixweight 5 smokes(x)", "5 smokes(x)"),
        ("1 friends(x,x') ^ x != x'", "1 friends(x,y) ^ x != y"),
    ],
)
def test_notations_of_other_tools(written: str, meant: str) -> None:
    renamed = str(parse(PEOPLE + written)).replace("x'", "y")
    assert parse(renamed) == parse(PEOPLE + meant)


def test_and_is_an_operator_only_where_one_is_expected() -> None:
    model = parse("AND(person)\nOR(person)\n1 AND(x) OR OR(x)")
    assert [atom.predicate for atom in rule_atoms(model.rules[0])] == ["AND", "OR"]


def test_a_bar_before_a_comparison_of_an_atom_stays_a_bar() -> None:
    with pytest.raises(ModelError, match="a restriction compares variables and constants"):
        parse(PEOPLE + "mood(person) : {low, high}\n1 smokes(x) | mood(x) = high")


def test_marked_variables_make_all_other_names_constants() -> None:
    model = parse("colour = {red, blue}\nhas(thing, colour)\n1 has(?t, red) ^ has(cup, ?c)")
    first, second = rule_atoms(model.rules[0])
    assert first.args == (Variable("t"), Constant("red"))
    assert second.args == (Constant("cup"), Variable("c"))
    assert parse(str(model)) == model


def test_sorts_may_have_capital_letters_and_no_constants() -> None:
    declared = "Person = {Anna}\nlevel = {}\n*Smokes(Person)\nKnows(Person, Person)\n"
    model = parse(declared + "1 Knows(x,y)")
    assert model.predicates["Smokes"].closed
    assert model.predicates["Knows"].sorts == ("Person", "Person")
    assert model.sorts["level"].constants == ()


def test_an_atom_of_a_declared_predicate_is_not_a_declaration() -> None:
    model = parse("smokes(Anna)\nsmokes(person)\nsmokes(x)\nsmokes(person)")
    assert [str(*rule_atoms(rule)) for rule in model.rules] == ["smokes(Anna)", "smokes(x)"]
    assert model.predicates["smokes"].sorts == ("person",)


def test_a_formula_that_names_sorts_is_a_second_declaration() -> None:
    with pytest.raises(ModelError, match=r"friends was declared as friends\(person, person\)"):
        parse(PEOPLE + "friends(person, x)")


def test_variables_expand_over_sorts_that_declare_no_constants() -> None:
    model = parse("word(token, page)\n0.5 word(+t, p)")
    evidence = liftgbp.parse_evidence(model, "word(The, One)\n!word(A, Two)")
    answers = liftgbp.infer(model, evidence=evidence)
    expected = 1 / (1 + math.exp(-0.5))
    assert answers.marginal("word(A, One)") == pytest.approx(expected)


def test_a_part_of_a_model_says_that_it_is_one() -> None:
    with pytest.raises(ModelError, match="or read the file that includes this one"):
        parse("1 takes(x,y) => smokes(x)")


def test_brackets_around_a_step() -> None:
    declared = "number = {1, 2, 3}\neven(number)\n"
    assert parse(declared + "even(x) v even([x+1]).") == parse(declared + "even(x) v even(x+1).")


def test_all_unknown_predicates_are_named_at_once() -> None:
    with pytest.raises(ModelError, match="unknown predicates takes, teaches; the model declares"):
        parse(PEOPLE + "1 takes(x,y) => smokes(x)\n1 teaches(x,y) ^ takes(x,y)")


# --- formulas without a weight


TEMPLATE = PEOPLE + "friends(x,y) ^ smokes(x) => smokes(y)\nsmokes(x)\n1 friends(x,x)\n"


def test_formulas_without_a_weight_can_be_read_and_printed() -> None:
    model = parse(TEMPLATE)
    assert list(model.without_weight) == ["w1", "w2"]
    assert parse(str(model)) == model


def test_runs_refuse_formulas_without_a_weight() -> None:
    with pytest.raises(ModelError) as caught:
        liftgbp.infer(parse(TEMPLATE))
    message = str(caught.value)
    assert "2 formulas have no weight" in message
    assert "$w1 for friends(x,y) ^ smokes(x) => smokes(y) (<text>, line 4)" in message
    assert "$w2 for smokes(x) (<text>, line 5)" in message
    assert "-w w1=0.5" in message
    assert "period" in message


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_weights_can_be_given_later(via: str) -> None:
    model = parse(TEMPLATE).with_weights({"w1": 0.7, "w2": -0.4})

    def log_weight(world: World) -> float:
        total = 0.0
        for x in "AB":
            total += -0.4 * world[f"s{x}"] + world[f"f{x}{x}"]
            for y in "AB":
                total += 0.7 * (not (world[f"f{x}{y}"] and world[f"s{x}"]) or world[f"s{y}"])
        return total

    log_z, marginals = listed_worlds(("sA", "sB", "fAA", "fAB", "fBA", "fBB"), log_weight)
    answers = liftgbp.infer(model, via=via)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("smokes(Anna)") == pytest.approx(marginals["sA"])
    assert answers.marginal("friends(Anna,Bob)") == pytest.approx(marginals["fAB"])


def test_a_declared_value_is_the_weight_of_the_formula_with_that_name() -> None:
    model = parse("$w1 = 0.7\nrain\nwet\nrain => wet")
    assert not model.without_weight
    assert parse(str(model)) == model
    # w1 is taken here, so the formula without a weight is called w2.
    assert list(parse("$w1 = 0.7\nrain\nwet\n$w1 rain\nrain => wet").without_weight) == ["w2"]


def test_a_weight_is_missing_by_name() -> None:
    with pytest.raises(ModelError, match=r"unknown weight \$w3"):
        parse(TEMPLATE).with_weights({"w3": 1})


def test_stars_stand_for_all_signs() -> None:
    same(
        "*smokes(x) v *friends(x,y)",
        "smokes(x) v friends(x,y)\nsmokes(x) v !friends(x,y)\n"
        "!smokes(x) v friends(x,y)\n!smokes(x) v !friends(x,y)",
    )


@pytest.mark.parametrize("text", ["*smokes(x) v smokes(Anna).", "*smokes(x) v *smokes(y) | x != y"])
def test_stars_need_formulas_without_anything_else(text: str) -> None:
    with pytest.raises(ModelError, match="stars stand for both signs"):
        parse(PEOPLE + text)


# --- weights for single constants


def own_weights(world: World) -> float:
    return 0.2 * world["A"] + 1.1 * world["B"] + 0.2 * world["C"] + 2.0 * world["r"]


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize(
    "weights",
    [
        {"w1": 0.2, "w1(B)": 1.1},
        {"w1(A)": 0.2, "w1(B)": 1.1, "w1( C )": 0.2},
    ],
)
def test_each_constant_can_have_its_own_weight(via: str, weights: dict[str, float]) -> None:
    model = parse("person = {A, B, C}\ntall(person)\nrain\ntall(+x)\n2 rain")
    answers = liftgbp.infer(model.with_weights(weights), via=via)
    log_z, marginals = listed_worlds("ABCr", own_weights)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("tall(B)") == pytest.approx(marginals["B"])
    assert answers.marginal("tall(C)") == pytest.approx(marginals["C"])


def test_own_weights_in_a_text_and_over_pairs() -> None:
    text = """
        person = {A, B}
        likes(person, person)
        $w = 0.3
        $w(A,B) = -1
        $w likes(+x,+y) | x != y
        0.7 likes(x,x)
    """
    model = parse(text)
    assert parse(str(model)) == model

    def log_weight(world: World) -> float:
        return -world["AB"] + 0.3 * world["BA"] + 0.7 * (world["AA"] + world["BB"])

    log_z, marginals = listed_worlds(["AA", "AB", "BA", "BB"], log_weight)
    answers = liftgbp.infer(model)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("likes(A,B)") == pytest.approx(marginals["AB"])
    # A weight for two equal constants has no grounding, and changes nothing.
    same = model.with_weights({"w(A,A)": 9})
    assert liftgbp.infer(same).log_z == pytest.approx(log_z)


def test_distinct_holds_for_constants_in_the_place_of_variables() -> None:
    model = parse("t = {A, B}\nr(t,t)\n$w = 0\n$w(A) = 1\n$w r(+x,y) | distinct")
    log_z, _ = listed_worlds(["AA", "AB", "BA", "BB"], lambda world: world["AB"])
    assert liftgbp.infer(model).log_z == pytest.approx(log_z)


def test_own_weights_follow_evidence() -> None:
    """The weight in a template may be about a word that only evidence names."""
    model = parse("has(page, word)\ntopic(page)\nhas(p,+w) ^ topic(p)\n2 topic(p)")
    facts = "has(One, Cat)\nhas(One, Dog)\nhas(Two, Dog)"
    with pytest.raises(ModelError, match=r"for single constants \$w1\(Cat\), \$w1\(Dog\)"):
        liftgbp.infer(model, evidence=facts)
    weighted = model.with_weights({"w1(Cat)": -3, "w1(Dog)": 0.5})
    answers = liftgbp.infer(
        weighted, evidence=liftgbp.parse_evidence(weighted, facts, closed="has")
    )
    assert answers.marginal("topic(One)") == pytest.approx(1 / (1 + math.exp(-2 + 3 - 0.5)))
    assert answers.marginal("topic(Two)") == pytest.approx(1 / (1 + math.exp(-2.5)))


def test_a_weight_for_a_constant_that_is_none() -> None:
    model = parse("person = {A}\ntall(person)\ntall(+x)").with_weights({"w1": 1, "w1(B)": 2})
    with pytest.raises(ModelError, match=r"\$w1\(B\) is the weight of no formula"):
        liftgbp.infer(model)
    with pytest.raises(ModelError, match=r"unknown weight \$w2\(A\)"):
        model.with_weights({"w2(A)": 1})


# --- negative numbers


def test_negative_numbers_are_constants() -> None:
    model = parse(
        "level = {-2,...,1}\nhot(level)\nmood(level) : {-1, 0}\n"
        "1 hot(-2) ^ !hot(x) | x != -1\n0.5 mood(x) = -1\n2 hot(x) => hot(x+1)\n1 x = -1 ^ hot(x)"
    )
    assert model.constants("level") == ("-2", "-1", "0", "1")
    assert parse(str(model)) == model
    levels = range(-2, 2)

    def log_weight(world: World) -> float:
        total = sum(float(world["-2"] and not world[str(x)]) for x in levels if x != -1)
        total += sum(2.0 * (not world[str(x)] or world[str(x + 1)]) for x in levels if x < 1)
        return total + world["-1"] + 4 * math.log1p(math.exp(0.5))

    log_z, marginals = listed_worlds([str(x) for x in levels], log_weight)
    answers = liftgbp.infer(model)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("hot(-1)") == pytest.approx(marginals["-1"])


# --- weights of predicates


def test_a_predicate_with_two_potentials() -> None:
    model = parse("person = {A, B}\nsmokes(person) 3 1\ntall(person)\nsmokes(x) => tall(x).")

    def log_weight(world: World) -> float:
        possible = all(world[f"t{x}"] or not world[f"s{x}"] for x in "AB")
        return sum(math.log(3) for x in "AB" if world[f"s{x}"]) if possible else -math.inf

    log_z, marginals = listed_worlds(("sA", "sB", "tA", "tB"), log_weight)
    answers = liftgbp.infer(model)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("tall(A)") == pytest.approx(marginals["tA"])


def test_a_negative_potential_is_refused() -> None:
    with pytest.raises(ModelError, match="a potential cannot be negative"):
        parse("s(person) 1.0 -1.0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("?smokes(Anna)", "nothing is known about an atom: leave it out"),
        ("smokes(Anna)\n---\nsmokes(Bob)", "put each into a file of its own"),
        ("smokes(ja!_)", "put a name with other characters than letters and digits in quotes"),
    ],
)
def test_lines_of_facts_that_are_refused(line: str, message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        liftgbp.parse_evidence(parse(PEOPLE), line)


# --- what is refused by name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#fuzzy", "#fuzzy is not supported: atoms are true or false"),
        ("#unique{+?a,+?b}\n1 smokes(?a)", "#unique is not supported"),
        ("sum(x,y,z) := [x+y == z]", "definitions with := are not supported"),
        ("-2:20 smokes(x)", "a weight with a utility"),
        (":-1 smokes(x)", "a weight with a utility"),
        ("count(friends(x,y)|x)=6.", "constraints on counts are not supported"),
        ("smokes(x) * -(height(x) - 0.1)^2", "numeric terms of hybrid models"),
        ("|y| friends(x,y) <= 1", "constraints on counts are not supported (for |y| p(x,y) <= 1"),
        ("1 x in male ^ smokes(x)", "sorts are declared with predicates"),
        ("1 smokes(CORN_500.000_e)", 'is quoted, as in "A-1.5"'),
        ("1 smokes(Mary-Ann)", 'is quoted, as in "A-1.5"'),
        ("1 Smokes(x)", "the model writes smokes, and case matters"),
        ("!smokes(x) v friends(x, [2*x]).", "arithmetic in brackets is not supported"),
    ],
)
def test_what_is_not_supported_is_named(text: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(PEOPLE + text)
    assert message in caught.value.message
