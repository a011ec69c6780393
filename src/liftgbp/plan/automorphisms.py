"""Symmetries of a free energy: permutations of belief entries that leave it as it is.

Where all atoms of a model can be flipped, or two predicates, two argument positions or two classes
exchanged, its stationary points come in orbits. All of these are automorphisms of one coloured
graph, and nothing needs to be known about predicates to find them: belief entries, coloured by what
the free energy says about them, and the equations between the entries of parents and children. Any
automorphism maps consistent beliefs to consistent beliefs with the same free energy.
"""

from __future__ import annotations

from collections.abc import Hashable
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.lift.signature.labelling import ColouredGraph
from liftgbp.plan.plan import Layout, Plan, Structure
from liftgbp.support.arrays import Bools, Floats, Ints, group_rows, starts_of

ROUNDING = 1e-13
"""Log potentials are equal if they differ by less, in proportion to the largest one of the region:
they are sums of up to a few hundred tables, in any order."""

MOST_TERMS = 50_000
"""Symmetries are not looked for where equations have more terms: the search would take seconds."""


def symmetries(plan: Plan) -> list[Ints]:
    """Generators of the symmetries of a plan: `beliefs[g]` are beliefs as good as `beliefs`.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.plan import compile_plan
    >>> from liftgbp.lift.regions import build_regions
    >>> from liftgbp.lift.shatter import shatter
    >>> def of(text: str) -> list[list[int]]:
    ...     plan = compile_plan(build_regions(shatter(parse(text), {"thing": 10})))
    ...     return [own.tolist() for own in symmetries(plan)]
    >>> of("p(thing)\\n1 p(x) => p(y) | x != y")  # exchanges 00 and 11, 0 and 1
    [[2, 1, 0, 4, 3]]
    >>> of("p(thing)\\n1 p(x) ^ p(y) | x != y")
    []
    """
    layout = plan.layout
    if not layout.message_entries or len(layout.sources) > MOST_TERMS:
        return []
    said = _said(plan)
    known = _known.setdefault(layout.structure, {})
    key = b"".join(own.tobytes() for own in said)
    if key not in known:
        known[key] = _generators(layout, *said)
    return known[key]


_known: WeakKeyDictionary[Structure, dict[bytes, list[Ints]]] = WeakKeyDictionary()
"""The symmetries of layouts by what is equal in them: plans of a series mostly share them."""


def _said(plan: Plan) -> tuple[Ints, Ints]:
    """Numbers for the weight of each region and for the potential of each belief entry.

    Potentials are known up to a constant per region: as symmetries keep the weights of regions,
    such constants change no sum over all regions.
    """
    layout = plan.layout
    region = layout.region_of
    top = np.maximum.reduceat(plan.theta, layout.region_starts)
    scale = np.maximum.reduceat(np.abs(plan.theta), layout.region_starts)
    # As Python's integers: they may be too large for others.
    number = {weight: k for k, weight in enumerate(dict.fromkeys(plan.weights))}
    weights = np.array([number[own] for own in plan.weights])
    return weights, _clustered(plan.theta - top[region], ROUNDING * scale[region])


def _clustered(values: Floats, error: Floats) -> Ints:
    """The same number for values that differ by no more than their errors."""
    order = np.argsort(values)
    ordered, slack = values[order], error[order]
    apart: Bools = np.diff(ordered) > np.maximum(slack[1:], slack[:-1])
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.concatenate([[0], np.cumsum(apart)])
    return number


def _generators(layout: Layout, weights: Ints, potentials: Ints) -> list[Ints]:
    """Automorphisms of the graph of entries, of their regions, and of equations with their terms.

    The equation of a message entry says that its terms, each so many times, add up to the child.
    One vertex stands for all twins.
    """
    colours = group_rows([weights[layout.region_of], layout.multiplicity, potentials])[1]
    if int(colours.max()) + 1 == len(colours):
        return []
    twins = _Twins(layout, colours)
    terms = np.flatnonzero(twins.rank[layout.sources] == 0)
    region = len(twins.first) + np.arange(len(layout.shapes))
    equation = region[-1] + 1 + np.arange(layout.message_entries)
    term = equation[-1] + 1 + np.arange(len(terms))
    edges = np.concatenate(
        [
            [np.arange(len(twins.first)), region[layout.region_of[twins.first]]],
            [equation, twins.group[layout.children]],
            [term, equation[layout.by_target.of[terms]]],
            [term, twins.group[layout.sources[terms]]],
        ],
        axis=1,
    )
    entry = group_rows([colours[twins.first], twins.sizes])[1]
    start = int(entry.max()) + 1
    colour = np.concatenate(
        [
            entry,
            np.full(len(region), start),
            np.full(len(equation), start + 1),
            start + 2 + group_rows([layout.source_counts[terms]])[1],
        ]
    )
    graph = ColouredGraph(list(map(tuple, edges.T.tolist())), colour.tolist())
    found = [twins.moved(np.array(own[: len(entry)])) for own in graph.generators()]
    return [own for own in found if not np.array_equal(own, np.arange(layout.belief_entries))]


class _Twins:
    """Entries of outer regions that differ in nothing: states of an atom that plays no role there.

    Exchanging them changes no equation, and at a minimum they are equal: between them, the free
    energy is convex. There may be thousands, each with a symmetry of its own.

    group  the group of twins of each entry
    rank   its place in there
    first  the first entry of each group
    sizes  how many entries a group has
    """

    def __init__(self, layout: Layout, colours: Ints) -> None:
        where: list[list[tuple[int, int]]] = [[] for _ in colours]
        terms = (layout.sources, layout.by_target.of, layout.source_counts)
        for entry, *term in zip(*(own.tolist() for own in terms), strict=True):
            where[entry].append(tuple(term))
        for entry in layout.children.tolist():
            where[entry].append((-1, entry))  # inner entries have no twins
        keys = zip(layout.region_of.tolist(), colours.tolist(), map(frozenset, where), strict=True)
        number: dict[Hashable, int] = {}
        self.group = np.array([number.setdefault(key, len(number)) for key in keys])
        self._order = np.argsort(self.group, kind="stable")
        self.sizes = np.bincount(self.group)
        self._starts = starts_of(self.sizes)[:-1]
        self.first = self._order[self._starts]
        self.rank = np.empty(len(colours), dtype=np.int64)
        self.rank[self._order] = np.arange(len(colours)) - self._starts[self.group[self._order]]

    def moved(self, groups: Ints) -> Ints:
        """A permutation of entries from one of groups."""
        return np.asarray(self._order[self._starts[groups[self.group]] + self.rank])
