"""What beliefs cannot exceed if they belong to a joint distribution, for a batch of points.

Beliefs of regions that agree with each other need not belong to any joint distribution. What no
joint distribution allows shows in two ways: the entropy is out of bounds, or atoms exclude each
other more than their number allows. Three people cannot all differ from each other in one of two
values.

Both bounds need the marginals of a few atoms of a region. Which ones depends on the layout alone,
so they are listed once (`_Wanted`) and then computed for all points at once.

Shapes: S points of a batch, R regions, A kinds of atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb

from liftgbp.plan import Layout, Plan, Structure
from liftgbp.solve.certified import CertifiedPoint
from liftgbp.solve.energy import (
    size_by_region,
    sums_by_region,
    weighted_by_region,
    weighted_sum,
)
from liftgbp.solve.findings import Finding, Flaw
from liftgbp.solve.frames import precision
from liftgbp.solve.pair_margins import pair_margins
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import (
    Floats,
    Ints,
    Ragged,
    equal_rows,
    group_rows,
    positions_of,
    starts_of,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What beliefs of a point imply, and what no joint distribution exceeds.

    entropy        the entropy that the beliefs imply
    entropy_bound  what no joint entropy with these marginals exceeds
    entropy_flaw   what makes that entropy impossible, if it is
    count_margin   how far exchangeable atoms are from excluding each other more than their number
                   allows, in proportion; negative where no joint distribution has such pairs
    region         the number of the region where that is least, if any region has such atoms
    cycle_margin   how far pairs of variables are from differing too often around a cycle
    """

    entropy: float
    entropy_bound: float
    entropy_flaw: Finding | None
    count_margin: float
    region: int | None
    cycle_margin: float


