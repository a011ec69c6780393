"""How answers are found: one loop over methods, for classes of objects and for the ground.

A request and an effort give a list of methods. Each adds what it finds to what is `Known`; judges
look at the best of it; the loop ends when no method could improve on that. A new method is a frozen
value with a name, `could_improve` and `answers`, and stands in the list of `methods_for`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from liftgbp.lift.regions import FACTOR_SCOPES, GROWING, Family
from liftgbp.lift.shatter import ObjectClass
from liftgbp.methods.effort import EFFORTS, BlocksChoice, Effort, most_blocks
from liftgbp.posterior import Confirmation, Posterior, Standing, Unconfirmed
from liftgbp.strategy.growth import grow
from liftgbp.strategy.request import Request
from liftgbp.support.errors import CapacityError, InternalError


def best_answers(case: Case, request: Request, effort: Effort) -> Posterior:
    """The best answers about a case that an effort allows.

    Independent parts are answered apart, unless a method was asked for.
    """
    whole = case.over_classes
    if whole is not None and whole.parts and effort.work and not request.names_a_method:
        return _of_parts(whole, [best_answers(own, request, effort) for own in whole.parts], effort)
    known = Known(case, request, effort)
    for method in methods_for(request, effort):
        if method.could_improve(known):
            known.add(method.answers(known))
        if known.is_final:
            break
    return known.conclusion


def _of_parts(whole: OverClasses, answers: Sequence[Posterior], effort: Effort) -> Posterior:
    """The answers from those of parts, with the plain ones of all parts beside them."""
    plain = None
    if any(own.provenance.plain is not None for own in answers):
        plain = whole.joined([own.provenance.plain or own for own in answers])
    return whole.joined(answers).made_of(effort=effort.name, plain=plain)


def methods_for(request: Request, effort: Effort) -> Iterator[Method]:
    """The methods of an effort in their order, but for what was asked for by hand."""
    if states := request.exact_states(effort):
        yield Exact(states, is_required=bool(request.exact))
    regions = request.regions or FACTOR_SCOPES
    if request.sum_over:
        yield SumOverCounts(regions, request.sum_over)
    else:
        yield Regions(regions)
        if effort.work and request.sum_over is None:
            yield SumOverCounts(regions)
    if request.blocks not in (None, 1):
        # Blocks that were asked for take as long as they take, and `auto` is thorough.
        work = EFFORTS["thorough"].work if request.blocks == "auto" else math.inf
        yield Blocks(request.blocks, work, is_required=True)
    else:
        yield Blocks(effort.blocks, effort.work, mix=request.blocks is None)
    if effort.work and regions != GROWING and not request.sum_over:
        yield PatientRegions(regions)
    if effort.work and not request.names_a_method:
        yield Communities()
    if effort.work and request.regions is None and not request.sum_over:
        yield LargerRegions()
    if effort.work and request.is_judged_by_samples:
        yield Sampling()


class Judge(Protocol):
    """What is known about log Z or probabilities, however answers were found."""

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if they contradict what is known."""


class SecondSample(Judge, Protocol):
    """A sample beside answers, which judges them and may take their place."""

    def last_word(self, answers: Posterior) -> Posterior:
        """The answers if the sample confirms them or settles nothing; otherwise the sample."""

    def opinion_on(self, answers: Posterior) -> Confirmation | Unconfirmed:
        """What a sample says about answers."""


class Method(Protocol):
    """A way to answers."""

    @property
    def name(self) -> str:
        """What it is called."""

    def could_improve(self, known: Known) -> bool:
        """Whether it applies, and could improve on what is known."""

    def answers(self, known: Known) -> Posterior | None:
        """Its answers; none if they cost more than the effort allows."""


class Case(Protocol):
    """A model that methods answer: over classes of objects, or on the ground."""

    @property
    def over_classes(self) -> OverClasses | None:
        """The same, if it is over classes of objects."""

    def prepare(self) -> None:
        """Do what every method needs; a model that is too large raises a `CapacityError`."""

    def exact(self, states: int) -> Posterior:
        """The exact answers; a model that takes more states raises a `CapacityError`."""

    def over(self, regions: Family, effort: Effort) -> Posterior:
        """The answers over a family of regions, or over growing ones (`auto`)."""

    def larger_families(self, effort: Effort) -> Sequence[Family]:
        """The families that an effort tries beyond factor scopes."""

    def over_larger(self, family: Family, effort: Effort) -> Posterior:
        """The answers over one of these, unless they cost more than the effort allows."""

    def regions_of(self, answers: Posterior) -> object:
        """What is equal for answers over the same regions."""

    def by_communities(self, answers: Posterior, effort: Effort) -> Posterior | None:
        """The answers from minima of communities; none if there are no such, or they cost more."""

    def judges(self, request: Request, effort: Effort) -> Sequence[Judge]:
        """What judges the best answers, cheap judges first."""

    def second_sample(self, effort: Effort) -> SecondSample:
        """What a sample says about answers."""

    def smaller_worlds(
        self, answers: Posterior, request: Request, effort: Effort
    ) -> Confirmation | Unconfirmed:
        """What smaller worlds say about answers that no sample could judge."""


