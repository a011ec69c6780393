"""Pictures on the command line: files, and what is refused before any work."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS

CHAIN = str(MODELS / "chain.mln")

STARTS = {
    "svg": b"<svg ",
    "png": b"\x89PNG",
    "pdf": b"%PDF",
    "dot": b"digraph ",
    "json": b"{",
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture(autouse=True)
def _in_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extension", STARTS)
def test_graphs_are_written(extension: str) -> None:
    file = Path(f"graph.{extension}")
    result = run("graph", CHAIN, "-n", "person=10", "-o", str(file))
    assert result.exit_code == 0, result.output
    assert "4 canonical regions for 8,370 ground regions" in result.stdout
    assert file.read_bytes().startswith(STARTS[extension])


def test_a_file_has_what_json_prints() -> None:
    result = run("graph", CHAIN, "-n", "person=10", "-o", "graph.json", "--json")
    assert json.loads(Path("graph.json").read_text("utf-8")) == json.loads(result.stdout)


def test_the_panels_of_the_paper() -> None:
    result = run("graph", CHAIN, "-n", "person=10", "--local", "0", "-o", "local.svg")
    assert result.exit_code == 0, result.output
    shown = "".join(ElementTree.parse("local.svg").getroot().itertext())
    assert "Local graph of region 0" in shown


def test_svg_of_graphs_needs_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert run("graph", CHAIN, "-n", "person=10", "-o", "graph.svg").exit_code == 0
    result = run("graph", CHAIN, "-n", "person=10", "-o", "graph.png")
    assert "pip install 'liftgbp[plot]'" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-o graph.csv", "the extension must be one of .dot, .json, .pdf, .png, .svg"),
        ("-o -", "the extension must be one of .dot, .json, .pdf, .png, .svg"),
        ("-o no/graph.svg", "there is no directory no"),
        ("--local 0", "--local is about a picture; add -o local.svg"),
        ("--local 0 -o graph.dot", "--local is about a picture"),
        ("--local 9 -o graph.svg", "there is no region 9"),
        ("--local -1 -o graph.svg", "-1 is not in the range"),
    ],
)
def test_what_is_refused(arguments: str, message: str) -> None:
    result = run("graph", CHAIN, "-n", "person=10", *arguments.split())
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert not list(Path().iterdir())


# --- answers, checks and sweeps

SMOKERS = str(MODELS / "friends-smokers.mln")


@pytest.mark.parametrize("extension", ["svg", "png", "pdf"])
def test_answers_are_drawn(extension: str) -> None:
    starts = {**STARTS, "svg": b"<?xml"}
    file = Path(f"answer.{extension}")
    result = run("query", SMOKERS, "-n", "person=20", "-q", "smokes(x)", "-o", str(file))
    assert result.exit_code == 0, result.output
    assert file.read_bytes().startswith(starts[extension])


def test_a_picture_has_the_rows_that_are_selected() -> None:
    run("query", SMOKERS, "-n", "person=20", "-q", "friends(x,y)", "--top", "1", "-o", "a.svg")
    shown = "".join(ElementTree.parse("a.svg").getroot().itertext())
    assert "friends(x,x)" in shown
    assert "friends(x,y)" not in shown


def test_checks_are_drawn() -> None:
    result = run("check", SMOKERS, "-n", "person=5", "--effort", "quick", "--plot", "check.svg")
    assert result.exit_code == 0, result.output
    shown = "".join(ElementTree.parse("check.svg").getroot().itertext())
    assert "the exact answer" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("check", SMOKERS, "-n", "person=3", "--plot", "c.csv"),
            "must be one of .pdf, .png, .svg",
        ),
        (("check", SMOKERS, "-n", "person=3", "--messages", "--plot", "c.svg"), "does not apply"),
        (("query", SMOKERS, "-n", "person=3", "-o", "a.gif"), "must be one of .csv, .json"),
        (("sweep", SMOKERS, "-n", "person=3", "-o", "no/s.pdf"), "there is no directory no"),
    ],
)
def test_pictures_that_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert not list(Path().iterdir())


def test_a_picture_of_no_rows() -> None:
    result = run(
        "query", SMOKERS, "-n", "person=9", "-q", "smokes(x)", "--min", "0.99", "-o", "a.svg"
    )
    assert result.exit_code == 0, result.output
    assert "smokes(x)" not in "".join(ElementTree.parse("a.svg").getroot().itertext())
