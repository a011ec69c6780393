"""Queries: which rows an answer has, how many ground atoms each covers, and their probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import (
    Answer,
    Answers,
    Descent,
    Flooding,
    ModelBuilder,
    bounds,
    infer,
    parse,
    sample,
)
from liftgbp.lift.shatter import shatter
from liftgbp.model.ast import BOOLEAN
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.oracle.reference import GroundAtom
from liftgbp.posterior import every_row
from liftgbp.posterior.rows import query_rows
from liftgbp.solve import Tolerances
from liftgbp.support.errors import CapacityError, ContradictionError, QueryError
from random_models import models, sizes

SOCIETY = """
person = {Anna, Bob, Carl}
friends(person, person)
smokes(person)
mood(person) : {low, mid, high}
likes(person, thing)
rain
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.5 smokes(Anna)
0.3 rain => smokes(x)
parfactor mood(x), smokes(x) : [1, 2, 3, 1, 1, 4]
"""


@pytest.fixture(scope="module")
def society() -> Answers:
    return infer(parse(SOCIETY), {"person": 10, "thing": 3}, effort="quick")


def rows(answers: Answers, query: str) -> list[tuple[str, str, int]]:
    return [(row.atom, row.where, row.count) for row in answers.query(query)]


# --- which rows there are

ROWS = {
    "smokes(x)": [("smokes(Anna)", "x = Anna", 1), ("smokes(x)", "x != Anna", 9)],
    "friends(x,y)": [
        ("friends(Anna,Anna)", "x = Anna, y = Anna", 1),
        ("friends(Anna,y)", "x = Anna, y != Anna", 9),
        ("friends(x,Anna)", "y = Anna, x != Anna", 9),
        ("friends(x,x)", "x = y, x != Anna", 9),
        ("friends(x,y)", "x != y, x != Anna, y != Anna", 72),
    ],
    "friends(x,x)": [
        ("friends(Anna,Anna)", "x = Anna", 1),
        ("friends(x,x)", "x != Anna", 9),
    ],
    "friends(Anna,y)": [
        ("friends(Anna,Anna)", "y = Anna", 1),
        ("friends(Anna,y)", "y != Anna", 9),
    ],
    "friends(Bob,y)": [
        ("friends(Bob,Anna)", "y = Anna", 1),
        ("friends(Bob,Bob)", "y = Bob", 1),
        ("friends(Bob,y)", "y != Anna, y != Bob", 8),
    ],
    "friends(Bob,Carl)": [("friends(Bob,Carl)", "", 1)],
    "smokes(Anna)": [("smokes(Anna)", "", 1)],
    "rain": [("rain", "", 1)],
    "likes(x,t)": [("likes(Anna,t)", "x = Anna", 3), ("likes(x,t)", "x != Anna", 27)],
    "friends(x,y) | x != y": [
        ("friends(Anna,y)", "x = Anna, y != Anna", 9),
        ("friends(x,Anna)", "y = Anna, x != Anna", 9),
        ("friends(x,y)", "x != y, x != Anna, y != Anna", 72),
    ],
    "friends(x,y) | distinct, x != Anna, y != Anna": [
        ("friends(x,y)", "x != y, x != Anna, y != Anna", 72)
    ],
    "friends(x,y) | x = y, x != Anna": [("friends(x,x)", "x = y, x != Anna", 9)],
    "smokes(x) | x = Anna": [("smokes(Anna)", "x = Anna", 1)],
    "smokes(x) | x = Bob": [("smokes(Bob)", "x = Bob", 1)],
    "smokes(x) | x != Bob": [
        ("smokes(Anna)", "x = Anna", 1),
        ("smokes(x)", "x != Anna, x != Bob", 8),
    ],
    "smokes(Bob), smokes(x) | x != Anna, x != Carl": [
        ("smokes(Bob) ^ smokes(Bob)", "x = Bob", 1),
        ("smokes(Bob) ^ smokes(x)", "x != Anna, x != Bob, x != Carl", 7),
    ],
    "smokes(x) | friends(x,y), x != y, x != Anna, y != Anna": [
        ("smokes(x) | friends(x,y)", "x != y, x != Anna, y != Anna", 72)
    ],
}


@pytest.mark.parametrize(("query", "wanted"), ROWS.items(), ids=ROWS)
def test_rows(society: Answers, query: str, wanted: list[tuple[str, str, int]]) -> None:
    assert rows(society, query) == wanted


def test_every_unmentioned_constant_is_anybody(society: Answers) -> None:
    anybody = society.query("smokes(x)")[1].values
    for name in ("Bob", "Carl"):
        assert society.query(f"smokes({name})")[0].values == anybody
    assert society.query("smokes(Anna)")[0].values != anybody


def test_many_constants_are_written_as_a_set() -> None:
    model = parse("person = {A, B, C, D}\np(person)\n1 p(A) ^ p(B) ^ p(C) ^ p(D)\n1 p(x)")
    last = infer(model, {"person": 9}, effort="quick").query("p(x)")[-1]
    assert (last.where, last.count) == ("x not in {A, B, C, D}", 5)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_small_domains_have_fewer_rows(people: int) -> None:
    answers = infer(parse("r(person, person)\n1 r(x,y)"), {"person": people}, effort="quick")
    wanted = [("r(x,x)", "x = y", people), ("r(x,y)", "x != y", people * (people - 1))]
    assert rows(answers, "r(x,y)") == [row for row in wanted if row[2]]


PATTERNS = [
    *("rain", "p(x)", "q(a)", "r(x,y)", "r(x,x)", "r(Anna,x)", "r(x,Bob)", "r(Anna,Bob)"),
    *("s(x,a)", "t(x,y,a)", "t(x,x,a)", "t(Bob,y,a)", "p(Anna)"),
]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(7), pattern=st.sampled_from(PATTERNS))
def test_counts_sum_to_the_ground_atoms(model: Model, domain: dict[str, int], pattern: str) -> None:
    try:
        normal = shatter(model, domain)
    except (CapacityError, ContradictionError):
        assume(False)
    # Every variable of these patterns ranges over its sort freely.
    free = set(re.findall(r"\b[axy]\b", pattern))
    total = math.prod(domain["thing" if v == "a" else "person"] for v in free)
    assume(set(model.constants("person")) >= set(re.findall(r"Anna|Bob", pattern)))
    assert sum(row.count for row in query_rows(parse_query(pattern), normal)) == total


def test_counts_are_exact_in_large_domains() -> None:
    n = 10**18
    answers = infer(parse("r(person, person)\n1 r(x,y)"), {"person": n}, effort="quick")
    assert [row.count for row in answers.query("r(x,y)")] == [n, n * (n - 1)]


# --- probabilities, against enumeration


def exact_joint(model: Model, domain: dict[str, int], atoms: Sequence[GroundAtom]) -> np.ndarray:
    """The joint distribution of different atoms, by summing over all worlds."""
    ground = reference.ground(model, domain)
    in_factors = {atom for factor in ground.factors for atom in factor.scope}
    order = [*atoms, *sorted(in_factors - set(atoms))]
    total = np.zeros([ground.ranges[atom] for atom in order])
    for factor in ground.factors:
        axes = [order.index(atom) for atom in factor.scope]
        shape = [ground.ranges[a] if k in axes else 1 for k, a in enumerate(order)]
        total += factor.log_table.transpose(np.argsort(axes)).reshape(shape)
    weights = np.exp(total - total.max())
    joint = weights.sum(axis=tuple(range(len(atoms), len(order))))
    return np.asarray(joint / joint.sum())


def assert_joint(answers: Answers, query: str) -> None:
    """Each row is exact; the atoms of the queries here are all different."""
    normal = answers.graph.normal
    objects = GroundObjects(normal)
    parsed = query_rows(parse_query(query), normal)
    for row, answer in zip(parsed, answers.query(query), strict=True):
        atoms = [objects.atom(atom) for atom in row.atoms]
        wanted = exact_joint(answers.model, dict(answers.sizes), atoms)
        assert list(answer.values.values()) == pytest.approx(wanted.ravel().tolist(), abs=1e-9)


PEOPLE = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.3 smokes(x)
"""
NAMED_PEOPLE = f"person = {{Anna, Bob}}\n{PEOPLE}\n0.5 smokes(Anna)"
TREES = {
    "alone": ("p(thing)\nq(thing)\n0.7 p(x) => q(x)\n-0.2 p(x)", {"thing": 4}),
    "star": ("rain\nwet(thing)\n0.7 rain => wet(x)\n0.2 wet(x)", {"thing": 5}),
    "two people": (PEOPLE, {"person": 2}),
    "many-valued": (
        "m(thing) : {a, b, c}\np(thing)\nparfactor m(x), p(x) : [1, 2, 3, 1, 1, 4]",
        {"thing": 3},
    ),
    "hard": ("p(thing)\nrain\n!(p(x) ^ rain).\n0.4 p(x)\n0.9 rain", {"thing": 4}),
}


