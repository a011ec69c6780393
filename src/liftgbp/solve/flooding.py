"""Parent-to-child message passing with a flooding schedule, as in Apsel's paper.

    log b = theta + exponents @ m
    m    += (1 - damping) * (log of the parent's marginal - log of the child's belief)

All messages start at zero and are updated at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.solve.free_energy import log_z
from liftgbp.solve.solution import Solution, Status

Progress = Callable[[int, int], None]


ACCEPTABLE = 1e-8
"""A run that uses up its iterations with a residual below this has converged, only slowly."""

ROUNDING = 8 * float(np.finfo(float).eps)
"""What rounding makes of a residual, relative to the log beliefs that it is computed from."""


@dataclass(frozen=True, slots=True)
class Flooding:
    """Configuration of a flooding run.

    It stops when the residual falls below `tol`, or below what rounding allows.
    """

    damping: float = 0.5
    iterations: int = 500
    tol: float = 1e-12

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise InputError(f"damping must be at least 0 and below 1, got {self.damping}")
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, got {self.iterations}")
        if not self.tol > 0:
            raise InputError(f"tol must be positive, got {self.tol}")

    def __call__(self, plan: Plan, progress: Progress | None = None) -> Solution:
        """Run until the messages agree or the iterations are used up."""
        trace: list[float] = []
        # Differences of one part in N look like agreement until they have passed through all levels
        # of the graph, where N of them act together: first residuals say nothing.
        warmup = 2 * plan.layout.levels
        state = _Flood(plan)
        with np.errstate(over="ignore", invalid="ignore"):
            while True:
                trace.append(state.residual)
                if len(trace) > warmup and state.settled(self.tol):
                    break
                if len(trace) == self.iterations or not math.isfinite(state.residual):
                    break
                if progress is not None:
                    progress(len(trace), self.iterations)
                state.step(1 - self.damping)
            return Solution(
                solver="flooding",
                status=_status(trace, warmup, state.settled(max(self.tol, ACCEPTABLE))),
                iterations=len(trace),
                residual=trace[-1],
                log_beliefs=state.log_beliefs,
                log_z=log_z(plan, state.log_beliefs),
                trace=np.array(trace),
            )

    def iterates(self, plan: Plan) -> Iterator[NDArray[np.float64]]:
        """The normalised log beliefs before the first update, after it, and so on."""
        state = _Flood(plan)
        while True:
            yield state.log_beliefs.copy()
            state.step(1 - self.damping)


def _status(trace: list[float], warmup: int, settled: bool) -> Status:
    if settled and len(trace) > warmup:
        return Status.CONVERGED
    growing = not trace[-1] <= 10 * max(trace[: warmup + 1])
    return Status.DIVERGED if growing else Status.ITERATIONS


class _Flood:
    """The messages of a run, with what follows from them; all calls are vectorised.

    The residual is measured on logarithms, since beliefs that run away to 0 and 1 look settled in
    probability: the largest difference between a parent's log marginal and its child's log belief,
    or the largest change of a log belief that the last update made, whichever is larger.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._layout = plan.layout
        # Looked up once: these lines run hundreds of times on small arrays.
        self._region_of = plan.layout.region_of
        self._message_of = plan.layout.message_of
        self._target_of = plan.layout.target_of
        self.messages = np.zeros(plan.layout.message_entries)
        self.log_beliefs, self._raw = self._beliefs(self.messages)
        self._change = self._disagreement()
        self._moved = np.zeros_like(self.log_beliefs)
        self.residual = _largest(self._change)

    def step(self, rate: float) -> None:
        self.messages += rate * self._change
        if len(self.messages):
            starts = self._layout.message_starts
            self.messages -= np.maximum.reduceat(self.messages, starts).take(self._message_of)
        before = self.log_beliefs
        self.log_beliefs, self._raw = self._beliefs(self.messages)
        self._change = self._disagreement()
        self._moved = np.abs(self.log_beliefs - before) / rate
        self.residual = max(_largest(self._change), _largest(self._moved))

    def settled(self, tol: float) -> bool:
        """Whether every difference is below `tol`, or below the rounding of its own regions.

        Log beliefs of large domains are large numbers, and their rounding may be far above `tol`;
        that excuses the regions which have them, and no others.
        """
        if self.residual <= tol:
            return True
        if not self.residual <= ROUNDING * _largest(self._raw):
            return False
        layout = self._layout
        scales = np.maximum.reduceat(np.abs(self._raw), layout.region_starts)
        allowed = np.maximum(tol, ROUNDING * scales).take(self._region_of)
        parents = layout.sources.take(layout.source_starts)
        along = np.maximum(allowed.take(parents), allowed.take(layout.children))
        return bool((self._moved <= allowed).all() and (np.abs(self._change) <= along).all())

    def _beliefs(
        self, messages: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The log beliefs that messages make, normalised and as they are."""
        raw = self._plan.exponents @ messages
        raw += self._plan.theta
        totals = _log_sum(raw, self._layout.region_starts, self._region_of)
        return raw - totals.take(self._region_of), raw

    def _disagreement(self) -> NDArray[np.float64]:
        layout = self._layout
        sources = self.log_beliefs.take(layout.sources)
        marginals = _log_sum(sources, layout.source_starts, self._target_of)
        marginals -= self.log_beliefs.take(layout.children)
        return marginals


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.abs(values).max()) if len(values) else 0.0


def _log_sum(
    values: NDArray[np.float64], starts: NDArray[np.int64], segment: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The log of the sum of exponentials in each segment."""
    if not len(values):
        return np.zeros(0)
    top = np.maximum.reduceat(values, starts)
    sums: NDArray[np.float64] = np.add.reduceat(np.exp(values - top.take(segment)), starts)
    return top + np.log(sums)
