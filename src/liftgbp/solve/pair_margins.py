"""Whether beliefs about pairs of ground variables leave room for all of them at once.

Around a cycle, values differ an even number of times. So for an odd set F of its edges, the
probabilities that pairs in F agree, and that the other pairs differ, add up to one at least (F.
Barahona and A. R. Mahjoub, *On the cut polytope*, 1986). The cycle that breaks this most is a
shortest path in a graph with two copies of each variable. Among variables that share regions
pairwise, how many hold is a whole number S, so that (S - k)(S - k - 1) is never negative; any of
them may be counted where it does not hold instead.

Of a variable with more than two values, each value is a variable of its own that holds or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from liftgbp.plan import GroundPairs, Layout
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import (
    Bools,
    Floats,
    Ints,
    distinct,
    equal_rows,
    expand,
    group_rows,
    in_parts,
    row_order,
    starts_of,
)


@dataclass(frozen=True, eq=False, slots=True)
class PairMargins:
    """How far pairs of variables are from what is impossible; negative beyond.

    clique  for variables that share regions pairwise, in proportion to how many hold
    region  a region of two variables of the clique where that is least
    cycle   for cycles: the length of the shortest one, less one
    """

    clique: float = math.inf
    region: int | None = None
    cycle: float = math.inf


class _Links:
    """The values of ground variables, and where the beliefs of pairs of them are found.

    Nodes are values: one of a variable with two values, all of a variable with more.
    """

    def __init__(self, pairs: GroundPairs) -> None:
        ranges = pairs.ranges
        self.sizes = np.where(ranges == 2, 1, ranges)
        self.starts = starts_of(self.sizes)
        self.blocks = equal_rows([ranges[pairs.first], ranges[pairs.second]])
        heads, tails = [], []
        for block in self.blocks:
            one, other = pairs.first[block], pairs.second[block]
            a, b = np.indices((self.sizes[one[0]], self.sizes[other[0]]))
            heads.append((self.starts[one][:, None] + a.ravel()).ravel())
            tails.append((self.starts[other][:, None] + b.ravel()).ravel())
        self.heads, self.tails = np.concatenate(heads), np.concatenate(tails)
        paired = np.zeros(len(ranges), dtype=bool)
        paired[pairs.first] = paired[pairs.second] = True
        inside = [
            (self.starts[v] + a, self.starts[v] + b)
            for v in np.flatnonzero(paired & (self.sizes > 1)).tolist()
            for a in range(self.sizes[v])
            for b in range(a)
        ]
        self.inside = np.array(inside, dtype=np.int64).reshape(-1, 2)
        order = row_order([self.heads, self.tails])
        self._order, self._keys = order, (self.heads * self.nodes + self.tails)[order]
        self.cliques = self._cliques(pairs)

    @property
    def nodes(self) -> int:
        return int(self.starts[-1])

    def _cliques(self, pairs: GroundPairs) -> list[tuple[Ints, Ints]]:
        """Sets of nodes that are paired with each other, by how many there are.

        For each number m, the nodes (G, m) and the numbers of their edges (G, m (m - 1) / 2), in
        the order of those above the diagonal of a matrix.

        Variables of one clique may have different numbers of values; those with as many are paired
        value by value.
        """
        by_size: dict[int, list[Ints]] = {}
        lengths = np.array([len(own) for own in pairs.cliques], dtype=np.int64)
        for same in equal_rows([lengths]):
            variables = np.stack([pairs.cliques[k] for k in same])
            sizes = self.sizes[variables]
            for size in distinct(sizes.ravel()).tolist():
                alike = sizes == size
                count = alike.sum(axis=1)
                for number in distinct(count[count > 2]).tolist():
                    rows = count == number
                    own = variables[rows][alike[rows]].reshape(-1, number)
                    for value in range(size):
                        by_size.setdefault(number, []).append(self.starts[own] + value)
        return [self._paired(np.concatenate(own)) for _, own in sorted(by_size.items())]

    def _paired(self, nodes: Ints) -> tuple[Ints, Ints]:
        one, other = np.triu_indices(nodes.shape[1], 1)
        keys = nodes[:, one] * self.nodes + nodes[:, other]
        return nodes, self._order[np.searchsorted(self._keys, keys)]

    def beliefs(
        self, pairs: GroundPairs, layout: Layout, beliefs: Floats, tolerances: Tolerances
    ) -> tuple[Floats, Floats]:
        """How likely each node holds, and both ends of each edge do."""
        single = np.full(self.nodes, 0.5)
        both = []
        for block in self.blocks:
            first, which = group_rows([pairs.place[block]])
            places = pairs.places[pairs.place[block[first]]]
            joint = _tables(layout, beliefs, places, tolerances)[which]
            # `sum` takes five times as long along short axes.
            for ends, sums in ((pairs.first, "pij->pi"), (pairs.second, "pij->pj")):
                own = np.einsum(sums, joint)
                own = own[:, 1:] if own.shape[1] == 2 else own
                nodes = self.starts[ends[block]][:, None] + np.arange(own.shape[1])
                single[nodes] = own
            a, b = (slice(1, None) if r == 2 else slice(None) for r in joint.shape[1:])
            both.append(joint[:, a, b].ravel())
        return single, np.concatenate(both)


_known: WeakKeyDictionary[GroundPairs, _Links] = WeakKeyDictionary()
"""Links live as long as their pairs, which they must not hold."""


def pair_margins(layout: Layout, beliefs: Floats, tolerances: Tolerances) -> list[PairMargins]:
    """The margins of points, one row of beliefs each; infinite where nothing is known of pairs."""
    pairs = layout.ground_pairs
    if pairs is None:
        return [PairMargins()] * len(beliefs)
    if pairs not in _known:
        _known[pairs] = _Links(pairs)
    links = _known[pairs]
    return [_margins(pairs, links, layout, own, tolerances) for own in beliefs]


def _tables(layout: Layout, beliefs: Floats, places: Ints, tolerances: Tolerances) -> Floats:
    """The belief of each place, with the axis of the first variable in front.

    Places in regions that look alike are read together: a citation network has tens of thousands.
    """
    region, one, other = places.T
    found: list[tuple[Ints, Floats]] = []
    for alike in equal_rows([layout.patterns[region], one, other]):
        axes = int(one[alike[0]]), int(other[alike[0]])
        states = math.prod(layout.shapes[int(region[alike[0]])])
        parts = -(-len(alike) * states // tolerances.most_numbers)
        for own in np.array_split(alike, parts):
            pair = layout.marginals(region[own], sorted(axes), beliefs)
            found.append((own, pair if axes[0] < axes[1] else pair.transpose(0, 2, 1)))
    tables = np.empty((len(places), *found[0][1].shape[1:]))
    for own, pair in found:
        tables[own] = pair
    return tables


def _margins(
    pairs: GroundPairs, links: _Links, layout: Layout, beliefs: Floats, tolerances: Tolerances
) -> PairMargins:
    single, both = links.beliefs(pairs, layout, beliefs, tolerances)
    if not (np.isfinite(single).all() and np.isfinite(both).all()):
        return PairMargins()
    differ = np.clip(single[links.heads] + single[links.tails] - 2 * both, 0.0, 1.0)
    margin, region = math.inf, None
    for nodes, edges in links.cliques:
        own = _clique_margins(single[nodes], differ[edges], tolerances)
        least = int(own.argmin())
        if own[least] < margin:
            margin = float(own[least])
            region = _region(pairs, links, edges[least])
    return PairMargins(margin, region, _cycle_margin(pairs, links, single, differ, tolerances))


def _region(pairs: GroundPairs, links: _Links, edges: Ints) -> int:
    one = int(np.searchsorted(links.starts, links.heads[edges[0]], side="right")) - 1
    other = int(np.searchsorted(links.starts, links.tails[edges[0]], side="right")) - 1
    (pair,) = np.flatnonzero((pairs.first == one) & (pairs.second == other))
    return int(pairs.places[pairs.place[pair], 0])


# --- variables that share regions pairwise


def _clique_margins(single: Floats, differ: Floats, tolerances: Tolerances) -> Floats:
    """For each clique (G, m), the least margin among some ways to choose what is counted.

    Nodes may be counted where they do not hold. With spins s = ±1 and signs σ, Y = Σ σ s is
    2 S - m. So 4 (S - k)(S - k - 1) is (Y - a)(Y - a - 2) with a = 2 k - m, whose mean needs pairs
    only.
    """
    number, m = single.shape
    margins = np.empty(number)
    above = np.triu_indices(m, 1)
    for rows in in_parts(number, m * m):
        means = 2 * single[rows] - 1
        products = np.tile(np.eye(m), (len(means), 1, 1))
        products[:, above[0], above[1]] = products[:, above[1], above[0]] = 1 - 2 * differ[rows]
        margins[rows] = _descended(products, means, np.ones(means.shape))
        if m <= tolerances.most_decomposed:
            lowest = np.linalg.eigh(products)[1][:, :, 0]
            signs = np.where(lowest < 0, -1.0, 1.0)
            margins[rows] = np.minimum(margins[rows], _descended(products, means, signs))
    return margins


def _descended(products: Floats, means: Floats, signs: Floats) -> Floats:
    """The margins (G) once no single sign makes them smaller."""
    number, m = signs.shape
    best, left = np.full(number, math.inf), np.arange(number)
    together = (products @ signs[:, :, None])[:, :, 0]
    for _ in range(m + 1):
        tilt = (signs * means).sum(axis=1)
        holding = (m + tilt) / 2
        a = 2 * np.floor(holding) - m
        excess = ((signs * together).sum(axis=1) - (2 * a + 2) * tilt + a * (a + 2)) / 4
        margin = excess * m / (m - 1) / np.maximum(1.0, holding**2)
        better = margin < best[left]
        best[left[better]] = margin[better]
        change = 4 - 4 * signs * together + 4 * (a + 1)[:, None] * signs * means
        flipped = change.argmin(axis=1)
        (on,) = np.nonzero(better & (change[np.arange(len(change)), flipped] < 0))
        if not len(on):
            break
        left, flipped, rows = left[on], flipped[on], np.arange(len(on))
        products, means, signs, together = products[on], means[on], signs[on], together[on]
        together -= 2 * signs[rows, flipped][:, None] * products[rows, :, flipped]
        signs[rows, flipped] *= -1
    return best


# --- cycles


def _cycle_margin(
    pairs: GroundPairs, links: _Links, single: Floats, differ: Floats, tolerances: Tolerances
) -> float:
    """How much more than one the shortest way from a node to its other copy is.

    In large networks, infinite where no way was found that is shorter than one.
    """
    heads = np.concatenate([links.heads, links.inside[:, 0]])
    tails = np.concatenate([links.tails, links.inside[:, 1]])
    # Two values of one variable never hold together.
    apart = np.concatenate([differ, single[links.inside].sum(axis=1)])
    if 2 * links.nodes <= tolerances.most_decomposed:
        return _least_of_all(_ways(heads, tails, apart, links.nodes, tolerances)) - 1
    # Nothing changes if a node is counted where it does not hold, both in F and outside.
    turned = single > 0.5
    apart = np.where(turned[heads] != turned[tails], 1 - apart, apart)
    # No cycle goes through a node with one edge, like the only child of a variable.
    degree = np.bincount(np.concatenate([heads, tails]), minlength=links.nodes)
    inner = (degree[heads] > 1) & (degree[tails] > 1)
    heads, tails, apart = heads[inner], tails[inner], apart[inner]
    values = expand(links.starts[pairs.sources], links.sizes[pairs.sources])
    sources, budget = _suspects(heads, tails, apart, values, links.nodes)
    if not len(sources):
        return math.inf
    near = _near(heads, tails, apart, budget, tolerances)
    heads, tails, apart = heads[near], tails[near], apart[near]
    nodes = distinct(np.concatenate([heads, tails]))
    heads, tails, sources = (np.searchsorted(nodes, own) for own in (heads, tails, sources))
    ways = _ways(heads, tails, apart, len(nodes), tolerances)
    if 2 * len(nodes) <= tolerances.most_decomposed:
        return _least_of_all(ways) - 1
    most = max(1, tolerances.most_walked // len(ways.lengths))
    return _least_distance(ways, sources[:most]) - 1


def _suspects(
    heads: Ints, tails: Ints, apart: Floats, nodes: Ints, number: int
) -> tuple[Ints, Floats]:
    """Which of some nodes a cycle may go through that is too short, the most suspicious first.

    A cycle with the edge e in F goes on from both ends of e, along other edges. So it is at least
    as long as 1 - apart(e) and the shortest edges there: if those two add up to apart(e), it is
    long enough. If not, it may go on from one end for what the shortest edge at the other end
    leaves of apart(e): the second result has that for each node, negative where it goes nowhere.
    """
    shortest, suspicion, budget = (np.full(number, own) for own in (math.inf, 0.0, -math.inf))
    length = np.minimum(apart, 1 - apart)
    for ends in (heads, tails):
        np.minimum.at(shortest, ends, length)
    missing = apart - shortest[heads] - shortest[tails]
    (found,) = np.nonzero(missing > 0)
    for ends, others in ((heads[found], tails[found]), (tails[found], heads[found])):
        np.maximum.at(suspicion, ends, missing[found])
        np.maximum.at(budget, ends, apart[found] - shortest[others])
    order = np.argsort(-suspicion[nodes], kind="stable")
    return nodes[order[: np.count_nonzero(suspicion[nodes])]], budget


def _near(heads: Ints, tails: Ints, apart: Floats, budget: Floats, tolerances: Tolerances) -> Bools:
    """The edges that a cycle may have which is too short, by how far it may go on from nodes.

    All edges, if it takes many rounds to find out.
    """
    length = np.minimum(apart, 1 - apart)
    for _ in range(tolerances.most_rounds):
        before = budget.copy()
        np.maximum.at(budget, tails, before[heads] - length)
        np.maximum.at(budget, heads, before[tails] - length)
        budget[budget < 0] = -math.inf
        if np.array_equal(budget, before):
            return np.asarray((budget[heads] >= 0) & (budget[tails] >= 0))
    return np.ones(len(heads), dtype=bool)


@dataclass(frozen=True, eq=False, slots=True)
class _Ways:
    """The graph with two copies of each node; edges in F lead from one copy to the other.

    rows, columns  the ends of edges, in both directions
    lengths        how long each is
    nodes          how many nodes there were
    """

    rows: Ints
    columns: Ints
    lengths: Floats
    nodes: int


def _ways(heads: Ints, tails: Ints, apart: Floats, nodes: int, tolerances: Tolerances) -> _Ways:
    here = np.concatenate([heads, heads + nodes])
    there = np.concatenate([tails, tails + nodes])
    crossing = np.concatenate([tails + nodes, tails])
    rows = np.concatenate([here, here])
    columns = np.concatenate([there, crossing])
    lengths = np.concatenate([apart, apart, 1 - apart, 1 - apart])
    # Sparse graphs would lose edges of length zero.
    lengths = np.maximum(lengths, tolerances.rounding)
    rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return _Ways(rows, columns, np.concatenate([lengths, lengths]), nodes)


def _least_of_all(ways: _Ways) -> float:
    """The shortest way from any node to its other copy, by Floyd and Warshall."""
    distance = np.full((2 * ways.nodes, 2 * ways.nodes), math.inf)
    np.minimum.at(distance, (ways.rows, ways.columns), ways.lengths)
    for k in range(len(distance)):
        np.minimum(distance, distance[:, [k]] + distance[[k]], out=distance)
    return float(np.diagonal(distance, ways.nodes).min(initial=math.inf))


def _least_distance(ways: _Ways, sources: Ints) -> float:
    """The shortest way from one of some nodes to its other copy; infinite if it is above one."""
    # Importing it takes longer than solving a small network.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    size = 2 * ways.nodes, 2 * ways.nodes
    graph = csr_array((ways.lengths, (ways.rows, ways.columns)), shape=size)
    least = math.inf
    for source in sources.tolist():
        distance = dijkstra(graph, indices=source, limit=1.0)
        least = min(least, float(distance[source + ways.nodes]))
    return least
