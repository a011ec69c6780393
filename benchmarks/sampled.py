"""Relations beyond exact inference: answers beside samples, and how fast sampling is.

`python -m benchmarks.sampled` prints sweeps for each second of processor time, and then the
answers, with the marginals that an earlier sampler found: single pairs drawn one after the other,
with three digits.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.accuracy import CASES
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import ground_network
from liftgbp.methods.sampling.chains import Sweeper, Worlds

WEIGHT = 1.4
SPEED_AT = 40
SWEEPS_TIMED = 50

EARLIER = {
    ("transitive", 6): {"r(x,y)": 0.319},
    ("transitive", 10): {"r(x,y)": 0.263},
    ("transitive", 20): {"r(x,y)": 0.2175},
    ("transitive", 40): {"r(x,y)": 0.192},
    ("chain", 10): {"r(x,y)": 0.1405},
    ("chain", 20): {"r(x,y)": 0.131},
    ("friends-knows", 10): {"friends(x,y)": 0.230, "knows(x,y)": 0.583},
    ("friends-knows", 20): {"friends(x,y)": 0.1688, "knows(x,y)": 0.572},
    ("friends-knows", 40): {"friends(x,y)": 0.1408, "knows(x,y)": 0.556},
}

SWEEPS = {6: 1000, 10: 1000, 20: 1500, 40: 1000}


def sweeps_per_second(people: int) -> float:
    """Sweeps of 64 chains over the transitive relation, for each second of processor time."""
    model = next(case for case in CASES if case.name == "transitive").model(WEIGHT)
    network = ground_network(Problem.of(model, None, {"person": people}))
    sweeper = Sweeper(network)
    random = np.random.default_rng(0)
    first = (random.random((len(network.ranges), 64)) < 0.2).astype(np.uint8)
    worlds = Worlds(network.ranges, first)
    started = time.process_time()
    for _ in range(SWEEPS_TIMED):
        sweeper.sweep(worlds, random)
    return SWEEPS_TIMED / (time.process_time() - started)


def main() -> None:
    console = Console(width=140)
    speed = sweeps_per_second(SPEED_AT)
    console.print(
        f"transitive, N = {SPEED_AT}: {speed:.0f} sweeps of 64 chains a second of one core"
    )
    table = Table(title=f"w = {WEIGHT}: answers beside samples")
    headings = ("model", "N", "atom", "earlier", "sampled", "error", "R-hat", "normal", "log Z")
    for heading in (*headings, "by annealing"):
        table.add_column(heading, justify="right")
    models = {case.name: case.model(WEIGHT) for case in CASES}
    for (name, people), known in EARLIER.items():
        sizes = {"person": people}
        answers = liftgbp.infer(models[name], sizes, exact=False)
        sample = liftgbp.sample(models[name], sizes, answers=answers, sweeps=SWEEPS[people])
        for atom, p in known.items():
            row = sample.query(atom)[-1]
            annealed = sample.annealed
            table.add_row(
                name,
                f"{people}",
                atom,
                f"{p}",
                f"{row['true']:.4f}",
                f"{row.errors['true',]:.4f}",
                f"{row.r_hat:.3f}",
                f"{answers.marginal(atom):.4f}",
                f"{answers.result.log_z:.2f}",
                "" if annealed is None else f"{annealed.value:.2f} ± {annealed.error:.2f}",
            )
    console.print(table)


if __name__ == "__main__":
    main()
