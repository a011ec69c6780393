"""Every notebook in `examples/` runs, what its text claims holds, and it ends with a picture.

Claims with numbers are `assert` statements in the notebooks, so that running them is the test.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebook_runs import NOTEBOOKS, ROOT, drawn_by, picture_of, run_notebook

each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(notebook: Path, kind: str) -> list[Any]:
    cells = nbformat.read(notebook, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == kind]


def words_in(picture: Path) -> set[str]:
    """The texts of a picture, without those of axes, which depend on the version of Matplotlib."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))
    return {text for text in texts if re.search(r"[a-z]{2}", text)}


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.slow
@each
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    document = run_notebook(notebook, tmp_path)
    outputs = [output for cell in document.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    figures = [
        own.data for own in outputs if "Figure size" in own.get("data", {}).get("text/plain", "")
    ]
    assert figures
    assert all("image/png" in own for own in figures)
    # The picture of the documentation is that of the notebook.
    words = words_in(tmp_path / drawn_by(notebook))
    assert words
    assert words_in(picture_of(notebook)) == words


@each
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    assert not any(cell.outputs for cell in cells_of(notebook, "code"))
    assert all(cell.execution_count is None for cell in cells_of(notebook, "code"))
    # As Jupyter writes it, so that saving it there changes nothing else.
    text = notebook.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@each
def test_a_notebook_says_what_it_needs_and_asserts_what_it_says(notebook: Path) -> None:
    assert any("assert " in cell.source for cell in cells_of(notebook, "code"))
    assert "pip install '.[notebooks]'" in cells_of(notebook, "markdown")[0].source


def test_what_notebooks_import_is_installed_for_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["notebooks"], *extras["data"], *extras["plot"]]
    installed = {"liftgbp", *(re.match(r"[\w-]+", one)[0] for one in wanted)}
    assert "liftgbp[data,plot]" in extras["notebooks"]
    for notebook in NOTEBOOKS:
        code = "\n".join(cell.source for cell in cells_of(notebook, "code"))
        imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))
        assert imported - sys.stdlib_module_names <= installed, notebook.name


def test_the_page_of_examples_shows_every_notebook() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for notebook in NOTEBOOKS:
        assert f"](../examples/{notebook.name})" in page
        assert f"](img/{picture_of(notebook).name})" in page
