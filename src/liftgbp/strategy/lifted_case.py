"""A model over classes of interchangeable objects, as methods answer it.

What not every run needs is imported where it is used, as a small model is solved in less time: sums
over counts, blocks, and bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from liftgbp.evidence import Problem
from liftgbp.lift.regions import FACTOR_SCOPES, GROWING, Family, build_regions
from liftgbp.lift.shatter import NormalModel, ObjectClass, ObjectClasses, Shattering
from liftgbp.methods.effort import EFFORTS, Effort
from liftgbp.model.rewriting import outlined
from liftgbp.plan import compile_plan
from liftgbp.posterior import Confirmation, Posterior, PreparedLifted, Unconfirmed
from liftgbp.solve import work_of
from liftgbp.strategy.growth import EffortError, clusters_of, grow
from liftgbp.strategy.parts import Part, independent_parts, may_miss_minima, multiplied
from liftgbp.strategy.request import AUTO, Request
from liftgbp.strategy.run import FEWEST_ITERATIONS, Run
from liftgbp.strategy.strategy import Judge
from liftgbp.support.errors import CapacityError, InputError
from liftgbp.support.progress import Progress

if TYPE_CHECKING:
    from liftgbp.methods.blocks import Bound
    from liftgbp.methods.counting import Summer
    from liftgbp.methods.sampling.second_sample import SecondSample

HASTY_WORK = 3e8
"""Where a step of descent costs more, in units of `solve.work_of`, messages alone are passed at
first. A few facts make classes many and relations stiff: descent takes 24 s to settle for
friends-knows over 1e5 people of whom four are named, and what blocks say counts in the end."""


class LiftedCase:
    """A model over classes of objects. All families of regions share its normal form."""

    def __init__(self, objects: ObjectClasses, run: Run) -> None:
        self._run = run
        self._objects = objects
        run.progress("shattering", 0, 1)
        self._shattering = Shattering(objects, table_cap=run.table_cap)

    @property
    def over_classes(self) -> LiftedCase:
        """It is over classes of objects."""
        return self

    @property
    def classes(self) -> Sequence[ObjectClass]:
        """The classes of interchangeable objects."""
        return self._shattering.classes

    @cached_property
    def _normal(self) -> NormalModel:
        return self._shattering.normal()

    @cached_property
    def _factor_scopes(self) -> PreparedLifted:
        return prepare_lifted(self._normal, FACTOR_SCOPES, self._run.progress)

    # --- parts

    @cached_property
    def _parts(self) -> list[Part]:
        return independent_parts(self._normal)

    @cached_property
    def parts(self) -> tuple[LiftedCase, ...]:
        """The independent parts of the model; none if it is connected."""
        if len(self._parts) < 2:
            return ()
        return tuple(LiftedCase(part.of(self._objects), self._run) for part in self._parts)

    def joined(self, answers: Sequence[Posterior]) -> Posterior:
        """The answers of the model from those of its parts."""
        return multiplied(
            self._factor_scopes,
            self._parts,
            answers,
            [part._factor_scopes.plan.log_offset for part in self.parts],
        )

    # --- methods

    def prepare(self) -> None:
        """Build the region graph over factor scopes."""
        _ = self._factor_scopes

    def exact(self, states: int) -> Posterior:
        """The exact answers; a model that takes more states raises a `CapacityError`."""
        from liftgbp.methods.exact.exact_result import ExactLimits
        from liftgbp.methods.exact.over_classes import exact_over_classes

        return exact_over_classes(self._factor_scopes, ExactLimits.of(states), self._run.progress)

    def exact_by_structure(self, states: int) -> Posterior:
        """The same if a relation is an equivalence or an order, or else a `CapacityError`."""
        from liftgbp.methods.exact.recognition import recognised

        recognised(self._normal)
        return self.exact(states)

    def over(self, regions: Family, effort: Effort) -> Posterior:
        """The answers with one block per class, over a family of regions or growing ones."""
        if regions != GROWING:
            hasty = effort.work and effort.name != "thorough"
            run = self._run.hasty(HASTY_WORK) if hasty else self._run
            return self._over(regions, None, run)
        return grow(self._while_affordable(self._over))

    def patiently(self, regions: Family) -> Posterior | None:
        """The same with descent however long it takes; none if it was tried already."""
        run = self._run
        work = work_of(self._prepared(regions, None).plan.layout, run.descent)
        if run.hasty(HASTY_WORK) == run or work <= HASTY_WORK:
            return None
        return self._over(regions, None)

    def _over(self, regions: Family, effort: Effort | None, run: Run | None = None) -> Posterior:
        """The same within an effort, if there is one; regions that are too large raise."""
        prepared = self._prepared(regions, None if effort is None else effort.table)
        run = run or self._run
        if effort is not None:
            iterations = run.iterations(prepared, effort.work)
            if iterations < FEWEST_ITERATIONS:
                raise EffortError
            run = run.within(iterations)
        answers = run.solved(prepared)
        if may_miss_minima(answers.result) and self.parts:
            return self.joined([part._over(regions, effort, run) for part in self.parts])
        return answers

    def _prepared(self, regions: Family, table_cap: int | None) -> PreparedLifted:
        normal = self._normal
        if table_cap is not None and table_cap < normal.table_cap:
            normal = replace(normal, table_cap=table_cap)
        elif regions == FACTOR_SCOPES:
            return self._factor_scopes
        return prepare_lifted(normal, regions, self._run.progress)

    def larger_families(self, effort: Effort) -> Sequence[Family]:
        """The families beyond factor scopes; none where each object is alone in its class."""
        several = any(own.size > 1 and own.constant is None for own in self.classes)
        return effort.families if several else ()

    def over_larger(self, family: Family, effort: Effort) -> Posterior:
        """The answers over a larger family, unless they cost more than the effort allows."""
        return self._over(family, effort)

    def regions_of(self, answers: Posterior) -> object:
        """What is equal for answers over the same regions."""
        return clusters_of(answers)

    def summed(
        self, known: Posterior | None, regions: Family, predicates: Sequence[str], work: float
    ) -> Posterior:
        """The answers summed over the counts of some predicates.

        None stands for the one that changes the known answers most, if that is cheap.
        """
        if known is not None:
            if regions == GROWING:
                return known
            summed = self._summer(regions, work).auto(known)
            return summed if summed.provenance.sums.predicates else known
        names = tuple(dict.fromkeys(predicates))
        if AUTO in names and len(names) > 1:
            raise InputError("sum over auto alone, or over predicates that you name")
        if AUTO not in names:
            if regions == GROWING:
                return grow(self._while_affordable(self._grown_sums(names)))
            return self._summer(regions).on(names)
        # What counts gain is found out once, over the scopes of factors.
        first = FACTOR_SCOPES if regions == GROWING else regions
        summed = self._summer(first, EFFORTS["thorough"].work, patient=True).auto()
        if regions != GROWING:
            return summed
        from liftgbp.methods.counting import with_choice

        chosen = summed.provenance.sums.predicates
        answers = grow(self._while_affordable(self._grown_sums(chosen) if chosen else self._over))
        return with_choice(answers, summed.provenance.sums.chosen)

    def _grown_sums(self, names: Sequence[str]) -> Callable[[Family, Effort | None], Posterior]:
        """Sums over larger regions have some iterations at each count, as plain answers have.

        All regions over several objects share that work: in small domains they grow many times.
        """
        spent = 0.0

        def over(regions: Family, effort: Effort | None) -> Posterior:
            nonlocal spent
            work = math.inf if effort is None else effort.work / FEWEST_ITERATIONS
            if spent > work:
                raise EffortError
            summer = self._summer(regions, work, patient=True)
            answers = summer.on(names)
            spent += 0.0 if effort is None else summer.spent
            return answers

        return over

    def _while_affordable(
        self, over: Callable[[Family, Effort | None], Posterior]
    ) -> Callable[[Family], Posterior]:
        """Answers whose regions over several objects take no more work than thorough ones."""
        thorough = replace(EFFORTS["thorough"], table=self._run.table_cap)

        def limited(family: Family) -> Posterior:
            return over(family, thorough if family.name == "objects" else None)

        return limited

    def _summer(
        self, regions: Family, most_work: float = math.inf, *, patient: bool = False
    ) -> Summer:
        from liftgbp.methods.counting import Summer

        run = self._run
        return Summer(
            self._shattering, regions, run.solver, run.progress, most_work, patient=patient
        )

    def blocked(
        self, answers: Posterior, most: Mapping[int, int], work: float, *, mix: bool
    ) -> tuple[Posterior, Bound]:
        """Answers mixed with minima at which blocks differ, and a bound for other answers."""
        from liftgbp.methods.blocks import with_blocks

        return with_blocks(
            answers,
            self._shattering,
            most,
            self._run.descent,
            mix=mix,
            most_work=work,
            progress=self._run.progress,
        )

    def by_communities(self, answers: Posterior, effort: Effort) -> None:
        """Communities are those of single objects; classes of them fall into blocks."""

    def judges(self, request: Request, effort: Effort) -> Sequence[Judge]:
        """Curvature between halves of classes, worlds, and proven bounds.

        Whoever names a method wants its answer, and may ask for bounds or a sample beside it.
        """
        if not effort.work:
            return ()
        from liftgbp.methods.blocks import HalvesJudge
        from liftgbp.methods.bounding import ProvenJudge
        from liftgbp.worlds.world_judge import WorldJudge, weight_over_classes

        run = self._run
        tolerances = run.descent.tolerances
        judges: list[Judge] = [HalvesJudge(self._shattering, tolerances, effort.work)]
        if not request.names_a_method:
            weigh = partial(weight_over_classes, self._normal, effort.name)
            judges.append(WorldJudge(weigh, tolerances, run.progress))
            judges.append(ProvenJudge(effort.name, self._shattering, tolerances, run.progress))
        return judges

    @property
    def problem(self) -> Problem:
        """The model, what is known, and the domain sizes."""
        return self._objects.problem

    def smaller_worlds(
        self, answers: Posterior, request: Request, effort: Effort
    ) -> Confirmation | Unconfirmed:
        """What smaller worlds say about answers that no sample could judge."""
        from liftgbp.strategy.smaller_worlds import support_of

        return support_of(answers, self, request, effort, self._run)

    def second_sample(self, effort: Effort, share: float = 1.0) -> SecondSample:
        """What a sample says about answers, which takes no more than a share of the effort."""
        from liftgbp.ground.grounding.from_classes import ground_factors
        from liftgbp.methods.sampling.sampler import Target
        from liftgbp.methods.sampling.second_sample import WORK, SecondSample

        atoms, factors = sum(self._factor_scopes.plan.atom_counts), ground_factors(self._normal)
        target = partial(Target.of_problem, self.problem, self._run.progress)
        return SecondSample(share * WORK[effort.name], target, atoms, factors, self._run.progress)


def prepare_lifted(normal: NormalModel, regions: Family, progress: Progress) -> PreparedLifted:
    """The region graph of a normal form, with its plan."""
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    return PreparedLifted(graph, compile_plan(graph))


def with_quantifiers(
    objects: ObjectClasses, large: Sequence[str], states: int, run: Run
) -> Posterior | None:
    """Exact answers about a model with quantifiers over sorts that are too large to be expanded.

    There are none if a quantified formula has no stand-in.
    """
    from liftgbp.methods.exact.exact_result import ExactLimits
    from liftgbp.methods.exact.over_classes import exact_with_quantifiers

    problem = objects.problem
    outline = outlined(problem.model, large)
    if outline is None:
        return None
    own = replace(objects, problem=replace(problem, model=outline.model))
    try:
        normal = Shattering(own, table_cap=run.table_cap).normal()
        prepared = prepare_lifted(normal, FACTOR_SCOPES, run.progress)
        return exact_with_quantifiers(prepared, outline, problem, ExactLimits.of(states))
    except CapacityError as error:
        raise CapacityError(
            f"a quantifier over the objects of {' and '.join(large)} is not expanded, and there is "
            f"no exact answer: {error.message}; use fewer objects, or write all atoms out "
            "(via='ground', --via ground)",
            error.span,
        ) from None
