"""Region graphs as drawings, for Graphviz and for NetworkX."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from gallery import SMOKERS

import liftgbp
import processes
from liftgbp.lift.regions import RegionGraph
from liftgbp.pictures.cards import count_text
from liftgbp.report.graph_drawing import MOST_DRAWN, local_edges

SVG = "{http://www.w3.org/2000/svg}"

MODELS = [
    ("chain", "intersections", "lifted"),
    ("chain", "objects:4", "lifted"),
    ("transitive", "subsets", "lifted"),
    ("friends-knows", "objects:3", "lifted"),
    ("friends-smokers", "intersections", "ground"),
    ("town", "bethe", "lifted"),
]


def prepared(name: str, regions: str = "intersections", via: str = "lifted") -> liftgbp.Prepared:
    model = liftgbp.load(f"example:{name}")
    sizes = dict.fromkeys(model.sorts, 5)
    return liftgbp.prepare(model, sizes, regions=regions, via=via)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "regions", "via"), MODELS)
def test_local_edges_are_those_that_messages_use(name: str, regions: str, via: str) -> None:
    """localPar counts, for each region inside, the parents through each lifted edge."""
    graph = prepared(name, regions, via).graph
    for number, region in enumerate(graph.regions):
        found: Counter[tuple[int, int]] = Counter(
            (child, edge) for _, child, edge in local_edges(graph, number)
        )
        counted = {
            (child, edge): count
            for child, member in enumerate(region.members, start=1)
            for edge, count in member.local_parents.items()
        }
        assert found == counted


def test_the_local_graph_of_the_paper() -> None:
    """Figure 1: in r(1,2) r(2,3) r(3,4), pairs of atoms are parents of single ones."""
    graph = prepared("chain", "subsets").graph
    edges = local_edges(graph, 0)
    assert len(edges) == 3 + 6
    assert sum(parent == 0 for parent, _, _ in edges) == 3


def texts_of(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(own.itertext()) for own in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(("name", "regions", "via"), MODELS)
def test_drawings_tell_counts(name: str, regions: str, via: str, tmp_path: Path) -> None:
    found = prepared(name, regions, via)
    graph = found.graph
    file = tmp_path / "graph.svg"
    found.write_graph(file)
    texts = texts_of(file.read_text(encoding="utf-8"))
    for number, (n, c) in enumerate(zip(graph.n, graph.counting_numbers, strict=True)):
        assert f"{number}: n = {count_text(n)}, c = {c}" in texts
    kappas = Counter(text.split(" = ")[1] for text in texts if text.startswith("κ"))
    assert kappas == Counter(map(count_text, graph.kappa))


def test_a_file_brings_its_own_colours(tmp_path: Path) -> None:
    file = tmp_path / "graph.svg"
    prepared("chain").write_graph(file)
    text = file.read_text(encoding="utf-8")
    assert "prefers-color-scheme" in text
    assert "prefers-color-scheme" not in prepared("chain").graph._repr_html_()


def test_large_graphs_are_tables_in_notebooks() -> None:
    graph = prepared("friends-knows", "clusters:3").graph
    assert len(graph.regions) > 30
    card = graph._repr_html_()
    assert "<table>" in card and "<svg" not in card


def test_three_panels(tmp_path: Path) -> None:
    file = tmp_path / "local.svg"
    prepared("chain").write_graph(file, local=0)
    texts = texts_of(file.read_text(encoding="utf-8"))
    assert {"Lifted region graph", "Cluster signatures", "Local graph of region 0"} <= set(texts)


@pytest.mark.slow
@pytest.mark.parametrize("extension", ["png", "pdf"])
def test_pictures_of_pixels_and_of_print(extension: str, tmp_path: Path) -> None:
    first = {"png": b"\x89PNG", "pdf": b"%PDF"}[extension]
    file = tmp_path / f"graph.{extension}"
    prepared("town").write_graph(file)
    assert file.read_bytes().startswith(first)


def test_a_figure_has_the_texts_of_the_drawing() -> None:
    graph = prepared("chain").graph
    shown = {own.get_text() for own in graph.plot().axes[0].texts}
    assert "r(1,2) r(2,3) r(3,4)" in shown
    assert "Cluster signatures" in {own.get_text() for own in graph.plot(local=1).axes[0].texts}


def hostile() -> liftgbp.Prepared:
    return liftgbp.prepare(liftgbp.parse(SMOKERS), {"person": 9}, via="ground")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("found", [prepared("transitive"), hostile()], ids=["plain", "hostile"])
def test_graphviz_reads_what_is_written_for_it(found: liftgbp.Prepared, tmp_path: Path) -> None:
    file = tmp_path / "graph.dot"
    found.write_graph(file)
    done = processes.run(["dot", "-Tplain", str(file)])
    assert done.returncode == 0, done.stderr
    # Labels have lines; what follows the first one does not start with these words.
    kinds = Counter(line.split(" ")[0] for line in done.stdout.splitlines())
    assert kinds["node"] == len(found.graph.regions)
    assert kinds["edge"] == len(found.graph.edges)


@pytest.mark.parametrize("graph", [prepared("chain").graph, prepared("town", via="ground").graph])
def test_networkx_has_every_count(graph: RegionGraph) -> None:
    networkx = pytest.importorskip("networkx")
    found = graph.to_networkx()
    assert networkx.is_directed_acyclic_graph(found)
    assert [found.nodes[k]["n"] for k in sorted(found)] == list(graph.n)
    assert [found.nodes[k]["c"] for k in sorted(found)] == list(graph.counting_numbers)
    kappa = {key: data["kappa"] for _, _, key, data in found.edges(keys=True, data=True)}
    assert [kappa[k] for k in range(len(kappa))] == list(graph.kappa)


def test_files_for_programs(tmp_path: Path) -> None:
    found = prepared("chain")
    found.write_graph(tmp_path / "graph.json")
    read = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert read == json.loads(json.dumps(found.graph_as_dict()))


@pytest.mark.parametrize(
    ("name", "local", "message"),
    [
        ("graph.gif", None, "the extension must be one of .dot, .pdf, .png, .svg"),
        ("graph.svg", 99, "there is no region 99; .* numbers from 0 to 3"),
        ("graph.svg", -1, "local must be a whole number of at least 0"),
        ("graph.dot", 0, "a .dot file holds the whole graph"),
        ("no/graph.svg", None, "there is no directory"),
    ],
)
def test_what_cannot_be_drawn(name: str, local: int | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(liftgbp.InputError, match=message):
        prepared("chain").write_graph(tmp_path / name, local)
    assert not list(tmp_path.iterdir())


def test_graphs_that_are_too_large(tmp_path: Path) -> None:
    found = prepared("friends-knows", "clusters:3")
    assert max(len(found.graph.regions), len(found.graph.edges)) > MOST_DRAWN
    with pytest.raises(liftgbp.InputError, match=r"too large for a picture; write it to \.dot"):
        found.write_graph(tmp_path / "graph.svg")
    found.write_graph(tmp_path / "graph.dot")
