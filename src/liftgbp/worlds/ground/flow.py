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

from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.ground.whole import WholeNetwork

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_FLOW = 2**30 - 1
"""SciPy's flows are numbers of 32 bits, and it adds the capacities of opposite arcs."""


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """A best world, and which variables differ between best worlds.

    Of all best worlds, it has the fewest true atoms. If it breaks a hard rule, every world does.
    """

    values: Ints
    undecided: Bools


def best_by_flow(network: WholeNetwork) -> Cut | None:
    """The best world of a network; `None` if it is not attractive.

    >>> from liftgbp.ground.grounding import FactorBlock
    >>> pair = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> one = FactorBlock(np.array([[0], [1]]), np.array([1, 2]))
    >>> tables = [[[1.0, 0], [0, 1]], [0.0, 2], [0.0, -1]]
    >>> true = np.array([[0, 1], [0, 1]])
    >>> cut = best_by_flow(
    ...     WholeNetwork(np.array([2, 2]), (pair, one), tuple(map(np.array, tables)), true)
    ... )
    >>> cut.values.tolist(), cut.undecided.tolist()
    ([1, 0], [False, True])
    """
    turn = _turns(network)
    if turn is None:
        return None
    flow = _Flow(Pairs.of(network.softened()).turned(turn))
    gain = network.true[:, 1] - network.true[:, 0]
    true = flow.with_fewest(np.where(turn, -gain, gain))
    return Cut((true ^ turn).astype(np.int64), flow.most & ~flow.least)


def is_attractive(network: WholeNetwork) -> bool:
    """Whether one flow finds the best world."""
    return _turns(network) is not None


def _turns(network: WholeNetwork) -> Bools | None:
    """Which variables to turn so that no pair gains by being different; `None` if impossible.

    The double cover of the network has a vertex for each variable as it is and turned; both
    together in one component mean a cycle that cannot be satisfied.
    """
    if (network.ranges != 2).any() or any(b.scopes.shape[1] > 2 for b in network.blocks):
        return None
    n = network.size
    gain_of = np.array([_gain(table) for table in network.softened().tables])
    if (gain_of <= 0).all():
        return np.zeros(n, np.bool_)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    (pairs,) = (block for block in network.blocks if block.scopes.shape[1] == 2)
    gains = gain_of[pairs.table_of]
    tied = np.flatnonzero(gains)
    one, other = pairs.scopes[tied].T
    apart = np.where(gains[tied] > 0, n, 0)
    rows = np.concatenate([one, one + n])
    columns = np.concatenate([other + apart, other + n - apart])
    ties = coo_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(2 * n, 2 * n))
    _, part = connected_components(ties, directed=False)
    if (part[:n] == part[n:]).any():
        return None
    return np.asarray(part[:n] > part[n:])


