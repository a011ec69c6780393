"""Sums over counts from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["query", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_json_says_which_counts() -> None:
    output = run(SMOKERS, "-n", "person=10", "--sum-over", "smokes", "--json")
    summed = json.loads(output)["sum_over"]
    assert summed["predicates"] == ["smokes"]
    assert summed["counts_visited"] == 11
    counts = {peak["counts"]: peak["share"] for peak in summed["most_likely"]}
    assert counts == pytest.approx({"smokes: 0": 0.5, "smokes: 10": 0.5})
    assert summed["untrusted_share"] == 0


def test_text_says_which_counts() -> None:
    output = run(SMOKERS, "-n", "person=10", "--sum-over", "smokes", "-q", "friends(x,y)")
    assert "0.494691" in output
    assert "summed over smokes: 11 counts visited" in output
    assert "smokes: 0 (0.5)" in output


def test_auto_says_why() -> None:
    output = run(SMOKERS, "-n", "person=10", "--sum-over", "auto")
    assert "summed over smokes" in output
    assert "smokes was chosen: at each of its counts, nothing is approximated" in output
    transitive = run(str(MODELS / "transitive.mln"), "-n", "person=4", "--sum-over", "auto")
    assert "no predicate was chosen" in transitive


def test_all_atoms_are_written(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    run(SMOKERS, "-n", "person=3", "--sum-over", "smokes", "--all", str(path))
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(rows) == 9 + 3
    smokes = [float(row[-2]) for row in rows if row[0] == "smokes"]
    assert smokes == pytest.approx([0.5, 0.5, 0.5])


def test_graphs_of_other_tools_have_no_predicates(tmp_path: Path) -> None:
    path = tmp_path / "one.uai"
    path.write_text("MARKOV\n1\n2\n1\n1 0\n2\n1 2\n", encoding="utf-8")
    with pytest.raises(Exception, match="--sum-over do not apply"):
        run(str(path), "--sum-over", "smokes")


def test_ground_road_has_no_classes_to_count() -> None:
    with pytest.raises(Exception, match="use via lifted"):
        run(SMOKERS, "-n", "person=4", "--sum-over", "smokes", "--via", "ground")
