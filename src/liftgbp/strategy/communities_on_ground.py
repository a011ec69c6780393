"""Answers about a ground network from the minima of its communities."""

from __future__ import annotations

import time

from liftgbp.methods.effort import Effort
from liftgbp.posterior import MixedResult, Posterior, Provenance
from liftgbp.posterior.ground_reader import GroundReader, PreparedGround
from liftgbp.solve import Algorithm, SolvedBy, Status
from liftgbp.strategy.parts import worst_of
from liftgbp.support.progress import Progress

LEAST_GAIN = 1e-3
"""Combinations of minima that add less to log Z change no probability by as much."""


def with_communities(
    prepared: PreparedGround, plain: Posterior, effort: Effort, progress: Progress
) -> Posterior | None:
    """The answers from minima of communities; none if they add nothing, or cost too much.

    They lie above the bound of log Z by independent atoms, or are refused.
    """
    from liftgbp.methods.communities import by_communities

    started = time.perf_counter()
    solution = by_communities(prepared.graph.network, prepared.graph.family, effort, progress)
    if solution is None or (plain.sound and solution.log_z < plain.result.log_z + LEAST_GAIN):
        return None
    known = plain.verdict
    verdict = worst_of(solution.verdicts).bounded_by(
        known.log_z_bound, known.bound_by, known.log_z_slack
    )
    result = MixedResult(
        solver=SolvedBy(Algorithm.FLOODING),
        status=Status.CONVERGED,
        iterations=solution.iterations,
        residual=solution.residual,
        log_z=solution.log_z,
        verdict=verdict,
        flaw=solution.flaw or verdict.flaw or verdict.outside(solution.log_z),
        remedies=plain.result.remedies,
    )
    seconds = time.perf_counter() - started
    made_of = Provenance(communities=solution.communities)
    return Posterior(GroundReader(prepared, solution), result, made_of, seconds)
