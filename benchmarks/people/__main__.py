"""Are answers about the models that people write right? Each has a truth found without the engine.

`python -m benchmarks.people` asks each model with the default effort and prints the query that is
furthest off, its probability and its truth, and one of

- right: confirmed, and within 0.02 of the truth, or within its stated error;
- TRUSTED AND WRONG: confirmed, and neither;
- unconfirmed right: within 0.03, or within its stated error;
- unconfirmed wrong: neither;
- refused: nothing that could be used.

`--only` takes the models whose names contain one of some texts; `--journal FILE` keeps what is
done, so that a run can be interrupted and resumed; `--seconds` is the time of one model.
`--errors` asks instead whether standard errors are honest: how often the truth is within two of
them, over many seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.people.case import PeopleCase, Truth
from benchmarks.people.cases import ALL_CASES

SECONDS = 60.0
RIGHT, TRUSTED_WRONG = 0.03, 0.02
WITHIN = 2.0
"""How many standard errors an answer may be off."""

CLASSES = ("right", "unconfirmed right", "unconfirmed wrong", "refused", "TRUSTED AND WRONG")


@dataclass(frozen=True)
class Outcome:
    """What was said about a model: about the query that is furthest off, in allowed errors."""

    case: str
    query: str
    probability: float
    error: float
    truth: float
    truth_error: float
    standing: str
    usable: bool
    used: str
    seconds: float

    @property
    def kind(self) -> str:
        """Which of the classes it is in."""
        off = abs(self.probability - self.truth) - WITHIN * self.truth_error
        if self.standing == "refused" or math.isnan(off):
            return "refused"
        limit = TRUSTED_WRONG if self.standing == "confirmed" else RIGHT
        is_right = off <= max(limit, WITHIN * self.error)
        if self.standing == "confirmed":
            return "right" if is_right else "TRUSTED AND WRONG"
        return f"unconfirmed {'right' if is_right else 'wrong'}"


def standing_of(answers: liftgbp.Answers) -> str:
    """`confirmed`, `unconfirmed` or `refused`."""
    told = getattr(answers, "standing", None)
    if told is None:
        return "confirmed" if answers.trusted else "refused"
    return str(getattr(told, "value", told))


def outcome(case: PeopleCase, seconds: float) -> Outcome:
    started = time.process_time()
    read: list[tuple[str, float, float]] = []
    try:
        answers = liftgbp.infer(
            case.model, case.sizes, evidence=case.evidence, limits=liftgbp.Limits(seconds=seconds)
        )
        standing, used = standing_of(answers), _used(answers)
        read = [(query, *_read(answers, query)) for query in case.truth]
    except liftgbp.InputError as found:
        standing, used = "refused", f"{type(found).__name__}: {found}"
    spent = time.process_time() - started
    query, probability, error = max(
        read or [(next(iter(case.truth)), math.nan, 0.0)],
        key=lambda own: _excess(own[1], own[2], case.truth[own[0]]),
    )
    truth = case.truth[query]
    usable = standing != "refused" and all(
        _excess(p, e, case.truth[q]) <= 0 for q, p, e in read
    )
    return Outcome(
        case.name, query, probability, error, *truth, standing, usable, used, spent
    )


def _excess(probability: float, error: float, truth: Truth) -> float:
    """How far an answer is beyond its stated error, or what is right without one."""
    off = abs(probability - truth.value) - WITHIN * truth.error
    return off - max(WITHIN * error, RIGHT if error == 0 else 0.0)


def _read(answers: liftgbp.Answers, query: str) -> tuple[float, float]:
    """The probability of a query, such as `smokes(Anna)` or `colour(x) = red`, and its error."""
    atom, _, value = map(str.strip, query.partition("="))
    value = value or "true"
    probability = answers.marginal(atom, value)
    row = next(row for row in answers.query(atom) if row[value] == probability)
    return probability, row.error_of((value,)) or 0.0


def _used(answers: liftgbp.Answers) -> str:
    """What the answer was found by, or why it is refused."""
    return answers.reason or next(iter(str(answers).splitlines()[1:2]), "")


# --- tables


def by_model(outcomes: Sequence[Outcome]) -> Table:
    shown = Table(title="the query of each model that is furthest off")
    for column in ("model", "query", "answer", "error", "truth", "±", "", "s", "used"):
        is_text = column in ("model", "query", "", "used")
        shown.add_column(column, justify="left" if is_text else "right", no_wrap=column != "used")
    for own in outcomes:
        shown.add_row(
            own.case,
            own.query,
            "" if math.isnan(own.probability) else f"{own.probability:.3f}",
            f"{own.error:.3f}" if own.error else "",
            f"{own.truth:.3f}",
            f"{own.truth_error:.4f}" if own.truth_error else "",
            own.kind,
            f"{own.seconds:.1f}",
            own.used[:70],
        )
    return shown


def totals(outcomes: Sequence[Outcome]) -> Table:
    shown = Table(title="totals")
    counts = Counter(own.kind for own in outcomes)
    for column in ("models", *CLASSES, "a usable number", "seconds"):
        shown.add_column(column, justify="right")
    shown.add_row(
        str(len(outcomes)),
        *(str(counts[kind]) for kind in CLASSES),
        f"{sum(own.usable for own in outcomes)}",
        f"{sum(own.seconds for own in outcomes):.0f}",
    )
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of models")
    parser.add_argument("--journal", type=Path, help="a file that keeps what is done")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each model")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
    cases = [case for case in ALL_CASES if any(text in case.name for text in asked.only)]
    known = _known(asked.journal)
    for case in cases:
        if case.name in known:
            continue
        known[case.name] = own = outcome(case, asked.seconds)
        print(f"{own.case}: {own.kind}, {own.seconds:.1f} s", file=sys.stderr, flush=True)
        if asked.journal is not None:
            with asked.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(own)) + "\n")
    outcomes = [known[case.name] for case in cases]
    console = Console(width=180)
    console.print(by_model(outcomes))
    console.print(totals(outcomes))
    return 1 if any(own.kind == CLASSES[-1] for own in outcomes) else 0


def _known(journal: Path | None) -> dict[str, Outcome]:
    if journal is None or not journal.exists():
        return {}
    rows = [Outcome(**json.loads(line)) for line in journal.read_text("utf-8").splitlines()]
    return {own.case: own for own in rows}


if __name__ == "__main__":
    sys.exit(main())
