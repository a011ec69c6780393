"""The minimisation problem: consistent beliefs, and the lifted Kikuchi free energy over them.

The belief of an inner region is a marginal of the beliefs above it, so everything is a linear
function of the beliefs b of the outer regions. That all regions agree and sum to one is a set of
linear equations A b = r between those (`Polytope`). Neither depends on domain sizes or weights.
`Energy` evaluates F.

Shapes: S points of a batch, D entries of outer regions, I entries of inner regions, E equations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.plan import Layout, Plan, Structure
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats, Ints, distinct, exact_sum

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MOST_KEPT = 2**28
"""Bytes of polytopes that are kept for the next run on the same layout: sweeps and sums over counts
use a handful of small ones, while a single large one takes hundreds of megabytes."""

LEAST_LOG = -1e15
"""Logs of beliefs end here; where a belief vanishes, each step takes it down by as much again."""

IN_ONE_THREAD = 2**15
"""OpenBLAS handles matrices in one thread while their products have fewer terms: those of 32 rows
and columns are divided among threads. Looking for its threads takes milliseconds."""

MANY_REGIONS = 10**4
"""From this many regions on, sums by region are taken in one go; each has a few terms then."""


# --- the free energy of a plan


def log_z(plan: Plan, log_beliefs: Floats) -> float:
    """The log partition function that normalised beliefs stand for: minus the free energy."""
    return logs_z([plan], log_beliefs[None])[0]


def logs_z(plans: Sequence[Plan], log_beliefs: Floats) -> list[float]:
    """The log partition functions of plans with one layout, for one row of log beliefs each."""
    layout = plans[0].layout
    energy = np.exp(log_beliefs)
    energy *= layout.multiplicity
    # A single plan may be large.
    theta = np.array([plan.theta for plan in plans]) if len(plans) > 1 else plans[0].theta[None]
    energy *= log_beliefs - theta
    sums = sums_by_region(layout, energy)
    return [
        plan.log_offset - weighted_by_region(plan, own)
        for plan, own in zip(plans, sums, strict=True)
    ]


def sums_by_region(layout: Layout, values: Floats) -> Floats:
    """For each row of values (S, entries), the sum of the entries of each region.

    Sums are correctly rounded unless there are many regions.
    """
    if len(layout.shapes) >= MANY_REGIONS:
        return layout.by_region.sums(values)
    regions = [layout.region_slice(r) for r in range(len(layout.shapes))]
    rows = [[math.fsum(row[own]) for own in regions] for row in values.tolist()]
    return np.array(rows).reshape(len(values), len(regions))


def weighted_sum(counts: Sequence[int] | Floats, values: Floats) -> float:
    """The sum of values, each times its count, correctly rounded; a count of zero takes it out."""
    counts = np.asarray(counts, dtype=float)
    return exact_sum(np.multiply(counts, values, where=counts != 0, out=np.zeros(len(values))))


def weighted_by_region(plan: Plan, values: Floats) -> float:
    """The sum of a value of each region, times the weight of the region."""
    return weighted_sum(plan.weight_array, values)


def size_by_region(plan: Plan, values: Floats) -> float:
    """The same with weights that all count as positive."""
    return weighted_sum(np.abs(plan.weight_array), values)


def scale_of(plan: Plan) -> int:
    """The largest weight of a free energy, by which it is divided."""
    return plan.largest_weight or 1


def largest_entropy(plan: Plan) -> float:
    """The entropy of independent atoms that are all uniform."""
    logs = map(math.log, plan.layout.atom_ranges)
    return math.fsum(n * log for n, log in zip(plan.atom_counts, logs, strict=True))


def rounding_hides_entropy(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether rounding of the free energy is no longer far below the largest entropy.

    Weights count N to the power of the objects in a region, entropies the atoms: N³ and N² in a
    transitive relation. Neither descent nor the search for blocks sees entropies from 1e13 objects
    on there: friends-knows over 1e14 seemed to have two blocks.
    """
    noise = tolerances.rounding * scale_of(plan)
    # Entropies of a model are a bit at least, and most scales are small.
    return noise > tolerances.far / 2 and noise > tolerances.far * largest_entropy(plan)


# --- consistent beliefs


@dataclass(frozen=True, eq=False)
class Polytope:
    """Consistent beliefs: `matrix @ b == right_side` for the beliefs b of the outer regions.

    entries     the number of all belief entries
    outer       (D) the belief entries of outer regions, which receive no messages
    inner       (I) all other belief entries
    to_inner    (I, D) the beliefs of inner regions are `to_inner @ b`
    matrix      (E, D)
    right_side  (E) one for the first equations, one for each outer region, and zero for the others
    """

    entries: int
    outer: Ints
    inner: Ints
    to_inner: Floats
    matrix: Floats
    right_side: Floats

    @cached_property
    def outer_regions(self) -> int:
        """The number of outer regions."""
        return int(self.right_side.sum())

    @cached_property
    def outer_region_of(self) -> Ints:
        """The outer region of each entry: the equation that says that its beliefs sum to one."""
        return np.nonzero(self.matrix[: self.outer_regions].T)[1]

    @cached_property
    def outer_states(self) -> Floats:
        """How many states each outer entry stands for."""
        return np.asarray(self.matrix[: self.outer_regions].sum(axis=0))

    @property
    def is_tiny(self) -> bool:
        """Whether no library divides the matrices of a point among threads."""
        rows = max(len(self.matrix), len(self.inner))
        return rows**2 * max(rows, len(self.outer)) < IN_ONE_THREAD

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.to_inner.nbytes + self.matrix.nbytes

    def all_entries(self, outer_beliefs: Floats) -> Floats:
        """The beliefs of all regions from those of the outer ones; the last axis is the entry."""
        shape = (*outer_beliefs.shape[:-1], self.entries)
        beliefs = np.empty(shape)
        beliefs[..., self.outer] = outer_beliefs
        beliefs[..., self.inner] = outer_beliefs @ self.to_inner.T
        return beliefs


