"""Answers judged by a sample, where domains are so small that one is soon drawn.

Where structures begin to form among a few objects, regions see less of them than they should, and
nothing about their beliefs is impossible. A sample sees them: if its chains have mixed and it says
something else, the answer is wrong.
"""

from __future__ import annotations

from liftgbp.evidence import Problem
from liftgbp.lift.via import groundings, open_atoms
from liftgbp.methods.sampling.sampler import sample
from liftgbp.methods.sampling.world_sample import Sample
from liftgbp.posterior import Posterior
from liftgbp.posterior.opinions import Comparison, compared
from liftgbp.solve import Finding, Flaw, Kind
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress

WORK = {"normal": 2.5e5, "thorough": 1e7}
"""What sampling may cost, in units of five microseconds: about a second for `normal`."""

WORK_OF_SWEEP, GROUNDINGS_AT_ONCE = 300, 10
"""What a sweep of 64 worlds costs beside one for each atom, and how many groundings of rules cost
as much as an atom; measured on the models of the paper."""

MOST_SWEEPS = 200
"""More sweeps are rarely needed to tell a wrong answer: a quarter of these do on friends-knows over
20 people, all of them on the transitive relation over 10."""

FEWEST_SWEEPS = 50
"""Where there cannot be this many, nothing is drawn, as chains would not have mixed: beyond 30
people in the transitive relation."""

LONGER = 3
"""A sample that says something else, but has not mixed, is drawn again with so many times the
sweeps: the transitive relation over 24 people."""


class SampledJudge:
    """Judges the answers of one model by a sample, as far as that is cheap; it is drawn once."""

    def __init__(self, effort: str, problem: Problem, progress: Progress) -> None:
        self._problem = problem
        self._progress = progress
        # In whole numbers: the sum over many rules may exceed all doubles.
        atoms, ground = open_atoms(problem), groundings(problem.model, problem.sizes)
        work_of_sweep = WORK_OF_SWEEP + atoms + ground // GROUNDINGS_AT_ONCE
        sweeps = min(MOST_SWEEPS, int(WORK[effort]) // work_of_sweep)
        self._sweeps = sweeps if sweeps >= FEWEST_SWEEPS else 0
        self._drawn: Sample | None = None

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are not trusted if a sample that has mixed says something else."""
        if not self._sweeps or not answers.trusted or answers.verdict.kind is Kind.EXACT:
            return answers
        if self._drawn is None:
            try:
                self._drawn = self._draw(answers, self._sweeps)
            except CapacityError:
                # The answer may be right, but a check that was due was not made.
                return answers.judged(
                    answers.result.verdict.contradicted_by(Finding(Flaw.NO_SAMPLE))
                )
        comparison = _compared(answers, self._drawn)
        largest = comparison.largest
        if largest is None or not comparison.disagrees:
            return answers
        numbers = largest.second, largest.error, largest.answer
        opinion = Finding(Flaw.SAMPLE, numbers, about=largest.text)
        return answers.judged(answers.result.verdict.contradicted_by(opinion))

    def _draw(self, answers: Posterior, sweeps: int) -> Sample:
        drawn = sample(
            self._problem.model,
            self._problem.sizes,
            evidence=self._problem.evidence,
            answers=answers,
            sweeps=sweeps,
            log_z=False,
            progress=self._progress,
        )
        again = not drawn.mixed and sweeps == self._sweeps and _compared(answers, drawn).differs
        return self._draw(answers, LONGER * sweeps) if again else drawn


def _compared(answers: Posterior, drawn: Sample) -> Comparison:
    return compared(answers.every_row, drawn.opinion_on(answers, ()), answers.result.log_z)
