"""Canonical labelling and automorphisms of vertex-coloured graphs, by BLISS as igraph ships it.

This is the only module that knows igraph.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from liftgbp.support.errors import InternalError

EXACT_BELOW = 2**53
"""Group orders below this are exact even where igraph computes them in floating point."""


class ColouredGraph:
    """An undirected graph with one colour per vertex; colours are integers from 0.

    >>> path = ColouredGraph([(0, 1), (1, 2)], [0, 0, 0])
    >>> path.generators()
    [[2, 1, 0]]
    >>> ColouredGraph([(0, 1), (1, 2)], [0, 0, 1]).generators()
    []
    """

    __slots__ = ("_colours", "_graph")

    def __init__(self, edges: Sequence[tuple[int, int]], colours: list[int]) -> None:
        self._graph = _GraphBase(len(colours), edges, False)
        self._colours = colours

    def canonical_ranks(self) -> list[int]:
        """The rank of each vertex in an order that isomorphic graphs share."""
        permutation: list[int] = self._graph.canonical_permutation(color=self._colours)
        return _inverse(permutation) if _LISTS_VERTICES else permutation

    def generators(self) -> list[list[int]]:
        """Generators of the automorphisms that keep colours, as lists of images."""
        generators: list[list[int]] = self._graph.automorphism_group(color=self._colours)
        return generators

    def automorphisms(self, generators: Sequence[Sequence[int]]) -> int:
        """The order of the group with these generators, exact however large it is."""
        if not generators:
            return 1
        order = int(self._graph.count_automorphisms(color=self._colours))
        return order if order < EXACT_BELOW else self._count_by_stabilisers(generators)

    def _count_by_stabilisers(self, generators: Sequence[Sequence[int]]) -> int:
        """The size of an orbit times the order of its stabiliser, down to the identity."""
        order, colours = 1, list(self._colours)
        while generators:
            vertex = next(k for k, image in enumerate(generators[0]) if image != k)
            order *= len(_orbit(vertex, generators))
            colours[vertex] = max(colours) + 1
            generators = self._graph.automorphism_group(color=colours)
        return order


def _inverse(permutation: Sequence[int]) -> list[int]:
    inverse = [0] * len(permutation)
    for position, vertex in enumerate(permutation):
        inverse[vertex] = position
    return inverse


def _orbit(vertex: int, generators: Sequence[Sequence[int]]) -> set[int]:
    orbit, waiting = {vertex}, [vertex]
    while waiting:
        element = waiting.pop()
        images = {generator[element] for generator in generators} - orbit
        orbit |= images
        waiting += images
    return orbit


class _Loaded:
    """Finder and loader of a module that is loaded already.

    Without the base classes of `importlib.abc`, which import much of the standard library.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(name, loader) if name == self._module.__name__ else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module has run."""


def _load_graph_class() -> Any:
    """igraph's class of graphs without the rest of the package.

    `import igraph` also imports its plotting and, where it is installed, all of matplotlib, which
    takes longer than most queries. The class itself is in the compiled extension, which cannot be
    loaded twice; so a later `import igraph` is given the one that is here.
    """
    if "igraph" not in sys.modules:
        with suppress(ImportError):
            return _load_extension("igraph", "igraph._igraph").GraphBase
    from igraph._igraph import GraphBase

    return GraphBase


def _load_extension(package: str, name: str) -> ModuleType:
    around = find_spec(package)
    spec = around and PathFinder.find_spec(name, around.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Loaded(module))
    return module


_GraphBase = _load_graph_class()


def _lists_vertices() -> bool:
    """Whether canonical permutations list vertices by rank (igraph 1.0) or ranks by vertex (0.x).

    The canonical order sorts vertices by colour, so three colours tell.
    """
    permutation = _GraphBase(3, [], False).canonical_permutation(color=[1, 2, 0])
    if permutation not in ([1, 2, 0], [2, 0, 1]):
        raise InternalError(f"igraph's canonical order ignores colours: {permutation}")
    return bool(permutation == [2, 0, 1])


_LISTS_VERTICES = _lists_vertices()
