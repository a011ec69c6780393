"""How far a solution can be trusted: is it stationary, is it a minimum, are its beliefs possible?

Beliefs of regions that agree with each other need not belong to any joint distribution. What no
joint distribution allows shows in two ways: the entropy is out of bounds, or atoms exclude each
other more than their number allows. Three people cannot all differ from each other in one of two
values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan.plan import Layout, Plan
from liftgbp.solve.free_energy import sums_by_region

ORDER_SLACK = 1e-12
"""Differences of entropies are no more accurate than this, in proportion to what they are of."""

ROUNDING = 1e-14
FORGIVEN = 1e-3
"""An entropy that is out of bounds by no more than its noise is possible if that is small, in
proportion to the bound."""

RAREST = 1e-150
"""Values that are rarer than this exclude nothing that could be computed."""

COUNT_SLACK = 1e-7
"""Margins of counts are no more accurate than beliefs are, in proportion."""

NEGLIGIBLE = 50.0
"""A point whose log Z is so far below a lower bound of the true one contributes nothing."""


class Kind(Enum):
    """What a stationary point of the free energy is."""

    MINIMUM = "minimum"
    SADDLE = "saddle"
    BOUNDARY = "minimum on the boundary"
    VALLEY = "any point of a flat valley"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about a point.

    residual       how far it is from stationary, as the largest relative change of a belief
    curvature      the smallest eigenvalue of the Hessian of F in the metric of the outer regions'
                   entropy; positive at a minimum, `None` where it was not computed
    kind           minimum, saddle, minimum on the boundary (some beliefs are zero), any point of a
                   flat valley (others are as good), or unknown
    entropy        the entropy that log Z implies
    entropy_bound  what no joint entropy with these marginals exceeds
    count_margin   how far exchangeable atoms are from excluding each other more than their number
                   allows, in proportion; negative where no joint distribution has such pairs
    log_z          the log partition function that it stands for
    log_z_bound    what the true one is at least, since independent atoms reach it
    noise          how far off the entropy and its bound are since beliefs are rounded
    """

    residual: float
    curvature: float | None
    kind: Kind
    entropy: float
    entropy_bound: float
    count_margin: float = math.inf
    log_z: float = math.inf
    log_z_bound: float = -math.inf
    noise: float = 0.0

    @property
    def plausible(self) -> bool:
        """Whether entropy, counts and log Z lie within their bounds, up to rounding."""
        return self._possible_entropy and self._possible_counts and not self._negligible

    @property
    def _possible_entropy(self) -> bool:
        slack = 1e-12 * max(self.entropy_bound, 1.0)
        if self.noise < FORGIVEN * max(self.entropy_bound, 1.0):
            slack += self.noise
        return -slack <= self.entropy <= self.entropy_bound + slack

    @property
    def _possible_counts(self) -> bool:
        return not self.count_margin < -COUNT_SLACK

    @property
    def _negligible(self) -> bool:
        """Whether the point is next to nothing of what independent atoms alone contribute."""
        return falls_short(self.log_z, self.log_z_bound - NEGLIGIBLE)

    def __str__(self) -> str:
        curvature = "" if self.curvature is None else f" (smallest curvature {self.curvature:.2g})"
        return f"{self.kind.value}{curvature}, {self._in_words}, residual {self.residual:.1e}"

    @property
    def _in_words(self) -> str:
        if self.plausible:
            if self.kind is Kind.SADDLE or not falls_short(self.log_z, self.log_z_bound):
                return "entropy plausible"
            bound = f"{self.log_z_bound:.6g}"
            return f"entropy plausible, but log Z alone below its lower bound {bound}"
        if self._possible_entropy and self._possible_counts:
            return f"log Z below its lower bound {self.log_z_bound:.6g}: implausible"
        if self._possible_entropy:
            return "atoms exclude each other more than their number allows: implausible"
        if self.entropy < 0:
            return f"entropy {self.entropy:.4g} is negative: implausible"
        return f"entropy {self.entropy:.4g} exceeds {self.entropy_bound:.4g}: implausible"

    def as_dict(self) -> dict[str, object]:
        """The verdict for JSON."""
        return {
            "text": str(self),
            "residual": _finite(self.residual),
            "curvature": self.curvature,
            "kind": self.kind.value,
            "entropy": _finite(self.entropy),
            "entropy_bound": _finite(self.entropy_bound),
            "count_margin": _finite(self.count_margin),
            "log_z_bound": _finite(self.log_z_bound),
            "plausible": self.plausible,
        }


def falls_short(log_z: float, bound: float) -> bool:
    """Whether log Z is below a bound by more than rounding."""
    slack = 1e-11 * abs(bound) + 1e-9 if math.isfinite(bound) else 0.0
    return log_z < bound - slack


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def entropy(plan: Plan, beliefs: Floats) -> float:
    """The entropy that beliefs imply, in the Kikuchi approximation, atoms in no region left out."""
    return math.fsum(
        weight * own
        for weight, own in zip(plan.weights, _entropies(plan.layout, beliefs), strict=True)
    )