@contextmanager
def one_thread(consistent: Polytope | None = None) -> Iterator[None]:
    """Handle matrices in one thread, those of a polytope if they are known.

    Matrices are decomposed one after the other. A library that starts all its threads for each of
    them spends most of its time waiting: ten times the processor time for matrices of 400 rows.
    """
    if consistent is not None and consistent.is_tiny:
        yield
        return
    with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    """Finding the libraries takes milliseconds, so they are looked for once."""
    from threadpoolctl import ThreadpoolController  # tiny models do without it

    return ThreadpoolController()


_kept: WeakKeyDictionary[Structure, Polytope] = WeakKeyDictionary()


def polytope(layout: Layout) -> Polytope:
    """The consistent beliefs of a layout; those used last are kept while their layouts live."""
    found = _kept.pop(layout.structure, None)
    # The order of a dictionary is that of insertion, so the least recently used comes first.
    if found is not None:
        _kept[layout.structure] = found
        return found
    found = _kept[layout.structure] = _polytope(layout)
    total = sum(own.nbytes for own in _kept.values())
    for oldest in list(_kept):
        if total <= MOST_KEPT:
            break
        total -= _kept.pop(oldest).nbytes
    return found


def _polytope(layout: Layout) -> Polytope:
    is_inner = np.zeros(layout.belief_entries, dtype=bool)
    inner_regions = distinct(layout.region_of[layout.children])
    is_inner[np.isin(layout.region_of, inner_regions)] = True
    outer, inner = np.flatnonzero(~is_inner), np.flatnonzero(is_inner)
    place = np.empty(layout.belief_entries, dtype=np.int64)
    place[outer], place[inner] = np.arange(len(outer)), np.arange(len(inner))
    to_inner = np.zeros((len(inner), len(outer)))
    known = np.zeros(len(inner), dtype=bool)
    equations: list[Floats] = []
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    # All message entries into a region come before those out of it.
    for entry in np.argsort(layout.children, kind="stable"):
        stretch = slice(layout.source_starts[entry], ends[entry])
        sources, counts = layout.sources[stretch], layout.source_counts[stretch]
        from_inner = is_inner[sources]
        marginal = counts[from_inner] @ to_inner[place[sources[from_inner]]]
        marginal[place[sources[~from_inner]]] += counts[~from_inner]
        child = int(place[layout.children[entry]])
        if not known[child]:
            to_inner[child] = marginal
            known[child] = True
        elif (row := marginal - to_inner[child]).any():
            equations.append(row)
    regions = layout.region_of[outer]
    sums = [
        np.where(regions == region, layout.multiplicity[outer], 0).astype(float)
        for region in distinct(regions)
    ]
    rows = [*sums, *equations]
    matrix = np.array(rows, dtype=float).reshape(len(rows), len(outer))
    right_side = np.zeros(len(matrix))
    right_side[: len(sums)] = 1.0
    return Polytope(
        entries=layout.belief_entries,
        outer=outer,
        inner=inner,
        to_inner=to_inner,
        matrix=matrix,
        right_side=right_side,
    )


# --- the free energy over outer beliefs


class Energy:
    """Free energies over the beliefs of outer regions, each divided by its largest weight.

    Row k of a batch of points belongs to the plan `plans[k]`; all plans share one layout.
    """

    def __init__(self, plans: Sequence[Plan], consistent: Polytope) -> None:
        self.plans = list(plans)
        self.consistent = consistent
        layout = self.plans[0].layout
        self.scale = [scale_of(plan) for plan in plans]
        # Many points may belong to one plan; its numbers are made once.
        place = {plan: k for k, plan in enumerate(dict.fromkeys(plans))}
        rows = np.array([place[plan] for plan in plans])
        per_region = [[own / scale_of(plan) for own in plan.weights] for plan in place]
        weight = np.array(per_region)[:, layout.region_of] * layout.multiplicity
        theta = np.array([plan.theta for plan in place])
        entropies = np.array([largest_entropy(plan) / scale_of(plan) for plan in place])
        self.largest_entropy = entropies[rows]
        entries = np.concatenate([consistent.outer, consistent.inner])
        self._weight, self._theta = weight[:, entries], theta[:, entries]
        self._rows = rows

    def numbers(self, rows: Ints, order: Ints) -> tuple[Floats, Floats]:
        """Weights and log potentials of rows, of outer beliefs and inner ones in some order."""
        which = self._rows[rows][:, None]
        return self._weight[which, order], self._theta[which, order]
