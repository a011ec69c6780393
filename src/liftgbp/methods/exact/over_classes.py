"""Exact answers over classes of objects: by a sum over counts of cells, or else on the ground.

Cells go with one relation that is an equivalence or an order."""

from __future__ import annotations

import time

from liftgbp.evidence import Problem
from liftgbp.lift.shatter import NormalModel
from liftgbp.methods.exact.cells import CellSum
from liftgbp.methods.exact.exact_result import ExactLimits, ExactResult
from liftgbp.methods.exact.existential_cells import ExistentialCells
from liftgbp.methods.exact.pair_tables import NoCellsError
from liftgbp.model.rewriting import Outlined
from liftgbp.posterior import ClassReader, Posterior, PreparedLifted, Source
from liftgbp.solve import Algorithm, SolvedBy
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress


def exact_over_classes(
    prepared: PreparedLifted, limits: ExactLimits, progress: Progress
) -> Posterior:
    """The exact answers of a model; one that is too large raises a `CapacityError`."""
    started = time.perf_counter()
    progress("exact inference", 0, 1)
    normal = prepared.graph.normal
    try:
        cells, algorithm = _over_cells(normal, limits)
    except CapacityError as error:
        source: Source
        # Grounding takes longer to import than most models to solve.
        from liftgbp.methods.exact.on_ground import exact_source

        try:
            source, result = exact_source(prepared, limits)
        except CapacityError as on_ground:
            # Where cells apply, they go further than the ground does.
            raise (on_ground if isinstance(error, NoCellsError) else error) from None
    else:
        source = cells
        log_z = prepared.plan.log_offset + cells.log_z
        result = ExactResult(SolvedBy(algorithm, cells.terms), log_z)
    seconds = time.perf_counter() - started
    return Posterior(ClassReader(prepared, source), result, seconds=seconds)


def _over_cells(normal: NormalModel, limits: ExactLimits) -> tuple[CellSum, Algorithm]:
    try:
        return CellSum(normal, limits.terms), Algorithm.SUM_OVER_CELLS
    except NoCellsError:
        from liftgbp.methods.exact.structured_cells import StructuredCells

        return StructuredCells(normal, limits), Algorithm.SUM_OVER_ARRANGEMENTS


def exact_with_quantifiers(
    prepared: PreparedLifted, outline: Outlined, asked: Problem, limits: ExactLimits
) -> Posterior:
    """The exact answers of a model whose quantifiers over large sorts have stand-ins."""
    started = time.perf_counter()
    cells = ExistentialCells(prepared.graph.normal, outline.definitions, limits.terms)
    log_z = prepared.plan.log_offset + cells.log_z
    result = ExactResult(SolvedBy(Algorithm.SUM_OVER_CELLS, cells.terms), log_z)
    reader = ClassReader(prepared, cells, asked=asked)
    return Posterior(reader, result, seconds=time.perf_counter() - started)
