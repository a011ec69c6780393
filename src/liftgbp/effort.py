"""How much work an answer may take, and what is done with it.

A level of effort says up to which size a model is solved exactly, how many blocks are looked for,
whether counts are summed over, and how far regions grow. Work is counted, not timed, so that runs
can be repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Literal, Protocol, TypeAlias, cast

from liftgbp.errors import (
    CapacityError,
    InputError,
    checked_flag,
    checked_number,
    checked_texts,
    comma_list,
    shown,
    wrong_type,
)
from liftgbp.growth import AUTO, grow
from liftgbp.limits import spare_memory
from liftgbp.query import Answers
from liftgbp.shatter import ObjectClass
from liftgbp.solve import Auto, Descent, Flooding, Remedy, Solver

EffortChoice: TypeAlias = Literal["quick", "normal", "thorough"]
BlocksChoice: TypeAlias = Literal["auto"] | int | Mapping[str, int]
"""The most blocks of each class of objects: as many as pay, a number, or one for each sort."""

AUTO_BLOCKS = 4
"""The most blocks that `auto` looks for: each one more takes about twice as long."""

FACTOR_SCOPES = "intersections"

EXACT_STATES = 2**27
"""How many states an exact answer may take if it was asked for by hand: some seconds, and less than
two gigabytes."""

STATE_BYTES = 16
"""The memory that a state takes, with some to spare: 12 to 13 bytes on the chain over 6 people and
on a grid of 17 x 17 spins, eight of them for its entry in a table."""


@dataclass(frozen=True, slots=True)
class Level:
    """What an effort allows.

    exact     how many states an exact answer may take; none is tried if this is zero. Those of
              `normal` take about a second, as long as what it does otherwise: chain over 6 people
              has 44 million.
    blocks    the most blocks that a class of objects is split into
    sums      whether counts of unary predicates are summed over
    families  the regions that are tried beyond factor scopes, if objects fall into no blocks
    loops     the same for ground networks
    table     the most states of a region
    work      what solving may cost; 1e9 takes about a second, in units of `solve.work_of`
    """

    exact: int
    blocks: int
    sums: bool
    families: tuple[str, ...]
    loops: tuple[str, ...]
    table: int
    work: float


LEVELS: dict[str, Level] = {
    "quick": Level(exact=0, blocks=1, sums=False, families=(), loops=(), table=0, work=0.0),
    "normal": Level(
        exact=50_000_000,
        blocks=AUTO_BLOCKS,
        sums=True,
        families=("objects:2", "objects:3"),
        loops=("loops:3", "loops:4"),
        table=2**12,
        work=1e9,
    ),
    "thorough": Level(
        exact=EXACT_STATES,
        blocks=6,
        sums=True,
        families=("objects:2", "objects:3", "objects:4", "objects:5"),
        loops=("loops:3", "loops:4", "loops:6"),
        table=2**16,
        work=6e10,
    ),
}


class Judge(Protocol):
    """What is known about log Z or probabilities, whatever the regions."""

    def judge(self, answers: Answers) -> Answers:
        """Answers that are not trusted if they contradict what is known."""


class Runs(Protocol):
    """What answers are made of. `regions` is a family of regions, or `auto`."""

    @property
    def parts(self) -> Sequence[Runs]:
        """The runs of the independent parts of the model; none if it is connected."""

    def joined(self, answers: Sequence[Answers]) -> Answers:
        """The answers of the model from those of its parts."""

    @property
    def classes(self) -> Sequence[ObjectClass]:
        """The classes of interchangeable objects."""

    def exact(self, states: int) -> Answers:
        """The exact answers; a model that takes more states raises a `CapacityError`."""

    def plain(self, regions: str, level: Level | None = None) -> Answers:
        """The answers with one block per class; regions too large for a level raise."""

    def plain_if_cheap(self) -> Answers | None:
        """The answers over factor scopes with one block per class, if they take a moment."""

    def summed(self, regions: str, predicates: Sequence[str]) -> Answers:
        """The answers summed over the counts of some predicates."""

    def summed_if_cheap(self, plain: Answers, regions: str, work: float) -> Answers:
        """Plain answers, or those summed over the counts of the predicate that matters most."""

    def blocked(
        self, answers: Answers, most: Mapping[int, int], work: float, *, mix: bool
    ) -> tuple[Answers, Judge]:
        """Answers mixed with minima at which blocks differ, and what judges other answers."""

    def judged_by_halves(self, answers: Answers, work: float) -> Answers:
        """Answers that are not trusted if the halves of classes would rather differ."""

    def proven_judge(self, effort: str) -> Judge:
        """What judges answers by proven bounds of log Z."""

    def sampled_judge(self, effort: str) -> Judge:
        """What judges answers by a sample."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for by hand; `None` leaves it to the effort."""

    regions: str | None = None
    sum_over: tuple[str, ...] | None = None
    blocks: BlocksChoice | None = None
    exact: bool | None = None
    solver: Solver | None = None

    @property
    def tried(self) -> frozenset[Remedy]:
        """The remedies that this asks for, and those that would take another one back.

        Growing regions start with the small ones.
        """
        known = {
            Remedy.REGIONS: self.regions == AUTO,
            Remedy.BETHE: self.regions in (AUTO, "bethe"),
            Remedy.SUM_OVER: AUTO in (self.sum_over or ()),
            Remedy.BLOCKS: self.blocks == AUTO,
            Remedy.DESCENT: isinstance(self.solver, Descent),
            Remedy.DAMPING: isinstance(self.solver, Descent) or _is_damped(self.solver),
        }
        return frozenset(remedy for remedy, asked in known.items() if asked)

    @property
    def method(self) -> bool:
        """Whether a way to approximate was asked for."""
        return (self.regions, self.sum_over, self.blocks) != (None, None, None)

    def exact_states(self, effort: str) -> int:
        """How many states an exact answer may take; zero if none is wanted.

        If none was asked for, it must fit into the memory that limits leave.
        """
        if self.exact is None:
            within = min(LEVELS[effort].exact, spare_memory() / STATE_BYTES)
            return 0 if self.method else int(within)
        return max(EXACT_STATES, LEVELS[effort].exact) if self.exact else 0