class OverClasses(Case, Protocol):
    """A model over classes of interchangeable objects."""

    @property
    def classes(self) -> Sequence[ObjectClass]:
        """The classes of interchangeable objects."""

    @property
    def parts(self) -> Sequence[OverClasses]:
        """Its independent parts; none if it is connected."""

    def joined(self, answers: Sequence[Posterior]) -> Posterior:
        """The answers about it from those about its parts."""

    def summed(
        self, known: Posterior | None, regions: Family, predicates: Sequence[str], work: float
    ) -> Posterior:
        """The answers summed over the counts of predicates.

        If some answers are known: over those of the predicate that changes them most, if that is
        cheap.
        """

    def patiently(self, regions: Family) -> Posterior | None:
        """The answers over regions, however long they take; none if they took that already."""

    def blocked(
        self, answers: Posterior, most: Mapping[int, int], work: float, *, mix: bool
    ) -> tuple[Posterior, Judge]:
        """Answers mixed with minima at which blocks differ, and what judges other answers."""


@dataclass
class Known:
    """What is known so far about a case.

    best   the best answers so far
    plain  those without sums, blocks or larger regions
    bound  what independent atoms over blocks say about log Z
    """

    case: Case
    request: Request
    effort: Effort
    best: Posterior | None = None
    plain: Posterior | None = None
    bound: Judge | None = None
    _judged: dict[Posterior, Posterior] = field(default_factory=dict)

    def add(self, answers: Posterior | None) -> None:
        """Take new answers for the best ones; no method gives worse ones."""
        if answers is not None:
            self.best = answers

    def settled(self, answers: Posterior) -> Posterior:
        """The judged answers, confirmed by a sample here or in a smaller world, or the sample.

        Whoever names a method wants its answer, with what a sample says about it.
        """
        judged = self.judged(answers)
        if self.request.names_a_method:
            last = judged.supported(self.sample.opinion_on(judged))
        else:
            last = self.sample.last_word(judged)
        if last.standing is Standing.UNCONFIRMED:
            last = last.supported(self.case.smaller_worlds(last, self.request, self.effort))
        self._judged[last] = last
        return last

    @property
    def found(self) -> Posterior:
        """The best answers, where there are some."""
        if self.best is None:
            raise InternalError("no method has answered")
        return self.best

    @property
    def is_plain(self) -> bool:
        """Whether nothing has improved on the plain answers."""
        return self.plain is not None and self.found.reader is self.plain.reader

    @property
    def is_final(self) -> bool:
        """Whether nothing is approximated, so that no method could improve on it."""
        return self.best is not None and not self.best.approximate and self.request.blocks is None

    @cached_property
    def _judges(self) -> Sequence[Judge]:
        judges = self.case.judges(self.request, self.effort)
        sampled = self.effort.work and self.request.is_judged_by_samples
        return [*judges, self.sample] if sampled else judges

    @cached_property
    def sample(self) -> SecondSample:
        """A sample beside the answers, which is drawn where it is asked."""
        return self.case.second_sample(self.effort)

    def judged(self, answers: Posterior) -> Posterior:
        """Answers that would be the best after a look by all judges."""
        if answers not in self._judged:
            looked_at = answers
            for judge in self._judges:
                looked_at = judge.judge(looked_at)
            # What was judged is not judged again.
            self._judged |= {answers: looked_at, looked_at: looked_at}
        return self._judged[answers]

    def within_bound(self, answers: Posterior) -> Posterior:
        """Answers that are refused if independent atoms over blocks reach a larger log Z."""
        return answers if self.bound is None else self.bound.judge(answers)

    @property
    def conclusion(self) -> Posterior:
        """The best answers, judged, with the plain ones beside them if these are others."""
        best = self.found if self.is_final else self.judged(self.found)
        quick = None if self.plain is None or self.is_plain else self.plain
        return best.made_of(effort=self.effort.name, plain=quick)


def lifted(known: Known) -> OverClasses:
    """The case of methods that are about classes of objects."""
    case = known.case.over_classes
    if case is None:
        raise InternalError("the method is about classes of objects")
    return case