def _gain(table: Floats) -> float:
    """What a pair gains by being different rather than equal, both ways together."""
    if table.ndim == 1:
        return 0.0
    return float(table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1])


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Costs of Boolean variables.

    single  what each variable costs where it is true rather than false
    ends    the two variables of each pair
    costs   what each pair costs, (pairs, 2, 2)
    """

    single: Floats
    ends: Ints
    costs: Floats

    @staticmethod
    def of(network: WholeNetwork) -> Pairs:
        """The costs of a network with finite tables over one or two variables."""
        single = np.zeros(network.size)
        ends, costs = np.zeros((0, 2), np.int64), np.zeros((0, 2, 2))
        for block in network.blocks:
            used, table = np.unique(block.table_of, return_inverse=True)
            stacked = -np.array([network.tables[k] for k in used])[table]
            if block.scopes.shape[1] == 1:
                single[block.scopes[:, 0]] = stacked[:, 1] - stacked[:, 0]
            else:
                ends, costs = block.scopes, stacked
        return Pairs(single, ends, costs)

    @property
    def apart(self) -> Floats:
        """What each pair costs more if it is different rather than equal, both ways together."""
        return np.asarray(
            self.costs[:, 0, 1] + self.costs[:, 1, 0] - self.costs[:, 0, 0] - self.costs[:, 1, 1]
        )

    def turned(self, turn: Bools) -> Pairs:
        """The costs of variables of which some have changed their values."""
        if not turn.any():
            return self
        costs = self.costs.copy()
        first, second = turn[self.ends].T
        costs[first] = costs[first][:, ::-1]
        costs[second] = costs[second][:, :, ::-1]
        return Pairs(np.where(turn, -self.single, self.single), self.ends, costs)


class _Flow:
    """A maximum flow from a source to a sink; variables that are true stay with the source.

    In the residual network, arcs lead from what is true to what then is true, too, in all smallest
    cuts. `least` and `most` are true in the two extreme ones.
    """

    def __init__(self, pairs: Pairs) -> None:
        n = len(pairs.single)
        source, sink = n, n + 1
        one, other = pairs.ends.T
        costs, apart = pairs.costs, pairs.apart
        alone = costs[:, 1, 0] - costs[:, 0, 0], costs[:, 0, 1] - costs[:, 0, 0]
        # What a pair costs is what its variables cost alone, less what both of them true save. This
        # is a cost of one without the other, and as much of it as possible of what they cost alone.
        first = np.clip(alone[0], 0, apart)
        second = apart - first
        single = pairs.single + np.bincount(one, alone[0] - first, n)
        single += np.bincount(other, alone[1] - second, n)
        costly, wanted = np.flatnonzero(single > 0), np.flatnonzero(single < 0)
        self._rest = _residual(
            np.concatenate([one, other, costly, np.full(len(wanted), source)]),
            np.concatenate([other, one, np.full(len(costly), sink), wanted]),
            np.concatenate([first, second, single[costly], -single[wanted]]).astype(np.int64),
            n + 2,
        )
        self.least = _reached(self._rest, source)[:n]
        self.most = ~_reached(self._rest.T.tocsr(), sink)[:n]

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
        endless = np.full(len(arcs.row), int(-cost[free][wanted].sum()) + 1)
        rest = _residual(
            np.concatenate([arcs.row, costly, np.full(len(wanted), m)]),
            np.concatenate([arcs.col, np.full(len(costly), m + 1), wanted]),
            np.concatenate([endless, cost[free][costly], -cost[free][wanted]]),
            m + 2,
        )
        true = self.least.copy()
        true[free[_reached(rest, m)[:m]]] = True
        return true


def _residual(tails: Ints, heads: Ints, capacity: Ints, size: int) -> csr_array:
    """What a maximum flow from the last vertex but one to the last leaves.

    Capacities above those of SciPy are divided; what the flow leaves of them is divided by less,
    until they are what they are.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    source, sink = size - 2, size - 1
    used = capacity > 0
    rest = csr_array((capacity[used], (tails[used], heads[used])), shape=(size, size))
    most = int(capacity[tails == source].sum())
    while True:
        checkpoint()
        step = -(-most // MOST_FLOW) or 1
        whole = rest.copy()
        whole.data = np.minimum(whole.data // step, MOST_FLOW).astype(np.int32)
        flow = maximum_flow(whole, source, sink).flow
        rest = (rest - step * flow.astype(np.int64)).tocsr()
        rest.eliminate_zeros()
        if step == 1:
            return rest
        # The cut that is full now lets through less than one step for each of its arcs.
        near = _reached(_at_least(rest, step), source)
        arcs = rest.tocoo()
        most = int(arcs.data[near[arcs.row] & ~near[arcs.col]].sum())


def _at_least(arcs: csr_array, step: int) -> csr_array:
    """The arcs with a capacity of at least one step."""
    kept = arcs.copy()
    kept.data = kept.data // step
    kept.eliminate_zeros()
    return kept


def _reached(arcs: csr_array, start: int) -> Bools:
    """Which vertices can be reached."""
    from scipy.sparse.csgraph import breadth_first_order

    reached = np.zeros(arcs.shape[0], np.bool_)
    reached[breadth_first_order(arcs, start, return_predecessors=False)] = True
    return reached
