"""The command line in this process: exit code, standard output and standard error."""

from __future__ import annotations

import io

import pytest

from liftgbp.cli import main


class Shell:
    """Runs the command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch = monkeypatch
        self._capture = capsys

    def __call__(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        self._patch.setattr("sys.argv", ["liftgbp", *arguments])
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = self._capture.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err