@pytest.mark.parametrize("regions", ["intersections", "subsets"])
@pytest.mark.parametrize(("text", "domain"), TREES.values(), ids=TREES)
def test_trees_are_exact(text: str, domain: dict[str, int], regions: str) -> None:
    answers = infer(
        parse(text), domain, regions=regions, solver=Descent(iterations=3000), effort="quick"
    )
    exact = reference.exact(reference.ground(answers.model, domain))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    objects = GroundObjects(answers.graph.normal)
    for row, atom in every_row(answers.posterior.reader):
        wanted = exact.marginals[objects.atom(atom)].tolist()
        assert list(row.values.values()) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("case", "query"),
    [
        ("alone", "p(x), q(x)"),
        ("alone", "q(x) ^ p(x)"),
        ("star", "rain, wet(x)"),
        ("star", "wet(x), rain"),
        ("two people", "smokes(x), smokes(y) | x != y"),
        ("two people", "smokes(y), friends(x,y), smokes(x) | x != y"),
        ("two people", "friends(y,x), smokes(y), smokes(x) | x != y"),
        ("many-valued", "m(x), p(x)"),
        ("many-valued", "p(x), m(x)"),
        ("hard", "rain, p(x)"),
    ],
)
def test_joints_are_exact_on_trees(case: str, query: str) -> None:
    text, domain = TREES[case]
    assert_joint(infer(parse(text), domain, solver=Descent(iterations=3000), effort="quick"), query)


