"""Answers that are exact: by a sum over counts of cells, or by a junction tree on the ground."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import CapacityError
from liftgbp.exact.cells import CellSum
from liftgbp.exact.junction_tree import JunctionTree
from liftgbp.grounding import GroundNetwork, ground_network
from liftgbp.progress import Progress
from liftgbp.query import Answers, ClassReader, PreparedLifted
from liftgbp.query.ground_reader import GroundAtomReader, PreparedGround
from liftgbp.query.lookup import alone, with_others
from liftgbp.shatter.assignments import falling
from liftgbp.shatter.normal import NormalModel, NormalParfactor, ObjAtom
from liftgbp.signature import objects_of
from liftgbp.solve import Kind, Point, Remedy, Status, Verdict

SAME_DIGITS = 12
"""Variables of one kind whose marginals agree to this many digits share a row."""


TERM, FACTOR, VARIABLE = 16, 50, 500
"""A count of cells, a ground factor and a variable take about as long as this many states."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a model may be for an exact answer.

    terms      the most counts of cells
    states     the most entries of the tables of a junction tree, all together
    factors    the most ground factors
    variables  the most ground atoms
    """

    terms: int
    states: int
    factors: int
    variables: int

    @classmethod
    def of(cls, states: int) -> Limits:
        """The limits that take about as long as tables with this many states."""
        return cls(states // TERM, states, states // FACTOR, states // VARIABLE)


@dataclass(frozen=True, eq=False, slots=True)
class ExactResult:
    """The result of exact inference: there is nothing to doubt."""

    solver: str
    log_z: float
    status: Status = Status.CONVERGED
    iterations: int = 0
    residual: float = 0.0
    points: tuple[Point, ...] = ()
    flaw: str = ""
    region: int | None = None
    remedies: tuple[Remedy, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What is known about the answer: everything."""
        return Verdict(
            residual=0.0,
            curvature=None,
            kind=Kind.EXACT,
            entropy=math.nan,
            entropy_bound=math.inf,
            count_margin=math.inf,
            log_z_bound=-math.inf,
            log_z_slack=0.0,
        )

    def with_verdict(self, verdict: Verdict) -> ExactResult:
        """The same result: no verdict changes what is exact."""
        return self


# --- over classes of objects


class Source(Protocol):
    """Joint distributions of atoms over placeholders."""

    def holds(self, atom: ObjAtom) -> bool:
        """Whether factors are about an atom."""

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of different atoms that factors are about, one axis each."""


@dataclass(frozen=True, eq=False)
class ExactReader(ClassReader):
    """Reads exact distributions; `prepared` says which rows there are."""

    prepared: PreparedLifted
    source: Source

    @property
    def normal(self) -> NormalModel:
        """The normal form whose classes the rows of queries are about."""
        return self.prepared.graph.normal

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of any atoms."""
        inside = [atom for atom in dict.fromkeys(atoms) if self.source.holds(atom)]
        table = self.source.joint(inside)[None]
        whole = with_others(atoms, inside, table, lambda atom: alone(atom, self.normal))
        return np.asarray(whole[0])


@dataclass(frozen=True, eq=False)
class GroundSource:
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
        used: Counter[int] = Counter()
        number = {}
        for obj in objects_of(atoms):
            number[obj] = self._members[obj[0]][used[obj[0]]]
            used[obj[0]] += 1
        return [(predicate, *(number[obj] for obj in args)) for predicate, args in atoms]

    @cached_property
    def _members(self) -> dict[int, list[int]]:
        """The objects of each class, by their numbers in their sorts."""
        members: dict[int, list[int]] = {}
        for sort, size in self.normal.sizes.items():
            for number in range(size):
                members.setdefault(self.normal.class_index[sort].of(number), []).append(number)
        return members

    @cached_property
    def _variable_of(self) -> dict[tuple[int, ...], int]:
        return _variables(self.network)


