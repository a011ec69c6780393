"""The messages of runs of flooding, with what follows from them.

Small plans with one layout are a batch of rows. A large plan goes alone and block by block: whole
arrays of a million regions take hundreds of megabytes, and an operation on them waits for memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from liftgbp.plan import Layout, Plan
from liftgbp.plan.plan import Exponents, Factored, stacked
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Bools, Floats, Ints, Segments, expand, starts_of

ENTRIES = 2**15
"""How many entries a block of a large plan has: some arrays of that length fit into the caches of a
core."""

SLOW_DOWN, SPEED_UP = 0.8, 1.1
SLOWEST, FASTEST = 0.005, 0.9
"""How adaptive damping changes the rate of updates, and within which limits. A rate of one
overshoots on most models, unless a run starts with it; below the smallest, 500 iterations lead
nowhere."""


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Regions, or messages, that follow each other.

    numbers   which ones
    entries   where their entries are
    segments  the entries of each of them, counted from the first
    """

    numbers: slice
    entries: slice
    segments: Segments


def _blocks(segments: Segments, total: int, most: int) -> Iterator[_Block]:
    starts = segments.starts
    bounds = [*np.searchsorted(starts, np.arange(0, total, most)).tolist(), len(starts)]
    for first, last in pairwise(bounds):
        if first < last:
            numbers = slice(first, last)
            entries = slice(int(starts[first]), int(starts[last]) if last < len(starts) else total)
            part = segments if last - first == len(starts) else segments.part(numbers)
            yield _Block(numbers, entries, part)


@dataclass(frozen=True, eq=False, slots=True)
class _Sent(_Block):
    """Messages that follow each other, and what they compare.

    children  the belief entry that each message entry is sent to
    sources   the belief entries whose sums it is compared with
    counts    how often each of these counts; `None` if all do once
    targets   which of them belong to which message entry
    """

    children: Ints
    sources: Ints
    counts: Floats | None
    targets: Segments

    @staticmethod
    def of(layout: Layout, block: _Block, *, whole: bool) -> _Sent:
        """A block of messages of a layout, which may be all of them."""
        entries, counts = block.entries, layout.state_counts[1]
        bounds = np.append(layout.source_starts, len(layout.sources))
        own = slice(*bounds[[entries.start, entries.stop]].tolist())
        return _Sent(
            block.numbers,
            entries,
            block.segments,
            layout.children[entries],
            layout.sources[own],
            None if counts is None else counts[own],
            layout.by_target if whole else layout.by_target.part(entries),
        )