def limits_of(
    plans: Sequence[Plan],
    beliefs: Floats,
    tolerances: Tolerances,
    entropies: Sequence[float | None],
) -> list[Limits]:
    """The limits of points, one row of beliefs for each plan; the plans share a layout.

    `entropies` has the implied entropies that are known better than from rounded beliefs.
    """
    together = max(1, tolerances.most_numbers // max(1, plans[0].layout.states))
    limits: list[Limits] = []
    # Runs that diverge leave beliefs that are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(plans), together):
            part = slice(first, first + together)
            limits += Bounds(plans[part], beliefs[part], tolerances).limits(entropies[part])
    return limits


def in_balls(plan: Plan, limits: Limits, own: CertifiedPoint, tolerances: Tolerances) -> Limits:
    """The limits of a point that was proven, where rounding of counts hides them from doubles."""
    noise = tolerances.rounding * size_by_region(plan, np.ones(len(plan.weights)))
    if noise <= tolerances.bound_slack * max(limits.entropy_bound, 1.0):
        return limits
    with precision(own.bits):
        bound = _ball_bound(plan, own)
        slack = tolerances.bound_slack * max(float(bound), 1.0)
        flaw = None
        if own.entropy < -slack or own.entropy > bound + slack:
            flaw = _flaw_of(float(own.entropy), float(bound))
    return replace(limits, entropy_bound=float(bound), entropy_flaw=flaw)


def _ball_bound(plan: Plan, own: CertifiedPoint) -> arb:
    """What `Bounds.entropy_bounds` says, in balls."""
    layout = plan.layout
    wanted = _wanted_of(layout)
    beliefs = np.full(layout.belief_entries, arb(0), dtype=object)
    for entry, belief in own.beliefs():
        beliefs[entry] = belief
    entropies = [
        _ball_entropy(layout.marginals(*wanted.places(np.array([k])), beliefs).ravel())
        for k in range(len(wanted.region))
    ]
    singles = [entropies[k] for k in wanted.singles]
    total = sum((n * h for n, h in zip(plan.atom_counts, singles, strict=True)), arb(0))
    ends = [*wanted.first_atoms[1:].tolist(), len(wanted.atoms)]
    in_common = [
        sum((singles[k] for k in wanted.atoms[first:last].tolist()), arb(0))
        - _ball_entropy(layout.full_table(region, beliefs, 0.0).ravel())
        for region, (first, last) in enumerate(zip(wanted.first_atoms, ends, strict=True))
    ]
    bound = total - max(in_common, key=lambda own: own.mid())
    if not layout.order_choices:
        return bound
    choices = [entropies[j] - entropies[g] for j, g in zip(wanted.joint, wanted.given, strict=True)]
    ends = [*wanted.first_choices[1:].tolist(), len(choices)]
    least = [
        min(choices[first:last], key=lambda own: own.mid())
        for first, last in zip(wanted.first_choices, ends, strict=True)
    ]
    in_order = sum((n * h for n, h in zip(plan.order_counts, least, strict=True)), arb(0))
    return min(bound, in_order, key=lambda own: own.mid())


def _ball_entropy(beliefs: Iterable[arb]) -> arb:
    return -sum((own * own.log() for own in beliefs if own > 0), arb(0))


def _flaw_of(entropy: float, bound: float) -> Finding:
    if entropy < 0:
        return Finding(Flaw.NEGATIVE_ENTROPY, (entropy,))
    return Finding(Flaw.LARGE_ENTROPY, (entropy, bound))


class Bounds:
    """The entropies of points, and the bounds of entropies and counts.

    Row k of the beliefs belongs to the plan `plans[k]`; all plans share one layout.
    """

    def __init__(self, plans: Sequence[Plan], beliefs: Floats, tolerances: Tolerances) -> None:
        self._plans = plans
        self._layout = plans[0].layout
        self._beliefs = beliefs
        self._tolerances = tolerances

    def limits(self, known: Sequence[float | None]) -> list[Limits]:
        """The limits of all points; some of their entropies are known better."""
        rounding = [
            own if exact is None else 0.0 for own, exact in zip(self.rounding(), known, strict=True)
        ]
        entropies = [
            own if exact is None else exact
            for own, exact in zip(self.entropies(), known, strict=True)
        ]
        on_ground = pair_margins(self._layout, self._beliefs, self._tolerances)
        found = zip(
            self._plans,
            entropies,
            self.entropy_bounds(rounding),
            self.count_margins(),
            on_ground,
            strict=True,
        )
        limits = []
        for plan, entropy, bound, (margin, region), pairs in found:
            if pairs.clique < margin:
                margin, region = pairs.clique, pairs.region  # noqa: PLW2901
            flaw = self._flaw(plan, entropy, bound)
            limits.append(Limits(entropy, bound, flaw, margin, region, pairs.cycle))
        return limits

    def entropy_is_possible(self) -> list[bool]:
        """Whether the entropies of points lie within their bounds."""
        found = zip(
            self._plans, self.entropies(), self.entropy_bounds(self.rounding()), strict=True
        )
        return [self._flaw(*own) is None for own in found]

    # --- entropies

    @cached_property
    def _of_regions(self) -> Floats:
        """For each point, the entropy of each region's belief."""
        terms = _terms(self._beliefs)
        terms *= self._layout.multiplicity
        return sums_by_region(self._layout, terms)

    def entropies(self) -> list[float]:
        """The entropies that beliefs imply in the Kikuchi approximation.

        Atoms in no region are left out. Large terms of both signs cancel, so the sums are exact.
        """
        return list(map(weighted_by_region, self._plans, self._of_regions))

    def rounding(self) -> list[float]:
        """How far off the entropies may be, as large terms cancel in them."""
        sizes = map(size_by_region, self._plans, self._of_regions)
        return [self._tolerances.rounding * own for own in sizes]

    def _flaw(self, plan: Plan, entropy: float, bound: float) -> Finding | None:
        """What makes an implied entropy impossible, if it is."""
        most = max(bound, 1.0)
        slack = self._tolerances.bound_slack * most
        # Beliefs are rounded, however small the entropy is.
        slack += self._tolerances.rounding * size_by_region(plan, np.ones(len(plan.weights)))
        if -slack <= entropy <= bound + slack:
            return None
        return _flaw_of(entropy, bound)

    def entropy_bounds(self, rounding: Sequence[float]) -> list[float]:
        """What the joint entropy of all atoms in regions cannot exceed, up to its own rounding.

        The smaller of two bounds. One is the sum of the entropies of single atoms, less what the
        atoms of any one region have in common. The other is the sum of the entropies of all atoms
        in some order, each given atoms before it that share a region with it.
        """
        layout, wanted = self._layout, self._wanted
        if not layout.shapes:
            return [0.0] * len(self._plans)
        entropies = self._of_marginals
        singles = entropies[:, wanted.singles]
        together = np.add.reduceat(singles[:, wanted.atoms], wanted.first_atoms, axis=1)
        in_common = (together - self._of_regions).max(axis=1)
        totals = [
            weighted_sum(p.atom_counts, own) for p, own in zip(self._plans, singles, strict=True)
        ]
        bounds = [total - common for total, common in zip(totals, in_common.tolist(), strict=True)]
        if not layout.order_choices:
            return bounds
        choices = entropies[:, wanted.joint] - entropies[:, wanted.given]
        least = np.minimum.reduceat(choices, wanted.first_choices, axis=1)
        in_order = [
            weighted_sum(p.order_counts, own) for p, own in zip(self._plans, least, strict=True)
        ]
        slack = self._tolerances.bound_slack
        return [
            min(bound, ordered + slack * total + own)
            for bound, ordered, total, own in zip(bounds, in_order, totals, rounding, strict=True)
        ]

    # --- counts

    def count_margins(self) -> list[tuple[float, int | None]]:
        """How far pairs of exchangeable atoms are from what is impossible, and where.

        Say that m atoms have a value with probability p each, and any two of them with probability
        q. How many have it is a whole number S, so (S - k)(S - k - 1) is never negative for a whole
        k, and its mean is m (m-1) q - 2 k m p + k (k+1). The k next to the mean of S makes it
        smallest. The result is by how much q exceeds what that requires, in proportion to p
        squared, for the region where that is least.
        """
        margins = np.full(len(self._plans), math.inf)
        where = np.full(len(self._plans), -1)
        counts = np.array([plan.alike_counts for plan in self._plans], dtype=float)
        for number, marginal in enumerate(self._wanted.pairs):
            pair = self._marginal(marginal)
            own = self._margin(pair, counts[:, number, None])
            less = own < margins
            margins[less] = own[less]
            where[less] = self._layout.alike_pairs[number][0]
        return [
            (margin, None if region < 0 else region)
            for margin, region in zip(margins.tolist(), where.tolist(), strict=True)
        ]

    def _margin(self, pair: Floats, atoms: Floats) -> Floats:
        """The margins (S) of marginals of two such atoms, of which there are this many (S, 1)."""
        single = (pair.sum(axis=1) + pair.sum(axis=2)) / 2
        counted = single > self._tolerances.zero_belief
        share = np.where(counted, single, 1.0)
        below = np.floor(atoms * share) / atoms
        least = below * (2 * share - below - 1 / atoms) / (1 - 1 / atoms)
        excess = (np.einsum("sii->si", pair) - least) / share**2
        return np.asarray(np.where(counted, excess, math.inf).min(axis=1, initial=math.inf))

    # --- marginals

    @cached_property
    def _wanted(self) -> _Wanted:
        return _wanted_of(self._layout)

    def _marginal(self, number: int) -> Floats:
        """One of the marginals that are wanted: an array (S, ...) with one axis per atom."""
        regions, axes = self._wanted.places(np.array([number]))
        return self._layout.marginals(regions, axes, self._beliefs)[:, 0]

    @cached_property
    def _of_marginals(self) -> Floats:
        """The entropies of the marginals that are wanted, one column each."""
        wanted = self._wanted
        found = np.empty((len(self._beliefs), len(wanted.region)))
        for numbers in wanted.alike:
            tables = self._layout.marginals(*wanted.places(numbers), self._beliefs)
            found[:, numbers] = _terms(tables).reshape(*tables.shape[:2], -1).sum(axis=2)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _Wanted:
    """The marginals that the bounds of a layout need, numbered from 0, and who needs which.

    region         the region of each
    axes           its axes, as a mask
    alike          those of the same axes of regions of one pattern
    singles        (A) the marginal of each kind of atom, in the smallest region that has it
    atoms          the kinds of atoms of all regions, one region after the other
    first_atoms    (R) where the atoms of each region begin
    joint          for each choice in the order of all atoms, the marginal of the atom and the atoms
                   that are given
    given          and the marginal of those that are given
    first_choices  where the choices of each step begin
    pairs          for each kind of exchangeable atoms, the marginal of two of them
    """

    region: Ints
    axes: Ints
    alike: list[Ints]
    singles: Ints
    atoms: Ints
    first_atoms: Ints
    joint: Ints
    given: Ints
    first_choices: Ints
    pairs: list[int]

    def places(self, numbers: Ints) -> tuple[Ints, tuple[int, ...]]:
        """The regions of some that are alike, and the axes of all of them."""
        return self.region[numbers], positions_of(int(self.axes[numbers[0]]))

    @staticmethod
    def of(layout: Layout) -> _Wanted:
        choices = list(chain.from_iterable(layout.order_choices))
        regions, chosen_axes, givens = zip(*choices, strict=True) if choices else ((), (), ())
        chosen, given = np.array(regions, dtype=np.int64), _masks(givens)
        joint = given | 1 << np.array(chosen_axes, dtype=np.int64)
        paired, *ends = np.array(layout.alike_pairs, dtype=np.int64).reshape(-1, 3).T
        pairs = 1 << ends[0] | 1 << ends[1]
        singles, axis = layout.place_of_atom
        region = np.concatenate([singles, chosen, chosen, paired])
        axes = np.concatenate([1 << axis, joint, given, pairs])
        first, number = group_rows([region, axes])
        lengths = [len(singles), len(joint), len(given)]
        of_singles, of_joint, of_given, of_pairs = np.split(number, np.cumsum(lengths))
        steps = np.array(list(map(len, layout.order_choices)), dtype=np.int64)
        return _Wanted(
            region=region[first],
            axes=axes[first],
            alike=equal_rows([layout.patterns[region[first]], axes[first]]),
            singles=of_singles,
            atoms=layout.atom_of_axis.flat,
            first_atoms=layout.atom_of_axis.starts[:-1],
            joint=of_joint,
            given=of_given,
            first_choices=starts_of(steps)[:-1],
            pairs=of_pairs.tolist(),
        )


_known: WeakKeyDictionary[Structure, _Wanted] = WeakKeyDictionary()
"""The lists of marginals; they live as long as their layouts."""


def _wanted_of(layout: Layout) -> _Wanted:
    if layout.structure not in _known:
        _known[layout.structure] = _Wanted.of(layout)
    return _known[layout.structure]


def _masks(axes: Sequence[Sequence[int]]) -> Ints:
    """Each list of axes as one number."""
    rows = Ragged.of(axes)
    masks = np.zeros(len(rows), dtype=np.int64)
    which = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    np.bitwise_or.at(masks, which, 1 << rows.flat)
    return masks


def _terms(beliefs: Floats) -> Floats:
    """What each state adds to an entropy; there may be millions, so nothing else is made."""
    terms = np.where(beliefs > 0, beliefs, 1.0)
    np.log(terms, out=terms)
    terms *= beliefs
    return np.negative(terms, out=terms)
