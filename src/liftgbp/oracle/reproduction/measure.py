"""Runs one model at one weight and one size with every method, and measures the time."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from liftgbp.api import infer
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import canonise
from liftgbp.oracle import reference
from liftgbp.oracle.messages import check_messages
from liftgbp.oracle.reproduction.experiments import PERSON, Experiment
from liftgbp.plan import compile_plan
from liftgbp.posterior import marginal_of
from liftgbp.report import Answers
from liftgbp.solve import Descent, Flooding, Status

LIFTED_GBP = "lifted GBP"
LIFTED_BP = "lifted BP"
DESCENT = "descent"
DESCENT_BP = "descent on BP"
DEFAULT = "default"
GROUND_GBP = "ground GBP"
EXACT = "exact"

SPREAD = 1e-6
"""If atoms that are alike differ by more than this, accumulated rounding has told them apart."""

REPETITIONS = 3
"""How often a short run is timed after a warm-up; the shortest time counts."""

Result = TypeVar("Result")


class OtherEnd(Enum):
    """How runs end that are not those of a solver."""

    SYMMETRY_LOST = "symmetry lost"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One method on one model, weight and size; a row of the table.

    `seconds` of processor time are for all stages, `graph_seconds` for the region graph alone. A
    run of message passing is timed over all iterations, whether or not it has converged before.
    `difference` is the largest one between ground and lifted beliefs at any iteration compared, and
    `agrees` says whether it is within rounding.
    """

    model: str
    weight: float
    people: int
    method: str
    probability: float
    status: Status | OtherEnd
    seconds: float
    graph_seconds: float = math.nan
    regions: int = 0
    edges: int = 0
    difference: float = math.nan
    agrees: bool = False

    @property
    def converged(self) -> bool:
        """Whether the probability is an answer."""
        return self.status is Status.CONVERGED


@dataclass(frozen=True, slots=True)
class Settings:
    """How messages are passed, and for how many iterations lifted and ground are compared."""

    iterations: int
    damping: float
    compared: int

    @property
    def flooding(self) -> Flooding:
        """The solver of the paper."""
        return Flooding(damping=self.damping, iterations=self.iterations)


def measure(
    experiment: Experiment, weight: float, people: int, settings: Settings
) -> Iterator[Measurement]:
    """The runs of all methods that can take this size."""
    case = _Case(experiment, weight, people, settings)
    for method, regions in ((LIFTED_GBP, "intersections"), (LIFTED_BP, "bethe")):
        yield case.flooding(method, regions)
    for method, regions in ((DESCENT, "intersections"), (DESCENT_BP, "bethe")):
        yield case.inferred(method, effort="quick", regions=regions, solver=Descent())
    # What users get who choose nothing: with sums over counts, blocks and larger regions.
    yield case.inferred(DEFAULT)
    if people in experiment.ground_sizes:
        yield case.ground()
    exact, seconds = _timed(case.exact)
    if math.isfinite(exact):
        yield case.measured(EXACT, exact, OtherEnd.EXACT, seconds)


class _Case:
    """One model at one weight and size."""

    def __init__(
        self, experiment: Experiment, weight: float, people: int, settings: Settings
    ) -> None:
        self.experiment = experiment
        self.weight = weight
        self.settings = settings
        self.model, self.sizes = experiment.model(weight), {PERSON: people}

    def measured(
        self, method: str, probability: float, status: Status | OtherEnd, *rest: Any, **more: Any
    ) -> Measurement:
        case = self.experiment.name, self.weight, self.sizes[PERSON]
        return Measurement(*case, method, probability, status, *rest, **more)

    def answered(self, method: str, answers: Answers, seconds: float, **more: Any) -> Measurement:
        probability = marginal_of(answers.posterior.reader, self.experiment.query)
        graph = answers.graph
        more |= {"regions": len(graph.regions), "edges": len(graph.edges)}
        return self.measured(method, probability, answers.status, seconds, **more)

    def flooding(self, method: str, regions: str) -> Measurement:
        """The algorithm of the paper; the time is that of all iterations."""
        flooding = self.settings.flooding
        answers = infer(self.model, self.sizes, regions=regions, solver=flooding)

        def graph() -> LiftedRegionGraph:
            # Otherwise the second graph would be built from cached names.
            canonise.cache_clear()
            return build_regions(shatter(self.model, self.sizes), regions)

        def all_iterations() -> None:
            plan = compile_plan(graph())
            with np.errstate(over="ignore", invalid="ignore"):
                deque(islice(flooding.iterates(plan), self.settings.iterations + 1), maxlen=0)

        seconds = _best(all_iterations)
        return self.answered(method, answers, seconds, graph_seconds=_best(graph))

    def inferred(self, method: str, **options: Any) -> Measurement:
        """What `infer` answers with some options."""
        return self.answered(method, *_timed(lambda: infer(self.model, self.sizes, **options)))

    def ground(self) -> Measurement:
        """Ground message passing by the reference."""
        settings = self.settings
        report = check_messages(
            self.model, self.sizes, damping=settings.damping, iterations=settings.compared
        )
        graph, graph_seconds = _timed(
            lambda: reference.ground_regions(reference.ground(self.model, self.sizes))
        )
        iterates = reference.iterates(graph, settings.damping, settings.iterations)
        beliefs, seconds = _timed(lambda: deque(iterates, maxlen=1).pop())
        # The query probability of every pair of different people.
        chances = [
            float(reference.marginal(graph, beliefs, atom)[1])
            for atom in graph.ground.atoms
            if atom.predicate == self.experiment.predicate and len(set(atom.objects)) == 2
        ]
        # Ground messages equal the lifted ones and converge with them, unless rounding intervenes.
        status = report.answers.status if np.ptp(chances) <= SPREAD else OtherEnd.SYMMETRY_LOST
        return self.measured(
            GROUND_GBP,
            chances[0],
            status,
            graph_seconds + seconds,
            graph_seconds=graph_seconds,
            regions=len(graph.regions),
            edges=len(graph.edges),
            difference=max(report.differences[: report.judged]),
            agrees=report.agrees,
        )

    def exact(self) -> float:
        """The exact probability, if it is known."""
        people = self.sizes[PERSON]
        if people in self.experiment.ground_sizes:
            two_people = reference.GroundAtom(self.experiment.predicate, (0, 1))
            exact = reference.exact(reference.ground(self.model, self.sizes))
            return float(exact.marginals[two_people][1])
        closed_form = self.experiment.closed_form
        return math.nan if closed_form is None else closed_form(self.weight, people)


def _best(work: Callable[[], object]) -> float:
    return min(_timed(work)[1] for _ in range(REPETITIONS))


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    started = time.process_time()
    result = work()
    return result, time.process_time() - started
