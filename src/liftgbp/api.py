"""The façade: it only composes the stages.

What not every run needs is imported where it is used, as a small model is solved in less time: sums
over counts, and grounding.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeGuard, cast, overload

from liftgbp.effort import (
    FACTOR_SCOPES,
    LEVELS,
    Asked,
    BlocksChoice,
    EffortChoice,
    Level,
    best_answers,
)
from liftgbp.errors import (
    CapacityError,
    InputError,
    InternalError,
    check_function,
    checked_number,
    checked_path,
    checked_texts,
    wrong_type,
)
from liftgbp.evidence import Evidence
from liftgbp.growth import AUTO, grow
from liftgbp.model.model import Model, check_model
from liftgbp.plan import compile_plan
from liftgbp.progress import Progress, silent
from liftgbp.query import Answers, Prepared, PreparedLifted, UntrustedAnswerError
from liftgbp.regions import build_regions
from liftgbp.shatter import TABLE_CAP, NormalModel, ObjectClass, ObjectClasses, Shattering
from liftgbp.solve import Auto, Descent, Flooding, Solver, SolverChoice, as_solver, work_of
from liftgbp.via import ViaChoice, choose_via

if TYPE_CHECKING:
    from liftgbp.blocks import Bound
    from liftgbp.compress import QuotientGraph
    from liftgbp.counting import Summer
    from liftgbp.formats import Network
    from liftgbp.grounding import GroundNetwork


Observed = str | os.PathLike[str] | Mapping[int, int]
"""Evidence about a network: a `.uai.evid` file, or the values of some variables."""


@overload
def infer(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    via: ViaChoice = "auto",
    effort: EffortChoice = "quick",
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    regions: str | None = None,
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    strict: bool = False,
    progress: Progress = silent,
) -> Answers: ...


@overload
def infer(
    model: Network,
    *,
    evidence: Observed | None = None,
    via: Literal["auto", "ground"] = "auto",
    regions: str = "intersections",
    solver: SolverChoice = "auto",
    strict: bool = False,
    progress: Progress = silent,
) -> Answers: ...


def infer(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | Observed | None = None,
    via: ViaChoice = "auto",
    effort: EffortChoice = "quick",
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    regions: str | None = None,
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    strict: bool = False,
    progress: Progress = silent,
) -> Answers:
    """Lifted generalized belief propagation on a model over domains of these sizes.

    `effort` says how much work the answer is worth. `quick` finds all minima over the scopes of
    factors at which objects of a class behave alike; `normal` also sums over counts, looks for
    blocks of objects that behave differently, and lets regions grow, as far as that takes about a
    second; `thorough` goes on for about a minute. What is set by hand stays so:

    - `sum_over` names unary predicates, or one of them, over whose counts the answers are summed;
      `auto` takes the one that changes log Z most, an empty list none.
    - `blocks` is the most blocks that a class of objects is split into: a number, `auto`, or one
      number for each sort, as in `{"person": 3}`.
    - `regions` names a family of regions, such as `objects:3`; `auto` grows the family as long as
      the answer can be trusted, and the answers tell of each step in `growth`.

    `solver` is a `Flooding(...)` (message passing as in the paper, whatever the effort), a
    `Descent(...)` (all minima of the free energy, mixed), or `"auto"`, which is descent where that
    is affordable. With evidence, `via` is `lifted` (objects that evidence does not tell apart stay
    together), `ground` (the model is grounded and then compressed) or `auto`, the cheaper one. An
    answer that cannot be trusted warns when it is read; with `strict`, it raises
    `UntrustedAnswerError`.

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
    if not isinstance(strict, bool):
        raise wrong_type("strict", "True or False", strict)
    if not isinstance(effort, str) or effort not in LEVELS:
        raise InputError(f"unknown effort {effort!r}; choose among {', '.join(LEVELS)}")
    counted = None if sum_over is None else checked_texts("sum_over", sum_over)
    asked = Asked(regions, counted, blocks)
    run = _Run(as_solver(solver), table_cap, progress)
    if _is_network(model):
        _refuse_for_networks(asked)
        answers = run.solved(
            lambda: _prepared(
                model, sizes, evidence, via, regions or FACTOR_SCOPES, table_cap, progress
            )
        )
    else:
        known = _checked(model, evidence, regions or FACTOR_SCOPES, table_cap, progress)
        answers = _answers(known, sizes, via, effort, asked, run)
    if strict and not answers.trusted:
        raise UntrustedAnswerError(answers)
    return answers


