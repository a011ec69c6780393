"""Flooding on a large plan, block by block.

What `flooding` does to whole arrays is done here to a few thousand entries at a time, with the same
numbers. Whole arrays of a million regions take hundreds of megabytes: an operation on them waits
for memory, and making room for its result takes longer than the operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints, Segments, expand, in_parts, starts_of
from liftgbp.plan import Layout, Plan
from liftgbp.plan.plan import Exponents, Factored
from liftgbp.solve.tolerances import Tolerances

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENTRIES = 2**15
"""How many entries a block has: some arrays of that length fit into the caches of a core."""


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Regions, or messages, that follow each other.

    own       their numbers
    entries   where their entries are
    segments  the entries of each of them, counted from the first
    """

    own: slice
    entries: slice
    segments: Segments


def _blocks(segments: Segments, starts: Ints, total: int) -> Iterator[_Block]:
    bounds = [*np.searchsorted(starts, np.arange(0, total, ENTRIES)).tolist(), len(starts)]
    for first, last in pairwise(bounds):
        if first < last:
            own = slice(first, last)
            stop = int(starts[last]) if last < len(starts) else total
            yield _Block(own, slice(int(starts[first]), stop), segments.part(own))


class _PlanBlocks:
    """The blocks of a plan, which all runs on it share.

    regions   blocks of regions
    messages  blocks of messages
    targets   for each of these, which terms sum up to which entry
    powers    what raises messages to their exponents
    """

    def __init__(self, plan: Plan) -> None:
        layout = plan.layout
        self.regions = list(_blocks(layout.by_region, layout.region_starts, layout.belief_entries))
        self.messages = list(
            _blocks(layout.by_message, layout.message_starts, layout.message_entries)
        )
        self.targets = [layout.by_target.part(block.entries) for block in self.messages]
        self.powers = _powers(plan, self.regions, self.messages)


_known: WeakKeyDictionary[Plan, _PlanBlocks] = WeakKeyDictionary()


def _blocks_of(plan: Plan) -> _PlanBlocks:
    """The blocks of a plan; they live as long as the plan."""
    if plan not in _known:
        _known[plan] = _PlanBlocks(plan)
    return _known[plan]


def forget_blocks(plan: Plan) -> None:
    """Leave the memory of blocks to others, once no run follows."""
    _known.pop(plan, None)


SLOW_DOWN, SPEED_UP = 0.8, 1.1
SLOWEST, FASTEST = 0.005, 0.9
"""How adaptive damping changes the rate of updates, and within which limits. A rate of one
overshoots on most models, unless a run starts with it; below the smallest, 500 iterations lead
nowhere."""


