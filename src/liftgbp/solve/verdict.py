"""How far a point of the free energy can be trusted; `classify` decides, for every solver.

Is it stationary, is it a minimum, are its beliefs possible? Beliefs of regions that agree with each
other need not belong to any joint distribution. What no joint distribution allows shows in two
ways: the entropy is out of bounds, or atoms exclude each other more than their number allows. Three
people cannot all differ from each other in one of two values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan import Layout, Plan
from liftgbp.solve.newton import Step, few_threads, nearest_consistent, newton_step
from liftgbp.solve.problem import Energy, polytope, sums_by_region
from liftgbp.solve.tolerances import Tolerances


class Kind(Enum):
    """What a point of the free energy is."""

    MINIMUM = "minimum"
    SADDLE = "saddle"
    BOUNDARY = "minimum on the boundary"
    VALLEY = "any point of a flat valley"
    UNCHECKED = "not checked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about a point.

    residual       how far it is from stationary, as the largest relative change of a belief
    curvature      the smallest eigenvalue of the Hessian of F in the metric of the outer regions'
                   entropy; positive at a minimum, `None` where it was not computed
    kind           minimum, saddle, minimum on the boundary (some beliefs are zero), any point of a
                   flat valley (others are as good), not checked (the Hessian is too large), or
                   unknown
    entropy        the entropy that log Z implies
    entropy_bound  what no joint entropy with these marginals exceeds
    count_margin   how far exchangeable atoms are from excluding each other more than their number
                   allows, in proportion; negative where no joint distribution has such pairs
    log_z_bound    what the true log Z is at least, since independent atoms reach it
    log_z_slack    how far rounding may take a log Z below that bound
    implausible    what is impossible about the beliefs, in words; empty if nothing is
    unknown        why the kind is not known, in words; empty if it is
    region         the number of the region where atoms exclude each other too much
    """

    residual: float
    curvature: float | None
    kind: Kind
    entropy: float
    entropy_bound: float
    count_margin: float
    log_z_bound: float
    log_z_slack: float
    implausible: str = ""
    unknown: str = ""
    region: int | None = None

    @property
    def plausible(self) -> bool:
        """Whether entropy and counts lie within their bounds, up to rounding."""
        return not self.implausible

    @property
    def flaw(self) -> str:
        """What keeps the point from being (part of) an answer, in words; empty if nothing does."""
        match self.kind:
            case Kind.SADDLE:
                return "the beliefs are a saddle of the free energy, not a minimum"
            case Kind.VALLEY:
                return "the free energy is flat, so that other beliefs are as good as these"
            case Kind.UNKNOWN:
                return self.unknown
        return self.implausible

    @property
    def sound(self) -> bool:
        """Whether the point may be (part of) an answer."""
        return not self.flaw

    def shortfall(self, log_z: float) -> float:
        """By how much a log Z falls short of the bound; zero if it does not, up to rounding."""
        short = self.log_z_bound - log_z
        return short if short > self.log_z_slack else 0.0

    def as_valley(self) -> Verdict:
        """The verdict once another point of the same flat valley has turned up."""
        return replace(self, kind=Kind.VALLEY)

    def __str__(self) -> str:
        curvature = "" if self.curvature is None else f" (smallest curvature {self.curvature:.2g})"
        unknown = f" ({self.unknown})" if self.unknown else ""
        plausible = f"implausible ({self.implausible})" if self.implausible else "plausible"
        return f"{self.kind.value}{curvature}{unknown}, {plausible}, residual {self.residual:.1e}"

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


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


# --- the judge


