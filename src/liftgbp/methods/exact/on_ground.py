"""Exact answers on the ground, by a junction tree."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.ground.grounding.from_classes import (
    class_members,
    ground_classes,
    ground_factors,
    must_join,
)
from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.lift.signature import objects_of
from liftgbp.methods.exact.exact_result import ExactLimits, ExactResult
from liftgbp.methods.exact.junction_tree import JunctionTree, too_many_states
from liftgbp.posterior import Posterior, PreparedLifted, Source
from liftgbp.posterior.ground_reader import GroundReader, PreparedGround
from liftgbp.solve import Algorithm, SolvedBy
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress

REPEATED = 16
"""Looking at how atoms of a model join takes as long as writing so many factors of each kind out,
and eliminating atoms: with evidence about everybody, factors of one kind are few."""

# --- models in normal form


def exact_source(prepared: PreparedLifted, limits: ExactLimits) -> tuple[Grounded, ExactResult]:
    """The ground network of a model, solved; one that is too large raises a `CapacityError`."""
    normal = prepared.graph.normal
    factors = ground_factors(normal)
    _check_size(limits, factors=factors, variables=sum(prepared.plan.atom_counts))
    if factors > REPEATED * len(normal.parfactors) and must_join(normal, limits.states):
        raise too_many_states(limits.states)
    network = ground_classes(normal)
    tree = JunctionTree(network, limits.states)
    return Grounded(normal, network, tree), _by_tree(tree)


@dataclass(frozen=True, eq=False)
class Grounded(Source):
    """The ground network of a model in normal form, solved by a junction tree."""

    normal: NormalModel
    network: GroundNetwork
    tree: JunctionTree

    def holds(self, atom: ObjAtom) -> bool:
        """Whether the atom is a variable."""
        return self._keys([atom])[0] in self._variable_of

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms that are variables."""
        return self.tree.joint([self._variable_of[key] for key in self._keys(atoms)])

    def _keys(self, atoms: Sequence[ObjAtom]) -> list[tuple[int, ...]]:
        """Atoms over any objects of their classes, which can be exchanged."""
        by_class: dict[int, list[Obj]] = {}
        for obj in objects_of(atoms):
            by_class.setdefault(obj[0], []).append(obj)
        number: dict[Obj, int] = {}
        for cls, own in by_class.items():
            number |= zip(own, class_members(self.normal, cls, len(own)), strict=True)
        return [(predicate, *(number[obj] for obj in args)) for predicate, args in atoms]

    @cached_property
    def _variable_of(self) -> dict[tuple[int, ...], int]:
        """The variable of each ground atom: a predicate and objects."""
        if self.network.atoms is None:
            return {}
        rows = np.column_stack([self.network.atoms.predicate, self.network.atoms.args]).tolist()
        # Unused columns of objects hold -1.
        return {tuple(k for k in row if k >= 0): variable for variable, row in enumerate(rows)}


def _by_tree(tree: JunctionTree) -> ExactResult:
    return ExactResult(SolvedBy(Algorithm.JUNCTION_TREE, tree.states), tree.log_z)


def _check_size(limits: ExactLimits, factors: int, variables: int) -> None:
    for name, number, most in (
        ("factors", factors, limits.factors),
        ("atoms in factors", variables, limits.variables),
    ):
        if number > most:
            raise CapacityError(f"the ground model has {number} {name}, above {most}")


# --- ground networks


def exact_on_ground(prepared: PreparedGround, limits: ExactLimits, progress: Progress) -> Posterior:
    """The exact answers of a ground network; one that is too large raises a `CapacityError`."""
    started = time.perf_counter()
    progress("exact inference", 0, 1)
    network = prepared.graph.network
    _check_size(limits, network.factors, len(network.ranges))
    tree = JunctionTree(network, limits.states)
    seconds = time.perf_counter() - started
    return Posterior(GroundReader(prepared, tree, finer=True), _by_tree(tree), seconds=seconds)
