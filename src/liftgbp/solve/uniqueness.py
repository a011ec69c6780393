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

from typing import cast

import numpy as np

from liftgbp.arrays import Floats, Ints, distinct, equal_rows, expand, in_parts
from liftgbp.plan import Layout, Plan
from liftgbp.plan.plan import Exponents, Factored
from liftgbp.solve.tolerances import Tolerances


def has_one_fixed_point(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether messages are proven to have one fixed point only; `False` if that is not known.

    >>> import liftgbp
    >>> from liftgbp.plan import compile_plan
    >>> from liftgbp.regions import build_regions
    >>> from liftgbp.shatter import shatter
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

    All entries of a message enter in the same way, so one of each region tells.
    """

    def __init__(self, plan: Plan) -> None:
        layout, exponents = plan.layout, plan.exponents
        messages, regions = layout.by_message.of, layout.region_of
        self._factored = isinstance(exponents, Factored)
        if isinstance(exponents, Factored):
            self._inflow = _RegionSums(layout, exponents.inflow, messages)
            self._members = _RegionSums(layout, exponents.members, regions)
            self._local = _RegionSums(layout, exponents.local, messages)
        else:
            self._inflow = _RegionSums(layout, exponents, messages)

    def __call__(self, of_messages: Floats) -> Floats:
        total = self._inflow(of_messages)
        if self._factored:
            total += self._members(total)
            total += self._local(of_messages)
        return total


class _RegionSums:
    """A matrix of exponents with one row for each region, and a column for what `owner` says."""

    def __init__(self, layout: Layout, exponents: Exponents, owner: Ints) -> None:
        starts = layout.region_starts
        ends = np.append(exponents.row_starts, len(exponents.columns))
        lengths = ends[starts + 1] - ends[starts]
        places = expand(ends[starts], lengths)
        self._regions = len(starts)
        self._row = np.repeat(np.arange(len(starts)), lengths)
        self._column = owner[exponents.columns[places]]
        self._value = exponents.values[places]

    def __call__(self, values: Floats) -> Floats:
        terms = values[self._column]
        terms *= self._value
        return cast(Floats, np.bincount(self._row, weights=terms, minlength=self._regions))
