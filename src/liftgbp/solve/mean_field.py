"""A lower bound of log Z: what atoms reach that are independent of each other.

For a product of single-atom distributions the Kikuchi entropy is exact, since the counting numbers
count each atom once, and so is the energy. By the variational principle, minus its free energy is
at most the true log Z. Besides, its beliefs are consistent: the lowest minimum of the Kikuchi free
energy lies below all products.

The best product is looked for by mean field: each kind of atom gets the distribution that is best
if all others stay as they are, which changes the others in turn. Where hard formulas rule states
out, these cost much while products are improved, kind by kind; a product counts in the end if none
of its states is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.plan.plan import Layout, Plan, Structure
from liftgbp.solve.starts import Distributions, starting_distributions
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Bools, Floats, Ints, distinct, equal_rows, in_parts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_COUNT = 1e298
"""Larger counts are taken for this one where hard formulas cost something, so that costs stay below
1e308: the count times `Tolerances.hard`, and room for sums."""

IMPOSSIBLE = -1e6
"""The log of a probability that is zero, as a number that may be multiplied by zero."""


def log_z_bounds(plans: Sequence[Plan], tolerances: Tolerances) -> list[float]:
    """What log Z is at least, for plans with one layout; minus infinity if that is unknown."""
    return best_products(plans, tolerances)[0]


def bound_by_marginals(plan: Plan, log_beliefs: Floats, tolerances: Tolerances) -> float:
    """What log Z is at least, since independent atoms reach it that have the marginals of beliefs.

    One product is evaluated, and none is looked for, unless hard formulas rule states out, which
    that product may have. Minus infinity where there are too many atoms.
    """
    layout = plan.layout
    if not layout.shapes or layout.belief_entries > tolerances.most_product_entries:
        return -math.inf
    if _has_dead_states(layout).any():
        return log_z_bounds([plan], tolerances)[0]
    values = AtomValues.of(layout)
    with np.errstate(under="ignore"):
        chances = values.marginals(layout, np.exp(log_beliefs))
    # A probability of zero has no log, and counts for nothing.
    logs = np.log(np.maximum(chances, tolerances.zero_belief))
    logs -= np.log(np.add.reduceat(np.exp(logs), values.first))[values.kind]
    atoms = np.array(plan.atom_counts, dtype=float)[values.kind]
    entropy = -float((atoms * np.exp(logs) * logs).sum())
    beliefs = np.exp(values.log_beliefs(layout, logs[None], tolerances)[0])
    terms = plan.weight_array[layout.region_of] * layout.multiplicity * plan.theta * beliefs
    rounding = tolerances.rounding * float(np.abs(terms).sum())
    return plan.log_offset + float(terms.sum()) - rounding + entropy


def best_products(
    plans: Sequence[Plan], tolerances: Tolerances
) -> tuple[list[float], list[Floats]]:
    """The best products that were found for plans with one layout.

    First what log Z of each plan is at least, minus infinity if no product was found. Then for each
    plan the logs of the beliefs of the best products, one row each.
    """
    layout = plans[0].layout
    if not layout.shapes or layout.belief_entries > tolerances.most_product_entries:
        nothing = np.empty((0, layout.belief_entries))
        return [-math.inf] * len(plans), [nothing] * len(plans)
    starts = AtomValues.of(layout).starts(layout)
    size = layout.belief_entries * starts.shape[1] * tolerances.most_rounds
    together = max(1, tolerances.most_numbers // size)
    bounds: list[float] = []
    log_beliefs: list[Floats] = []
    for first in range(0, len(plans), together):
        of_part = _MeanField(plans[first : first + together], tolerances).best()
        bounds += of_part[0]
        log_beliefs += of_part[1]
    return bounds, log_beliefs


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """Independent atoms: what log Z is at least, as they reach it, and the logs of beliefs."""

    log_z: float
    log_beliefs: Floats


def distinct_products(plan: Plan, tolerances: Tolerances) -> list[Product]:
    """All products that were found and that differ, the best first."""
    layout = plan.layout
    if not layout.shapes or layout.belief_entries > tolerances.most_product_entries:
        return []
    return _MeanField([plan], tolerances).distinct()


_values: WeakKeyDictionary[Structure, AtomValues] = WeakKeyDictionary()


class AtomValues:
    """Which belief entries have which values of which kinds of atoms.

    The values of all kinds of atoms follow each other.
    """

    def __init__(self, layout: Layout) -> None:
        sizes = np.array(layout.atom_ranges)
        self.first = np.cumsum(sizes) - sizes
        self.kind = np.repeat(np.arange(len(sizes)), sizes)
        self._counts: Floats | csr_array | None = None
        self._starts: Floats | None = None

    @staticmethod
    def of(layout: Layout) -> AtomValues:
        """The values of a layout; they live as long as the layout, which they must not hold."""
        if layout.structure not in _values:
            _values[layout.structure] = AtomValues(layout)
        return _values[layout.structure]

    def starts(self, layout: Layout) -> Floats:
        """The log probabilities of each value in the products to start from, one column each."""
        if self._starts is None:
            starts = starting_distributions(layout, random=0, seed=0)
            self._starts = np.array([self.of_groups(layout, own) for own in starts]).T
        return self._starts

    def counts(self, layout: Layout, tolerances: Tolerances) -> Floats | csr_array:
        """How often each belief entry has each value."""
        if self._counts is None:
            dense = self._is_dense(layout, tolerances)
            self._counts = _values_of_entries(layout, self.first, len(self.kind), dense)
        return self._counts

    def _is_dense(self, layout: Layout, tolerances: Tolerances) -> bool:
        return layout.belief_entries * len(self.kind) <= tolerances.most_numbers

    def of_groups(self, layout: Layout, distributions: Distributions) -> Floats:
        """The log probability of each value, by those of the groups of atoms."""
        found = np.empty(len(self.kind))
        group = np.array(layout.group_of_atom)
        for own in distinct(group).tolist():
            logs = np.log(distributions[own])
            found[self.first[group == own][:, None] + np.arange(len(logs))] = logs
        return found

    def log_beliefs(self, layout: Layout, logs: Floats, tolerances: Tolerances) -> Floats:
        """The log beliefs of independent atoms, one row for each row of log probabilities."""
        if self._counts is not None or self._is_dense(layout, tolerances):
            return np.asarray(self.counts(layout, tolerances) @ logs.T).T
        found = np.zeros((len(logs), layout.belief_entries))
        for where, columns in _values_by_axis(layout, self.first):
            found[:, where] += logs[:, columns]
        return found

    def marginals(self, layout: Layout, beliefs: Floats) -> Floats:
        """The probability of each value, from the smallest region that has its kind of atom."""
        totals = np.zeros(len(self.kind))
        region, axis = layout.place_of_atom
        for atoms in equal_rows([layout.patterns[region], axis]):
            found = layout.marginals(region[atoms], (int(axis[atoms[0]]),), beliefs)
            totals[self.first[atoms][:, None] + np.arange(found.shape[1])] = found
        return totals

    def mirrored(self, probabilities: Floats) -> Floats:
        """The probabilities with the values of each kind of atom in reverse order."""
        ends = np.append(self.first[1:], len(self.kind))
        places = self.first[self.kind] + ends[self.kind] - 1 - np.arange(len(self.kind))
        return np.asarray(probabilities[places])


def _values_by_axis(layout: Layout, first: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Belief entries, none of them twice, and the values that one of their axes has."""
    atoms = layout.atom_of_axis
    for alike in equal_rows([layout.patterns]):
        states, shape = layout.representatives[alike[0]], layout.shapes[alike[0]]
        for rows in in_parts(len(alike), len(states)):
            part = alike[rows]
            where = layout.region_starts[part][:, None] + np.arange(len(states))
            for axis, digits in enumerate(np.unravel_index(states, shape)):
                kinds = atoms.flat[atoms.starts[part] + axis]
                yield where, first[kinds][:, None] + digits


