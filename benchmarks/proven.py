"""What proven bounds cost, how narrow they are, and what count cuts add.

`OMP_NUM_THREADS=1 python -m benchmarks.proven` prints processor times in one thread, in three
tables: bounds of log Z on the paper's models; the same with and without count cuts; and for how
many random models the bound of all scores is the score of the best world, found by listing. In the
first, sizes take turns, so that what else the machine does meets all of them alike; the best of
some repetitions counts.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import liftgbp
from benchmarks.timing import MODELS, PAPER_MODELS
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import NormalModel, shatter
from liftgbp.methods.bounding.proving import Proof, Prover
from liftgbp.oracle import reference
from liftgbp.plan import compile_plan
from liftgbp.support.progress import silent
from liftgbp.worlds import Budget
from liftgbp.worlds.proofs.cutting_rounds import cutting_rounds
from liftgbp.worlds.proofs.score_program import score_program
from liftgbp.worlds.proofs.upper import upper_bound

SIZES = (4, 10, 100, 10**6, 10**9)
REPETITIONS = 7

CUT_SIZES = (10, 1000, 10**6)

RANDOM_MODELS = 100
RANDOM_SIZE = 4
WEIGHTS = (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2)
SAME = 1e-8


def main() -> None:
    """Print the tables."""
    console = Console(width=150)
    for table in (costs(), count_cuts(), proven_scores()):
        console.print(table)


def costs() -> Table:
    """Bounds of log Z on the paper's models."""
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
    return table


def count_cuts() -> Table:
    """What is not known per atom without and with count cuts; without a lower bound, the upper."""
    table = Table(title="count cuts: nats per ground atom without and with them, and times in ms")
    table.add_column("model")
    for objects in CUT_SIZES:
        for title in (f"N = {objects:g}", "with", "ms", "with"):
            table.add_column(title, justify="right")
    names = [path for path in sorted(MODELS.rglob("*.mln")) if liftgbp.load(path).sorts]
    for path in track(names, "count cuts", transient=True):
        model = liftgbp.load(path)
        cells = []
        for objects in CUT_SIZES:
            normal = shatter(model, dict.fromkeys(model.sorts, objects))
            prover = Prover.of("normal", None, silent)
            pairs = [_gap(normal, replace(prover, rounds=k)) for k in (0, prover.rounds)]
            cells += [f"{gap:.4g}" for gap, _ in pairs] + [f"{ms:.0f}" for _, ms in pairs]
        table.add_row(path.stem, *cells)
    return table


def _gap(normal: NormalModel, prover: Prover) -> tuple[float, float]:
    started = time.process_time()
    proof = Proof(prover, normal)
    interval = proof.interval
    seconds = time.process_time() - started
    return float(interval.upper - (interval.lower or 0)) / max(proof.atoms, 1), 1e3 * seconds


def proven_scores() -> Table:
    """For how many random models bounds of scores are those of best worlds."""
    table = Table(title=f"bounds of scores: {RANDOM_MODELS} random models, {RANDOM_SIZE} people")
    for title in ("bound", "equal to the best world", "below it", "median ms", "most ms"):
        table.add_column(title, justify="right" if title != "bound" else "left")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in SCORE_BOUNDS}
    for number in track(range(RANDOM_MODELS), "random models", transient=True):
        model, sizes = liftgbp.parse(random_text(Random(number))), {"person": RANDOM_SIZE}
        best, normal = _listed(reference.ground(model, sizes)), shatter(model, sizes)
        for name, bound in SCORE_BOUNDS.items():
            started = time.process_time()
            distance = float(bound(normal)) - best
            found[name].append((distance, time.process_time() - started))
    for name, rows in found.items():
        times = sorted(1e3 * seconds for _, seconds in rows)
        equal = sum(abs(distance) <= SAME for distance, _ in rows)
        below = sum(distance < -SAME for distance, _ in rows)
        middle = f"{times[len(times) // 2]:.0f}"
        table.add_row(name, str(equal), str(below), middle, f"{times[-1]:.0f}")
    return table


def _over(family: str) -> Callable[[NormalModel], Fraction]:
    """The bound by consistent beliefs of a family of regions, without cuts."""

    def bound(normal: NormalModel) -> Fraction:
        graph = build_regions(normal, family)
        program = score_program(graph, compile_plan(graph).layout)
        return cutting_rounds(program, Budget(), None, most_rounds=1).bound

    return bound


SCORE_BOUNDS: dict[str, Callable[[NormalModel], Fraction]] = {
    "factor scopes": _over("intersections"),
    "objects:3": _over("objects:3"),
    "with count cuts": lambda normal: upper_bound(normal, Budget()),
}


def random_text(draw: Random) -> str:
    """One to three weighted formulas about two or three people and how they are related."""
    rules = (_rule(draw) for _ in range(draw.randint(1, 3)))
    return "\n".join(["p(person)", "r(person, person)", *rules])


def _rule(draw: Random) -> str:
    people = draw.choice(["xy", "xy", "xyz"])
    atoms = [f"p({x})" for x in people] + [f"r({x},{y})" for x in people for y in people if x != y]
    literals = [draw.choice(["", "!"]) + draw.choice(atoms) for _ in range(draw.randint(2, 3))]
    formula = literals[0]
    for literal in literals[1:]:
        formula = f"({formula}) {draw.choice(['^', 'v', '=>', '<=>'])} {literal}"
    restriction = " | distinct" if sum(x in formula for x in people) > 1 else ""
    return f"{draw.choice(WEIGHTS)} {formula}{restriction}"


def _listed(ground: reference.GroundModel) -> float:
    """The largest score of all worlds."""
    atoms = sorted({atom for factor in ground.factors for atom in factor.scope})
    if not atoms:
        return ground.log_constant
    lengths = [ground.ranges[atom] for atom in atoms]
    scores = np.zeros(math.prod(lengths))
    states = dict(zip(atoms, np.unravel_index(np.arange(len(scores)), lengths), strict=True))
    for factor in ground.factors:
        scores += factor.log_table[tuple(states[atom] for atom in factor.scope)]
    return ground.log_constant + float(scores.max())


if __name__ == "__main__":
    main()
