"""The network of communities: each is one variable, whose values are its minima.

A factor for each community has the log Z of its minima, one for each variable at a cut has its
probabilities in these minima, and the factors between communities stay what they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.methods.communities.community_search import starting_chances
from liftgbp.methods.communities.cut_network import CutNetwork
from liftgbp.methods.communities.phases import Phases, PhaseSearch
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.posterior.sources import GroundBeliefs
from liftgbp.solve import Flooding
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError


class CoarseAnswers(Protocol):
    """The distribution of a network of communities."""

    @property
    def log_z(self) -> float:
        """The log partition function."""

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of different variables, one axis each."""


def coarse_network(network: GroundNetwork, cut: CutNetwork, phases: Phases) -> GroundNetwork:
    """The network of the communities, which come first, and of the variables at cuts."""
    number = cut.communities
    starts = np.cumsum(network.ranges) - network.ranges
    # States of no probability at all would have no log.
    cavity = np.log(np.maximum(phases.cavity, np.finfo(float).tiny))
    tables: list[Floats] = list(network.tables)
    blocks = [
        FactorBlock(number + np.searchsorted(cut.boundary, block.scopes), block.table_of)
        for block in cut.crossing
    ]
    every = np.arange(number)
    blocks.append(FactorBlock(every[:, None], len(tables) + every))
    tables += [phases.log_z[:minima, k] for k, minima in enumerate(phases.number.tolist())]
    (place,) = np.nonzero(cut.community[cut.boundary] >= 0)
    members = cut.boundary[place]
    owner = cut.community[members]
    scopes = np.column_stack([owner, number + place])
    blocks.append(FactorBlock(scopes, len(tables) + np.arange(len(place))))
    tables += [
        cavity[:minima, first : first + size]
        for minima, first, size in zip(
            phases.number[owner].tolist(),
            starts[members].tolist(),
            network.ranges[members].tolist(),
            strict=True,
        )
    ]
    ranges = np.concatenate([phases.number, network.ranges[cut.boundary]])
    outside = np.setdiff1d(np.flatnonzero(cut.community < 0), cut.boundary)
    free = Counter(network.free) + Counter(network.ranges[outside].tolist())
    return merged(ranges, blocks, tables, log_constant=network.log_constant, free=free)


@dataclass(frozen=True, eq=False, slots=True)
class MixedMinima:
    """The distribution of a network by messages: a mixture of minima of the whole."""

    messages: VariableMessages
    phases: Phases

    @property
    def log_z(self) -> float:
        """The log partition function."""
        offset = self.messages.plan.log_offset
        return offset + float(np.logaddexp.reduce(self.phases.log_z[:, 0]))

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of variables that a region holds together."""
        logs = self.phases.log_z[:, 0]
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        layout = self.messages.plan.layout
        sources = (
            GroundBeliefs(self.messages.graph, layout, end.log_beliefs) for end in self.phases.ends
        )
        return np.tensordot(shares, [own.joint(variables) for own in sources], axes=1)


def coarse_answers(
    network: GroundNetwork, most_states: int, flooding: Flooding
) -> CoarseAnswers | None:
    """Exact answers about a network of communities, or those of messages where it is too large.

    There are none where messages do not settle, or have too many minima.
    """
    try:
        return JunctionTree(network, most_states)
    except CapacityError:
        everything = CutNetwork.of(network, np.zeros(len(network.ranges), dtype=np.int64))
    every = np.arange(len(network.ranges))
    messages = VariableMessages(network, FACTOR_SCOPES, every)
    search = PhaseSearch(everything, messages, flooding)
    minima = search.distinct(starting_chances(network.ranges, seed=1))
    if minima is None:
        return None
    phases = search.settled(*minima, np.zeros_like(minima[1]))
    return None if phases is None else MixedMinima(messages, phases)