def _values_of_entries(layout: Layout, first: Ints, values: int, dense: bool) -> Floats | csr_array:
    found = [(where.ravel(), own.ravel()) for where, own in _values_by_axis(layout, first)]
    entries, columns = zip(*found, strict=True)
    places = np.concatenate(entries), np.concatenate(columns)
    size = layout.belief_entries, values
    if not dense:
        # Importing it takes longer than solving a small model.
        from scipy.sparse import csr_array

        return csr_array((np.ones(len(places[0])), places), shape=size)
    counts = np.zeros(size)
    np.add.at(counts, places, 1.0)
    return counts


def _has_dead_states(layout: Layout) -> Bools:
    """For each region, whether hard formulas rule some of its states out."""
    states = np.add.reduceat(layout.multiplicity, layout.region_starts)
    shapes = np.array([math.prod(shape) for shape in layout.shapes.values])
    return np.asarray(shapes[layout.shapes.which] > states)


class _MeanField:
    """Products for a batch of plans; the axes of arrays are values or entries, plans, products."""

    def __init__(self, plans: Sequence[Plan], tolerances: Tolerances) -> None:
        layout = plans[0].layout
        self._layout = layout
        self._tolerances = tolerances
        self._values = values = AtomValues.of(layout)
        self._counts = values.counts(layout, tolerances)
        self._starts = values.starts(layout)
        self._offsets = np.array([plan.log_offset for plan in plans])
        weights = np.array([plan.weight_array for plan in plans])
        theta = np.array([plan.theta for plan in plans])
        self._theta = (weights[:, layout.region_of] * layout.multiplicity * theta).T
        atoms = np.array([[float(count) for count in plan.atom_counts] for plan in plans])
        self._atoms = atoms[:, values.kind].T
        self._dead = _has_dead_states(layout)
        # Where nothing is ruled out, nothing is multiplied: huge counts would overflow.
        hard = np.clip(np.abs(weights), 1.0, LARGEST_COUNT) * self._dead * tolerances.hard
        # What is possible gains what the rest would cost.
        gain = (hard[:, layout.region_of] * layout.multiplicity).T
        self._climbed = (self._theta + gain)[:, :, None]

    def best(self) -> tuple[list[float], list[Floats]]:
        """The bound of each plan, and the log beliefs of its best products, one row each."""
        bounds, logs, values = self._climb()
        found = [self._distinct(logs[:, k], own) for k, own in enumerate(values)]
        mixed = [self._mixed(logs[:, k, own], values[k, own], k) for k, own in enumerate(found)]
        return np.maximum(bounds, mixed).tolist(), [
            self._beliefs(logs[:, k, own[: self._tolerances.products_followed]])
            for k, own in enumerate(found)
        ]

    def distinct(self) -> list[Product]:
        """The products of the first plan that differ, the best first."""
        _, logs, (values,) = self._climb()
        found = self._distinct(logs[:, 0], values)
        with np.errstate(over="ignore"):
            beliefs = self._values.log_beliefs(
                self._layout, self._certain(logs[:, 0, found]).T, self._tolerances
            )
        beliefs[beliefs < IMPOSSIBLE / 2] = -math.inf
        return [Product(float(values[k]), own) for k, own in zip(found, beliefs, strict=True)]

    def _climb(self) -> tuple[Floats, Floats, Floats]:
        """What the products of each plan reach at most, and the last ones with what they reach."""
        plans = len(self._offsets)
        logs = np.repeat(self._starts[:, None, :], plans, axis=1)
        values = self._bounds(logs)
        bounds = values.max(axis=1)
        hard = bool(self._dead.any())
        if not hard and logs.shape[2] * self._theta.size > self._tolerances.most_climbed:
            followed = np.argsort(-values, axis=1)[:, : self._tolerances.products_followed]
            logs = np.take_along_axis(logs, followed[None], axis=2)
        if hard:
            # Of atoms that exclude each other, the one that moves first gives way.
            turns = self._turns()
            logs = np.concatenate(
                [self._in_turn(logs, own) for own in (turns, turns[::-1])], axis=2
            )
        else:
            rounds: list[Floats] = []
            for _ in range(self._tolerances.most_rounds):
                logs = self._improved(logs)
                rounds.append(logs)
            # The last ones need not be the best: over the transitive relation, atoms go too far.
            before = self._bounds(np.concatenate(rounds[:-1], axis=2))
            bounds = np.maximum(bounds, before.max(axis=1))
        values = self._bounds(logs)
        return np.maximum(bounds, values.max(axis=1)), logs, values

    def _in_turn(self, logs: Floats, turns: Sequence[Ints]) -> Floats:
        """Products after rounds in which the values of one turn after the other change."""
        logs = logs.copy()
        for _ in range(self._tolerances.most_rounds):
            for turn in turns:
                logs[turn] = self._improved(logs)[turn]
        return logs

    def _distinct(self, logs: Floats, values: Floats) -> list[int]:
        """The numbers of possible products that differ, the best first."""
        kept: list[int] = []
        chances = np.exp(logs)
        for k in np.argsort(-values, kind="stable").tolist():
            away = (np.abs(chances[:, k] - chances[:, own]).max() for own in kept)
            if values[k] > -math.inf and all(own >= self._tolerances.far for own in away):
                kept.append(k)
        return kept

    def _beliefs(self, logs: Floats) -> Floats:
        """The log beliefs of products, one row each; with hard formulas, nothing is certain.

        Descent would not leave the boundary, even where the minimum lies inside.
        """
        if self._dead.any():
            logs = np.maximum(logs, math.log(self._tolerances.softened))
        return self._values.log_beliefs(self._layout, logs.T, self._tolerances)

    def _mixed(self, logs: Floats, values: Floats, plan: int) -> float:
        """The bound by a mixture of products, which is larger where their worlds differ.

        Its entropy exceeds those of its parts by what a world tells about the part that it belongs
        to, which Bhattacharyya coefficients bound (A. Kolchinsky and B. D. Tracey, *Estimating
        mixture entropy with pairwise distances*, Entropy 19, 2017).
        """
        if len(values) < 2:
            return -math.inf
        halves = np.exp(logs / 2)
        inside = np.add.reduceat(halves[:, :, None] * halves[:, None], self._values.first)
        atoms = self._atoms[self._values.first, plan]
        # A sum of one may be rounded to less, and is taken many times.
        inside = np.minimum(inside + self._tolerances.rounding, 1.0)
        alike = np.exp((atoms[:, None, None] * np.log(inside)).sum(axis=0))
        shares = np.exp(values - values.max())
        shares /= shares.sum()
        drawn = shares > 0
        told = -np.log((alike @ shares)[drawn])
        return float((shares[drawn] * (values[drawn] + told)).sum())

    def _turns(self) -> list[Ints]:
        """The values of kinds of atoms that change at once: hard formulas let one give way."""
        kinds = len(self._values.first)
        group = np.arange(kinds)
        if kinds * self._theta.size > self._tolerances.most_climbed:
            group = np.array(self._layout.group_of_atom)
        of_value = group[self._values.kind]
        return [np.flatnonzero(of_value == own) for own in distinct(of_value)]

    def _log_beliefs(self, logs: Floats) -> Floats:
        flat = self._counts @ logs.reshape(len(logs), -1)
        return np.asarray(flat).reshape(-1, *logs.shape[1:])

    def _bounds(self, logs: Floats) -> Floats:
        """What log Z is at least by each product; minus infinity if a state is ruled out."""
        if not self._dead.any():
            return self._values_of(logs)
        certain = self._certain(logs)
        possible = self._is_possible(certain > IMPOSSIBLE / 2)
        return np.where(possible, self._values_of(certain), -math.inf)

    def _certain(self, logs: Floats) -> Floats:
        """Products in which probabilities that are hardly any are zero, if formulas are hard."""
        if not self._dead.any():
            return logs
        certain = np.where(logs < self._tolerances.vanished, IMPOSSIBLE, logs)
        first, kind = self._values.first, self._values.kind
        return np.asarray(certain - np.log(np.add.reduceat(np.exp(certain), first))[kind])

    def _is_possible(self, kept: Bools) -> Bools:
        """Whether no state of a product is ruled out, by the values that it keeps."""
        layout = self._layout
        entries = self._log_beliefs((~kept).astype(float)) == 0
        alive = np.add.reduceat(
            layout.multiplicity[:, None, None] * entries, layout.region_starts, axis=0
        )
        values = np.add.reduceat(kept.astype(float), self._values.first, axis=0)
        atoms = layout.atom_of_axis
        states = np.multiply.reduceat(values[atoms.flat], atoms.starts[:-1], axis=0)
        return np.asarray((alive == states).all(axis=0))

    def _values_of(self, logs: Floats) -> Floats:
        """What products reach, less its rounding, if none of their states is ruled out."""
        beliefs = self._log_beliefs(logs)
        np.exp(beliefs, out=beliefs)
        energy, sizes = (
            np.einsum("ep,epk->pk", own, beliefs) for own in (self._theta, np.abs(self._theta))
        )
        entropy = -(self._atoms[:, :, None] * np.exp(logs) * logs).sum(axis=0)
        rounding = self._tolerances.rounding * sizes
        return np.asarray(self._offsets[:, None] + (energy - rounding) + entropy)

    def _improved(self, logs: Floats) -> Floats:
        """Products half way to where each kind of atom is best if all others stay as they are."""
        terms = self._log_beliefs(logs)
        np.exp(terms, out=terms)
        terms *= self._climbed
        slopes = (self._counts.T @ terms.reshape(len(terms), -1)).reshape(logs.shape)
        slopes = slopes * np.exp(-logs) / self._atoms[:, :, None]
        return self._normalised((logs + self._falling(slopes)) / 2)

    def _falling(self, logs: Floats) -> Floats:
        """Logs less the largest of each kind of atom, none of them too small."""
        largest = np.maximum.reduceat(logs, self._values.first)
        logs = logs - largest[self._values.kind]
        return np.maximum(logs, math.log(self._tolerances.zero_belief), out=logs)

    def _normalised(self, logs: Floats) -> Floats:
        """Logs of unnormalised probabilities as those of distributions, none of them too small."""
        logs = self._falling(logs)
        totals = np.log(np.add.reduceat(np.exp(logs), self._values.first))
        logs -= totals[self._values.kind]
        return logs