class FloodOfBlocks:
    """The messages of one run, with what follows from them.

    It looks like a batch of one run from outside. Beliefs are kept as logs and as probabilities;
    of what they were before, only how far those of each region have moved.
    """

    def __init__(
        self,
        plan: Plan,
        rate: float,
        adaptive: bool,
        tolerances: Tolerances,
        messages: Floats | None = None,
    ) -> None:
        self.plans = [plan]
        self._rate = rate
        self._fastest = max(FASTEST, rate)
        self._adaptive = adaptive
        self._tolerances = tolerances
        self._layout = layout = plan.layout
        self._theta = plan.theta
        self._states, self._counts = layout.state_counts
        blocks = _blocks_of(plan)
        self._regions, self._messages = blocks.regions, blocks.messages
        self._targets, self._powers = blocks.targets, blocks.powers
        shape = layout.message_entries
        self.messages = np.zeros(shape) if messages is None else messages.reshape(shape).copy()
        self._log_beliefs = np.zeros(layout.belief_entries)
        self._chances = np.empty(layout.belief_entries)
        self._change = np.empty(layout.message_entries)
        self._moved = np.zeros(len(layout.region_starts))
        self._set_beliefs()
        self._moved[:] = 0.0
        self._set_change()
        self.residual = np.array([self._largest_change])

    @property
    def log_beliefs(self) -> Floats:
        """The log beliefs, as the only row of a batch."""
        return self._log_beliefs[None]

    def step(self) -> None:
        """Update all messages once."""
        for block in self._messages:
            own, change = self.messages[block.entries], self._change[block.entries]
            change *= self._rate
            own += change
            block.segments.apply(np.subtract, own, block.segments.tops(own))
        self._set_beliefs()
        self._moved /= self._rate
        self._set_change()
        before = self.residual
        self.residual = np.array([np.maximum(self._largest_change, self._moved.max(initial=0.0))])
        if self._adaptive:
            factor = SLOW_DOWN if self.residual[0] > before[0] else SPEED_UP
            self._rate = min(max(self._rate * factor, SLOWEST), self._fastest)

    def near(self, log_beliefs: Floats) -> NDArray[np.bool_]:
        """Whether no belief differs from a known one by more than what tells points apart."""
        most = self._tolerances.same
        for block in self._regions:
            away = np.exp(log_beliefs[block.entries])
            away -= self._chances[block.entries]
            if not np.abs(away, out=away).max() < most:
                return np.array([False])
        return np.array([True])

    def least_settled(self, row: int) -> int | None:
        """The region whose belief its parents disagree with most; none if that is not known."""
        if not len(self._change) or not np.isfinite(self._largest_change):
            return None
        children = self._layout.children
        return int(self._layout.region_of[children[np.abs(self._change).argmax()]])

    def settled(self, tol: float) -> NDArray[np.bool_]:
        """Whether every difference is below `tol`, or below the rounding of its own regions."""
        small = self.residual <= tol
        rounding = self._tolerances.last_places
        if small.all() or not self.residual[0] <= rounding * self._largest_raw:
            return np.asarray(small)
        allowed = np.empty(len(self._moved))
        for k, block in enumerate(self._regions):
            scales = block.segments.tops(np.abs(self._raw(k)))
            excuse = np.minimum(rounding * scales, self._tolerances.acceptable)
            allowed[block.own] = np.maximum(tol, excuse)
        if not (self._moved <= allowed).all():
            return np.array([False])
        layout = self._layout
        for block in self._messages:
            parents = layout.sources[layout.source_starts[block.entries]]
            along = np.maximum(
                allowed[layout.region_of[parents]],
                allowed[layout.region_of[layout.children[block.entries]]],
            )
            if not (np.abs(self._change[block.entries]) <= along).all():
                return np.array([False])
        return np.array([True])

    # --- beliefs

    def _raw(self, number: int) -> Floats:
        """The log beliefs of a block before normalisation."""
        raw = self._powers.of_block(number, self.messages)
        raw += self._theta[self._regions[number].entries]
        return raw

    def _set_beliefs(self) -> None:
        self._powers.enter(self.messages)
        largest = [0.0]
        for number, block in enumerate(self._regions):
            raw, regions = self._raw(number), block.segments
            largest += [raw.max(), -raw.min()]
            regions.apply(np.subtract, raw, regions.tops(raw))
            chances = np.exp(raw, out=self._chances[block.entries])
            states = chances if self._states is None else chances * self._states[block.entries]
            total = regions.sums(states)
            regions.apply(np.subtract, raw, np.log(total))
            regions.apply(np.divide, chances, total)
            before = self._log_beliefs[block.entries]
            np.abs(np.subtract(raw, before, out=before), out=before)
            regions.tops(before, out=self._moved[block.own])
            before[:] = raw
        self._largest_raw = np.max(largest)

    # --- what parents think of them

    def _set_change(self) -> None:
        """By how much the logs of parents' marginals exceed the log beliefs of children."""
        layout, vanishing = self._layout, self._tolerances.vanishing
        heads = [block.entries.start for block in self._messages]
        bounds = [
            *layout.source_starts[np.array(heads, dtype=np.int64)].tolist(),
            len(layout.sources),
        ]
        largest = [0.0]
        blocks = zip(self._messages, self._targets, pairwise(bounds), strict=True)
        for block, targets, (first, last) in blocks:
            terms = self._chances.take(layout.sources[first:last])
            if self._counts is not None:
                terms *= self._counts[first:last]
            change = self._change[block.entries]
            targets.sums(terms, out=change)
            lost = np.empty(0, np.int64)
            # The least of numbers among which one is undefined is undefined.
            if not change.min() >= vanishing:
                lost = np.flatnonzero(change < vanishing)
                change[lost] = 1.0
            np.log(change, out=change)
            if len(lost):
                places = block.entries.start + lost
                change[lost] = log_marginals(layout, self._log_beliefs[None], places)[0]
            change -= self._log_beliefs.take(layout.children[block.entries])
            largest += [change.max(), -change.min()]
        self._largest_change = np.max(largest)


def log_marginals(layout: Layout, log_beliefs: Floats, entries: Ints) -> Floats:
    """The logs of marginals that are too small for exponentials of beliefs."""
    starts, last = layout.source_starts, layout.message_entries - 1
    ends = np.where(entries < last, starts[np.minimum(entries + 1, last)], len(layout.sources))
    lengths = ends - starts[entries]
    places = expand(starts[entries], lengths)
    terms = log_beliefs.take(layout.sources[places], axis=-1)
    terms += np.log(layout.source_counts[places])
    targets = Segments(starts_of(lengths)[:-1], len(places))
    top = targets.tops(terms)
    targets.apply(np.subtract, terms, top)
    return np.asarray(top + np.log(targets.sums(np.exp(terms))))