def _is_damped(solver: Solver | None) -> bool:
    """Whether message passing is as patient as it is recommended to be."""
    if not isinstance(solver, Flooding):
        return False
    return solver.damping >= 0.9 and solver.iterations >= 5000


def asked_for(
    solver: Solver,
    *,
    regions: str | None = None,
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    exact: bool | None = None,
) -> Asked:
    """What was asked for; who names a solver wants its answer, not the exact one."""
    if exact is not None:
        exact = checked_flag("exact", exact)
    if regions is not None and not isinstance(regions, str):
        raise wrong_type("regions", "the name of a region family, as in 'objects:3'", regions)
    blocks = checked_blocks(blocks)
    counted = None if sum_over is None else checked_texts("sum_over", sum_over)
    by_hand = exact if isinstance(solver, Auto) or exact else False
    asked = Asked(regions, counted, blocks, by_hand, solver)
    if exact and asked.method:
        raise InputError(
            "exact=True leaves nothing to choose: regions, sum_over and blocks do not apply"
        )
    return asked


def best_answers(runs: Runs, effort: str, asked: Asked) -> Answers:
    """The best answers that an effort allows, with those of `quick` beside them.

    Independent parts are solved apart. Small models are solved exactly, with the quick answers
    beside them only where these are cheap: over seven atoms in twenty rules, descent takes a
    hundred times as long as the exact answer. Otherwise counts are summed over; if that leaves
    nothing to approximate, it is all. Then blocks are looked for. Where neither changes the answer,
    regions grow. Answers without blocks must be minima of the ground free energy, too.
    """
    level = LEVELS[effort]
    if level.work and runs.parts and not asked.method:
        every = [best_answers(part, effort, asked) for part in runs.parts]
        quick = runs.joined([own.quick or own for own in every])
        return replace(runs.joined(every), effort=effort, quick=quick)
    exact = exact_answers(runs.exact, effort, asked)
    if exact is not None:
        return replace(exact, effort=effort, quick=runs.plain_if_cheap())
    regions = FACTOR_SCOPES if asked.regions is None else asked.regions
    whole = asked.blocks == 1
    by_hand = asked.blocks is not None and not whole
    blocks = level.blocks if asked.blocks is None or whole else asked.blocks
    most = most_blocks(blocks, runs.classes, by_hand=by_hand)
    answers, quick = _with_sums(runs, level, asked, regions)
    if not answers.approximate and asked.blocks is None:
        # Neither blocks nor larger regions could improve on it.
        return replace(answers, effort=effort, quick=None if answers is quick else quick)
    known: Judge | None = None
    if any(own > 1 for own in most.values()):
        work = math.inf if by_hand else level.work
        if asked.blocks == "auto":
            work = LEVELS["thorough"].work
        answers, known = runs.blocked(answers, most, work, mix=not whole)
    unchanged = asked.regions is None and answers.reader is quick.reader and not asked.sum_over
    judged = bool(level.work) and not asked.method
    judges: list[Judge] = [runs.proven_judge(effort)] if judged else []
    if level.work and (judged or asked.tried):
        # What is recommended for an answer that a sample contradicts is judged by one, too.
        judges.append(runs.sampled_judge(effort))
    last = _LastLook(runs, level, judges)
    if known is not None and unchanged and level.families:
        answers = _grown(runs, level, answers, known, last)
    elif level.work:
        answers = last.judge(answers)
        if known is not None and not asked.method and _is_outside(answers):
            grown = _grown(runs, level, known.judge(quick), known, last)
            answers = grown if grown.trusted else answers
    if answers.reader is quick.reader:
        return replace(answers, effort=effort)
    return replace(answers, effort=effort, quick=quick)


