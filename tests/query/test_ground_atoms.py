"""Answers for ground atoms one by one: tables, frames, and the most probable ones."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import duckdb
import pytest

import liftgbp
from liftgbp.oracle import reference

MODEL = liftgbp.parse("""
    person = {Anna, Bob, Carl}
    smokes(person)
    friends(person, person)
    mood(person) : {low, mid, high}
    rain
    1.2 smokes(x) ^ friends(x,y) => smokes(y)
    0.7 mood(x) = high => smokes(x)
    0.4 mood(Carl) = low
    0.3 rain => smokes(Bob)
""")
NAMES = ("Anna", "Bob", "Carl")
FACTS = "friends(Anna,Bob)\n!friends(Bob,Anna)\nmood(Anna)=high"
OBSERVED = {"friends(Anna,Bob)": (0, 1), "friends(Bob,Anna)": (1, 0), "mood(Anna)": (0, 0, 1)}


@pytest.fixture(scope="module", params=["lifted", "ground"])
def answers(request: pytest.FixtureRequest) -> liftgbp.Answers:
    return liftgbp.infer(MODEL, evidence=FACTS, via=request.param, exact=True)


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, str], float]:
    """The probability of each value of each atom, by enumeration."""
    evidence = liftgbp.parse_evidence(MODEL, FACTS)
    exact = reference.exact(reference.ground(MODEL, None, evidence))
    found = {}
    for name, predicate in MODEL.predicates.items():
        for objects in product(range(3), repeat=len(predicate.sorts)):
            text = f"{name}({','.join(NAMES[k] for k in objects)})" if objects else name
            table: Any = OBSERVED.get(text)
            if table is None:
                table = exact.marginals[reference.GroundAtom(name, objects)]
            found |= {
                (text, value): float(p) for value, p in zip(predicate.values, table, strict=True)
            }
    return found


def records(columns: Any) -> dict[tuple[str, str], tuple[float, bool]]:
    rows = zip(*(list(columns[name]) for name in columns), strict=True)
    return {
        (f"{name}({arguments})" if arguments else name, value): (p, bool(seen))
        for name, arguments, value, p, seen in rows
    }


def test_columns(answers: liftgbp.Answers, expected: dict[tuple[str, str], float]) -> None:
    boolean = {key for key in expected if key[1] == "false"}
    for observed in (False, True):
        table = answers.to_columns(observed=observed)
        assert list(table) == ["predicate", "arguments", "value", "probability", "observed"]
        found = records(table)
        wanted = {
            key: p
            for key, p in expected.items()
            if key not in boolean and (observed or key[0] not in OBSERVED)
        }
        assert {key: p for key, (p, _) in found.items()} == pytest.approx(wanted)
        assert {key[0] for key, (_, seen) in found.items() if seen} == (
            set(OBSERVED) if observed else set()
        )


def test_columns_of_a_query(answers: liftgbp.Answers) -> None:
    def atoms(query: str, **options: Any) -> set[str]:
        return {atom for atom, _ in records(answers.to_columns(query, **options))}

    assert atoms("rain") == {"rain"}
    assert atoms("friends(x,x)") == {f"friends({a},{a})" for a in NAMES}
    assert atoms("friends(Anna,y)") == {"friends(Anna,Anna)", "friends(Anna,Carl)"}
    assert atoms("friends(x,Anna)", observed=True) == {f"friends({a},Anna)" for a in NAMES}
    assert atoms("friends(Anna,Bob)") == set()
    assert atoms("friends(Anna,Bob)", observed=True) == {"friends(Anna,Bob)"}
    assert len(atoms("friends(x,y)")) == 9 - 2
    unequal = {f"friends({a},{b})" for a in NAMES for b in NAMES if a != b}
    assert atoms("friends(x,y) | x != y", observed=True) == unequal
    assert atoms("friends(x,y) | distinct", observed=True) == unequal
    assert atoms("friends(x,y) | x = y", observed=True) == {f"friends({a},{a})" for a in NAMES}
    without = {own for own in unequal if "Bob" not in own}
    assert atoms("friends(x,y) | x != y, Bob != x, y != Bob", observed=True) == without


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("smokes(x) ^ smokes(y)", "must be one atom"),
        ("smokes(x) | rain", "must be one atom"),
        ("!smokes(x)", "must be one atom"),
        ("#{x : smokes(x)}", "must be one atom"),
        ("smokes(x) | y = z, friends(y,z)", "must be one atom"),
        ("sings(x)", "unknown predicate sings"),
    ],
)
def test_what_is_not_about_single_atoms(answers: liftgbp.Answers, query: str, message: str) -> None:
    for ask in (answers.top, lambda text: answers.model.check_queries(text, atoms=True)):
        with pytest.raises(liftgbp.InputError, match=message):
            ask(query)


def test_the_most_probable_ones(
    answers: liftgbp.Answers, expected: dict[tuple[str, str], float]
) -> None:
    rows = answers.top("friends(x,y)", 4)
    chances = {atom: p for (atom, value), p in expected.items() if value == "true"}
    unknown = {a: p for a, p in chances.items() if a.startswith("friends") and a not in OBSERVED}
    assert [row["true"] for row in rows] == pytest.approx(sorted(unknown.values())[:-5:-1])
    for row in rows:
        assert row["true"] == pytest.approx(unknown[row.atom])
        assert row["false"] == pytest.approx(1 - unknown[row.atom])
    moods = answers.top("mood(x)", None)
    assert {row.atom for row in moods} == {"mood(Bob)", "mood(Carl)"}
    for row in moods:
        values = {value: expected[row.atom, value] for value in ("low", "mid", "high")}
        assert {value: row[value] for value in values} == pytest.approx(values)
    largest = [max(row.values.values()) for row in moods]
    assert largest == sorted(largest, reverse=True)
    assert len(answers.top("mood(x)", least=largest[0] - 1e-9)) == 1
    assert answers.top("smokes(x)", least=1.5) == ()


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch, answers: liftgbp.Answers) -> None:
    whole = [(row.atom, row.values) for row in answers.top("friends(x,y)", 3)]
    table = records(answers.to_columns(observed=True))
    monkeypatch.setattr("liftgbp.report.every_atom.AT_ONCE", 2)
    assert [(row.atom, row.values) for row in answers.top("friends(x,y)", 3)] == whole
    assert records(answers.to_columns(observed=True)) == table


def test_closed_predicates_are_not_written_out() -> None:
    model = liftgbp.parse("*friends(person,person)\nsmokes(person)\n1 friends(x,y) ^ smokes(x)")
    answers = liftgbp.infer(model, {"person": 10**5}, evidence={"friends": [("Anna", "Bob")]})
    table = answers.to_columns("friends(x,y)", observed=True)
    assert list(records(table)) == [("friends(Anna,Bob)", "true")]
    assert len(answers.to_columns("friends(x,y)")["value"]) == 0


@pytest.mark.parametrize(
    ("library", "method"), [("pandas", "to_frame"), ("polars", "to_frame"), ("pyarrow", "to_arrow")]
)
def test_frames(answers: liftgbp.Answers, library: str, method: str) -> None:
    options = {"library": library} if method == "to_frame" else {}
    with duckdb.connect() as connection:
        connection.register("frame", getattr(answers, method)("mood(x)", **options))
        found = connection.sql("FROM frame")
        assert list(found.columns) == list(answers.to_columns())
        assert len(found.fetchall()) == 2 * 3


def test_mistakes(answers: liftgbp.Answers) -> None:
    wrong: Any = answers
    for call, words in (
        (lambda: wrong.top("smokes(x) ^ rain"), "must be one atom"),
        (lambda: wrong.top("smokes(x) | rain"), "must be one atom"),
        (lambda: wrong.top("smoke(x)"), "smoke"),
        (lambda: wrong.top("smokes(Dora)"), "no object named Dora"),
        (lambda: wrong.top("smokes(x)", 0), "count must be a whole number of at least 1"),
        (lambda: wrong.top("smokes(x)", least="high"), "least must be a probability"),
        (lambda: wrong.to_frame(library="excel"), "library must be pandas or polars"),
        (lambda: wrong.to_columns(observed=1), "observed must be True or False"),
    ):
        with pytest.raises(liftgbp.InputError) as caught:
            call()
        assert words in str(caught.value)


def test_frames_need_their_library(
    answers: liftgbp.Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library, call in {
        "pandas": answers.to_frame,
        "polars": lambda: answers.to_frame(library="polars"),
        "pyarrow": answers.to_arrow,
    }.items():
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(liftgbp.InputError, match=f"needs {library}; .*pip install {library}"):
            call()