def _refuse_for_networks(asked: Asked) -> None:
    if asked.sum_over or asked.regions == AUTO or asked.blocks is not None:
        raise InputError(
            "a network has neither predicates nor classes of objects: sum_over, blocks and "
            "regions='auto' do not apply"
        )


def _answers(
    known: Evidence,
    sizes: Mapping[str, int] | None,
    via: ViaChoice,
    effort: EffortChoice,
    asked: Asked,
    run: _Run,
) -> Answers:
    """The answers about a model, over classes of objects or on the ground."""
    by_classes = bool(asked.sum_over) or asked.regions == AUTO or _wants_blocks(asked)
    if by_classes and via == "ground":
        raise InputError(
            "sums over counts, blocks and regions='auto' are about classes of objects; use "
            "via='lifted'"
        )
    if _wants_blocks(asked) and isinstance(run.solver, Flooding):
        raise InputError(
            "blocks are found by descent; use solver='auto' or solver=liftgbp.Descent()"
        )
    regions = asked.regions or FACTOR_SCOPES
    objects = choose_via("lifted" if by_classes else via, known, sizes, regions)
    if objects is None:
        return run.solved(lambda: _ground(known, sizes, regions, run.table_cap, run.progress))
    level: EffortChoice = "quick" if isinstance(run.solver, Flooding) else effort
    started = time.perf_counter()
    answers = best_answers(_LiftedRuns(objects, run), level, asked)
    return replace(answers, seconds=time.perf_counter() - started)


def _wants_blocks(asked: Asked) -> bool:
    return asked.blocks not in (None, 1)


@dataclass(frozen=True, slots=True)
class _Run:
    """How models are solved."""

    solver: Solver
    table_cap: int
    progress: Progress

    def solved(self, prepared: Callable[[], Prepared]) -> Answers:
        """The answers of a model that is prepared now."""
        started = time.perf_counter()
        ready = prepared()
        solution = self.solver(ready.plan, self.progress)
        return Answers.of(ready, solution, time.perf_counter() - started)


class _LiftedRuns:
    """The runs over classes of objects that an effort is made of."""

    def __init__(self, objects: ObjectClasses, run: _Run) -> None:
        self._run = run
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

    def plain(self, regions: str, level: Level | None = None) -> Answers:
        """The answers with one block per class; regions too large for a level raise."""
        if regions == AUTO:
            return grow(self.plain)
        normal = self._normal
        if level is not None and level.table < normal.table_cap:
            normal = replace(normal, table_cap=level.table)

        def prepared() -> Prepared:
            own = _lifted(normal, regions, self._run.progress)
            if level is not None and work_of(own.plan.layout, self._descent) > level.work:
                raise CapacityError("larger regions take more effort")
            return own

        return self._run.solved(prepared)

    def summed(self, regions: str, predicates: Sequence[str]) -> Answers:
        """The answers summed over the counts of some predicates."""
        names = tuple(dict.fromkeys(predicates))
        if AUTO in names and len(names) > 1:
            raise InputError("sum over auto alone, or over predicates that you name")
        if regions != AUTO:
            summer = self._summer(regions)
            return summer.auto() if AUTO in names else summer.on(names)
        if AUTO not in names:
            return grow(lambda family: self.summed(family, names))
        from liftgbp.counting import with_choice

        # What counts gain is found out once, over the scopes of factors.
        first = self._summer(FACTOR_SCOPES).auto()
        chosen = first.sum_over.predicates
        answers = grow(lambda family: self.summed(family, chosen)) if chosen else self.plain(AUTO)
        return with_choice(answers, first.choice)

    def summed_if_cheap(self, plain: Answers, regions: str, work: float) -> Answers:
        """Plain answers, or those summed over the counts of the predicate that matters most."""
        if regions == AUTO:
            return plain
        summed = self._summer(regions, work).auto(plain)
        return summed if summed.sum_over.predicates else plain

    def blocked(
        self, answers: Answers, most: Mapping[int, int], *, mix: bool
    ) -> tuple[Answers, Bound]:
        """Answers mixed with minima at which blocks differ, and a bound for other answers."""
        from liftgbp.blocks import with_blocks

        progress = self._run.progress
        return with_blocks(
            answers, self._shattering, most, self._descent, mix=mix, progress=progress
        )

    def _summer(self, regions: str, most_work: float = math.inf) -> Summer:
        from liftgbp.counting import Summer

        run = self._run
        return Summer(self._shattering, regions, run.solver, run.progress, most_work)

    @property
    def _descent(self) -> Descent:
        solver = self._run.solver
        if isinstance(solver, Flooding):
            return Descent()
        return solver.descent if isinstance(solver, Auto) else solver


