"""Proven bounds on the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")
TRANSITIVE = str(MODELS / "transitive.mln")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def as_json(*arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return result


@pytest.mark.slow
def test_words() -> None:
    result = run("bounds", SMOKERS, "-n", "person=10", "-q", "smokes(x)")
    assert result.exit_code == 0
    first, second, third, *_ = result.stdout.splitlines()
    assert first.startswith("proven: 196.0")
    assert " <= log Z <= 196.3" in first
    assert second.startswith("for each of 110 ground atoms: 1.78")
    assert third.startswith("below: independent atoms")
    assert "above: conditional entropies over" in third
    assert "P(true)" in result.stdout


@pytest.mark.slow
def test_json() -> None:
    found = as_json("bounds", SMOKERS, "-n", "person=10", "-q", "smokes(x)")
    log_z = found["log_z"]
    assert log_z["lower"] < log_z["upper"]
    assert log_z["width"] == pytest.approx(log_z["upper"] - log_z["lower"])
    assert log_z["width_per_atom"] == pytest.approx(log_z["width"] / 110)
    (row,) = found["rows"]
    assert [own["value"] for own in row["values"]] == ["false", "true"]
    assert all(own["least"] <= 0.5 <= own["most"] for own in row["values"])


@pytest.mark.slow
def test_the_estimate_stands_beside_the_interval() -> None:
    arguments = ("query", TRANSITIVE, "-n", "person=40", "--effort", "quick", "--bounds")
    result = run(*arguments)
    assert result.stdout.startswith("REFUSED: log Z is")
    assert "proven: 83323." in result.stdout
    found = as_json(*arguments)
    assert found["log_z"] < found["bounds"]["lower"]
    assert found["verdict"]["log_z_ceiling"] == found["bounds"]["upper"]


def test_without_bounds_there_are_none() -> None:
    assert "bounds" not in as_json("query", SMOKERS, "-n", "person=4", "--effort", "quick")


def test_no_lower_bound(tmp_path: Path) -> None:
    """Two things must differ, which no product does that has one probability for both."""
    model = tmp_path / "differ.mln"
    model.write_text("p(thing)\n!(p(x) <=> p(y)) | x != y.\n")
    quick = run("bounds", str(model), "-n", "thing=2", "--effort", "quick")
    assert "no lower bound was found" in quick.stdout
    # Over two blocks they may differ.
    normal = as_json("bounds", str(model), "-n", "thing=2")
    assert normal["log_z"]["lower"] == pytest.approx(math.log(2))
    assert normal["log_z"]["upper"] == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bounds", "net.uai"), "bounds are about models over classes of objects"),
        (("bounds", SMOKERS), "person"),
        (("bounds", SMOKERS, "-n", "person=4", "-q", "smokes(x) ^ smokes(y)"), "single atoms"),
        (("bounds", SMOKERS, "-n", "person=4", "--regions", "circles"), "circles"),
        (
            ("query", SMOKERS, "-n", "person=4", "--via", "ground", "--bounds"),
            "bounds are about classes of objects; use via lifted",
        ),
    ],
)
def test_bad_input(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    text = result.output + str(result.exception)
    assert result.exit_code != 0
    assert words in text
