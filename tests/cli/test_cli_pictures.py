"""Pictures on the command line: files, and what is refused before any work."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from liftgbp.cli.commands import cli
from liftgbp.example_models import FOLDER as MODELS

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