def _with_sums(runs: Runs, level: Level, asked: Asked, regions: str) -> tuple[Answers, Answers]:
    """The answers with sums over counts, if they are wanted or cheap, and those of `quick`."""
    if asked.sum_over:
        answers = runs.summed(regions, asked.sum_over)
        return answers, answers
    quick = runs.plain(regions)
    if level.sums and asked.sum_over is None:
        return runs.summed_if_cheap(quick, regions, level.work), quick
    return quick, quick


def exact_answers(run: Callable[[int], Answers], effort: str, asked: Asked) -> Answers | None:
    """The exact answers, if they are wanted and within reach."""
    states = asked.exact_states(effort)
    if not states:
        return None
    try:
        return run(states)
    except CapacityError as error:
        if asked.exact:
            remedy = "leave --exact (exact=True in Python) out for an approximation"
            raise CapacityError(f"no exact answer: {error.message}; {remedy}") from None
        return None


@dataclass(frozen=True, slots=True)
class _LastLook:
    """What judges answers that would be the best; there are no `judges` if a method was asked for.

    Whoever names regions wants their answer, and may ask for bounds or a sample beside it.
    """

    runs: Runs
    level: Level
    judges: Sequence[Judge]

    def judge(self, answers: Answers) -> Answers:
        answers = self.runs.judged_by_halves(answers, self.level.work)
        for own in self.judges:
            answers = own.judge(answers)
        return answers


def _is_outside(answers: Answers) -> bool:
    """Whether log Z is proven to be wrong."""
    return bool(answers.result.verdict.outside_text(answers.result.log_z))


def _grown(runs: Runs, level: Level, first: Answers, known: Judge, last: Judge) -> Answers:
    """The answers of the largest regions of a level that can be trusted."""

    def run(family: str) -> Answers:
        return first if family == FACTOR_SCOPES else known.judge(runs.plain(family, level))

    return grow(run, (FACTOR_SCOPES, *level.families), last.judge)


def checked_effort(
    effort: object, solver: Solver, blocks: BlocksChoice | None = None
) -> EffortChoice:
    """The effort; message passing is that of the paper, whatever the effort."""
    blocks = checked_blocks(blocks)
    if not isinstance(effort, str) or effort not in LEVELS:
        raise InputError(f"unknown effort {shown(effort)}; choose among {', '.join(LEVELS)}")
    if not isinstance(solver, Flooding):
        return cast(EffortChoice, effort)
    if blocks not in (None, 1):
        raise InputError(
            "blocks are found by descent; use solver='auto' or solver=liftgbp.Descent()"
        )
    return "quick"


def checked_blocks(blocks: BlocksChoice | None) -> BlocksChoice | None:
    """The number of blocks; whole numbers of NumPy become those of Python."""
    if isinstance(blocks, Integral) and not isinstance(blocks, bool):
        return int(blocks)
    if blocks is None or isinstance(blocks, Mapping | str):
        return blocks
    raise wrong_type("blocks", 'a whole number, a mapping of sorts, or "auto"', blocks)


def most_blocks(
    asked: BlocksChoice, classes: Sequence[ObjectClass], *, by_hand: bool = True
) -> dict[int, int]:
    """The most blocks of each class; an object that rules mention is alone in its class.

    A number that was asked for by hand may not exceed that of the objects.

    >>> most_blocks({"person": 2}, [ObjectClass("person", 9), ObjectClass("movie", 5)])
    {0: 2, 1: 1}
    """
    sorts = dict.fromkeys(own.sort for own in classes)
    if isinstance(asked, Mapping):
        unknown = [sort for sort in asked if sort not in sorts]
        if unknown:
            raise InputError(
                f"blocks of {unknown[0]}: the model has no such sort; it has {comma_list(sorts)}"
            )
        by_sort = {sort: _number(asked.get(sort, 1), sort) for sort in sorts}
    elif asked == "auto":
        by_sort = dict.fromkeys(sorts, AUTO_BLOCKS)
    elif isinstance(asked, int) and not isinstance(asked, bool):
        by_sort = dict.fromkeys(sorts, _number(asked, "each sort"))
    else:
        raise wrong_type("blocks", 'a whole number, a mapping of sorts, or "auto"', asked)
    for sort, blocks in by_sort.items() if by_hand and asked != "auto" else ():
        largest = max(own.size for own in classes if own.sort == sort)
        if blocks > largest:
            raise InputError(
                f"{blocks} blocks of {sort} are more than the {largest} objects that can be split"
            )
    return {
        k: min(by_sort[own.sort], own.size) if own.constant is None else 1
        for k, own in enumerate(classes)
    }


def _number(blocks: object, sort: str) -> int:
    return checked_number(f"the number of blocks of {sort}", blocks, least=1)
