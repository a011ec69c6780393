"""This engine beside ground GBP, pgmpy's exact inference and PGMax's loopy BP, in one run.

Then how our own cost grows with the model. All times are processor time, which other work on the
machine disturbs least.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks import growth, others
from benchmarks.timing import MODELS, PAPER_MODELS

SIZES = (5, 10, 20, 50, 10**3, 10**6, 10**9)
ITERATIONS = 500
LIMIT = 30.0
"""Seconds after which a cell stays empty."""

REPETITIONS = 4
MOST_GROUND_FACTORS = 200_000
VARIABLES = {"friends-smokers": 2, "transitive": 3, "friends-knows": 3, "chain": 4}
QUERY = {"friends-smokers": "friends", "friends-knows": "friends"}
EMPTY = "—"

Cell = Callable[[int], float | None]
"""The seconds that a program takes for so many people, or nothing."""


def main() -> None:
    # Flooding on diverging models leaves the range of floating point; here only its time counts.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    console = Console(width=130)
    programs = []
    for program in ("pgmpy", "pgmax"):
        if why := others.missing(program):
            console.print(f"{program} is left out: {why}")
        else:
            programs.append(program)
    for name in PAPER_MODELS:
        console.print(beside_others(name, programs))
    growth.main()


def beside_others(name: str, programs: list[str]) -> Table:
    table = Table(
        title=f"{name}: processor time in ms for {ITERATIONS} iterations at most, "
        f"and × the time of auto ({EMPTY}: above {LIMIT:g} s or out of reach)"
    )
    model = liftgbp.load(MODELS / f"{name}.mln")
    columns: dict[str, Cell] = {
        "auto": lambda n: _ours(model, n, "auto"),
        "flooding": lambda n: _ours(model, n, "flooding"),
        "ground GBP": partial(_ground, name),
        **{program: partial(_other, model, name, program) for program in programs},
    }
    for heading in ("N", *columns):
        table.add_column(heading, justify="right")
    lost: set[str] = set()
    for people in SIZES:
        # What failed at some size is not tried at a larger one.
        found = {c: None if c in lost else cell(people) for c, cell in columns.items()}
        lost |= {column for column, time in found.items() if time is None}
        ours = found["auto"] or math.nan
        table.add_row(f"{people:g}", *(_text(column, time, ours) for column, time in found.items()))
    return table


def _text(column: str, seconds: float | None, ours: float) -> str:
    if seconds is None:
        return EMPTY
    text = f"{1e3 * seconds:.1f}"
    return text if column == "auto" else f"{text}  ×{seconds / ours:.2g}"


SOLVERS = {"auto": liftgbp.Auto(), "flooding": liftgbp.Flooding()}


def _ours(model: liftgbp.Model, people: int, solver: str) -> float:
    def once() -> float:
        started = time.process_time()
        liftgbp.infer(model, {"person": people}, solver=SOLVERS[solver], effort="quick")
        return time.process_time() - started

    return min(once() for _ in range(REPETITIONS))


def _ground(name: str, people: int) -> float | None:
    if not _affordable(name, people):
        return None
    arguments = (name, str(people), str(ITERATIONS))
    return others.seconds([sys.executable, "-m", "benchmarks.ground_worker", *arguments], LIMIT)


def _other(model: liftgbp.Model, name: str, program: str, people: int) -> float | None:
    if not _affordable(name, people):
        return None
    task = others.ground_json(model, people, QUERY.get(name, "r"), ITERATIONS)
    return others.seconds(others.worker(program), LIMIT, task)


def _affordable(name: str, people: int) -> bool:
    return math.perm(people, VARIABLES[name]) <= MOST_GROUND_FACTORS


if __name__ == "__main__":
    main()
