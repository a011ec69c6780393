"""The models that come with liftgbp are found by name, from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import igraph
import pytest

import liftgbp
from liftgbp.model.example_models import FOLDER, FOLDERS


@pytest.mark.parametrize("name", sorted(liftgbp.examples()))
def test_every_example_loads_and_says_what_it_is_about(name: str) -> None:
    (path,) = (own for folder in FOLDERS if (own := folder / f"{name}.mln").exists())
    assert liftgbp.load(f"example:{name}") == liftgbp.load(path)
    about = liftgbp.examples()[name]
    assert about[-1] in ".?"
    assert "//" not in about


def test_facts_may_be_examples() -> None:
    model = liftgbp.load("example:smoking-network")
    evidence = liftgbp.load_evidence(model, "example:smoking-network.db")
    from_file = liftgbp.load_evidence(model, FOLDER / "smoking-network.db")
    assert evidence.names["person"] == from_file.names["person"]
    assert len(evidence.names["person"]) > 3


def test_the_karate_club_is_the_one_that_igraph_has() -> None:
    model = liftgbp.load("example:karate")
    evidence = liftgbp.load_evidence(model, "example:karate.db")
    names = evidence.names["person"]
    ties = {frozenset(int(names[k]) for k in row) for row in evidence.hard["ties"].args.tolist()}
    published = igraph.Graph.Famous("Zachary").get_edgelist()
    assert ties == {frozenset((a + 1, b + 1)) for a, b in published}
    assert len(evidence.hard["ties"].args) == len(ties) == 78
    assert len(names) == 34


def test_a_misspelt_name_gets_advice() -> None:
    with pytest.raises(liftgbp.ModelError, match="did you mean friends-smokers"):
        liftgbp.load("example:friend-smokers")
    with pytest.raises(liftgbp.ModelError, match="there are celebrity, chain"):
        liftgbp.load("example:")
    model = liftgbp.load("example:smoking-network")
    with pytest.raises(liftgbp.EvidenceError, match=r"did you mean smoking-network\.db"):
        liftgbp.load_evidence(model, "example:smoking-netwrk.db")


@pytest.mark.parametrize("name", ["example:../errors.py", "example:/etc/passwd", "example:town/.."])
def test_only_examples_are_examples(name: str) -> None:
    with pytest.raises(liftgbp.ModelError, match="no example is called"):
        liftgbp.load(name, untrusted=True)


@pytest.mark.slow
def test_the_command_line_takes_examples_in_any_folder(tmp_path: Path) -> None:
    command = ["query", "example:friends-smokers", "-n", "person=4", "-q", "smokes(x)", "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "liftgbp", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(liftgbp.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"trusted": true' in ran.stdout
    assert not list(tmp_path.iterdir())
