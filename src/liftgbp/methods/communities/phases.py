"""The minima of each community, solved apart from all others.

The factors between communities are cut. In their place, each variable at a cut has a field: what
the rest of the network says about its values, given the minimum of its community. One run of
message passing solves all communities: run k has the k-th minimum of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

import numpy as np

from liftgbp.methods.communities.cut_network import CutNetwork
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.solve import Flooding, Status
from liftgbp.solve.flooding import FloodEnd
from liftgbp.support.arrays import Floats, Ints

APART = 0.05
"""Two minima of a community differ if the probability of a value does by more than this."""

MOST_STARTS, WITHOUT_NEWS = 24, 3
"""Minima are looked for until so many starts in a row lead to no new one."""

MOST_PHASES = 8
"""Of one community; a community of more is none: its own parts change independently."""


@dataclass(frozen=True, eq=False, slots=True)
class Phases:
    """Minima of communities, in runs that each have one of every community.

    number   how many minima each community has; further runs repeat the last one
    ends     where the runs have ended
    chances  the probabilities of all values of all variables, one row for each run
    cavity   the same for variables at cuts without their fields
    log_z    for each run and community its part of log Z, without any field
    """

    number: Ints
    ends: tuple[FloodEnd, ...]
    chances: Floats
    cavity: Floats
    log_z: Floats


class PhaseSearch:
    """Solves the communities of a cut network."""

    def __init__(self, cut: CutNetwork, messages: VariableMessages, flooding: Flooding) -> None:
        self._cut, self._messages, self._flooding = cut, messages, flooding
        ranges = cut.inside.ranges
        self._variable = np.repeat(np.arange(len(ranges)), ranges)
        of_value = cut.community[self._variable]
        order = np.argsort(of_value, kind="stable")
        bounds = np.searchsorted(of_value[order], np.arange(cut.communities + 1))
        self._places = [order[first:last] for first, last in pairwise(bounds.tolist())]

    def distinct(self, starts: Iterable[Floats]) -> tuple[Ints, Floats] | None:
        """How many minima each community has, and runs that have one of each.

        None if some community has too many, or none.
        """
        minima: list[list[Floats]] = [[] for _ in self._places]
        since = 0
        for start in islice(starts, MOST_STARTS):
            end = self._messages.flooded(self._messages.plan, start, self._flooding)
            since += 1
            if end.status is Status.CONVERGED:
                chances = self._messages.chances(end.log_beliefs)
                for known, places in zip(minima, self._places, strict=True):
                    own = chances[places]
                    if all(np.abs(own - other).max() > APART for other in known):
                        known.append(own)
                        since = 0
            number = np.array(list(map(len, minima)))
            if number.max() > MOST_PHASES:
                return None
            if since >= WITHOUT_NEWS:
                break
        if not number.all():
            return None
        runs = np.full((number.max(), len(self._variable)), 1.0)
        for known, places in zip(minima, self._places, strict=True):
            for run in range(len(runs)):
                runs[run, places] = known[min(run, len(known) - 1)]
        return number, runs

    def settled(self, number: Ints, starts: Floats, fields: Floats) -> Phases | None:
        """The minima that runs lead to under fields, in logs; none if two of them become one."""
        cut = self._cut
        members = cut.boundary[cut.community[cut.boundary] >= 0]
        ends, chances, cavity, log_z = [], [], [], []
        for start, field in zip(starts, fields, strict=True):
            plan = self._messages.with_fields(self._messages.plan, field, self._flooding)
            end = self._messages.flooded(plan, start, self._flooding)
            if end.status is not Status.CONVERGED:
                return None
            ends.append(end)
            chances.append(self._messages.chances(end.log_beliefs))
            without, gained = self._without(chances[-1], field)
            cavity.append(without)
            with_fields = self._messages.log_z_of_groups(end, cut.community, cut.communities)
            of_fields = np.bincount(
                cut.community[members], gained[members], minlength=cut.communities
            )
            log_z.append(with_fields - of_fields)
        if not self._all_differ(number, np.array(chances)):
            return None
        arrays = (np.array(own) for own in (chances, cavity, log_z))
        return Phases(number, tuple(ends), *arrays)

    def _without(self, chances: Floats, field: Floats) -> tuple[Floats, Floats]:
        """The probabilities without fields, and by how much each field adds to log Z."""
        rest = chances * np.exp(-field)
        total = np.add.reduceat(rest, self._messages.starts[:-1])
        return rest / total[self._variable], -np.log(total)

    def _all_differ(self, number: Ints, chances: Floats) -> bool:
        for one, other in combinations(range(len(chances)), 2):
            gaps = np.abs(chances[one] - chances[other])
            for own in np.flatnonzero(number > other).tolist():
                if gaps[self._places[own]].max() <= APART:
                    return False
        return True
