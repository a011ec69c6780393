"""Messages on a ground network in which no two linked variables are taken to be alike.

Minima that differ from community to community are only seen where each community has variables of
its own, even if communities look the same.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from random import Random

import numpy as np

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.lift.regions import Family
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Flooding
from liftgbp.solve.flooding import FloodEnd
from liftgbp.solve.mean_field import AtomValues
from liftgbp.support.arrays import Floats, Ints, expand, starts_of
from liftgbp.support.progress import Progress, silent

COLOURS = 8
"""Of variables. Those that look alike in spite of these are linked by nothing; a colour for each
would make comparing their potentials take a hundred times as long."""

LEAST_CHANCE = 1e-60
"""Probabilities that messages start from are no smaller."""


class VariableMessages:
    """Message passing over the regions of a network.

    Numbers about all variables follow each other in one array: those of variable v, one for each of
    its values, from `starts[v]` on.
    """

    def __init__(
        self,
        network: GroundNetwork,
        family: Family,
        apart: Ints,
        *,
        bounds: bool = False,
        progress: Progress = silent,
    ) -> None:
        """Prepare messages; the variables of `apart` are like no others.

        Without `bounds`, nothing is known of what entropies are possible.
        """
        regions = ground_region_graph(network, family, progress=progress)
        colours = _colours(network, apart)
        self.graph = compress(regions, network, colours=colours, progress=progress)
        self.plan: Plan = compile_plan(self.graph, bounds=bounds)
        self.starts = starts_of(network.ranges)
        self._ranges, self._progress = network.ranges, progress
        self._values = AtomValues.of(self.plan.layout)

    @property
    def work_of_round(self) -> int:
        """How many entries a round of messages updates."""
        return self.plan.layout.belief_entries + self.plan.layout.message_entries

    def with_fields(self, plan: Plan, fields: Floats, flooding: Flooding) -> Plan:
        """A plan with a further factor for each variable, in logs."""
        return replace(plan, theta=plan.theta + self._of_entries(fields, flooding))

    def flooded(self, plan: Plan, chances: Floats, flooding: Flooding) -> FloodEnd:
        """Where messages end that start from independent variables with these probabilities."""
        first = self._of_entries(np.log(np.maximum(chances, LEAST_CHANCE)), flooding)
        (end,) = flooding.ends([plan], self._progress, first[None, plan.layout.children])
        return end

    def chances(self, log_beliefs: Floats) -> Floats:
        """The probability of each value of each variable; uniform where no region has it."""
        here, there = self._places
        found = np.repeat(1 / self._ranges, self._ranges)
        with np.errstate(under="ignore"):
            found[here] = self._values.marginals(self.plan.layout, np.exp(log_beliefs))[there]
        return found

    def log_z_of_groups(self, end: FloodEnd, group: Ints, groups: int) -> Floats:
        """The part of log Z of each group of variables; no region connects two groups."""
        plan, alignment = end.plan, self.graph.alignment
        with np.errstate(under="ignore"):
            energy = np.exp(end.log_beliefs)
        energy *= plan.layout.multiplicity
        energy *= end.log_beliefs - plan.theta
        alike = np.bincount(alignment.kind, minlength=len(plan.weights))
        of_one = -plan.weight_array / alike * plan.layout.by_region.sums(energy)
        first = np.concatenate([rows[:, 0] for rows in alignment.regions.rows])
        of_groups = np.bincount(group[first], of_one[alignment.kind], minlength=groups)
        return np.asarray(of_groups, dtype=float)

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Numbers about variables in regions: where they are, and where solvers have them."""
        kind = self.graph.alignment.atom_kind
        inside = np.flatnonzero(kind >= 0)
        lengths = self._ranges[inside]
        first = self._values.first[kind[inside]]
        return expand(self.starts[inside], lengths), expand(first, lengths)

    def _of_entries(self, logs: Floats, flooding: Flooding) -> Floats:
        """For each belief entry the sum of the numbers of its variables' values."""
        here, there = self._places
        ordered = np.zeros(len(self._values.kind))
        ordered[there] = logs[here]
        layout = self.plan.layout
        found = self._values.log_beliefs(layout, ordered[None], flooding.tolerances)
        return np.asarray(found[0])


def _colours(network: GroundNetwork, apart: Ints) -> Ints:
    """Colours at random: after some rounds of comparing neighbours, no two variables look alike."""
    generator = Random(0)
    size = len(network.ranges)
    colours = np.array([generator.randrange(COLOURS) for _ in range(size)], dtype=np.int64)
    if network.atoms is not None:
        colours += COLOURS * network.atoms.predicate
    colours[apart] = 1 + colours.max(initial=0) + np.arange(len(apart))
    return colours
