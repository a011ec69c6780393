"""The runs on ground networks that an effort is made of."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from liftgbp.compress import QuotientGraph, compress, ground_region_graph
from liftgbp.effort import FACTOR_SCOPES, LEVELS, Asked, EffortChoice, Level, exact_answers
from liftgbp.errors import CapacityError
from liftgbp.ground_parts import MOST_PARTS, ground_parts, multiplied_on_ground
from liftgbp.grounding import GroundNetwork
from liftgbp.growth import AUTO, grow
from liftgbp.heap import kept_memory
from liftgbp.lifted_runs import Run
from liftgbp.parts import may_miss_minima
from liftgbp.plan import compile_plan
from liftgbp.progress import Progress
from liftgbp.query import Answers
from liftgbp.query.answers import MORE_EFFORT
from liftgbp.query.ground_reader import PreparedGround
from liftgbp.solve import work_of

GROWING = ("bethe", FACTOR_SCOPES, "loops:3", "loops:4")
"""The families that `regions="auto"` tries on the ground."""

MOST_ITERATIONS = 20
"""Of descent over loops: on grids of spins it settles in three to seven, or not at all."""

MOST_WORK, FEWEST_ITERATIONS = 5e11, 20
"""What descent over factor scopes may cost, in units of `solve.work_of`, and the iterations that it
has in any case. Starts that never settle would use up a thousand of them, which take minutes on
UW-CSE, where the answer is found in five. Thorough effort has no such limit."""


@kept_memory()
def ground_answers(
    prepare: Callable[[str], PreparedGround], effort: EffortChoice, asked: Asked, run: Run
) -> Answers:
    """The answers about a ground network, prepared for a family of regions: exact if it is small.

    Then those of the least effort stand beside them only where these are cheap: on a grid of 144
    spins, message passing fails, and descent takes ten times as long as the exact answer. Where
    there is no exact answer, regions grow along loops.
    """
    from liftgbp.exact.exact_result import ExactLimits
    from liftgbp.exact.on_ground import exact_on_ground

    started = time.perf_counter()
    grows = asked.regions == AUTO
    prepared = prepare(FACTOR_SCOPES if grows or asked.regions is None else asked.regions)

    def exact(states: int) -> Answers:
        return exact_on_ground(prepared, ExactLimits.of(states), run.progress)

    found = exact_answers(exact, effort, asked)
    if grows:
        answers = _grown(prepared, None, replace(LEVELS["thorough"], loops=GROWING), run)
        if answers.growth_end == MORE_EFFORT:
            answers = replace(answers, growth_end="longer loops are not tried")
    elif found is not None and not run.is_quick(prepared):
        answers = found
    else:
        quick = _solved(prepared, run if effort == "thorough" else _limited(prepared, run))
        answers = quick if found is None else replace(found, quick=quick)
        level = LEVELS[effort]
        if found is None and asked.regions is None and level.loops:
            answers = _grown(prepared, quick, level, run)
            if answers.reader is not quick.reader:
                answers = replace(answers, quick=quick)
    return replace(answers, effort=effort, seconds=time.perf_counter() - started)


def _grown(prepared: PreparedGround, first: Answers | None, level: Level, run: Run) -> Answers:
    """The answers of the largest regions that a level allows and that can be trusted.

    Loops are looked for only where regions without them leave work for larger ones: in a large
    network finding them takes longer than anything else.
    """

    def answers(family: str) -> Answers:
        if family == FACTOR_SCOPES and first is not None:
            return first
        if not family.startswith("loops"):
            return _solved(_over(prepared, family, run.progress), run)
        _check_work(prepared, level, run)
        own = _over(prepared, family, run.progress)
        _check_work(own, level, run)
        return _solved(own, run.within(MOST_ITERATIONS))

    def regions(answers: Answers) -> object:
        return answers.graph.ground_regions

    families = level.loops if first is None else (FACTOR_SCOPES, *level.loops)
    return grow(answers, families, regions=regions)


def _limited(prepared: PreparedGround, run: Run) -> Run:
    """A run whose descent ends in time, whatever its starts do."""
    return run.within(max(FEWEST_ITERATIONS, run.iterations(prepared, MOST_WORK)))


def _check_work(prepared: PreparedGround, level: Level, run: Run) -> None:
    if work_of(prepared.plan.layout, run.descent) > level.work:
        raise CapacityError(MORE_EFFORT)


def _solved(prepared: PreparedGround, run: Run) -> Answers:
    """The answers about a network, part by part if the whole may have more minima."""
    answers = run.solved(lambda: prepared)
    if not may_miss_minima(answers.result):
        return answers
    part_of, parts = ground_parts(prepared.graph.network)
    if not 1 < len(parts) <= MOST_PARTS:
        return answers

    def prepare_part(part: GroundNetwork) -> PreparedGround:
        graph = quotient(part, str(prepared.graph.family), run.progress)
        return replace(prepared, graph=graph, plan=compile_plan(graph))

    every = [run.solved(partial(prepare_part, part)) for part in parts]
    return multiplied_on_ground(prepared, part_of, every)


def _over(prepared: PreparedGround, family: str, progress: Progress) -> PreparedGround:
    """The same network over another family of regions."""
    if family == str(prepared.graph.family):
        return prepared
    graph = quotient(prepared.graph.network, family, progress)
    return replace(prepared, graph=graph, plan=compile_plan(graph))


def quotient(network: GroundNetwork, regions: str, progress: Progress) -> QuotientGraph:
    """The region graph of a network, with regions that behave alike merged."""
    ground_regions = ground_region_graph(network, regions, progress=progress)
    graph = compress(ground_regions, network, progress=progress)
    progress("compiling", 0, 1)
    return graph
