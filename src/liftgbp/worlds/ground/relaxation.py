"""An upper bound of all scores: the best consistent beliefs of the regions of a network.

Over the scopes of factors this is the usual relaxation; loops make it tight where pairs are
frustrated. Whatever solves the linear program, any multipliers λ of the equations A b = 0 between
regions give a bound,

    max_x score(x)  ≤  Σ_regions max_x (c - A'λ)(x),

as beliefs of each region are a distribution. With whole numbers c and multipliers that are rounded
to binary fractions, the right side is computed nearly without error. Reference: D. Sontag and
T. Jaakkola, *New outer bounds on the marginal polytope*, NIPS 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.plan import Plan, compile_plan
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import ContradictionError
from liftgbp.support.workers import finished
from liftgbp.worlds.ground.whole import WholeNetwork

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BINARY_DIGITS = 20
"""Multipliers are rounded to so many binary digits after the point."""

SAFETY = 2.0**-10
"""The sum may be wrong by this much, in units; scores are whole numbers of units."""

ALONE = 5_000
"""Larger programs are solved in a process of their own, as the solver hears no signal."""


def upper_bound(
    network: WholeNetwork, family: str, left: Callable[[], float], most_entries: int
) -> float:
    """A bound of the scores of all worlds, in units, over the regions of a family.

    Infinite if the regions have more states than `most_entries`, or if no time is left; `-inf` if
    some region has no possible state.
    """
    graph = compress(ground_region_graph(network.as_ground, family), network.as_ground)
    try:
        plan = compile_plan(graph)
    except ContradictionError:
        return -math.inf
    if plan.layout.belief_entries > most_entries:
        return math.inf
    program = _Program.of(plan)
    work = partial(_multipliers, seconds=left())
    apart = plan.layout.belief_entries > ALONE
    for _, found in finished(work, [program], 1, apart=apart, wanted=lambda: left() > 0):
        return program.bound(found) + graph.log_constant
    return math.inf


@dataclass(frozen=True, eq=False, slots=True)
class _Program:
    """Maximise gains @ b with equations @ b = 0; those of each region, times, sum up to one."""

    gains: Floats
    equations: csr_array
    region_of: Ints
    times: Floats

    @staticmethod
    def of(plan: Plan) -> _Program:
        layout = plan.layout
        times = layout.multiplicity.astype(float)
        gains = np.array(plan.weights, float)[layout.region_of] * times * plan.theta
        return _Program(gains, _equations(plan), layout.region_of, times)

    def bound(self, multipliers: Floats) -> float:
        """What no world exceeds, whatever the multipliers are."""
        rounded = np.rint(multipliers * 2.0**BINARY_DIGITS) / 2.0**BINARY_DIGITS
        rest = (self.gains - self.equations.T @ rounded) / self.times
        most = np.full(int(self.region_of.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(most, self.region_of, rest)
        return math.floor(math.fsum(most) + SAFETY)


def _equations(plan: Plan) -> csr_array:
    """The beliefs of children are sums of those of their parents: zero equals these rows."""
    from scipy.sparse import coo_array

    layout = plan.layout
    entries = layout.message_entries
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    rows = np.repeat(np.arange(entries), ends - layout.source_starts)
    numbers = np.concatenate([layout.source_counts.astype(float), -np.ones(entries)])
    places = (
        np.concatenate([rows, np.arange(entries)]),
        np.concatenate([layout.sources, layout.children]),
    )
    return coo_array((numbers, places), shape=(entries, layout.belief_entries)).tocsr()


def _multipliers(program: _Program, seconds: float) -> Floats:
    """The multipliers of the best beliefs; zero if they are not found in time."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    gains, equations = program.gains, program.equations
    regions = int(program.region_of.max(initial=-1)) + 1
    places = program.region_of, np.arange(len(gains))
    sums = coo_array((program.times, places), shape=(regions, len(gains)))
    scale = float(np.abs(gains).max(initial=1.0))
    result = linprog(
        -gains / scale,
        A_eq=vstack([equations, sums]).tocsr(),
        b_eq=np.concatenate([np.zeros(equations.shape[0]), np.ones(regions)]),
        bounds=(0, None),
        method="highs",
        options={"time_limit": max(seconds, SAFETY)},
    )
    if result.status != 0:
        return np.zeros(equations.shape[0])
    return np.asarray(-result.eqlin.marginals[: equations.shape[0]] * scale)
