"""Samples on the command line, and answers beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

import liftgbp
from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")
TRANSITIVE = str(MODELS / "transitive.mln")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def as_json(*arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return result


@pytest.mark.slow
def test_words() -> None:
    result = run("sample", SMOKERS, "-n", "person=4", "--sweeps", "600", "-q", "friends(x,y)")
    first, *others = result.stdout.splitlines()
    assert first == "mixed: chains from different starts agree"
    assert result.return_value == 0
    assert "standard error" in result.stdout
    assert others[-1].startswith("64 chains, 600 sweeps in ")
    assert others[-2].startswith("log Z 29.")


@pytest.mark.slow
def test_a_short_sample_has_not_mixed() -> None:
    result = run("sample", TRANSITIVE, "-n", "person=12", "--sweeps", "8")
    assert result.stdout.startswith("HAS NOT MIXED: R-hat is ")
    assert result.return_value == 1


@pytest.mark.slow
def test_json_and_seeds() -> None:
    arguments = ("sample", SMOKERS, "-n", "person=4", "--sweeps", "50", "-q", "smokes(x)")
    one, same, other = (as_json(*arguments, "--seed", seed) for seed in ("3", "3", "4"))
    assert one["answers"] == same["answers"]
    assert one["answers"] != other["answers"]
    assert one["seed"] == 3
    assert one["chains"] == 64


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_worlds_are_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"worlds{suffix}"
    sweeps = ("--sweeps", "12", "--starts", "random")
    told = as_json("sample", SMOKERS, "-n", "person=2", *sweeps, "-o", str(path))
    if suffix == ".csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
        smokes = [row["smokes(#1)"] == "true" for row in rows]
    else:
        smokes = [row[0] for row in duckdb.sql(f"SELECT \"smokes(#1)\" FROM '{path}'").fetchall()]
    assert len(smokes) == told["draws"] * 64
    assert 0 < sum(smokes) < len(smokes)


@pytest.mark.slow
def test_a_second_opinion_below_the_answer() -> None:
    arguments = ("query", SMOKERS, "-n", "person=5", "-q", "friends(x,y)", "--second-opinion", "3")
    found = as_json(*arguments)
    opinion = found["second_opinion"]
    assert opinion["title"] == "the sample"
    assert [row["query"] for row in opinion["rows"]] == ["friends(x,y)"] * 4
    # The answer is exact.
    for row in opinion["rows"]:
        assert abs(row["difference"]) <= 5 * row["standard_error"]
    assert run(*arguments).stdout.splitlines()[-1].startswith("agrees with the sample: ")


@pytest.mark.slow
def test_a_second_opinion_that_disagrees() -> None:
    # By the exact answer 0.3845, by factor scopes 0.3660: as the file of the model states.
    result = run(
        "query", TRANSITIVE, "-n", "person=4", "--effort", "quick", "--second-opinion", "4"
    )
    last = result.stdout.splitlines()[-1]
    assert last.startswith("disagrees with the sample by 0.0")
    assert result.return_value == 1


def test_a_network(tmp_path: Path) -> None:
    path = tmp_path / "pair.uai"
    path.write_text("MARKOV 2  2 2  1  2 0 1   4 1 2 2 1")
    told = as_json("sample", str(path), "--sweeps", "40")
    assert [row["atom"] for row in told["answers"]] == ["x0", "x1"]
    refused = run("sample", str(path), "-n", "person=3").exception
    assert "neither sorts nor predicates" in str(refused)


def interrupt_after(monkeypatch: pytest.MonkeyPatch, sweeps: int) -> None:
    """Let Ctrl-C come after some sweeps."""

    def interrupted(*arguments: Any, **options: Any) -> liftgbp.Sample:
        def stop(stage: str, done: int, total: int) -> None:
            if stage == "sampling" and done == sweeps:
                raise KeyboardInterrupt

        del options["seconds"]
        return original(*arguments, **{**options, "sweeps": 50, "progress": stop})

    original = liftgbp.sample
    monkeypatch.setattr(liftgbp, "sample", interrupted)


def test_an_interrupted_sample_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(monkeypatch, 20)
    result = run("sample", SMOKERS, "-n", "person=3", "--sweeps", "50", "--starts", "random")
    assert result.stdout.splitlines()[-1] == "note: interrupted after 20 sweeps"
    assert result.return_value == 130


def test_too_few_sweeps_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(monkeypatch, 3)
    result = run("sample", SMOKERS, "-n", "person=3", "--starts", "random")
    assert result.stdout == ""
    assert isinstance(result.exception, click.Abort)
    cause = result.exception.__cause__
    assert str(cause) == "3 sweeps had been made, and a sample needs 8: nothing is kept"


@pytest.mark.parametrize("sweeps", [3, 20])
def test_an_answer_is_shown_though_its_second_opinion_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, sweeps: int
) -> None:
    interrupt_after(monkeypatch, sweeps)
    result = run("query", SMOKERS, "-n", "person=3", "--second-opinion", "60", "-q", "smokes(x)")
    assert result.stdout.startswith("confirmed")
    assert ("no second opinion: interrupted: 3 sweeps" in result.stdout) == (sweeps == 3)
    assert result.return_value == 130


@pytest.mark.slow
def test_a_sample_without_enough_time_says_what_it_reached() -> None:
    result = run("sample", TRANSITIVE, "-n", "person=20", "--seconds", "1e-6")
    assert isinstance(result.exception, liftgbp.CapacityError)
    assert str(result.exception).startswith("too little time for a sample: chains were still being")
    told = as_json("query", TRANSITIVE, "-n", "person=20", "--second-opinion", "1e-6")
    assert told["second_opinion"]["sentence"].startswith("no second opinion: too little time")
    assert told["answers"]