ANY_JOINT = [
    "friends(x,y), friends(y,x) | x != y",
    "friends(x,y), smokes(z) | distinct",
    "friends(x,y), friends(y,z), friends(z,x) | distinct",
    "smokes(x), smokes(y), smokes(Anna) | distinct, x != Anna, y != Anna",
    "friends(Anna,x), friends(x,Bob), smokes(Bob) | x != Anna, x != Bob",
]


@pytest.mark.parametrize("query", ANY_JOINT)
def test_one_region_with_everything_is_exact(query: str) -> None:
    model = parse(NAMED_PEOPLE)
    assert_joint(infer(model, {"person": 3}, regions="objects:3", effort="quick"), query)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), things=st.integers(1, 2))
def test_one_region_with_everything_is_exact_on_random_models(model: Model, things: int) -> None:
    domain = {"person": 2, "thing": things}
    try:
        ground = reference.ground(model, domain)
        worlds = math.prod(ground.ranges[a] for a in {a for f in ground.factors for a in f.scope})
        assume(worlds <= 2**14)
        exact = reference.exact(ground)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            infer(model, domain, regions="objects:2", effort="quick")
        return
    answers = infer(model, domain, regions="objects:2", effort="quick")
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    objects = GroundObjects(answers.graph.normal)
    for row, atom in every_row(answers.posterior.reader):
        wanted = exact.marginals[objects.atom(atom)].tolist()
        assert list(row.values.values()) == pytest.approx(wanted, abs=1e-9)


def only(found: tuple[Answer, ...]) -> dict[tuple[str, ...], float]:
    (row,) = found
    return row.values


def test_conditionals() -> None:
    """P(q | p) of 0.7 p => q, by hand: only p without q is lighter."""
    answers = infer(parse("p(thing)\nq(thing)\n0.7 p(x) => q(x)"), {"thing": 1000}, effort="quick")
    heavy = math.exp(0.7)
    assert only(answers.query("q(x) | p(x)")) == pytest.approx(
        {
            ("false", "false"): 0.5,
            ("false", "true"): 1 / (1 + heavy),
            ("true", "false"): 0.5,
            ("true", "true"): heavy / (1 + heavy),
        }
    )
    assert only(answers.query("p(x) | p(x)")) == pytest.approx(
        {
            ("false", "false"): 1.0,
            ("false", "true"): 0.0,
            ("true", "false"): 0.0,
            ("true", "true"): 1.0,
        }
    )