def classify(
    plan: Plan,
    beliefs: Floats,
    *,
    log_z_bound: float,
    residual: float,
    tolerances: Tolerances,
    step: Step | None,
    unsettled: str = "",
    entropy: float | None = None,
) -> Verdict:
    """The verdict on beliefs, one number per belief entry of the plan.

    `step` is the Newton step at the point, missing where it cannot be afforded (see `steps_at`).
    `unsettled` says in words why the point is not stationary; empty if it is.
    `entropy` is the implied entropy in decimal arithmetic, if the point was evaluated in that.
    """
    # Runs that diverge leave beliefs that are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        polished = entropy is not None
        kind, unknown = _kind(plan, beliefs, step, unsettled, polished, tolerances)
        rounding = 0.0 if polished else _entropy_rounding(plan, beliefs, tolerances)
        implied = _entropy(plan, beliefs) if entropy is None else entropy
        bound = entropy_bound(plan, beliefs, tolerances, rounding)
        margin, region = count_margin(plan, beliefs, tolerances)
        slack = 0.0
        if math.isfinite(log_z_bound):
            slack = tolerances.bound_slack * abs(log_z_bound) + tolerances.level
        crowded = margin < -tolerances.count_slack
        implausible = _impossible_entropy(plan, implied, bound, tolerances)
        if crowded and not implausible:
            implausible = "atoms exclude each other more than their number allows"
    return Verdict(
        residual=residual,
        curvature=_curvature(plan, step),
        kind=kind,
        entropy=implied,
        entropy_bound=bound,
        count_margin=margin,
        log_z_bound=log_z_bound,
        log_z_slack=slack,
        implausible=implausible,
        unknown=unknown,
        region=region if crowded else None,
    )


def is_small(layout: Layout, tolerances: Tolerances) -> bool:
    """Whether the Hessian of the free energy can be afforded."""
    most = tolerances.most_equations
    fits = layout.belief_entries <= tolerances.most_unknowns and layout.message_entries <= most
    return fits and len(np.unique(layout.children)) <= most


def steps_at(
    plans: Sequence[Plan], beliefs: Floats, tolerances: Tolerances
) -> list[tuple[Step | None, str]]:
    """The Newton steps at beliefs that need not be quite consistent, and what is wrong with them.

    One row of beliefs for each plan; the plans share a layout. Where it is too large for a Hessian,
    there are no steps, and nothing is known to be wrong.
    """
    layout = plans[0].layout
    if not layout.message_entries or not is_small(layout, tolerances):
        return [(None, "")] * len(plans)
    consistent = polytope(layout)
    found: list[tuple[Step | None, str]] = []
    with few_threads(len(consistent.matrix)):
        for part in consistent.batches(np.arange(len(plans)).tolist(), tolerances.most_numbers):
            rows = beliefs[part][:, consistent.outer]
            outer, error = nearest_consistent(consistent, rows, tolerances)
            near = np.asarray(error <= tolerances.start_consistent)
            # Rows that are not consistent are stepped from a row of ones, and left out.
            outer = np.where(near[:, None], outer, 1.0)
            energy = Energy([plans[k] for k in part], consistent, tolerances)
            steps = newton_step(energy, outer)
            found += [_checked(steps.row(k), near[k], tolerances) for k in range(len(rows))]
    return found


def _checked(step: Step, near: bool, tolerances: Tolerances) -> tuple[Step | None, str]:
    if not near:
        return None, "no consistent beliefs are near"
    if not step.residual <= tolerances.stationary:
        return step, f"the free energy still falls: a step changes a belief by {step.residual:.1e}"
    return step, ""


def _kind(
    plan: Plan,
    beliefs: Floats,
    step: Step | None,
    unsettled: str,
    polished: bool,
    tolerances: Tolerances,
) -> tuple[Kind, str]:
    """What a point is by its smallest curvature, or why that is not known."""
    if not plan.layout.message_entries:
        # Regions that share nothing: beliefs are normalised potentials, and exact.
        return Kind.MINIMUM, ""
    if unsettled:
        return Kind.UNKNOWN, unsettled
    if step is None:
        return Kind.UNCHECKED, "the Hessian of the free energy is too large"
    rounding = tolerances.curvature_rounding
    if polished:
        rounding = tolerances.polished_curvature_rounding
    if step.lowest < -rounding:
        return Kind.SADDLE, ""
    zeros = beliefs[polytope(plan.layout).outer] <= tolerances.zero_belief
    return Kind.BOUNDARY if zeros.any() else Kind.MINIMUM, ""


