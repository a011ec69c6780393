"""The façade: it only composes the stages.

What not every run needs is imported where it is used, as a small model is solved in less time: sums
over counts, grounding and exact inference.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypedDict, TypeGuard, Unpack, cast, overload

from liftgbp.evidence import AnyEvidence, Evidence, Problem
from liftgbp.lift.regions import Family, parse_family
from liftgbp.lift.shatter import TABLE_CAP, Shattering
from liftgbp.lift.via import VIAS, ViaChoice, choose_via
from liftgbp.methods.effort import (
    EFFORTS,
    BlocksChoice,
    EffortChoice,
    checked_effort,
)
from liftgbp.model.model import Model, check_model
from liftgbp.plan import compile_plan
from liftgbp.posterior import Prepared
from liftgbp.report import Answers, UntrustedAnswerError
from liftgbp.solve import Auto, SolverChoice, as_solver
from liftgbp.strategy.answering import answers_about_network
from liftgbp.strategy.lifted_case import prepare_lifted
from liftgbp.strategy.question import Question
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.support.errors import (
    InputError,
    InternalError,
    check_function,
    checked_flag,
    checked_number,
    checked_path,
    checked_seconds,
    checked_texts,
    shown,
    wrong_type,
)
from liftgbp.support.limits import Limits, check_work, limited
from liftgbp.support.progress import Progress, silent

if TYPE_CHECKING:
    from fractions import Fraction

    from liftgbp.ground.formats import Network
    from liftgbp.posterior.ground_reader import PreparedGround
    from liftgbp.report.best_world import BestWorld


WRITTEN_AT_ONCE = 10
"""How many factors or names of atoms are written in the time of one step of a search. The default
limit allows two million, which take most of a gigabyte."""

Observed = str | os.PathLike[str] | Mapping[int, int]
"""Evidence about a network: a `.uai.evid` file, or the values of some variables."""


class _HowToAnswer(TypedDict, total=False):
    """What `infer` takes about models and about networks."""

    effort: EffortChoice
    regions: str | None
    exact: bool | None
    solver: SolverChoice
    strict: bool
    limits: Limits | None
    progress: Progress


class _HowToAnswerAboutModels(_HowToAnswer, total=False):
    via: ViaChoice
    sum_over: str | Iterable[str] | None
    blocks: BlocksChoice | None
    queries: str | Iterable[str]
    table_cap: int
    bounds: bool


@overload
def infer(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    **options: Unpack[_HowToAnswerAboutModels],
) -> Answers: ...


@overload
def infer(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Sequence[Evidence],
    **options: Unpack[_HowToAnswerAboutModels],
) -> list[Answers]: ...


@overload
def infer(
    model: Network,
    *,
    evidence: Observed | None = None,
    via: Literal["auto", "ground"] = "auto",
    **options: Unpack[_HowToAnswer],
) -> Answers: ...


@limited("starting")
def infer(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | Sequence[Evidence] | Observed | None = None,
    via: ViaChoice = "auto",
    effort: EffortChoice = "normal",
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    regions: str | None = None,
    queries: str | Iterable[str] = (),
    exact: bool | None = None,
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    bounds: bool = False,
    strict: bool = False,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Answers | list[Answers]:
    """Lifted generalized belief propagation on a model over domains of these sizes.

    `effort` says how much work the answer is worth. `quick` finds all minima over the scopes of
    factors at which objects of a class behave alike; `normal` is exact where the model is small,
    and elsewhere also sums over counts, looks for blocks of objects that behave differently, and
    lets regions grow, as far as that takes about a second; `thorough` goes on for about a minute.
    What is set by hand stays so:

    - `sum_over` names unary predicates, or one of them, over whose counts the answers are summed
      (diagonals are written `likes(x,x)`); `auto` takes the one that changes log Z most, an empty
      list none.
    - `blocks` is the most blocks that a class of objects is split into: a number, `auto`, or one
      number for each sort, as in `{"person": 3}`.
    - `regions` names a family of regions, such as `objects:3`; `auto` grows the family as long as
      the answer can be trusted, and the answers tell of each step in `growth`.
    - `queries` are those that the answers must know. Where no region holds the atoms of one, a
      region is added that does. Over classes of objects only; exact answers need none.
    - `exact=True` gives the exact answer or says why there is none; `exact=False` always
      approximates. Without it, whoever names a solver or one of the above wants that.

    `solver` is a `Flooding(...)` (message passing as in the paper, whatever the effort), a
    `Descent(...)` (all minima of the free energy, mixed), or `"auto"`, which is descent where that
    is affordable. Evidence may be a text of facts, a path, or a mapping from predicates to lists
    and data frames and from ground atoms to values; a list of `Evidence` has a list of answers.
    With evidence, `via` is `lifted`
    (objects that evidence does not tell apart stay together), `ground` (the model is grounded and
    then compressed) or `auto`, the cheaper one. An answer that cannot be
    trusted warns when it is read; with `strict`, it raises
    `UntrustedAnswerError`. With `bounds`, the answers carry what log Z lies in for certain (see
    `liftgbp.bounds`); an estimate outside is refused. With `limits`, a run that takes more time
    or memory raises `LimitExceeded`; see `Limits`.

    Where the model demands probabilities (`P(smokes(x)) = 0.3`), weights that meet them are found
    first, as by `fit_weights`; the notes of the answers tell which.

    The model may also be a network of another tool, which `load_network` reads. Queries call
    variable 3 `x3`, and its values `0`, `1` and so on. Its evidence is a `.uai.evid` file, or a
    mapping from variables to values.

    >>> import liftgbp
    >>> model = liftgbp.parse('''
    ... friends(person, person)
    ... smokes(person)
    ... 1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    ... ''')
    >>> answers = liftgbp.infer(model, sizes={"person": 20})
    >>> round(answers.marginal("friends(x,y)"), 6)
    0.499962
    >>> flooding = liftgbp.infer(model, sizes={"person": 4}, solver=liftgbp.Flooding())
    >>> round(flooding.marginal("friends(x,y)"), 6)
    0.441985
    """
    strict, bounds = checked_flag("strict", strict), checked_flag("bounds", bounds)
    table_cap = checked_number("table_cap", table_cap, least=1)
    run = Run(as_solver(solver), table_cap, progress)
    request = Request.of(run.solver, regions=regions, sum_over=sum_over, blocks=blocks, exact=exact)
    level = EFFORTS[checked_effort(effort, run.solver, blocks)]
    texts = checked_texts("queries", queries)
    if texts and (via == "ground" or _is_network(model)):
        raise InputError("regions that hold a query are added over classes of objects only")

    def about(known: object) -> Answers:
        started = time.perf_counter()
        question = None
        if _is_network(model):
            _refuse_for_networks(request, bounds)
            prepared = partial(_network, model, sizes, known, via, progress=progress)
            posterior = answers_about_network(model, known, prepared, level, request, run)
        else:
            problem = _problem(model, sizes, known, run, fit=True)
            problem.model.check_queries(texts)
            question = Question(problem, via, level, request, run)
            posterior = question.answered(bounds=bounds)
            missing = [text for text in texts if not posterior.holds(text)]
            if missing and posterior.via == "lifted":
                question = question.with_regions_for(missing)
                # Parts that were answered exactly are again; a whole that was not never is.
                parts = bool(posterior.provenance.parts)
                posterior = question.answered(bounds=bounds, exact=parts)
        posterior = replace(posterior, seconds=time.perf_counter() - started)
        answers = Answers(posterior, request.tried, question)
        if strict and not answers.trusted:
            raise UntrustedAnswerError(answers)
        return answers

    several = evidence if isinstance(evidence, list | tuple) else ()
    if several and all(isinstance(one, Evidence) for one in several):
        return [about(one) for one in several]
    return about(evidence)


def _refuse_for_networks(request: Request, bounds: bool) -> None:
    if bounds:
        raise InputError("proven bounds are about models over classes of objects, not networks")
    if request.sum_over or request.blocks is not None:
        raise InputError(
            "a network has neither predicates nor classes of objects: sum_over and blocks do not "
            "apply"
        )


def fit_weights(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    **options: Unpack[_HowToAnswerAboutModels],
) -> Model:
    """The model with formulas whose weights meet its demands (`P(smokes(x)) = 0.3`).

    Shares are those that `infer` finds without evidence, for these sizes and options.

    >>> import liftgbp
    >>> model = liftgbp.parse("person = {Anna, Bob}\\nsmokes(person)\\nP(smokes(x)) = 0.2")
    >>> round(liftgbp.infer(liftgbp.fit_weights(model)).marginal("smokes(Anna)"), 6)
    0.2
    """
    check_model(model)
    if not model.demands:
        return model
    from liftgbp.strategy.fitting import fitted

    return fitted(model, lambda weighted: infer(weighted, sizes, **options).query)


def _problem(
    model: object,
    sizes: Mapping[str, int] | None,
    evidence: object,
    run: Run,
    *,
    fit: bool = False,
) -> Problem:
    """The model under evidence; if it is `fit`, its weights meet its demands.

    These are about the objects that evidence names, but not about what it says of them. What would
    only fail deep inside, with a message about something else, is refused here.
    """
    check_model(model)
    model = cast(Model, model)
    known = Evidence.of(model, cast("AnyEvidence | None", evidence))
    checked_number("table_cap", run.table_cap, least=1)
    check_function("progress", run.progress)
    if fit and model.demands:
        named = known.enlarge(model)
        domains = named.domain_sizes(sizes)
        model = fit_weights(named, domains, table_cap=run.table_cap, progress=run.progress)
    return Problem.of(model, known, sizes)


@overload
def prepare(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Prepared: ...


@overload
def prepare(
    model: Network,
    *,
    evidence: Observed | None = None,
    via: Literal["auto", "ground"] = "auto",
    regions: str = "intersections",
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Prepared: ...


@limited("starting")
def prepare(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | Observed | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Prepared:
    """All stages before solving; the result holds the region graph and the plan, and prints them.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(thing)\\n0.5 s(x) <=> s(y) | x != y", name="pairs")
    >>> print(liftgbp.prepare(model, {"thing": 9}))
    pairs (thing = 9)
    2 canonical regions for 45 ground regions, 1 edge (intersections, via lifted)
    <BLANKLINE>
    region  n   c   atoms
    0       36  1   s(1) s(2)
    1       9   -7  s(1)
    <BLANKLINE>
    edge  κ  parent → child
    0     8  0 → 1
    <BLANKLINE>
    plan               entries
    beliefs            5
    messages           2
    sums over parents  4
    """
    family = parse_family(regions)
    if _is_network(model):
        return _network(model, sizes, evidence, via, family, progress)
    run = Run(Auto(), table_cap, progress)
    problem = _problem(model, sizes, evidence, run)
    objects = choose_via(via, problem, family)
    if objects is None:
        from liftgbp.strategy.ground_case import prepare_ground

        return prepare_ground(problem, family, run)
    progress("shattering", 0, 1)
    return prepare_lifted(Shattering(objects, table_cap=table_cap).normal(), family, progress)


# --- best worlds


@limited("starting")
def best_world(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | Observed | None = None,
    via: ViaChoice = "auto",
    effort: EffortChoice = "normal",
    seconds: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> BestWorld:
    """The most probable world of a model, with a bound that no world exceeds.

    Its score is the sum of the weights of satisfied groundings. `world.proven` says that no world
    has a larger one; otherwise `world.upper` bounds it. Among best worlds, one with few true atoms
    is taken. `effort` is counted in steps, so that the same `seed` gives the same world, but for
    branching on the ground, which also ends by the clock. After some `seconds`, or at Ctrl-C, the
    best world so far is the answer; a `gap` above zero ends the search once no world can be better
    by more than that. If hard rules contradict each other or the evidence, that is a
    `ContradictionError`; if no world was found, a `CapacityError`.

    Where the model demands probabilities, weights that meet them are found first. The model may
    also be a network of another tool, which `load_network` reads.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> world = liftgbp.best_world(model, {"person": 4})
    >>> world.score, world.proven
    (16.8, True)
    >>> from math import exp
    >>> exp(world.log_probability(liftgbp.infer(model, {"person": 4}))) < 1
    True
    """
    from liftgbp.report.best_world import BestWorld
    from liftgbp.support.interrupts import stopped_by_interrupt
    from liftgbp.worlds import Budget, ModelQuestion, NetworkQuestion, WorldQuestion

    started = time.perf_counter()
    checked_effort(effort, Auto(), None)
    if not isinstance(gap, Real) or not 0 <= gap < math.inf:
        raise wrong_type("gap", "a number from 0", gap)
    budget = Budget(
        effort=effort,
        seconds=math.inf if seconds is None else checked_seconds(seconds),
        gap=float(gap),
        seed=checked_number("seed", seed, least=0),
        report=partial(_report_world, progress),
    )
    question: WorldQuestion
    if _is_network(model):
        _check_network_options(sizes, via, evidence, progress)
        question = NetworkQuestion(model, model.observed(cast("Observed | None", evidence)), budget)
    else:
        run = Run(Auto(), table_cap, progress)
        problem = _problem(model, sizes, evidence, run, fit=True)
        question = ModelQuestion(problem, via, budget, table_cap)
    with stopped_by_interrupt(budget.stopped):
        optimum = question.answered()
    if optimum.world is None:
        raise InternalError("a search without a world is an error")
    seconds_taken = time.perf_counter() - started
    return BestWorld(question, optimum, optimum.world, seconds_taken, budget.stopped.is_set())


def _report_world(progress: Progress, score: Fraction | float, upper: Fraction | float) -> None:
    known = "none yet" if score == -math.inf else f"score {float(score):.8g}"
    gap = "" if math.isinf(score) or math.isinf(upper) else f", gap {float(upper - score):.3g}"
    progress(f"best world: {known}, at most {float(upper):.8g}{gap}", 0, 1)


# --- networks of other tools


def _is_network(model: object) -> TypeGuard[Network]:
    if isinstance(model, Model):
        return False
    from liftgbp.ground.formats import Network

    return isinstance(model, Network)


def _network(
    network: Network,
    sizes: Mapping[str, int] | None,
    evidence: object,
    via: ViaChoice,
    regions: Family,
    progress: Progress,
) -> PreparedGround:
    """A network given its evidence, compressed."""
    from liftgbp.posterior.ground_reader import PreparedGround
    from liftgbp.strategy.ground_case import quotient

    _check_network_options(sizes, via, evidence, progress)
    observed = network.observed(cast("Observed | None", evidence))
    problem, atoms = network.as_problem(observed)
    graph = quotient(network.conditioned(observed), regions, progress)
    return PreparedGround(graph, compile_plan(graph), problem, atoms)


def _check_network_options(sizes: object, via: object, evidence: object, progress: object) -> None:
    """Refuse what does not apply to networks."""
    if not isinstance(via, str) or via not in VIAS:
        raise InputError(f"unknown via {shown(via)}; a network is ground")
    if sizes is not None or via == "lifted":
        raise InputError(
            "a network has neither domains nor classes of objects: sizes and via='lifted' do "
            "not apply"
        )
    check_function("progress", progress)
    if isinstance(evidence, Evidence):
        raise wrong_type("evidence", "a .uai.evid file, or a mapping of variables", evidence)


@limited("starting")
def export_network(
    model: Model,
    path: str | os.PathLike[str],
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> None:
    """Write the ground model for other tools, as a `.uai` or `.fg` file.

    Beside it, a file `.atoms.csv` tells which variable is which ground atom. Observed atoms, and
    atoms that no formula touches, are no variables there; they count in the constant factor.

    >>> import pathlib
    >>> import tempfile
    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     liftgbp.export_network(model, f"{folder}/net.uai", {"person": 3})
    ...     print(sorted(file.name for file in pathlib.Path(folder).iterdir()))
    ['net.atoms.csv', 'net.uai']
    """
    from liftgbp.ground.formats import check_target, write_network
    from liftgbp.ground.grounding import atom_names, ground_network, rule_counts
    from liftgbp.support.files import check_apart, locked

    run = Run(Auto(), table_cap, progress)
    problem = _problem(model, sizes, evidence, run)
    file = checked_path("path", path)
    for target in check_target(file):
        check_apart(target, problem.files)
    # Counted first, as they would fill the memory; some may turn out to be one factor.
    counts = rule_counts(problem, table_cap=table_cap, progress=progress)
    groundings = sum(count.factors for count in counts)
    what = f"writing {groundings} ground formulas"
    check_work(what, groundings // WRITTEN_AT_ONCE, "use smaller domains")
    # Two files are written, which must belong together.
    with locked(file):
        network = ground_network(problem, table_cap=table_cap, progress=progress)
        number = network.factors + len(network.ranges)
        what = f"writing {network.factors} factors over {len(network.ranges)} atoms"
        check_work(what, number // WRITTEN_AT_ONCE, "use smaller domains")
        progress("writing", 0, 1)
        if network.atoms is None:
            raise InternalError("a ground model without a table of its atoms")
        write_network(network, file, atom_names(network.atoms, problem.model))
