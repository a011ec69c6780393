"""The consistent beliefs of a layout, as a polytope of the beliefs of its outer regions.

The belief of an inner region is a marginal of the beliefs above it, so everything is a linear
function of the outer regions' beliefs; that all regions agree and sum to one is a set of linear
equations between those. Neither depends on domain sizes or weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from liftgbp.plan.plan import Floats, Ints, Layout
from liftgbp.solve.gram import Gram

FEW_EQUATIONS = 200
DEPENDENT = 1e-9
"""A row whose part outside the span of the others is smaller than this depends on them."""

MOST_NUMBERS = 10**7
"""The size of the largest array of a stack; larger stacks are worked off in parts."""

Row = TypeVar("Row")


@dataclass(frozen=True, eq=False)
class Polytope:
    """Consistent beliefs: `matrix @ b == right_side` for the beliefs b of the outer regions.

    outer    the belief entries of outer regions, which nothing sends messages to
    inner    all other belief entries
    to_inner the beliefs of inner regions are `to_inner @ b`
    """

    layout: Layout
    outer: Ints
    inner: Ints
    to_inner: Floats
    matrix: Floats
    right_side: Floats

    @cached_property
    def gram(self) -> Gram:
        """The products of equations, weighted by beliefs."""
        return Gram(self.matrix)

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
    equations: list[Floats] = []
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    for entry in _by_child(layout):
        stretch = slice(layout.source_starts[entry], ends[entry])
        sources, counts = layout.sources[stretch], layout.source_counts[stretch]
        from_inner = is_inner[sources]
        marginal = counts[from_inner] @ to_inner[place[sources[from_inner]]]
        marginal[place[sources[~from_inner]]] += counts[~from_inner]
        child = place[layout.children[entry]]
        if known[child]:
            equations.append(marginal - to_inner[child])
        else:
            to_inner[child] = marginal
            known[child] = True
    matrix, right_side = _independent(*_with_normalisation(layout, outer, equations))
    return Polytope(layout, outer, inner, to_inner, matrix, right_side)


def _by_child(layout: Layout) -> Ints:
    """Message entries so that all those into a region come before those out of it."""
    return np.argsort(layout.children, kind="stable")


def _with_normalisation(
    layout: Layout, outer: Ints, equations: list[Floats]
) -> tuple[Floats, Floats]:
    regions = layout.region_of[outer]
    sums = [
        np.where(regions == region, layout.multiplicity[outer], 0).astype(float)
        for region in np.unique(regions)
    ]
    rows = [*sums, *equations]
    matrix = np.array(rows) if rows else np.zeros((0, len(outer)))
    right_side = np.zeros(len(matrix))
    right_side[: len(sums)] = 1.0
    return matrix, right_side


def _independent(matrix: Floats, right_side: Floats) -> tuple[Floats, Floats]:
    """The equations without those that say nothing; their integers stay as they are.

    Equations that follow from others are kept where there are few: between tiny beliefs they hold
    to a relative accuracy that the others cannot give.
    """
    basis = np.empty_like(matrix)
    kept: list[int] = []
    found = 0
    lengths = np.linalg.norm(matrix, axis=1)
    few = len(matrix) <= FEW_EQUATIONS
    for number, row in enumerate(matrix):
        if lengths[number] == 0:
            continue
        if few:
            kept.append(number)
            continue
        rest = row / lengths[number]
        for _ in range(2):  # the second pass removes what rounding left in the first
            rest = rest - basis[:found].T @ (basis[:found] @ rest)
        if (length := np.linalg.norm(rest)) > DEPENDENT:
            basis[found] = rest / length
            found += 1
            kept.append(number)
    return matrix[kept], right_side[kept]
