"""A short hunt with fixed seeds; `make fuzz` runs a long one."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import hunting
import pytest

from processes import run

pytestmark = pytest.mark.fuzz

HERE = Path(__file__).parent
CASES = 50
"""Runs of each kind: half a minute in all."""


def test_hostile_inputs_are_refused_in_words() -> None:
    hunt = run([sys.executable, str(HERE / "hunting.py"), "--cases", str(CASES)])
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr
    assert f"{5 * CASES} runs" in hunt.stdout


def test_a_hunt_ends_if_its_worker_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without memory kills; the hunt must not wait for what never comes."""

    def killed(kind: str, seed: int) -> tuple[str, str]:
        os.kill(os.getpid(), signal.SIGKILL)
        return "", ""

    monkeypatch.setattr(hunting, "outcome", killed)
    with pytest.raises(BrokenProcessPool):
        hunting.hunt(1, iter([("command", seed) for seed in range(9)]))
