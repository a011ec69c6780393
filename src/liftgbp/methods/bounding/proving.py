"""Bounds of log Z for a model in normal form: from below by products, from above by entropies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from liftgbp.lift.regions import (
    FACTOR_SCOPES,
    Family,
    LiftedRegionGraph,
    build_regions,
    over_objects,
)
from liftgbp.lift.shatter import NormalModel, Shattering
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.signature import canonise
from liftgbp.methods.blocks.block_search import find_blocks
from liftgbp.methods.blocks.labels import best_mixture
from liftgbp.methods.blocks.products import ROUNDING, MeanField
from liftgbp.methods.bounding.cases import fixed
from liftgbp.methods.bounding.decomposition import Program, common_energy, operations, program_of
from liftgbp.methods.bounding.interval import Interval, known_first, log_worlds
from liftgbp.methods.bounding.looks_in_regions import looks_of
from liftgbp.methods.bounding.maximise import maximise
from liftgbp.methods.bounding.tightening import tightened
from liftgbp.methods.effort import EFFORTS, most_blocks
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import NO_BLOCKS, IndependentAtoms
from liftgbp.solve.energy import one_thread, polytope
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.support.progress import Progress

FAMILIES = {
    "quick": (FACTOR_SCOPES,),
    "normal": (FACTOR_SCOPES, *over_objects(4)),
    "thorough": (FACTOR_SCOPES, *over_objects(5)),
}
"""The families of regions that are tried. Larger ones prove more."""

MOST_COMBINATIONS = 20
"""The most ways to choose as many classes as a region has objects: beyond, larger regions take
seconds to build."""

MOST_OPERATIONS = {"quick": 5e8, "normal": 5e8, "thorough": 1e10}
"""The most operations that a step of the solver may take if its matrices were full; 5e8 take about
10 ms."""

FEW_OPERATIONS = 2e7
"""The same where one atom is fixed, as that is done for each of its values."""

ROUNDS = {"quick": 2, "normal": 8, "thorough": 20}
"""The most rounds of count cuts."""

BLOCKS = {"quick": 1, "normal": 2, "thorough": 6}
"""The most blocks of a class. More than two hardly pay, as the information about their labels is
counted for two only."""

MOST_CASES = 3
"""For how many unary predicates the lower bound is also found for each value of one atom."""


@dataclass(frozen=True, eq=False, slots=True)
class Ceiling:
    """The upper bound of one family of regions."""

    graph: LiftedRegionGraph
    plan: Plan
    program: Program
    atoms: int

    def proven(self, program: Program) -> tuple[Fraction | None, Floats]:
        """The bound by the program, or by one with another energy, and beliefs that reach it.

        There is none if the numbers of the program are too large to start with.
        """
        found = maximise(program)
        return self._of_log_z(found.bound), found.beliefs

    def tightened(self, rounds: int, lower: Fraction | None) -> tuple[Ceiling, Fraction | None]:
        """With count cuts, and the bound by it; log Z is not below `lower`."""
        least = -math.inf if lower is None else float((lower - self._common) / self.atoms)
        consistent = polytope(self.plan.layout)
        looks = looks_of(self.graph, self.plan.layout, consistent) if rounds else []
        program, found = tightened(self.program, looks, rounds, least)
        return replace(self, program=program), self._of_log_z(found.bound)

    @property
    def _common(self) -> Fraction:
        return common_energy(self.graph) + log_worlds(self.graph.free_atoms)

    def _of_log_z(self, bound: float) -> Fraction | None:
        return self._common + self.atoms * Fraction(bound) if math.isfinite(bound) else None


@dataclass(frozen=True)
class Prover:
    """What can be proven about log Z of models with the same effort.

    `families` are the families of regions that are tried. Unless they were asked for by hand, those
    that are too expensive are left out. Each gets up to `rounds` rounds of count cuts.
    """

    effort: str
    families: tuple[Family, ...]
    rounds: int
    most_operations: float
    by_hand: bool
    progress: Progress

    @staticmethod
    def of(effort: str, regions: Family | None, progress: Progress) -> Prover:
        """With the families of a level of effort, or with one that was asked for."""
        families = FAMILIES[effort] if regions is None else (regions,)
        by_hand = regions is not None
        most = math.inf if by_hand else MOST_OPERATIONS[effort]
        return Prover(effort, families, ROUNDS[effort], most, by_hand, progress)

    @property
    def smaller(self) -> Prover:
        """Over smaller regions, unless some were asked for by hand."""
        return self if self.by_hand else replace(self, most_operations=FEW_OPERATIONS)


class Proof:
    """An interval of log Z, and what it was found with.

    With a shattering, it is also proven for each value of one atom.
    """

    def __init__(
        self, prover: Prover, normal: NormalModel, shattering: Shattering | None = None
    ) -> None:
        self._prover = prover
        self._normal = normal
        self._shattering = shattering
        self._proven: dict[Family, tuple[Ceiling, Fraction] | None] = {}

    @cached_property
    def interval(self) -> Interval:
        """What log Z lies in."""
        self._prover.progress("bounding log Z", 0, 1)
        lower, reached = self._lower
        upper, proven_by = self._trivial, ""
        for family, _, own in self._ceilings:
            if own < upper:
                upper, proven_by = own, str(family)
        return Interval(lower, upper, reached, proven_by)

    @cached_property
    def atoms(self) -> int:
        """How many ground atoms are not observed."""
        return sum(self._atoms.values())

    @cached_property
    def _atoms(self) -> Mapping[int, int]:
        """How many ground atoms are not observed, by their number of values."""
        graph = self._scopes
        total = Counter(graph.free_atoms)
        for (predicate, _), count in graph.atom_counts.items():
            total[self._normal.ranges[predicate]] += count
        return total

    @cached_property
    def _scopes(self) -> LiftedRegionGraph:
        return build_regions(self._normal, FACTOR_SCOPES)

    def holds(self, atom: ObjAtom) -> bool:
        """Whether a factor touches an atom."""
        return canonise((atom,)).cluster[0] in self._scopes.atom_counts

    # --- below

    @cached_property
    def _lower(self) -> tuple[Fraction | None, IndependentAtoms]:
        """The best of what independent atoms reach, and which ones those are."""
        field = MeanField(self._normal)
        free, effort = self._scopes.free_atoms, self._prover.effort
        found = [_best_product(self._normal, field, free, effort, BLOCKS[effort])]
        if effort != "quick":
            found += self.cases
        return max(found, key=known_first)

    @cached_property
    def cases(self) -> list[tuple[Fraction | None, IndependentAtoms]]:
        """What independent atoms reach for each value of one atom of some unary predicates."""
        if self._shattering is None:
            return []
        kinds = MeanField(self._normal).kinds
        unary = [kind for kind in kinds if len(set(kind[1])) == 1]
        return [self._case_by_case(self._shattering, own) for own in unary[:MOST_CASES]]

    def _case_by_case(
        self, shattering: Shattering, atom: ObjAtom
    ) -> tuple[Fraction | None, IndependentAtoms]:
        """What independent atoms reach for each value of one atom: minima may differ in it."""
        free = self._scopes.free_atoms
        ends: list[Fraction] = []
        for value in range(self._normal.ranges[atom[0]]):
            try:
                normal = fixed(shattering, atom, value)
            except ContradictionError:
                continue
            field = MeanField(normal)
            end, by = _best_product(normal, field, free, self._prover.effort, 1)
            if end is not None:
                ends.append(end)
        if not ends:
            return None, NO_BLOCKS
        top = max(ends)
        more = math.log(math.fsum(math.exp(float(own - top)) for own in ends)) - ROUNDING
        name = self._normal.predicates[atom[0]].name
        return top + Fraction(max(0.0, more)), replace(by, atom=name)

    # --- above

    @property
    def _trivial(self) -> Fraction:
        """What log Z would be if every world had the largest energy."""
        return common_energy(self._scopes) + log_worlds(self._atoms)

    @property
    def _ceilings(self) -> list[tuple[Family, Ceiling, Fraction]]:
        """What each family of regions proves."""
        found = [(family, self.ceiling(family)) for family in self._prover.families]
        return [(family, *own) for family, own in found if own is not None]

    def ceiling(self, family: Family) -> tuple[Ceiling, Fraction] | None:
        """What a family of regions proves; nothing if it is too expensive, or proves nothing."""
        if family not in self._proven:
            self._proven[family] = None
            ready = self._prepared(family)
            if ready is not None:
                with one_thread():
                    lower = self._lower[0] if self._prover.rounds else None
                    ready, bound = ready.tightened(self._prover.rounds, lower)
                self._proven[family] = None if bound is None else (ready, bound)
        return self._proven[family]

    @property
    def best(self) -> tuple[Ceiling, Fraction] | None:
        """The family of regions that proves most, and what it proves."""
        found = [(own, upper) for _, own, upper in self._ceilings]
        return min(found, key=lambda own: own[1], default=None)

    def _prepared(self, family: Family) -> Ceiling | None:
        """A family of regions, ready to be solved, unless it is too expensive."""
        by_hand, classes = self._prover.by_hand, len(self._normal.classes)
        objects = 0 if by_hand else family.size
        if objects and math.comb(classes + objects - 1, objects) > MOST_COMBINATIONS:
            return None
        try:
            graph = self._graph(family)
        except CapacityError:
            if by_hand or family == FACTOR_SCOPES:
                raise
            return None
        plan = compile_plan(graph)
        atoms = sum(plan.order_counts)
        if not atoms or operations(plan.layout) > self._prover.most_operations:
            return None
        return Ceiling(graph, plan, program_of(graph, plan), atoms)

    def _graph(self, family: Family) -> LiftedRegionGraph:
        if family == FACTOR_SCOPES:
            return self._scopes
        cap = EFFORTS[self._prover.effort].table
        if not self._prover.by_hand and cap < self._normal.table_cap:
            return build_regions(replace(self._normal, table_cap=cap), family)
        return build_regions(self._normal, family)


def _best_product(
    normal: NormalModel, field: MeanField, free_atoms: Mapping[int, int], effort: str, blocks: int
) -> tuple[Fraction | None, IndependentAtoms]:
    """The most that independent atoms over blocks reach, and over which blocks."""
    known = normal.exact_constant + log_worlds(free_atoms) + field.exact_offset
    if not field.kinds:
        return known, NO_BLOCKS
    most = most_blocks(blocks, normal.classes, by_hand=False)
    number = [most[cls] for cls in range(len(normal.classes))]
    work = EFFORTS[effort].work
    found = find_blocks(field, number, most_work=work, patient=True, hot=blocks > 1)
    if not found:
        found = find_blocks(field, [1] * len(number))
    reached, by = best_mixture(found, [float(field.rests(own.products)[0]) for own in found], field)
    if not math.isfinite(reached):
        return None, NO_BLOCKS
    return known + Fraction(reached), by
