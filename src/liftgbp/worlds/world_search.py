"""The search for a best world: one list of methods, for classes of objects and for the ground.

A method gives a world, a bound of all scores, or both; the best of each is kept. The search ends
once the two meet, or are as close as was asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from liftgbp.evidence import AnyEvidence, Problem
from liftgbp.ground.formats import Network
from liftgbp.lift.shatter import NormalModel, Shattering
from liftgbp.lift.shatter.normal import pattern_of
from liftgbp.lift.via import ViaChoice, choose_via, groundings, open_atoms
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from liftgbp.worlds.ground import GroundWorld, best_of_network, best_on_ground
from liftgbp.worlds.optimum import Budget, Optimum, World

FEW_GROUNDINGS = 20_000
"""Models up to this size are solved atom by atom first, in a tenth of a second: most of them to the
end."""

MOST_GROUNDINGS = 300_000
"""Models over classes up to this size are also solved atom by atom if nothing else proves a world."""


IMPOSSIBLE = "no world satisfies all hard rules under this evidence"


class WorldQuestion(Protocol):
    """What a best world is asked of, and how much the answer is worth."""

    @property
    def problem(self) -> Problem:
        """What worlds are about."""

    @property
    def budget(self) -> Budget:
        """What the search may take."""

    def answered(self) -> Optimum:
        """The best world that was found, and a bound; raises if no world was found."""

    def given(self, facts: object) -> WorldQuestion:
        """The same question about worlds in which further facts hold."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelQuestion:
    """A question about a model under evidence."""

    problem: Problem
    via: ViaChoice
    budget: Budget
    table_cap: int

    def given(self, facts: AnyEvidence) -> ModelQuestion:
        """The same question where these facts hold, too."""
        problem = self.problem
        known = Problem.of(problem.model, problem.evidence.with_facts(facts), problem.sizes)
        return replace(self, problem=known, budget=self.budget.anew())

    def answered(self) -> Optimum:
        """The best world that the methods find."""
        known = Optimum(None, None)
        for method in self._methods():
            known = known.joined(method.found(known))
            self.budget.tell(known)
            if self.budget.is_enough(known):
                break
        if known.upper == -math.inf:
            raise ContradictionError(IMPOSSIBLE)
        if known.score is None:
            raise CapacityError(
                f"no world that satisfies all hard rules was found at {self.budget.effort} effort"
                f"{self.budget.time_text}; there may be none; give it more effort or time"
            )
        return known

    def _methods(self) -> Iterator[Method]:
        normal, size = self._normal(), self._size
        if normal is None:
            yield OnGround(self.problem, self.budget, self.table_cap)
            return
        small = self.via == "auto" and size <= FEW_GROUNDINGS
        if small:
            yield OnGround(self.problem, self.budget, self.table_cap)
        yield OverBlocks(normal, self.budget)
        yield OverClasses(normal, self.budget)
        if self.via == "auto" and not small and size <= MOST_GROUNDINGS:
            yield OnGround(self.problem, self.budget, self.table_cap)

    @property
    def _size(self) -> int:
        return max(groundings(self.problem.model, self.problem.sizes), open_atoms(self.problem))

    def _normal(self) -> NormalModel | None:
        """The model over classes of objects; none where the ground is the way."""
        objects = choose_via(self.via, self.problem)
        if objects is None:
            return None
        try:
            return Shattering(objects, table_cap=self.table_cap).normal()
        except CapacityError:
            # Large quantifiers are taken apart on the ground.
            if self.via == "lifted" or self._size > MOST_GROUNDINGS:
                raise
            return None


class Method(Protocol):
    """A way to a world, or to a bound."""

    def found(self, known: Optimum) -> Optimum:
        """What it finds beyond what is known."""


@dataclass(frozen=True, eq=False, slots=True)
class OnGround:
    """Worlds and bounds atom by atom."""

    problem: Problem
    budget: Budget
    table_cap: int

    def found(self, known: Optimum) -> Optimum:
        """A world with its bound."""
        return best_on_ground(self.problem, self.budget, self.table_cap)


@dataclass(frozen=True, eq=False, slots=True)
class OverBlocks:
    """Worlds over blocks of objects that are alike."""

    normal: NormalModel
    budget: Budget

    def found(self, known: Optimum) -> Optimum:
        """A world; for rules about two objects, often with a proof."""
        from liftgbp.worlds.blocks.best_blocks import best_blocks

        found = self._over_cells()
        if not self.budget.is_enough(found) and found.upper > -math.inf:
            found = found.joined(best_blocks(self.normal, self.budget))
        return replace(found, free=free_atoms(self.normal))

    def _over_cells(self) -> Optimum:
        from liftgbp.methods.exact.pair_tables import NoCellsError
        from liftgbp.worlds.blocks.two_variables import best_of_cells

        try:
            return best_of_cells(self.normal)
        except NoCellsError:
            return Optimum(None, None)


@dataclass(frozen=True, eq=False, slots=True)
class OverClasses:
    """A bound of the scores of all worlds by consistent beliefs of regions."""

    normal: NormalModel
    budget: Budget

    def found(self, known: Optimum) -> Optimum:
        """A bound."""
        from liftgbp.worlds.blocks import BlockWorld, beliefs
        from liftgbp.worlds.proofs.upper import upper_bound

        world = known.world
        of_world = partial(beliefs, world) if isinstance(world, BlockWorld) else None
        upper = upper_bound(self.normal, self.budget, known.score, of_world)
        if upper is None:
            return Optimum(None, None)
        return Optimum(None, None, upper, how=("linear program over regions",))


@dataclass(frozen=True, eq=False, slots=True)
class NetworkQuestion:
    """A question about a network of another tool, some of whose variables are observed."""

    network: Network
    observed: Mapping[int, int]
    budget: Budget

    @property
    def problem(self) -> Problem:
        """The network as a model without rules."""
        return self.network.as_problem(self.observed)[0]

    def given(self, facts: object) -> NetworkQuestion:
        """The same question where further variables are observed: `{3: 1}`."""
        if not isinstance(facts, Mapping):
            raise InputError("facts about a network are values of variables, as in {3: 1}")
        seen = self.network.observed({**self.observed, **facts})
        return replace(self, observed=seen, budget=self.budget.anew())

    def answered(self) -> Optimum:
        """The best world that the ground methods find."""
        problem, atoms = self.network.as_problem(self.observed)
        found = best_of_network(self.network.conditioned(self.observed), self.budget)
        return found.as_optimum(GroundWorld(problem, atoms, found.values))


def free_atoms(normal: NormalModel) -> dict[str, int]:
    """How many atoms of each predicate no factor touches, and no evidence."""
    patterns = {pattern_of(atom) for own in normal.parfactors for atom in own.atoms}
    touched = Counter[int]()
    for kind, objects in patterns:
        used = Counter(cls for cls, _ in set(objects))
        ways = (math.perm(normal.class_sizes[cls], number) for cls, number in used.items())
        touched[kind] += math.prod(ways)
    free = {}
    for number, predicate in enumerate(normal.predicates):
        every = math.prod(normal.sizes[sort] for sort in predicate.sorts)
        left = every - touched[number] - normal.observations.counts.get(number, 0)
        if left > 0 and number not in normal.observations.closed:
            free[predicate.name] = left
    return free


def structure_lines(world: World) -> tuple[str, ...]:
    """What a world looks like in words; nothing is said of worlds atom by atom."""
    return ()


__all__: Sequence[str] = ("ModelQuestion", "NetworkQuestion", "WorldQuestion", "structure_lines")