# --- methods


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact answers, with up to this many states."""

    states: int
    is_required: bool
    name = "exact"

    def could_improve(self, known: Known) -> bool:
        """It comes first."""
        return known.best is None

    def answers(self, known: Known) -> Posterior | None:
        """Exact answers, if they are within reach."""
        if not self.is_required:
            known.case.prepare()
        try:
            return known.case.exact(self.states)
        except CapacityError as error:
            if self.is_required:
                remedy = "leave --exact (exact=True in Python) out for an approximation"
                raise CapacityError(f"no exact answer: {error.message}; {remedy}") from None
            return None


@dataclass(frozen=True, slots=True)
class Regions:
    """Minima of the free energy over a family of regions, with one block for each class."""

    family: Family
    name = "regions"

    def could_improve(self, known: Known) -> bool:
        """It is the first approximation."""
        return known.best is None

    def answers(self, known: Known) -> Posterior:
        """The plain answers."""
        known.plain = known.case.over(self.family, known.effort)
        return known.plain


@dataclass(frozen=True, slots=True)
class SumOverCounts:
    """Sums over the counts of predicates: of those that were named, or of what matters most."""

    family: Family
    predicates: tuple[str, ...] = ()
    name = "sums over counts"

    def could_improve(self, known: Known) -> bool:
        """Counts are those of classes of objects."""
        return known.case.over_classes is not None

    def answers(self, known: Known) -> Posterior:
        """The sum, or the plain answers if no sum changes these."""
        case = lifted(known)
        answers = case.summed(known.best, self.family, self.predicates, known.effort.work)
        if known.plain is None:
            known.plain = answers
        return answers


@dataclass(frozen=True, slots=True)
class Blocks:
    """Minima at which objects of a class fall into blocks that behave differently.

    Without `mix`, the answers stay as they are, and are judged by what independent atoms over
    blocks reach.
    """

    most: BlocksChoice
    work: float
    mix: bool = True
    is_required: bool = False
    name = "blocks"

    def could_improve(self, known: Known) -> bool:
        """Only classes of several objects fall into blocks."""
        classes = known.case.over_classes is not None
        return classes and any(number > 1 for number in self._numbers(known).values())

    def answers(self, known: Known) -> Posterior:
        """The answers, mixed with those over blocks."""
        most = self._numbers(known)
        answers, known.bound = lifted(known).blocked(known.found, most, self.work, mix=self.mix)
        return answers

    def _numbers(self, known: Known) -> dict[int, int]:
        return most_blocks(self.most, lifted(known).classes, by_hand=self.is_required)


@dataclass(frozen=True, slots=True)
class PatientRegions:
    """The plain answers once more, with descent, where haste and blocks did not do."""

    family: Family
    name = "regions, patiently"

    def could_improve(self, known: Known) -> bool:
        """If the plain answers are all there is, and cannot be trusted."""
        classes = known.case.over_classes is not None
        return classes and known.is_plain and not known.found.sound

    def answers(self, known: Known) -> Posterior | None:
        """The plain answers; none if these had all the time already."""
        answers = lifted(known).patiently(self.family)
        if answers is not None:
            known.plain = answers = known.within_bound(answers)
        return answers


@dataclass(frozen=True, slots=True)
class Communities:
    """Minima of a ground network, combined community by community."""

    name = "communities"

    def could_improve(self, known: Known) -> bool:
        """Where one minimum was found, and can be trusted, there are no others to combine."""
        best = known.found
        runs = (best, *best.provenance.parts)
        several = not best.sound or any(len(own.result.points) > 1 for own in runs)
        return known.case.over_classes is None and several

    def answers(self, known: Known) -> Posterior | None:
        """The minima of all communities, each combination with its share."""
        return known.case.by_communities(known.found, known.effort)


@dataclass(frozen=True, slots=True)
class LargerRegions:
    """The largest regions that an effort allows and that can be trusted."""

    name = "larger regions"

    def could_improve(self, known: Known) -> bool:
        """If neither sums nor blocks changed the answers, or if log Z is proven to be wrong."""
        if known.plain is None or not known.case.larger_families(known.effort):
            return False
        return known.is_plain or (not known.request.names_a_method and self._is_outside(known))

    def answers(self, known: Known) -> Posterior | None:
        """The answers over grown regions; none if they are no better than what is known."""
        case, effort = known.case, known.effort
        is_plain = known.is_plain
        first = known.found
        if known.plain is not None and not is_plain:
            first = known.within_bound(known.plain)

        def over(family: Family) -> Posterior:
            if family == FACTOR_SCOPES:
                return first
            return known.within_bound(case.over_larger(family, effort))

        families = (FACTOR_SCOPES, *case.larger_families(effort))
        grown = grow(over, families, known.judged, case.regions_of)
        return grown if is_plain or grown.sound else None

    @staticmethod
    def _is_outside(known: Known) -> bool:
        result = known.judged(known.found).result
        return result.verdict.outside(result.log_z) is not None


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sample: it confirms the best answers, or takes their place."""

    name = "sampling"

    def could_improve(self, known: Known) -> bool:
        """Nothing improves on exact answers."""
        return known.found.approximate

    def answers(self, known: Known) -> Posterior:
        """The best answers if the sample confirms them or settles nothing; otherwise the sample."""
        return known.settled(known.found)