class Flood:
    """The messages of a batch of runs on plans with one layout, one row each.

    The residual is measured on logarithms, since beliefs that run away to 0 and 1 look settled in
    probability: the largest difference between a parent's log marginal and its child's log belief,
    or the largest change of a log belief that the last update made, whichever is larger.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        rate: float,
        adaptive: bool,
        tolerances: Tolerances,
        messages: Floats | None = None,
        *,
        large: bool = False,
    ) -> None:
        self.plans = list(plans)
        self._tolerances = tolerances
        self._layout = layout = plans[0].layout
        self._theta = np.array([plan.theta for plan in plans])
        self._states, _ = layout.state_counts
        self._rate = np.full((len(plans), 1), rate)
        self._adaptive = adaptive
        self._fastest = max(FASTEST, rate)
        entries, sent = layout.belief_entries, layout.message_entries
        most = ENTRIES if large else max(entries, sent, 1)
        self._regions = list(_blocks(layout.by_region, entries, most))
        sent_in = _blocks(layout.by_message, sent, most)
        self._messages = [_Sent.of(layout, block, whole=not large) for block in sent_in]
        self._exponents = stacked([plan.exponents for plan in plans])
        self._powers = _BlockByBlock(self._exponents, self._regions) if large else None
        self.messages = np.zeros((len(plans), sent)) if messages is None else messages.copy()
        # Large arrays are written again, not made again: that would take as long as filling them.
        self.log_beliefs, self._chances = (np.zeros((len(plans), entries)) for _ in range(2))
        longest = max((len(own.sources) for own in self._messages), default=0)
        self._terms = np.empty((len(plans), longest))
        self._change = np.empty((len(plans), sent))
        self._moved = np.zeros((len(plans), len(layout.region_starts)))
        self._set_beliefs()
        self._moved[:] = 0.0
        self.residual = self._set_change()

    def keep(self, rows: Ints) -> None:
        """Go on with some rows only."""
        self.plans = [self.plans[k] for k in rows]
        self._exponents = self._exponents.kept(rows)
        for name in ("_theta", "_rate", "_chances", "_terms", "_change", "_moved", "_largest_raw"):
            setattr(self, name, getattr(self, name)[rows])
        self.messages, self.log_beliefs = self.messages[rows], self.log_beliefs[rows]
        self.residual = self.residual[rows]

    def step(self) -> None:
        """Update all messages once."""
        for block in self._messages:
            messages, change = self.messages[:, block.entries], self._change[:, block.entries]
            change *= self._rate
            messages += change
            block.segments.apply(np.subtract, messages, block.segments.tops(messages))
        self._set_beliefs()
        self._moved /= self._rate
        before = self.residual
        self.residual = np.maximum(self._set_change(), self._moved.max(axis=-1, initial=0.0))
        if self._adaptive:
            factor = np.where((self.residual > before)[:, None], SLOW_DOWN, SPEED_UP)
            self._rate = np.clip(self._rate * factor, SLOWEST, self._fastest)

    def near(self, log_beliefs: Floats) -> Bools:
        """Whether no belief differs from a known one by more than what tells points apart."""
        near = np.ones(len(self.plans), dtype=bool)
        for block in self._regions:
            away = self._chances[:, block.entries] - np.exp(log_beliefs[block.entries])
            near &= _largest(away) < self._tolerances.same
            if not near.any():
                break
        return near

    def least_settled(self, row: int) -> int | None:
        """The region whose belief its parents disagree with most; none if that is not known."""
        change = np.abs(self._change[row])
        if not np.isfinite(change).all() or not len(change):
            return None
        return int(self._layout.region_of[self._layout.children[change.argmax()]])

    def settled(self, tol: float) -> Bools:
        """Whether every difference is below `tol`, or below the rounding of its own regions.

        Log beliefs of large domains are large numbers, and their rounding may be far above `tol`;
        that excuses the regions which have them, and no others.
        """
        small = self.residual <= tol
        rounding = self._tolerances.last_places
        if small.all() or not (self.residual <= rounding * self._largest_raw).any():
            return np.asarray(small)
        allowed = np.empty_like(self._moved)
        for number, block in enumerate(self._regions):
            scales = block.segments.tops(np.abs(self._raw(number)))
            excuse = np.minimum(rounding * scales, self._tolerances.acceptable)
            allowed[:, block.numbers] = np.maximum(tol, excuse)
        excused = (self._moved <= allowed).all(axis=-1)
        layout, regions = self._layout, self._layout.region_of
        for block in self._messages:
            parents = regions[layout.sources[layout.source_starts[block.entries]]]
            children = regions[block.children]
            along = np.maximum(allowed[:, parents], allowed[:, children])
            excused &= (np.abs(self._change[:, block.entries]) <= along).all(axis=-1)
        return np.asarray(small | excused)

    def _raw(self, number: int) -> Floats:
        """The log beliefs of a block before normalisation."""
        if self._powers is None:
            raw = self._exponents @ self.messages
        else:
            raw = self._powers.of_block(number, self.messages[0])[None]
        raw += self._theta[:, self._regions[number].entries]
        return raw

    def _set_beliefs(self) -> None:
        """The beliefs that messages make, and how far those of each region have moved."""
        if self._powers is not None:
            self._powers.enter(self.messages[0])
        self._largest_raw = np.zeros(len(self.plans))
        for number, block in enumerate(self._regions):
            raw, regions, own = self._raw(number), block.segments, block.entries
            np.maximum(self._largest_raw, _largest(raw), out=self._largest_raw)
            # The largest goes first: subtracting one huge total at the end would cancel digits.
            regions.apply(np.subtract, raw, regions.tops(raw))
            chances = np.exp(raw, out=self._chances[:, own])
            total = regions.sums(chances if self._states is None else chances * self._states[own])
            regions.apply(np.subtract, raw, np.log(total))
            regions.apply(np.divide, chances, total)
            before = self.log_beliefs[:, own]
            np.abs(np.subtract(raw, before, out=before), out=before)
            regions.tops(before, out=self._moved[:, block.numbers])
            before[:] = raw

    def _set_change(self) -> Floats:
        """By how much the logs of parents' marginals exceed the log beliefs of children, at most.

        The differences themselves are what messages change by.
        """
        layout, largest = self._layout, np.zeros(len(self.plans))
        for message in self._messages:
            terms = self._terms[:, : len(message.sources)]
            change = self._change[:, message.entries]
            self._chances.take(message.sources, axis=-1, out=terms, mode="clip")
            if message.counts is not None:
                terms *= message.counts
            message.targets.sums(terms, out=change)
            # With a number that is undefined, as when messages diverge, the least of them is, too.
            if change.min() >= self._tolerances.vanishing:
                np.log(change, out=change)
            else:
                lost = np.flatnonzero((change < self._tolerances.vanishing).any(axis=0))
                change[:, lost] = 1.0
                np.log(change, out=change)
                if len(lost):
                    places = message.entries.start + lost
                    change[:, lost] = _log_marginals(layout, self.log_beliefs, places)
            change -= self.log_beliefs.take(message.children, axis=-1)
            np.maximum(largest, _largest(change), out=largest)
        return largest


def _largest(values: Floats) -> Floats:
    """The size of the largest number of each row."""
    return np.asarray(np.abs(values).max(axis=-1, initial=0.0))


def _log_marginals(layout: Layout, log_beliefs: Floats, entries: Ints) -> Floats:
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


class _BlockByBlock:
    """The logs of products of powers of messages of one run, block by block.

    What enters regions is summed up before.
    """

    def __init__(self, exponents: Exponents | Factored, blocks: Sequence[_Block]) -> None:
        self._rows = [block.entries for block in blocks]
        self._inflow, local = None, exponents
        if isinstance(local, Factored):
            self._inflow, members, local = local.inflow, local.members, local.local
            self._members = [members.block(own) for own in self._rows]
        self._local = [local.block(own) for own in self._rows]

    def enter(self, messages: Floats) -> None:
        """Sum up what enters regions."""
        if self._inflow is not None:
            self._into: Floats = self._inflow @ messages

    def of_block(self, number: int, messages: Floats) -> Floats:
        """The logs of the entries of a block."""
        local: Floats = self._local[number] @ messages
        if self._inflow is None:
            return local
        total: Floats = self._members[number] @ self._into
        total += self._into[self._rows[number]]
        total += local
        return total
