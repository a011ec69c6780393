"""The runs over classes of objects that an effort is made of.

What not every run needs is imported where it is used, as a small model is solved in less time: sums
over counts, blocks, and bounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from liftgbp.effort import FACTOR_SCOPES, LEVELS, Level
from liftgbp.errors import CapacityError, InputError
from liftgbp.growth import AUTO, grow
from liftgbp.model.existentials import outlined
from liftgbp.parts import Part, independent_parts, may_miss_minima, multiplied
from liftgbp.plan import compile_plan
from liftgbp.progress import Progress
from liftgbp.query import Answers, Prepared, PreparedLifted
from liftgbp.query.answers import MORE_EFFORT
from liftgbp.regions import build_regions
from liftgbp.shatter import NormalModel, ObjectClass, ObjectClasses, Shattering
from liftgbp.solve import Auto, Descent, Flooding, Solver, work_of

if TYPE_CHECKING:
    from liftgbp.blocks import Bound
    from liftgbp.bounding import ProvenJudge
    from liftgbp.counting import Summer
    from liftgbp.sampling.sampled_judge import SampledJudge


FEWEST_ITERATIONS = 20
"""Regions that an effort does not grant this many iterations are not tried: few settle in less.
Those of town.mln with three objects take 0.06 s for each, and do not settle in 500."""


@dataclass(frozen=True, slots=True)
class Run:
    """How models are solved."""

    solver: Solver
    table_cap: int
    progress: Progress

    def is_quick(self, prepared: Prepared) -> bool:
        """Whether a model is solved by descent in a moment."""
        return isinstance(self.solver, Auto) and self.solver.descends_first(prepared.plan.layout)

    @property
    def descent(self) -> Descent:
        """The descent of the solver."""
        if isinstance(self.solver, Flooding):
            return Descent()
        return self.solver.descent if isinstance(self.solver, Auto) else self.solver

    def iterations(self, prepared: Prepared, work: float) -> int:
        """How many iterations of descent this much work allows."""
        one = work_of(prepared.plan.layout, self.descent)
        return min(self.descent.iterations, int(work / one)) if one else self.descent.iterations

    def within(self, iterations: int) -> Run:
        """The same with a limit to the iterations of descent."""
        solver = self.solver
        if isinstance(solver, Flooding):
            return self
        limited = replace(self.descent, iterations=min(self.descent.iterations, iterations))
        chosen = replace(solver, descent=limited) if isinstance(solver, Auto) else limited
        return replace(self, solver=chosen)

    def solved(self, prepared: Callable[[], Prepared]) -> Answers:
        """The answers of a model that is prepared now."""
        started = time.perf_counter()
        ready = prepared()
        solution = self.solver(ready.plan, self.progress)
        return Answers.of(ready, solution, time.perf_counter() - started)


class LiftedRuns:
    """The runs over classes of objects that an effort is made of."""

    def __init__(self, objects: ObjectClasses, run: Run) -> None:
        self._run = run
        self._objects = objects
        self._hopeless: CapacityError | None = None
        run.progress("shattering", 0, 1)
        self._shattering = Shattering(objects, table_cap=run.table_cap)

    @property
    def classes(self) -> Sequence[ObjectClass]:
        """The classes of interchangeable objects."""
        return self._shattering.classes

    @cached_property
    def _normal(self) -> NormalModel:
        # All families of regions share the classes of objects and the normal form.
        return self._shattering.normal()

    def exact(self, states: int) -> Answers:
        """The exact answers; a model that takes more states raises a `CapacityError`."""
        from liftgbp.exact.exact_result import ExactLimits
        from liftgbp.exact.over_classes import exact_over_classes

        return exact_over_classes(self._factor_scopes, ExactLimits.of(states), self._run.progress)

    def plain(self, regions: str, level: Level | None = None) -> Answers:
        """The answers with one block per class; regions too large for a level raise."""
        if regions == AUTO:
            return grow(self._while_affordable(self.plain))
        if regions == FACTOR_SCOPES and self._hopeless is not None:
            raise self._hopeless
        normal = self._normal
        if level is not None and level.table < normal.table_cap:
            normal = replace(normal, table_cap=level.table)

        def prepared() -> Prepared:
            if regions == FACTOR_SCOPES and normal is self._normal:
                own = self._factor_scopes
            else:
                own = prepare_lifted(normal, regions, self._run.progress)
            if level is not None and self._run.iterations(own, level.work) < FEWEST_ITERATIONS:
                raise CapacityError(MORE_EFFORT)
            return own

        if level is None:
            answers = self._run.solved(prepared)
        else:
            ready = prepared()
            run = self._run.within(self._run.iterations(ready, level.work))
            answers = run.solved(lambda: ready)
        if may_miss_minima(answers.result) and self.parts:
            return self.joined([part.plain(regions, level) for part in self.parts])
        return answers

    def plain_if_cheap(self) -> Answers | None:
        """The answers over factor scopes with one block per class, if they take a moment."""
        return self.plain(FACTOR_SCOPES) if self._run.is_quick(self._factor_scopes) else None

    @cached_property
    def parts(self) -> tuple[LiftedRuns, ...]:
        """The runs of the independent parts of the model; none if it is connected."""
        if len(self._parts) < 2:
            return ()
        return tuple(LiftedRuns(part.of(self._objects), self._run) for part in self._parts)

    @cached_property
    def _parts(self) -> list[Part]:
        return independent_parts(self._normal)

    def joined(self, answers: Sequence[Answers]) -> Answers:
        """The answers of the model from those of its parts."""
        return multiplied(
            self._factor_scopes,
            self._parts,
            answers,
            [part._factor_scopes.plan.log_offset for part in self.parts],
        )

    @cached_property
    def _factor_scopes(self) -> PreparedLifted:
        try:
            return prepare_lifted(self._normal, FACTOR_SCOPES, self._run.progress)
        except CapacityError as error:
            # Every other way to an answer would fail in the same search.
            self._hopeless = error
            raise

    def summed(self, regions: str, predicates: Sequence[str]) -> Answers:
        """The answers summed over the counts of some predicates."""
        names = tuple(dict.fromkeys(predicates))
        if AUTO in names and len(names) > 1:
            raise InputError("sum over auto alone, or over predicates that you name")
        if regions != AUTO:
            if AUTO not in names:
                return self._summer(regions).on(names)
            return self._summer(regions, LEVELS["thorough"].work, patient=True).auto()
        if AUTO not in names:
            return grow(self._while_affordable(self._grown_sums(names)))
        from liftgbp.counting import with_choice

        # What counts gain is found out once, over the scopes of factors.
        first = self._summer(FACTOR_SCOPES, LEVELS["thorough"].work, patient=True).auto()
        chosen = first.sum_over.predicates
        answers = self.summed(AUTO, chosen) if chosen else self.plain(AUTO)
        return with_choice(answers, first.choice)

    def _grown_sums(self, names: Sequence[str]) -> Callable[[str, Level | None], Answers]:
        """Sums over larger regions have some iterations at each count, as plain answers have.

        All regions over several objects share that work: in small domains they grow many times.
        """
        spent = 0.0

        def run(regions: str, level: Level | None) -> Answers:
            nonlocal spent
            work = math.inf if level is None else level.work / FEWEST_ITERATIONS
            if spent > work:
                raise CapacityError(MORE_EFFORT)
            summer = self._summer(regions, work, patient=True)
            answers = summer.on(names)
            spent += 0.0 if level is None else summer.spent
            return answers

        return run

    def summed_if_cheap(self, plain: Answers, regions: str, work: float) -> Answers:
        """Plain answers, or those summed over the counts of the predicate that matters most."""
        if regions == AUTO:
            return plain
        summed = self._summer(regions, work).auto(plain)
        return summed if summed.sum_over.predicates else plain

    def blocked(
        self, answers: Answers, most: Mapping[int, int], work: float, *, mix: bool
    ) -> tuple[Answers, Bound]:
        """Answers mixed with minima at which blocks differ, and a bound for other answers."""
        from liftgbp.blocks import with_blocks

        return with_blocks(
            answers,
            self._shattering,
            most,
            self._run.descent,
            mix=mix,
            most_work=work,
            progress=self._run.progress,
        )

    def judged_by_halves(self, answers: Answers, work: float) -> Answers:
        """Answers that are not trusted if the halves of classes would rather differ."""
        from liftgbp.blocks import judged_by_halves

        return judged_by_halves(answers, self._shattering, self._run.descent.tolerances, work)

    def proven_judge(self, effort: str) -> ProvenJudge:
        """What judges answers by proven bounds of log Z."""
        from liftgbp.bounding import ProvenJudge

        return ProvenJudge(effort, self._shattering, self._run.progress)

    def sampled_judge(self, effort: str) -> SampledJudge:
        """What judges answers by a sample."""
        from liftgbp.sampling.sampled_judge import SampledJudge

        return SampledJudge(effort, self._objects.evidence, self._objects.sizes, self._run.progress)

    def _while_affordable(
        self, run: Callable[[str, Level | None], Answers]
    ) -> Callable[[str], Answers]:
        """A run whose regions over several objects take no more work than a thorough one."""
        level = replace(LEVELS["thorough"], table=self._run.table_cap)

        def limited(family: str) -> Answers:
            several = family.startswith("objects")
            return run(family, level if several else None)

        return limited

    def _summer(
        self, regions: str, most_work: float = math.inf, *, patient: bool = False
    ) -> Summer:
        from liftgbp.counting import Summer

        run = self._run
        return Summer(
            self._shattering, regions, run.solver, run.progress, most_work, patient=patient
        )


def prepare_lifted(normal: NormalModel, regions: str, progress: Progress) -> PreparedLifted:
    """The region graph of a normal form, with its plan."""
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    return PreparedLifted(graph, compile_plan(graph))


def with_quantifiers(
    objects: ObjectClasses, large: Sequence[str], states: int, run: Run
) -> Answers | None:
    """Exact answers about a model with quantifiers over sorts that are too large to be expanded.

    There are none if a quantified formula has no stand-in.
    """
    from liftgbp.exact.exact_result import ExactLimits
    from liftgbp.exact.over_classes import exact_with_quantifiers

    known = objects.evidence
    outline = outlined(known.model, large)
    if outline is None:
        return None
    own = replace(objects, evidence=replace(known, model=outline.model))
    try:
        normal = Shattering(own, table_cap=run.table_cap).normal()
        prepared = prepare_lifted(normal, FACTOR_SCOPES, run.progress)
        return exact_with_quantifiers(prepared, outline, known.model, ExactLimits.of(states))
    except CapacityError as error:
        raise CapacityError(
            f"a quantifier over the objects of {' and '.join(large)} is not expanded, and there is "
            f"no exact answer: {error.message}; use fewer objects, or write all atoms out "
            "(via='ground', --via ground)",
            error.span,
        ) from None
