"""Evidence that is given as values of Python."""

from __future__ import annotations

import datetime
import importlib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import liftgbp
from liftgbp.evidence import Evidence
from liftgbp.support.errors import EvidenceError, InputError

MODEL = liftgbp.parse("""
    smokes(person)
    friends(person, person)
    mood(person) : {low, mid, high}
    rain
    likes(person, thing)
    1.5 smokes(x) ^ friends(x,y) => smokes(y)
    0.5 rain => smokes(x)
    1 mood(x) = high => smokes(x)
""")


def stated(given: Any) -> dict[str, float]:
    """The probability of true, or of the stated value, by atom."""
    evidence = Evidence.of(MODEL, given)
    found = {}
    for name, predicate in MODEL.predicates.items():

        def atom(
            objects: list[int], value: int, name: str = name, predicate: Any = predicate
        ) -> str:
            names = [
                evidence.names[sort][k] for sort, k in zip(predicate.sorts, objects, strict=True)
            ]
            what = "" if len(predicate.values) == 2 else f"={predicate.values[value]}"
            return f"{name}({','.join(names)}){what}"

        if name in evidence.hard:
            relation = evidence.hard[name]
            for objects, value in zip(
                relation.args.tolist(), relation.values.tolist(), strict=True
            ):
                truth = value if len(predicate.values) == 2 else 1
                found[atom(objects, value)] = float(truth)
        if name in evidence.soft:
            soft = evidence.soft[name]
            for objects, potentials in zip(soft.args.tolist(), soft.log_potentials, strict=True):
                found[atom(objects, 1)] = round(float(np.exp(potentials[1])), 9)
    return found


FRIENDS = {"friends(Anna,Bob)": 1.0, "friends(Bob,Anna)": 1.0}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("smokes(Anna)\n!smokes(Bob)\n", {"smokes(Anna)": 1, "smokes(Bob)": 0}),
        ({}, {}),
        ({"smokes": ["Anna", "Bob"]}, {"smokes(Anna)": 1, "smokes(Bob)": 1}),
        ({"smokes": np.array(["Anna", "Bob"])}, {"smokes(Anna)": 1, "smokes(Bob)": 1}),
        ({"smokes": {"Anna"}}, {"smokes(Anna)": 1}),
        ({"smokes": [("Anna",), ("Bob",)]}, {"smokes(Anna)": 1, "smokes(Bob)": 1}),
        ({"smokes": [("Anna", False), ("Bob", 0.7)]}, {"smokes(Anna)": 0, "smokes(Bob)": 0.7}),
        ({"smokes": {"Anna": True, "Bob": 0.7}}, {"smokes(Anna)": 1, "smokes(Bob)": 0.7}),
        ({"smokes": [1, 2.0, np.int64(3)]}, {"smokes(1)": 1, "smokes(2)": 1, "smokes(3)": 1}),
        ({"smokes": [datetime.date(2026, 1, 2)]}, {"smokes(2026-01-02)": 1}),
        ({"smokes": ["Anna", None, ""]}, {"smokes(Anna)": 1}),
        ({"friends": [("Anna", "Bob"), ["Bob", "Anna"]]}, FRIENDS),
        ({"friends": np.array([["Anna", "Bob"], ["Bob", "Anna"]])}, FRIENDS),
        ({"friends": {("Anna", "Bob"): 0.25}}, {"friends(Anna,Bob)": 0.25}),
        ({"mood": [("Anna", "high")]}, {"mood(Anna)=high": 1}),
        ({"mood(Anna)": "high"}, {"mood(Anna)=high": 1}),
        (
            {"smokes(Anna)": True, "smokes(Bob)": 0.7, "!smokes(Carl)": True, "rain": False},
            {"smokes(Anna)": 1, "smokes(Bob)": 0.7, "smokes(Carl)": 0, "rain()": 0},
        ),
        ({"!smokes(Anna)": False, "smokes(Bob)": np.True_}, {"smokes(Anna)": 1, "smokes(Bob)": 1}),
        ({'friends(Anna,"Mary Ann")': 1}, {"friends(Anna,Mary Ann)": 1}),
        ({"rain": None, "smokes(Anna)": float("nan")}, {}),
        (["rain", {"smokes": ["Anna"]}], {"rain()": 1, "smokes(Anna)": 1}),
    ],
)
def test_values(given: Any, expected: dict[str, float]) -> None:
    assert stated(given) == expected


def test_objects_about_which_nothing_is_known() -> None:
    given: dict[str, Any] = {"smokes(Anna)": None, "friends": [("Bob", None)]}
    assert set(Evidence.of(MODEL, given).names["person"]) == {"Anna", "Bob"}


def test_paths(tmp_path: Path) -> None:
    facts, table = tmp_path / "a.db", tmp_path / "friends.csv"
    facts.write_text("smokes(Anna)\n", encoding="utf-8")
    table.write_text("a,b\nAnna,Bob\nBob,Anna\n", encoding="utf-8")
    assert stated(facts) == {"smokes(Anna)": 1}
    assert stated([facts, {"friends": table}]) == {"smokes(Anna)": 1, **FRIENDS}