def test_conditionals_given_several_atoms() -> None:
    text, domain = TREES["two people"]
    answers = infer(parse(text), domain, solver=Descent(iterations=3000), effort="quick")
    values = only(answers.query("smokes(y) | smokes(x), friends(x,y), x != y"))
    joint = exact_joint(
        answers.model,
        domain,
        [GroundAtom("smokes", (1,)), GroundAtom("smokes", (0,)), GroundAtom("friends", (0, 1))],
    )
    wanted = joint / joint.sum(axis=0)
    assert list(values.values()) == pytest.approx(wanted.ravel().tolist(), abs=1e-9)


def test_an_impossible_condition() -> None:
    answers = infer(
        parse("p(thing)\nq(thing)\n!p(x).\n0.5 p(x) v q(x)"), {"thing": 4}, effort="quick"
    )
    (row,) = answers.query("q(x) | p(x)")
    assert math.isnan(row["true", "true"])
    assert row["true", "false"] == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))
    listed: Any = row.as_dict()["values"]
    assert [value["p"] for value in listed if value["assignment"] == ["true", "true"]] == [None]


def test_repeated_atoms_agree_surely() -> None:
    answers = infer(parse("p(thing)\n1 p(x)"), {"thing": 4}, effort="quick")
    p = math.e / (1 + math.e)
    assert only(answers.query("p(x), p(x)")) == pytest.approx(
        {("false", "false"): 1 - p, ("false", "true"): 0, ("true", "false"): 0, ("true", "true"): p}
    )
    assert only(answers.query("p(x), p(y), p(x) | x = y"))["true", "true", "true"] == pytest.approx(
        p
    )


def test_free_atoms_are_uniform_and_independent() -> None:
    text = "p(thing)\nm(thing) : {a, b, c}\nrain\n1 p(x)"
    answers = infer(parse(text), {"thing": 4}, effort="quick")
    p = math.e / (1 + math.e)
    assert only(answers.query("m(x)")) == pytest.approx(
        {("a",): 1 / 3, ("b",): 1 / 3, ("c",): 1 / 3}
    )
    values = only(answers.query("rain, p(x), m(y) | distinct"))
    assert values["true", "true", "b"] == pytest.approx(p / 6)
    assert values["false", "false", "a"] == pytest.approx((1 - p) / 6)
    assert only(answers.query("m(x), p(x)"))["c", "true"] == pytest.approx(p / 3)
    assert only(answers.query("m(x) | p(x)"))["c", "true"] == pytest.approx(1 / 3)
    assert only(answers.query("m(x), m(y) | distinct"))["a", "b"] == pytest.approx(1 / 9)
    assert only(answers.query("m(x), m(x)"))["a", "b"] == 0.0


# --- questions that no region answers

MOODS = "mood(person) : {low, mid, high}\np(person)\n0.3 mood(x) = low => p(x)"
REFUSED = [
    (NAMED_PEOPLE, "friends(x,y), friends(y,z)", 3),
    (NAMED_PEOPLE, "friends(x,y), friends(y,x) | x != y", 2),
    (NAMED_PEOPLE, "smokes(x), smokes(y), smokes(z) | distinct", 3),
    (NAMED_PEOPLE, "friends(Anna,Bob), friends(Bob,Anna)", 2),
    (NAMED_PEOPLE, "smokes(Anna) | friends(x,y), x != y", 3),
    (MOODS, "mood(x), mood(y)", 2),
    (MOODS, "mood(x) | p(y)", 2),
    ("s(person, thing)\nthing = 2\n1 s(x,a)", "s(x,a), s(y,b), s(z,a)", 3),
]


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize(("text", "query", "needed"), REFUSED)
def test_a_refusal_names_regions_that_would_do(text: str, query: str, needed: int) -> None:
    model = parse(text)
    with pytest.raises(QueryError, match=f"--regions objects:{needed} would") as caught:
        infer(model, {"person": 4}, effort="quick").query(query)
    assert "no region holds" in caught.value.message
    wider = infer(
        model,
        {"person": 4},
        regions=f"objects:{needed}",
        solver=Descent(iterations=3),
        effort="quick",
    )
    answers = wider.query(query)
    assert answers
    assert all(0 <= p <= 1 for row in answers for p in row.values.values())


