"""Minima of communities, weighed by the network that these form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.lift.regions import Family
from liftgbp.methods.communities.coarse_network import CoarseAnswers, coarse_answers, coarse_network
from liftgbp.methods.communities.community_search import communities_of, starting_chances
from liftgbp.methods.communities.cut_network import CutNetwork
from liftgbp.methods.communities.phases import Phases, PhaseSearch
from liftgbp.methods.communities.separation import least_separation
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.methods.effort import Effort
from liftgbp.posterior.sources import GroundBeliefs
from liftgbp.solve import Finding, Flaw, Flooding, Verdict
from liftgbp.solve.flooding import verdicts_on
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError
from liftgbp.support.progress import Progress

SEARCHING = Flooding(damping=0.3, iterations=200, tol=1e-6)
"""How communities are looked for: where messages go shows long before they have settled."""

SETTLING = Flooding(damping=0.3, iterations=500, tol=1e-10)
"""How their minima are computed."""

WORK_OF_RUN, RUNS = 500.0, 30
"""What a run costs for each entry, and how many there are: 35 iterations of 13 ns, and rarely more
than twenty for the search, five for minima, and two for each round of fields."""

MOST_WORK = 1e11
"""What all of it may cost, unless effort is thorough. It takes 40 s on 10^5 people with six friends
each, where message passing over the whole takes 20 s and does not settle."""

MOST_ROUNDS, SETTLED = 20, 1e-6
"""Fields are computed anew until they change by less. Single links take two rounds; as many links
between communities as inside take five."""

LEAST_SEPARATION = 5.0
"""In standard deviations. Over pairs of towns of 25 to 80 people with six friends, no answer is
off by more than 0.025 above it; near the critical weight, 0.41, some are by 0.17 below."""

LEAST_FIELD = math.log(1e-60)
"""Fields are no smaller, in logs, so that they can be taken out again."""


@dataclass(frozen=True, eq=False)
class CommunitySolution:
    """The distribution of a ground network whose communities have several minima each.

    Given these, variables of different communities are independent of each other, but for those
    that factors connect. A source of joint distributions.
    """

    cut: CutNetwork
    messages: VariableMessages
    phases: Phases
    coarse: CoarseAnswers
    residual: float

    @property
    def log_z(self) -> float:
        """The log partition function."""
        return self.coarse.log_z

    @property
    def communities(self) -> tuple[int, ...]:
        """The number of minima of each community that has several."""
        return tuple(own for own in self.phases.number.tolist() if own > 1)

    @property
    def iterations(self) -> int:
        """How many iterations the longest of the last runs took."""
        return max(len(end.trace) - 1 for end in self.phases.ends)

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on the minima.

        Messages only settle where the free energy has a minimum, if they start at random: the
        curvature there would take longer than all the rest (T. Heskes, *Stable fixed points of
        loopy belief propagation are local minima of the Bethe free energy*, NIPS 2002).
        """
        ends = self.phases.ends
        without_curvature = replace(SETTLING.tolerances, most_equations=0)
        return verdicts_on(ends, [-math.inf] * len(ends), without_curvature)

    @cached_property
    def flaw(self) -> Finding | None:
        """What is wrong with taking minima apart, if anything is."""
        separation = least_separation(
            self.messages, self.cut.community, self.phases, self._shares, SETTLING
        )
        if separation >= LEAST_SEPARATION:
            return None
        return Finding(Flaw.CLOSE_MINIMA, (separation,))

    @cached_property
    def _shares(self) -> Floats:
        """The probability of each minimum, by runs and communities; zero where it is repeated."""
        shares = np.zeros((len(self.phases.ends), self.cut.communities))
        for own, minima in enumerate(self.phases.number.tolist()):
            shares[:minima, own] = self.coarse.joint([own])
        return shares

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of different variables, one axis each."""
        if len(variables) == 1:
            return self._singles[self._values(variables[0])]
        places = [self._place.get(v) for v in variables]
        if None not in places:
            try:
                return self.coarse.joint([place for place in places if place is not None])
            except QueryError:
                # Too far apart for a network that messages were passed on.
                pass
        homes = [self._home(v) for v in variables]
        involved = list(dict.fromkeys(homes))
        table, order = self.coarse.joint(involved), []
        for home in involved:
            members = [v for v, other in zip(variables, homes, strict=True) if other == home]
            table = np.tensordot(table, self._given(home, members), axes=(0, 0))
            order += members
        return np.asarray(table.transpose([order.index(v) for v in variables]))

    @cached_property
    def _place(self) -> dict[int, int]:
        """Where variables at cuts are in the network of communities."""
        boundary = self.cut.boundary.tolist()
        return {v: self.cut.communities + k for k, v in enumerate(boundary)}

    def _home(self, variable: int) -> int:
        """What a variable depends on in that network: its community, or itself."""
        community = int(self.cut.community[variable])
        return self._place[variable] if community < 0 else community

    def _given(self, home: int, variables: Sequence[int]) -> Floats:
        """The joint distribution of variables for each value of what they depend on.

        In a minimum, those that no region holds together are taken to be independent.
        """
        if home >= self.cut.communities:
            return np.eye(int(self.cut.inside.ranges[variables[0]]))
        minima = range(int(self.phases.number[home]))
        return np.array([self._in_minimum(run, variables) for run in minima])

    def _in_minimum(self, run: int, variables: Sequence[int]) -> Floats:
        graph, layout = self.messages.graph, self.messages.plan.layout
        logs = self.phases.ends[run].log_beliefs
        try:
            return GroundBeliefs(graph, layout, logs).joint(variables)
        except QueryError:
            singles = (self.phases.chances[run, self._values(v)] for v in variables)
            return np.asarray(reduce(np.multiply.outer, singles))

    def _values(self, variable: int) -> slice:
        first, last = self.messages.starts[variable:][:2].tolist()
        return slice(first, last)

    @cached_property
    def _singles(self) -> Floats:
        """The probabilities of all values of all variables."""
        ranges = self.cut.inside.ranges
        community = np.repeat(self.cut.community, ranges)
        mixed = (self._shares[:, community] * self.phases.chances).sum(axis=0)
        mixed = np.where(community >= 0, mixed, np.repeat(1 / ranges, ranges))
        for variable, place in self._place.items():
            if self.cut.community[variable] < 0:
                mixed[self._values(variable)] = self.coarse.joint([place])
        return mixed


def by_communities(
    network: GroundNetwork, family: Family, effort: Effort, progress: Progress
) -> CommunitySolution | None:
    """The distribution of a network by the minima of its communities; none if it has no such.

    Neither is there one where it would cost too much.
    """
    nobody = np.zeros(0, dtype=np.int64)
    messages = VariableMessages(network, family, nobody, progress=progress)
    if effort.name != "thorough" and messages.work_of_round * WORK_OF_RUN * RUNS > MOST_WORK:
        return None
    community = communities_of(network, messages, SEARCHING)
    if community is None:
        return None
    cut = CutNetwork.of(network, community)
    inside = VariableMessages(cut.inside, family, cut.boundary, bounds=True, progress=progress)
    search = PhaseSearch(cut, inside, SETTLING)
    minima = search.distinct(starting_chances(network.ranges, seed=1))
    if minima is None or minima[0].max() == 1:
        return None
    number, runs = minima
    fields = np.zeros_like(runs)
    most_states = effort.exact_states // MOST_ROUNDS
    for _ in range(MOST_ROUNDS):
        phases = search.settled(number, runs, fields)
        if phases is None:
            return None
        coarse = coarse_answers(coarse_network(network, cut, phases), most_states, SETTLING)
        if coarse is None:
            return None
        before, fields = fields, _fields(network, cut, phases, coarse)
        runs = phases.chances
        change = float(np.abs(np.exp(fields) - np.exp(before)).max())
        if change < SETTLED:
            return CommunitySolution(cut, inside, phases, coarse, change)
    return None


def _fields(
    network: GroundNetwork, cut: CutNetwork, phases: Phases, coarse: CoarseAnswers
) -> Floats:
    """What the rest of the network says about each variable at a cut, in each minimum, in logs."""
    fields = np.zeros_like(phases.cavity)
    starts = np.cumsum(network.ranges) - network.ranges
    for place, variable in enumerate(cut.boundary.tolist()):
        community = int(cut.community[variable])
        if community < 0:
            continue
        own = slice(starts[variable], starts[variable] + network.ranges[variable])
        joint = coarse.joint([community, cut.communities + place])
        repeated = np.minimum(np.arange(len(fields)), len(joint) - 1)
        with np.errstate(divide="ignore"):
            told = np.log(joint) - np.log(phases.cavity[: len(joint), own])
        # Relative to the largest, as only differences matter.
        told -= told.max(axis=1, keepdims=True)
        fields[:, own] = np.maximum(told, LEAST_FIELD)[repeated]
    return fields
