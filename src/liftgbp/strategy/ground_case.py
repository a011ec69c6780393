"""A model or network that is written out, as methods answer it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from liftgbp.evidence import Problem
from liftgbp.ground.compress import QuotientGraph, compress, ground_region_graph
from liftgbp.ground.grounding import GroundNetwork, ground_network
from liftgbp.lift.regions import BETHE, FACTOR_SCOPES, GROWING, Family
from liftgbp.methods.effort import EFFORTS, LOOPS, Effort
from liftgbp.methods.sampling.sampler import Target
from liftgbp.methods.sampling.second_sample import WORK, SecondSample
from liftgbp.plan import compile_plan
from liftgbp.posterior import Confirmation, Posterior, Unconfirmed
from liftgbp.posterior.ground_reader import PreparedGround
from liftgbp.posterior.results import GrowthEnd, GrowthStop
from liftgbp.solve import work_of
from liftgbp.strategy.communities_on_ground import with_communities
from liftgbp.strategy.ground_parts import MOST_PARTS, ground_parts, multiplied_on_ground
from liftgbp.strategy.growth import EffortError, grow
from liftgbp.strategy.parts import may_miss_minima
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import FEWEST_ITERATIONS, Run
from liftgbp.strategy.strategy import Judge
from liftgbp.support.errors import InternalError
from liftgbp.support.progress import Progress

GROWING_LOOPS = (BETHE, FACTOR_SCOPES, *LOOPS[:2])
"""The families that `regions="auto"` tries on the ground."""

MOST_ITERATIONS = 20
"""Of descent over loops: on grids of spins it settles in three to seven, or not at all."""

MOST_WORK = 5e11
"""What descent over factor scopes may cost, in units of `solve.work_of`, beyond `FEWEST_ITERATIONS`
that it has in any case. Starts that never settle would use up a thousand iterations, which take
minutes on UW-CSE, where the answer is found in five. Thorough effort has no such limit."""


class GroundCase:
    """A ground network, prepared by `prepare` for a family of regions.

    `target` writes out what is sampled.
    """

    over_classes = None

    def __init__(
        self,
        prepare: Callable[[Family], PreparedGround],
        regions: Family | None,
        run: Run,
        target: Callable[[], Target],
        most_work: float = MOST_WORK,
        fewest_iterations: int = FEWEST_ITERATIONS,
    ) -> None:
        first = FACTOR_SCOPES if regions in (None, GROWING) else regions
        self._first = prepare(first)
        self._run, self._target = run, target
        self._most_work, self._fewest = most_work, fewest_iterations

    def prepare(self) -> None:
        """The network was prepared when the case was made."""

    def exact(self, states: int) -> Posterior:
        """The exact answers; a network that takes more states raises a `CapacityError`."""
        from liftgbp.methods.exact.exact_result import ExactLimits
        from liftgbp.methods.exact.on_ground import exact_on_ground

        return exact_on_ground(self._first, ExactLimits.of(states), self._run.progress)

    def over(self, regions: Family, effort: Effort) -> Posterior:
        """The answers over the regions that the network was prepared for, or growing ones."""
        run = self._run
        if regions != GROWING:
            if effort.name != "thorough":
                # Descent ends in time, whatever its starts do.
                affordable = run.iterations(self._first, self._most_work)
                run = run.within(max(self._fewest, affordable))
            return _solved(self._first, run)

        def answers(family: Family) -> Posterior:
            if family.name == "loops":
                return self.over_larger(family, EFFORTS["thorough"])
            return _solved(self._over(family), run)

        grown = grow(answers, GROWING_LOOPS, regions=self.regions_of)
        if grown.provenance.growth_stop == GrowthStop(GrowthEnd.MORE_EFFORT):
            return grown.made_of(growth_stop=GrowthStop(GrowthEnd.LONGER_LOOPS))
        return grown

    def larger_families(self, effort: Effort) -> Sequence[Family]:
        """Loops."""
        return effort.loops

    def over_larger(self, family: Family, effort: Effort) -> Posterior:
        """The answers over loops, unless they cost more than the effort allows.

        Loops are looked for only where regions without them leave work for larger ones: in a large
        network finding them takes longer than anything else.
        """
        self._check_work(self._first, effort)
        prepared = self._over(family)
        self._check_work(prepared, effort)
        return _solved(prepared, self._run.within(MOST_ITERATIONS))

    def regions_of(self, answers: Posterior) -> object:
        """What is equal for answers over the same regions."""
        return answers.graph.ground_regions

    def by_communities(self, answers: Posterior, effort: Effort) -> Posterior | None:
        """The answers from minima of communities; none if there are no such, or they cost more."""
        return with_communities(self._first, answers, effort, self._run.progress)

    def judges(self, request: Request, effort: Effort) -> Sequence[Judge]:
        """A best world: an answer that weighs less than that is wrong."""
        if not effort.work or request.names_a_method:
            return ()
        from liftgbp.worlds.world_judge import WorldJudge, weight_on_ground

        run = self._run
        weigh = partial(weight_on_ground, self._first.graph.network, effort.name)
        return [WorldJudge(weigh, run.descent.tolerances, run.progress)]

    def smaller_worlds(
        self, answers: Posterior, request: Request, effort: Effort
    ) -> Confirmation | Unconfirmed:
        """What a part of the network says about answers that no sample could judge."""
        from liftgbp.strategy.part_of_network import support_of

        return support_of(answers, self._first, effort, self._run)

    def second_sample(self, effort: Effort) -> SecondSample:
        """What a sample says about answers."""
        network = self._first.graph.network
        atoms, factors = len(network.ranges), network.factors
        return SecondSample(WORK[effort.name], self._target, atoms, factors, self._run.progress)

    def _over(self, family: Family) -> PreparedGround:
        """The same network over another family of regions."""
        first = self._first
        if family == first.graph.family:
            return first
        graph = quotient(first.graph.network, family, self._run.progress)
        return replace(first, graph=graph, plan=compile_plan(graph))

    def _check_work(self, prepared: PreparedGround, effort: Effort) -> None:
        if work_of(prepared.plan.layout, self._run.descent) > effort.work:
            raise EffortError


def _solved(prepared: PreparedGround, run: Run) -> Posterior:
    """The answers about a network, part by part if the whole may have more minima."""
    answers = run.solved(prepared)
    if not may_miss_minima(answers.result):
        return answers
    part_of, parts = ground_parts(prepared.graph.network)
    if not 1 < len(parts) <= MOST_PARTS:
        return answers

    def solved(part: GroundNetwork) -> Posterior:
        graph = quotient(part, prepared.graph.family, run.progress)
        return run.solved(replace(prepared, graph=graph, plan=compile_plan(graph)))

    return multiplied_on_ground(prepared, part_of, [solved(part) for part in parts])


def prepare_ground(problem: Problem, regions: Family, run: Run) -> PreparedGround:
    """The model written out under its evidence, and compressed."""
    network = ground_network(problem, table_cap=run.table_cap, chained=True, progress=run.progress)
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    graph = quotient(network, regions, run.progress)
    return PreparedGround(graph, compile_plan(graph), problem, network.atoms)


def quotient(network: GroundNetwork, regions: Family, progress: Progress) -> QuotientGraph:
    """The region graph of a network, with regions that behave alike merged."""
    ground_regions = ground_region_graph(network, regions, progress=progress)
    graph = compress(ground_regions, network, progress=progress)
    progress("compiling", 0, 1)
    return graph
