"""Exact answers over classes of objects: by a sum over counts of cells, or else on the ground."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import CapacityError
from liftgbp.exact.cells import CellSum
from liftgbp.exact.exact_result import ExactLimits, ExactResult
from liftgbp.exact.existential_cells import ExistentialCells
from liftgbp.exact.pair_tables import NoCellsError
from liftgbp.model.existentials import Outlined
from liftgbp.model.model import Model
from liftgbp.progress import Progress
from liftgbp.query import Answers, ClassReader, PreparedLifted
from liftgbp.query.count_cases import Counted, CountedCase, by_listing
from liftgbp.query.lookup import alone, with_others
from liftgbp.shatter.normal import NormalModel, ObjAtom
from liftgbp.solve import Algorithm, SolvedBy


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

    def counted(self, case: CountedCase) -> Counted:
        """How likely each number of objects is, by the counts of cells, or of a few objects."""
        if isinstance(self.source, CellSum):
            return Counted(self.source.counted(case, lambda atom: alone(atom, self.normal)))
        ranges = self.normal.ranges
        return Counted(by_listing(case, self.joint, lambda atom: ranges[atom[0]]))


def exact_over_classes(
    prepared: PreparedLifted, limits: ExactLimits, progress: Progress
) -> Answers:
    """The exact answers of a model; one that is too large raises a `CapacityError`."""
    started = time.perf_counter()
    progress("exact inference", 0, 1)
    normal = prepared.graph.normal
    try:
        cells = CellSum(normal, limits.terms)
    except CapacityError as error:
        source: Source
        # Grounding takes longer to import than most models to solve.
        from liftgbp.exact.on_ground import exact_source

        try:
            source, result = exact_source(prepared, limits)
        except CapacityError as on_ground:
            # Where cells apply, they go further than the ground does.
            raise (on_ground if isinstance(error, NoCellsError) else error) from None
    else:
        source = cells
        log_z = prepared.plan.log_offset + cells.log_z
        result = ExactResult(SolvedBy(Algorithm.SUM_OVER_CELLS, cells.terms), log_z)
    seconds = time.perf_counter() - started
    return Answers(ExactReader(prepared, source), result, seconds)


@dataclass(frozen=True, eq=False)
class OutlinedReader(ExactReader):
    """Reads a model in which atoms stand for quantified formulas, without these atoms."""

    asked: Model

    @property
    def model(self) -> Model:
        """The model that was asked."""
        return self.asked


def exact_with_quantifiers(
    prepared: PreparedLifted, outline: Outlined, asked: Model, limits: ExactLimits
) -> Answers:
    """The exact answers of a model whose quantifiers over large sorts have stand-ins."""
    started = time.perf_counter()
    cells = ExistentialCells(prepared.graph.normal, outline.definitions, limits.terms)
    log_z = prepared.plan.log_offset + cells.log_z
    result = ExactResult(SolvedBy(Algorithm.SUM_OVER_CELLS, cells.terms), log_z)
    reader = OutlinedReader(prepared, cells, asked)
    return Answers(reader, result, time.perf_counter() - started)