def _curvature(plan: Plan, step: Step | None) -> float | None:
    if not plan.layout.message_entries:
        return 1.0
    return None if step is None else float(step.lowest)


# --- entropy


def _impossible_entropy(plan: Plan, entropy: float, bound: float, tolerances: Tolerances) -> str:
    """Why an implied entropy is impossible, in words; empty if it lies between 0 and its bound."""
    most = max(bound, 1.0)
    slack, noise = tolerances.entropy_slack * most, _entropy_noise(plan, tolerances)
    if noise < tolerances.noise_forgiven * most:
        slack += noise
    if -slack <= entropy <= bound + slack:
        return ""
    if entropy < 0:
        return f"the entropy {entropy:.4g} is negative"
    return f"the entropy {entropy:.4g} exceeds its bound {bound:.4g}"


def is_possible(plan: Plan, beliefs: Floats, tolerances: Tolerances) -> bool:
    """Whether the entropy of beliefs is possible."""
    rounding = _entropy_rounding(plan, beliefs, tolerances)
    bound = entropy_bound(plan, beliefs, tolerances, rounding)
    return not _impossible_entropy(plan, _entropy(plan, beliefs), bound, tolerances)


def _entropy(plan: Plan, beliefs: Floats) -> float:
    """The entropy that beliefs imply, in the Kikuchi approximation, atoms in no region left out."""
    return math.fsum(
        weight * own
        for weight, own in zip(plan.weights, _entropies(plan.layout, beliefs), strict=True)
    )


def entropy_bound(
    plan: Plan, beliefs: Floats, tolerances: Tolerances, rounding: float = 0.0
) -> float:
    """What the joint entropy of all atoms in regions cannot exceed, up to its own rounding.

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
        in_order = _entropy_in_order(plan, beliefs)
        bound = min(bound, in_order + tolerances.entropy_slack * total + rounding)
    return bound


def _entropy_rounding(plan: Plan, beliefs: Floats, tolerances: Tolerances) -> float:
    """How far off the entropy of beliefs may be: large terms of both signs cancel in it."""
    entropies = _entropies(plan.layout, beliefs)
    terms = (abs(weight) * own for weight, own in zip(plan.weights, entropies, strict=True))
    return tolerances.rounding * math.fsum(terms)


def _entropy_noise(plan: Plan, tolerances: Tolerances) -> float:
    """How far off an entropy is because beliefs are rounded, however small it is."""
    return tolerances.rounding * math.fsum(abs(weight) for weight in plan.weights)


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
    region = layout.region_of_atom[atom]
    axis = layout.atom_of_axis[region].index(atom)
    table = layout.full_table(region, beliefs, missing=0.0)
    return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k != axis)))


# --- counts


def count_margin(plan: Plan, beliefs: Floats, tolerances: Tolerances) -> tuple[float, int | None]:
    """How far pairs of exchangeable atoms are from what no joint distribution allows, and where.

    Say that m atoms have a value with probability p each, and any two of them with probability q.
    How many have it is a whole number S, so (S - k)(S - k - 1) is never negative for a whole k, and
    its mean is m (m-1) q - 2 k m p + k (k+1). The k next to the mean of S makes it smallest. The
    result is by how much q exceeds what that requires, in proportion to p squared, for the region
    where that is least.
    """
    layout, rarest = plan.layout, tolerances.rarest_value
    margin, where = math.inf, None
    for (region, one, other), atoms in zip(layout.alike_pairs, plan.alike_counts, strict=True):
        table = layout.full_table(region, beliefs, missing=0.0)
        pair = table.sum(axis=tuple(k for k in range(table.ndim) if k not in {one, other}))
        single = (pair.sum(axis=0) + pair.sum(axis=1)) / 2
        share = single[single > rarest]
        below = np.floor(float(atoms) * share) / atoms
        least = below * (2 * share - below - 1 / atoms) / (1 - 1 / atoms)
        excess = (np.diagonal(pair)[single > rarest] - least) / share**2
        if (own := float(excess.min(initial=math.inf))) < margin:
            margin, where = own, region
    return margin, where
