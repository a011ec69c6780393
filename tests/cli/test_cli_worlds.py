"""Best worlds on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from command_shell import Shell

MILLION = ("-n", "person=1000000")


def result_of(shell: Shell, *arguments: str) -> dict[str, Any]:
    code, out, err = shell("map", *arguments, "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == (0 if found["proven"] else 1), err
    return found


@pytest.mark.parametrize("command", ["map", "mpe"])
def test_words(shell: Shell, command: str) -> None:
    code, out, _ = shell(command, "example:opposites", *MILLION)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == (
        "proven: no world has a larger score (by the numbers of objects in each cell)"
    )
    assert lines[1] == "score 5e+11"
    assert lines[2] == "person: two halves, A (500,000) and B (500,000)"
    assert lines[3] == "friends: only between A and B"
    assert "true atoms: 5e+11 of 1e+12 (friends), 500,000 of 1,000,000 (left)" in lines
    assert any("1 friends(x,y) | x != y" in line and "500,000,000,000" in line for line in lines)


def test_what_is_not_proven(shell: Shell) -> None:
    code, out, _ = shell("map", "example:no-four-friends", *MILLION, "--seconds", "0.000001")
    assert code == 1
    first, second, *_ = out.splitlines()
    assert first.endswith(" is open at normal effort within 1e-06 seconds")
    assert first.startswith("NOT PROVEN: no world has a score above 9.99999e+11; ")
    assert second.startswith("score ")
    assert second.endswith("; no world has more than 9.99999e+11")


@pytest.mark.slow
def test_a_gap_ends_the_search(shell: Shell) -> None:
    rough = result_of(shell, "example:no-four-friends", "-n", "person=1000", "--gap", "1e6")
    assert not rough["proven"]
    assert 0 < rough["gap"] <= 1e6
    fine = result_of(shell, "example:no-four-friends", "-n", "person=1000", "--gap", "0.5")
    assert fine["score"] == 666_666


def test_json(shell: Shell) -> None:
    found = result_of(shell, "example:couples", "-n", "person=1000000001")
    assert (found["score"], found["exact_score"], found["gap"]) == (10**9, "1000000000", 0)
    assert found["domains"] == {"person": 10**9 + 1}
    assert found["numbers"] == {"married": 10**9}
    assert [rule["violated"] for rule in found["rules"]][:3] == [0, 0, 0]
    words = ["person: A (500,000,000 pairs) and B (1)", "married: only inside each pair"]
    assert found["structure"]["words"] == words
    assert [own["objects"] for own in found["structure"]["blocks"]] == [10**9, 1]


def test_queries_choose_what_is_listed(shell: Shell, tmp_path: Path) -> None:
    facts = tmp_path / "facts.db"
    facts.write_text("famous(Anna)", encoding="utf-8")
    arguments = ("example:celebrity", "-n", "person=40", "-e", str(facts))
    code, out, _ = shell("map", *arguments, "-q", "famous(x)", "-q", "follows(Anna,x)")
    assert code == 0
    assert "famous(Anna)" in out
    assert "follows(Anna,x): none is true" in out
    assert len(result_of(shell, *arguments)["true"]["follows(x,y)"]) == 39


def test_some_of_very_many_atoms_are_listed(shell: Shell) -> None:
    queries = ("-q", "left(x)", "-q", "friends(x,y)")
    found = result_of(shell, "example:opposites", "-n", "person=1000000000", *queries)
    assert [len(own) for own in found["true"].values()] == [200, 200]
    half = 5 * 10**8
    assert found["true_numbers"] == {"left(x)": half, "friends(x,y)": 2 * half**2}
    _, out, _ = shell("map", "example:opposites", "-n", "person=1000000000", *queries)
    assert "left(x): the first 200 of 500,000,000" in out.splitlines()


def test_few_of_many_undecided_atoms_are_named(shell: Shell) -> None:
    """Which one of twenty people is the one who smokes is open."""
    model = "smokes(person)\nperson = {" + ",".join(f"P{k}" for k in range(20)) + "}\n"
    model += "1 EXIST x smokes(x)\n-0.5 smokes(x)"
    _, out, _ = shell("map", "-", "--via", "ground", stdin=model)
    (line,) = (own for own in out.splitlines() if "between best worlds" in own)
    assert line.startswith("20 atoms differ between best worlds: smokes(P0), ")
    assert line.endswith("smokes(P11) and 8 more")


def test_variables_of_a_network_are_one_list(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "five.uai"
    tables = "".join(f"2\n1 {2 if k % 2 else 0.5}\n" for k in range(5))
    file.write_text("MARKOV\n5\n2 2 2 2 2\n5\n1 0\n1 1\n1 2\n1 3\n1 4\n" + tables)
    _, out, _ = shell("map", str(file))
    lines = out.splitlines()
    assert lines[2:4] == ["variables that do not have their first value: 2 of 5", "x1 = 1, x3 = 1"]
    assert "note: among best worlds, it is one with the fewest variables that do not" in out
    found = result_of(shell, str(file))
    assert found["structure"] is None
    assert found["true"] == {"x1": ["x1 = 1"], "x3": ["x3 = 1"]}


def test_nothing_true_is_said(shell: Shell) -> None:
    code, out, _ = shell("map", "example:transitive", "-n", "person=1000000")
    assert code == 0
    assert "r: none" in out.splitlines()
    assert "note: it has no true atoms that are not observed" in out.splitlines()


@pytest.mark.parametrize("ending", ["db", "csv", "json", "parquet", "svg", "png", "pdf"])
def test_files(shell: Shell, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"best.{ending}"
    code, _, err = shell("map", "example:couples", "-n", "person=61", "-o", str(file))
    assert code == 0, err
    if ending == "db":
        assert len(file.read_text(encoding="utf-8").splitlines()) == 60
    elif ending == "csv":
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        assert {row["predicate"] for row in rows} == {"married"}
        assert len(rows) == 60
    elif ending == "parquet":
        assert duckdb.sql(f"select count(*) from '{file}'").fetchall() == [(60,)]
    elif ending == "json":
        assert json.loads(file.read_text(encoding="utf-8"))["score"] == 60
    else:
        assert file.stat().st_size > 1_000


def test_all_atoms_in_a_table(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "best.csv"
    code, _, _ = shell("map", "example:two-sides", "-n", "person=9", "-o", str(file), "--all")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert code == 0
    assert sorted(row["value"] for row in rows) == ["false"] * 5 + ["true"] * 4


def test_too_many_atoms_for_a_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "best.db"
    code, _, err = shell("map", "example:opposites", *MILLION, "-o", str(file))
    assert code == 2
    assert "500,000,000,000 atoms of friends are true, too many to write out" in err
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["example:opposites"], "person has no size"),
        (["example:opposites", *MILLION, "-o", "best.txt"], "best.txt"),
        (["example:opposites", *MILLION, "--all"], "--all is about tables"),
        (["example:opposites", *MILLION, "--gap", "-1"], "--gap"),
        (["example:opposites", *MILLION, "--seconds", "0"], "--seconds"),
        (["example:opposites", *MILLION, "--effort", "huge"], "--effort"),
        (["example:opposites", *MILLION, "-q", "drinks(x)"], "unknown predicate drinks"),
        (["example:nowhere", *MILLION], "nowhere"),
        (["example:opposites", *MILLION, "-q", "left(x) | friends(x,y)"], "world.count"),
    ],
)
def test_bad_input(shell: Shell, arguments: list[str], message: str) -> None:
    code, out, err = shell("map", *arguments)
    assert code == 2
    assert not out
    assert message in err


def test_contradictions(shell: Shell) -> None:
    text = "smokes(person)\nsmokes(x) v smokes(y) | x != y.\n!smokes(x) v !smokes(y) | x != y."
    code, _, err = shell("map", "-", "-n", "person=3", stdin=text)
    assert code == 2
    assert "smokes(x) v smokes(y) | x != y." in err
    assert "!smokes(x) v !smokes(y) | x != y." in err


@pytest.mark.parametrize(
    ("rule", "how"),
    [
        ("smokes(x).", ""),
        ("1 smokes(x) ^ !smokes(y) | x != y", " (by elimination)"),
        ("1 smokes(x) <=> smokes(y)", " (by a maximum flow)"),
    ],
)
def test_how_a_world_is_proven(shell: Shell, rule: str, how: str) -> None:
    model = f"smokes(person)\n{rule}"
    code, out, _ = shell("map", "-", "-n", "person=3", "--via", "ground", stdin=model)
    assert code == 0
    assert out.splitlines()[0] == f"proven: no world has a larger score{how}"


def test_a_world_that_breaks_no_rule_says_so(shell: Shell) -> None:
    _, out, _ = shell("map", "example:transitive", *MILLION)
    assert out.startswith("proven: no world has a larger score (no rule or table can add more)")
