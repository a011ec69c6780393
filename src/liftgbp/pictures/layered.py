"""Places for the nodes of a directed graph in layers: by Graphviz if it is there, else by igraph.

Both know what they do: Graphviz's `dot` takes the sizes of nodes into account and draws links as
splines; igraph, which is installed in any case, orders the nodes of each layer by Sugiyama's
method, and what is left to do here is to keep boxes of different widths apart.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from liftgbp.pictures.scene import Spot

ACROSS, DOWN = 22.0, 26.0
"""The least distance between nodes of a layer, and between layers."""

PATIENCE = 20.0
"""Seconds after which Graphviz is no longer waited for; what is drawn here takes less than one."""

CLOSE = 0.1
"""igraph puts neighbours a unit apart; nearer ones than this would make a picture too wide."""


@dataclass(frozen=True, slots=True)
class Node:
    """A box of some size in a layer; the first layer is at the top."""

    width: float
    height: float
    layer: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where nodes have their centres, and along which points links go.

    `curved` says that links are cubic splines.
    """

    width: float
    height: float
    centres: tuple[Spot, ...]
    routes: tuple[tuple[Spot, ...], ...]
    curved: bool


def laid_out(
    nodes: Sequence[Node], links: Sequence[tuple[int, int]], *, graphviz: bool = True
) -> Layout:
    """Places for nodes, and for links, which lead from upper to lower layers."""
    if not nodes:
        return Layout(0.0, 0.0, (), (), curved=False)
    found = _by_graphviz(nodes, links) if graphviz else None
    return _by_igraph(nodes, links) if found is None else found


# --- Graphviz


def _by_graphviz(nodes: Sequence[Node], links: Sequence[tuple[int, int]]) -> Layout | None:
    """The layout by `dot`, or none if that is not installed or does not answer."""
    program = shutil.which("dot")
    if program is None:
        return None
    lines = [
        f"digraph {{ nodesep={ACROSS / 72:.3f}; ranksep={DOWN / 72:.3f};",
        "node [shape=box, fixedsize=true];",
        *(
            f"{k} [width={n.width / 72:.4f}, height={n.height / 72:.4f}];"
            for k, n in enumerate(nodes)
        ),
        *(f"{source} -> {target} [arrowhead=none];" for source, target in links),
        "}",
    ]
    try:
        done = subprocess.run(
            [program, "-Tplain"],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return _read_plain(done.stdout, len(nodes), links)


def _read_plain(text: str, nodes: int, links: Sequence[tuple[int, int]]) -> Layout | None:
    """The layout that Graphviz describes in its plain format: inches, from the lower left."""
    width = height = 0.0
    centres: list[Spot] = [(0.0, 0.0)] * nodes
    routes: dict[tuple[int, int], list[tuple[Spot, ...]]] = {}
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "graph":
            width, height = (72 * float(word) for word in words[1:3])
        elif kind == "node":
            centres[int(words[0])] = 72 * float(words[1]), height - 72 * float(words[2])
        elif kind == "edge":
            count = int(words[2])
            numbers = [72 * float(word) for word in words[3 : 3 + 2 * count]]
            route = tuple((x, height - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
            routes.setdefault((int(words[0]), int(words[1])), []).append(route)
    taken = [routes.get(link, [()]).pop() for link in links]
    if not all(taken):
        return None
    return Layout(width, height, tuple(centres), tuple(taken), curved=True)


# --- igraph


def _by_igraph(nodes: Sequence[Node], links: Sequence[tuple[int, int]]) -> Layout:
    # Links that pass a layer get a node there, so that they are kept apart from boxes.
    every = list(nodes)
    paths: list[list[int]] = []
    for source, target in links:
        passed = range(nodes[source].layer + 1, nodes[target].layer)
        path = [source, *range(len(every), len(every) + len(passed)), target]
        every += [Node(0.0, 0.0, layer) for layer in passed]
        paths.append(path)
    places = _spread(every, _ordered(every, [step for path in paths for step in pairwise(path)]))
    tops, heights = _rows(every)
    routes = []
    for path in paths:
        source, target = path[0], path[-1]
        route = [(places[source][0], places[source][1] + nodes[source].height / 2)]
        for k in path[1:-1]:
            # Straight through the layer: a slanted line could cross the boxes beside it.
            top, height = tops[every[k].layer], heights[every[k].layer]
            route += [(places[k][0], top), (places[k][0], top + height)]
        route.append((places[target][0], places[target][1] - nodes[target].height / 2))
        routes.append(tuple(route))
    right = max(x + node.width / 2 for (x, _), node in zip(places, every, strict=True))
    down = tops[-1] + heights[-1]
    return Layout(right, down, tuple(places[: len(nodes)]), tuple(routes), curved=False)


def _ordered(nodes: Sequence[Node], links: Sequence[tuple[int, int]]) -> list[float]:
    """How far to the right each node is, by Sugiyama's method, in some unit."""
    import igraph

    graph: Any = igraph.Graph(len(nodes), list(links), directed=True)
    layout = graph.layout_sugiyama(layers=[node.layer for node in nodes])
    return [layout[k][0] for k in range(len(nodes))]


def _rows(nodes: Sequence[Node]) -> tuple[list[float], list[float]]:
    """The top of each layer, and its height."""
    layers = range(max(node.layer for node in nodes) + 1)
    heights = [max((n.height for n in nodes if n.layer == layer), default=0.0) for layer in layers]
    tops = [0.0]
    for height in heights[:-1]:
        tops.append(tops[-1] + height + (DOWN if height else 0.0))
    return tops, heights


def _spread(nodes: Sequence[Node], across: Sequence[float]) -> list[Spot]:
    """Centres for boxes at places that were found for points, as far apart as widths need it."""
    neighbours: dict[int, list[tuple[float, float]]] = {}
    for x, node in zip(across, nodes, strict=True):
        neighbours.setdefault(node.layer, []).append((x, node.width))
    unit = max(
        (
            ((first + second) / 2 + ACROSS) / max(right - left, CLOSE)
            for row in neighbours.values()
            for (left, first), (right, second) in pairwise(sorted(row))
        ),
        default=1.0,
    )
    left = min(unit * x - node.width / 2 for x, node in zip(across, nodes, strict=True))
    tops, heights = _rows(nodes)
    return [
        (unit * x - left, tops[node.layer] + heights[node.layer] / 2)
        for x, node in zip(across, nodes, strict=True)
    ]
