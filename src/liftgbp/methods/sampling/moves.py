"""Moves of many atoms at once, where single ones cannot get through.

- *All atoms of one object*: they are forgotten, and drawn one class after the other given what is
  known by then. The chance of drawing the old values in the same way decides about acceptance
  (Metropolis and Hastings).
- *Exchanges*: two objects exchange some or all of their atoms.
- *Mirrors*: all atoms of some predicates exchange two values, or their two arguments.
- *Clusters* of atoms that pull at each other exchange two values (`bonded_clusters.py`).
- *Likenesses*: an object becomes like another one (`likenesses.py`).

Exchanges and mirrors undo themselves, so only the weights of worlds decide. A move that is hardly
ever accepted is tried more and more rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from liftgbp.methods.sampling.bonded_clusters import Clusters
from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.chains import (
    Sweeper,
    UnitClass,
    Worlds,
    drawn,
    log_chances,
    settled,
    single_classes,
)
from liftgbp.methods.sampling.likenesses import Likenesses
from liftgbp.methods.sampling.terms import FULL, Bytes, WorldWeights
from liftgbp.methods.sampling.tied import Tied
from liftgbp.support.arrays import Bools, Floats, Ints, places_of_rows

MOST_OBJECTS = 24
"""The atoms of at most this many objects are moved as a whole; they are chosen at random."""

MOST_ATOMS = 400
"""Objects with more atoms than this are not moved as a whole."""

COST = 4
"""Moves of whole objects may take about one part in this many of the time."""

TRIES = 10
"""After this many tries without success, a move is tried half as often."""

ACCEPTED = 1e-3
"""A move is a success if at least this part of the chains accept it."""

WORTHWHILE = 0.02
"""If at least this part of the chains accept a move, it may be tried more often."""

LAG = 4
"""How many sweeps apart worlds are compared, to find out whether they change slowly."""

FORGOTTEN = 0.9
"""Worlds change slowly if, after that, chains differ from themselves by less than this part of what
they differ by from each other."""

CLASSES = 2
"""Objects become like others at most once for so many classes of units that are drawn in a sweep.
One such try takes as long as three of these."""

RAREST = 64
"""Every kind of move is tried at least once in this many sweeps."""


Move: TypeAlias = Callable[[Worlds, np.random.Generator], Bools | None]
"""Tries a move in all chains, and says which of them accepted it; `None` where there is none."""


@dataclass
class Rhythm:
    """How often a move is tried, and how often it was accepted.

    It is tried `times` times in one of `every` sweeps. Where worlds change slowly, it may be tried
    up to `most` times in each sweep; with `most` = 0, never more often.
    """

    every: int = 1
    most: int = 0
    times: int = 1
    tries: int = 0
    accepted: float = 0.0
    _recent: float = 0.0

    def tries_in(self, sweep: int) -> int:
        """How often the move is tried after a sweep."""
        return self.times if sweep % self.every == 0 else 0

    def note(self, accepted: Bools) -> None:
        """Take note of which chains accepted a move; try one that none accept less often."""
        share = float(accepted.mean())
        self.tries += 1
        self.accepted += share
        self._recent += share
        if self.tries % TRIES == 0:
            if self._recent < ACCEPTED * TRIES:
                self.most = 0
                self.ease()
                self.every = min(2 * self.every, RAREST)
            self._recent = 0.0

    def quicken(self) -> None:
        """Try the move more often if chains accept it and it may be."""
        if not self.most or self.accepted < WORTHWHILE * self.tries:
            return
        if self.every > 1:
            self.every //= 2
        else:
            self.times = min(2 * self.times, self.most)

    def ease(self) -> None:
        """Try the move less often in a sweep."""
        self.times = max(1, self.times // 2)


class Moves:
    """The moves of a network about the atoms of a model."""

    def __init__(
        self,
        variables: Variables,
        sizes: dict[str, int],
        tied: Tied,
        sweeper: Sweeper,
        weights: WorldWeights,
    ) -> None:
        self._variables = variables
        self._sizes = sizes
        self._tied = tied
        self._sweeper = sweeper
        self._weights = weights
        self._back = tied.root_values()
        self._slots = self._usable_slots()
        self._objects = self._movable_objects()
        self._likenesses = Likenesses(variables, sizes, tied, sweeper.index, self._objects)
        self._clusters = Clusters(variables, tied, sweeper.index)
        self._known: dict[int, tuple[list[UnitClass], WorldWeights]] = {}
        per_sweep = max(1, len(sweeper.singles))
        some = max((len(roots) for _, _, roots in self._objects), default=0)
        many = -(-sweeper.classes // CLASSES)
        self.rhythms = {
            "objects": Rhythm(max(1, -(-COST * 2 * min(some, per_sweep) // per_sweep))),
            "exchanges": Rhythm(2),
            "mirrors": Rhythm(2),
            "clusters": Rhythm(4, most=1),
            "likenesses": Rhythm(most=many, times=-(-many // 4)),
        }
        self._before: Ints | None = None

    def after_sweep(self, sweep: int, worlds: Worlds, random: np.random.Generator) -> None:
        """Try the moves that are due; one that is not possible is `None`."""
        moves: dict[str, Move] = {
            "objects": self._move_object,
            "exchanges": self._exchange,
            "mirrors": self._mirror,
            "clusters": self._clusters,
            "likenesses": self._likenesses,
        }
        for name, rhythm in self.rhythms.items():
            for _ in range(rhythm.tries_in(sweep)):
                accepted = moves[name](worlds, random)
                if accepted is not None:
                    rhythm.note(accepted)
        self._adapt(sweep, worlds)

    def _adapt(self, sweep: int, worlds: Worlds) -> None:
        """Try moves more often if the sum of all values of a world is not soon forgotten.

        That is done more and more rarely: what depends on worlds for ever would change the
        distribution that they have.
        """
        if not (_is_power_of_two(sweep) or _is_power_of_two(sweep + LAG)):
            return
        now = worlds.values.sum(axis=0, dtype=np.int64)
        before, self._before = self._before, now
        if before is None or not _is_power_of_two(sweep):
            return
        slow = ((now - before) ** 2).mean() / 2 < FORGOTTEN * now.var()
        for rhythm in self.rhythms.values():
            if slow:
                rhythm.quicken()
            else:
                rhythm.ease()

    # --- all atoms of one object

    def _movable_objects(self) -> list[tuple[str, int, Ints]]:
        """Some objects, and the deciding variables of the atoms about each."""
        atoms, ranges = self._variables.atoms, self._tied.network.ranges
        movable: list[tuple[str, int, Ints]] = []
        for sort, size in self._sizes.items():
            about: list[tuple[Ints, Ints]] = []
            for number, predicate in enumerate(self._variables.predicates):
                rows, _ = self._variables.of(number)
                about += [
                    (rows, atoms.args[rows, k])
                    for k, other in enumerate(predicate.sorts)
                    if other == sort
                ]
            chosen = np.random.default_rng(0).permutation(size)[:MOST_OBJECTS]
            for obj in chosen.tolist() if about else []:
                roots = np.unique(
                    np.concatenate(
                        [self._tied.root[rows[objects == obj]] for rows, objects in about]
                    )
                )
                roots = roots[ranges[roots] > 1]
                if 1 < len(roots) <= MOST_ATOMS:
                    movable.append((sort, obj, roots))
        return movable

    def _move_object(self, worlds: Worlds, random: np.random.Generator) -> Bools | None:
        if not self._objects:
            return None
        number = int(random.integers(len(self._objects)))
        roots = self._objects[number][2]
        if number not in self._known:
            index = self._sweeper.index
            self._known[number] = single_classes(index, roots), WorldWeights(index, roots)
        classes, weights = self._known[number]
        order = [classes[k] for k in random.permutation(len(classes)).tolist()]
        gain = -weights.full(worlds.planes)
        old = worlds.values[roots]
        gain += self._drawn_anew(order, roots, worlds, None)
        gain -= self._drawn_anew(order, roots, worlds, random)
        gain += weights.full(worlds.planes)
        return settled(gain, roots, old, worlds, random)

    @staticmethod
    def _drawn_anew(
        order: Sequence[UnitClass], roots: Ints, worlds: Worlds, random: np.random.Generator | None
    ) -> Floats:
        """The log chance of drawing some atoms one after the other; without `random`, as they are.

        An atom that is not drawn yet makes all literals about it false, in both directions.
        """
        old = [unit.joint(worlds) for unit in order]
        worlds.forget(roots)
        chance = np.zeros(worlds.chains)
        for unit, joint in zip(order, old, strict=True):
            weights = unit.log_weights(worlds, FULL)
            new = joint if random is None else drawn(weights, random).astype(np.int64)
            chance += log_chances(weights, new).sum(axis=0)
            unit.write(worlds, new)
        return chance

    # --- moves that undo themselves

    def _usable_slots(self) -> list[tuple[str, int, int]]:
        """The places of arguments: sort, predicate and place, of predicates with variables."""
        present = set(self._variables.atoms.predicate.tolist())
        return [
            (sort, number, place)
            for number, predicate in enumerate(self._variables.predicates)
            if number in present
            for place, sort in enumerate(predicate.sorts)
            if self._sizes[sort] > 1
        ]

    def _exchange(self, worlds: Worlds, random: np.random.Generator) -> Bools | None:
        """Two objects exchange their atoms, in all places of arguments or in one of them."""
        if not self._slots:
            return None
        sort, number, place = self._slots[int(random.integers(len(self._slots)))]
        one, other = random.choice(self._sizes[sort], 2, replace=False).tolist()
        places = [(number, place)]
        if random.random() < 0.5:
            places = [(n, p) for which, n, p in self._slots if which == sort]
        atoms = self._variables.atoms
        args = atoms.args.copy()
        for which, column in places:
            rows, _ = self._variables.of(which)
            old = args[rows, column]
            args[rows, column] = np.where(old == one, other, np.where(old == other, one, old))
        return self._involution(args, self._same_values, worlds, random)

    @cached_property
    def _same_values(self) -> Ints:
        widest = self._tied.value.shape[1]
        return np.tile(np.arange(widest), (len(self._tied.root), 1))

    def _mirror(self, worlds: Worlds, random: np.random.Generator) -> Bools | None:
        """Atoms of some predicates exchange two values, those of others their two arguments."""
        atoms = self._variables.atoms
        args = atoms.args.copy()
        change = self._same_values.copy()
        for number, predicate in enumerate(self._variables.predicates):
            rows, _ = self._variables.of(number)
            values = int(self._variables.ranges[rows].min(initial=len(predicate.values)))
            if len(rows) and values > 1 and random.random() < 0.5:
                one, other = random.choice(values, 2, replace=False).tolist()
                change[rows, one], change[rows, other] = other, one
            same = len(predicate.sorts) == 2 and predicate.sorts[0] == predicate.sorts[1]
            if same and random.random() < 0.5:
                args[rows, :2] = args[rows][:, [1, 0]]
        return self._involution(args, change, worlds, random)

    def _involution(
        self, args: Ints, change: Ints, worlds: Worlds, random: np.random.Generator
    ) -> Bools | None:
        """Let each atom have the value of that over other objects, or what that changes into.

        Where there is no such atom, it is the atom itself.
        """
        root, value = self._tied.root, self._tied.value
        every = np.arange(len(root))
        atoms = self._variables.atoms
        at = places_of_rows([atoms.predicate, *args.T], [atoms.predicate, *atoms.args.T])
        source = np.where(at >= 0, at, every)
        moved = (source != every) | (change != self._same_values).any(axis=1)
        # Atoms that are tied to those that are moved must agree with them.
        some = np.flatnonzero(np.isin(root, root[moved]))
        roots, source, change = root[some], source[some], change[some]
        own = np.arange(len(some))[:, None]

        def moved_once(values: Bytes) -> Ints:
            """The value that the deciding variable of each atom gets."""
            taken = value[source[:, None], values[root[source]]]
            return np.asarray(self._back[some[:, None], change[own, taken]])

        old = worlds.values[roots]
        wanted = moved_once(worlds.values)
        values = worlds.values.copy()
        values[roots] = wanted.astype(np.uint8)
        # The move must undo itself.
        if (values[roots] != wanted).any() or (moved_once(values) != old).any():
            return None
        gain = -self._weights.full(worlds.planes)
        different = np.unique(roots)
        before = worlds.values[different]
        worlds.put(different, values[different])
        gain += self._weights.full(worlds.planes)
        return settled(gain, different, before, worlds, random)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