# --- messages to the power of their exponents


def _powers(
    plan: Plan, regions: Sequence[_Block], messages: Sequence[_Block]
) -> _Plain | _Factors | _Cavities:
    if not isinstance(plan.exponents, Factored):
        return _Plain(plan.exponents, regions)
    if _take_back_their_own(plan.layout, plan.exponents):
        return _Cavities(plan.layout, plan.exponents, regions, messages)
    return _Factors(plan.exponents, regions)


def _take_back_their_own(layout: Layout, exponents: Factored) -> bool:
    """Whether regions read what enters those inside, less the one message that they send there."""
    members, local = exponents.members, exponents.local
    return (
        len(members.columns) == len(local.columns)
        and np.array_equal(members.row_starts, local.row_starts)
        and all(
            (local.values[own] == -1).all()
            and np.array_equal(members.columns[own], layout.children[local.columns[own]])
            for own in in_parts(len(local.columns), 1)
        )
    )


class _Plain:
    """The logs of products of powers of messages, block by block."""

    def __init__(self, exponents: Exponents, blocks: Sequence[_Block]) -> None:
        self._matrices = [exponents.block(block.entries) for block in blocks]

    def enter(self, messages: Floats) -> None:
        """What all blocks need of messages: nothing."""

    def of_block(self, number: int, messages: Floats) -> Floats:
        """The logs of the entries of a block."""
        return np.asarray(self._matrices[number] @ messages)


class _Inflow:
    """Sums of what enters regions; of outer regions, which come first, nothing does."""

    def __init__(self, inflow: Exponents, blocks: Sequence[_Block]) -> None:
        first = inflow.first_filled
        self.entered = {
            k: block.entries for k, block in enumerate(blocks) if block.entries.stop > first
        }
        self._matrices = {k: inflow.block(own) for k, own in self.entered.items()}
        self.first = min((own.start for own in self.entered.values()), default=inflow.shape[0])
        self.sums = np.zeros(inflow.shape[0] - self.first)

    def enter(self, messages: Floats) -> None:
        """Sum up what enters regions."""
        for number in self.entered:
            self.of(number)[:] = self._matrices[number] @ messages

    def of(self, number: int) -> Floats:
        """The sums of the entries of a block that is entered."""
        own = self.entered[number]
        return self.sums[own.start - self.first : own.stop - self.first]


class _Factors:
    """The same where what enters regions is summed up before larger regions read it."""

    def __init__(self, exponents: Factored, blocks: Sequence[_Block]) -> None:
        self._members = [exponents.members.block(block.entries) for block in blocks]
        self._local = [exponents.local.block(block.entries) for block in blocks]
        self._inflow = _Inflow(exponents.inflow, blocks)
        self._into = np.zeros(exponents.inflow.shape[0])

    def enter(self, messages: Floats) -> None:
        """Sum up what enters regions."""
        self._inflow.enter(messages)
        self._into[self._inflow.first :] = self._inflow.sums

    def of_block(self, number: int, messages: Floats) -> Floats:
        """The logs of the entries of a block."""
        total: Floats = self._members[number] @ self._into
        if number in self._inflow.entered:
            total += self._inflow.of(number)
        total += self._local[number] @ messages
        return total


class _Cavities:
    """The same where regions take back the one message that they send to each region inside.

    What enters a region without the message of one parent is computed once for that message, not
    for each state of the parent: a network of pairs needs half of the sums.
    """

    def __init__(
        self,
        layout: Layout,
        exponents: Factored,
        regions: Sequence[_Block],
        messages: Sequence[_Block],
    ) -> None:
        self._children = layout.children
        self._messages = messages
        self._inflow = _Inflow(exponents.inflow, regions)
        self._cavities = np.empty(layout.message_entries)
        self._read = _unit_blocks(exponents.local, regions)

    def enter(self, messages: Floats) -> None:
        """What enters regions, without each message."""
        self._inflow.enter(messages)
        for block in self._messages:
            own = block.entries
            entered = self._inflow.sums.take(self._children[own] - self._inflow.first)
            np.subtract(entered, messages[own], out=self._cavities[own])

    def of_block(self, number: int, messages: Floats) -> Floats:
        """The logs of the entries of a block."""
        total: Floats = self._read[number] @ self._cavities
        if number in self._inflow.entered:
            total += self._inflow.of(number)
        return total


def _unit_blocks(exponents: Exponents, blocks: Sequence[_Block]) -> list[csr_array]:
    """The blocks of a matrix with ones in place of its values; all blocks share the ones."""
    read = [exponents.block(block.entries) for block in blocks]
    ones = np.ones(max((own.nnz for own in read), default=0))
    for own in read:
        own.data = ones[: own.nnz]
    return read
