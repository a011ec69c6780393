"""Runs one model at one weight and one size with every method, and measures the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TypeVar

import numpy as np

from liftgbp import reference
from liftgbp.api import infer
from liftgbp.messages import check_messages
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.posterior import marginal_of
from liftgbp.regions import LiftedRegionGraph, build_regions
from liftgbp.report import Answers
from liftgbp.reproduction.experiments import PERSON, Experiment
from liftgbp.shatter import shatter
from liftgbp.signature import canonise
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
class Run:
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
) -> Iterator[Run]:
    """The runs of all methods that can take this size."""
    model = experiment.model(weight)
    for method, regions in ((LIFTED_GBP, "intersections"), (LIFTED_BP, "bethe")):
        yield _lifted(experiment, model, weight, people, settings, method, regions)
    for method, regions in ((DESCENT, "intersections"), (DESCENT_BP, "bethe")):
        yield _descent(experiment, model, weight, people, method, regions)
    yield _default(experiment, model, weight, people)
    if people in experiment.ground_sizes:
        yield _ground(experiment, model, weight, people, settings)
    yield from _exact(experiment, model, weight, people)


def _lifted(
    experiment: Experiment,
    model: Model,
    weight: float,
    people: int,
    settings: Settings,
    method: str,
    regions: str,
) -> Run:
    sizes = {PERSON: people}
    answers = infer(
        model,
        sizes,
        regions=regions,
        solver=settings.flooding,
    )

    def graph() -> LiftedRegionGraph:
        # Otherwise the second graph would be built from cached names.
        canonise.cache_clear()
        return build_regions(shatter(model, sizes), regions)

    def all_iterations() -> None:
        plan = compile_plan(graph())
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in islice(settings.flooding.iterates(plan), settings.iterations + 1):
                pass

    return Run(
        experiment.name,
        weight,
        people,
        method,
        marginal_of(answers.reader, experiment.query),
        answers.status,
        seconds=_best(all_iterations),
        graph_seconds=_best(graph),
        regions=len(answers.graph.regions),
        edges=len(answers.graph.edges),
    )


def _descent(
    experiment: Experiment, model: Model, weight: float, people: int, method: str, regions: str
) -> Run:
    def solve() -> Answers:
        return infer(model, {PERSON: people}, effort="quick", regions=regions, solver=Descent())

    return _answered(experiment, weight, people, method, *_timed(solve))


def _default(experiment: Experiment, model: Model, weight: float, people: int) -> Run:
    """What users get who choose nothing: with sums over counts, blocks and larger regions."""
    timed = _timed(lambda: infer(model, {PERSON: people}))
    return _answered(experiment, weight, people, DEFAULT, *timed)


def _answered(
    experiment: Experiment,
    weight: float,
    people: int,
    method: str,
    answers: Answers,
    seconds: float,
) -> Run:
    return Run(
        experiment.name,
        weight,
        people,
        method,
        marginal_of(answers.reader, experiment.query),
        answers.status,
        seconds,
        regions=len(answers.graph.regions),
        edges=len(answers.graph.edges),
    )


def _ground(
    experiment: Experiment, model: Model, weight: float, people: int, settings: Settings
) -> Run:
    sizes = {PERSON: people}
    report = check_messages(model, sizes, damping=settings.damping, iterations=settings.compared)
    graph, graph_seconds = _timed(lambda: reference.ground_regions(reference.ground(model, sizes)))

    def last_beliefs() -> reference.Beliefs:
        beliefs: reference.Beliefs = {}
        for beliefs in reference.iterates(graph, settings.damping, settings.iterations):  # noqa: B007
            pass
        return beliefs

    beliefs, seconds = _timed(last_beliefs)
    chances = _chances(experiment, graph, beliefs)
    # Ground messages equal the lifted ones and converge with them, unless rounding intervenes.
    status = report.answers.status if np.ptp(chances) <= SPREAD else OtherEnd.SYMMETRY_LOST
    return Run(
        experiment.name,
        weight,
        people,
        GROUND_GBP,
        chances[0],
        status,
        graph_seconds + seconds,
        graph_seconds,
        regions=len(graph.regions),
        edges=len(graph.edges),
        difference=max(report.differences[: report.judged]),
        agrees=report.agrees,
    )


def _chances(
    experiment: Experiment, graph: reference.GroundRegionGraph, beliefs: reference.Beliefs
) -> list[float]:
    """The query probability for every pair of different people."""
    atoms = (
        atom
        for atom in graph.ground.atoms
        if atom.predicate == experiment.predicate and len(set(atom.objects)) == 2
    )
    return [float(reference.marginal(graph, beliefs, atom)[1]) for atom in atoms]


def _exact(experiment: Experiment, model: Model, weight: float, people: int) -> Iterator[Run]:
    def junction_tree() -> float:
        ground = reference.ground(model, {PERSON: people})
        return float(reference.exact(ground).marginals[_two_people(experiment)][1])

    if people in experiment.ground_sizes:
        probability, seconds = _timed(junction_tree)
    elif experiment.closed_form is not None:
        closed_form = experiment.closed_form
        probability, seconds = _timed(lambda: closed_form(weight, people))
    else:
        return
    if math.isfinite(probability):
        yield Run(experiment.name, weight, people, EXACT, probability, OtherEnd.EXACT, seconds)


def _two_people(experiment: Experiment) -> reference.GroundAtom:
    return reference.GroundAtom(experiment.predicate, (0, 1))


def _best(work: Callable[[], object]) -> float:
    return min(_timed(work)[1] for _ in range(REPETITIONS))


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    started = time.process_time()
    result = work()
    return result, time.process_time() - started
