"""A real browser without a screen, if there is one: Debian's chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import processes

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def rendered(page: str, folder: Path, width: int = 1000) -> str:
    """The page after the browser has drawn it and run its scripts, as HTML."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser is installed; make browser installs Debian's chromium")
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    profile = f"--user-data-dir={folder / 'profile'}"
    size = f"--window-size={width},4000"
    done = processes.run([found, *options, profile, size, "--dump-dom", file.as_uri()])
    assert done.returncode == 0, done.stderr
    return str(done.stdout)