def entropy_bound(plan: Plan, beliefs: Floats, rounding: float = 0.0) -> float:
    """What the joint entropy of all atoms in regions cannot exceed, but for its own rounding.

    The smaller of two bounds. One is the sum of the entropies of single atoms, less what the atoms
    of any one region have in common. The other is the sum of the entropies of all atoms in some
    order, each given atoms before it that share a region with it.
    """
    layout = plan.layout
    singles = [
        _entropy_of(atom_marginal(plan, beliefs, atom)) for atom in range(len(plan.atom_counts))
    ]
    in_common = (
        math.fsum(singles[atom] for atom in atoms) - joint
        for atoms, joint in zip(layout.atom_of_axis, _entropies(layout, beliefs), strict=True)
    )
    total = math.fsum(n * h for n, h in zip(plan.atom_counts, singles, strict=True))
    bound = total - max(in_common, default=0.0)
    if layout.order_choices:
        bound = min(bound, _entropy_in_order(plan, beliefs) + ORDER_SLACK * total + rounding)
    return bound


def count_margin(plan: Plan, beliefs: Floats) -> float:
    """How far pairs of exchangeable atoms are from what no joint distribution allows.

    Say that m atoms have a value with probability p each, and any two of them with probability q.
    How many have it is a whole number S, so (S - k)(S - k - 1) is never negative for a whole k, and
    its mean is m (m-1) q - 2 k m p + k (k+1). The k next to the mean of S makes it smallest. The
    result is by how much q exceeds what that requires, in proportion to p squared.
    """
    layout, margin = plan.layout, math.inf
    for (region, one, other), atoms in zip(layout.alike_pairs, plan.alike_counts, strict=True):
        table = layout.full_table(region, beliefs, missing=0.0)
        pair = table.sum(axis=tuple(k for k in range(table.ndim) if k not in {one, other}))
        single = (pair.sum(axis=0) + pair.sum(axis=1)) / 2
        share = single[single > RAREST]
        below = np.floor(float(atoms) * share) / atoms
        least = below * (2 * share - below - 1 / atoms) / (1 - 1 / atoms)
        excess = (np.diagonal(pair)[single > RAREST] - least) / share**2
        margin = min(margin, float(excess.min(initial=math.inf)))
    return margin


def entropy_rounding(plan: Plan, beliefs: Floats) -> float:
    """How far off the entropy of beliefs may be: large terms of both signs cancel in it."""
    entropies = _entropies(plan.layout, beliefs)
    terms = (abs(weight) * own for weight, own in zip(plan.weights, entropies, strict=True))
    return ROUNDING * math.fsum(terms)


def entropy_noise(plan: Plan) -> float:
    """How far off an entropy is since beliefs are rounded, however small it is."""
    return ROUNDING * math.fsum(abs(weight) for weight in plan.weights)


def _entropy_in_order(plan: Plan, beliefs: Floats) -> float:
    """The sum of the entropies of all atoms, each given the best choice of atoms before it."""
    tables: dict[int, Floats] = {}
    known: dict[tuple[int, frozenset[int]], float] = {}

    def entropy_over(region: int, axes: frozenset[int]) -> float:
        if (region, axes) not in known:
            if region not in tables:
                tables[region] = plan.layout.full_table(region, beliefs, missing=0.0)
            table = tables[region]
            others = tuple(k for k in range(table.ndim) if k not in axes)
            known[region, axes] = _entropy_of(table.sum(axis=others).ravel())
        return known[region, axes]

    return math.fsum(
        count
        * min(
            entropy_over(region, frozenset({axis, *given})) - entropy_over(region, frozenset(given))
            for region, axis, given in choices
        )
        for count, choices in zip(plan.order_counts, plan.layout.order_choices, strict=True)
    )


def _entropies(layout: Layout, beliefs: Floats) -> list[float]:
    """The entropy of each region's belief."""
    logs = np.log(np.where(beliefs > 0, beliefs, 1.0))
    return sums_by_region(layout, -layout.multiplicity * beliefs * logs)


def _entropy_of(beliefs: Floats) -> float:
    logs = np.log(np.where(beliefs > 0, beliefs, 1.0))
    return -math.fsum(beliefs * logs)


def atom_marginal(plan: Plan, beliefs: Floats, atom: int) -> Floats:
    """The distribution of one kind of atom, from the smallest region that has it."""
    layout = plan.layout
    region = layout.home_of_atom[atom]
    axis = layout.atom_of_axis[region].index(atom)
    table = layout.full_table(region, beliefs, missing=0.0)
    return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k != axis)))
