"""From a model with evidence, or a network, to answers: by classes of objects or on the ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from liftgbp.evidence import Problem
from liftgbp.lift.regions import FACTOR_SCOPES, GROWING, Family
from liftgbp.lift.shatter import ObjectClasses, object_classes
from liftgbp.lift.via import ViaChoice, choose_via, few_groundings
from liftgbp.methods.effort import EFFORTS, Effort
from liftgbp.model.queries import added_regions
from liftgbp.model.rewriting import large_quantifiers
from liftgbp.posterior import Posterior
from liftgbp.strategy.lifted_case import LiftedCase, with_quantifiers
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.strategy.strategy import best_answers
from liftgbp.support.errors import CapacityError, InputError

if TYPE_CHECKING:
    from liftgbp.ground.formats import Network
    from liftgbp.posterior.ground_reader import PreparedGround

TAKEN_APART = (
    "there is no exact answer by classes of objects for a quantifier over {}, so the model was "
    "grounded, and the quantifier was taken apart into a tree of factors"
)

MOST_EXPANDED = 10
"""Quantifiers over more objects are not expanded where an exact answer follows without: the tables
of `EXIST y r(x,y)` over 20 objects have a million entries, and take 15 s instead of 0.1."""


MOST_NAMED = 8
"""So many named objects are looked at for an equivalence or an order among them: it is found in a
third of a second, and its sum has an axis for each."""


def answers_about(
    problem: Problem,
    via: ViaChoice,
    effort: Effort,
    request: Request,
    run: Run,
    *,
    bounds: bool = False,
) -> Posterior:
    """The answers about a model under evidence."""
    if (request.needs_classes or bounds) and via == "ground":
        raise InputError(
            "sums over counts, blocks and bounds are about classes of objects; use via lifted "
            "or auto"
        )
    regions = request.regions or FACTOR_SCOPES
    if request.needs_classes or (regions == GROWING and via == "auto"):
        via = "lifted"
    elif regions.name == "loops" and via == "auto":
        via = "ground"
    objects = choose_via(via, problem, regions)
    if objects is not None:
        grounds = via == "auto" and not bounds
        return _over_classes(objects, effort, request, run, grounds=grounds, bounds=bounds)
    if via == "auto" and not bounds:
        structured = _with_structure(problem, effort, request, run)
        if structured is not None:
            return structured
    if added_regions(problem.model):
        raise InputError("regions that hold a query are added over classes of objects only")
    if bounds:
        from liftgbp.methods.bounding import TOO_MANY_CLASSES

        raise CapacityError(TOO_MANY_CLASSES)
    return _on_ground(problem, effort, request, run)


def answers_about_network(
    network: Network,
    known: Any,
    prepare: Callable[[Family], PreparedGround],
    effort: Effort,
    request: Request,
    run: Run,
) -> Posterior:
    """The answers about a network with what is known, prepared for a family of regions."""
    from liftgbp.methods.sampling.sampler import Target
    from liftgbp.strategy.ground_case import GroundCase

    target = partial(Target.of, network, None, known, run.progress)
    case = GroundCase(prepare, request.regions, run, target)
    return best_answers(case, request, effort)


def _over_classes(
    objects: ObjectClasses,
    effort: Effort,
    request: Request,
    run: Run,
    *,
    grounds: bool,
    bounds: bool,
) -> Posterior:
    if not request.names_a_method:
        grounds = grounds and not added_regions(objects.problem.model)
        answers = _with_quantifiers(objects, effort, request, run, grounds=grounds)
        if answers is not None:
            return answers.made_of(effort=effort.name)
    answers = best_answers(LiftedCase(objects, run), request, effort)
    if bounds:
        from liftgbp.methods.bounding import bounds_over, judged_by

        # Quick bounds would save little, and say less.
        level = EFFORTS["normal"] if effort.name == "quick" else effort
        proven = bounds_over(objects, level.name, None, run.table_cap, run.progress)
        answers = judged_by(answers, proven, run.descent.tolerances)
    return answers


def _with_quantifiers(
    objects: ObjectClasses, effort: Effort, request: Request, run: Run, *, grounds: bool
) -> Posterior | None:
    """The answers about quantifiers that are not expanded: exact over classes, or on the ground.

    There are none where quantifiers are expanded. Those that could be expanded, but cost less if
    they are not, have exact answers only.
    """
    problem, states = objects.problem, request.exact_states(effort)
    large = objects.sorts_above(run.table_cap.bit_length() - 1)
    if not large_quantifiers(problem.model, large):
        several = objects.sorts_above(MOST_EXPANDED)
        if (
            not states
            or added_regions(problem.model)
            or not large_quantifiers(problem.model, several)
        ):
            return None
        try:
            return with_quantifiers(objects, several, states, run)
        except CapacityError:
            return None
    refusal: CapacityError | None = None
    if request.exact is not False:
        states = max(states, EFFORTS["normal"].exact_states)
        try:
            answers = with_quantifiers(objects, large, states, run)
        except CapacityError as error:
            answers, refusal = None, error
        if answers is not None:
            return answers
    if grounds and few_groundings(problem):
        notes = (*problem.evidence.notes, TAKEN_APART.format(" and ".join(large)))
        told = replace(problem, evidence=replace(problem.evidence, notes=notes))
        return _on_ground(told, effort, request, run)
    if refusal is not None:
        raise refusal
    return None


def _with_structure(
    problem: Problem, effort: Effort, request: Request, run: Run
) -> Posterior | None:
    """Exact answers about a few named objects, if there is an equivalence or an order.

    Over classes, rules about three of them are many, and any other method does better on the
    ground. A sum over blocks does not mind.
    """
    named = sum(len(problem.model.constants(sort)) for sort in problem.sizes)
    states = request.exact_states(effort)
    if named > MOST_NAMED or not states or added_regions(problem.model):
        return None
    try:
        case = LiftedCase(object_classes(problem), run)
        return case.exact_by_structure(states).made_of(effort=effort.name)
    except CapacityError:
        return None


def _on_ground(problem: Problem, effort: Effort, request: Request, run: Run) -> Posterior:
    """The answers about a model that is written out under its evidence."""
    from liftgbp.methods.sampling.sampler import Target
    from liftgbp.model.rewriting import with_joint_exclusions
    from liftgbp.strategy.ground_case import GroundCase, prepare_ground

    target = partial(Target.of_problem, problem, run.progress)
    if request.regions is None:
        joint = with_joint_exclusions(problem.model, problem.sizes)
        problem = replace(problem, model=joint)
    case = GroundCase(
        lambda family: prepare_ground(problem, family, run), request.regions, run, target
    )
    return best_answers(case, request, effort)
