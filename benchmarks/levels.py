"""What the levels of effort cost on the paper's models, from five people to a billion.

`python -m benchmarks.levels` prints the table. Each cell is the first answer of a process of its
own, after a model of another shape has imported everything, so nothing is remembered from other
sizes.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import warnings

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import MODELS, PAPER_MODELS

SIZES = (5, 7, 10, 14, 20, 30, 40, 60, 100, 200, 10**3, 10**4, 10**6, 10**9)
EFFORTS = ("quick", "normal")
REPETITIONS = 2
WARM_UP = "t(thing,thing,thing)\nu(thing)\n0.2 t(x,y,z) ^ u(x) => u(z) | distinct"


def main() -> None:
    table = Table(title="infer: processor time in ms, the best of some processes")
    table.add_column("N", justify="right")
    for name in PAPER_MODELS:
        for effort in EFFORTS:
            table.add_column(f"{name}, {effort}", justify="right")
    slowest = 0.0
    for people in SIZES:
        cells = [_best(name, people, own) for name in PAPER_MODELS for own in EFFORTS]
        slowest = max(slowest, *cells)
        table.add_row(f"{people:g}", *(f"{1e3 * cell:.0f}" for cell in cells))
    console = Console(width=150)
    console.print(table)
    console.print(f"the slowest cell: {1e3 * slowest:.0f} ms (goal: 1000)")


def _best(name: str, people: int, effort: str) -> float:
    command = [sys.executable, "-m", "benchmarks.levels", name, str(people), effort]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return min(
        float(subprocess.run(command, check=True, capture_output=True, env=one_thread).stdout)
        for _ in range(REPETITIONS)
    )


def cell(name: str, people: int, effort: str) -> float:
    """The seconds that the first answer takes in this process."""
    warnings.simplefilter("ignore")
    liftgbp.infer(liftgbp.parse(WARM_UP), {"thing": 12}, effort=effort)
    model = liftgbp.load(MODELS / f"{name}.mln")
    # Else a collection of everything imported falls into some cells and not into others.
    gc.collect()
    started = time.process_time()
    liftgbp.infer(model, {"person": people}, effort=effort)
    return time.process_time() - started


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(cell(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
    else:
        main()
