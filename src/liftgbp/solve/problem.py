"""The minimisation problem: consistent beliefs, and the lifted Kikuchi free energy over them.

The belief of an inner region is a marginal of the beliefs above it, so everything is a linear
function of the beliefs b of the outer regions. That all regions agree and sum to one is a set of
linear equations A b = r between those (`Polytope`). Neither depends on domain sizes or weights.
`Energy` evaluates F.

Shapes: S points of a batch, D entries of outer regions, I entries of inner regions, E equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.arrays import Floats, Ints, distinct, exact_sum
from liftgbp.plan import Layout, Plan, Structure
from liftgbp.solve.free_beliefs import Choices, FreeBeliefs
from liftgbp.solve.gram import Gram, LinearMap
from liftgbp.solve.tolerances import Tolerances
from liftgbp.values import dataclass

MOST_KEPT = 2**28
"""Bytes of polytopes that are kept for the next run on the same layout: sweeps and sums over counts
use a handful of small ones, while a single large one takes hundreds of megabytes."""

FACTORED_FROM = 150
"""From this many equations or inner beliefs on SciPy, whose import takes as long as a hundred
decompositions of them, is worth that: thirty formulas have 339."""

IN_ONE_THREAD = 2**15
"""OpenBLAS handles matrices in one thread while their products have fewer terms: those of 32 rows
and columns are divided among threads. Looking for its threads takes milliseconds."""

MANY_REGIONS = 10**4
"""From this many regions on, sums by region are taken in one go; each has a few terms then."""

Row = TypeVar("Row")


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
    if len(values) >= MANY_REGIONS:
        counts = np.asarray(counts, dtype=float)
        return exact_sum(np.multiply(counts, values, where=counts != 0, out=np.zeros(len(values))))
    return math.fsum(n * own for n, own in zip(counts, values.tolist(), strict=True) if n)


def weighted_by_region(plan: Plan, values: Floats) -> float:
    """The sum of a value of each region, times the weight of the region."""
    many = len(values) >= MANY_REGIONS
    return weighted_sum(plan.weight_array if many else plan.weights, values)


def size_by_region(plan: Plan, values: Floats) -> float:
    """The same with weights that all count as positive, for values that are not negative.

    Nothing cancels, so that many terms need not be summed exactly.
    """
    if len(values) >= MANY_REGIONS:
        return float(np.abs(plan.weight_array) @ values)
    return weighted_sum(list(map(abs, plan.weights)), values)


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
    states      (I) how many states each inner entry stands for
    outer       (D) the belief entries of outer regions, which receive no messages
    inner       (I) all other belief entries
    to_inner    (I, D) the beliefs of inner regions are `to_inner @ b`
    matrix      (E, D)
    right_side  (E) one for the first equations, one for each outer region, and zero for the others
    messages    for each message between regions whose beliefs are known without it, its equations,
                padded with the first one. Their sum says that both regions are normalised, so any
                one of them follows from the others
    children    (E) the inner entry that an equation of a message is about
    """

    entries: int
    states: Ints
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

    @cached_property
    def products(self) -> Gram:
        """The products of equations and, after them, of the beliefs of inner regions."""
        return Gram(np.concatenate([self.matrix, self.to_inner]))

    @cached_property
    def equations(self) -> LinearMap:
        """What beliefs of outer regions make of the left sides of all equations."""
        return LinearMap(self.matrix)

    @cached_property
    def marginals(self) -> LinearMap:
        """What beliefs of outer regions make of those of inner regions."""
        return LinearMap(self.to_inner)

    @cached_property
    def outer_regions(self) -> int:
        """The number of outer regions."""
        return int(self.right_side.sum())

    @cached_property
    def outer_region_of(self) -> Ints:
        """The outer region of each entry: the equation that says that its beliefs sum to one."""
        return np.asarray((self.matrix[: self.outer_regions] != 0).argmax(axis=0))

    @cached_property
    def is_large(self) -> bool:
        """Whether Newton steps are taken point by point."""
        return self._rows >= FACTORED_FROM

    @cached_property
    def is_tiny(self) -> bool:
        """Whether no library divides the matrices of a point among threads."""
        return self._rows**2 * max(self._rows, len(self.outer)) < IN_ONE_THREAD

    @property
    def _rows(self) -> int:
        return max(len(self.matrix), len(self.inner))

    @cached_property
    def has_few_free(self) -> bool:
        """Whether points are handled one by one, and few beliefs decide all others."""
        return self.is_large and len(self.outer) <= len(self.matrix) + len(self.inner)

    @cached_property
    def _free_beliefs(self) -> FreeBeliefs:
        return FreeBeliefs(self.matrix, self.right_side, self.to_inner, Tolerances())

    def choices(self, points: int) -> list[Choices]:
        """Choices of free beliefs for each point, to be suited to it; none if it has many."""
        if not self.has_few_free:
            return []
        own = self._free_beliefs
        return [Choices(step=own.copy(), back=own.copy()) for _ in range(points)]

    @cached_property
    def nbytes(self) -> int:
        """The memory that it takes, with its products."""
        products = self.products.nbytes if self.is_large else 0
        return self.to_inner.nbytes + self.matrix.nbytes + self.gram.nbytes + products

    def enough(self, outer_beliefs: Floats) -> Ints:
        """For each point, the numbers of equations from which the others follow.

        Of each message the equation between the largest beliefs is left out: its rounding exceeds
        everything that tiny beliefs have to say.
        """
        size = self.states * self.marginals(outer_beliefs)
        largest = size[:, self.children[self.messages]].argmax(axis=2)
        kept = np.ones((len(outer_beliefs), len(self.matrix)), dtype=bool)
        left_out = np.take_along_axis(self.messages[None], largest[:, :, None], axis=2)[:, :, 0]
        np.put_along_axis(kept, left_out, values=False, axis=1)
        return np.nonzero(kept)[1].reshape(len(outer_beliefs), -1)

    def all_entries(self, outer_beliefs: Floats) -> Floats:
        """The beliefs of all regions from those of the outer ones; the last axis is the entry."""
        shape = (*outer_beliefs.shape[:-1], self.entries)
        beliefs = np.empty(shape)
        beliefs[..., self.outer] = outer_beliefs
        beliefs[..., self.inner] = self.marginals(outer_beliefs)
        return beliefs

    def batches(self, rows: Sequence[Row], most_numbers: int) -> Iterator[Sequence[Row]]:
        """Rows in batches whose arrays have at most this many numbers, or that are one row."""
        equations = len(self.matrix) + len(self.inner)
        # Where points are handled one by one, only their beliefs are in memory together.
        numbers = equations + len(self.outer) if self.is_large else equations * len(self.outer)
        together = max(1, most_numbers // max(1, numbers))
        for first in range(0, len(rows), together):
            yield rows[first : first + together]


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
    return Polytope(
        entries=layout.belief_entries,
        states=layout.multiplicity[inner],
        outer=outer,
        inner=inner,
        to_inner=to_inner,
        matrix=matrix,
        right_side=right_side,
        messages=messages,
        children=children,
    )


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
        for region in distinct(regions)
    ]