def test_a_refusal_of_atoms_without_arguments() -> None:
    model = parse("rain\nwet\n1 rain\n2 wet")
    with pytest.raises(QueryError, match="objects:1 would"):
        infer(model, effort="quick").query("rain, wet")
    values = only(infer(model, regions="objects:1", effort="quick").query("rain, wet"))
    assert values["true", "true"] == pytest.approx(math.exp(3) / ((1 + math.e) * (1 + math.exp(2))))


def test_belief_propagation_holds_single_formulas_only() -> None:
    answers = infer(
        parse(PEOPLE), {"person": 5}, regions="bethe", solver=Descent(iterations=5), effort="quick"
    )
    assert answers.query("friends(x,y), smokes(x) | x != y")
    with pytest.raises(
        QueryError, match=r"no region holds friends\(x,y\) \^ friends\(y,x\) where x != y"
    ):
        answers.query("friends(x,y), friends(y,x) | x != y")


# --- wrong questions

WRONG = {
    "foo(x)": ("unknown predicate foo", "foo(x)"),
    "smokes(x,y)": ("smokes takes 1 argument, got 2", "smokes(x,y)"),
    "friends(x)": ("friends takes 2 arguments, got 1", "friends(x)"),
    "rain(x)": ("rain takes 0 arguments, got 1", "rain(x)"),
    "smokes(Dora)": ("person has no object named Dora; it names Anna, Bob, Carl", "Dora"),
    "smokes(x) | friends(x,Dora)": ("no object named Dora", "Dora"),
    "smokes(x) | x != Dora": ("no object named Dora", None),
    "likes(x,Ball)": ("declare thing = {Ball, ...}", "Ball"),
    "smokes(x), likes(y,x)": ("variable x is a person elsewhere", None),
    "smokes(x) | x != t, likes(x,t)": ("only objects of one sort", None),
    "smokes(x) | Anna != Bob": ("both constants", None),
}


@pytest.mark.parametrize(("query", "wanted"), WRONG.items(), ids=WRONG)
def test_wrong_questions(society: Answers, query: str, wanted: tuple[str, str | None]) -> None:
    message, place = wanted
    with pytest.raises(QueryError) as caught:
        society.query(query)
    assert message in caught.value.message
    if place is not None:
        assert caught.value.span is not None
        assert caught.value.span.text == place


# --- one number


def test_marginal_is_the_generic_row(society: Answers) -> None:
    generic = {row.where: row["true"] for row in society.query("friends(x,y)")}
    wanted = generic["x != y, x != Anna, y != Anna"]
    assert society.marginal("friends(x,y)") == wanted
    assert society.marginal("friends(Bob,y)") == wanted
    assert society.marginal("friends(Bob,Carl)") == wanted
    assert society.marginal("friends(Anna,y)") == generic["x = Anna, y != Anna"]
    assert society.marginal("smokes(Anna)") == only(society.query("smokes(Anna)"))["true",]
    assert society.marginal("smokes(x)", "false") == pytest.approx(
        1 - society.marginal("smokes(x)")
    )
    moods = [society.marginal("mood(x)", value) for value in ("low", "mid", "high")]
    assert sum(moods) == pytest.approx(1)
    assert society.marginal("smokes(x), rain", ("true", "false")) > 0


