"""The search for a best world: one list of methods, for classes of objects and for the ground.

A method gives a world, a bound of all scores, or both; the best of each is kept. The search ends
once the two meet, or are as close as was asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from liftgbp.evidence import AnyEvidence, Evidence, Problem
from liftgbp.ground.formats import Network
from liftgbp.lift.shatter import NormalModel, ObjectClasses, Shattering
from liftgbp.lift.shatter.normal import ObjAtom, pattern_of
from liftgbp.lift.via import ViaChoice, choose_via, groundings, open_atoms
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from liftgbp.worlds.ground import GroundWorld, best_of_network, best_on_ground
from liftgbp.worlds.ground.contradiction import contradiction
from liftgbp.worlds.optimum import Budget, Optimum, hidden_by_rounding, score_of

FEW_ATOMS = 50
"""Models with up to this many open atoms are solved atom by atom first, mostly by elimination in a
tenth of a second; with more, worlds over classes cost less."""

MOST_GROUNDINGS = 300_000
"""Models over classes up to this size are also solved atom by atom where nothing else proves a
world."""


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
        known = self._searched()
        if known.upper == -math.inf:
            raise contradiction(self.problem, self._is_impossible)
        if known.score is None:
            raise CapacityError(
                f"no world that satisfies all hard rules was found at {self.budget.effort} effort"
                f"{self.budget.time_text}; there may be none; allow more effort or time (--effort "
                "thorough, --seconds), or give some of the hard rules a weight"
            )
        hidden = hidden_by_rounding(self.problem)
        if not hidden or known.world is None:
            return known
        score, _ = score_of(known.world)
        upper = max(known.upper, score) + hidden
        return replace(known, score=score, upper=upper, fewest=False, undecided=None)

    def _searched(self) -> Optimum:
        known, refused = Optimum(None, None), None
        for method in self._methods():
            try:
                known = known.joined(method.optimum(known))
            except CapacityError as error:
                refused = refused or error
            self.budget.tell(known)
            if self.budget.is_enough(known):
                break
        if known.score is None and known.upper > -math.inf and refused is not None:
            raise refused
        return known

    def _is_impossible(self, problem: Problem) -> bool:
        """Whether it is certain that hard rules leave no world."""
        try:
            found = replace(self, problem=problem, budget=Budget("quick"))._searched()
        except ContradictionError:
            return True
        except CapacityError:
            return False
        return found.upper == -math.inf

    def _methods(self) -> Iterator[Method]:
        objects, size = choose_via(self.via, self.problem), self._size
        on_ground = OnGround(self.problem, self.budget, self.table_cap)
        if objects is None:
            yield on_ground
            return
        if self.via == "auto" and open_atoms(self.problem) <= FEW_ATOMS:
            yield replace(on_ground, budget=replace(self.budget, effort="quick"))
        try:
            normal = Shattering(objects, table_cap=self.table_cap).normal()
        except CapacityError:
            # Some quantifier is about too many objects for a table; worlds of blocks need none.
            yield OverBlocks(_without_tables(objects, self.table_cap), self.budget, {})
        else:
            free = free_atoms(normal)
            yield OverCells(normal, free)
            yield OverBlocks(normal, self.budget, free)
            yield OverClasses(normal, self.budget)
        if self.via == "auto" and size <= MOST_GROUNDINGS:
            yield on_ground

    @property
    def _size(self) -> int:
        return max(groundings(self.problem.model, self.problem.sizes), open_atoms(self.problem))


class Method(Protocol):
    """A way to a world, or to a bound."""

    def optimum(self, known: Optimum) -> Optimum:
        """What it finds beyond what is known."""


@dataclass(frozen=True, eq=False, slots=True)
class OnGround:
    """Worlds and bounds atom by atom."""

    problem: Problem
    budget: Budget
    table_cap: int

    def optimum(self, known: Optimum) -> Optimum:
        """A world with its bound."""
        return best_on_ground(self.problem, self.budget, self.table_cap)


@dataclass(frozen=True, eq=False, slots=True)
class OverCells:
    """Worlds by the number of objects in each cell, where rules are about two objects at most."""

    normal: NormalModel
    free: Mapping[str, int]

    def optimum(self, known: Optimum) -> Optimum:
        """A world, often with a proof."""
        from liftgbp.methods.exact.pair_tables import NoCellsError
        from liftgbp.worlds.blocks.two_variables import best_of_cells

        try:
            return replace(best_of_cells(self.normal), free=self.free)
        except NoCellsError:
            return Optimum(None, None)


@dataclass(frozen=True, eq=False, slots=True)
class OverBlocks:
    """Worlds over blocks of objects that are alike; factors are not read."""

    normal: NormalModel
    budget: Budget
    free: Mapping[str, int]

    def optimum(self, known: Optimum) -> Optimum:
        """A world, with a proof if no rule is broken in it."""
        from liftgbp.worlds.blocks.best_blocks import best_blocks

        return replace(best_blocks(self.normal, self.budget), free=self.free)


@dataclass(frozen=True, eq=False, slots=True)
class OverClasses:
    """A bound of the scores of all worlds by consistent beliefs of regions."""

    normal: NormalModel
    budget: Budget

    def optimum(self, known: Optimum) -> Optimum:
        """A bound."""
        from liftgbp.worlds.blocks import BlockWorld, beliefs
        from liftgbp.worlds.proofs.upper import upper_bound

        if not self.normal.parfactors:
            return Optimum(None, None)  # all worlds have one score
        world = known.world
        of_world = partial(beliefs, world) if isinstance(world, BlockWorld) else None
        upper = upper_bound(self.normal, self.budget, known.score, of_world)
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
        """The same question where further variables are observed: `{3: 1}`, or `x3 = 1`."""
        if isinstance(facts, str):
            stated = Evidence.of(self.problem.model, facts).hard
            facts = {int(name[1:]): int(fact.values[0]) for name, fact in stated.items()}
        if not isinstance(facts, Mapping):
            raise InputError(
                "facts about a network are values of variables, as in {3: 1} or 'x3 = 1'"
            )
        seen = self.network.observed({**self.observed, **facts})
        return replace(self, observed=seen, budget=self.budget.anew())

    def answered(self) -> Optimum:
        """The best world that the ground methods find."""
        problem, atoms = self.network.as_problem(self.observed)
        found = best_of_network(self.network.conditioned(self.observed), self.budget)
        return found.as_optimum(GroundWorld(problem, atoms, found.values))


def _without_tables(objects: ObjectClasses, table_cap: int) -> NormalModel:
    """The classes of a model and what is observed, without the factors of its rules."""
    problem = objects.problem
    plain = replace(problem, model=problem.model.with_rules(()))
    alone = ObjectClasses(plain, objects.classes, objects.index)
    return replace(Shattering(alone, table_cap=table_cap).normal(), problem=problem)


def touched_patterns(normal: NormalModel) -> set[ObjAtom]:
    """The patterns of atoms that some factor touches."""
    return {pattern_of(atom) for own in normal.parfactors for atom in own.atoms}


def free_atoms(normal: NormalModel) -> dict[str, int]:
    """How many atoms of each predicate no factor touches, and no evidence."""
    touched = Counter[int]()
    for kind, objects in touched_patterns(normal):
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
