"""Published data sets, end to end: hide a predicate, infer it, and compare with the truth.

    python -m benchmarks.real FOLDER [DATASET=PREDICATE ...]

Nothing is fetched. FOLDER holds a folder for each data set, such as `uwcse`, with one `.mln` file
of rules and `.db` files of facts, one for each fold. Rules without a weight get the weight 1. All
other predicates are closed. What is missing is skipped with a note.

The baselines learn from the other folds, or from the same one if there is only one: the frequency
of the predicate, and a logistic regression on how many facts mention each argument.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.model.writer import constant_text

HIDDEN = {
    "uwcse": "advisedBy",
    "imdb": "workedUnder",
    "webkb": "PageClassStudent",
    "cora": "sameBib",
    "caviar": "HoldsAt",
}
"""What is hidden of each data set, unless the command line says otherwise."""

LIMITS = liftgbp.Limits(seconds=600, memory=8)
MOST_ATOMS = 2 * 10**6
"""Hidden predicates with more atoms are skipped."""

LEAST_PROBABILITY = 1e-6
"""A probability of 0 would make the log-likelihood infinite."""


@dataclass(frozen=True)
class Fold:
    """The facts of one file; each atom of the hidden predicate has a truth and features."""

    name: str
    model: liftgbp.Model
    evidence: liftgbp.Evidence
    atoms: list[str]
    truth: NDArray[np.bool_]
    features: NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """What inference gave for one fold."""

    chances: NDArray[np.float64]
    seconds: float
    gigabytes: float
    note: str


def main() -> None:
    console = Console(width=140)
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        console.print(__doc__)
        return
    hidden = HIDDEN | dict(pair.split("=", 1) for pair in sys.argv[2:])
    table = Table(title="hidden predicates (AUC-PR, mean log-likelihood of an atom in nats)")
    for heading in ("data set", "fold", "atoms", "true", "s", "GB"):
        table.add_column(heading, justify="right")
    for method in ("liftgbp", "frequency", "degrees"):
        table.add_column(f"{method}\nAUC-PR", justify="right")
        table.add_column("log-lik.", justify="right")
    notes = []
    for name in dict.fromkeys((*hidden, *(p.name for p in sorted(Path(sys.argv[1]).iterdir())))):
        folder = Path(sys.argv[1]) / name
        try:
            folds = _folds(folder, hidden.get(name))
        except (OSError, LookupError, liftgbp.InputError) as error:
            notes.append(f"{name} is skipped: {error}")
            continue
        for k, fold in enumerate(folds):
            others = [other for j, other in enumerate(folds) if j != k] or folds
            row, note = _row(name, fold, others)
            table.add_row(*row)
            notes += [f"{name}, {fold.name}: {note}"] if note else []
    console.print(table)
    for note in notes:
        console.print(note, markup=False)


# --- reading


def _folds(folder: Path, hidden: str | None) -> list[Fold]:
    if not folder.is_dir():
        raise LookupError(f"there is no folder {folder}")
    rules, facts = sorted(folder.glob("*.mln")), sorted(folder.glob("*.db"))
    if len(rules) != 1 or not facts:
        raise LookupError(f"{folder} needs one .mln file and at least one .db file")
    model = liftgbp.load(rules[0])
    names = {name.lower(): name for name in model.predicates}
    if hidden is None or hidden.lower() not in names:
        raise LookupError(f"say what to hide, as in {folder.name}={next(iter(model.predicates))}")
    # Rules are often published without weights, as templates for learning.
    model = model.with_weights(dict.fromkeys(model.without_weight, 1.0))
    return [_fold(model, path, names[hidden.lower()]) for path in facts]


def _fold(model: liftgbp.Model, path: Path, hidden: str) -> Fold:
    closed = [
        name
        for name, predicate in model.predicates.items()
        if name != hidden and predicate.values == ("false", "true")
    ]
    evidence = Problem.of(model, liftgbp.load_evidence(model, path, closed=closed)).evidence
    sorts = model.predicates[hidden].sorts
    known = evidence.hard.get(hidden)
    listed = set() if known is None else set(map(tuple, known.args[known.values == 1].tolist()))
    others = {name: facts for name, facts in evidence.hard.items() if name != hidden}
    mentioned = Counter(
        (sort, number)
        for name, facts in others.items()
        for sort, column in zip(model.predicates[name].sorts, facts.args.T, strict=True)
        for number in column.tolist()
    )
    objects = [evidence.names[sort] for sort in sorts]
    atoms, truth, features = [], [], []
    if np.prod([len(names) for names in objects]) > MOST_ATOMS:
        raise LookupError(f"{hidden} has more than {MOST_ATOMS} atoms in {path.name}")
    for numbers in product(*(range(len(names)) for names in objects)):
        own = zip(objects, numbers, strict=True)
        atoms.append(",".join(constant_text(names[number]) for names, number in own))
        truth.append(numbers in listed)
        degrees = [mentioned[key] for key in zip(sorts, numbers, strict=True)]
        features.append([1.0, *np.log1p(degrees)])
    given = replace(evidence, hard=others)
    return Fold(path.name, model, given, atoms, np.array(truth), np.array(features))


# --- one fold


def _row(name: str, fold: Fold, others: Sequence[Fold]) -> tuple[list[str], str]:
    lead = [name, fold.name, str(len(fold.atoms)), str(int(fold.truth.sum()))]
    cells, note = [], ""
    try:
        # A process of its own, so that the memory is that of this fold.
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            found = pool.submit(_infer, fold).result()
        note = found.note
        lead += [f"{found.seconds:.1f}", f"{found.gigabytes:.2f}"]
        cells += _scores(fold.truth, found.chances)
    except liftgbp.InputError as error:
        lead, cells, note = [*lead, "", ""], ["", ""], str(error)
    learned = np.concatenate([other.truth for other in others])
    frequency = np.full(len(fold.truth), learned.mean())
    features = np.concatenate([other.features for other in others])
    cells += _scores(fold.truth, frequency)
    cells += _scores(fold.truth, _logistic(features, learned, fold.features))
    return lead + cells, note


def _infer(fold: Fold) -> Found:
    # Processor time: other programs may be running.
    started = time.process_time()
    (hidden,) = set(fold.model.predicates) - fold.evidence.closed
    answers = liftgbp.infer(fold.model, evidence=fold.evidence, limits=LIMITS)
    variables = ",".join(f"v{k}" for k in range(len(fold.model.predicates[hidden].sorts)))
    table = answers.to_columns(f"{hidden}({variables})")
    by_atom = dict(zip(table["arguments"], table["probability"], strict=True))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seconds = time.process_time() - started
    note = "" if answers.trusted else f"{answers.standing.value}: {answers.reason}"
    chances = np.array([by_atom[atom] for atom in fold.atoms])
    return Found(chances, seconds, memory, note)


def _scores(truth: NDArray[np.bool_], chances: NDArray[np.float64]) -> list[str]:
    kept = np.clip(chances, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    likelihood = np.where(truth, np.log(kept), np.log1p(-kept)).mean()
    return [f"{_auc_pr(truth, chances):.3f}", f"{likelihood:.4f}"]


def _auc_pr(truth: NDArray[np.bool_], chances: NDArray[np.float64]) -> float:
    """The average precision: atoms of equal probability count as one step of recall."""
    if not truth.any():
        return float("nan")
    levels, level = np.unique(-chances, return_inverse=True)
    hits = np.bincount(level, weights=truth, minlength=len(levels))
    precision = np.cumsum(hits) / np.cumsum(np.bincount(level, minlength=len(levels)))
    return float((precision * hits).sum() / truth.sum())


def _logistic(
    features: NDArray[np.float64], truth: NDArray[np.bool_], asked: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression with a weak prior, so that it always has a solution."""
    signs = np.where(truth, 1.0, -1.0)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = signs * (features @ weights)
        slopes = -signs / (1 + np.exp(np.clip(margins, -500, 500)))
        value = np.logaddexp(0, -margins).sum() + 1e-3 * weights @ weights
        return float(value), features.T @ slopes + 2e-3 * weights

    weights = minimize(loss, np.zeros(features.shape[1]), jac=True).x
    return 1 / (1 + np.exp(-np.clip(asked @ weights, -500, 500)))


if __name__ == "__main__":
    main()
