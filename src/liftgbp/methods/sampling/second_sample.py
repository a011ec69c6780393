"""A sample beside an answer, where one is soon drawn: it contradicts, confirms, or answers itself.

Where structures begin to form among a few objects, regions see less of them than they should, and
nothing about their beliefs is impossible. A sample sees them: if its chains have mixed and it says
something else, the answer is wrong, and the sample is a better one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from liftgbp.evidence import Problem
from liftgbp.ground.formats import Network
from liftgbp.methods.sampling.sampled_posterior import sampled_posterior
from liftgbp.methods.sampling.sampler import estimated_log_z, sample
from liftgbp.methods.sampling.world_sample import Sample
from liftgbp.model.model import Model
from liftgbp.posterior import Confirmation, Posterior, Silence, Support, Unconfirmed
from liftgbp.posterior.opinions import Comparison, compared
from liftgbp.solve import Finding, Flaw
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress

WORK = {"normal": 5e5, "thorough": 1e7}
"""What sampling may cost, in units of five microseconds: two and a half seconds for `normal`, and
a minute for `thorough`."""

WORK_OF_SWEEP, FACTORS_AT_ONCE = 300, 10
"""What a sweep of 64 worlds costs beside one for each atom, and how many factors cost as much as an
atom; measured on the models of the paper."""

MOST_SWEEPS = 200
"""More sweeps are rarely needed: a quarter of these do on friends-knows over 20 people, all of them
on the transitive relation over 10. Where they do not, all that the effort allows are made."""

FEWEST_SWEEPS = 50
"""Where there cannot be this many, nothing is drawn, as chains would not have mixed: beyond 30
people in the transitive relation."""


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """What is sampled: a model for some sizes, or a network of another tool, under evidence."""

    model: Model | Network
    sizes: Mapping[str, int] | None
    evidence: Any

    @classmethod
    def of(cls, problem: Problem) -> Target:
        """The model of a problem, with what is known."""
        return cls(problem.model, problem.sizes, problem.evidence)


class SecondSample:
    """What a sample says about the answers of one model, as far as that is cheap."""

    def __init__(
        self, work: float, target: Target, atoms: int, factors: int, progress: Progress
    ) -> None:
        self._target = target
        self._progress = progress
        # In whole numbers: the sum over many rules may exceed all doubles.
        work_of_sweep = WORK_OF_SWEEP + atoms + factors // FACTORS_AT_ONCE
        self._most = int(work) // work_of_sweep
        self._drawn: dict[int, Sample] = {}
        self._mixed: Sample | None = None

    @property
    def is_cheap(self) -> bool:
        """Whether the effort allows a sample."""
        return self._most >= FEWEST_SWEEPS

    # --- contradictions

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if a sample that has mixed says something else."""
        if not self.is_cheap or not answers.sound or not answers.approximate:
            return answers
        try:
            for drawn in self._samples(answers):
                comparison = _compared(answers, drawn)
                if drawn.mixed or not comparison.differs:
                    break
        except CapacityError:
            # The answer may be right, but a check that was due was not made.
            return answers.judged(answers.verdict.contradicted_by(Finding(Flaw.NO_SAMPLE)))
        largest = comparison.largest
        if largest is None or not comparison.disagrees:
            return answers
        numbers = largest.second, largest.error, largest.answer
        opinion = Finding(Flaw.SAMPLE, numbers, about=largest.text)
        return answers.judged(answers.verdict.contradicted_by(opinion))

    # --- the last word

    def last_word(self, answers: Posterior) -> Posterior:
        """The answers if a sample confirms them or settles nothing; otherwise the sample."""
        opinion = self.opinion_on(answers)
        if self._mixed is None or isinstance(opinion, Confirmation):
            return answers.supported(opinion)
        target = self._target
        annealed = estimated_log_z(
            target.model, target.sizes, target.evidence, answers, self._mixed, self._progress
        )
        return sampled_posterior(answers, replace(self._mixed, annealed=annealed))

    def opinion_on(self, answers: Posterior) -> Confirmation | Unconfirmed:
        """What a sample says about answers; one that has mixed is kept."""
        if not self.is_cheap:
            return Unconfirmed(Silence.TOO_LARGE)
        opinion = Unconfirmed(Silence.NOT_MIXED)
        try:
            for drawn in self._samples(answers):
                if drawn.apart or not drawn.mixed:
                    continue
                self._mixed = drawn
                comparison = _compared(answers, drawn)
                if answers.sound and comparison.confirms:
                    return _confirmation(comparison)
                opinion = _contradiction(comparison)
                if comparison.differs or not answers.sound:
                    break
        except CapacityError:
            return Unconfirmed(Silence.NO_WORLD)
        return opinion

    def _samples(self, answers: Posterior) -> Iterator[Sample]:
        """A sample, and a longer one if that is not enough; each is drawn once."""
        for sweeps in dict.fromkeys((min(MOST_SWEEPS, self._most), self._most)):
            if sweeps not in self._drawn:
                self._drawn[sweeps] = self._draw(answers, sweeps)
            yield self._drawn[sweeps]

    def _draw(self, answers: Posterior, sweeps: int) -> Sample:
        drawn = sample(
            self._target.model,
            self._target.sizes,
            evidence=self._target.evidence,
            answers=answers,
            sweeps=sweeps,
            log_z=False,
            progress=self._progress,
        )
        if drawn.interrupted:
            raise KeyboardInterrupt
        return drawn


def _compared(answers: Posterior, drawn: Sample) -> Comparison:
    return compared(answers.every_row, drawn.opinion_on(answers, ()), answers.result.log_z)


def _confirmation(comparison: Comparison) -> Confirmation:
    largest = max(comparison.rows, key=lambda row: abs(row.difference))
    return Confirmation(Support.SAMPLE, abs(largest.difference), largest.text)


def _contradiction(comparison: Comparison) -> Unconfirmed:
    largest = max(comparison.rows, key=lambda row: abs(row.difference))
    return Unconfirmed(Silence.SAMPLE_DIFFERS, (abs(largest.difference),), largest.text)
