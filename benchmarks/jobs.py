"""What several processes gain: one sweep by one job and by several, in one run.

`python -m benchmarks.jobs` prints seconds on the clock and seconds of processor time, of all
processes together. The row `arithmetic` is as good as it gets: tasks that share nothing. On a
machine whose cores have other work to do, that does not gain much either, and only processor time
says what sharing costs.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import liftgbp
from liftgbp.support.workers import finished, in_order

JOBS = (1, 2)
REPETITIONS = 2
QUICK = sorted({round(10 ** (k / 120)) for k in range(100, 1080)})
"""Sizes up to 10⁹ in five batches."""

NORMAL = [1000 * k for k in range(1, 17)]
TASKS, STEPS = 16, 3_000_000

Work = Callable[[int], object]
"""What so many jobs do, and what comes out."""


class Seconds(NamedTuple):
    """On the clock, and of all processors."""

    clock: float
    processor: float


def main() -> None:
    table = Table(title="seconds for the same work, the best of some runs")
    table.add_column("work")
    for heading in ("jobs", "clock", "× of one job", "processor", "× of one job"):
        table.add_column(heading, justify="right")
    model = liftgbp.load("example:transitive")
    works: dict[str, Work] = {
        f"arithmetic, {TASKS} tasks": _arithmetic,
        f"sweep, quick, {len(QUICK)} points": partial(_sweep, model, QUICK, "quick"),
        f"sweep, normal, {len(NORMAL)} points": partial(_sweep, model, NORMAL, "normal"),
    }
    for name, work in works.items():
        found = {jobs: _best(work, jobs) for jobs in JOBS}
        one = found[1][0]
        for jobs, (own, result) in found.items():
            if result != found[1][1]:
                raise AssertionError("the result depends on the number of jobs")
            clock = f"{own.clock:.1f}", f"{own.clock / one.clock:.2f}"
            processor = f"{own.processor:.1f}", f"{own.processor / one.processor:.2f}"
            table.add_row(name, str(jobs), *clock, *processor)
    Console(width=120).print(table)


def _arithmetic(jobs: int) -> list[int]:
    return list(in_order(finished(_count_up, [STEPS] * TASKS, jobs)))


def _count_up(steps: int) -> int:
    return sum(range(steps))


def _sweep(model: liftgbp.Model, sizes: list[int], effort: str, jobs: int) -> object:
    return liftgbp.sweep(model, {"person": sizes}, effort=effort, jobs=jobs).rows


def _best(work: Work, jobs: int) -> tuple[Seconds, object]:
    runs = [_timed(work, jobs) for _ in range(REPETITIONS)]
    clock, processor = (min(own[k] for own, _ in runs) for k in range(2))
    return Seconds(clock, processor), runs[0][1]


def _timed(work: Work, jobs: int) -> tuple[Seconds, object]:
    clock, processor = time.perf_counter(), _processor_seconds()
    result = work(jobs)
    spent = Seconds(time.perf_counter() - clock, _processor_seconds() - processor)
    return spent, result


def _processor_seconds() -> float:
    """Of this process and of those that it has started, which have ended by now."""
    every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(own.ru_utime + own.ru_stime for own in every)


if __name__ == "__main__":
    main()
