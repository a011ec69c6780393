"""Blocks and effort on the command line: words, tables, JSON, pictures, and bad input."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import liftgbp
from command_shell import Shell
from liftgbp.cli import terminal
from liftgbp.cli.block_view import show_blocks
from liftgbp.cli.commands import cli
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.posterior.block_table import ClassTable

TRANSITIVE = str(MODELS / "transitive.mln")
SMOKERS = str(MODELS / "friends-smokers.mln")
LAYERS = (TRANSITIVE, "-n", "person=40", "--effort", "normal")


def query(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["query", *arguments], input=text)


def output(*arguments: str, text: str | None = None) -> str:
    result = query(*arguments, text=text)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def layers() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(output(*LAYERS, "--json"))
    return result


# --- words and tables


@pytest.mark.slow
def test_the_answer_names_what_was_used(layers: dict[str, Any]) -> None:
    lines = output(*LAYERS).splitlines()
    assert lines[0].startswith(("confirmed: a sample", "unconfirmed: "))
    sizes = ", ".join(str(row["size"]) for row in layers["blocks"][0]["sizes"])
    assert lines[1] == f"used: 3 blocks of {sizes}; factor scopes"
    change = layers["effort"]["quick"]["change"]
    assert lines[2] == (
        f"against quick: r(x,y) is {change['p']:.3f} instead of {change['quick']:.3f}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [30, 40, 48, 60, 80, 100])
def test_tables_fit(width: int, layers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PIPE_WIDTH", width)
    shown = output(*LAYERS)
    assert max(len(line) for line in shown.splitlines() if line.startswith((" ", *"┃│└"))) <= width
    after = shown[shown.index("r(x,y) between blocks") :]
    rows = layers["blocks"][0]["probabilities"]
    assert re.findall(r"\b\d\.\d{3}\b", after) == [f"{row['p']:.3f}" for row in rows]


@pytest.mark.slow
def test_a_terminal_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in output(*LAYERS)


@pytest.mark.slow
def test_properties_of_blocks_are_beside_their_sizes() -> None:
    text = (
        "r(person,person)\nsmokes(person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct\n"
        "1 r(x,y) ^ smokes(x) => smokes(y) | x != y"
    )
    options = ("-n", "person=100", "--effort", "normal", "--sum-over", "none")
    shown = output("-", *options, text=text).splitlines()
    heading = next(k for k, line in enumerate(shown) if "objects" in line)
    assert shown[heading].replace(" ", "") == "┃block┃objects┃size┃smokes(x)┃"
    # If the first layer smokes, all must; so the first does not, and the last does.
    smokes = [float(line.split("│")[-2]) for line in shown[heading + 2 : heading + 5]]
    assert smokes[0] < 0.1
    assert smokes[2] > 0.9


@pytest.mark.parametrize("width", [30, 50, 80])
def test_many_values_three_objects_and_many_blocks(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = np.linspace(0, 0.5, 20)
    mood = ClassTable(
        "mood(x)", ("low", "mid", "high"), ("x",), (0,), np.stack([rest, rest, 1 - 2 * rest], -1)
    )
    far = ClassTable(
        "far(x,y,z)",
        ("false", "true"),
        ("x", "y", "z"),
        (1, 1, 1),
        np.arange(16).reshape(2, 2, 2, 2) / 16,
    )
    structure = liftgbp.BlockStructure.of(
        [("person", [3] * 20), ("place", [4, 4])], [mood, far], share=0.9, information=0, log_z=0
    )
    monkeypatch.setattr(terminal, "PIPE_WIDTH", width)
    show_blocks(terminal.Terminal(), [structure])
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if line.startswith((" ", *"┃│└"))) <= width
    assert "blocks (share 0.9)" in shown
    for value in ("low", "mid", "high"):
        assert f"mood(x) {value}" in shown
    assert "far(x,y,z), x in block 22 between blocks" in shown
    assert "... and 10 more blocks; --json shows them all" in shown
    assert "mixed with one block (share 0.1)" in shown


def test_a_sum_over_counts_is_named() -> None:
    lines = output(SMOKERS, "-n", "person=8", "--no-exact").splitlines()
    assert lines[1] == "used: sum over smokes; factor scopes"
    assert lines[2].startswith("against quick:")


def test_where_nothing_changed() -> None:
    options = ("-", "-n", "person=9", "--effort", "normal")
    assert "against quick" not in output(*options, text="s(person)\n1 s(x)")
    lines = output(*options, "--no-exact", "--blocks", "2", text="s(person)\n1 s(x)").splitlines()
    assert lines[2] == "against quick: no probability changed by more than 0.0005"
    lines = output(*options, "--regions", "intersections", text="s(person)\n1 s(x)").splitlines()
    assert lines[1] == "used: factor scopes, as with --effort quick"


def test_the_least_effort_says_nothing_of_it() -> None:
    assert "used:" not in output(TRANSITIVE, "-n", "person=9", "--effort", "quick")


@pytest.mark.slow
def test_an_answer_of_quick_that_is_refused_is_called_so() -> None:
    text = "r(p,p)\nr(x,y) ^ r(y,z) => r(x,z) | distinct."
    result = json.loads(output("-", "-n", "p=18", "--effort", "normal", "--json", text=text))
    shown = output("-", "-n", "p=18", "--effort", "normal", text=text)
    quick = result["effort"]["quick"]
    assert ("against quick (refused):" in shown) == (quick["standing"] == "refused")
    assert bool(quick["reason"]) == (quick["standing"] != "confirmed")


@pytest.mark.slow
def test_growing_regions_are_shown_when_asked_for() -> None:
    options = ("-", "-n", "person=6", "-q", "r(x,y)", "--no-exact")
    text = Path(TRANSITIVE).read_text(encoding="utf-8")
    assert "growing regions" not in output(*options, "--effort", "normal", text=text)
    assert "growing regions" in output(*options, "--effort", "normal", "-v", text=text)
    assert "growing regions" in output(
        *options, "--effort", "quick", "--regions", "auto", text=text
    )


# --- JSON


@pytest.mark.slow
def test_json(layers: dict[str, Any]) -> None:
    first = layers["blocks"][0]
    assert set(first) == {"share", "sizes", "probabilities", "information", "log_z"}
    assert sum(row["size"] for row in first["sizes"]) == 40
    answers = liftgbp.infer(liftgbp.load(TRANSITIVE), {"person": 40}, effort="normal")
    assert first == json.loads(json.dumps(answers.blocks[0].as_dict()))
    change = layers["effort"]["quick"]["change"]
    assert change["atom"] == "r(x,y)"
    assert change["assignment"] == ["true"]
    assert change["p"] == pytest.approx(answers.marginal("r(x,y)"), abs=1e-12)


# --- pictures


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("b.svg", b"<?xml"), ("b.png", b"\x89PNG")])
def test_a_picture(tmp_path: Path, name: str, start: bytes) -> None:
    output(*LAYERS, "--blocks-plot", str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_no_picture_without_blocks(tmp_path: Path) -> None:
    path = tmp_path / "blocks.svg"
    result = query(TRANSITIVE, "-n", "person=4", "--effort", "quick", "--blocks-plot", str(path))
    assert result.exit_code == 0
    assert "no blocks were found" in result.stderr
    assert not path.exists()


def test_a_picture_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    # Said before anything is computed: so many objects take longer than a test.
    result = query(TRANSITIVE, "-n", "person=40", "--blocks-plot", str(tmp_path / "b.svg"))
    assert isinstance(result.exception, liftgbp.InputError)
    assert "pip install 'liftgbp[plot]'" in str(result.exception)


# --- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--blocks 0", "'--blocks': 0: give a whole number from 1"),
        ("--blocks -1", "'--blocks': -1: give a whole number from 1"),
        ("--blocks 2.5", "'--blocks': 2.5: give a whole number from 1"),
        ("--blocks many", "'--blocks': many: give a whole number from 1"),
        (f"--blocks {'9' * 5000}", "give a whole number from 1"),
        ("--blocks person=0", "'--blocks': person=0: give a whole number from 1"),
        ("--blocks person=", "'person=' is not of the form SORT=NUMBER, such as person=3"),
        ("--blocks person=2,person=3", "person is given twice"),
        ("--blocks city=2", "--blocks city=2: the model has no sort city; it has person"),
        ("--blocks 99", "99 blocks of person are more than the 9 objects that can be split"),
        ("--blocks person=10", "10 blocks of person are more than the 9 objects"),
        ("--blocks 2 --via ground", "blocks and bounds are about classes of objects"),
        ("--blocks 2 --solver flooding", "blocks are found by descent"),
        ("--effort much", "'much' is not one of"),
        ("--blocks-plot b.csv", "the extension must be one of .pdf, .png, .svg"),
        ("--blocks-plot -", "the extension must be one of .pdf, .png, .svg"),
        ("--blocks-plot missing/b.svg", "there is no directory missing"),
    ],
)
def test_bad_input(options: str, message: str, shell: Shell) -> None:
    code, out, err = shell("query", TRANSITIVE, "-n", "person=9", *options.split())
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert "via=" not in err
    assert "solver=" not in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--blocks city=2", "--blocks city=2: the model has no sort city; it has person"),
        ("--blocks 2 --solver flooding", "blocks are found by descent"),
        ("--blocks 12", "12 blocks of person are more than the 9 objects that can be split"),
    ],
)
def test_bad_input_to_sweeps(options: str, message: str, shell: Shell) -> None:
    code, out, err = shell("sweep", TRANSITIVE, "-n", "person=9,10", *options.split())
    assert code == 2
    assert out == ""
    assert message in err


@pytest.mark.parametrize("options", [("--blocks", "2"), ("--blocks", "1"), ("--blocks", "auto")])
def test_networks_have_no_blocks(options: tuple[str, str], tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "one.uai"
    path.write_text("MARKOV\n1\n2\n1\n1 0\n2\n1 2\n", encoding="utf-8")
    code, _, err = shell("query", str(path), *options)
    assert code == 2
    assert "--blocks, --bounds and --sum-over do not apply" in err


@pytest.mark.slow
def test_one_block_is_allowed_everywhere() -> None:
    """As in the paper: flooding has one block, and so has the ground."""
    for options in (("--solver", "flooding"), ("--via", "ground")):
        result = query(TRANSITIVE, "-n", "person=4", "--blocks", "1", *options)
        assert result.exit_code in (0, 1)
        assert "block" not in result.stdout
