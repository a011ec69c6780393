"""How everything here is timed: the best of some repetitions, after a warm-up."""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import liftgbp
from liftgbp.model.example_models import FOLDER
from liftgbp.support.workers import checked_jobs

MODELS = FOLDER
PAPER_MODELS = ("friends-smokers", "transitive", "friends-knows", "chain")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Let the command line say how many processes share the work.

    Processor times are those of single processes, and hardly change; they share caches, though.
    """
    parser.add_argument(
        "--jobs", type=_jobs, default=1, help="how many processes share the work (1)"
    )


def _jobs(text: str) -> int:
    try:
        return checked_jobs(int(text) if text.isdecimal() else text)
    except liftgbp.InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def milliseconds(work: Callable[[], object], repetitions: int = 7) -> float:
    work()
    best = float("inf")
    for _ in range(repetitions):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return 1e3 * best


def peak_kib(work: Callable[[], object]) -> float:
    work()
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1024
