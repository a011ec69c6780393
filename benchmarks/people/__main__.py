"""Are answers about the models that people write right? Each has a truth found without the engine.

`python -m benchmarks.people` asks each model with the default effort. For the query whose answer is
furthest from right it prints the probability, the truth, and one of

- right: confirmed, and within 0.02 of the truth, or within two of its standard errors;
- TRUSTED AND WRONG: confirmed, and neither;
- unconfirmed right: within 0.03, or within two standard errors;
- unconfirmed wrong: neither;
- refused: nothing that could be used.

It ends with code 1 if an answer is trusted and wrong. `--only` takes the models whose names
contain one of some texts; `--journal FILE` keeps what is done, so that a run can be interrupted and
resumed; `--seconds` is the time of one model. `--errors` asks instead whether standard errors are
honest: how often the truth is within two of them, in samples with 200 seeds (`--runs`).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.people import errors
from benchmarks.people.asking import CLASSES, WITHIN, Outcome, outcome
from benchmarks.people.cases import ALL_CASES

SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of models")
    parser.add_argument("--journal", type=Path, help="a file that keeps what is done")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each model (60)")
    parser.add_argument("--errors", action="store_true", help="whether standard errors are honest")
    parser.add_argument("--runs", type=int, default=errors.RUNS, help="of each model (200)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
    console = Console(width=180)
    cases = [case for case in ALL_CASES if any(text in case.name for text in asked.only)]
    if asked.errors:
        cases = [case for case in cases if case.name in errors.MODELS]
        console.print(errors.table(cases, asked.runs))
        return 0
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
    console.print(by_model(outcomes))
    console.print(totals(outcomes))
    return 1 if any(own.kind == CLASSES[-1] for own in outcomes) else 0


def by_model(outcomes: Sequence[Outcome]) -> Table:
    shown = Table(title="for each model, the query whose answer is furthest from right")
    for column in ("model", "query", "answer", "±", "truth", "is", "seconds", "used"):
        is_number = column in ("answer", "±", "truth", "seconds")
        shown.add_column(column, justify="right" if is_number else "left", no_wrap=column != "used")
    for own in outcomes:
        shown.add_row(
            own.case,
            own.query,
            f"{own.probability:.3f}",
            f"{own.error:.3f}" if own.error else "",
            f"{own.truth:.3f}",
            own.kind,
            f"{own.seconds:.1f}",
            own.used.partition(";")[0][:60],
        )
    return shown


def totals(outcomes: Sequence[Outcome]) -> Table:
    shown = Table(title="totals")
    for column in ("models", *CLASSES, "usable", "within two errors", "seconds"):
        shown.add_column(column, justify="right")
    counts = Counter(own.kind for own in outcomes)
    stated = [own for own in outcomes if own.error and own.standing != "refused"]
    within = [own for own in stated if abs(own.probability - own.truth) <= WITHIN * own.error]
    shown.add_row(
        str(len(outcomes)),
        *(str(counts[kind]) for kind in CLASSES),
        f"{sum(own.is_usable for own in outcomes) / max(1, len(outcomes)):.0%}",
        f"{len(within)} of {len(stated)}",
        f"{sum(own.seconds for own in outcomes):.0f}",
    )
    return shown


def _known(journal: Path | None) -> dict[str, Outcome]:
    if journal is None or not journal.exists():
        return {}
    rows = [Outcome(**json.loads(line)) for line in journal.read_text("utf-8").splitlines()]
    return {own.case: own for own in rows}


if __name__ == "__main__":
    sys.exit(main())
