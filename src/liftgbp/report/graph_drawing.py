"""Drawings of region graphs: regions with their signature graphs, and edges with mapping and κ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liftgbp.lift.regions.region_graph import MOST_ROWS, Sketch
from liftgbp.pictures.cards import count_text, shortened, table
from liftgbp.pictures.charts import check_figure, write_figure
from liftgbp.pictures.layered import Node, laid_out
from liftgbp.pictures.markup import Content
from liftgbp.pictures.scene import (
    ACCENT,
    MUTED,
    Box,
    Line,
    Scene,
    Shape,
    Spot,
    Words,
    beside,
    text_width,
    wrapped,
)
from liftgbp.support.errors import InputError, checked_number
from liftgbp.support.files import check_writable, whole_file

if TYPE_CHECKING:
    from liftgbp.lift.regions.region_graph import Member, RegionGraph

MOST_IN_CARD = 30
"""Graphs with more regions are shown as a table in notebooks."""

MOST_DRAWN = 300
"""Graphs with more regions or edges are not drawn: nobody would find anything in the picture."""

DRAWINGS = (".dot", ".pdf", ".png", ".svg")
"""What graphs are written as."""

LETTERS, LINES = 34, 4
"""How long the lines of a box are, and how many there may be."""

MARGIN, SMALL, NORMAL = 10.0, 10.0, 12.0
"""Around a drawing; and the sizes of texts."""

LINE = 15.0
"""From one line of text to the next."""


@dataclass(frozen=True, slots=True)
class Described:
    """A box of text with a sketch."""

    heading: str
    lines: tuple[str, ...]
    filled: bool
    sketch: Scene | None = None

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        widths = [text_width(line, NORMAL) for line in (self.heading, *self.lines)]
        height = LINE * (1 + len(self.lines)) + 12
        if self.sketch is not None:
            widths.append(self.sketch.width)
            height += self.sketch.height
        return max(widths) + 18, height

    def shapes(self, centre: Spot) -> Iterator[Shape]:
        """What is drawn, around a centre."""
        width, height = self.size
        x, y = centre[0], centre[1] - height / 2
        yield Box(centre, width, height, self.filled)
        y += 17
        yield Words((x, y), self.heading, NORMAL, bold=True)
        if self.sketch is not None:
            yield from self.sketch.shifted(x - self.sketch.width / 2, y + 3).shapes
            y += self.sketch.height
        for line in self.lines:
            y += LINE
            yield Words((x, y), line, NORMAL)


# --- the whole graph


def graph_scene(graph: RegionGraph, atoms: Sequence[Sequence[str]]) -> Scene:
    """Regions in boxes, from large to small, and edges with κ and with the mapping of atoms."""
    boxes = [region_box(graph, k, atoms[k]) for k in range(len(graph.regions))]
    labels = [
        (f"κ = {count_text(graph.kappa[e])}{_formula(graph, e)}", graph.mapping_text(e, atoms))
        for e in range(len(graph.edges))
    ]
    return _layered(boxes, [(e.parent, e.child) for e in graph.edges], labels, layers_of(graph))


def region_box(graph: RegionGraph, number: int, atoms: Sequence[str]) -> Described:
    """What is told about a region: its number, n and c, its signature graph, its atoms."""
    n, c = count_text(graph.n[number]), graph.counting_numbers[number]
    sketch = graph.sketch(number)
    return Described(
        f"{number}: n = {n}, c = {count_text(c)}",
        tuple(wrapped(atoms, LETTERS, LINES)),
        graph.regions[number].outer,
        None if sketch is None else sketch_scene(sketch),
    )


def _formula(graph: RegionGraph, edge: int) -> str:
    formula = graph.kappa_text(edge)
    plain = formula == str(graph.kappa[edge]) or len(formula) > LETTERS
    return "" if plain else f" = {formula}"


def layers_of(graph: RegionGraph) -> list[int]:
    """The layer of each region: one more than that of its lowest parent."""
    layers = [0] * len(graph.regions)
    # Parents are larger, and come first.
    for number, into in enumerate(graph.edges_into):
        layers[number] = max((layers[graph.edges[e].parent] + 1 for e in into), default=0)
    return layers


def _layered(
    boxes: Sequence[Described],
    links: Sequence[tuple[int, int]],
    labels: Sequence[tuple[str, str]],
    layers: Sequence[int],
) -> Scene:
    """Boxes in layers; the label of a link has a place of its own, so that it covers nothing."""
    nodes = [Node(*box.size, 2 * layer) for box, layer in zip(boxes, layers, strict=True)]
    halves: list[tuple[int, int]] = []
    for (parent, child), (first, second) in zip(links, labels, strict=True):
        short = shortened(second, LETTERS)
        width = max(text_width(first, SMALL), text_width(short, SMALL)) + 6
        halves += [(parent, len(nodes)), (len(nodes), child)]
        nodes.append(Node(width, 28.0 if second else 14.0, 2 * layers[child] - 1))
    layout = laid_out(nodes, halves)
    shapes: list[Shape] = []
    for k, route in enumerate(layout.routes):
        shapes.append(Line(route, arrow=k % 2 == 1, colour=MUTED))
    for box, centre in zip(boxes, layout.centres, strict=False):
        shapes += box.shapes(centre)
    for (first, second), (x, y) in zip(labels, layout.centres[len(boxes) :], strict=True):
        top = y if second else y + 7
        shapes.append(Words((x, top - 3), first, SMALL, colour=ACCENT))
        if second:
            short = shortened(second, LETTERS)
            hint = second if short != second else ""
            shapes.append(Words((x, y + 10), short, SMALL, colour=MUTED, hint=hint))
    plain = Scene(layout.width + MARGIN, layout.height + MARGIN, tuple(shapes))
    return plain.shifted(MARGIN, MARGIN)


# --- signature graphs


def sketch_scene(sketch: Sketch) -> Scene:
    """Objects as circles in a row, and pairs of them as arrows, above and below the row."""
    said = [", ".join(own) for own in sketch.unary]
    several = len({label for _, _, label in sketch.arrows}) > 1
    widest = max([text_width(text, SMALL) for text in (*said, *sketch.objects)], default=0.0)
    longest = max([text_width(label, SMALL) for _, _, label in sketch.arrows], default=0.0)
    step = max(46.0, widest + (36 if sketch.arrows else 14), longest + 34 if several else 0.0)
    reach = max([abs(i - j) for i, j, _ in sketch.arrows], default=0)
    bow = 0.0 if reach <= 1 and not _both_ways(sketch) else 13.0 * max(reach, 1) + 4
    middle = bow + 14 + (8 if several else 0)
    places = [(step * (k + 0.5), middle) for k in range(len(sketch.objects))]
    shapes: list[Shape] = []
    halves = [max(18.0, text_width(name, SMALL) + 8) / 2 for name in sketch.objects]
    for i, j, label in sketch.arrows:
        shapes += _arrow(places[i], places[j], (halves[i], halves[j]), i - j, bent=bow > 0)
        if several:
            high = bow * abs(i - j) / max(reach, 1) * (0.75 if bow else 0.0) + 5
            x = (places[i][0] + places[j][0]) / 2
            y = middle - high if i < j else middle + high + 8
            shapes.append(Words((x, y), label, 9.0, colour=MUTED))
    for (x, y), half, name, text in zip(places, halves, sketch.objects, said, strict=True):
        shapes.append(Box((x, y), 2 * half, 18.0, radius=9.0))
        shapes.append(Words((x, y + 3.5), name, SMALL))
        if text:
            shapes.append(Words((x, y + 21 + (bow if _back(sketch) else 0)), text, SMALL))
    below = 12 + (12 if any(said) else 0) + (bow if _back(sketch) else 0)
    return Scene(step * len(sketch.objects), middle + below, tuple(shapes))


def _both_ways(sketch: Sketch) -> bool:
    pairs = [frozenset((i, j)) for i, j, _ in sketch.arrows]
    return len(set(pairs)) < len(pairs)


def _back(sketch: Sketch) -> bool:
    return any(i > j for i, j, _ in sketch.arrows)


def _arrow(
    start: Spot, end: Spot, halves: tuple[float, float], distance: int, *, bent: bool
) -> Iterator[Shape]:
    """An arrow to the right above the row, or one to the left below it; straight if not `bent`.

    `halves` are half the widths of the objects at its ends.
    """
    side = 1 if end[0] > start[0] else -1
    if not bent:
        yield Line(
            ((start[0] + halves[0] * side, start[1]), (end[0] - halves[1] * side, end[1])),
            arrow=True,
            colour=ACCENT,
        )
        return
    high = -side * (17.0 * abs(distance) + 5)
    first = start[0] + (halves[0] - 4) * side, start[1] - 8 * side
    last = end[0] - (halves[1] - 4) * side, end[1] - 8 * side
    between = [(first[0] + 6 * side, first[1] + high), (last[0] - 6 * side, last[1] + high)]
    yield Line((first, *between, last), curved=True, arrow=True, colour=ACCENT)


# --- the local graph of a region


def local_scene(graph: RegionGraph, number: int, atoms: Sequence[Sequence[str]]) -> Scene:
    """Three panels: the lifted region graph, the signatures, and the local graph of a region.

    They are those of Figure 1 of the paper (Apsel, Lifted Message Passing for the Generalized
    Belief Propagation). Edges have numbers: those of the lifted graph that edges inside belong to.
    """
    boxes = [
        Described(str(k), tuple(wrapped(own, LETTERS, LINES)), graph.regions[k].outer)
        for k, own in enumerate(atoms)
    ]
    links = [(edge.parent, edge.child) for edge in graph.edges]
    labels = [(f"e{e}: κ = {count_text(kappa)}", "") for e, kappa in enumerate(graph.kappa)]
    panels = [
        _titled("Lifted region graph", _layered(boxes, links, labels, layers_of(graph))),
        _titled("Cluster signatures", _signatures(graph)),
        _titled(f"Local graph of region {number}", _inside(graph, number, atoms[number])),
    ]
    return beside([own for own in panels if own is not None])


def _titled(title: str, scene: Scene | None) -> Scene | None:
    if scene is None:
        return None
    width = max(scene.width, text_width(title, NORMAL) + 2 * MARGIN)
    lower = scene.shifted((width - scene.width) / 2, 24.0)
    heading = Words((width / 2, 16.0), title, NORMAL, bold=True)
    return Scene(width, lower.height, (heading, *lower.shapes))


def _signatures(graph: RegionGraph) -> Scene | None:
    """The signature graphs of all regions, below each other."""
    found = [(k, graph.sketch(k)) for k in range(len(graph.regions))]
    drawn = [(k, sketch_scene(own)) for k, own in found if own is not None]
    if not drawn:
        return None
    shapes: list[Shape] = []
    down = MARGIN
    for k, own in drawn:
        shapes.append(
            Words((MARGIN, down + own.height / 2 + 4), f"{k}", NORMAL, "start", bold=True)
        )
        shapes += own.shifted(MARGIN + 24, down).shapes
        down += own.height + 14
    width = max(own.width for _, own in drawn) + 24 + 2 * MARGIN
    return Scene(width, down, tuple(shapes))


def _inside(graph: RegionGraph, number: int, atoms: Sequence[str]) -> Scene:
    members = graph.regions[number].members
    every = [range(len(atoms)), *(member.axes for member in members)]
    links = local_edges(graph, number)
    names = [number, *(member.region for member in members)]
    boxes = [
        Described(f"→ {name}", tuple(wrapped([atoms[k] for k in own], LETTERS, LINES)), k == 0)
        for k, (name, own) in enumerate(zip(names, every, strict=True))
    ]
    layers = [0] * len(every)
    for child in sorted(range(1, len(every)), key=lambda k: -len(every[k])):
        above = [parent for parent, own, _ in links if own == child]
        layers[child] = max((layers[parent] + 1 for parent in above), default=1)
    labels = [(f"e{edge}", "") for _, _, edge in links]
    return _layered(boxes, [(parent, child) for parent, child, _ in links], labels, layers)


def local_edges(graph: RegionGraph, number: int) -> list[tuple[int, int, int]]:
    """The edges of the local graph of a region: parent, child, and the lifted edge they belong to.

    0 is the region itself, and k + 1 the member k.
    """
    region = graph.regions[number]
    whole = tuple(range(len(region.cluster)))
    axes = [whole, *(member.axes for member in region.members)]
    names = [number, *(member.region for member in region.members)]
    sets = [frozenset(own) for own in axes]
    found: list[tuple[int, int, int]] = []
    for child, member in enumerate(region.members, start=1):
        around = [k for k, own in enumerate(sets) if own > sets[child]]
        parents = [k for k in around if not any(sets[other] < sets[k] for other in around)]
        found += [
            (parent, child, _lifted_edge(graph, member, names[parent], axes[parent]))
            for parent in parents
        ]
    return found


def _lifted_edge(
    graph: RegionGraph, child: Member, parent: int, parent_axes: tuple[int, ...]
) -> int:
    """The edge whose mapping is that of a child in its parent, up to symmetries of the parent."""
    lies = tuple(parent_axes.index(axis) for axis in child.axes)
    symmetries = graph.regions[parent].symmetries
    orbit, waiting = {lies}, [lies]
    while waiting:
        own = waiting.pop()
        images = {tuple(symmetry[k] for k in own) for symmetry in symmetries} - orbit
        orbit |= images
        waiting += images
    for number in child.local_parents:
        edge = graph.edges[number]
        # Atom k of the message is atom axes[k] of the child.
        place = dict(zip(edge.axes, graph.messages[edge.message].axes, strict=True))
        if edge.parent == parent and tuple(place[k] for k in range(len(lies))) in orbit:
            return number
    return next(iter(child.local_parents))


# --- files


def write_drawing(
    graph: RegionGraph, atoms: Sequence[Sequence[str]], path: Path, local: int | None = None
) -> None:
    """Draw a graph, or the panels about one of its regions, to a file; `.dot` is for Graphviz."""
    check_drawing(path)
    if path.suffix == ".dot":
        if local is not None:
            raise InputError("a .dot file holds the whole graph; write the local graph to .svg")
        with whole_file(path) as unfinished:
            unfinished.write_text(dot_text(graph, atoms), encoding="utf-8")
        return
    scene = scene_of(graph, atoms, local)
    if path.suffix == ".svg":
        with whole_file(path) as unfinished:
            unfinished.write_text(scene.svg(alone=True).source + "\n", encoding="utf-8")
    else:
        write_figure(scene.figure, path)


def check_drawing(path: Path) -> None:
    """Refuse a drawing that could not be written, before anything is computed."""
    if path.suffix in (".png", ".pdf"):
        check_figure(path)
    else:
        check_writable(path, DRAWINGS)


def scene_of(graph: RegionGraph, atoms: Sequence[Sequence[str]], local: int | None) -> Scene:
    """The drawing of a graph, or that of the local graph of a region."""
    regions, edges = len(graph.regions), len(graph.edges)
    if max(regions, edges) > MOST_DRAWN:
        raise InputError(
            f"a graph with {regions} regions and {edges} edges is too large for a picture; write "
            "it to .dot or .json"
        )
    if local is None:
        return graph_scene(graph, atoms)
    if not checked_number("local", local, least=0) < regions:
        raise InputError(
            f"there is no region {local}; regions have numbers from 0 to {regions - 1}"
        )
    return local_scene(graph, local, atoms)


# --- other tools


def dot_text(graph: RegionGraph, atoms: Sequence[Sequence[str]]) -> str:
    """The graph in the language of Graphviz."""
    lines = [
        "digraph regions {",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];',
        "  edge [fontname=monospace, fontsize=10];",
    ]
    for k, region in enumerate(graph.regions):
        label = [f"{k}: n = {graph.n[k]}, c = {graph.counting_numbers[k]}"]
        label += wrapped(atoms[k], LETTERS, 10**6)
        colour = ', fillcolor="#dce9f6"' if region.outer else ""
        lines.append(f"  {k} [label={_quoted(label)}{colour}];")
    for number, edge in enumerate(graph.edges):
        label = [f"κ = {graph.kappa[number]}", graph.mapping_text(number, atoms)]
        lines.append(f"  {edge.parent} -> {edge.child} [label={_quoted(label)}];")
    return "\n".join([*lines, "}", ""])


def _quoted(lines: Sequence[str]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def networkx_graph(graph: RegionGraph, atoms: Sequence[Sequence[str]], networkx: Any) -> Any:
    """The graph for NetworkX, with everything that is known about regions and edges."""
    found = networkx.MultiDiGraph(family=str(graph.family))
    told: Any = graph.described(atoms)
    for region in told["regions"]:
        number = region.pop("region")
        found.add_node(number, **region)
    for edge in told["edges"]:
        parent, child, number = (edge.pop(name) for name in ("parent", "child", "edge"))
        found.add_edge(parent, child, key=number, **edge)
    return found


def graph_card(graph: RegionGraph, atoms: Sequence[Sequence[str]]) -> Iterator[Content]:
    """What notebooks show of a graph: a drawing, or a table if it is large."""
    if 0 < len(graph.regions) <= MOST_IN_CARD and len(graph.edges) <= 2 * MOST_IN_CARD:
        yield graph_scene(graph, atoms).svg()
        return
    rows = [
        (
            str(k),
            " ".join(atoms[k]),
            count_text(graph.n[k]),
            str(graph.counting_numbers[k]),
            graph.parents_text(k),
        )
        for k in range(min(len(graph.regions), MOST_ROWS))
    ]
    headings = ("region", "atoms", "n", "c", "parents × κ")
    yield table(headings, rows, numbers=[2, 3], total=len(graph.regions))
