"""Queries that are formulas: their probabilities against those of the plain ground model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp import Answers, infer, parse, parse_evidence, sample
from liftgbp.cli.commands import cli
from liftgbp.model.ast import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Implies,
    Is,
    Not,
    Or,
    Sort,
    Term,
    Variable,
    WeightedFormula,
    map_formula,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables
from liftgbp.model.writer import formula_text
from liftgbp.oracle import reference
from liftgbp.support.errors import (
    CapacityError,
    ContradictionError,
    InputError,
    NotHeldError,
    QueryError,
)
from random_models import VARIABLES, formulas, models, sizes, tests_of_atoms as leaves

SLOW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def log_z(model: Model, domain: dict[str, int]) -> float:
    return reference.exact(reference.ground(model, domain), 2**16).log_z


def probability(model: Model, domain: dict[str, int], formula: Formula) -> float:
    """The share of the worlds in which a closed formula holds: Z with the formula over Z."""
    hard = WeightedFormula(formula, None)
    try:
        return math.exp(
            log_z(replace(model, rules=(*model.rules, hard)), domain) - log_z(model, domain)
        )
    except ContradictionError:
        return 0.0


@st.composite
def closed_formulas(draw: st.DrawFn) -> Formula:
    """Random formulas; each free variable is bound by a quantifier or a name."""
    formula = draw(formulas(leaves()))
    for name in free_variables(WeightedFormula(formula, None)):
        quantifier = draw(st.sampled_from([Exists, Forall, None]))
        if quantifier is None and name in VARIABLES["person"]:
            named = Equal(Variable(name), Constant(draw(st.sampled_from(["Anna", "Bob"]))))
            formula = Exists(Variable(name), And((named, formula)))
        else:
            formula = (quantifier or Exists)(Variable(name), formula)
    return formula


def possible(model: Model, domain: dict[str, int]) -> None:
    try:
        log_z(model, domain)
    except (CapacityError, ContradictionError):
        assume(False)


@pytest.mark.slow
@SLOW
@given(
    models(max_rules=2),
    sizes(2),
    closed_formulas(),
    closed_formulas(),
    st.sampled_from(["lifted", "ground"]),
)
def test_exact_answers(
    model: Model, domain: dict[str, int], formula: Formula, condition: Formula, via: Any
) -> None:
    possible(model, domain)
    try:
        answers = infer(model, domain, exact=True, via=via)
        (alone,) = answers.query(formula_text(Not(Not(formula))))
        (given_that,) = answers.query(
            f"{formula_text(Not(Not(formula)))} | {formula_text(Not(Not(condition)))}"
        )
        wanted = probability(model, domain, formula)
        both = probability(model, domain, And((formula, condition)))
        given_alone = probability(model, domain, condition)
    except CapacityError:
        assume(False)
    assert alone["true"] == pytest.approx(wanted, abs=1e-9)
    assert alone["true"] + alone["false"] == pytest.approx(1.0)
    if given_alone > 1e-9:
        assert given_that["true"] == pytest.approx(both / given_alone, abs=1e-6)
    elif given_alone == 0.0:
        assert math.isnan(given_that["true"])


@pytest.mark.slow
@SLOW
@given(models(max_rules=2), sizes(3), formulas(leaves()))
def test_named_objects(model: Model, domain: dict[str, int], formula: Formula) -> None:
    free = free_variables(WeightedFormula(formula, None))
    assume(all(name in VARIABLES["person"] for name in free))
    possible(model, domain)
    named = dict(zip(VARIABLES["person"], ("Anna", "Bob", "Anna"), strict=True))
    closed = formula
    for name in free:
        same = Equal(Variable(name), Constant(named[name]))
        closed = Exists(Variable(name), And((same, closed)))
    restrictions = ", ".join(f"{name} = {named[name]}" for name in free)
    text = formula_text(Not(Not(formula))) + (f" | {restrictions}" if free else "")
    try:
        (row,) = infer(model, domain, exact=True).query(text)
        wanted = probability(model, domain, closed)
    except CapacityError:
        assume(False)
    assert row["true"] == pytest.approx(wanted, abs=1e-9)


# --- free variables

NAMES = {"person": ("Anna", "Bob", "Carl"), "thing": ("Hat", "Key")}


@st.composite
def queries_about_an_atom(draw: st.DrawFn) -> Formula:
    """An atom beside comparisons and tautologies, perhaps with a quantifier."""
    own = draw(leaves())
    people = st.sampled_from([Variable(name) for name in VARIABLES["person"]])

    def compared(pair: tuple[Variable, Variable | Constant]) -> Formula:
        person = Is(Atom("p", (pair[0],)))
        return And((Equal(*pair), Or((person, Not(person)))))

    others = st.one_of(people, st.sampled_from([Constant("Anna"), Constant("Bob")]))
    parts = st.one_of(
        st.just(own),
        st.tuples(people, others).filter(lambda pair: pair[0] != pair[1]).map(compared),
        leaves().map(lambda leaf: Implies(leaf, leaf)),
    )
    formula = draw(formulas(parts))
    free = free_variables(WeightedFormula(formula, None))
    quantifier = draw(st.sampled_from([None, None, Exists, Forall]))
    if free and quantifier is not None:
        formula = quantifier(Variable(draw(st.sampled_from(free))), formula)
    return formula


@pytest.mark.slow
@settings(SLOW, max_examples=30)
@given(
    models(max_rules=1),
    st.integers(2, 3),
    st.integers(1, 2),
    queries_about_an_atom(),
    st.none() | queries_about_an_atom(),
)
def test_every_grounding_is_in_one_row(
    model: Model, persons: int, things: int, formula: Formula, condition: Formula | None
) -> None:
    domain = {"person": persons, "thing": things}
    named = {sort: NAMES[sort][:size] for sort, size in domain.items()}
    model = replace(model, sorts={sort: Sort(sort, names) for sort, names in named.items()})
    possible(model, domain)
    parts = (formula,) if condition is None else (formula, condition)
    free = free_variables(WeightedFormula(And(parts), None))

    @cache
    def known(*parts: Formula) -> float:
        return probability(model, domain, And(parts))

    wanted = []
    objects = [named["person" if name in VARIABLES["person"] else "thing"] for name in free]
    for names in product(*objects):
        own = [with_names(part, dict(zip(free, names, strict=True))) for part in parts]
        given_that = known(own[1]) if own[1:] else 1.0
        wanted.append(known(*own) / given_that if given_that else -1.0)

    text = " | ".join(formula_text(Not(Not(part))) for part in parts)
    for via in ("lifted", "ground"):
        answers = infer(model, domain, exact=True, via=via)
        try:
            rows = answers.query(text)
        except QueryError as error:
            assert via == "ground"
            assert "its objects must be named" in str(error)
            continue
        found = [-1.0 if math.isnan(row["true"]) else row["true"] for row in rows]
        each = [p for p, row in zip(found, rows, strict=True) for _ in range(row.count)]
        assert sorted(each) == pytest.approx(sorted(wanted), abs=1e-6)


def with_names(formula: Formula, names: dict[str, str]) -> Formula:
    """The formula with constants in place of its free variables."""

    def term(own: Term) -> Term:
        return Constant(names[own.name]) if own.name in names else own

    match formula:
        case Is(atom, value):
            return Is(Atom(atom.predicate, tuple(map(term, atom.args))), value)
        case Equal(left, right):
            same = Equal(term(left), term(right))
            if isinstance(same.left, Constant) and isinstance(same.right, Constant):
                rain = Is(Atom("rain"))
                return Implies(rain, rain) if same.left == same.right else And((rain, Not(rain)))
            return same
        case Exists(variable) | Forall(variable):
            names = {name: constant for name, constant in names.items() if name != variable.name}
    return map_formula(lambda part: with_names(part, names), formula)


COMPARED = """
person = {Anna, Bob, Carl}
q(person)
w
1 q(Anna)
-1 q(Bob)
-1.3 w
"""


@pytest.mark.parametrize(
    ("query", "wanted"),
    {
        # Of the nine pairs, three are equal; each q(y) has two x that differ from y.
        "x = y v q(y)": {1.0: 3, 1.0 / (1 + math.exp(-1)): 2, 1 / (1 + math.e): 2, 0.5: 2},
        "x != y ^ !q(x)": {0.0: 3, 1.0 / (1 + math.exp(-1)): 2, 1 / (1 + math.e): 2, 0.5: 2},
        "q(Carl) | (q(Anna) <=> q(Anna))": {0.5: 1},
        "q(x) | (w => w)": {1.0 / (1 + math.exp(-1)): 1, 1 / (1 + math.e): 1, 0.5: 1},
        "w | (w => w)": {1 / (1 + math.exp(1.3)): 1},
        "q(x) => (EXIST e (q(e)))": {1.0: 3},
    }.items(),
)
@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_groundings_are_counted(query: str, wanted: dict[float, int], via: Any) -> None:
    rows = infer(parse(COMPARED), via=via, exact=True).query(query)
    found = sorted(row["true"] for row in rows for _ in range(row.count))
    expected = sorted(p for p, count in wanted.items() for _ in range(count))
    assert found == pytest.approx(expected, abs=1e-9)


def test_on_the_ground_a_given_atom_may_be_the_only_one() -> None:
    (row,) = infer(parse(COMPARED), via="ground").query("!(w <=> w) | q(Anna)")
    assert [row["true", given] for given in ("false", "true")] == [0.0, 0.0]
    assert row.given == ("q(Anna)",)


def test_on_the_ground_quantifiers_over_all_but_a_variable() -> None:
    answers = infer(parse(COMPARED), via="ground", exact=True)
    with pytest.raises(QueryError, match="its objects must be named"):
        answers.query("EXIST e (q(e) ^ e != x)")
    (row,) = answers.query("EXIST e (q(e) ^ e != x) | x = Carl")
    neither = (1 - 1 / (1 + math.exp(-1))) * (1 - 1 / (1 + math.e))
    assert row["true"] == pytest.approx(1 - neither, abs=1e-9)


def test_on_the_ground_an_example_is_the_whole_formula() -> None:
    rows = infer(parse(COMPARED), via="ground").query("x = y v q(y) | x != y, y = Bob")
    assert [row.example for row in rows] == ["Anna = Bob v q(Bob)"]


# --- every reader

SOCIETY = """
person = {Anna, Bob}
friends(person, person)
smokes(person)
mood(person) : {low, mid, high}
rain
weather : {sunny, wet}
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.3 rain => smokes(x)
0.5 weather = wet ^ smokes(x)
parfactor mood(x), smokes(x) : [1, 2, 3, 1, 1, 4]
"""


def holds(first: str, second: str) -> bool:
    return first == "false" or second == "true"


@pytest.mark.parametrize(
    "options",
    [{"effort": "quick"}, {"sum_over": "smokes"}, {"exact": True}, {"regions": "objects:2"}],
    ids=str,
)
def test_the_table_of_its_atoms_tells_the_probability_of_a_formula(options: Any) -> None:
    answers = infer(parse(SOCIETY), {"person": 4}, **options)
    asked = answers.query("friends(x,y) => smokes(x)")
    tables = answers.query("friends(x,y) ^ smokes(x)")
    for row, table in zip(asked, tables, strict=True):
        wanted = sum(p for values, p in table.values.items() if holds(*values))
        assert row["true"] == pytest.approx(wanted, abs=1e-12)
        assert (row.where, row.count) == (table.where, table.count)
    (row,) = answers.query("friends(x,y) => smokes(x) | smokes(y), x != y")
    (table,) = answers.query("friends(x,y) ^ smokes(x) ^ smokes(y) | x != y")
    for value in ("false", "true"):
        own = {key: p for key, p in table.values.items() if key[2] == value}
        wanted = sum(p for key, p in own.items() if holds(*key[:2])) / sum(own.values())
        assert row["true", value] == pytest.approx(wanted, abs=1e-12)


def test_formulas_after_the_bar_hold() -> None:
    answers = infer(parse(SOCIETY), {"person": 4})
    (row,) = answers.query("mood(x), smokes(y) | !smokes(x), friends(x,y), x != y")
    assert (row.given, row.conditions) == (("friends(x,y)",), ("!smokes(x)",))
    assert row.atom == "mood(x) ^ smokes(y) | friends(x,y), !smokes(x)"
    (table,) = answers.query("mood(x), smokes(y) | smokes(x), friends(x,y), x != y")
    for mood, smokes, friends in product(("low", "mid", "high"), *[("false", "true")] * 2):
        wanted = table[mood, smokes, "false", friends]
        assert row[mood, smokes, friends] == pytest.approx(wanted, abs=1e-12)


def test_values_of_atoms_without_arguments() -> None:
    answers = infer(parse(SOCIETY), {"person": 4})
    (row,) = answers.query("weather = wet")
    assert row["true"] == pytest.approx(answers.marginal("weather", "wet"), abs=1e-12)
    (row,) = answers.query("rain | weather = wet")
    (table,) = answers.query("rain | weather")
    assert row["true"] == pytest.approx(table["true", "wet"], abs=1e-12)
    (row,) = answers.query("mood(x) != low")
    assert row["true"] == pytest.approx(1 - answers.marginal("mood(x)", "low"), abs=1e-12)


def test_probability() -> None:
    answers = infer(parse(SOCIETY), {"person": 4})
    wanted = {
        "friends(x,y)": answers.marginal("friends(x,y)"),
        "friends(x,y) ^ smokes(x)": answers.marginal("friends(x,y) ^ smokes(x)", ("true",) * 2),
        "!smokes(x)": answers.marginal("smokes(x)", "false"),
        "smokes(x) | rain": answers.query("smokes(x) | rain")[0]["true", "true"],
    }
    for text, p in wanted.items():
        assert answers.probability(text) == pytest.approx(p, abs=1e-12)


def test_coinciding_variables_are_renamed() -> None:
    answers = infer(parse(SOCIETY), {"person": 4})
    asked = answers.query("friends(x,y) => EXIST y (friends(y,x) ^ x != y)")
    assert [(row.atom, row.where) for row in asked] == [
        ("friends(x,x) => (EXIST y friends(y,x) ^ x != y)", "x = y"),
        ("friends(x,y) => (EXIST y friends(y,x) ^ x != y)", "x != y"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "!smokes(x)",
        "friends(x,y) => smokes(y)",
        "EXIST x smokes(x)",
        "smokes(x) | !smokes(y), x != y",
        "EXIST y friends(x,y) ^ smokes(y)",
        "smokes(x) | smokes(Anna) v smokes(Bob), x != Anna, x != Bob",
        "smokes(x) v !smokes(x)",
    ],
)
def test_sampled_answers(query: str) -> None:
    model = parse(SOCIETY)
    drawn = sample(model, {"person": 4}, sweeps=600, seed=3)
    exact = infer(model, {"person": 4}, exact=True)
    for row, wanted in zip(drawn.query(query), exact.query(query), strict=True):
        assert (row.atom, row.where) == (wanted.atom, wanted.where)
        assert abs(row["true"] - wanted["true"]) <= 5 * row.errors["true",] + 1e-12


def test_on_the_ground_with_evidence() -> None:
    model = parse(SOCIETY)
    known = parse_evidence(model, "smokes(Anna)\nfriends(Anna,Bob)\n!friends(Bob,Anna)")
    lifted = infer(model, {"person": 4}, evidence=known, via="lifted", exact=True)
    ground = infer(model, {"person": 4}, evidence=known, via="ground", exact=True)
    for query in ("EXIST x !smokes(x)", "smokes(Bob) ^ !rain", "FORALL x friends(x,Bob)"):
        (one,), (other,) = lifted.query(query), ground.query(query)
        assert one["true"] == pytest.approx(other["true"], abs=1e-9)
    (anna, bob) = ground.query("!smokes(x) | x = Anna"), ground.query("!smokes(x) | x = Bob")
    assert anna[0]["true"] == 0.0
    assert bob[0]["true"] == pytest.approx(lifted.query("smokes(Bob)")[0]["false"], abs=1e-9)
    with pytest.raises(QueryError, match="its objects must be named"):
        ground.query("smokes(x) v rain")


ERRORS = {
    "!smoke(x)": "unknown predicate smoke",
    "mood(x) = rain": "to see how often it agrees with rain, ask for both",
    "mood(x) = angry": "mood takes the values low, mid, high",
    "!mood(x)": "mood takes the values",
    "smokes(Zoe) v rain": "no object named Zoe",
    "EXIST x rain": "the sort of variable x is unknown",
    "smokes(x) => rain | !smokes(y) v nothing": "unknown predicate nothing",
}


@pytest.mark.parametrize(("query", "message"), ERRORS.items(), ids=ERRORS)
def test_errors(query: str, message: str) -> None:
    model = parse(SOCIETY)
    with pytest.raises(QueryError, match=message):
        model.check_queries(query)
    with pytest.raises(QueryError, match=message):
        infer(model, {"person": 4}, effort="quick").query(query)


# --- regions that hold a query

APART = [
    "smokes(x) ^ smokes(y) ^ smokes(z) | distinct",
    "friends(x,y) ^ friends(y,z) => friends(x,z) | distinct",
    "smokes(x) v rain | mood(y) != low, x != y",
]


@pytest.mark.parametrize("query", APART)
def test_regions_are_added(query: str) -> None:
    model = parse(SOCIETY)
    plain = infer(model, {"person": 4}, effort="quick", solver="auto")
    assert not plain.holds(query)
    with pytest.raises(NotHeldError, match="infer"):
        plain.query(query)
    answers = infer(model, {"person": 4}, effort="quick", queries=query)
    assert answers.holds(query)
    assert any("a region was added" in note for note in answers.notes)
    exact = infer(model, {"person": 4}, exact=True)
    # Summed over the counts of smokes, what is left are trees, which regions see exactly.
    summed = infer(model, {"person": 4}, sum_over="smokes", queries=[query])
    for row, wanted in zip(summed.query(query), exact.query(query), strict=True):
        assert list(row.values.values()) == pytest.approx(list(wanted.values.values()), abs=1e-6)
    assert summed.log_z == pytest.approx(exact.log_z, abs=1e-8)


def test_regions_are_added_for_what_none_holds() -> None:
    """A query that some region holds, as it does here, changes nothing."""
    model = parse(SOCIETY)
    plain = infer(model, {"person": 4}, effort="quick")
    known = "smokes(x) ^ friends(x,y)"
    assert plain.holds(known)
    same = infer(model, {"person": 4}, effort="quick", queries=[known])
    assert same.graph.n == plain.graph.n and same.log_z == plain.log_z
    both = infer(model, {"person": 4}, effort="quick", queries=[known, APART[0]])
    alone = infer(model, {"person": 4}, effort="quick", queries=APART[0])
    assert both.graph.n == alone.graph.n and both.log_z == alone.log_z
    assert sum("a region was added" in note for note in both.notes) == 1


def test_a_table_that_changes_nothing_changes_no_exact_answer() -> None:
    model = parse(SOCIETY)
    plain = infer(model, {"person": 4}, exact=True)
    held = infer(model, {"person": 4}, exact=True, queries=["smokes(Anna) ^ friends(x,y)"])
    assert held.log_z == pytest.approx(plain.log_z, abs=1e-9)
    for text in ("smokes(Anna)", "friends(Anna,Bob)", "rain"):
        assert held.probability(text) == pytest.approx(plain.probability(text), abs=1e-9)


def test_what_no_region_is_added_for() -> None:
    model = parse(SOCIETY)
    with pytest.raises(QueryError, match="quantifier ranges over all objects"):
        infer(model, {"person": 4}, effort="quick", queries="smokes(x) ^ EXIST y friends(x,y)")
    with pytest.raises(CapacityError, match="with 64 entries, above the cap of 16"):
        wide = " ^ ".join(f"smokes(x{k})" for k in range(6))
        infer(model, {"person": 40}, queries=wide, table_cap=16)
    with pytest.raises(InputError, match="classes of objects only"):
        infer(model, {"person": 4}, via="ground", queries=APART[0])


def test_the_command_line_adds_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region of all atoms of an object is exact; the command asks for it once."""
    asked: list[object] = []

    def counted(*arguments: Any, **options: Any) -> Answers:
        asked.append(arguments)
        answers: Answers = infer(*arguments, **options)
        return answers

    monkeypatch.setattr(liftgbp, "infer", counted)
    model = "p(t)\nq(t)\nr(t)\n1 p(x) <=> q(x)\n-0.5 q(x) v r(x)\n"
    query = "p(x) ^ !q(x) => r(x)"
    arguments = ["query", "-", "-n", "t=6", "--effort", "quick", "-q", query, "--json"]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False, input=model)
    assert result.exception is None
    assert len(asked) == 1
    answered = json.loads(result.output)
    wanted = infer(parse(model), {"t": 6}, exact=True).query(query)[0]
    (row,) = answered["answers"]
    assert row["atoms"] == [query]
    found = {tuple(own["assignment"]): own["p"] for own in row["values"]}
    assert found == pytest.approx(wanted.values, abs=1e-8)
    assert any("a region was added" in note for note in answered["notes"])
