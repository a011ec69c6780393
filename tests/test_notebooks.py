"""Every notebook in `examples/` runs, what its text claims holds, and it ends with a picture.

Claims with numbers are `assert` statements in the notebooks, so that running them is the test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PICTURES = {"image/png", "image/svg+xml"}


def cells_of(notebook: Path, kind: str) -> list[Any]:
    cells = nbformat.read(notebook, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == kind]


def pictures_in(cell: Any) -> int:
    return sum(bool(PICTURES & set(output.get("data", ()))) for output in cell.outputs)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Jupyter writes connection files and histories, and Matplotlib its cache: none of it at home.
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src")]))
    folder = tmp_path / "run"
    folder.mkdir()
    document = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        document, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert sum(map(pictures_in, code)) >= 1
    drawn = list(folder.glob("*.svg"))
    assert [file.stem for file in drawn] == [notebook.stem.partition("-")[2]]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    assert not any(cell.outputs for cell in cells_of(notebook, "code"))
    assert all(cell.execution_count is None for cell in cells_of(notebook, "code"))
    # As Jupyter writes it, so that saving it there changes nothing else.
    text = notebook.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asserts_what_it_says(notebook: Path) -> None:
    assert any("assert " in cell.source for cell in cells_of(notebook, "code"))
    assert "liftgbp[notebooks]" in cells_of(notebook, "markdown")[0].source
