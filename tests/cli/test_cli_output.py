"""Rows that are selected and ordered, and files of answers."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

import liftgbp
from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")
NETWORK = (
    *("query", str(MODELS / "smoking-network.mln")),
    *("-e", str(MODELS / "smoking-network.db"), "--closed", "friends"),
)
CANCER = (*NETWORK, "-q", "cancer(x)")


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(cli, [str(a) for a in arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result


def rows(*arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call(*arguments, "--json").stdout)["answers"]
    return found


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def p(record: dict[str, str]) -> float:
    return float(record["probability"])


def test_order_by_probability() -> None:
    plain = records(call(*CANCER, "-o", "-").stdout)
    ordered = records(call(*CANCER, "--sort", "p", "-o", "-").stdout)
    assert ordered == sorted(plain, key=p, reverse=True)
    assert ordered != plain


def test_order_by_atom() -> None:
    arguments = ("query", SMOKERS, "-n", "person=5", "-q", "friends(x,y)", "--sort", "atom")
    assert [row["atom"] for row in rows(*arguments)] == ["friends(x,x)", "friends(x,y)"]


def test_the_most_probable_rows_of_each_query() -> None:
    found = rows(*NETWORK, "-q", "cancer(x)", "-q", "smokes(x)", "--top", "2")
    assert [row["query"] for row in found] == ["cancer(x)"] * 2 + ["smokes(x)"] * 2
    every = records(call(*CANCER, "-o", "-").stdout)
    best = sorted(map(p, every), reverse=True)[:2]
    assert [p(one) for one in records(call(*CANCER, "--top", 2, "-o", "-").stdout)] == best


def test_rows_that_are_probable_enough() -> None:
    every = records(call(*CANCER, "-o", "-").stdout)
    kept = records(call(*CANCER, "--min", 0.33, "-o", "-").stdout)
    assert kept == [record for record in every if p(record) >= 0.33]
    assert 0 < len(kept) < len(every)
    assert "no rows" in call(*CANCER, "--min", 0.999).stdout


@pytest.mark.slow
def test_more_rows_than_fit(tmp_path: Path) -> None:
    facts = tmp_path / "facts.db"
    facts.write_text("".join(f"{k / 100} s(P{k})\n" for k in range(1, 61)), encoding="utf-8")
    model = tmp_path / "many.mln"
    model.write_text("s(person)\n0.1 s(x)\n", encoding="utf-8")
    assert "more rows; --top 60" in call("query", model, "-e", facts).stdout
    assert "more rows" not in call("query", model, "-e", facts, "--top", "60").stdout


@pytest.mark.parametrize("extension", ["csv", "parquet", "json"])
def test_files_of_answers(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"answers.{extension}"
    result = call(*CANCER, "--top", "3", "-o", path)
    assert "cancer(x)" in result.stdout
    wanted = records(call(*CANCER, "--top", "3", "-o", "-").stdout)
    if extension == "json":
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["trusted"] is True
        assert content["answers"] == rows(*CANCER, "--top", "3")
    elif extension == "csv":
        assert records(path.read_text(encoding="utf-8")) == wanted
    else:
        found = duckdb.read_parquet(str(path))
        assert [str(kind) for kind in found.types] == [
            *("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "VARCHAR", "DOUBLE")
        ]
        assert [list(map(str, row)) for row in found.fetchall()] == [
            list(record.values()) for record in wanted
        ]


def test_files_of_joint_answers(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    call("query", SMOKERS, "-n", "person=1e12", "-q", "smokes(y) | friends(x,y)", "-o", path)
    found = duckdb.read_parquet(str(path))
    assert {row[5] for row in found.fetchall()} == {
        *("false | false", "true | false", "false | true", "true | true")
    }
    # 10^24 pairs are beyond 64 bits.
    assert str(found.types[4]) == "DOUBLE"


def test_given_atoms_follow_the_bar() -> None:
    text = "rain\nwet\nsmokes(a)\n1 rain ^ wet ^ smokes(x)"
    arguments = ["query", "-", "-n", "a=3", "-q", "rain ^ smokes(x) | wet"]
    result = CliRunner().invoke(cli, arguments, input=text, standalone_mode=False)
    shown = re.findall(r"│ (\w+,\w+ \| \w+) +│ (\d.\d+) │", result.stdout)
    values = ("false", "true")
    assert [key for key, _ in shown] == [
        f"{a},{b} | {c}" for a in values for b in values for c in values
    ]
    for given in values:
        total = sum(float(p) for key, p in shown if key.endswith(f"| {given}"))
        assert total == pytest.approx(1, abs=1e-5)


def test_values_with_commas_stay_apart() -> None:
    text = 'c(a) : {"x", "x,y"}\nd(a) : {"x", "y,x"}\n1 c(u) = x ^ d(u) = x'

    def values(query: str) -> list[str]:
        arguments = ["query", "-", "-n", "a=2", "-q", query, "-o", "-"]
        result = CliRunner().invoke(cli, arguments, input=text, standalone_mode=False)
        return [record["value"] for record in records(result.stdout)]

    assert values("c(u) ^ d(u)") == ["x,x", 'x,"y,x"', '"x,y",x', '"x,y","y,x"']
    assert values("c(u)") == ["x", "x,y"]


@pytest.mark.parametrize("query", ["c(u)", "c(u) ^ d(u)", "c(u) | d(u)"])
def test_assignments_read_the_same_in_python(query: str) -> None:
    text = 'c(a) : {"x", "x,y"}\nd(a) : {"x y", "y,x"}\n1 c(u) = x ^ d(u) = "y,x"'
    (answer,) = liftgbp.infer(liftgbp.parse(text), {"a": 2}, effort="quick").query(query)
    arguments = ["query", "-", "-n", "a=2", "-q", query, "-o", "-"]
    result = CliRunner().invoke(cli, arguments, input=text, standalone_mode=False)
    assert [record["value"] for record in records(result.stdout)] == [
        answer.assignment_text(values) for values in answer.values
    ]


def test_sweeps_to_standard_output(tmp_path: Path) -> None:
    arguments = ("sweep", SMOKERS, "--size", "person=3,4", "--query", "smokes(x)")
    path = tmp_path / "sweep.csv"
    call(*arguments, "-o", path)
    written = records(path.read_text(encoding="utf-8"))
    assert [record["person"] for record in written] == ["3", "3", "4", "4"]
    for output in ((), ("-o", "-")):
        result = call(*arguments, *output)
        assert records(result.stdout) == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json", "-o", "-"), "both write to standard output"),
        (("--observed",), "only has an effect with --all"),
        (("-o", "answers.xls"), ".csv, .json, .parquet"),
        (("-o", "no/such/place.csv"), "no directory"),
        (("--solver", "descent", "--damping", "0.3"), "--damping does not apply"),
        (("--solver", "descent", "--adaptive"), "--adaptive does not apply"),
        (("--solver", "flooding", "--seed", "3"), "--seed does not apply"),
        (("--top", "0"), "0 is not in the range"),
        (("--min", "2"), "2.0 is not in the range"),
        (("--sort", "size"), "'p', 'atom'"),
    ],
)
def test_options_that_make_no_sense(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(
        cli, ["query", SMOKERS, "-n", "person=4", *arguments], standalone_mode=False
    )
    assert message in str(getattr(result.exception, "message", result.exception))


@pytest.mark.parametrize(
    ("command", "source", "options"),
    [
        ("query", "friends={}", ("-o", "facts.atoms.csv")),
        ("query", "friends={}[from,to]", ("--all", "facts.atoms.csv")),
        ("query", "friends=glob:*.atoms.csv[from, to]", ("--all", "./facts.atoms.csv")),
        ("sample", "friends={}", ("-o", "link.csv")),
        ("sweep", "friends = {}", ("-o", "facts.atoms.csv")),
        ("export", "friends={}", ("-o", "facts.uai")),
        ("export", "friends={}", ("-o", "facts.fg.gz")),
        ("query", "friends=data.parquet:facts", ("-o", "data.parquet")),
        ("query", "friends={}", ("-o", "new.csv", "--all", "./new.csv")),
        ("query", "friends={}", ("--blocks-plot", "model.svg")),
    ],
)
def test_what_is_read_is_not_overwritten(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    source: str,
    options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.svg").write_text(Path(SMOKERS).read_text())
    Path("facts.atoms.csv").write_text("from,to\nAnna,Bob\n")
    Path("link.csv").symlink_to("facts.atoms.csv")
    with duckdb.connect("data.parquet") as connection:
        connection.execute("CREATE TABLE facts AS FROM 'facts.atoms.csv'")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    model, evidence = "model.svg", source.format("facts.atoms.csv")
    arguments = [command, model, "-n", "person=4", "-e", evidence, *options]
    with pytest.raises(liftgbp.InputError, match=r"this command reads it|two outputs name it"):
        cli(arguments, standalone_mode=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_long_names_of_options() -> None:
    long = call("query", SMOKERS, "--size", "person=4", "--query", "smokes(x)", "-o", "-")
    short = call("query", SMOKERS, "-n", "person=4", "-q", "smokes(x)", "--output", "-")
    assert long.stdout == short.stdout


def test_all_missing_sizes_in_one_message() -> None:
    result = CliRunner().invoke(cli, ["query", str(MODELS / "movies.mln")], standalone_mode=False)
    assert "-n person=1000 -n movie=1000" in str(result.exception)


@pytest.mark.parametrize("command", ["query", "graph", "check", "sweep", "export", "reproduce"])
def test_help_has_an_example_and_exit_codes(command: str) -> None:
    page = call(command, "--help").stdout
    assert f"Examples:\n  liftgbp {command} " in page
    assert "Exit codes:" in page


def test_sweeps_with_evidence_agree_with_queries() -> None:
    model, facts = str(MODELS / "smoking-network.mln"), str(MODELS / "smoking-network.db")
    known = ("-e", facts, "--closed", "friends", "-q", "smokes(x)", "--effort", "quick")
    swept = records(call("sweep", model, "-n", "person=8,20", *known).stdout)
    for size in ("8", "20"):
        single = records(call("query", model, "-n", f"person={size}", *known, "-o", "-").stdout)
        own = [one for one in swept if one["person"] == size and one["value"] == "true"]
        assert [one["where"] for one in own] == [one["where"] for one in single]
        assert list(map(p, own)) == pytest.approx(list(map(p, single)), abs=1e-9)


def test_sweeps_of_sums_over_counts_agree_with_queries() -> None:
    asked = ("--sum-over", "smokes", "-q", "friends(x,y)")
    swept = records(call("sweep", SMOKERS, "-n", "person=5,10", *asked).stdout)
    for size in ("5", "10"):
        single = records(call("query", SMOKERS, "-n", f"person={size}", *asked, "-o", "-").stdout)
        own = [one for one in swept if one["person"] == size and one["value"] == "true"]
        assert list(map(p, own)) == pytest.approx(list(map(p, single)), abs=1e-9)
