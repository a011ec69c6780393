"""Whole answers by descent and by flooding, and sweeps against single solves."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.growth import formulas, random_rules, unary_rules
from benchmarks.timing import MODELS, PAPER_MODELS, milliseconds
from liftgbp.cli.ranges import size_range

SIZES = (10, 10**3, 10**6, 10**9)
POINTS = 200
SECONDS = 3.0
"""How long each descent is repeated for the best of its times."""

QUERY = {"friends-smokers": "friends(x,y)", "friends-knows": "friends(x,y)"}


def main() -> None:
    # Flooding on diverging models leaves the range of floating point; here only its time counts.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    console = Console(width=120)
    console.print(whole_answers())
    console.print(descents())
    console.print(longer())
    console.print(sweeps())


def whole_answers() -> Table:
    table = Table(title="infer, region graph included, in ms (goal: auto 30 at any N)")
    table.add_column("model")
    for size in SIZES:
        table.add_column(f"auto, N = {size:g}", justify="right")
    table.add_column("flooding, N = 10", justify="right")
    for name in PAPER_MODELS:
        model = liftgbp.load(MODELS / f"{name}.mln")
        auto = [milliseconds(lambda m=model, n=n: _infer(m, n, liftgbp.Auto())) for n in SIZES]
        flooding = milliseconds(lambda m=model: _infer(m, 10, liftgbp.Flooding()))
        table.add_row(name, *(f"{t:.1f}" for t in (*auto, flooding)))
    return table


def descents() -> Table:
    """Descent on a small model, on many formulas, on large regions and over blocks."""
    table = Table(title="descent, best processor time in ms (goals: 6, 500, 500, 5000, 500)")
    table.add_column("model")
    table.add_column("ms", justify="right")
    smokers, transitive = (liftgbp.load(MODELS / f"{n}.mln") for n in PAPER_MODELS[:2])
    cases: dict[str, tuple[liftgbp.Model, int, dict[str, Any]]] = {
        "friends-smokers, N = 10": (smokers, 10, {"effort": "quick"}),
        "30 formulas": (liftgbp.parse(formulas(30)), 100, {"effort": "quick"}),
        "60 random rules": (liftgbp.parse(random_rules(60)), 100, {"effort": "quick"}),
        "transitive, objects:5": (transitive, 100, {"effort": "quick", "regions": "objects:5"}),
        "transitive, up to four blocks": (transitive, 100, {"blocks": 4}),
    }
    for name, (model, people, options) in cases.items():
        best, began = float("inf"), time.process_time()
        while time.process_time() < began + SECONDS:
            started = time.process_time()
            liftgbp.infer(model, {"person": people}, solver=liftgbp.Descent(), **options)
            best = min(best, time.process_time() - started)
        table.add_row(name, f"{1e3 * best:.1f}")
    return table


def longer() -> Table:
    """What takes a second or two, once each."""
    table = Table(title="processor time in s (goals: 2, 2, 1.3)")
    table.add_column("run")
    table.add_column("s", justify="right")
    chain = liftgbp.load(MODELS / "chain.mln")
    rules = liftgbp.parse(unary_rules(60))
    sizes = size_range("person", "2..1e9", 60)
    cases: dict[str, Callable[[], object]] = {
        "chain, N = 1e9, default": lambda: liftgbp.infer(chain, {"person": 10**9}),
        "60 rules over 60 predicates, N = 50, default": lambda: liftgbp.infer(
            rules, {"person": 50}
        ),
        "chain, a sweep of 60 sizes, quick": lambda: (
            liftgbp.sweep(chain, {"person": sizes}, queries=["r(x,y)"], effort="quick").rows
        ),
    }
    for name, run in cases.items():
        started = time.process_time()
        run()
        table.add_row(name, f"{time.process_time() - started:.2f}")
    return table


def sweeps() -> Table:
    table = Table(title=f"a sweep of {POINTS} points against single solves (goal: ratio 20)")
    table.add_column("model")
    table.add_column("solver")
    for heading in ("points", "sweep, ms", "single, ms", "ratio"):
        table.add_column(heading, justify="right")
    sizes = size_range("person", "2..1e9", POINTS)
    for name in PAPER_MODELS:
        model = liftgbp.load(MODELS / f"{name}.mln")
        queries = [QUERY.get(name, "r(x,y)")]
        for solver in (liftgbp.Auto(), liftgbp.Flooding()):
            whole = milliseconds(
                lambda m=model, q=queries, s=solver: (
                    liftgbp.sweep(m, {"person": sizes}, queries=q, solver=s, effort="quick").rows
                ),
                repetitions=2,
            )
            single = mean(
                milliseconds(lambda m=model, n=n, s=solver: _infer(m, n, s), repetitions=3)
                for n in SIZES
            )
            table.add_row(
                name,
                type(solver).__name__.lower(),
                str(len(sizes)),
                f"{whole:.0f}",
                f"{single:.1f}",
                f"{whole / single:.0f}",
            )
    return table


def _infer(model: liftgbp.Model, people: int, solver: liftgbp.Auto | liftgbp.Flooding) -> None:
    liftgbp.infer(model, {"person": people}, solver=solver, effort="quick")


if __name__ == "__main__":
    main()
