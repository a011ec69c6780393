"""What proven bounds cost on the paper's models, and how narrow they are.

`OMP_NUM_THREADS=1 python -m benchmarks.proven` prints processor times in one thread. Sizes take
turns, so that what else the machine does meets all of them alike; the best of some repetitions
counts.
"""

from __future__ import annotations

import gc
import time

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import MODELS, PAPER_MODELS

SIZES = (4, 10, 100, 10**6, 10**9)
REPETITIONS = 7


def main() -> None:
    """Print the table."""
    table = Table(title="bounds: processor time in ms, and what is not known per ground atom")
    table.add_column("model")
    for people in SIZES:
        table.add_column(f"N = {people:g}", justify="right")
        table.add_column("gap", justify="right")
    table.add_column("time at 1e9 / at 10", justify="right")
    for name in PAPER_MODELS:
        model = liftgbp.load(MODELS / f"{name}.mln")
        found = {people: liftgbp.bounds(model, {"person": people}) for people in SIZES}
        seconds = dict.fromkeys(SIZES, float("inf"))
        for _ in range(REPETITIONS):
            for people in SIZES:
                gc.collect()
                started = time.process_time()
                liftgbp.bounds(model, {"person": people})
                seconds[people] = min(seconds[people], time.process_time() - started)
        cells = [
            text
            for people in SIZES
            for text in (f"{1e3 * seconds[people]:.0f}", f"{found[people].width_per_atom:.2g}")
        ]
        table.add_row(name, *cells, f"{seconds[10**9] / seconds[10]:.2f}")
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
