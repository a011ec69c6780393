"""What the levels of effort cost on the paper's models, from five people to a billion.

`python -m benchmarks.levels` prints the table of quick and normal, `python -m benchmarks.levels
thorough` that of thorough beside normal, with answers. Exact answers are off. Each cell is the
first answer of a process of its own, after a model of another shape has imported everything, so
nothing is remembered from other sizes. `--jobs` lets several of these processes run at a time.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import MODELS, PAPER_MODELS, add_jobs

SIZES = (5, 7, 10, 14, 20, 30, 40, 60, 100, 200, 10**3, 10**4, 10**6, 10**9)
THOROUGH_SIZES = (10, 20, 100, 10**6)
REPETITIONS = 2
WARM_UP = "t(thing,thing,thing)\nu(thing)\n0.2 t(x,y,z) ^ u(x) => u(z) | distinct"


@dataclass(frozen=True)
class Cell:
    """The processor time of an answer, the probability of the first predicate's atom for different
    people, and what the answer rests on."""

    seconds: float
    probability: float
    used: str


def quick_and_normal(console: Console, jobs: int) -> None:
    table = Table(title="infer: processor time in ms, the best of some processes")
    table.add_column("N", justify="right")
    efforts = ("quick", "normal")
    for name in PAPER_MODELS:
        for effort in efforts:
            table.add_column(f"{name}, {effort}", justify="right")
    # Each cell has a process of its own, so threads have nothing to do but to wait.
    with ThreadPoolExecutor(jobs) as pool:
        every = pool.map(_best, *zip(*product(SIZES, PAPER_MODELS, efforts), strict=True))
        seconds = [own.seconds for own in every]
    slowest = max(seconds)
    columns = len(PAPER_MODELS) * len(efforts)
    for k, people in enumerate(SIZES):
        cells = seconds[k * columns : (k + 1) * columns]
        table.add_row(f"{people:g}", *(f"{1e3 * cell:.0f}" for cell in cells))
    console.print(table)
    console.print(f"the slowest cell: {1e3 * slowest:.0f} ms (goal: 1000)")


def thorough(console: Console, jobs: int) -> None:
    """Each row is printed as soon as those before it are."""
    wanted = [
        (people, name, effort)
        for name in PAPER_MODELS
        for people in THOROUGH_SIZES
        for effort in ("normal", "thorough")
    ]
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(_once, *zip(*wanted, strict=True))
        for (people, name, effort), own in zip(wanted, found, strict=True):
            console.print(
                f"{name}, N = {people:g}, {effort}: {own.seconds:.2f} s, "
                f"P = {own.probability:.6f}, {own.used}"
            )


def _best(people: int, name: str, effort: str) -> Cell:
    cells = [_once(people, name, effort) for _ in range(REPETITIONS)]
    return min(cells, key=lambda own: own.seconds)


def _once(people: int, name: str, effort: str) -> Cell:
    command = [sys.executable, "-m", "benchmarks.levels", name, str(people), effort]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, env=one_thread, text=True)
    seconds, probability, used = done.stdout.strip().split("\t")
    return Cell(float(seconds), float(probability), used)


def cell(name: str, people: int, effort: str) -> Cell:
    """The first answer in this process."""
    warnings.simplefilter("ignore")
    liftgbp.infer(liftgbp.parse(WARM_UP), {"thing": 12}, effort=effort, exact=False)
    model = liftgbp.load(MODELS / f"{name}.mln")
    # Else a collection of everything imported falls into some cells and not into others.
    gc.collect()
    started = time.process_time()
    answers = liftgbp.infer(model, {"person": people}, effort=effort, exact=False)
    seconds = time.process_time() - started
    predicate = next(iter(model.predicates))
    return Cell(seconds, answers.marginal(f"{predicate}(x,y)"), answers.used)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        found = cell(sys.argv[1], int(sys.argv[2]), sys.argv[3])
        print(found.seconds, found.probability, found.used, sep="\t")
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("what", nargs="?", choices=["thorough"])
        add_jobs(parser)
        asked = parser.parse_args()
        show = quick_and_normal if asked.what is None else thorough
        show(Console(width=150), asked.jobs)