@pytest.mark.parametrize(
    ("query", "value", "message"),
    [
        ("mood(x)", "true", "takes the values low, mid, high, not true"),
        ("smokes(x)", "maybe", "takes the values false, true, not maybe"),
        ("smokes(x) | x != x", "true", "no objects satisfy"),
        ("friends(x,y) | x = y", "true", "has no row"),
    ],
)
def test_marginals_that_do_not_exist(
    society: Answers, query: str, value: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        society.marginal(query, value)


def test_marginal_needs_enough_unnamed_objects() -> None:
    answers = infer(parse(NAMED_PEOPLE), {"person": 2}, effort="quick")
    with pytest.raises(QueryError, match="no row for different unnamed objects"):
        answers.marginal("friends(x,y)")


def test_all_answers_every_predicate(society: Answers) -> None:
    asked = {row.query for row in society.all}
    assert asked == {"friends(x,y)", "smokes(x)", "mood(x)", "likes(x,y)", "rain"}
    assert sum(row.count for row in society.all) == 100 + 10 + 10 + 30 + 1
    assert all(sum(row.values.values()) == pytest.approx(1) for row in society.all)


def test_a_row_prints_itself() -> None:
    answers = infer(parse("p(thing)\nr(thing, thing)\n1 p(x)"), {"thing": 3}, effort="quick")
    assert str(answers.query("p(x)")[0]) == "p(x)  false: 0.268941  true: 0.731059"
    assert str(answers.query("r(x,y)")[0]) == "r(x,x) [x = y]  false: 0.500000  true: 0.500000"


def test_a_marginal_of_different_objects_needs_two_of_them() -> None:
    answers = infer(parse("friends(person, person)\n1 friends(x,y)"), {"person": 1}, effort="quick")
    with pytest.raises(QueryError, match="has no row for different unnamed objects"):
        answers.marginal("friends(x,y)")


# --- assignments


def test_assignments_split_at_the_bar() -> None:
    model = parse("rain\nwet\nsmokes(person)\n1 rain => wet\n1 smokes(x) ^ wet ^ rain")
    (row,) = infer(model, {"person": 3}, effort="quick").query("rain ^ smokes(x) | wet")
    assert (row.atoms, row.given) == (("rain", "smokes(x)"), ("wet",))
    assert "false,true | false: " in str(row)
    total = sum(row[rain, smokes, "true"] for rain, smokes in product(BOOLEAN, repeat=2))
    assert total == pytest.approx(1)


def test_values_with_commas_do_not_collide() -> None:
    values = ("a", "a,a", "a,a,a", "b")
    model = (
        ModelBuilder()
        .predicate("m", "thing", values=values)
        .predicate("k", "thing", values=values)
        .table(["m(x)", "k(x)"], range(1, 17))
        .build()
    )
    (row,) = infer(model, {"thing": 4}, effort="quick").query("m(x) ^ k(x)")
    assert len(row.values) == 16
    for k, pair in enumerate(product(values, repeat=2)):
        assert row[pair] == pytest.approx((1 + k) / 136)
    listed: Any = row.as_dict()["values"]
    assert [tuple(value["assignment"]) for value in listed] == list(product(values, repeat=2))


def test_unknown_assignments_name_what_is_wanted(society: Answers) -> None:
    row = society.query("smokes(x)")[0]
    assert row["true"] == row["true",] == row.values["true",]
    with pytest.raises(QueryError, match=r"smokes\(Anna\) takes the values false, true, not yes"):
        row["yes"]
    with pytest.raises(QueryError, match=r"each of smokes\(x\), rain, as in \('false', 'false'\)"):
        society.marginal("smokes(x) ^ rain")


def test_answers_too_large_to_check_say_so() -> None:
    model = parse("friends(person, person)\nsmokes(person)\n0.3 friends(x,y) ^ smokes(x)")
    solver = Flooding(tolerances=Tolerances(most_unknowns=3))
    answers = infer(model, {"person": 3}, solver=solver, effort="quick")
    assert answers.flaw is None
    assert any("too many to check" in note for note in answers.notes)
    assert not any("too many" in note for note in infer(model, {"person": 3}, effort="quick").notes)


def test_reasons_name_the_region_at_fault() -> None:
    """Nobody is married twice, but pairs of marriages leave too little room for that."""
    model = parse(
        "married(person, person)\n2 married(x,y)\n!(married(x,y) ^ married(x,z)) | y != z."
    )
    answers = infer(model, {"person": 100}, effort="quick")
    assert answers.flaw is not None
    assert "in the region married(" in answers.reason
    chain = parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")
    diverged = infer(chain, {"person": 5}, solver=Flooding(), effort="quick")
    assert "in the region r(1,2)" in diverged.reason


@pytest.mark.parametrize("wrong", [["true"], np.array(["true"]), (["true"],), 1, None, {"true"}])
def test_values_that_are_no_texts_are_refused(wrong: Any) -> None:
    model = parse("t = {A}\np(t)\n1 p(x)")
    rows = infer(model).query("p(x)")[0], sample(model, sweeps=8).query("p(x)")[0]
    for row in (*rows, bounds(model, queries="p(x)").rows[0]):
        with pytest.raises(QueryError, match="takes the values false, true, not"):
            row[wrong]
