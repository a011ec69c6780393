"""Counts of objects without names, and evidence over all objects of a domain."""

from __future__ import annotations

import numpy as np
import pytest

from liftgbp.evidence import Evidence, Known, Problem
from liftgbp.evidence.read import load_evidence, parse_evidence, parse_known
from liftgbp.model.parser import parse
from liftgbp.support.errors import CapacityError, EvidenceError, SizeError

MODEL = parse("""
    smokes(person)
    cancer(person)
    mood(person) : {low, mid, "a = b"}
    big(city)
    friends(person, person)
    rain
""")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smokes(x)=3e5", Known("person", (("smokes", 1),), 300_000)),
        ("!smokes(x)=2e5", Known("person", (("smokes", 0),), 200_000)),
        ("smokes(x) = false = 4", Known("person", (("smokes", 0),), 4)),
        ("smokes(x) ^ !cancer(x) = 1000", Known("person", (("smokes", 1), ("cancer", 0)), 1000)),
        ("mood(x)=mid=50", Known("person", (("mood", 1),), 50)),
        ('mood(x)="a = b"=0', Known("person", (("mood", 2),), 0)),
        ("big(c) = 1.5e1", Known("city", (("big", 1),), 15)),
        (
            "(smokes(y) ^ mood(y) = low) ^ smokes(y) = 10000000000000000000001",
            Known("person", (("smokes", 1), ("mood", 0)), 10**22 + 1),
        ),
    ],
)
def test_known(text: str, expected: Known) -> None:
    assert parse_known(MODEL, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smokes(x)", "smokes(x) does not say how many; write what is known as in smokes(x) ^"),
        ("smokes(x)=", "must be a whole number, got none in smokes(x)="),
        ("smokes(x)=many", "must be a whole number, got many"),
        ("smokes(x)=2.5", "must be a whole number, got 2.5"),
        ("smokes(x)=-1", "must be a whole number, got -1"),
        ("smokes(x)=nan", "must be a whole number, got nan"),
        ("smokes(x)=inf", "must be a whole number, got inf"),
        ("smokes(x)=1e999999999", "must be a whole number, got 1e999999999"),
        ("smokes(x)=1e-999999999", "must be a whole number, got 1e-999999999"),
        ("Smokes(x)=3", "unknown predicate Smokes; the model writes smokes, and case matters"),
        ("drinks(x)=3", "unknown predicate drinks; the model has smokes, cancer"),
        ("mood(x)=high=3", "mood takes the values low, mid, a = b"),
        ("!mood(x)=3", "mood takes the values low, mid, a = b"),
        ("mood(x)!=low=3", "only values of atoms, joined by ^, are allowed here"),
        ("friends(x,y)=3", "friends(person, person) cannot be known about unnamed objects"),
        ("smokes(x,y)=3", "smokes(person) cannot be known about unnamed objects"),
        ("rain=3", "rain cannot be known about unnamed objects"),
        ("smokes(Anna)=3", "Anna is an object; state facts about it in a file"),
        ("smokes(x) ^ cancer(y)=3", "is about several objects (x is a person, y is a person)"),
        ("smokes(x) ^ big(x)=3", "is about several objects (x is a city, x is a person)"),
        ("smokes(x) ^ !smokes(x)=3", "smokes is given two values"),
        ("smokes(x) v cancer(x)=3", "only values of atoms, joined by ^, are allowed here"),
        ("smokes(x) | x != y = 3", "restrictions are not allowed here"),
        ("smokes(+x)=3", "+ expands variables of formulas only"),
        ("smokes(x=3", "expected"),
        ("=3", "expected a formula"),
    ],
)
def test_wrong_known(text: str, message: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        parse_known(MODEL, text)
    assert message in caught.value.message


# --- evidence over a whole domain


def test_unnamed_objects_follow_the_named_ones() -> None:
    evidence = parse_evidence(
        MODEL,
        "smokes(Anna)\n!cancer(Bob)",
        known=["smokes(x) ^ !cancer(x) = 2", "big(c) = 1", "!smokes(x) = 1"],
    )
    facts = Problem.of(MODEL, evidence, {"person": 5, "city": 3}).facts()
    smokes, cancer, big = facts["smokes"], facts["cancer"], facts["big"]
    assert (smokes.args.tolist(), smokes.values.tolist()) == ([[0], [2], [3], [4]], [1, 1, 1, 0])
    assert (cancer.args.tolist(), cancer.values.tolist()) == ([[1], [2], [3]], [0, 0, 0])
    assert (big.args.tolist(), big.values.tolist()) == ([[0]], [1])
    assert smokes.args.dtype == np.int64


def test_without_counts_the_facts_are_what_was_stated() -> None:
    evidence = parse_evidence(MODEL, "smokes(Anna)\nfriends(Anna,Bob)")
    problem = Problem.of(MODEL, evidence, {"city": 1})
    assert problem.facts() == problem.evidence.hard


def test_too_many_known_objects() -> None:
    evidence = parse_evidence(MODEL, "smokes(Anna)", known=("smokes(x)=3", "!smokes(x)=2"))
    assert Problem.of(MODEL, evidence, {"person": 6, "city": 1}).sizes["person"] == 6
    message = (
        r"size 5 is too small for sort person: 5 unnamed objects are known besides 1 named ones; "
        r"give a size of at least 6, as in -n person=6"
    )
    with pytest.raises(SizeError, match=message):
        Problem.of(MODEL, evidence, {"person": 5, "city": 1})
    with pytest.raises(SizeError, match="sort city has no size"):
        Problem.of(MODEL, evidence, {"person": 6})


def test_too_many_to_write_out() -> None:
    evidence = load_evidence(MODEL, known=["smokes(x)=1e12"])
    problem = Problem.of(MODEL, evidence, {"person": 10**12, "city": 1})
    assert problem.sizes["person"] == 10**12
    with pytest.raises(CapacityError, match="cannot list more than 100000000"):
        problem.facts()


def test_a_size_that_is_too_small_for_names() -> None:
    evidence = parse_evidence(MODEL, "smokes(Anna)\nsmokes(Bob)")
    with pytest.raises(SizeError, match="size 1 is too small for sort person"):
        Problem.of(MODEL, evidence, {"person": 1, "city": 1})


# --- closed predicates


def test_closed_predicates_of_model_and_call() -> None:
    model = parse("*friends(person, person)\nsmokes(person)\nrain")
    assert Evidence.of(model).closed == {"friends"}
    assert Evidence.of(model)
    assert not Evidence.of(MODEL)
    assert parse_evidence(model, "", closed=["rain", "friends"]).closed == {"friends", "rain"}
    assert parse_evidence(model, "", closed="rain").closed == {"friends", "rain"}
    assert load_evidence(model).closed == {"friends"}
    assert not load_evidence(MODEL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Rain", "cannot close Rain: unknown predicate Rain; the model writes rain"),
        ("snow", "cannot close snow: unknown predicate snow; the model has smokes"),
        ("mood", "cannot close mood: it takes the values low, mid, a = b"),
    ],
)
def test_wrong_closed_predicates(name: str, message: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        parse_evidence(MODEL, "smokes(Anna)", closed=[name])
    assert caught.value.message.startswith(message)


def test_a_closed_predicate_leaves_no_doubt() -> None:
    with pytest.raises(EvidenceError, match="smokes is closed") as caught:
        parse_evidence(MODEL, "smokes(Anna)\n0.5 smokes(Bob)", closed=["smokes"])
    assert caught.value.span is not None
    assert caught.value.span.line == 2
