"""Places for boxes in layers: nothing overlaps, and links lead downwards."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from liftgbp.pictures.layered import Layout, Node, laid_out

SEEDS = range(12)


def random_graph(seed: int) -> tuple[list[Node], list[tuple[int, int]]]:
    """Boxes of all sizes, some links that pass layers, and some between the same boxes."""
    chance = random.Random(seed)
    layers = [layer for layer in range(4) for _ in range(chance.randint(1, 4))]
    nodes = [Node(chance.uniform(20, 200), chance.uniform(15, 80), layer) for layer in layers]
    pairs = [(a, b) for a in range(len(nodes)) for b in range(len(nodes)) if layers[a] < layers[b]]
    links = chance.choices(pairs, k=chance.randint(1, 10)) if pairs else []
    return nodes, links


def check(layout: Layout, nodes: list[Node], links: list[tuple[int, int]]) -> None:
    assert len(layout.centres) == len(nodes)
    assert len(layout.routes) == len(links)
    for node, (x, y) in zip(nodes, layout.centres, strict=True):
        assert x - node.width / 2 >= -0.5 and x + node.width / 2 <= layout.width + 0.5
        assert y - node.height / 2 >= -0.5 and y + node.height / 2 <= layout.height + 0.5
    for one, other in combinations(range(len(nodes)), 2):
        across = abs(layout.centres[one][0] - layout.centres[other][0])
        down = abs(layout.centres[one][1] - layout.centres[other][1])
        apart = (nodes[one].width + nodes[other].width) / 2, nodes[one].height + nodes[other].height
        assert across >= apart[0] - 0.5 or down >= apart[1] / 2 - 0.5
    for (source, target), route in zip(links, layout.routes, strict=True):
        start, end = layout.centres[source], layout.centres[target]
        assert end[1] > start[1]
        assert abs(route[0][1] - start[1]) <= nodes[source].height / 2 + 1
        assert abs(route[-1][1] - end[1]) <= nodes[target].height / 2 + 1
        assert abs(route[-1][0] - end[0]) <= nodes[target].width / 2 + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_layout_in_layers(seed: int) -> None:
    nodes, links = random_graph(seed)
    check(laid_out(nodes, links), nodes, links)


def test_nothing_to_lay_out() -> None:
    assert laid_out([], []).centres == ()
