"""What users wrote is shown as it is written: it is no markup, and nothing that terminals obey."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import liftgbp
from command_shell import Shell

MARKUP = [":smile:", "root:x:0", "[bold]b[/bold]", "[link=file:///]", "[/]", "{0}", "%s", "$x^$"]
OBEYED = {
    "\x1b[31mred\x1b[0m": r"\x1b[31mred\x1b[0m",
    "bell\x07": r"bell\x07",
    "tab\there": r"tab\there",
    "back\x08\x08\x08": r"back\x08\x08\x08",
    "\u202eright to left": r"\u202eright to left",
    "one\u00a0space": r"one\xa0space",
    "\x9b31m": r"\x9b31m",
}
UNCHANGED = ["Zoë", "ابراهیم", "می\u200cخواهم", "東京", "👩\u200d🚀", "√2"]
COMMANDS = {
    "query": ["--effort", "quick"],
    "bounds": [],
    "sample": ["--sweeps", "64"],
    "graph": [],
    "check": ["--seconds", "0.1", "--effort", "quick"],
}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def written(folder: Path, names: list[str]) -> str:
    path = folder / "names.mln"
    rules = "".join(f'0.{k + 1} p("{name}")\n' for k, name in enumerate(names))
    path.write_text(f"p(thing)\n{rules}", encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_names_on_the_screen(shell: Shell, tmp_path: Path, command: str) -> None:
    names = {**{name: name for name in (*MARKUP, *UNCHANGED)}, **OBEYED}
    model = written(tmp_path, list(names))
    queries = [word for name in names for word in ("-q", f'p("{name}")')]
    options = queries if command == "bounds" else COMMANDS[command]
    code, out, err = shell(command, model, "-n", "thing=22", *options)
    assert code in (0, 6), err
    for shown in names.values():
        assert shown in out
    assert all(c.isprintable() or c in "\n\u200c\u200d" for c in out)


def test_names_in_json_and_csv_are_exact(shell: Shell, tmp_path: Path) -> None:
    names = [*MARKUP, *OBEYED, *UNCHANGED]
    model = written(tmp_path, names[:9])
    _, out, _ = shell("query", model, "-n", "thing=10", "--effort", "quick", "--json")
    atoms = {row["atom"] for row in json.loads(out)["answers"]}
    _, out, _ = shell("query", model, "-n", "thing=10", "--effort", "quick", "-o", "-")
    rows = {row["atom"] for row in csv.DictReader(out.splitlines())}
    for name in names[:9]:
        assert f'p("{name}")' in atoms
        assert f'p("{name}")' in rows


@pytest.mark.parametrize("name", ["\x1b[31mred", "bell\x07", "\u202eevil"])
def test_names_in_messages(shell: Shell, tmp_path: Path, name: str) -> None:
    shown = name.encode("unicode_escape").decode()
    model = written(tmp_path, ["a"])
    strange = tmp_path / f"{name}.mln"
    strange.write_text(f'p(thing)\n1 p("{name}" ^\n', encoding="utf-8")
    for arguments in (
        ["query", f"{name}.mln"],
        ["query", str(strange)],
        ["query", model, "-n", f"{name}=3"],
        ["query", model, "-n", name],
        ["query", model, "-n", "thing=2", "-q", f'p("{name}")'],
        ["query", model, "-n", "thing=2", "-e", f"{name}.db"],
        ["query", model, "-n", "thing=2", f"--{name}"],
        ["query", model, "-n", "thing=2", "--effort", name],
        [name],
    ):
        code, _, err = shell(*arguments)
        assert code == 2
        assert shown in err
        assert all(c.isprintable() or c in "\n\t" for c in err), err
    code, _, err = shell("sweep", model, "-n", "thing=2", "-o", str(tmp_path / f"{name}.csv"))
    assert (code, shown in err, name in err) == (0, True, False)


def test_lines_instead_of_tables(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a narrow terminal, tables become lines."""
    monkeypatch.setattr("liftgbp.cli.terminal.PIPE_WIDTH", 40)
    model = written(tmp_path, [":smile:", "\x1b]0;title\x07", "[red]r"])
    _, out, _ = shell("query", model, "-n", "thing=4")
    assert "┃" not in out
    for shown in (":smile:", r"\x1b]0;title\x07", "[red]r"):
        assert shown in out
    assert "\x1b" not in out


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_names_in_pictures(shell: Shell, tmp_path: Path, ending: str) -> None:
    names = ["$x^$", "a$b_c$d", "\x1b[31m", "<b>&amp;", "--", "\\frac{", "東京", "_x"]
    model, path = written(tmp_path, names), tmp_path / f"sweep{ending}"
    queries = [word for name in names for word in ("-q", f'p("{name}")')]
    code, _, err = shell("sweep", model, "-n", "thing=9..12", "--effort", "quick", "--points", "3",
                         *queries, "-o", str(path))  # fmt: skip
    assert (code, err.count("\n")) == (6, 1), err
    if ending == ".svg":
        ElementTree.parse(path)


def test_every_line_has_its_name_in_the_legend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.axes import Axes

    legends = []
    real = Axes.legend

    def noted(axes: Axes, *arguments: object, **options: object) -> object:
        legends.append(real(axes, *arguments, **options))  # type: ignore[arg-type]
        return legends[-1]

    monkeypatch.setattr(Axes, "legend", noted)
    model = liftgbp.parse("_p(thing)\nq(thing)\n1 _p(x) ^ q(x)")
    liftgbp.sweep_to_file(model, tmp_path / "s.png", {"thing": [2, 3]}, effort="quick")
    texts = [text.get_text().strip() for text in legends[0].get_texts()]
    assert texts == ["_p(x)", "q(x)"]
    assert not any(text.get_parse_math() for text in legends[0].get_texts())
