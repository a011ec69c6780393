"""What was asked of `infer`, so that it can be asked again: without a rule, or with less effort."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from liftgbp.evidence import Problem
from liftgbp.lift.via import ViaChoice
from liftgbp.methods.effort import EFFORTS, Effort
from liftgbp.model.queries import with_regions_for
from liftgbp.posterior import Posterior
from liftgbp.strategy.answering import answers_about
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A question about a model under evidence, and how it is to be answered."""

    problem: Problem
    via: ViaChoice
    effort: Effort
    request: Request
    run: Run

    def answered(self, *, bounds: bool = False, exact: bool = True) -> Posterior:
        """The answer, and what log Z lies in for certain if that is asked for.

        Where it is known that there is none, no `exact` answer is looked for again.
        """
        request = self.request if exact else replace(self.request, exact=False)
        return answers_about(self.problem, self.via, self.effort, request, self.run, bounds=bounds)

    def with_regions_for(self, queries: Iterable[str]) -> Question:
        """The same with regions that hold the atoms of these queries."""
        model = with_regions_for(self.problem.model, queries)
        return replace(self, problem=replace(self.problem, model=model))

    def without_rule(self, number: int) -> Question:
        """The same about the model without one of its rules."""
        model = self.problem.model
        others = model.with_rules(model.rules[:number] + model.rules[number + 1 :])
        return replace(self, problem=replace(self.problem, model=others))

    def quick(self) -> Question:
        """The same with the least effort."""
        request = Request.of(self.run.solver, exact=False)
        return replace(self, effort=EFFORTS["quick"], request=request)
