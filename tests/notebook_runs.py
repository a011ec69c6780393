"""Run the notebooks of `examples/`.

`python tests/notebook_runs.py` draws the pictures of docs/examples.md.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SETTINGS = "svg.fonttype: none\nsvg.hashsalt: liftgbp\n"
"""Texts that stay texts make small pictures; with a fixed salt, they are repeatable."""


def run_notebook(notebook: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in a folder, where its files go.

    Jupyter writes connection files and histories, which are not left at home.
    """
    document = nbformat.read(notebook, as_version=4)
    (folder / "matplotlibrc").write_text(SETTINGS, encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        names = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
        changes = {
            **{name: f"{scratch}/{name.lower()}" for name in names},
            "PYTHONPATH": str(ROOT / "src"),
            "SOURCE_DATE_EPOCH": "0",
        }
        with patch.dict(os.environ, changes):
            place = {"metadata": {"path": str(folder)}}
            NotebookClient(document, timeout=300, kernel_name="python3", resources=place).execute()
    return document


def picture_of(notebook: Path) -> Path:
    """Where the documentation has the picture of a notebook."""
    return ROOT / "docs" / "img" / f"notebook-{drawn_by(notebook)}"


def drawn_by(notebook: Path) -> str:
    """The name of the picture that a notebook writes."""
    return f"{notebook.stem.partition('-')[2]}.svg"


def draw_all() -> None:
    """Run all notebooks, and keep their pictures."""
    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            run_notebook(notebook, Path(folder))
            shutil.copy(Path(folder) / drawn_by(notebook), picture_of(notebook))
        sys.stdout.write(f"{picture_of(notebook).relative_to(ROOT)}\n")


if __name__ == "__main__":
    draw_all()
