"""Minima that are the mixture of others: these would be counted twice.

The free energy may have a minimum at the mixture of two worlds, while each of them seems to be a
minimum on the boundary: not all ways inside were ruled out. There are three signs that a mixture
counts a point already. The free energy falls from the point to the mixture, and never rises before:
the entropy of not knowing the world pulls. Or the mixture has the point's beliefs in it as often as
their log Z says, and no more somewhere: what some regions see of it is nothing else. Or the beliefs
about single atoms are the mean of those of all such points, and log Z is the log of their sum: over
larger regions than the worlds need, the mixture has no pairs in common with them, and no straight
way leads there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.exact_log_z import is_comparable
from liftgbp.solve.images import DIGITS
from liftgbp.solve.mean_field import AtomValues
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Kind
from liftgbp.support.arrays import Floats

HALVINGS = range(1, 64)
"""The straight way is looked at at each half of what is left of it, so many times: what happens
nearer to its beginning changes log Z by less than 1e-9."""


def without_parts(plan: Plan, points: list[Point], tolerances: Tolerances) -> list[Point]:
    """The points without those that a better minimum counts already.

    A mixture whose rest is a part of another minimum gives way to its part instead.
    """
    sound = [own for own in points if own.verdict.sound]
    open_ones = [own for own in sound if _is_open(own)]
    counted: set[int] = set()
    for whole in sound if open_ones else ():
        lighter = [own for own in open_ones if own.exact_log_z < whole.exact_log_z]
        if _is_mixture(plan, whole, lighter, tolerances):
            counted |= set(map(id, lighter))
            continue
        parts = [own for own in lighter if is_within(own, whole, tolerances)]
        others = [own for own in open_ones if own is not whole and own not in parts]
        rests = [_rest(whole, own) for own in parts]
        if any(is_within(rest, own, tolerances) for rest in rests for own in others):
            counted.add(id(whole))
            continue
        counted |= set(map(id, parts))
        counted |= {id(own) for own in lighter if leads_down(plan, own, whole, tolerances)}
    return [own for own in points if id(own) not in counted]


def _is_open(point: Point) -> bool:
    """Whether a minimum on the boundary may have ways inside."""
    return point.verdict.kind is Kind.BOUNDARY and not point.verdict.proven


def _is_mixture(plan: Plan, whole: Point, parts: Sequence[Point], tolerances: Tolerances) -> bool:
    """Whether a point is the mixture of others, with the sum of their weights."""
    if len(parts) < 2 or not all(own.precise for own in (whole, *parts)):
        return False
    differences = [DIGITS.subtract(own.exact_log_z, whole.exact_log_z) for own in parts]
    weights = np.exp([float(own) for own in differences])
    if not math.isclose(weights.sum(), 1, abs_tol=tolerances.acceptable):
        return False
    mean = weights @ np.array([_atoms(plan, own) for own in parts])
    return bool(np.abs(mean - _atoms(plan, whole)).max(initial=0.0) < tolerances.same)


def is_within(part: Point, whole: Point, tolerances: Tolerances) -> bool:
    """Whether a point may be a part of another one, which has nothing else somewhere."""
    shorter = float(DIGITS.subtract(whole.exact_log_z, part.exact_log_z))
    least = tolerances.acceptable
    if not (part.precise and whole.precise and least < shorter < -math.log(least)):
        return False
    alive = part.log_beliefs > math.log(tolerances.same)
    shares = np.exp(whole.log_beliefs[alive] - part.log_beliefs[alive])
    return math.isclose(shares.min(initial=1.0), math.exp(-shorter), rel_tol=least)


def _rest(whole: Point, part: Point) -> Point:
    """A mixture without one of its parts, as if it was a point of its own."""
    share = math.exp(float(DIGITS.subtract(part.exact_log_z, whole.exact_log_z)))
    beliefs = np.exp(whole.log_beliefs) - share * np.exp(part.log_beliefs)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(beliefs, 0.0) / (1 - share))
    log_z = DIGITS.add(whole.exact_log_z, Decimal(math.log1p(-share)))
    return replace(whole, log_beliefs=logs, exact_log_z=log_z)


def _atoms(plan: Plan, point: Point) -> Floats:
    """The probabilities of the values of single atoms."""
    return AtomValues.of(plan.layout).marginals(plan.layout, np.exp(point.log_beliefs))


def leads_down(plan: Plan, start: Point, end: Point, tolerances: Tolerances) -> bool:
    """Whether the free energy falls on the straight way between two points, and never rises before.

    It may rise by `tolerances.level`: beliefs that are tiny at the end raise it by less.
    """
    if not is_comparable(plan, tolerances):
        return False
    noise = tolerances.level + tolerances.rounding * plan.largest_weight
    here, there = np.exp(start.log_beliefs), np.exp(end.log_beliefs)
    before, after = _free_energy(plan, here), _free_energy(plan, there)
    return after < before - noise and all(
        _free_energy(plan, here + 0.5**k * (there - here)) < before + noise for k in HALVINGS
    )


def _free_energy(plan: Plan, beliefs: Floats) -> float:
    """The free energy of beliefs, without `plan.log_offset`."""
    layout, alive = plan.layout, beliefs > 0
    logs = np.log(beliefs, where=alive, out=np.zeros_like(beliefs))
    weights = plan.weight_array[layout.region_of] * layout.multiplicity
    return float((weights * beliefs * (logs - plan.theta)).sum())
