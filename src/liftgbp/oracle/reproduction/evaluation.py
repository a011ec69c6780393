"""The evaluation as a whole: run every case, judge the claims, then write all files."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model_checks import finite_value
from liftgbp.oracle.reproduction.claims import Claim, judge_claims
from liftgbp.oracle.reproduction.experiments import CHAIN, EXPERIMENTS, PERSON
from liftgbp.oracle.reproduction.measure import Measurement, Settings, measure
from liftgbp.oracle.reproduction.report import probabilities, report, running_times, table
from liftgbp.pictures.cards import DOUBTFUL, GOOD, PLAIN, Shown, badge, note, table as html_table
from liftgbp.pictures.markup import Content
from liftgbp.support.errors import (
    InputError,
    check_function,
    checked_number,
    checked_path,
    wrong_type,
)
from liftgbp.support.files import whole_files
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent

WEIGHTS = (1.4, 0.5)
SIZES = (4, 5, 6, 8, 10, 20, 50, 100, 10**3, 10**6, 10**9)
FIGURE_SIZE = 10
"""The domain for which the graph of Figure 1 is printed."""

TIMES, PROBABILITIES, TABLE, REPORT = "times.svg", "probability.svg", "results.csv", "report.md"

NO_FIGURES = (
    "The figures were not drawn: they need matplotlib; install it with pip install 'liftgbp[plot]'."
)


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Shown):
    """All runs, the claims judged by them, and the files that were written.

    `note` says why files are missing, if any are.

    >>> import tempfile
    >>> import liftgbp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = liftgbp.reproduce(folder, weights=[1.4], sizes=[4], iterations=5, compared=5)
    >>> found.claims[0].statement, found.note
    ('The algorithm is domain-size independent.', '')
    """

    runs: tuple[Measurement, ...]
    claims: tuple[Claim, ...]
    files: tuple[Path, ...]
    note: str = ""

    def _headline(self) -> str:
        judged = ", ".join(f"{claim.title} {claim.verdict}" for claim in self.claims)
        return f"{len(self.runs)} runs; {judged}"

    def _body(self) -> Iterable[Content]:
        levels = {"reproduced": GOOD, "not measured": PLAIN}
        rows = []
        for claim in self.claims:
            judged = badge(levels.get(claim.verdict, DOUBTFUL), claim.verdict)
            rows.append((judged, claim.title, claim.statement, claim.measured))
        yield html_table(("", "claim", "statement", "measured"), rows)
        if self.files:
            yield note(f"written: {', '.join(path.name for path in self.files)}")


@limited("starting")
def reproduce(
    directory: str | os.PathLike[str],
    *,
    weights: Sequence[float] = WEIGHTS,
    sizes: Sequence[int] = SIZES,
    iterations: int = 500,
    damping: float = 0.5,
    compared: int = 30,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Reproduction:
    """Run the evaluation of the paper and write figures, a table and a report to a directory.

    Lifted and ground beliefs are compared over `compared` iterations. Nothing is written before all
    is computed; files of an earlier reproduction are replaced, others are left alone.

    >>> import tempfile
    >>> import liftgbp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = liftgbp.reproduce(folder, weights=[1.4], sizes=[4], iterations=5, compared=5)
    ...     print("report.md" in [file.name for file in found.files])
    True
    """
    _check_settings(weights, sizes)
    check_function("progress", progress)
    settings = Settings(iterations, damping, checked_number("compared", compared, least=1))
    target = checked_path("directory", directory)
    _check_writable(target)
    cases = [(e, weight, people) for e in EXPERIMENTS for weight in weights for people in sizes]
    runs: list[Measurement] = []
    for done, (experiment, weight, people) in enumerate(cases):
        progress(f"{experiment.name}, w = {weight:g}, N = {people:g}", done, len(cases))
        runs += measure(experiment, weight, people, settings)
    progress("writing", len(cases), len(cases))
    chain = build_regions(shatter(CHAIN.model(weights[0]), {PERSON: FIGURE_SIZE}))
    claims = judge_claims(runs, chain)
    contents: dict[str, bytes] = {}
    if importlib.util.find_spec("matplotlib") is not None:
        contents[TIMES] = running_times(runs, weights[0])
        contents[PROBABILITIES] = probabilities(runs, weights)
    note = "" if contents else NO_FIGURES
    text = report(runs, claims, chain, settings, list(contents), note)
    contents |= {TABLE: table(runs).encode(), REPORT: text.encode()}
    return Reproduction(tuple(runs), claims, _written(target, contents), note)


def _check_settings(weights: Sequence[float], sizes: Sequence[int]) -> None:
    for what, given in (("weights", weights), ("sizes", sizes)):
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise wrong_type(what, "a list of numbers", given)
    if not weights or not sizes:
        raise InputError("give at least one weight and one size to reproduce the evaluation for")
    for weight in weights:
        finite_value("weight", weight)
    for size in sizes:
        checked_number("a size", size, least=1)
    if min(sizes) < CHAIN.ground_sizes[0]:
        raise InputError(f"the chain model needs at least 4 people, got the size {min(sizes)}")


def _check_writable(directory: Path) -> None:
    """Refuse an unwritable directory before the runs start; the test leaves nothing behind."""
    try:
        made = [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
        for path in made:
            path.rmdir()
    except OSError as error:
        raise InputError(f"cannot write to {directory}: {error.strerror}") from None
    except ValueError as error:  # a character that no path can have
        raise InputError(f"cannot write to {str(directory)!r}: {error}") from None


def _written(directory: Path, contents: dict[str, bytes]) -> tuple[Path, ...]:
    """Write all files under temporary names first, so that none is ever half-written."""
    paths = [directory / name for name in contents]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {directory}: {error.strerror}") from None
    with whole_files(paths) as unfinished:
        for own, content in zip(unfinished, contents.values(), strict=True):
            own.write_bytes(content)
    return tuple(paths)
