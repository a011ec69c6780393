"""Queries on a database engine from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_shell import Shell


def sources(tmp_path: Path) -> tuple[str, ...]:
    friends = tmp_path / "friends.csv"
    friends.write_text("who,whom\nAnna,Bob\nBob,Carl\n", encoding="utf-8")
    return "example:smoking-network", "-e", f"friends={friends}", "--closed", "friends"


@pytest.mark.slow
def test_marginals_are_written(shell: Shell, tmp_path: Path) -> None:
    asked = (*sources(tmp_path), "--engine", "duckdb", "-o", str(tmp_path / "out"))
    code, out, _ = shell("query", *asked)
    assert code == 0
    assert "converged after" in out
    assert "not judged" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"cancer.parquet", "smokes.parquet", "run.json"}
    code, _, err = shell("query", *asked)
    assert code == 2
    assert "exists already" in err


@pytest.mark.slow
def test_json_and_few_iterations(shell: Shell, tmp_path: Path) -> None:
    asked = ("--engine", "duckdb", "-o", str(tmp_path / "out"), "--iterations", "1", "--json")
    code, out, _ = shell("query", *sources(tmp_path), *asked)
    assert code == 1
    found = json.loads(out)
    assert found["converged"] is False
    assert found["iterations"] == 1


def test_options_without_a_meaning(shell: Shell, tmp_path: Path) -> None:
    asked = (*sources(tmp_path), "--engine", "duckdb")
    code, _, err = shell("query", *asked, "-o", "out", "-q", "smokes(x)")
    assert code == 2
    assert "--query does not apply to runs on an engine" in err
    code, _, err = shell("query", *asked)
    assert code == 2
    assert "-o marginals" in err


@pytest.mark.parametrize("asked", [("--compress",), ("--engine-memory", "2")])
def test_options_of_engines_need_one(shell: Shell, asked: tuple[str, ...]) -> None:
    code, _, err = shell("query", "example:friends-smokers", "-n", "person=3", *asked)
    assert code == 2
    assert f"{asked[0]} is about runs on an engine; add --engine duckdb" in err
