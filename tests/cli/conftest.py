"""What tests of the command line share."""

from __future__ import annotations

import pytest

from command_shell import Shell


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)