def frames() -> list[Any]:
    """Makers of frames from columns, one for each library."""
    makers = [
        pytest.param(
            lambda columns: duckdb.sql(
                "SELECT "
                + ", ".join(f"unnest({values}) AS {name}" for name, values in columns.items())
            ),
            id="duckdb",
        )
    ]
    for module, maker in {
        "pandas": "DataFrame",
        "polars": "DataFrame",
        "pyarrow": "table",
    }.items():
        found = importlib.import_module(module)
        makers.append(pytest.param(getattr(found, maker), id=module))
    return makers


@pytest.mark.parametrize("frame", frames())
def test_frames(frame: Any) -> None:
    friends = frame({"a": ["Anna", "Bob"], "b": ["Bob", "Anna"]})
    assert stated({"friends": friends}) == FRIENDS
    sure = frame({"a": [1, 2], "b": [3, 4], "probability": [0.5, 1.0]})
    assert stated({"friends": sure}) == {"friends(1,3)": 0.5, "friends(2,4)": 1}
    mood = frame({"who": ["Anna"], "value": ["mid"]})
    assert stated({"mood": mood}) == {"mood(Anna)=mid": 1}
    with pytest.raises(EvidenceError, match=r"evidence\['smokes'\]: smokes takes 1 argument col"):
        stated({"smokes": frame({"a": [1], "b": [2], "c": [3]})})
    with pytest.raises(EvidenceError, match=r"evidence\['smokes'\], row 2, column truth: smokes"):
        stated({"smokes": frame({"a": [1, 2], "truth": [1, 2]})})


class Stream:
    """Any object with the Arrow stream interface."""

    def __init__(self, relation: Any) -> None:
        self.relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def test_streams() -> None:
    rows = "VALUES ('Anna', 'Bob'), ('Bob', 'Anna')"
    assert stated({"friends": Stream(duckdb.sql(f"SELECT * FROM ({rows})"))}) == FRIENDS


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"friends": np.array(3)}, "the evidence about friends must be a table, a list such as"),
        (5, "evidence must be facts as text"),
        ("facts.db", "read a file with load_evidence(model, 'facts.db')"),
        ("smokes=people.csv[name]", "read a file with load_evidence"),
        ("smoke(Anna)", "unknown predicate smoke; the model has"),
        ({"smoke": ["Anna"]}, "unknown predicate smoke; the model has"),
        ({"smoke": True}, "unknown predicate smoke; the model has"),
        ({5: True}, "a key of the evidence must be"),
        ({"smokes": "Anna"}, "a list such as ['Anna'], or a pathlib.Path, got the str 'Anna'"),
        ({"friends": 5}, "a list such as [('Anna', 'Bob')]"),
        ({"friends": ["Anna"]}, "evidence['friends']: friends takes 2 argument columns, got 1"),
        ({"friends": [("A", "B"), ("A",)]}, "row 2: it has 1 cell, and row 1 has 2"),
        ({"smokes": [("A", 2)]}, "evidence['smokes'], row 1, column value: smokes takes the val"),
        ({"smokes": [("A", [1])]}, "a cell is a name, a number or a truth value, not [1]"),
        ({"smokes(Anna)": 2}, "2.0 is not a probability"),
        ({"smokes(Anna)": ["x"]}, "the evidence about smokes(Anna) must be True, False"),
        ({"smokes(Anna)\nrain": True}, "must be one ground atom"),
        ({"smokes": ["Anna"], "smokes(Anna)": False}, "contradicts"),
        ([Evidence.of(MODEL), "rain"], "pass it alone"),
    ],
)
def test_wrong_values(given: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Evidence.of(MODEL, given)
    assert words in str(caught.value)


@pytest.mark.slow
def test_every_door_takes_the_same(tmp_path: Path) -> None:
    """Each public function gives what it gives for evidence that was read before."""
    given: dict[str, Any] = {"friends": [("Anna", "Bob")], "smokes": {"Anna": True, "Bob": 0.3}}
    read = liftgbp.parse_evidence(MODEL, "friends(Anna,Bob)\nsmokes(Anna)\n0.3 smokes(Bob)")
    loaded = liftgbp.load_evidence(MODEL, given)
    assert stated(given) == stated(loaded) == stated(read)
    sizes = {"person": 2, "thing": 1}

    def both(call: Any) -> list[Any]:
        return [call(evidence) for evidence in (given, read)]

    for one, other in (
        both(lambda e: liftgbp.infer(MODEL, sizes, evidence=e).marginal("smokes(Bob)")),
        both(lambda e: liftgbp.prepare(MODEL, sizes, evidence=e).graph_as_dict()),
        both(lambda e: liftgbp.bounds(MODEL, sizes, evidence=e, effort="quick").log_z_as_dict()),
        both(lambda e: liftgbp.check(MODEL, sizes, evidence=e).answers.log_z),
        both(lambda e: liftgbp.check_messages(MODEL, sizes, evidence=e).differences),
        both(lambda e: liftgbp.sweep(MODEL, {**sizes, "person": [2]}, evidence=e).records()),
        both(
            lambda e: [
                row.values
                for row in liftgbp.sample(MODEL, sizes, evidence=e, sweeps=50).query("smokes(Bob)")
            ]
        ),
    ):
        assert str(one) == str(other)
    texts = []
    for evidence in (given, read):
        path = tmp_path / "net.uai"
        liftgbp.export_network(MODEL, path, sizes, evidence=evidence)
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
