"""An object becomes like another one: all its atoms take the values of that object's atoms.

So it joins a class of an equivalence relation or leaves one, which no change of few atoms could do.
What object x becomes is drawn without a look at its present atoms: like object z for any other z,
or with one value everywhere, and a few atoms are then drawn anew. Atoms that z has no counterpart
of, such as those about both, are drawn uniformly. The chance of each outcome is a sum over all z,
so that this is a move of Metropolis and Hastings with independent proposals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.chains import Worlds, settled
from liftgbp.methods.sampling.terms import Bytes, FactorIndex, WorldWeights
from liftgbp.methods.sampling.tied import Tied
from liftgbp.support.arrays import Bools, Floats, Ints, places_of_rows

NOISE = 1e-3
"""The part of the copied atoms that are drawn anew. Where formulas are hard, copies must be exact;
that some may differ makes every move possible in both directions."""

MOST_ENTRIES = 2**22
"""An object is compared with so many others that there are at most this many atoms and chains."""

UNKNOWN = 255
"""Marks atoms without a counterpart: it is the value of no atom."""

MOST_CONSTANTS = 2
"""An object may also get one of these many first values in all of its atoms."""


@dataclass(frozen=True, eq=False, slots=True)
class Patterns:
    """What an object may become: the deciding variables of its atoms, (n,), and where they look.

    ranges   how many values each of them has
    source   the variable that each one copies in each pattern, (n, P); -1 if it is drawn uniformly
    change   what each value becomes when it is copied, (n, P, V); `None` if all stay the same
    constant the value of each one in patterns of one value, (n, K): these come after the others
    """

    roots: Ints
    ranges: Ints
    source: Ints
    change: Ints | None
    constant: Bytes

    def outcomes(self, worlds: Worlds) -> Outcomes:
        """What the object may become in each chain."""
        copied = worlds.values[self.source]
        if self.change is not None:
            rows = np.arange(len(self.roots))[:, None, None], np.arange(copied.shape[1])[:, None]
            copied = self.change[(*rows, copied)].astype(np.uint8)
        copied[self.source < 0] = UNKNOWN
        constant = np.repeat(self.constant[:, :, None], worlds.chains, axis=2)
        return Outcomes(self.ranges, np.concatenate([copied, constant], axis=1))


class Outcomes:
    """The patterns that an object may get in each chain, (n, P + K, C), and their shares, as logs.

    Half the time all are chosen equally often. Otherwise, those of objects with many relations are
    chosen less often: the members of a class of an equivalence relation together as often as those
    of any other class.
    """

    def __init__(self, ranges: Ints, patterns: Bytes) -> None:
        self._ranges, self._patterns = ranges, patterns
        self._unknown = _count(patterns == UNKNOWN)
        rare = 1 / (1.0 + _count(patterns != 0) - self._unknown)
        shares = rare / rare.sum(axis=0) + 1 / len(rare)
        self._levels = np.cumsum(shares, axis=0)
        self._log_shares = np.log(shares / self._levels[-1])

    def drawn(self, random: np.random.Generator) -> Bytes:
        """New values of the atoms in each chain, (n, C)."""
        chains = self._patterns.shape[2]
        which = (random.random(chains) * self._levels[-1] < self._levels).argmax(axis=0)
        copied = self._patterns[:, which, np.arange(chains)]
        uniform = random.integers(0, self._ranges[:, None], copied.shape, dtype=np.uint8)
        anew = (random.random(copied.shape) < NOISE) | (copied == UNKNOWN)
        return np.where(anew, uniform, copied)

    def log_chance(self, values: Bytes) -> Floats:
        """The log chance that the atoms of each chain are drawn with these values."""
        total = self._log_shares.copy()
        for length in np.unique(self._ranges).tolist():
            rows = self._ranges == length
            some = self._patterns[rows] if not rows.all() else self._patterns
            unknown = self._unknown if some is self._patterns else _count(some == UNKNOWN)
            # Unknown values differ from all others.
            differing = _count(some != values[rows, None]) - unknown
            same = len(some) - unknown - differing
            total += same * np.log(1 - NOISE + NOISE / length)
            total += differing * np.log(NOISE / length) - unknown * np.log(length)
        top = total.max(axis=0)
        return np.asarray(top + np.log(np.exp(total - top).sum(axis=0)))


def _count(which: Bools) -> Ints:
    """How many of the first axis are true."""
    return np.asarray(np.add.reduce(which.view(np.uint8), axis=0, dtype=np.uint16), np.int64)


class Likenesses:
    """Lets objects become like others."""

    def __init__(
        self,
        variables: Variables,
        sizes: dict[str, int],
        tied: Tied,
        index: FactorIndex,
        objects: list[tuple[str, int, Ints]],
    ) -> None:
        self._variables = variables
        self._sizes = sizes
        self._tied = tied
        self._index = index
        few = tied.network.ranges.max(initial=0) <= UNKNOWN
        self._objects = [own for own in objects if sizes[own[0]] > 2 and few]
        self._known: dict[int, tuple[Patterns, WorldWeights]] = {}

    def __call__(self, worlds: Worlds, random: np.random.Generator) -> Bools | None:
        """One object becomes like others, in each chain like another one."""
        if not self._objects:
            return None
        number = int(random.integers(len(self._objects)))
        if number not in self._known:
            found = self._patterns(*self._objects[number])
            self._known[number] = found, WorldWeights(self._index, found.roots)
        own, weights = self._known[number]
        old = worlds.values[own.roots]
        outcomes = own.outcomes(worlds)
        new = outcomes.drawn(random)
        gain = outcomes.log_chance(old) - outcomes.log_chance(new)
        gain -= weights.full(worlds.planes)
        worlds.put(own.roots, new)
        gain += weights.full(worlds.planes)
        return settled(gain, own.roots, old, worlds, random)

    def _patterns(self, sort: str, obj: int, roots: Ints) -> Patterns:
        """What the atoms of an object copy from each other object."""
        atoms, ranges = self._variables.atoms, self._tied.network.ranges
        others = np.delete(np.arange(self._sizes[sort]), obj)
        most = max(1, MOST_ENTRIES // (64 * len(roots)))
        others = np.random.default_rng(obj).permutation(others)[:most]
        chosen = self._tied.decides[roots]
        args = atoms.args[chosen]
        of_sort = np.zeros(args.shape, bool)
        for number, predicate in enumerate(self._variables.predicates):
            same = [other == sort for other in predicate.sorts]
            of_sort[atoms.predicate[chosen] == number, : len(same)] = same
        here = of_sort & (args == obj)
        # Atoms about the object and the other one have no counterpart.
        both = (of_sort[:, :, None] & (args[:, :, None] == others)).any(axis=1)
        moved = np.where(here[:, None, :], others[None, :, None], args[:, None, :])
        rows = moved.reshape(-1, args.shape[1])
        of_rows = np.repeat(atoms.predicate[chosen], len(others))
        at = places_of_rows([of_rows, *rows.T], [atoms.predicate, *atoms.args.T])
        at = at.reshape(len(roots), len(others))
        source = self._tied.root[at]
        # From a value of the copied variable, over its atom, to one of the variable itself.
        back = self._tied.root_values()[chosen]
        change = back[np.arange(len(roots))[:, None, None], self._tied.value[at]]
        width = np.arange(change.shape[2])
        present = width < ranges[roots][:, None, None]
        change = np.where(self._tied.value[at] >= 0, change, -1)
        fits = ((change >= 0) == present).all(axis=2)
        usable = (at >= 0) & ~both & ~np.isin(source, roots) & fits
        same = (change == width) | ~present
        longest = min(MOST_CONSTANTS, int(ranges[roots].max()))
        constant = np.minimum(np.arange(longest), ranges[roots][:, None] - 1)
        return Patterns(
            roots,
            ranges[roots],
            np.where(usable, source, -1),
            None if same[usable].all() else np.maximum(change, 0),
            constant.astype(np.uint8),
        )
