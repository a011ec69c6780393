"""An upper bound of log Z: energy plus a sum of conditional entropies, over consistent beliefs.

For any order of all atoms, the joint entropy is the sum of the entropies of each atom given all
atoms before it, and it grows if fewer atoms are given. So

    log Z  =  max_p E_p[θ] + H(p)  ≤  max_b E_b[θ] + Σ_s n_s H_b(X_s | given_s)

where each step s of an order stands for n_s ground atoms, and the beliefs b of regions agree with
each other (`solve.problem.Polytope`). The right side is concave in b (A. Globerson and T. Jaakkola,
*Approximate inference using conditional entropy decompositions*, AISTATS 2007).

The value where a solver stops is no bound yet; a dual value is. For any distributions q, no
conditional entropy exceeds the cross entropy -E_b[log q(X_s | given_s)], so the right side is at
most the maximum of a linear function g'b. And for any multipliers λ of the equations A b = 0
between regions, that is at most Σ_α max_x (g - A'λ)(x), a sum over outer regions. `Program.bound`
evaluates this for the q and λ where a solver stopped, and adds what rounding may have taken away.

Shapes: D entries of outer regions, K joint states, C conditionals, S steps of the order, E
equations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.plan import Layout, Plan
from liftgbp.plan.states import project_states
from liftgbp.solve.energy import Polytope, polytope
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import InternalError

UNIT = 2.0**-52
"""What rounding does to one operation, in proportion, at most twice as much as it really does."""

FEW = 32
"""More than the operations that make one term of a sum: ratios, logs, products with weights."""

LEAST = 1e-300
"""Beliefs below this count as this much where logs are taken."""

NARROW = 16
"""Up to this many entries of a given state are multiplied pair by pair."""

DEPENDENT = 1e-9
"""An equation follows from others if this part of it or less is left without them; equations have
small whole coefficients."""


@dataclass(frozen=True, eq=False)
class Conditionals:
    """Entropies of an atom given others in its region, as functions of the beliefs b.

    A row is a joint state of an atom and what is given. Given states whose rows are the same
    functions are one.

    joint   (K, D) the beliefs of joint states are `joint @ b`
    group   (K) the given state of each row
    times   (K) how many joint states a row stands for
    starts  (C) the first row of each conditional
    """

    joint: Floats
    group: Ints
    times: Floats
    starts: Ints

    def beliefs(self, b: Floats) -> tuple[Floats, Floats]:
        """The beliefs of joint states, none of them zero, and what they are of the given state."""
        row, column, value = self._entries
        joint = np.maximum(np.bincount(row, value * b[column]), LEAST)
        return joint, joint / np.bincount(self.group, joint)[self.group]

    def entropies(self, joint: Floats, shares: Floats) -> Floats:
        """All conditional entropies, (C)."""
        return -np.add.reduceat(self.times * joint * np.log(shares), self.starts)

    def slopes(self, shares: Floats) -> Floats:
        """Their derivatives by the beliefs (C, D), which also are cross entropies with `shares`."""
        row, column, value = self._entries
        terms = (-self.times * np.log(shares))[row] * value
        size = len(self.starts), self.joint.shape[1]
        places = self._conditional[row] * size[1] + column
        return np.bincount(places, terms, math.prod(size)).astype(float).reshape(size)

    def curvature(self, joint: Floats, shares: Floats, weights: Floats) -> Floats:
        """Minus the second derivative (D, D) of their sum with weights (C)."""
        scale = np.sqrt(weights[self._conditional] * self.times / joint)
        wide = self._wide
        rows = (self.joint[wide] - shares[wide, None] * self._given[wide]) * scale[wide, None]
        total = rows.T @ rows
        row, of_joint, of_given, first, second, place = self._narrow
        entries = (of_joint - shares[row] * of_given) * scale[row]
        total += np.bincount(place, entries[first] * entries[second], total.size).reshape(
            total.shape
        )
        return np.asarray(total)

    @cached_property
    def most_terms(self) -> int:
        """The most joint states of a conditional that an entry is part of."""
        return int(np.add.reduceat(self.joint != 0, self.starts, axis=0).max())

    # Most joint states consist of a few entries, so that sums over these are faster than products
    # of matrices.

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Floats]:
        """The row, the column and the value of all numbers of `joint` that are not zero."""
        row, column = np.nonzero(self.joint)
        return row, column, self.joint[row, column]

    @cached_property
    def _conditional(self) -> Ints:
        """The conditional of each row."""
        lengths = np.diff(np.append(self.starts, len(self.joint)))
        return np.repeat(np.arange(len(self.starts)), lengths)

    @cached_property
    def _given(self) -> Floats:
        total = np.zeros((int(self.group.max()) + 1, self.joint.shape[1]))
        np.add.at(total, self.group, self.joint)
        return total[self.group]

    @cached_property
    def _wide(self) -> Ints:
        """The rows whose given states have many entries."""
        return np.flatnonzero((self._given != 0).sum(axis=1) > NARROW)

    @cached_property
    def _narrow(self) -> tuple[Ints, Floats, Floats, Ints, Ints, Ints]:
        """The other rows: all entries of their given states, and all pairs of entries in a row.

        For an entry, its row and the numbers of `joint` and of the given state; for a pair, both
        entries, and the place in a matrix (D, D) that they belong to.
        """
        given = self._given.copy()
        given[self._wide] = 0.0
        row, column = np.nonzero(given)
        lengths = np.bincount(row, minlength=len(given))
        first = np.repeat(np.arange(len(row)), lengths[row])
        begins = np.cumsum(lengths) - lengths
        within = np.arange(len(first)) - np.repeat(
            np.cumsum(lengths[row]) - lengths[row], lengths[row]
        )
        second = begins[row][first] + within
        place = column[first] * given.shape[1] + column[second]
        return row, self.joint[row, column], given[row, column], first, second, place


@dataclass(frozen=True, eq=False)
class Program:
    """What is maximised: energy and entropies per atom, less what all worlds have in common.

    Each step of the order has several conditionals, and takes the least of their entropies.

    regions       (D) the number of the outer region of each entry
    multiplicity  (D) how many states each entry stands for
    energy        (D) the expected energy is `energy @ b`
    energy_size   (D) the sizes of the terms that it was added up from
    matrix        (E, D) consistent beliefs are `matrix @ b == right_side`; no equation follows from
                  the others, and the first ones say that regions sum to one
    right_side    (E)
    shares        (S) what part of all atoms each step has
    step          for each choice of a step, the step, in order
    chosen        and the conditional
    conditionals  what there is to choose from
    cuts          (G, D) beliefs of worlds also satisfy `cuts @ b >= 0` (see `count_cuts`)
    reach         by how much cuts may lower the maximum
    """

    regions: Ints
    multiplicity: Floats
    energy: Floats
    energy_size: Floats
    matrix: Floats
    right_side: Floats
    shares: Floats
    step: Ints
    chosen: Ints
    conditionals: Conditionals
    cuts: Floats
    reach: float

    @cached_property
    def first(self) -> Ints:
        """The first entry of each outer region."""
        return np.unique(self.regions, return_index=True)[1]

    def least(self, entropies: Floats) -> Floats:
        """The least entropy of each step, (S), of those of all choices."""
        return np.minimum.reduceat(entropies, np.unique(self.step, return_index=True)[1])

    def bound(
        self, choice_weights: Floats, slopes: Floats, multipliers: Floats, cut_weights: Floats
    ) -> float:
        """What the program nowhere exceeds.

        `choice_weights` and `cut_weights` may be any positive numbers, `slopes` are cross entropies
        with any distributions (see `Conditionals.slopes`), and multipliers any numbers. Those of
        the sums are not used, as the best ones are known.
        """
        total = np.bincount(self.step, choice_weights)
        weights = choice_weights * (self.shares / total)[self.step]
        entropy = weights @ slopes[self.chosen]
        sums = len(self.first)
        between, given = self.matrix[sums:], multipliers[sums:]
        size = self.energy_size + entropy + np.abs(given) @ np.abs(between)
        size += cut_weights @ np.abs(self.cuts)
        rest = self.energy + entropy - given @ between + cut_weights @ self.cuts
        rounding = UNIT * self._operations
        highest = np.maximum.reduceat((rest + rounding * size) / self.multiplicity, self.first)
        # Conditionals sum to one up to rounding, and their weights sum to one.
        return math.fsum(highest) + rounding * (1 + float(np.abs(highest).sum()))

    @cached_property
    def _operations(self) -> int:
        """The most operations behind a number of the linear bound: terms that are not zero."""
        equations = (self.matrix != 0).sum(axis=0) + (self.cuts != 0).sum(axis=0)
        return FEW + self.conditionals.most_terms + len(self.step) + int(equations.max())


def program_of(graph: LiftedRegionGraph, plan: Plan) -> Program:
    """The program of a region graph with its plan."""
    layout = plan.layout
    consistent = polytope(layout)
    atoms = sum(plan.order_counts)
    steps = [
        (count, choices)
        for count, choices in zip(plan.order_counts, layout.order_choices, strict=True)
        if count
    ]
    choices = list(dict.fromkeys(own for _, step in steps for own in step))
    number = {choice: k for k, choice in enumerate(choices)}
    equations = _independent(consistent.matrix)
    energy = _energy(graph, layout, consistent, atoms)
    return Program(
        regions=layout.region_of[consistent.outer],
        multiplicity=layout.multiplicity[consistent.outer].astype(float),
        energy=energy,
        # No term of it is positive.
        energy_size=np.abs(energy),
        matrix=consistent.matrix[equations],
        right_side=consistent.right_side[equations],
        shares=np.array([count / atoms for count, _ in steps]),
        step=np.repeat(np.arange(len(steps)), [len(own) for _, own in steps]),
        chosen=np.array([number[choice] for _, own in steps for choice in own]),
        conditionals=_conditionals(layout, consistent, choices),
        cuts=np.zeros((0, len(consistent.outer))),
        reach=0.0,
    )


def operations(layout: Layout) -> int:
    """About how many operations a step of the solver takes, and twice that to set it up."""
    inner = set(layout.region_of[layout.children].tolist())
    entries = sum(len(own) for r, own in enumerate(layout.representatives) if r not in inner)
    choices = {own for step in layout.order_choices for own in step}
    rows = sum(
        math.prod(layout.shapes[region][k] for k in (axis, *given))
        for region, axis, given in choices
    )
    return entries**2 * (entries + rows)


# --- parts of a program


def _conditionals(
    layout: Layout, consistent: Polytope, choices: Sequence[tuple[int, int, tuple[int, ...]]]
) -> Conditionals:
    joint: list[Floats] = []
    group: list[Ints] = []
    times: list[Floats] = []
    groups = 0
    for region, axis, given in choices:
        own = layout.region_slice(region)
        first = int(np.searchsorted(consistent.outer, own.start))
        if first >= len(consistent.outer) or consistent.outer[first] != own.start:
            raise InternalError("atoms are conditioned inside an outer region")
        shape, entry_of = layout.shapes[region], layout.entry_of[region]
        rows, number, count = _rows(shape, entry_of, axis, given, own.stop - own.start)
        whole = np.zeros((len(rows), len(consistent.outer)))
        whole[:, first : first + rows.shape[1]] = rows
        joint.append(whole)
        group.append(groups + number)
        times.append(count)
        groups += int(number.max()) + 1
    starts = np.cumsum([0, *map(len, joint[:-1])])
    return Conditionals(np.concatenate(joint), np.concatenate(group), np.concatenate(times), starts)


def _rows(
    shape: Sequence[int], entry_of: Ints, axis: int, given: tuple[int, ...], entries: int
) -> tuple[Floats, Ints, Floats]:
    """Joint states as functions of the entries of a region, their given states, and numbers."""
    states = np.flatnonzero(entry_of >= 0)
    axes = (*given, axis)
    table = np.zeros((math.prod(shape[k] for k in axes), entries))
    np.add.at(table, (project_states(states, shape, axes), entry_of[states]), 1.0)
    functions, function_of = _distinct(table)
    by_given = np.sort(function_of.reshape(-1, shape[axis]), axis=1)
    distinct, copies = np.unique(by_given, axis=0, return_counts=True)
    rows = functions[distinct.ravel()]
    possible = np.asarray(rows.any(axis=1))
    group = np.repeat(np.arange(len(distinct)), shape[axis])[possible]
    _, group = np.unique(group, return_inverse=True)
    return rows[possible], group, np.repeat(copies, shape[axis])[possible].astype(float)


def _distinct(table: Floats) -> tuple[Floats, Ints]:
    """The different rows of a table of small whole numbers, and which of them each row is.

    Sorting long rows takes long, so they are told apart by hashes, and then compared.
    """
    factors = np.random.default_rng(0).integers(1, 2**40, table.shape[1])
    hashes = table.astype(np.int64) @ factors
    _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(table[first][number], table):
        raise InternalError("two functions of beliefs have the same hash")
    return table[first], number


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """Where the energy of a kind of factors may be read: in an outer region, at all places there.

    region  the outer region
    first   its first entry among those of all outer regions
    times   how many states each of its entries stands for
    tables  for each place, which entry of the factor's table each entry of the region reads
    """

    region: int
    first: int
    times: Ints
    tables: tuple[Ints, ...]


def readings_of(
    graph: LiftedRegionGraph, layout: Layout, consistent: Polytope, parfactor: int
) -> list[Reading]:
    """Where the energy of a kind of factors may be read, small regions first."""
    regions, first = np.unique(layout.region_of[consistent.outer], return_index=True)
    found = []
    for region, start in zip(regions.tolist(), first.tolist(), strict=True):
        held = [own.axes for own in graph.regions[region].held if own.parfactor == parfactor]
        if held:
            states, shape = layout.representatives[region], layout.shapes[region]
            tables = tuple(project_states(states, shape, own) for own in held)
            times = layout.multiplicity[layout.region_slice(region)]
            found.append(Reading(region, start, times, tables))
    return sorted(found, key=lambda own: (len(layout.entry_of[own.region]), own.region))


def _energy(graph: LiftedRegionGraph, layout: Layout, consistent: Polytope, atoms: int) -> Floats:
    """The energy per atom, less the largest energy of each factor, as a function of beliefs.

    Each kind of factors is read in one outer region, at all its places there. So no large terms
    cancel, as they do in the Kikuchi energy.
    """
    energy = np.zeros(len(consistent.outer))
    for number in range(len(graph.normal.parfactors)):
        reading = readings_of(graph, layout, consistent, number)[0]
        log_table = graph.normal.parfactors[number].log_table
        table = (log_table - log_table.max()).ravel()
        scale = graph.factor_counts[number] / (atoms * len(reading.tables)) * reading.times
        for own in reading.tables:
            energy[reading.first : reading.first + len(own)] += scale * table[own]
    return energy


def common_energy(graph: LiftedRegionGraph) -> Fraction:
    """What all worlds have in common: constants, and the largest energy of each factor."""
    pairs = zip(graph.normal.parfactors, graph.factor_counts, strict=True)
    tops = (count * Fraction(float(own.log_table.max())) for own, count in pairs)
    return graph.normal.exact_constant + sum(tops, Fraction(0))


def _independent(matrix: Floats) -> Ints:
    """The rows of a matrix that do not follow from those before them."""
    kept: list[int] = []
    basis = np.empty((min(matrix.shape), matrix.shape[1]))
    for number, row in enumerate(matrix):
        known = basis[: len(kept)]
        rest = row - (known @ row) @ known
        rest -= (known @ rest) @ known
        length = float(np.linalg.norm(rest))
        if length > DEPENDENT * float(np.linalg.norm(row)):
            basis[len(kept)] = rest / length
            kept.append(number)
    return np.array(kept, dtype=np.int64)