def _checked(
    model: object,
    evidence: object = None,
    regions: object = "intersections",
    table_cap: object = TABLE_CAP,
    progress: object = silent,
) -> Evidence:
    """The evidence about a model, with the model in it.

    What would only fail deep inside, with a message about something else, is refused here.
    """
    check_model(model)
    known = Evidence.of(cast(Model, model), cast("Evidence | None", evidence))
    if not isinstance(regions, str):
        raise wrong_type("regions", "the name of a region family, as in 'objects:3'", regions)
    checked_number("table_cap", table_cap, least=1)
    check_function("progress", progress)
    return known


@overload
def prepare(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> Prepared: ...


@overload
def prepare(
    model: Network,
    *,
    evidence: Observed | None = None,
    via: Literal["auto", "ground"] = "auto",
    regions: str = "intersections",
    progress: Progress = silent,
) -> Prepared: ...


def prepare(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | Observed | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
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
    return _prepared(model, sizes, evidence, via, regions, table_cap, progress)


def _prepared(
    model: Model | Network,
    sizes: Mapping[str, int] | None,
    evidence: Evidence | Observed | None,
    via: ViaChoice,
    regions: str,
    table_cap: int,
    progress: Progress,
) -> Prepared:
    if _is_network(model):
        if sizes is not None or via == "lifted":
            raise InputError(
                "a network has neither domains nor classes of objects: sizes and via='lifted' do "
                "not apply"
            )
        return _network(model, evidence, regions, progress)
    known = _checked(model, evidence, regions, table_cap, progress)
    objects = choose_via(via, known, sizes, regions)
    if objects is None:
        return _ground(known, sizes, regions, table_cap, progress)
    progress("shattering", 0, 1)
    return _lifted(Shattering(objects, table_cap=table_cap).normal(), regions, progress)


def _lifted(normal: NormalModel, regions: str, progress: Progress) -> Prepared:
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    return PreparedLifted(graph, compile_plan(graph))


def _ground(
    evidence: Evidence,
    sizes: Mapping[str, int] | None,
    regions: str,
    table_cap: int,
    progress: Progress,
) -> Prepared:
    """The model written out under its evidence, and compressed."""
    from liftgbp.grounding import ground_network
    from liftgbp.query.ground_reader import PreparedGround

    network = ground_network(
        evidence,
        sizes,
        table_cap=table_cap,
        progress=progress,
    )
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    graph = _quotient(network, regions, progress)
    sizes = evidence.domain_sizes(sizes)
    return PreparedGround(graph, compile_plan(graph), evidence, sizes, network.atoms)


def _quotient(network: GroundNetwork, regions: str, progress: Progress) -> QuotientGraph:
    from liftgbp.compress import compress, ground_region_graph

    ground_regions = ground_region_graph(network, regions, progress=progress)
    graph = compress(ground_regions, network, progress=progress)
    progress("compiling", 0, 1)
    return graph


# --- networks of other tools


def _is_network(model: object) -> TypeGuard[Network]:
    if isinstance(model, Model):
        return False
    from liftgbp.formats import Network

    return isinstance(model, Network)


def _network(
    network: Network, evidence: Evidence | Observed | None, regions: str, progress: Progress
) -> Prepared:
    """A network given its evidence, compressed."""
    from liftgbp.query.ground_reader import PreparedGround

    check_function("progress", progress)
    if isinstance(evidence, Evidence):
        raise wrong_type("evidence", "a .uai.evid file, or a mapping of variables", evidence)
    observed = network.observed(evidence)
    known, atoms = network.as_evidence(observed)
    graph = _quotient(network.conditioned(observed), regions, progress)
    return PreparedGround(graph, compile_plan(graph), known, {}, atoms)


def export_network(
    model: Model,
    path: str | os.PathLike[str],
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> None:
    """Write the ground model for other tools, as a `.uai` or `.fg` file.

    Beside it, a file `.atoms.csv` tells which variable is which ground atom. Observed atoms, and
    atoms that no formula touches, are no variables there; they count in the constant factor.
    """
    from liftgbp.formats import check_target, write_network
    from liftgbp.grounding import atom_names, ground_network

    known = _checked(model, evidence, table_cap=table_cap, progress=progress)
    file = checked_path("path", path)
    check_target(file)
    network = ground_network(
        known,
        sizes,
        table_cap=table_cap,
        progress=progress,
    )
    progress("writing", 0, 1)
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    write_network(network, file, atom_names(network.atoms, known.model))
