"""A short hunt with fixed seeds; `make fuzz` runs a long one."""

from __future__ import annotations

import sys
from pathlib import Path

from processes import run

HERE = Path(__file__).parent
CASES = 50
"""Runs of each kind: half a minute in all."""


def test_hostile_inputs_are_refused_in_words() -> None:
    hunt = run([sys.executable, str(HERE / "hunting.py"), "--cases", str(CASES)])
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr
    assert f"{5 * CASES} runs" in hunt.stdout
