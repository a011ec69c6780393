"""What tests share, and how property tests run: anew each time for a developer, always the same
where CI judges."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from command_shell import Shell

settings.register_profile("explore")
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "explore")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs commands of the command line in this process."""
    return Shell(monkeypatch, capsys)
