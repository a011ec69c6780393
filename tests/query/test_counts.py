"""How many objects satisfy a formula: against closed forms, other queries and samples."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import Answers, check, infer, load, parse, parse_evidence, sample
from liftgbp.cli.commands import cli
from liftgbp.model.ast import Atom, Formula, Is, Not, Variable, WeightedFormula
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables
from liftgbp.model.writer import formula_text
from liftgbp.support.errors import CapacityError, ContradictionError, InputError, QueryError
from random_models import formulas, models, sizes

SOCIETY = """
person = {Anna, Bob}
friends(person, person)
smokes(person)
rain
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.3 rain => smokes(x)
-0.1 smokes(x)
"""


def smokers(size: int) -> list[float]:
    """The distribution of how many people smoke, from the weight of a world with k smokers."""
    logs = [
        math.lgamma(size + 1)
        - math.lgamma(k + 1)
        - math.lgamma(size - k + 1)
        + k * (size - k) * math.log(1 + math.exp(1.4))
        + (size * (size - 1) - k * (size - k)) * math.log(2 * math.exp(1.4))
        + math.log(math.exp(0.3 * size) + math.exp(0.3 * k))
        - 0.1 * k
        for k in range(size + 1)
    ]
    weights = [math.exp(own - max(logs)) for own in logs]
    return [own / math.fsum(weights) for own in weights]


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("options", [{"exact": True}, {"sum_over": "smokes"}, {}], ids=str)
def test_smokers(size: int, options: Any) -> None:
    answers = infer(parse(SOCIETY), {"person": size}, **options)
    found = answers.count("smokes(x)")
    wanted = smokers(size)
    assert found.probabilities == pytest.approx(wanted, abs=1e-8)
    mean = math.fsum(k * p for k, p in enumerate(wanted))
    assert found.mean == pytest.approx(mean, rel=1e-6)
    variance = math.fsum((k - mean) ** 2 * p for k, p in enumerate(wanted))
    assert found.spread == pytest.approx(math.sqrt(variance), rel=1e-6)
    for text, p in {
        "#{x : smokes(x)} >= 2": math.fsum(wanted[2:]),
        "#{x : smokes(x)} < 2": math.fsum(wanted[:2]),
        "#{y : smokes(y)} = 3": wanted[3],
        "#{x : !smokes(x)} <= 1": math.fsum(wanted[-2:]),
        "EXIST x smokes(x)": 1 - wanted[0],
        "FORALL x smokes(x)": wanted[-1],
    }.items():
        (row,) = answers.query(text)
        assert row["true"] == pytest.approx(p, abs=1e-8), text
        assert row["true"] + row["false"] == pytest.approx(1.0)
    (row,) = answers.query("#{x : smokes(x)}")
    for k, p in enumerate(wanted):
        assert row.values.get((str(k),), 0.0) == pytest.approx(p, abs=1e-8)


def test_atoms_that_no_other_object_notices_are_binomial() -> None:
    """Given how many smoke, friends(x,x) falls like a coin; so does what no rule is about."""
    found = infer(parse(SOCIETY), {"person": 30}).count("friends(x,x)")
    wanted = [math.comb(30, k) / 2**30 for k in range(31)]
    assert found.probabilities == pytest.approx(wanted, abs=1e-12)


def test_objects_that_evidence_tells_apart() -> None:
    model = parse(SOCIETY)
    known = parse_evidence(model, "smokes(Anna)\n!smokes(Bob)")
    exact = infer(model, {"person": 4}, evidence=known, exact=True)
    summed = infer(model, {"person": 4}, evidence=known, sum_over="smokes")
    wanted = exact.count("smokes(x)").probabilities
    assert wanted[0] == wanted[4] == 0.0
    both = exact.query("smokes(x) ^ smokes(y) | x != Anna, x != Bob, y != Anna, y != Bob, x != y")
    assert wanted[3] == pytest.approx(both[0]["true", "true"], abs=1e-9)
    assert summed.count("smokes(x)").probabilities == pytest.approx(wanted, abs=1e-8)


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    """Every likely count has a bar, and those that were asked about are darker."""
    pytest.importorskip("matplotlib")
    answers = infer(parse(SOCIETY), {"person": 5})
    path = tmp_path / "counts.svg"
    answers.write_picture(path, ["#{x : smokes(x)} >= 2", "#{x : friends(x,x)}"])
    drawn = path.read_text(encoding="utf-8")
    assert "#{x : smokes(x)} &gt;= 2" in drawn
    assert drawn.count("fill: #bdd7e7") == 2
    assert drawn.count("fill: #2166ac") == 4 + 6
    with pytest.raises(InputError, match="the extension must be one of"):
        answers.write_picture(tmp_path / "counts.txt", "#{x : smokes(x)}")
    quick = infer(parse(SOCIETY), {"person": 40}, effort="quick")
    with pytest.raises(QueryError, match="is not known"):
        quick.write_picture(tmp_path / "unknown.svg", "#{x : smokes(x)}")
    assert not (tmp_path / "unknown.svg").exists()


# --- beside other objects, and under conditions

NAMES = ("Anna", "Bob", "Carl")
World = dict[str, bool]

SOME_FRIENDS = """
person = {Anna, Bob, Carl}
friends(person, person)
smokes(person)
rain
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.3 rain => smokes(x)
-0.1 smokes(x)
0.5 friends(x,x) ^ smokes(x)
0.2 rain ^ friends(x,y)
"""


def log_weight(world: World, three: float) -> float:
    def friends(a: str, b: str) -> bool:
        return world[f"friends({a},{b})"]

    rain = world["rain"]
    total = 0.0
    for a in NAMES:
        smokes = world[f"smokes({a})"]
        total += 0.3 * (not rain or smokes) - 0.1 * smokes + 0.5 * (friends(a, a) and smokes)
        for b in NAMES:
            both = friends(a, b) and smokes
            total += 1.4 * (a != b and (not both or world[f"smokes({b})"]))
            total += 0.2 * (rain and friends(a, b))
            for c in NAMES:
                if len({a, b, c}) == 3:
                    total += three * (not (friends(a, b) and friends(b, c)) or friends(a, c))
    return total


@cache
def worlds(three: float) -> tuple[tuple[World, float], ...]:
    atoms = ["rain", *(f"smokes({a})" for a in NAMES)]
    atoms += [f"friends({a},{b})" for a in NAMES for b in NAMES]
    every = [dict(zip(atoms, own, strict=True)) for own in product((False, True), repeat=13)]
    return tuple((world, math.exp(log_weight(world, three))) for world in every)


def expected(
    three: float, counts: Callable[[World], int], given: Callable[[World], bool]
) -> list[float]:
    """The distribution of a number in the worlds in which a condition holds."""
    totals = [0.0] * 4
    for world, weight in worlds(three):
        if given(world):
            totals[counts(world)] += weight
    return [own / math.fsum(totals) for own in totals]


CASES: dict[str, tuple[Callable[[World], int], Callable[[World], bool]]] = {
    "#{x : smokes(x)} | smokes(Anna)": (
        lambda w: sum(w[f"smokes({a})"] for a in NAMES),
        lambda w: w["smokes(Anna)"],
    ),
    "#{x : smokes(x)} | !smokes(Bob), rain": (
        lambda w: sum(w[f"smokes({a})"] for a in NAMES),
        lambda w: not w["smokes(Bob)"] and w["rain"],
    ),
    "#{x : smokes(x) | x != Anna} | friends(Bob,Anna) => smokes(Anna)": (
        lambda w: sum(w[f"smokes({a})"] for a in NAMES if a != "Anna"),
        lambda w: not w["friends(Bob,Anna)"] or w["smokes(Anna)"],
    ),
    "#{y : friends(Carl,y)}": (
        lambda w: sum(w[f"friends(Carl,{a})"] for a in NAMES),
        lambda w: True,
    ),
    "#{x : friends(x,Anna) ^ !smokes(x) | x != Bob} | friends(Anna,Bob)": (
        lambda w: sum(
            w[f"friends({a},Anna)"] and not w[f"smokes({a})"] for a in NAMES if a != "Bob"
        ),
        lambda w: w["friends(Anna,Bob)"],
    ),
    "#{x : friends(x,Anna) ^ friends(Anna,Bob) ^ friends(Bob,x)}": (
        lambda w: sum(
            w[f"friends({a},Anna)"] and w["friends(Anna,Bob)"] and w[f"friends(Bob,{a})"]
            for a in NAMES
        ),
        lambda w: True,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("three", [0.0, 0.7])
@pytest.mark.parametrize("query", CASES)
def test_counts_beside_named_objects_and_under_conditions(query: str, three: float) -> None:
    """By cells, and on the ground where a rule is about three objects."""
    rules = SOME_FRIENDS + (
        f"{three} friends(x,y) ^ friends(y,z) => friends(x,z) | distinct\n" if three else ""
    )
    model = parse(rules)
    answers = infer(model, exact=True)
    wanted = expected(three, *CASES[query])
    (row,) = answers.query(query)
    for k, p in enumerate(wanted):
        assert row.values.get((str(k),), 0.0) == pytest.approx(p, abs=1e-8)
    text, bar, condition = query.partition("} |")
    (row,) = answers.query(f"{text.removesuffix('}')}}} >= 2{bar and f' | {condition}'}")
    assert row["true"] == pytest.approx(math.fsum(wanted[2:]), abs=1e-8)


def test_counts_for_each_object() -> None:
    answers = infer(parse(SOME_FRIENDS.replace("person = {Anna, Bob, Carl}", "")), {"person": 3})
    wanted = expected(
        0.0, lambda w: sum(w[f"friends(Bob,{a})"] for a in NAMES), lambda w: w["smokes(Bob)"]
    )
    (row,) = answers.query("#{y : friends(x,y)} | smokes(x)")
    assert row.count == 3
    assert [row[str(k)] for k in range(4)] == pytest.approx(wanted, abs=1e-8)
    found = answers.count("#{y : friends(x,y)} | smokes(x)")
    assert found.probabilities == pytest.approx(wanted, abs=1e-8)
    known = infer(parse(SOME_FRIENDS), evidence="smokes(Anna)")
    rows = {row.where: row for row in known.query("#{y : friends(x,y)} >= 2")}
    assert rows["x = Anna"].count == 1
    given = expected(
        0.0, lambda w: sum(w[f"friends(Anna,{a})"] for a in NAMES), lambda w: w["smokes(Anna)"]
    )
    assert rows["x = Anna"]["true"] == pytest.approx(math.fsum(given[2:]), abs=1e-8)
    with pytest.raises(QueryError, match="several answers"):
        known.count("#{y : friends(x,y)}")


def test_large_domains_under_a_condition() -> None:
    """A condition is as good as evidence."""
    model = parse(SOCIETY)
    given = infer(model, {"person": 200}).query(
        "#{x : smokes(x)} >= 30 | smokes(Anna), !smokes(Bob)"
    )
    known = infer(model, {"person": 200}, evidence="smokes(Anna)\n!smokes(Bob)")
    (row,) = known.query("#{x : smokes(x)} >= 30")
    assert given[0]["true"] == pytest.approx(row["true"], abs=1e-8)
    summed = infer(model, {"person": 200}, sum_over="smokes")
    (other,) = summed.query("#{x : smokes(x)} >= 30 | smokes(Anna), !smokes(Bob)")
    assert other["true"] == pytest.approx(row["true"], abs=1e-7)
    (none,) = summed.query("#{x : smokes(x)} >= 30 | smokes(Anna), !smokes(Anna)")
    assert math.isnan(none["true"])


def test_other_properties_given_what_was_summed_over() -> None:
    """Given who smokes, friends(x,x) are coins, and so is their number."""
    found = infer(parse(SOCIETY), {"person": 30}, sum_over="smokes").count("friends(x,x)")
    wanted = [math.comb(30, k) / 2**30 for k in range(31)]
    assert found.probabilities == pytest.approx(wanted, abs=1e-9)


@pytest.mark.slow
def test_counts_over_blocks_are_those_of_a_sample() -> None:
    model = parse("""
        r(person, person)
        big(person)
        1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct
        0.3 r(x,y) => big(y) | x != y
    """)
    answers = infer(model, {"person": 40}, sum_over=())
    assert answers.blocks
    found = answers.count("big(x)")
    drawn = sample(model, {"person": 40}, answers=answers, sweeps=100, seed=3)
    (row,) = drawn.query("#{x : big(x)}")
    for key, p in row.values.items():
        assert abs(found.exactly(int(key[0])) - p) <= 0.02 + 4 * row.errors[key]
    with pytest.raises(QueryError, match="over blocks, only counts without other objects"):
        answers.query("#{y : r(x,y)} >= 3")


@pytest.mark.slow
def test_samples_under_a_condition() -> None:
    drawn = sample(parse(SOME_FRIENDS), sweeps=600, seed=5)
    query = "#{x : smokes(x)} | !smokes(Bob), rain"
    (row,) = drawn.query(query)
    for k, p in enumerate(expected(0.0, *CASES[query])):
        if (str(k),) in row.values:
            assert abs(row[str(k)] - p) <= 5 * row.errors[str(k),] + 1e-9
        else:
            assert p < 1e-3
    with pytest.raises(QueryError, match="named objects only"):
        drawn.query("#{y : friends(x,y)} >= 2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "method", "options"),
    [(4, "exact", {}), (4, "exact", {"exact": False}), (30, "sample", {})],
)
def test_counts_have_second_opinions(size: int, method: str, options: Any) -> None:
    queries = ["#{x : smokes(x)} >= 2 | smokes(Anna)", "EXIST x smokes(x)", "smokes(x)"]
    if options:
        options = {**options, "sum_over": "smokes"}
    # Chains mix where people care little about their friends.
    model = parse(SOCIETY.replace("1.4", "0.02"))
    found = check(model, {"person": size}, queries=queries, seconds=2.0, **options)
    assert found.method == method
    assert found.comparison is not None
    assert found.agrees, found.sentence
    assert {row.query for row in found.comparison.rows} == set(queries)


BODIES = st.sampled_from(
    [Atom("p", (Variable("x"),)), Atom("r", (Variable("x"), Variable("x"))), Atom("rain")]
).map(Is)


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(models(max_rules=2), sizes(3), formulas(BODIES))
def test_counts_agree_with_quantifiers(model: Model, domain: dict[str, int], body: Formula) -> None:
    """Some, all, and the sum of probabilities: each is computed another way."""
    assume(free_variables(WeightedFormula(body, None)) == ("x",))
    text = formula_text(Not(Not(body)))
    try:
        answers = infer(model, domain, exact=True)
        found = answers.count(text)
        some = answers.probability(f"EXIST x {text}")
        every = answers.probability(f"!!(FORALL x {text})")
        rows = answers.query(text)
    except (CapacityError, ContradictionError):
        assume(False)
    assert found.mean == pytest.approx(sum(row.count * row["true"] for row in rows), abs=1e-8)
    if found.probabilities:
        assert len(found.probabilities) == domain["person"] + 1
        assert 1 - found.exactly(0) == pytest.approx(some, abs=1e-8)
        assert found.exactly(domain["person"]) == pytest.approx(every, abs=1e-8)
        if found.spread:
            counts = enumerate(found.probabilities)
            second = math.fsum(p * (k - found.mean) ** 2 for k, p in counts)
            assert found.spread == pytest.approx(math.sqrt(second), abs=1e-8)


def test_what_is_not_known_says_why() -> None:
    model = parse(SOCIETY)
    quick = infer(model, {"person": 40}, effort="quick")
    found = quick.count("smokes(x)")
    assert found.probabilities == ()
    assert "--sum-over" in found.unknown
    assert found.mean == pytest.approx(40 * quick.marginal("smokes(x)"), rel=1e-9)
    pair = quick.probability("smokes(x) ^ smokes(y)")
    variance = 40 * 39 * pair + found.mean - found.mean**2
    assert found.spread == pytest.approx(math.sqrt(variance), rel=1e-6)
    with pytest.raises(QueryError, match="its mean is"):
        found.at_least(3)
    for text in ("EXIST x smokes(x)", "#{x : smokes(x)} >= 3"):
        with pytest.raises(QueryError, match="regions are about a few objects"):
            quick.query(text)
    summed = infer(model, {"person": 10}, sum_over="smokes")
    with pytest.raises(QueryError, match="other atoms than those of the formula"):
        summed.query("#{x : friends(x,x) ^ rain} >= 3")
    with pytest.raises(QueryError, match="other atoms than those of the condition"):
        summed.query("#{x : smokes(x)} >= 3 | friends(Anna,Bob)")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("#{x : smokes(x)} about 3", "counts are written"),
        ("#{smokes(x)}", "counts are written"),
        ("#{x : smokes(y)}", "not about x"),
        ("#{x : smokes(x) | rain}", "goes behind the braces"),
        ("#{x : smokes(x)} >= 2 | friends(x,y)", "x is counted"),
        ("#{x : smokes(x)} | sings(Anna)", "unknown predicate sings"),
        ("#{x : sings(x)}", "unknown predicate sings"),
    ],
)
def test_wrong_counts(query: str, message: str) -> None:
    model = parse(SOCIETY)
    for ask in (model.check_queries, infer(model, {"person": 4}, effort="quick").query):
        with pytest.raises(InputError, match=message):
            ask(query)


@pytest.mark.slow
def test_samples_count_in_each_world() -> None:
    model = parse(SOCIETY)
    drawn = sample(model, {"person": 6}, sweeps=600, seed=5)
    wanted = smokers(6)
    (row,) = drawn.query("#{x : smokes(x)}")
    for k, p in enumerate(wanted):
        assert abs(row[str(k)] - p) <= 5 * row.errors[str(k),] + 1e-9
    (row,) = drawn.query("#{x : smokes(x)} >= 2")
    assert abs(row["true"] - math.fsum(wanted[2:])) <= 5 * row.errors["true",]
    large = sample(model, {"person": 30}, sweeps=300, seed=5)
    (row,) = large.query("EXIST x smokes(x)")
    assert abs(row["true"] - (1 - smokers(30)[0])) <= 5 * row.errors["true",]


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    path = str(MODELS / "friends-smokers.mln")
    asked = ["-q", "#{x : smokes(x)} >= 10", "-q", "#{x : smokes(x)}"]
    result = CliRunner().invoke(cli, ["query", path, "-n", "person=30", *asked, "--json"])
    first, second = json.loads(result.output)["answers"]
    answers: Answers = infer(load(path), {"person": 30})
    found = answers.count("smokes(x)")
    assert first["values"][1]["p"] == pytest.approx(found.at_least(10))
    assert (second["mean"], second["spread"]) == pytest.approx((found.mean, found.spread))
    assert second["quantiles"] == [0, found.quantile(0.5), 30]
    picture = tmp_path / "counts.svg"
    command = ["query", path, "-n", "person=30", *asked, "-o", str(picture)]
    shown = CliRunner().invoke(cli, command).output
    assert picture.read_text(encoding="utf-8").count("#{x : smokes(x)}") >= 2
    CliRunner().invoke(cli, ["query", path, "-n", "person=30", "-o", str(picture)])
    assert "#{x : smokes(x)}" not in picture.read_text(encoding="utf-8")
    assert "count: mean 15, spread 15" in shown
