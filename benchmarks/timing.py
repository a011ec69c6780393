"""How everything here is timed: the best of some repetitions, after a warm-up."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

from liftgbp.example_models import FOLDER

MODELS = FOLDER
PAPER_MODELS = ("friends-smokers", "transitive", "friends-knows", "chain")


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
