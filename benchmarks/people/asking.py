"""Asking the engine about a model, and telling whether it was right."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import liftgbp
from benchmarks.people.case import PeopleCase, Truth

RIGHT, TRUSTED_WRONG = 0.03, 0.02
"""How far an answer may be off that states no error of its own: any, and one that is trusted."""

WITHIN = 2.0
"""How many standard errors an answer may be off."""

CLASSES = ("right", "unconfirmed right", "unconfirmed wrong", "refused", "TRUSTED AND WRONG")


@dataclass(frozen=True)
class Outcome:
    """What was said about a model, and about the query whose answer is furthest from right."""

    case: str
    standing: str
    query: str
    probability: float
    error: float
    truth: float
    truth_error: float
    used: str
    seconds: float

    @property
    def kind(self) -> str:
        """Which of the classes it is in."""
        if self.standing == "refused":
            return "refused"
        truth = Truth(self.truth, self.truth_error)
        is_right = excess(self.standing, self.probability, self.error, truth) <= 0
        if self.standing == "confirmed":
            return "right" if is_right else "TRUSTED AND WRONG"
        return "unconfirmed right" if is_right else "unconfirmed wrong"

    @property
    def is_usable(self) -> bool:
        """Whether it is a number to go on with, confirmed or not."""
        return self.kind in ("right", "unconfirmed right")


def standing_of(answers: liftgbp.Answers) -> str:
    """`confirmed`, `unconfirmed` or `refused`."""
    told = getattr(answers, "standing", None)
    if told is None:
        return "confirmed" if answers.trusted else "refused"
    return str(getattr(told, "value", told))


def excess(standing: str, probability: float, error: float, truth: Truth) -> float:
    """How far an answer is beyond what is right: its stated error, or a fixed one."""
    if math.isnan(probability):
        return math.inf
    allowed = TRUSTED_WRONG if standing == "confirmed" else RIGHT
    off = abs(probability - truth.value) - WITHIN * truth.error
    return off - max(allowed, WITHIN * error)


def outcome(case: PeopleCase, seconds: float) -> Outcome:
    """Ask the model of a case with the default effort."""
    truth = case.truth
    started = time.process_time()
    read = dict.fromkeys(truth, (math.nan, 0.0))
    try:
        answers = liftgbp.infer(
            case.model, case.sizes, evidence=case.evidence, limits=liftgbp.Limits(seconds=seconds)
        )
        standing, used = standing_of(answers), answers.reason or str(answers.used)
        for query in truth:
            read[query] = probability_of(answers, query)
    except (liftgbp.InputError, liftgbp.LimitExceeded) as found:
        standing, used = "refused", f"{type(found).__name__}: {found}"
    spent = time.process_time() - started
    worst = max(truth, key=lambda query: excess(standing, *read[query], truth[query]))
    return Outcome(case.name, standing, worst, *read[worst], *truth[worst], used, spent)


def probability_of(answers: liftgbp.Answers | liftgbp.Sample, query: str) -> tuple[float, float]:
    """The probability of a query, such as `smokes(Anna)` or `colour(x) = red`, and its error."""
    atom, _, value = map(str.strip, query.partition("="))
    value = value or "true"
    probability = answers.marginal(atom, value)
    row = next(row for row in answers.query(atom) if row[value] == probability)
    return probability, row.error_of((value,)) or 0.0
