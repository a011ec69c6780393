"""Checking a best world: its score counted anew by other code, and the score of other worlds.

The reference grounds the model and says what each world scores. It tries to change every atom, and
every atom with another one where a hard rule ties them, and draws worlds by Gibbs sampling (S.
Geman and D. Geman, *Stochastic relaxation*, PAMI 1984). None of these may score higher.
"""

from __future__ import annotations

import math
import random
import time
from collections import ChainMap
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TypeAlias

from liftgbp.lift.via import groundings, open_atoms
from liftgbp.oracle import reference
from liftgbp.oracle.checking import as_reference
from liftgbp.oracle.reference import GroundAtom, GroundFactor, GroundModel
from liftgbp.pictures.cards import BAD, GOOD, Shown, badge
from liftgbp.pictures.markup import Content
from liftgbp.report.best_world import BestWorld
from liftgbp.support.errors import CapacityError, checked_number, checked_seconds, wrong_type
from liftgbp.support.limits import Limits, checkpoint, limited
from liftgbp.worlds import NetworkQuestion

MOST_GROUNDINGS = 50_000
"""Larger models take the reference more than some seconds to write out."""

SLIGHT = 1e-9
"""Sums of the same weights in another order differ by less, in proportion."""

SECONDS = 5.0
"""How long other worlds are drawn, unless something else is asked for."""


