"""Tables can be read at every width: whole words, nothing cut off, no line too long."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from liftgbp.cli import terminal
from liftgbp.cli.commands import cli
from liftgbp.cli.terminal import Column, Sheet
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")
JOINT = "friends(x,y) ^ smokes(x)"
CONDITIONAL = "smokes(y) | friends(x,y), smokes(x)"
COMMANDS = {
    "joint": ("query", SMOKERS, "-n", "person=10", "-q", JOINT),
    "conditional": ("query", SMOKERS, "-n", "person=9", "-q", CONDITIONAL),
    "minima": ("query", SMOKERS, "-n", "person=10", "--minima", "-v", "--effort", "quick"),
    "growth": ("query", SMOKERS, "-n", "person=10", "--regions", "auto"),
    "evidence": (
        *("query", str(MODELS / "smoking-network.mln")),
        *("-e", str(MODELS / "smoking-network.db"), "-n", "person=100", "--effort", "quick"),
    ),
    "graph": ("graph", SMOKERS, "-n", "person=10"),
    "check": ("check", SMOKERS, "-n", "person=3"),
}


def output_at(width: int, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setattr(terminal, "PIPE_WIDTH", width)
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.exception is None
    return result.output


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_every_width(
    width: int, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = output_at(width, monkeypatch, *arguments)
    assert "…" not in out
    # Sentences are wrapped by terminals only.
    assert max(len(line) for line in out.splitlines() if line.startswith((" ", *"┃│└"))) <= width
    # All numbers of the wide output are there, and in the same order.
    numbers = re.compile(r"\d\.\d{6}\b(?!e)")
    assert numbers.findall(out) == numbers.findall(output_at(400, monkeypatch, *arguments))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_atoms_stay_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = output_at(width, monkeypatch, *COMMANDS["joint"])
    assert "friends(x,x) ^ smokes(x)" in out
    assert "x != y" in out


def test_a_table_that_does_not_fit_becomes_lines() -> None:
    sheet = Sheet("title", [Column("atom", prose=True), Column("P(true)", right=True)])
    sheet.add("smokes(x)", "0.500000")
    assert sheet.fits(25)
    assert not sheet.fits(22)
    assert list(sheet.lines(22)) == ["  smokes(x)", "    P(true)  0.500000"]


def test_what_users_write_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (40, 200):
        monkeypatch.setattr(terminal, "PIPE_WIDTH", width)
        text = 'a = {"[bold]x[/bold]", ":cat:"}\np(a)\n1 p("[bold]x[/bold]") ^ p(":cat:")'
        result = CliRunner().invoke(cli, ["query", "-"], input=text, standalone_mode=False)
        assert '"[bold]x[/bold]"' in result.output
        assert '":cat:"' in result.output


@pytest.mark.slow
def test_a_real_terminal() -> None:
    """A pseudo-terminal of 60 columns gets lines that fit."""
    command = [sys.executable, "-m", "liftgbp", *COMMANDS["joint"]]
    keyboard, screen = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=screen, env=environment) as process:
        os.close(screen)
        try:
            shown = bytearray()
            # Reading fails with an input/output error when the other side is closed.
            while chunk := _read(keyboard):
                shown += chunk
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
            os.close(keyboard)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 60
    assert "  friends(x,x) ^ smokes(x)" in plain


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 4096)
    except OSError:
        return b""
