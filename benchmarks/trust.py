"""How far trust can be trusted: 1000 random models and 60 classical networks with exact answers.

`python -m benchmarks.trust` prints, for each setting, how many answers are not refused and how
many of those have a marginal that is off by more than 0.01, 0.05, 0.1 and 0.3; and how many are
refused, and how many of those were right, with all marginals within 0.01. `--models` takes fewer
random models; `--journal FILE` keeps what is done, so that a run can be interrupted and resumed;
`--worst` lists the worst answers; `--jobs` lets several processes share the models. The setting
`ground` is the quick one on the ground, and
`approximate` is the normal effort without exact answers: what larger models get.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import add_jobs
from benchmarks.trust_cases import Case, all_cases
from liftgbp.support.workers import finished

MODELS = 1000
LIMITS = (0.01, 0.05, 0.1, 0.3)
RIGHT = 0.01
"""A refused answer was right if no marginal is off by more than this."""

SETTINGS: dict[str, dict[str, object]] = {
    "quick": {"effort": "quick"},
    "ground": {"effort": "quick", "via": "ground"},
    "approximate": {"effort": "normal", "exact": False},
    "normal": {"effort": "normal"},
}
ROUTES = {"small": "models", "cells": "models"}
"""Random relational models; everything else is a network."""


@dataclass(frozen=True)
class Outcome:
    """What a setting said about a case; `error` is that of the worst marginal."""

    case: str
    setting: str
    trusted: bool
    error: float
    reason: str
    seconds: float


def outcome(case: Case, setting: str) -> Outcome:
    started = time.process_time()
    options = dict(SETTINGS[setting])
    if case.facts:
        options["evidence"] = liftgbp.parse_evidence(case.model, case.facts)
    if case.observed:
        options["evidence"] = case.observed
    trusted, error, reason = False, 1.0, ""
    try:
        if case.sizes is None:
            answers = liftgbp.infer(case.model, **options)
        else:
            answers = liftgbp.infer(case.model, case.sizes, **options)
        trusted, reason = answers.flaw is None, answers.reason
        if case.exact is not None:
            error = max((_error(answers, *own) for own in case.exact.items()), default=0.0)
    except liftgbp.ContradictionError as found:
        # Right if there is no world; else a lie.
        trusted, reason = True, f"contradiction: {found}"
        error = 0.0 if case.exact is None else 1.0
    except liftgbp.InputError as found:
        reason = f"{type(found).__name__}: {found}"
    return Outcome(case.name, setting, trusted, error, reason, time.process_time() - started)


def _error(answers: liftgbp.Answers, query: str, exact: Sequence[float]) -> float:
    if query.startswith("x"):
        (row,) = answers.query(query)
        found = list(row.values.values())
    else:
        found = [answers.marginal(query, "false"), answers.marginal(query)]
    return max(abs(one - other) for one, other in zip(found, exact, strict=True))


def table(outcomes: Sequence[Outcome], title: str) -> Table:
    shown = Table(title=title)
    for column in ("setting", "answers", "not refused", *(f"off by > {x}" for x in LIMITS)):
        shown.add_column(column, justify="left" if column == "setting" else "right")
    for column in ("refused", "of these right", "seconds"):
        shown.add_column(column, justify="right")
    for setting in SETTINGS:
        own = [one for one in outcomes if one.setting == setting]
        trusted = [one for one in own if one.trusted]
        refused = [one for one in own if not one.trusted]
        if own:
            shown.add_row(
                setting,
                str(len(own)),
                str(len(trusted)),
                *(str(sum(one.error > x for one in trusted)) for x in LIMITS),
                str(len(refused)),
                str(sum(one.error <= RIGHT for one in refused)),
                f"{sum(one.seconds for one in own):.0f}",
            )
    return shown


def _known(journal: Path | None) -> dict[tuple[str, str], Outcome]:
    if journal is None or not journal.exists():
        return {}
    rows = [Outcome(**json.loads(line)) for line in journal.read_text("utf-8").splitlines()]
    return {(own.case, own.setting): own for own in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=MODELS, help="how many random models")
    parser.add_argument("--journal", type=Path, help="a file that keeps what is done")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="settings, split by commas")
    parser.add_argument("--worst", type=int, default=0, help="list at most this many per setting")
    add_jobs(parser)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
    cases = {case.name: case for case in all_cases(asked.models)}
    settings = [own for own in SETTINGS if own in asked.settings.split(",")]
    wanted = [
        (case.name, setting)
        for case in cases.values()
        for setting in settings
        if case.sizes is not None or "via" not in SETTINGS[setting]
    ]
    known = _known(asked.journal)
    left = [own for own in wanted if own not in known]
    for _, own in finished(partial(_outcome_of, cases), left, asked.jobs):
        known[own.case, own.setting] = own
        if asked.journal is not None:
            with asked.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(own)) + "\n")
    outcomes = [known[own] for own in wanted]
    console = Console(width=150)
    random = [own for own in outcomes if own.case.split()[0] in ROUTES]
    console.print(table(random, "random models"))
    console.print(table([own for own in outcomes if own not in random], "classical networks"))
    for setting in settings if asked.worst else ():
        _print_worst(
            console, [own for own in outcomes if own.setting == setting], cases, asked.worst
        )


def _outcome_of(cases: dict[str, Case], wanted: tuple[str, str]) -> Outcome:
    case, setting = wanted
    return outcome(cases[case], setting)


def _print_worst(
    console: Console, outcomes: Sequence[Outcome], cases: dict[str, Case], most: int
) -> None:
    lies = sorted((own for own in outcomes if own.trusted), key=lambda own: -own.error)
    for own in lies[:most]:
        if own.error > LIMITS[1]:
            case = cases[own.case]
            rules = " ; ".join(case.text.splitlines()[-4:])
            console.print(
                f"{own.setting} {own.case} {case.sizes} {own.error:.3f} {rules} {case.facts!r}"
            )
    reasons = Counter(own.reason.partition(";")[0][:90] for own in outcomes if not own.trusted)
    for text, number in reasons.most_common(most):
        console.print(f"  {number} refused: {text}")


if __name__ == "__main__":
    main()
