"""The best world of an attractive network of pairs, by one maximum flow.

If all factors are over one or two Boolean variables, and no two variables ever gain by being
different, a world is a cut: the variables that are true stay with the source. The smallest cut is
the best world. Some networks only become attractive once variables are turned, which a walk finds
out. The two extreme smallest cuts tell which variables are the same in all best worlds.
References: D. Greig, B. Porteous, A. Seheult, *Exact maximum a posteriori estimation for binary
images*, JRSS B 1989; V. Kolmogorov and R. Zabih, *What energy functions can be minimized via graph
cuts?*, PAMI 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_FLOW = 2**31 - 2
"""SciPy's flows are numbers of 32 bits."""


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """A best world, and what else is known of best worlds.

    values     the best world with the fewest true atoms
    undecided  which variables differ between best worlds
    excess     by how much, in units, a world could be better: capacities may have been rounded
    """

    values: Ints
    undecided: Bools
    excess: float


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Costs of Boolean variables: single[v] where v is true, joint[k] where both ends of k are."""

    single: Floats
    one: Ints
    other: Ints
    joint: Floats

    @staticmethod
    def of(network: WholeNetwork) -> Pairs | None:
        """The costs of a network with finite tables; `None` if it has larger factors or values."""
        if (network.ranges != 2).any() or any(b.scopes.shape[1] > 2 for b in network.blocks):
            return None
        single = np.zeros(network.size)
        ends, joint = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for block in network.blocks:
            used, table = np.unique(block.table_of, return_inverse=True)
            costs = -np.array([network.tables[k] for k in used])[table]
            if block.scopes.shape[1] == 1:
                np.add.at(single, block.scopes[:, 0], costs[:, 1] - costs[:, 0])
                continue
            np.add.at(single, block.scopes[:, 0], costs[:, 1, 0] - costs[:, 0, 0])
            np.add.at(single, block.scopes[:, 1], costs[:, 0, 1] - costs[:, 0, 0])
            both = costs[:, 1, 1] - costs[:, 1, 0] - costs[:, 0, 1] + costs[:, 0, 0]
            ends.append(block.scopes[both != 0])
            joint.append(both[both != 0])
        one, other = np.concatenate(ends).T
        return Pairs(single, one, other, np.concatenate(joint))

    def turns(self) -> Bools | None:
        """Which variables to turn so that no pair gains by being different; `None` if impossible.

        The double cover of the network has a vertex for each variable as it is and turned; both
        together in one component mean a cycle that cannot be satisfied.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(self.single)
        apart = np.where(self.joint > 0, n, 0)
        rows = np.concatenate([self.one, self.one + n])
        columns = np.concatenate([self.other + apart, self.other + n - apart])
        ties = coo_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(2 * n, 2 * n))
        _, part = connected_components(ties, directed=False)
        if (part[:n] == part[n:]).any():
            return None
        return np.asarray(part[:n] > part[n:])

    def turned(self, turn: Bools) -> Pairs:
        """The costs of the turned variables, but for a constant."""
        one, other, joint = self.one, self.other, self.joint
        first, second = turn[one], turn[other]
        single = np.where(turn, -self.single, self.single)
        # A cost of both, where one of them is turned, is a cost of the other without it.
        np.add.at(single, one, joint * np.where(second, np.where(first, -1.0, 1.0), 0.0))
        np.add.at(single, other, joint * np.where(first, np.where(second, -1.0, 1.0), 0.0))
        return Pairs(single, one, other, np.where(first == second, joint, -joint))


def best_by_flow(network: WholeNetwork) -> Cut | None:
    """The best world of a network without impossible entries; `None` if it is not attractive."""
    pairs = Pairs.of(network)
    turn = None if pairs is None else pairs.turns()
    if pairs is None or turn is None:
        return None
    flow = _Flow(pairs.turned(turn))
    gain = network.true[:, 1] - network.true[:, 0]
    true = flow.with_fewest(np.where(turn, -gain, gain))
    return Cut((true ^ turn).astype(np.int64), flow.most & ~flow.least, flow.excess)


class _Flow:
    """A maximum flow from a source to a sink; variables that are true stay with the source.

    In the residual network, arcs lead from what is true to what then is true, too, in all smallest
    cuts. `least` and `most` are true in the two extreme ones.
    """

    def __init__(self, pairs: Pairs) -> None:
        n = self.size = len(pairs.single)
        source, sink = n, n + 1
        # joint * a * b = joint * a + |joint| * a * (1 - b), as no joint cost is positive.
        single = pairs.single.copy()
        np.add.at(single, pairs.one, pairs.joint)
        costly, wanted = np.flatnonzero(single > 0), np.flatnonzero(single < 0)
        total = float(-single[wanted].sum())
        step = max(1.0, np.ceil(total / MOST_FLOW))
        self._rest, flow = _residual(
            np.concatenate([pairs.one, costly, np.full(len(wanted), source)]),
            np.concatenate([pairs.other, np.full(len(costly), sink), wanted]),
            np.concatenate([-pairs.joint, single[costly], -single[wanted]]) // step,
            n + 2,
        )
        self.least = _reached(self._rest, source)[:n]
        if step == 1.0:
            self.most = ~_reached(self._rest.T.tocsr(), sink)[:n]
            self.excess = 0.0
            return
        # Capacities were rounded down, so the flow is still a lower bound of all cuts.
        self.most = self.least
        lost = -single[wanted][~self.least[wanted]].sum() + single[self.least].clip(0).sum()
        apart = self.least[pairs.one] & ~self.least[pairs.other]
        self.excess = float(lost - pairs.joint[apart].sum() - step * flow)

    def with_fewest(self, cost: Ints) -> Bools:
        """The cheapest of the smallest cuts, where a variable that is true costs so much.

        What is open is closed under residual arcs: the cheapest such set is a flow again.
        """
        free = np.flatnonzero(self.most & ~self.least)
        wanted = np.flatnonzero(cost[free] < 0)
        if not len(wanted):
            return self.least
        m = len(free)
        costly = np.flatnonzero(cost[free] > 0)
        arcs = self._rest[free][:, free].tocoo()
        rest, _ = _residual(
            np.concatenate([arcs.row, costly, np.full(len(wanted), m)]),
            np.concatenate([arcs.col, np.full(len(costly), m + 1), wanted]),
            np.concatenate(
                [np.full(len(arcs.row), MOST_FLOW), cost[free][costly], -cost[free][wanted]]
            ),
            m + 2,
        )
        true = self.least.copy()
        true[free[_reached(rest, m)[:m]]] = True
        return true


def _residual(tails: Ints, heads: Ints, capacity: Floats, size: int) -> tuple[csr_array, float]:
    """What a maximum flow from the last vertex but one to the last leaves, and its value."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    whole = np.minimum(capacity, MOST_FLOW).astype(np.int32)
    arcs = csr_array((whole, (tails, heads)), shape=(size, size))
    arcs.sum_duplicates()
    flow = maximum_flow(arcs, size - 2, size - 1)
    left = (arcs - flow.flow).tocsr()
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    return left, float(flow.flow_value)


def _reached(arcs: csr_array, start: int) -> Bools:
    """Which vertices can be reached."""
    from scipy.sparse.csgraph import breadth_first_order

    reached = np.zeros(arcs.shape[0], np.bool_)
    reached[breadth_first_order(arcs, start, return_predecessors=False)] = True
    return reached
