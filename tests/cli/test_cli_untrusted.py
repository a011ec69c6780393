"""Strangers' models on the command line: every command that reads a model takes --untrusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_shell import Shell

OPTIONS = {
    "query": [],
    "bounds": [],
    "sample": ["--sweeps", "64"],
    "graph": [],
    "sweep": [],
    "check": ["--seconds", "0.1"],
    "export": ["-o", "NET"],
}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("command", OPTIONS)
def test_every_command(shell: Shell, tmp_path: Path, command: str) -> None:
    options = [str(tmp_path / "net.uai") if one == "NET" else one for one in OPTIONS[command]]
    (tmp_path / "secret").write_text("hunter2:x:0")
    folder = tmp_path / "models"
    folder.mkdir()
    texts = {
        "plain": "p(thing)\n1 p(x)\n",
        "near": '#include "plain.mln"\n',
        "far": '#include "../secret"\n',
    }
    paths = {name: folder / f"{name}.mln" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)

    def run(name: str, *more: str) -> tuple[int, str]:
        code, _, err = shell(command, str(paths[name]), "-n", "thing=2", *options, *more)
        return code, err

    assert run("plain", "--untrusted")[0] == 0
    assert run("near")[0] == 0
    code, err = run("near", "--untrusted")
    assert (code, "an untrusted model cannot include files" in err) == (2, True)
    code, err = run("far")
    assert (code, "is not in the folder of the model" in err, "hunter2" in err) == (2, True, False)
    # The file is read where this is asked for; it holds no model.
    code, err = run("far", "--include-anywhere")
    assert (code, "hunter2" in err) == (2, True)
    code, err = run("far", "--include-anywhere", "--untrusted")
    assert (code, "drop --include-anywhere" in err) == (2, True)


def test_standard_input(shell: Shell) -> None:
    model = "p(thing)\n1 p(x)\n"
    for text, code in ((model, 0), (model + '#include "x"', 2), (model + "//" * 2**20, 2)):
        assert shell("query", "-", "-n", "thing=2", "--untrusted", stdin=text)[0] == code


@pytest.mark.slow
def test_evidence_of_strangers(shell: Shell, tmp_path: Path) -> None:
    model, facts = tmp_path / "m.mln", tmp_path / "facts.db"
    model.write_text("p(thing)\n1 p(x)\n")
    facts.write_text("p(A)\n//" + "." * 2**24)
    command = ("query", str(model), "-n", "thing=2", "-e", str(facts))
    assert shell(*command)[0] == 0
    code, _, err = shell(*command, "--untrusted")
    assert (code, "more than 16 MB" in err) == (2, True)


def test_networks_of_strangers(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "net.uai"
    path.write_text("MARKOV 1 2 1 1 0 2 1 3" + " " * 2**24)
    assert shell("query", str(path))[0] == 0
    for command in ("query", "sample", "check"):
        code, _, err = shell(command, str(path), "--untrusted")
        assert (code, "more than 16 MB" in err) == (2, True)
    code, _, err = shell("query", str(path), "--include-anywhere")
    assert (code, "drop --include-anywhere" in err) == (2, True)


@pytest.mark.slow
def test_names_of_evidence_are_literal(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mln").write_text("p(thing)\n1 p(x)\n")
    for name, thing in (("a[1]", "Asked"), ("a1", "Other"), ("b*", "Asked"), ("b2", "Other")):
        Path(f"{name}.csv").write_text(f"thing\n{thing}\n")
    for name, found in (("a[1]", {"Asked"}), ("b*", {"Asked"}), ("glob:b*", {"Asked", "Other"})):
        code, out, _ = shell("query", "m.mln", "-e", f"p={name}.csv", "--all", "all.csv", "-n",
                             "thing=4", "--observed")  # fmt: skip
        assert code == 0, out
        atoms = Path("all.csv").read_text()
        assert {one for one in ("Asked", "Other") if one in atoms} == found