@dataclass(frozen=True, slots=True, repr=False)
class WorldCheck(Shown):
    """A best world beside other worlds, whose scores the reference has counted.

    `recounted` is the score of the world by the reference; `changed` is the largest score of a
    world in which one atom is different, or two that a hard rule ties, and `change` says which;
    `drawn` is the largest score of some `draws` of a Gibbs sampler.

    >>> import liftgbp
    >>> world = liftgbp.best_world(liftgbp.load("example:friends-smokers"), {"person": 3})
    >>> found = liftgbp.check_world(world, seconds=0.1)
    >>> found.agrees, round(found.recounted, 9), found.changed <= found.recounted
    (True, 8.4, True)
    """

    world: BestWorld
    recounted: float
    changed: float
    change: tuple[str, ...]
    drawn: float
    draws: int

    @property
    def agrees(self) -> bool:
        """Whether the score is right, and no other world scores higher."""
        return not self.doubts

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is wrong with the world, its score or its bound."""
        score, upper = self.world.score, self.world.upper
        slight = SLIGHT * max(1.0, abs(score))
        doubts = []
        if not abs(self.recounted - score) <= slight:
            doubts.append(f"its score is {self.recounted:.10g} if counted anew")
        if self.changed > score + slight:
            named = " and ".join(self.change)
            doubts.append(f"a change of {named} leads to the score {self.changed:.10g}")
        if self.drawn > score + slight:
            doubts.append(f"a world that was drawn has the score {self.drawn:.10g}")
        if max(self.changed, self.drawn, self.recounted) > upper + slight:
            doubts.append(f"the bound {upper:.10g} is wrong")
        return tuple(doubts)

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.doubts:
            return f"the best world is refuted: {'; '.join(self.doubts)}"
        return (
            f"its score {self.recounted:.10g} is counted anew, and neither a change of single or "
            f"tied atoms nor any of {self.draws} worlds drawn has a higher one"
        )

    def _headline(self) -> str:
        return f"{self.world.model.name}: {self.sentence}"

    def _body(self) -> Iterable[Content]:
        yield badge(GOOD, "agrees") if self.agrees else badge(BAD, "refuted")

    def as_dict(self) -> dict[str, object]:
        """The check for JSON."""
        return {
            "agrees": self.agrees,
            "sentence": self.sentence,
            "recounted": _number(self.recounted),
            "changed": _number(self.changed),
            "change": list(self.change),
            "drawn": _number(self.drawn),
            "draws": self.draws,
        }


def _number(score: float) -> float | None:
    """JSON has no infinite numbers."""
    return score if math.isfinite(score) else None


@limited("checking the world")
def check_world(
    world: BestWorld, *, seconds: float = SECONDS, seed: int = 0, limits: Limits | None = None
) -> WorldCheck:
    """Check a best world by code that shares nothing with the search for it.

    Its score is counted anew. Then every atom is changed, alone or together with another one that a
    hard rule ties to it, and for some `seconds` worlds are drawn: none of these may score higher.
    What is too large to be written out is a `CapacityError`.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person)\\n1 smokes(x)\\n-1 smokes(x) ^ smokes(y) | x != y")
    >>> world = liftgbp.best_world(model, {"person": 4})
    >>> print(liftgbp.check_world(world, seconds=0.1).sentence.partition(",")[0])
    its score 1 is counted anew
    """
    if not isinstance(world, BestWorld):
        raise wrong_type("world", "a BestWorld", world)
    seconds, seed = checked_seconds(seconds), checked_number("seed", seed, least=0)
    written = _Written(_ground(world))
    values = {
        atom: world.world.value(atom.predicate, atom.objects) for atom in written.ground.atoms
    }
    recounted = written.score(values)
    if not _keeps_observations(world, written.ground):
        recounted = -math.inf
    changed, change = -math.inf, tuple[str, ...]()
    for changes in written.changes(values):
        checkpoint()
        gain = written.gain(values, changes)
        if recounted + gain > changed:
            changed, change = recounted + gain, tuple(map(str, changes))
    drawn, draws = -math.inf, 0
    for score in written.draws(dict(values), random.Random(seed), seconds):
        drawn, draws = max(drawn, score), draws + 1
    return WorldCheck(world, recounted, changed, change, drawn, draws)


def _ground(world: BestWorld) -> GroundModel:
    question = world.question
    if isinstance(question, NetworkQuestion):
        factors = question.network.ground.factors
    else:
        problem = question.problem
        factors = max(groundings(problem.model, problem.sizes), open_atoms(problem))
    if factors > MOST_GROUNDINGS:
        raise CapacityError(
            f"a check writes the model out, and it has {factors:.3g} groundings, above "
            f"{MOST_GROUNDINGS}; check the best world over fewer objects"
        )
    if isinstance(question, NetworkQuestion):
        return as_reference(question.network, question.observed)
    return reference.ground(problem.model, problem.sizes, problem.evidence)


def _keeps_observations(world: BestWorld, ground: GroundModel) -> bool:
    return all(
        world.world.value(atom.predicate, atom.objects) == value
        for atom, value in ground.observed.items()
    )


Values: TypeAlias = MutableMapping[GroundAtom, int]
"""The values of atoms that are not observed."""


@dataclass(eq=False, slots=True)
class _Written:
    """A ground model, with the factors around each atom."""

    ground: GroundModel
    around: dict[GroundAtom, list[GroundFactor]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.around = {atom: [] for atom in self.ground.atoms}
        for factor in self.ground.factors:
            for atom in factor.scope:
                self.around[atom].append(factor)

    def score(self, values: Values) -> float:
        """The log weight of a world; `-inf` if it breaks a hard rule."""
        parts = (_entry(factor, values) for factor in self.ground.factors)
        return math.fsum((self.ground.log_constant, *parts))

    def changes(self, values: Values) -> Iterator[Values]:
        """New values of an atom, alone or with another one where a hard rule forbids it alone."""
        every = ((atom, k) for atom in self.ground.atoms for k in range(self.ground.ranges[atom]))
        for atom, own in every:
            if values[atom] == own:
                continue
            change = {atom: own}
            yield change
            changed = ChainMap(change, values)
            for factor in self.around[atom]:
                if _entry(factor, changed) == -math.inf:
                    for other in factor.scope:
                        for value in range(self.ground.ranges[other]):
                            if other != atom and value != values[other]:
                                yield {**change, other: value}

    def gain(self, values: Values, changes: Values) -> float:
        """What the score gains if some atoms change."""
        new = ChainMap(changes, values)
        factors = {id(factor): factor for atom in changes for factor in self.around[atom]}
        after = [_entry(factor, new) for factor in factors.values()]
        if -math.inf in after:
            return -math.inf
        before = (-_entry(factor, values) for factor in factors.values())
        return math.fsum((*after, *before))

    def draws(
        self, values: dict[GroundAtom, int], source: random.Random, seconds: float
    ) -> Iterator[float]:
        """The scores of worlds that a Gibbs sampler goes through, one for each sweep."""
        end = time.monotonic() + seconds
        while values and time.monotonic() < end:
            for atom in self.ground.atoms:
                checkpoint()
                logs = []
                for value in range(self.ground.ranges[atom]):
                    values[atom] = value
                    logs.append(sum(_entry(factor, values) for factor in self.around[atom]))
                most = max(logs)
                chances = [math.exp(log - most) for log in logs]
                values[atom] = source.choices(range(len(chances)), chances)[0]
            yield self.score(values)


def _entry(factor: GroundFactor, values: Values) -> float:
    return float(factor.log_table[tuple(values[atom] for atom in factor.scope)])
