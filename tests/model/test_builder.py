"""Models built in Python equal the same models read from text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from liftgbp.model.ast import (
    Arithmetic,
    Atom,
    Constant,
    Equal,
    Forall,
    Implies,
    Is,
    NamedWeight,
    Not,
    Number,
    SizeOf,
    Sort,
    Variable,
)
from liftgbp.model.builder import ModelBuilder
from liftgbp.model.parser import parse
from liftgbp.support.errors import ModelError

X, Y = Variable("x"), Variable("y")
SMOKES_X, SMOKES_Y = Atom("smokes", (X,)), Atom("smokes", (Y,))

BASE = (
    ModelBuilder("smokers")
    .predicate("friends", "person", "person")
    .predicate("smokes", "person")
    .predicate("mood", "person", values=["low", "mid", "high"])
    .predicate("weather", values=["sunny", "grey"])
)
BASE_TEXT = """
friends(person, person)
smokes(person)
mood(person) : {low, mid, high}
weather : {sunny, grey}
"""


def test_the_whole_api() -> None:
    model = (
        ModelBuilder("smokers")
        .sort("person", size=1000)
        .sort("city", constants=["Rome", "Oslo"])
        .sort("year", size=np.int64(50), constants=np.arange(1, 4))
        .predicate("friends", "person", "person")
        .predicate("smokes", "person")
        .predicate("mood", "person", values=["low", "mid", "high"])
        .predicate("rain", values=(0, 1, 2))
        .formula("friends(x,y) ^ smokes(x) => smokes(y)", weight=1.4, distinct=True)
        .formula("smokes(x)", "1.4/|person|")
        .hard("friends(x,y) => friends(y,x)", where="x != y")
        .table(["mood(x)", "smokes(x)"], [1, 2, 3, 1, "1/|person|", 4], where="x != Anna")
        .build()
    )
    assert model.name == "smokers"
    assert model == parse("""
        person = 1000
        city = {Rome, Oslo}
        year = {1, 2, 3}
        year = 50
        friends(person, person)
        smokes(person)
        mood(person) : {low, mid, high}
        rain : {0, 1, 2}
        1.4 friends(x,y) ^ smokes(x) => smokes(y) | distinct
        1.4/|person| smokes(x)
        friends(x,y) => friends(y,x) | x != y.
        parfactor mood(x), smokes(x) | x != Anna : [1, 2, 3, 1, 1/|person|, 4]
    """)


Step = Callable[[ModelBuilder], ModelBuilder]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        # --- formulas from trees
        (lambda b: b.formula(SMOKES_X, 1), "1 smokes(x)"),
        (
            lambda b: b.formula(Implies(Is(SMOKES_X), Is(SMOKES_Y)), 1),
            "1 smokes(x) => smokes(y)",
        ),
        (lambda b: b.hard(Forall(X, Is(SMOKES_X))), "smokes(x)."),
        # --- formulas from text
        (lambda b: b.formula("FORALL x smokes(x)", 1), "1 smokes(x)"),
        (lambda b: b.formula("smokes(x)\n  ^ smokes(y)\n", 1), "1 smokes(x) ^ smokes(y)"),
        (lambda b: b.formula("weather = sunny", 1), "1 weather = sunny"),
        (
            lambda b: b.sort("person", constants=["Anna"]).formula("smokes(+x)", 1),
            "person = {Anna}\n1 smokes(+x)",
        ),
        # --- weights
        (lambda b: b.formula("smokes(x)", -2), "-2 smokes(x)"),
        (lambda b: b.formula("smokes(x)", np.float32(0.5)), "0.5 smokes(x)"),
        (lambda b: b.formula("smokes(x)", Fraction(1, 4)), "0.25 smokes(x)"),
        (lambda b: b.formula("smokes(x)", "2 * -3"), "2 * -3 smokes(x)"),
        (
            lambda b: b.formula("smokes(x)", Arithmetic("/", Number(2.0), SizeOf("person"))),
            "2/|person| smokes(x)",
        ),
        (
            lambda b: b.weight("alpha", 1.4).formula("smokes(x)", weight="$alpha"),
            "$alpha = 1.4\n$alpha smokes(x)",
        ),
        (
            lambda b: b.formula("smokes(x)", "2*$Alpha/|person|").weight("Alpha", np.float32(-2)),
            "$Alpha = -2\n2*$Alpha/|person| smokes(x)",
        ),
        (
            lambda b: b.weight("a", 1).weight("a", 1).formula("smokes(x)", NamedWeight("a")),
            "$a = 1\n$a smokes(x)",
        ),
        # --- restrictions
        (
            lambda b: b.formula("friends(x,y) | x != y", 1, where="y != Anna, distinct"),
            "1 friends(x,y) | x != y, y != Anna, distinct",
        ),
        (
            lambda b: b.formula("friends(x,y)", 1, where=[Not(Equal(X, Y))]),
            "1 friends(x,y) | x != y",
        ),
        (
            lambda b: b.formula("friends(x,y)", 1, where=Equal(X, Constant("Anna"))),
            "1 friends(x,y) | x = Anna",
        ),
        (lambda b: b.hard("friends(x,y)", where=" ", distinct=True), "friends(x,y) | distinct."),
        # --- tables
        (
            lambda b: b.table([SMOKES_X, "weather"], np.array([[1, 2], [3, 0]]), distinct=True),
            "parfactor smokes(x), weather | distinct : [1, 2, 3, 0]",
        ),
        (
            lambda b: b.table(["mood(x)", "smokes(x)"], np.arange(6).reshape(3, 2)),
            "parfactor mood(x), smokes(x) : [0, 1, 2, 3, 4, 5]",
        ),
        (
            lambda b: b.weight("a", 3).table(["smokes(x)"], ["1/$a", NamedWeight("a")]),
            "$a = 3\nparfactor smokes(x) : [1/$a, $a]",
        ),
        (
            lambda b: b.table(["smokes(x)"], (n / 2 for n in (1, 2))),
            "parfactor smokes(x) : [0.5, 1]",
        ),
    ],
)
def test_same_as_text(step: Step, text: str) -> None:
    assert step(BASE).build() == parse(BASE_TEXT + text)


def test_order_of_declarations_does_not_matter() -> None:
    early = ModelBuilder().formula("rain = heavy", 1).predicate("rain", values=["no", "heavy"])
    assert early.build() == parse("rain : {no, heavy}\n1 rain = heavy")


def test_sorts_may_stay_open() -> None:
    model = ModelBuilder().sort("person").predicate("smokes", "person").build()
    assert model == parse("smokes(person)")
    assert model.sorts == {"person": Sort("person")}


def test_builders_never_change() -> None:
    more = BASE.formula("smokes(x)", 1)
    assert BASE.build().rules == ()
    assert len(more.build().rules) == 1
    with pytest.raises(FrozenInstanceError):
        BASE.name = "other"  # type: ignore[misc]


def test_errors_point_into_the_texts() -> None:
    with pytest.raises(ModelError) as caught:
        BASE.formula("smokes(x) /\\ smokes(y)", 1)
    assert str(caught.value) == (
        "<formula>:1:11: expected an operator (^, v, =>, <=>) or the end of the text, "
        "got '/'; 'and' is written ^\n"
        "  smokes(x) /\\ smokes(y)\n"
        "            ^"
    )


B: Any = BASE  # the wrong types below are meant

ERRORS: list[tuple[Callable[[], Any], str]] = [
    # --- sorts and predicates
    (lambda: B.sort("a b"), "a name consists of letters, digits and underscores, got 'a b'"),
    (lambda: B.sort(3), "a name consists of letters, digits and underscores, got 3"),
    (lambda: B.sort("a", size=0), "the size of a must be a whole number from 1 to 1e100, got 0"),
    (lambda: B.sort("a", size=2.5), "must be a whole number from 1 to 1e100, got 2.5"),
    (lambda: B.sort("a", size=float("nan")), "must be a whole number from 1 to 1e100, got nan"),
    (lambda: B.sort("a", size="3"), "must be a whole number from 1 to 1e100, got '3'"),
    (lambda: B.sort("a", size=True), "must be a whole number from 1 to 1e100, got True"),
    (lambda: B.sort("a", constants="Anna"), "constants must be a list of names, got 'Anna'"),
    (lambda: B.sort("a", constants=5), "constants must be a list of names, got 5"),
    (lambda: B.sort("a", constants=["A", 1.5]), "1.5 among the constants is not a name"),
    (lambda: B.sort("a", constants=["A\n"]), r"'A\n' among the constants is not a name"),
    (lambda: B.sort("a", constants=["A", "A"]), "A is listed twice among the constants"),
    (lambda: B.predicate("p q"), "a name consists of letters"),
    (lambda: B.predicate("p", values="ab"), "values must be a list of names, got 'ab'"),
    (lambda: B.predicate("p", values=["a"]).build(), "p needs at least two values"),
    (lambda: B.predicate("smokes").build(), "smokes was declared as smokes(person)"),
    (
        lambda: B.sort("a", size=3).sort("a", size=4).build(),
        "a was declared with size 3",
    ),
    # --- named weights
    (lambda: B.weight("$a", 1), "a name consists of letters, digits and underscores, got '$a'"),
    (lambda: B.weight("a", float("nan")), "the value of $a must be a finite number, got nan"),
    (lambda: B.weight("a", 10**400), "the value of $a must be a finite number, got 1000"),
    (lambda: B.weight("a", "1"), "the value of $a must be a finite number, got '1'"),
    (lambda: B.weight("a", True), "the value of $a must be a finite number, got True"),
    (lambda: B.weight("a", 1).weight("a", 2).build(), "$a was declared as 1"),
    (
        lambda: B.weight("a", 1).formula("smokes(x)", "2*$b").build(),
        "unknown weight $b; the model declares $a",
    ),
    # --- formulas, weights and restrictions
    (lambda: B.formula(5, 1), "a formula is a text or a syntax tree, got 5"),
    (lambda: B.formula("smokes(x).", 1), "expected '|' or the end of the text, got '.'"),
    (lambda: B.formula("", 1), "expected a formula, got the end of the text"),
    (lambda: B.formula(120 * "!" + "smokes(x)", 1), "nested more than 100 levels deep"),
    (lambda: B.formula("smokes(x)", None), "a weight is a number or a text such as"),
    (lambda: B.formula("smokes(x)", True), "a weight is a number or a text such as"),
    (lambda: B.formula("smokes(x)", float("inf")), "inf is not a finite number; state what must"),
    (lambda: B.formula("smokes(x)", float("nan")), "nan is not a finite number; state what must"),
    (lambda: B.formula("smokes(x)", 10**400), "is not a finite number; state what must"),
    (lambda: B.formula("smokes(x)", "1/0"), "division by zero"),
    (lambda: B.formula("smokes(x)", "1.4 smokes"), "expected an arithmetic operator"),
    (lambda: B.formula("smokes(x)", 1, where="x"), "expected '=', got the end of the text"),
    (lambda: B.hard("smokes(x)", where=[SMOKES_X]), "a restriction is Equal(...) or Not(Equal"),
    (lambda: B.hard("smokes(x)", where=3), "a restriction is Equal(...) or Not(Equal(...)), got 3"),
    (lambda: B.formula("smokes(x,y)", 1).build(), "smokes takes 1 argument, got 2"),
    (lambda: B.formula("rains", 1).build(), "unknown predicate rains"),
    (
        lambda: B.formula("EXIST x smokes(x)", 1, where="x != Anna").build(),
        "x is bound by a quantifier; restrictions are about free variables",
    ),
    (
        lambda: B.hard(Is(SMOKES_X), where=Equal(Variable("z"), Constant("Anna"))).build(),
        "z occurs only after the bar; use it in the formula",
    ),
    (
        lambda: B.table(["smokes(x)"], [1, 2], where="x != z").build(),
        "z occurs only after the bar; use it in the formula",
    ),
    # --- tables
    (lambda: B.table("smokes(x)", [1, 2]), "a table needs a list of atoms, got 'smokes(x)'"),
    (lambda: B.table([5], [1, 2]), "an atom is a text such as 'smokes(x)' or an Atom, got 5"),
    (lambda: B.table(["!smokes(x)"], [1, 2]), "expected a name, got '!'"),
    (lambda: B.table(["smokes(+x)"], [1, 2]), "+ expands variables of formulas only"),
    (lambda: B.table(["smokes(x)"], 5), "potentials are a list of numbers or an array, got 5"),
    (lambda: B.table(["smokes(x)"], "12"), "potentials are a list of numbers or an array"),
    (lambda: B.table(["smokes(x)"], [1, -2]), "a potential cannot be negative, got -2"),
    (lambda: B.table(["smokes(x)"], [1, "1-2"]), "a potential cannot be negative"),
    (lambda: B.table(["smokes(x)"], [[1, 2]]), "a weight is a number or a text such as"),
    (lambda: B.table(["smokes(x)"], [1]).build(), "the table has 1 entries, but its atoms need 2"),
    (
        lambda: B.table(["mood(x)", "smokes(x)"], np.ones((2, 3))),
        "the array has shape (2, 3), but its atoms need (3, 2)",
    ),
    (
        lambda: B.table(["p(x)", "q(x)"], np.ones((2, 2))),
        "declare p before giving an array over its",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_error(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        wrong()
    assert message in caught.value.message


RESERVED = ["exist", "forall", "parfactor", "inf", "nan", "distinct", "v"]


@pytest.mark.parametrize("word", RESERVED)
def test_reserved_words_name_nothing(word: str) -> None:
    empty = ModelBuilder()
    for builder in (
        empty.predicate(word),
        empty.predicate(word, "person"),
        empty.predicate("p", "person", word),
        empty.sort(word, size=3),
    ):
        with pytest.raises(ModelError) as caught:
            builder.build()
        assert caught.value.message == f"{word} is a reserved word; choose another name"


def test_closed_predicates() -> None:
    model = ModelBuilder().predicate("friends", "person", "person", closed=True).build()
    assert model == parse("*friends(person, person)")
    with pytest.raises(ModelError, match="only a predicate with the values false and true"):
        ModelBuilder().predicate("m", values=["low", "high"], closed=True).build()
