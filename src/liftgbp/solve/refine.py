"""Polishing a stationary point where double precision ends.

The weights of the free energy are counts and reach N to the power of the objects in a region, while
what decides the answer may be smaller by as many orders of magnitude. So the gradient is evaluated
with as many digits as the counts have, and each correction is solved for in doubles, as in the
iterative refinement of linear systems. The problem is small: some thousand decimal operations do.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from liftgbp.plan.plan import Floats, Plan
from liftgbp.solve.newton import FLATTEST, SMALLEST, Energy, Metric
from liftgbp.solve.polytope import Polytope

ROUNDS = 15
FIRST_ROUNDS = 2
SETTLED = 1e-15
LARGEST_CORRECTION = 0.5
"""A relative change of a belief beyond this is no correction: the point was not stationary."""

GUARD_DIGITS = 25

Decimals = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Refined:
    """A point with more digits: its beliefs, its free energy and its entropy."""

    outer: Floats
    free_energy: Decimal
    entropy: Decimal
    residual: float


def refine(plan: Plan, consistent: Polytope, outer: Floats) -> Refined:
    """The stationary point near these beliefs of outer regions, and its free energy."""
    energy = Energy([plan], consistent)
    with localcontext(Context(prec=GUARD_DIGITS + len(str(energy.scale[0])))):
        return _Refinement(energy, outer).run()


class _Refinement:
    def __init__(self, energy: Energy, outer: Floats) -> None:
        plan, consistent = energy.plans[0], energy.consistent
        self._energy = energy
        self._alive = np.flatnonzero(outer > SMALLEST)
        self._b = _decimals(outer[self._alive])
        self._start = outer
        inner_alive = consistent.to_inner[:, self._alive].any(axis=1)
        self._to_inner = _integers(consistent.to_inner[inner_alive][:, self._alive])
        self._matrix = _integers(consistent.matrix[:, self._alive])
        self._right_side = _integers(consistent.right_side)
        self._multipliers = _decimals(np.zeros(len(consistent.matrix)))
        counts = [
            weight * int(multiplicity)
            for weight, multiplicity in zip(
                (plan.weights[region] for region in plan.layout.region_of),
                plan.layout.multiplicity,
                strict=True,
            )
        ]
        every = np.array([Decimal(count) for count in counts], dtype=object)
        theta = _decimals(plan.theta)
        outer_entries = consistent.outer[self._alive]
        inner_entries = consistent.inner[inner_alive]
        self._weight, self._inner_weight = every[outer_entries], every[inner_entries]
        self._theta, self._inner_theta = theta[outer_entries], theta[inner_entries]

    def run(self) -> Refined:
        moved = np.inf
        for rounds in range(ROUNDS):
            change = self._correction()
            moved = float(np.abs(change / self._floats()).max(initial=0.0))
            if not moved < LARGEST_CORRECTION:
                break
            self._b = self._b + _decimals(change)
            # The first rounds find the multipliers; only after them a small change says something.
            if moved < SETTLED and rounds >= FIRST_ROUNDS:
                break
        outer = self._start.copy()
        outer[self._alive] = self._floats()
        energy, entropy = self._totals()
        return Refined(outer, energy, entropy, moved)

    def _floats(self) -> Floats:
        return self._b.astype(float)

    def _correction(self) -> Floats:
        """One Newton correction of beliefs and multipliers, solved in doubles."""
        here = np.zeros((1, len(self._start)))
        here[0, self._alive] = self._floats()
        metric = Metric(self._energy, here)
        root = metric.root[0, self._alive]
        miss = (self._right_side - self._matrix @ self._b).astype(float)
        gradient = self._gradient() + self._multipliers @ self._matrix
        coordinates = np.zeros_like(here)
        coordinates[0, self._alive] = root * gradient.astype(float)
        equations = self._energy.consistent.matrix
        across = metric.onto.solve((coordinates * metric.root @ equations.T)[:, None, :])[0, 0]
        self._multipliers = self._multipliers - _decimals(across)
        along = metric.onto.complement(coordinates[:, None, :])[:, 0]
        curvatures = metric.curvatures()
        signed = np.where(curvatures.values < 0, -1.0, 1.0) * np.maximum(
            np.abs(curvatures.values), FLATTEST
        )
        back = metric.onto.solve(miss[None, None, :])[0, 0] @ equations * metric.root[0] ** 2
        newton = -metric.root[0] * curvatures.solve(along, signed)[0]
        return np.asarray((newton + back)[self._alive])

    def _gradient(self) -> Decimals:
        y = self._to_inner @ self._b
        inner = self._inner_weight * (_ln(y) - self._inner_theta + 1)
        outer = self._weight * (_ln(self._b) - self._theta + 1)
        return np.asarray((outer + inner @ self._to_inner) / Decimal(self._energy.scale[0]))

    def _totals(self) -> tuple[Decimal, Decimal]:
        y = self._to_inner @ self._b
        outer, inner = self._weight * self._b, self._inner_weight * y
        zero = Decimal(0)
        entropy = -sum(outer * _ln(self._b), zero) - sum(inner * _ln(y), zero)
        potential = sum(outer * self._theta, zero) + sum(inner * self._inner_theta, zero)
        return -entropy - potential, entropy


def _decimals(values: Floats) -> Decimals:
    return np.array([Decimal(float(value)) for value in values], dtype=object)


def _integers(values: Floats) -> Decimals:
    exact: Decimals = np.vectorize(lambda value: Decimal(int(value)), otypes=[object])(values)
    return exact


def _ln(values: Decimals) -> Decimals:
    return np.array([value.ln() for value in values], dtype=object)
