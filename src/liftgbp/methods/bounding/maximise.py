"""An interior-point method for the concave programs of `decomposition`.

Beliefs b and levels v of the steps of the order move uphill, and each point on the way gives a
bound. With slacks z of `b >= 0`, w of `v <= H(b)` and s of cuts `G b >= 0`, multipliers λ of the
equations, weights ρ of choices and ζ of cuts, the method looks for

    energy + Σ ρ ∇H - A'λ + G'ζ + z = 0,   A b = r,   Σ_choices ρ = share,
    b z = μ,   w ρ = μ,   s ζ = μ

for a μ that falls to almost nothing. Newton steps change the logs of b and z, not these themselves:
the first equation then nearly stays solved, and it alone makes the bound. Neither equation must be
solved in the end.

Shapes: D entries, S steps, M choices, E equations, G cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from liftgbp.methods.bounding.decomposition import Program
from liftgbp.support.arrays import Bools, Floats

MOST_STEPS = 60
"""The most steps; ten to twenty are usual."""

ENOUGH = 1e-12
"""The distance of the bound from the value, in proportion, at which the method ends; besides that,
each entry keeps the smallest μ."""

CONSISTENT = 1e-9
"""The value counts if no equation between beliefs is off by more than this."""

LAST = 1e-13
"""The smallest μ. The bound exceeds the maximum by about as much for each entry; below, rounding
takes over (chain over 1e6 objects)."""

SHRINK, SHRINK_AT_ONCE = 0.02, 1e-4
"""What μ is multiplied by at least in each step, and in the step that tells how far it can fall."""

STALLED = 4
"""The method ends after this many steps that did not improve the bound, once μ is at its end."""

LONGEST = 10.0
"""The largest change of a log in one step."""

INSIDE = 0.99
"""How far a step goes towards where a slack or a weight would be zero."""

RIDGE = 1e-14
"""What is added to matrices with a unit diagonal before they are inverted."""

LEVEL = 0.1
"""How far the levels are below the entropies at first."""


@dataclass(frozen=True, eq=False, slots=True)
class Maximum:
    """The best bound that was found, and the value and the beliefs where the method ended."""

    bound: float
    value: float
    beliefs: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """Where the method is, or a Newton step from there, in which b and z are changes of logs."""

    b: Floats
    z: Floats
    v: Floats
    w: Floats
    weights: Floats
    multipliers: Floats
    slacks: Floats
    cut_weights: Floats


def maximise(program: Program) -> Maximum:
    """A bound of the maximum of a program."""
    # Points that run away are not followed further.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _maximum(program)


def _maximum(program: Program) -> Maximum:
    point = _start(program)
    best, value, stalled = math.inf, -math.inf, 0
    for _ in range(MOST_STEPS):
        here = _Here(program, point)
        stalled = 0 if here.bound < best or here.mu > 2 * LAST else stalled + 1
        best, value = min(best, here.bound), here.value
        near = np.abs(here.off_equations).max() < CONSISTENT
        enough = ENOUGH * max(1.0, abs(value)) + 2 * LAST * len(point.b)
        if near and best - value <= enough:
            break
        if not math.isfinite(here.bound) or stalled >= STALLED:
            break
        try:
            point = here.next()
        except np.linalg.LinAlgError:
            break
    return Maximum(best, value, here.beliefs)


def _start(program: Program) -> _Point:
    """Beliefs that are lower where energy is, and multipliers that fit them."""
    conditionals, first = program.conditionals, program.first
    region = np.cumsum(np.isin(np.arange(len(program.regions)), first)) - 1
    energy = program.energy / program.multiplicity
    reach = 1 + program.reach
    b = 1 / (reach + np.maximum.reduceat(energy, first)[region] - energy)
    b /= np.add.reduceat(program.multiplicity * b, first)[region]
    joint, shares = conditionals.beliefs(b)
    choices = np.bincount(program.step)[program.step]
    weights = program.shares[program.step] / choices
    slacks = np.maximum(program.cuts @ b, LEVEL)
    cut_weights = np.full(len(slacks), reach)
    slopes = program.energy + weights @ conditionals.slopes(shares)[program.chosen]
    slopes += cut_weights @ program.cuts
    multipliers = np.zeros(len(program.matrix))
    multipliers[: len(first)] = np.maximum.reduceat(slopes / program.multiplicity, first) + reach
    entropies = conditionals.entropies(joint, shares)[program.chosen]
    v = program.least(entropies) - LEVEL
    return _Point(
        b=b,
        z=multipliers @ program.matrix - slopes,
        v=v,
        w=entropies - v[program.step],
        weights=weights,
        multipliers=multipliers,
        slacks=slacks,
        cut_weights=cut_weights,
    )


class _Here:
    """The program at one point."""

    def __init__(self, program: Program, point: _Point) -> None:
        self._program = program
        self._point = point
        self.beliefs = point.b
        self._several: Bools = np.bincount(program.step)[program.step] > 1
        conditionals = program.conditionals
        self._joint, self._shares = conditionals.beliefs(point.b)
        self._entropies = conditionals.entropies(self._joint, self._shares)[program.chosen]
        slopes = conditionals.slopes(self._shares)
        self._slopes = slopes[program.chosen]
        self.bound = program.bound(point.weights, slopes, point.multipliers, point.cut_weights)
        least = program.least(self._entropies)
        self.value = float(program.energy @ point.b + program.shares @ least)
        self.off_equations = program.right_side - program.matrix @ point.b
        self.mu = self._mean(point)

    def _mean(self, point: _Point) -> float:
        choices, cuts = point.w * point.weights, point.slacks * point.cut_weights
        products = np.concatenate([point.b * point.z, choices[self._several], cuts])
        return float(products.mean())

    def next(self) -> _Point:
        """The point after one step."""
        self._factorise()
        # How far μ falls if one heads for the end shows how far it may fall now.
        change = self._change(SHRINK_AT_ONCE * self.mu)
        ahead = self._mean(self._moved(change))
        left = min(1.0, ahead / self.mu)
        if len(self._program.cuts):
            # Slacks of cuts shorten steps of beliefs; μ is not to fall faster than equations hold.
            left = max(left, 1 - self._primal(change))
        falls = max(left**3, SHRINK)
        return self._moved(self._change(max(falls * self.mu, LAST)))

    def _factorise(self) -> None:
        """The matrices of Newton steps in which b changes by logs, scaled to a unit diagonal."""
        program, point = self._program, self._point
        number = len(program.conditionals.starts)
        total = np.bincount(program.chosen, point.weights, number).astype(float)
        hessian = program.conditionals.curvature(self._joint, self._shares, total)
        # Choices with little slack take over from each other.
        self._stiffness = np.where(self._several, point.weights / point.w, 0.0)
        stiff = np.bincount(program.step, self._stiffness)
        self._stiff = np.where(stiff > 0, stiff, 1.0)
        mean = np.zeros((len(self._stiff), len(point.b)))
        np.add.at(mean, program.step, self._stiffness[:, None] * self._slopes)
        mean /= self._stiff[:, None]
        apart = (self._slopes - mean[program.step]) * np.sqrt(self._stiffness)[:, None]
        hessian += apart.T @ apart
        tight = program.cuts * np.sqrt(point.cut_weights / point.slacks)[:, None]
        hessian += tight.T @ tight
        hessian *= point.b[:, None] * point.b
        hessian.flat[:: len(hessian) + 1] += point.b * point.z
        self._scale = 1 / np.sqrt(np.diagonal(hessian))
        hessian *= self._scale[:, None] * self._scale
        hessian.flat[:: len(hessian) + 1] += RIDGE
        self._hessian = hessian
        self._equations = program.matrix * (point.b * self._scale)
        self._solved = np.linalg.solve(hessian, self._equations.T)
        gram = self._equations @ self._solved
        scale = 1 / np.sqrt(np.maximum(np.diagonal(gram), np.finfo(float).tiny))
        gram *= scale[:, None] * scale
        gram.flat[:: len(gram) + 1] += RIDGE
        self._gram, self._gram_scale = gram, scale

    def _change(self, mu: float) -> _Point:
        """The Newton step towards some μ."""
        program, point, step = self._program, self._point, self._program.step
        several, stiffness = self._several, self._stiffness
        off_levels = np.where(several, self._entropies - point.v[step] - point.w, 0.0)
        wanted = np.where(several, mu / point.w - stiffness * off_levels, point.weights)
        short = program.shares - np.bincount(step, wanted)
        lead = wanted - point.weights + stiffness * (short / self._stiff)[step]
        off_cuts = program.cuts @ point.b - point.slacks
        cut_weights = (mu - point.cut_weights * off_cuts) / point.slacks
        pull = np.log(mu / (point.b * point.z))
        reduced = (
            program.energy
            + (point.weights + lead) @ self._slopes
            - point.multipliers @ program.matrix
            + cut_weights @ program.cuts
            + point.z * (1 + pull)
        )
        free = np.linalg.solve(self._hessian, point.b * reduced * self._scale)
        right = (self._equations @ free - self.off_equations) * self._gram_scale
        multipliers = np.linalg.solve(self._gram, right) * self._gram_scale
        b = (free - self._solved @ multipliers) * self._scale
        rise = self._slopes @ (point.b * b)
        grown = program.cuts @ (point.b * b)
        v = (short + np.bincount(step, stiffness * rise)) / self._stiff
        return _Point(
            b=b,
            z=pull - b,
            v=v,
            w=np.where(several, rise - v[step] + off_levels, 0.0),
            weights=wanted - point.weights - stiffness * (rise - v[step]),
            multipliers=multipliers,
            slacks=grown + off_cuts,
            cut_weights=cut_weights - point.cut_weights * (1 + grown / point.slacks),
        )

    def _primal(self, change: _Point) -> float:
        """The part of a step after which beliefs, levels and cuts are still inside."""
        point = self._point
        return min(
            _part(change.b), _inside(change.w, point.w), _inside(change.slacks, point.slacks)
        )

    def _moved(self, change: _Point) -> _Point:
        point = self._point
        primal = self._primal(change)
        dual = min(
            _part(change.z),
            _inside(change.weights, point.weights),
            _inside(change.cut_weights, point.cut_weights),
        )
        z = dual * change.z
        return _Point(
            b=point.b * np.exp(primal * change.b),
            z=point.z * np.where(z < 0, np.exp(np.minimum(z, 0.0)), 1 + z),
            v=point.v + primal * change.v,
            w=point.w + primal * change.w,
            weights=point.weights + dual * change.weights,
            multipliers=point.multipliers + dual * change.multipliers,
            slacks=point.slacks + primal * change.slacks,
            cut_weights=point.cut_weights + dual * change.cut_weights,
        )


def _part(change: Floats) -> float:
    """The part of a step after which no log has changed too much."""
    return min(1.0, LONGEST / max(float(np.abs(change).max()), LONGEST))


def _inside(change: Floats, of: Floats) -> float:
    """The part of a step after which positive numbers are still positive."""
    return INSIDE / max(float((-change / of).max(initial=0.0)), INSIDE)
