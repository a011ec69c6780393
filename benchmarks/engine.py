"""The engine on the paper's four models: its stages, and its cost beside that of ground GBP."""

from __future__ import annotations

import warnings
from itertools import islice

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import MODELS, PAPER_MODELS, milliseconds, peak_kib
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import canonise
from liftgbp.oracle import reference
from liftgbp.plan import compile_plan
from liftgbp.solve import Flooding

ITERATIONS = 500
LARGE = 10**9
GROUND_SIZES = (3, 4, 5)


def main() -> None:
    # Iterates of diverging models leave the range of floating point; here only their time counts.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    console = Console(width=120)
    console.print(stages())
    console.print(growth())
    console.print(large_tables())


def _flood(plan: object) -> None:
    for _ in islice(Flooding().iterates(plan), ITERATIONS + 1):
        pass


def _all_stages(model: liftgbp.Model, people: int) -> None:
    canonise.cache_clear()
    graph = build_regions(shatter(model, {"person": people}))
    _flood(compile_plan(graph))


def _ground(model: liftgbp.Model, people: int) -> None:
    graph = reference.ground_regions(reference.ground(model, {"person": people}))
    for _ in islice(reference.iterates(graph, iterations=ITERATIONS), ITERATIONS + 1):
        pass


def stages() -> Table:
    table = Table(title="milliseconds per stage at N = 10 (goal: graph 10, 500 iterations 25)")
    for heading in ("model", "shatter", "region graph", "plan", f"{ITERATIONS} iterations"):
        table.add_column(heading, justify="right")
    for name in PAPER_MODELS:
        model = liftgbp.load(MODELS / f"{name}.mln")
        normal = shatter(model, {"person": 10})
        graph = build_regions(normal)
        plan = compile_plan(graph)

        def regions(normal: object = normal) -> None:
            canonise.cache_clear()
            build_regions(normal)

        times = (
            milliseconds(lambda model=model: shatter(model, {"person": 10})),
            milliseconds(regions),
            milliseconds(lambda graph=graph: compile_plan(graph)),
            milliseconds(lambda plan=plan: _flood(plan)),
        )
        table.add_row(name, *(f"{t:.2f}" for t in times))
    return table


def growth() -> Table:
    table = Table(
        title="all stages with 500 iterations: N = 10⁹ against N = 10 (goal: within 20%), "
        "and ground GBP"
    )
    table.add_column("model")
    for heading in ("N = 10, ms", "N = 10⁹, ms", "time ratio", "memory ratio"):
        table.add_column(heading, justify="right")
    for people in GROUND_SIZES:
        table.add_column(f"ground N = {people}, ms", justify="right")
    for name in PAPER_MODELS:
        model = liftgbp.load(MODELS / f"{name}.mln")
        small = milliseconds(lambda model=model: _all_stages(model, 10))
        large = milliseconds(lambda model=model: _all_stages(model, LARGE))
        memory = peak_kib(lambda model=model: _all_stages(model, LARGE)) / peak_kib(
            lambda model=model: _all_stages(model, 10)
        )
        ground = [
            milliseconds(lambda model=model, n=n: _ground(model, n), repetitions=1)
            for n in GROUND_SIZES
        ]
        table.add_row(
            name,
            f"{small:.1f}",
            f"{large:.1f}",
            f"{large / small:.2f}",
            f"{memory:.2f}",
            *(f"{t:.0f}" for t in ground),
        )
    return table


def large_tables() -> Table:
    table = Table(title="compiling all atoms r(i,j) over some objects (goal: 60 s for 2²⁰ states)")
    for heading in ("objects", "states", "entries", "plan, ms"):
        table.add_column(heading, justify="right")
    model = liftgbp.load(MODELS / "transitive.mln")
    for objects in (3, 4, 5):
        normal = shatter(model, {"person": 12})
        graph = build_regions(normal, f"objects:{objects}")
        entries = compile_plan(graph).layout.region_slice(0).stop
        time = milliseconds(lambda graph=graph: compile_plan(graph), repetitions=2)
        table.add_row(
            str(objects), str(2 ** (objects * (objects - 1))), str(entries), f"{time:.1f}"
        )
    return table


if __name__ == "__main__":
    main()
