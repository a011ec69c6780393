"""Whether all runs of message passing end at one point, proven without another run.

Where regions are pairs of atoms and single atoms, a message from a pair to one of its atoms depends
on what enters the other one, and a pair with potential psi passes on at most

    tanh((1/4) log max psi(a,b) psi(c,d) / (psi(a,d) psi(c,b)))

of a difference. If differences die away after some rounds, whatever the messages are, there is one
fixed point only.

Reference: J. M. Mooij and H. J. Kappen, *Sufficient conditions for convergence of the sum-product
algorithm*, IEEE Transactions on Information Theory 53, 2007.
"""

from __future__ import annotations

import numpy as np

from liftgbp.plan import Layout, Plan
from liftgbp.plan.plan import Factored
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats, Ints, distinct, equal_rows, in_parts


def has_one_fixed_point(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether messages are proven to have one fixed point only; `False` if that is not known.

    >>> import liftgbp
    >>> from liftgbp.plan import compile_plan
    >>> from liftgbp.lift.regions import build_regions
    >>> from liftgbp.lift.shatter import shatter
    >>> from liftgbp.solve.tolerances import Tolerances
    >>> model = liftgbp.parse("p(thing)\\n0.3 p(x) ^ p(y) | x != y")
    >>> plans = [compile_plan(build_regions(shatter(model, {"thing": n}))) for n in (5, 500)]
    >>> [has_one_fixed_point(plan, Tolerances()) for plan in plans]
    [True, False]
    """
    layout = plan.layout
    parent, child = layout.ends_of_messages
    if not _are_pairs_and_atoms(layout, parent, child):
        return False
    passed_on = _passed_on(plan, parent)
    entering = _Entering(plan)
    difference = np.ones(len(parent))
    for _ in range(tolerances.differences_followed):
        total = entering(difference)
        # What enters a pair through both atoms, less what enters it through the child.
        difference += total[parent]
        difference -= total[child]
        difference *= passed_on
        if difference.max(initial=0.0) < tolerances.shrunk:
            return True
    return False


def _are_pairs_and_atoms(layout: Layout, parent: Ints, child: Ints) -> bool:
    """Whether messages go from pairs of atoms to single atoms, and all states are possible."""
    atoms = np.diff(layout.atom_of_axis.starts)
    possible = np.array([bool((own >= 0).all()) for own in layout.entry_of.values], dtype=bool)
    return bool(
        (atoms[child] == 1).all()
        and (atoms[parent] == 2).all()
        and possible[layout.patterns[parent]].all()
    )


def _passed_on(plan: Plan, parent: Ints) -> Floats:
    """For each message the largest part of a difference that its parent passes on."""
    layout = plan.layout
    passed_on = np.zeros(len(layout.shapes))
    pairs = distinct(parent)
    for places in equal_rows([layout.patterns[pairs]]):
        for rows in in_parts(len(places), layout.entry_of[pairs[places[0]]].size):
            own = pairs[places[rows]]
            tables = layout.full_tables(own, plan.theta, missing=0.0)
            passed_on[own] = np.tanh(_interaction(tables) / 4)
    return passed_on[parent]


def _interaction(tables: Floats) -> Floats:
    """The largest log odds ratio of each table of two atoms."""
    found = np.zeros(len(tables))
    for value in range(1, tables.shape[1]):
        # Log odds of one value against each smaller one, given each value of the other atom.
        odds = tables[:, value, None, :] - tables[:, :value, :]
        np.maximum(found, np.ptp(odds, axis=-1).max(axis=-1), out=found)
    return found


class _Entering:
    """Sums over the messages that enter each region, as often as they do.

    All entries of a message enter in the same way, so the first one of each region tells.
    """

    def __init__(self, plan: Plan) -> None:
        self._owner, self._region_of = plan.layout.by_message.of, plan.layout.region_of
        exponents, first = plan.exponents, plan.layout.region_starts
        self._factored = isinstance(exponents, Factored)
        if isinstance(exponents, Factored):
            self._members, self._local = (
                own.matrix[first] for own in (exponents.members, exponents.local)
            )
            exponents = exponents.inflow
        self._inflow = exponents.matrix[first]

    def __call__(self, of_messages: Floats) -> Floats:
        sent = of_messages[self._owner]
        total: Floats = self._inflow @ sent
        if self._factored:
            total += self._members @ total[self._region_of]
            total += self._local @ sent
        return total
