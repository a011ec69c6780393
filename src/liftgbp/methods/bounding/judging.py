"""Answers judged by proven bounds of log Z: an estimate outside is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from liftgbp.lift.regions import Family
from liftgbp.lift.shatter import Shattering
from liftgbp.methods.blocks import Bound
from liftgbp.methods.bounding.interval import known_first, rounded_down, rounded_up
from liftgbp.methods.bounding.proving import FAMILIES, Proof, Prover
from liftgbp.posterior import Bounds, Posterior
from liftgbp.solve import NO_BLOCKS, IndependentAtoms, Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.progress import Progress

CHEAP_OPERATIONS = {"normal": 5e7, "thorough": 1e10}
"""The most operations of a step of the solver where bounds only judge: regions of two people with
all facts of smoking-network.mln take 4e8, and more time than the answer."""


def judged_by(answers: Posterior, found: Bounds, tolerances: Tolerances) -> Posterior:
    """Answers with bounds; they are refused if their log Z lies outside."""
    slack = tolerances.slack_of(found.lower)
    above = Bound(found.lower, slack, found.reached).judge(answers)
    return _below(above, found.upper, tolerances).made_of(bounds=found)


class ProvenJudge:
    """Judges the answers of one model by what is proven about its log Z, as far as that is cheap.

    What blocks reach is known by other means (`blocks.Bound`).
    """

    def __init__(
        self, effort: str, shattering: Shattering, tolerances: Tolerances, progress: Progress
    ) -> None:
        most = CHEAP_OPERATIONS[effort]
        # Count cuts take ten times as long as the bound without them.
        self._prover = Prover(effort, FAMILIES[effort], 0, most, by_hand=False, progress=progress)
        self._shattering = shattering
        self._tolerances = tolerances

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if their log Z is proven to be wrong."""
        if not answers.sound:
            return answers
        lower, by = self._lower
        least = rounded_down(lower)
        answers = Bound(least, self._tolerances.slack_of(least), by).judge(answers)
        for family in self._families(answers):
            if not answers.sound:
                break
            proven = self._proof.ceiling(family)
            if proven is not None:
                answers = _below(answers, rounded_up(proven[1]), self._tolerances)
        return answers

    @cached_property
    def _proof(self) -> Proof:
        self._prover.progress("bounding log Z", 0, 1)
        return Proof(self._prover, self._shattering.normal(), self._shattering)

    @cached_property
    def _lower(self) -> tuple[Fraction | None, IndependentAtoms]:
        return max(self._proof.cases, key=known_first, default=(None, NO_BLOCKS))

    def _families(self, answers: Posterior) -> Iterator[Family]:
        """The regions that may refute answers, the smallest first.

        Those of the answers cannot, nor smaller ones: the entropy at a plausible minimum is at most
        the sum of conditional entropies there, of which the bound is the maximum.
        """
        families = self._prover.families
        own = answers.graph.family
        plain = isinstance(answers.result, Solution) and own in families
        yield from families[families.index(own) + 1 :] if plain else families


def _below(answers: Posterior, upper: float, tolerances: Tolerances) -> Posterior:
    """Answers judged by what log Z is at most."""
    verdict = answers.result.verdict
    if upper < verdict.log_z_ceiling:
        verdict = verdict.capped_by(upper, tolerances.slack_of(upper))
    return answers.judged(verdict)
