"""A sample beside an answer, where one is soon drawn: it contradicts, confirms, or answers itself.

Where structures begin to form among a few objects, regions see less of them than they should, and
nothing about their beliefs is impossible. A sample sees them: if its chains have mixed and it says
something else, the answer is wrong, and the sample is a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

from liftgbp.methods.sampling.sampled_posterior import sampled_posterior
from liftgbp.methods.sampling.sampler import Target, drawn_from, estimated_log_z
from liftgbp.methods.sampling.terms import WORD
from liftgbp.methods.sampling.world_sample import Sample
from liftgbp.posterior import Confirmation, Posterior, Silence, Support, Unconfirmed
from liftgbp.posterior.opinions import ComparedValue, Comparison, compared
from liftgbp.solve import Finding, Flaw
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress

WORK = {"normal": 6e5, "thorough": 1.2e7}
"""What sampling may cost, in units of five microseconds: three seconds at most for `normal`, and
a minute for `thorough`."""

WORK_OF_CLASS, FACTORS_AT_ONCE, ATOMS_AT_ONCE = 25, 10, 4
"""What a sweep of 64 worlds costs for each class of units that are drawn at once, with the moves
of many atoms; how many factors cost as much as an atom, and how many atoms cost one unit. Measured
on the models of the paper and on records."""

FEW_ATOMS, MANY_CHAINS = 300, 256
"""Over so few atoms, as many chains take hardly longer than 64: their errors are half as large."""

MOST_SWEEPS = 200
"""More sweeps are rarely needed: a quarter of these do on friends-knows over 20 people, all of them
on the transitive relation over 10. Where they do not, all that the effort allows are made."""

FEWEST_SWEEPS = 50
"""Where there cannot be this many, nothing is drawn, as chains would not have mixed: beyond 60
people in the transitive relation."""


PRECISE = 0.005
"""A sample whose standard errors are larger is drawn again, for longer, before it is the answer:
those of single atoms are 0.02 after 200 sweeps of records on the ground."""


class SecondSample:
    """What a sample says about the answers of one model, as far as that is cheap."""

    def __init__(
        self,
        work: float,
        target: Callable[[], Target],
        atoms: int,
        factors: int,
        progress: Progress,
    ) -> None:
        self._write_out = target
        self._work, self._atoms = int(work), atoms
        self._chains = MANY_CHAINS if atoms <= FEW_ATOMS else WORD
        # In whole numbers: the sum over many rules may exceed all doubles.
        self._factors = factors
        self._progress = progress
        self._drawn: dict[int, Sample] = {}
        self._mixed: Sample | None = None

    @property
    def is_cheap(self) -> bool:
        """Whether the effort may allow a sample: what has to be drawn one by one shows later."""
        return self._most(1) >= FEWEST_SWEEPS

    def _most(self, classes: int) -> int:
        """How many sweeps the effort allows."""
        atoms = (self._atoms + self._factors // FACTORS_AT_ONCE) * (self._chains // WORD)
        return self._work // max(1, WORK_OF_CLASS * classes + atoms // ATOMS_AT_ONCE)

    # --- contradictions

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if a sample that has mixed says something else."""
        if not self.is_cheap or not answers.sound or not answers.approximate:
            return answers
        try:
            comparison: Comparison | None = None
            for drawn in self._samples(answers):
                comparison = _compared(answers, drawn)
                if drawn.mixed or not comparison.differs:
                    break
        except CapacityError:
            # The answer may be right, but a check that was due was not made.
            return answers.judged(answers.verdict.contradicted_by(Finding(Flaw.NO_SAMPLE)))
        largest = None if comparison is None else comparison.largest
        if comparison is None or largest is None or not comparison.disagrees:
            return answers
        numbers = largest.second, largest.error, largest.answer
        opinion = Finding(Flaw.SAMPLE, numbers, about=largest.text)
        return answers.judged(answers.verdict.contradicted_by(opinion))

    # --- the last word

    def last_word(self, answers: Posterior) -> Posterior:
        """The answers if a sample confirms them or settles nothing; otherwise the sample."""
        opinion = self.opinion_on(answers)
        if self._mixed is None or self._target is None or isinstance(opinion, Confirmation):
            return answers.supported(opinion)
        annealed = estimated_log_z(self._target, answers, self._mixed, self._progress)
        return sampled_posterior(answers, replace(self._mixed, annealed=annealed))

    def opinion_on(self, answers: Posterior) -> Confirmation | Unconfirmed:
        """What a sample says about answers; one that has mixed is kept."""
        if not self.is_cheap:
            return Unconfirmed(Silence.TOO_LARGE)
        opinion = Unconfirmed(Silence.TOO_LARGE)
        try:
            for drawn in self._samples(answers):
                opinion = Unconfirmed(Silence.NOT_MIXED)
                if drawn.apart or not drawn.mixed_about(answers.reader):
                    continue
                self._mixed = drawn
                comparison = _compared(answers, drawn)
                if answers.sound and comparison.confirms:
                    return _confirmation(comparison)
                opinion = _contradiction(comparison)
                if comparison.error <= PRECISE and (comparison.differs or not answers.sound):
                    break
        except CapacityError:
            return Unconfirmed(Silence.NO_WORLD)
        return opinion

    @cached_property
    def _target(self) -> Target | None:
        """What is sampled; nothing if that cannot be written out: `EXIST` over 100 objects."""
        try:
            return self._write_out()
        except CapacityError:
            return None

    def _samples(self, answers: Posterior) -> Iterator[Sample]:
        """A sample, and a longer one if that is not enough; each is drawn once."""
        if self._target is None:
            return
        most = self._most(self._target.sweeper.classes)
        for sweeps in dict.fromkeys((min(MOST_SWEEPS, most), most)):
            if sweeps < FEWEST_SWEEPS:
                return
            if sweeps not in self._drawn:
                self._drawn[sweeps] = self._draw(self._target, answers, sweeps)
            yield self._drawn[sweeps]

    def _draw(self, target: Target, answers: Posterior, sweeps: int) -> Sample:
        drawn = drawn_from(target, answers, self._chains, sweeps, self._progress)
        if drawn.interrupted:
            raise KeyboardInterrupt
        return drawn


def _compared(answers: Posterior, drawn: Sample) -> Comparison:
    return compared(answers.every_row, drawn.opinion_on(answers, ()), answers.result.log_z)


def _confirmation(comparison: Comparison) -> Confirmation:
    largest = _largest(comparison)
    return Confirmation(Support.SAMPLE, abs(largest.difference), largest.text)


def _contradiction(comparison: Comparison) -> Unconfirmed:
    largest = _largest(comparison)
    return Unconfirmed(Silence.SAMPLE_DIFFERS, (abs(largest.difference),), largest.text)


def _largest(comparison: Comparison) -> ComparedValue:
    """The largest difference; of those of true and false, which rounding tells apart, the last."""
    return max(reversed(comparison.rows), key=lambda row: round(abs(row.difference), 12))