def _variables(network: GroundNetwork) -> dict[tuple[int, ...], int]:
    """The variable of each ground atom: a predicate and objects."""
    if network.atoms is None:
        return {}
    atoms = zip(network.atoms.predicate.tolist(), network.atoms.args.tolist(), strict=True)
    return {
        (predicate, *(obj for obj in objects if obj >= 0)): variable
        for variable, (predicate, objects) in enumerate(atoms)
    }


def exact_over_classes(prepared: PreparedLifted, limits: Limits, progress: Progress) -> Answers:
    """The exact answers of a model; one that is too large raises a `CapacityError`."""
    started = time.perf_counter()
    progress("exact inference", 0, 1)
    normal = prepared.graph.normal
    try:
        cells = CellSum(normal, limits.terms)
    except CapacityError:
        source: Source
        source, result = _on_the_ground(prepared, limits, progress)
    else:
        source = cells
        log_z = prepared.plan.log_offset + cells.log_z
        result = ExactResult(f"exact (a sum over {cells.terms} counts)", log_z)
    seconds = time.perf_counter() - started
    return Answers(ExactReader(prepared, source), result, seconds)


def _on_the_ground(
    prepared: PreparedLifted, limits: Limits, progress: Progress
) -> tuple[GroundSource, ExactResult]:
    normal = prepared.graph.normal
    _check_size(
        limits,
        factors=sum(_ground_factors(own, normal.class_sizes) for own in normal.parfactors),
        variables=sum(prepared.plan.atom_counts),
    )
    network = ground_network(
        normal.evidence, normal.sizes, table_cap=normal.table_cap, progress=progress
    )
    tree = JunctionTree(network, limits.states)
    return GroundSource(normal, network, tree), _by_tree(tree)


def _by_tree(tree: JunctionTree) -> ExactResult:
    return ExactResult(f"exact (a junction tree with {tree.states} states)", tree.log_z)


def _ground_factors(parfactor: NormalParfactor, sizes: Sequence[int]) -> int:
    """The number of ground factors of a parfactor."""
    objects = objects_of(parfactor.atoms)
    ways = math.prod(
        falling(sizes[cls], sum(1 for obj in objects if obj[0] == cls))
        for cls in {cls for cls, _ in objects}
    )
    return ways // math.prod(math.factorial(len(group)) for group in parfactor.exchangeable)


def _check_size(limits: Limits, factors: int, variables: int) -> None:
    for name, number, most in (
        ("factors", factors, limits.factors),
        ("atoms in factors", variables, limits.variables),
    ):
        if number > most:
            raise CapacityError(f"the ground model has {number} {name}, above {most}")


# --- ground networks


@dataclass(frozen=True, eq=False)
class ExactGroundReader(GroundAtomReader):
    """Reads exact distributions of the variables of a ground network."""

    prepared: PreparedGround
    tree: JunctionTree

    @cached_property
    def _kinds(self) -> Ints:
        # Messages do not tell all variables apart that have different marginals.
        given = self.graph.alignment.atom_kind
        keys = [
            (kind, *self.tree.joint([variable]).round(SAME_DIGITS).tolist()) if kind >= 0 else None
            for variable, kind in enumerate(given.tolist())
        ]
        number = {key: k for k, key in enumerate(dict.fromkeys(k for k in keys if k is not None))}
        return np.array([-1 if key is None else number[key] for key in keys], dtype=np.int64)

    @property
    def kinds(self) -> Ints:
        """Variables that messages do not tell apart, and whose marginals are equal."""
        return self._kinds

    def table(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of any variables."""
        return self.tree.joint(variables)


def exact_on_ground(prepared: PreparedGround, limits: Limits, progress: Progress) -> Answers:
    """The exact answers of a ground network; one that is too large raises a `CapacityError`."""
    started = time.perf_counter()
    progress("exact inference", 0, 1)
    network = prepared.graph.network
    _check_size(limits, network.factors, len(network.ranges))
    tree = JunctionTree(network, limits.states)
    return Answers(ExactGroundReader(prepared, tree), _by_tree(tree), time.perf_counter() - started)