def _by_message(equations: Sequence[_Equation], first: int, defining: Set[int]) -> Ints:
    """The numbers of the equations of each message, counted from `first`.

    Messages that define beliefs of their child are left out.
    """
    groups: dict[int, list[int]] = {}
    for number, equation in enumerate(equations, first):
        if equation.message not in defining:
            groups.setdefault(equation.message, []).append(number)
    longest = max(map(len, groups.values()), default=1)
    rows = [own + own[:1] * (longest - len(own)) for own in groups.values()]
    return np.array(rows, dtype=np.int64).reshape(-1, longest)


# --- the free energy over outer beliefs


class Energy:
    """Free energies over the beliefs of outer regions, each divided by its largest weight.

    Row k of a batch of points belongs to the plan `plans[k]`; all plans share one layout.
    """

    def __init__(self, plans: Sequence[Plan], consistent: Polytope, tolerances: Tolerances) -> None:
        self.plans = list(plans)
        self.consistent = consistent
        self.tolerances = tolerances
        # Many points may belong to one plan; its numbers are made once.
        distinct = {id(plan): plan for plan in plans}
        place = {key: k for k, key in enumerate(distinct)}
        rows = np.array([place[id(plan)] for plan in plans])
        numbers = _Numbers(list(distinct.values()))
        self.scale: list[int] = [numbers.scale[k] for k in rows]
        self.largest_entropy = numbers.largest_entropy[rows]
        outer, inner = consistent.outer, consistent.inner
        self.outer_weight = numbers.weight[:, outer][rows]
        self.inner_weight = numbers.weight[:, inner][rows]
        self._outer_theta = numbers.theta[:, outer][rows]
        self._inner_theta = numbers.theta[:, inner][rows]
        self.choices = consistent.choices(len(rows))

    def __getitem__(self, rows: Ints) -> Energy:
        """The energies of some rows, which are in order."""
        if len(rows) == len(self.plans):
            return self
        part = object.__new__(Energy)
        part.consistent, part.tolerances = self.consistent, self.tolerances
        part.plans = [self.plans[k] for k in rows]
        part.scale = [self.scale[k] for k in rows]
        part.choices = [self.choices[k] for k in rows] if self.choices else []
        part.largest_entropy = self.largest_entropy[rows]
        part.outer_weight, part.inner_weight = self.outer_weight[rows], self.inner_weight[rows]
        part._outer_theta, part._inner_theta = self._outer_theta[rows], self._inner_theta[rows]
        return part

    def value(self, b: Floats) -> Floats:
        """The scaled free energy (S) of points (S, D)."""
        return self.value_and_entropy(b)[0]

    def value_and_entropy(self, b: Floats) -> tuple[Floats, Floats]:
        """The scaled free energies and entropies (S) in the Kikuchi approximation."""
        y = self.consistent.marginals(b)
        outer, inner = self.outer_weight * b, self.inner_weight * y
        log_b, log_y = self.log(b), self.log(y)
        value = (outer * (log_b - self._outer_theta)).sum(axis=-1)
        value += (inner * (log_y - self._inner_theta)).sum(axis=-1)
        outer *= log_b
        inner *= log_y
        return value, np.asarray(-outer.sum(axis=-1) - inner.sum(axis=-1))

    def gradient(self, b: Floats) -> Floats:
        """The derivative (S, D) of the value by the beliefs of the outer regions."""
        y = self.consistent.marginals(b)
        inner = self.inner_weight * (self.log(y) - self._inner_theta + 1)
        outer = self.outer_weight * (self.log(b) - self._outer_theta + 1)
        return np.asarray(outer + self.consistent.marginals.transposed(inner))

    def from_zero(self, b: Floats, others: Floats) -> tuple[Floats, Floats, Floats]:
        """How the value of one point changes on the way to others (S, D).

        A part t of the way, it has changed by t (a + k log t) to first order. The result is a, k,
        and the sum of the sizes of all terms of k, counted for all beliefs.
        """
        slope, entropy, size = np.zeros(len(others)), np.zeros(len(others)), np.zeros(len(others))
        marginals = self.consistent.marginals
        for here, there, weight, theta in (
            (b, others, self.outer_weight, self._outer_theta),
            (marginals(b), marginals(others), self.inner_weight, self._inner_theta),
        ):
            way = there - here
            # Beliefs of one atom may be a little larger than zero in small regions only.
            is_zero = here <= self.tolerances.inwards * there
            logs = np.where(is_zero, self.log(there), self.log(here) + 1)
            slope += (weight * way * (logs - theta)).sum(axis=1)
            entropy += (weight * way * is_zero).sum(axis=1)
            size += np.abs(weight * way).sum(axis=1)
        return slope, entropy, size

    def log(self, values: Floats) -> Floats:
        """The logarithm, without an infinity for beliefs that have vanished."""
        return np.log(np.maximum(values, self.tolerances.zero_belief))


class _Numbers:
    """The numbers of plans with one layout, one row each, divided by their largest weights."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        layout = plans[0].layout
        self.scale = [scale_of(plan) for plan in plans]
        scaled = list(zip(plans, self.scale, strict=True))
        per_region = np.array([[weight / scale for weight in p.weights] for p, scale in scaled])
        self.weight: Floats = per_region[:, layout.region_of] * layout.multiplicity
        self.theta = np.array([plan.theta for plan in plans])
        self.largest_entropy = np.array([largest_entropy(p) / scale for p, scale in scaled])
