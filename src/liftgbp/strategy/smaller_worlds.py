"""Answers about worlds that are too large for a sample, by those about smaller ones.

In a smaller world the same methods answer, and a sample judges them. If it confirms them, and if
the answer is made of the same things in all worlds between the small one and the large one, it is
confirmed there, too. That is evidence, not proof: what begins to weigh only in large worlds, and
leaves no trace in any answer, is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from liftgbp.lift.shatter import object_classes
from liftgbp.methods.effort import Effort
from liftgbp.posterior import Confirmation, Posterior, Silence, Support, Unconfirmed
from liftgbp.strategy.lifted_case import LiftedCase
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.strategy.strategy import best_answers
from liftgbp.support.errors import CapacityError, InputError, SizeError

SIZES = (200, 60, 24, 12, 6)
"""The sizes of domains that are tried, the largest first."""

MOST_WORK = 0.25
"""The part of what a sample may cost that is spent on one of a smaller world: of the two that are
tried where chains do not mix, and beside answers about several worlds."""

MOST_SAMPLED = 2
"""So many smaller worlds are sampled: where chains have not mixed, fewer objects may help."""

STEPS = 3
"""At so many sizes between, about equally far apart in their logarithm, answers are looked at."""

SEEN = 0.01
"""Blocks and minima with a smaller share do not count as part of the structure."""


def support_of(
    answers: Posterior, case: LiftedCase, request: Request, effort: Effort, run: Run
) -> Confirmation | Unconfirmed:
    """What smaller worlds say about answers that no sample could judge."""
    smaller = _SmallerWorlds(answers, case, request, effort, run)
    sampled = 0
    for sizes in smaller.sizes():
        try:
            known = smaller.looked_at(sizes)
            if isinstance(known, Confirmation):
                return smaller.carried_over(known)
        except (CapacityError, SizeError):
            continue
        except InputError:
            # Evidence or rules name more objects than that, or nothing could be solved between.
            break
        if known is None:
            continue
        if known.why is not Silence.NOT_MIXED:
            return known
        sampled += 1
        if sampled == MOST_SAMPLED:
            return known
    return answers.support


@dataclass(frozen=True, eq=False, slots=True)
class _SmallerWorlds:
    answers: Posterior
    case: LiftedCase
    request: Request
    effort: Effort
    run: Run

    def sizes(self) -> Iterator[dict[str, int]]:
        """The sizes of smaller worlds, the largest first."""
        for most in SIZES:
            smaller = {sort: min(size, most) for sort, size in self.answers.sizes.items()}
            if smaller != self.answers.sizes:
                yield smaller

    def _at(self, sizes: Mapping[str, int]) -> LiftedCase:
        return LiftedCase(object_classes(self.case.problem.resized(sizes)), self.run)

    def _answers(self, case: LiftedCase) -> Posterior:
        """The answers about another world by the same method."""
        made, family = self.answers.provenance, self.answers.graph.family
        if made.blocks:
            return best_answers(
                case, replace(self.request, exact=False, seconded=False), self.effort
            )
        if made.sums.predicates:
            return case.summed(None, family, made.sums.predicates, math.inf)
        return case.over(family, self.effort)

    def looked_at(self, sizes: Mapping[str, int]) -> Confirmation | Unconfirmed | None:
        """What a sample says about a smaller world; nothing if one would cost too much."""
        case = self._at(sizes)
        sample = case.second_sample(self.effort, MOST_WORK)
        if not sample.is_cheap:
            return None
        there = self._answers(case)
        if not there.sound or not there.approximate:
            return Unconfirmed(Silence.OTHER_STRUCTURE, sizes=sizes)
        opinion = sample.opinion_on(there)
        if isinstance(opinion, Confirmation):
            return replace(opinion, by=Support.SMALLER_SAMPLE, sizes=sizes)
        return replace(opinion, sizes=sizes)

    def carried_over(self, known: Confirmation) -> Confirmation | Unconfirmed:
        """The same for the large world, if all between have the same structure."""
        structure, least = structure_of(self.answers), known.sizes
        for step in range(STEPS + 1):
            sizes = {
                sort: round(size * (self.answers.sizes[sort] / size) ** (step / (STEPS + 1)))
                for sort, size in least.items()
            }
            if structure_of(self._answers(self._at(sizes))) != structure:
                return Unconfirmed(Silence.OTHER_STRUCTURE, sizes=sizes)
        return known


def structure_of(answers: Posterior) -> object:
    """What an answer is made of: sums, regions, blocks and minima, however large each is."""
    made = answers.provenance
    parts = [structure_of(part) for part in made.parts]
    points = [point for point in answers.result.points if point.weight > SEEN]
    blocks = sorted(
        tuple(sorted((block.objects, block.number) for block in structure.blocks))
        for structure in made.blocks
        if structure.share > SEEN
    )
    return (
        answers.sound,
        made.sums.predicates,
        str(answers.graph.family),
        parts or len(points),
        blocks,
    )
