"""The models that come with liftgbp are found by name, from any folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from math import exp
from pathlib import Path

import igraph
import pytest

import liftgbp
from liftgbp.model.example_models import FOLDER, FOLDERS

DOCS = Path(__file__).parent.parent / "docs"


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


def test_the_best_world_of_the_records_is_that_of_all_groupings() -> None:
    """And the how-to about them says what all groupings together say."""
    model = liftgbp.load("example:records")
    evidence = liftgbp.load_evidence(model, "example:records.db")
    email, alike = {"R1R2"}, {"R1R2", "R2R3", "R2R4", "R3R4", "R5R6", "R6R7"}
    differ = {"R1R3", "R1R4", "R5R7"}
    scores = {}
    for grouping in groupings([f"R{k}" for k in range(1, 8)]):
        joined = frozenset("".join(pair) for group in grouping for pair in combinations(group, 2))
        tenths = 30 * len(joined & email) + 10 * len(joined & alike) - 20 * len(joined & differ)
        scores[joined] = (tenths - 4 * len(joined)) / 10
    assert len(scores) == 877
    most = max(scores.values())
    best = [joined for joined, score in scores.items() if score == most]
    world = liftgbp.best_world(model, evidence=evidence)
    assert world.proven
    assert world.score == most
    names = world.true("same(x,y) | x != y")
    assert {
        re.sub(r"same\((..),(..)\)", r"\1\2", name) for name in names if name[6] < name[9]
    } in best
    undecided = frozenset.union(*best) - frozenset.intersection(*best)
    assert {name[5:7] + name[8:10] for name in world.undecided if name[6] < name[9]} == undecided
    total = sum(map(exp, scores.values()))
    page = (DOCS / "howto-same-records.md").read_text(encoding="utf-8")
    for pair in ("R3R4", "R5R6"):
        p = sum(exp(score) for joined, score in scores.items() if pair in joined) / total
        assert f"{p:.2f}" in page
    # Only one pair is more probable than not.
    likely = [
        pair
        for pair in map("".join, combinations([f"R{k}" for k in range(1, 8)], 2))
        if sum(exp(score) for joined, score in scores.items() if pair in joined) > total / 2
    ]
    assert likely == ["R1R2"]


def groupings(names: list[str]) -> Iterator[list[list[str]]]:
    """All ways to divide names into groups."""
    if not names:
        yield []
        return
    *rest, last = names
    for grouping in groupings(rest):
        yield [*grouping, [last]]
        for k in range(len(grouping)):
            yield [*grouping[:k], [*grouping[k], last], *grouping[k + 1 :]]


def test_models_whose_best_world_is_known_say_why() -> None:
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    files = {path.stem: path.read_text(encoding="utf-8") for path in FOLDERS[1].glob("*.mln")}
    assert sorted(listed) == sorted(files)
    for name, text in files.items():
        assert "// Most probable world: " in text, name


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
