"""The consistent beliefs of a layout, as a polytope of the beliefs of its outer regions.

The belief of an inner region is a marginal of the beliefs above it, so everything is a linear
function of the outer regions' beliefs; that all regions agree and sum to one is a set of linear
equations between those. Neither depends on domain sizes or weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.plan.plan import Layout
from liftgbp.solve.gram import Gram

MOST_NUMBERS = 10**7
"""The size of the largest array of a stack; larger stacks are worked off in parts."""

Row = TypeVar("Row")


@dataclass(frozen=True, eq=False)
class Polytope:
    """Consistent beliefs: `matrix @ b == right_side` for the beliefs b of the outer regions.

    outer    the belief entries of outer regions, which nothing sends messages to
    inner    all other belief entries
    to_inner the beliefs of inner regions are `to_inner @ b`
    messages for each message between regions whose beliefs are known without it, its equations,
             filled up with the first one. Their sum says that both regions are normalised, so that
             any one of them follows from the others
    children for each equation of a message the inner entry that it is about
    """

    layout: Layout
    outer: Ints
    inner: Ints
    to_inner: Floats
    matrix: Floats
    right_side: Floats
    messages: Ints
    children: Ints

    @cached_property
    def gram(self) -> Gram:
        """The products of equations, weighted by beliefs."""
        return Gram(self.matrix)

    def enough(self, outer_beliefs: Floats) -> Ints:
        """For each point equations from which the others follow, as their numbers.

        Of each message the equation between the largest beliefs is left out, whose rounding is more
        than all that tiny beliefs have to say.
        """
        size = self.layout.multiplicity[self.inner] * (outer_beliefs @ self.to_inner.T)
        largest = size[:, self.children[self.messages]].argmax(axis=2)
        kept = np.ones((len(outer_beliefs), len(self.matrix)), dtype=bool)
        left_out = np.take_along_axis(self.messages[None], largest[:, :, None], axis=2)[:, :, 0]
        np.put_along_axis(kept, left_out, values=False, axis=1)
        return np.nonzero(kept)[1].reshape(len(outer_beliefs), -1)

    def all_entries(self, outer_beliefs: Floats) -> Floats:
        """The beliefs of all regions from those of the outer ones; the last axis is the entry."""
        shape = (*outer_beliefs.shape[:-1], self.layout.belief_entries)
        beliefs = np.empty(shape)
        beliefs[..., self.outer] = outer_beliefs
        beliefs[..., self.inner] = outer_beliefs @ self.to_inner.T
        return beliefs

    def stacks(self, rows: Sequence[Row], most: int) -> Iterator[Sequence[Row]]:
        """Rows in stacks whose arrays have at most so many numbers, or stand for one row."""
        numbers = (len(self.matrix) + len(self.inner)) * len(self.outer)
        together = max(1, most // max(1, numbers))
        for first in range(0, len(rows), together):
            yield rows[first : first + together]


@lru_cache(maxsize=8)
def polytope(layout: Layout) -> Polytope:
    """The consistent beliefs of a layout; the same layout is often asked again."""
    is_inner = np.zeros(layout.belief_entries, dtype=bool)
    inner_regions = np.unique(layout.region_of[layout.children])
    is_inner[np.isin(layout.region_of, inner_regions)] = True
    outer, inner = np.flatnonzero(~is_inner), np.flatnonzero(is_inner)
    place = np.empty(layout.belief_entries, dtype=np.int64)
    place[outer], place[inner] = np.arange(len(outer)), np.arange(len(inner))
    to_inner = np.zeros((len(inner), len(outer)))
    known = np.zeros(len(inner), dtype=bool)
    equations: list[_Equation] = []
    defining: set[int] = set()  # messages from which to_inner is taken
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    message_of = np.searchsorted(layout.message_starts, np.arange(len(ends)), side="right")
    for entry in _by_child(layout):
        stretch = slice(layout.source_starts[entry], ends[entry])
        sources, counts = layout.sources[stretch], layout.source_counts[stretch]
        from_inner = is_inner[sources]
        marginal = counts[from_inner] @ to_inner[place[sources[from_inner]]]
        marginal[place[sources[~from_inner]]] += counts[~from_inner]
        child = int(place[layout.children[entry]])
        if not known[child]:
            to_inner[child] = marginal
            known[child] = True
            defining.add(int(message_of[entry]))
        elif (row := marginal - to_inner[child]).any():
            equations.append(_Equation(int(message_of[entry]), child, row))
    sums = _sums(layout, outer)
    rows = [*sums, *(equation.row for equation in equations)]
    matrix = np.array(rows).reshape(len(rows), len(outer))
    right_side = np.zeros(len(matrix))
    right_side[: len(sums)] = 1.0
    children = np.array([0] * len(sums) + [equation.child for equation in equations], dtype=int)
    messages = _by_message(equations, len(sums), defining)
    return Polytope(layout, outer, inner, to_inner, matrix, right_side, messages, children)


@dataclass(frozen=True, eq=False, slots=True)
class _Equation:
    """Two marginals of outer beliefs that are the same entry of a child."""

    message: int
    child: int
    row: Floats


def _by_child(layout: Layout) -> Ints:
    """Message entries so that all those into a region come before those out of it."""
    return np.argsort(layout.children, kind="stable")


def _sums(layout: Layout, outer: Ints) -> list[Floats]:
    """What must be one: the sum of the beliefs of each outer region."""
    regions = layout.region_of[outer]
    return [
        np.where(regions == region, layout.multiplicity[outer], 0).astype(float)
        for region in np.unique(regions)
    ]


def _by_message(equations: Sequence[_Equation], first: int, defining: Set[int]) -> Ints:
    """The numbers of the equations of each message, which count from the first one.

    Messages that define beliefs of their child are left aside.
    """
    groups: dict[int, list[int]] = {}
    for number, equation in enumerate(equations, first):
        if equation.message not in defining:
            groups.setdefault(equation.message, []).append(number)
    longest = max(map(len, groups.values()), default=1)
    rows = [own + own[:1] * (longest - len(own)) for own in groups.values()]
    return np.array(rows, dtype=np.int64).reshape(-1, longest)
