"""Places for the nodes of a directed graph in layers.

igraph orders the nodes of each layer by Sugiyama's method, and what is left to do here is to keep
boxes of different widths apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from liftgbp.pictures.scene import Spot

ACROSS, DOWN = 22.0, 26.0
"""The least distance between nodes of a layer, and between layers."""

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
    """Where nodes have their centres, and along which points links go."""

    width: float
    height: float
    centres: tuple[Spot, ...]
    routes: tuple[tuple[Spot, ...], ...]


def laid_out(nodes: Sequence[Node], links: Sequence[tuple[int, int]]) -> Layout:
    """Places for nodes, and for links, which lead from upper to lower layers."""
    if not nodes:
        return Layout(0.0, 0.0, (), ())
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
    return Layout(right, down, tuple(places[: len(nodes)]), tuple(routes))


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
