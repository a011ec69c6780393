"""How the cost grows with the model: time per lifted table entry and edge should stay flat.

`--jobs` lets several processes share the rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.timing import add_jobs
from liftgbp.lift.regions import build as regions_build, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import canonise
from liftgbp.plan import compile as plan_compile, compile_plan
from liftgbp.solve import Flooding
from liftgbp.support.workers import finished, in_order

PEOPLE = 100


@dataclass(frozen=True, slots=True)
class Family:
    """Models of growing size: what grows, the steps, and the text of each model."""

    quantity: str
    steps: tuple[int, ...]
    text: Callable[[int], str]


def formulas(count: int) -> str:
    """So many formulas over the same seven predicates."""
    declared = [f"p{i}(person)" for i in range(6)]
    rules = [f"0.{k + 1:02} p{k // 6}(x) ^ r(x,y) => p{k % 6}(y) | x != y" for k in range(count)]
    return "\n".join([*declared, "r(person, person)", *rules])


def random_rules(count: int, seed: int = 0) -> str:
    """So many random rules over six unary predicates and a binary one."""
    generator = Random(seed)
    unary = [f"p{i}" for i in range(6)]

    def literal(atom: str) -> str:
        return f"!{atom}" if generator.random() < 0.3 else atom

    def rule() -> str:
        first, last, other = (generator.choice(unary) for _ in range(3))
        middle = generator.choice(["r(x,y)", "r(y,x)", f"{other}(y)"])
        body = f"{literal(f'{first}(x)')} ^ {literal(middle)}"
        return f"{generator.uniform(-0.05, 0.05):.4f} {body} => {literal(f'{last}(y)')} | x != y"

    declared = [f"{p}(person)" for p in unary]
    return "\n".join([*declared, "r(person, person)", *(rule() for _ in range(count))])


def unary_rules(count: int, seed: int = 0) -> str:
    """So many random rules of three atoms over as many unary predicates."""
    generator = Random(seed)
    unary = [f"p{i}" for i in range(count)]

    def literal(atom: str) -> str:
        return f"!{atom}" if generator.random() < 0.3 else atom

    def rule() -> str:
        first, middle, last = (generator.choice(unary) for _ in range(3))
        weight = generator.uniform(-0.05, 0.05)
        body = f"{literal(f'{first}(x)')} ^ {literal(f'{middle}(y)')}"
        return f"{weight:.4f} {body} => {literal(f'{last}(y)')} | x != y"

    return "\n".join([*(f"{p}(person)" for p in unary), *(rule() for _ in range(count))])


def arity(count: int) -> str:
    """One predicate with so many arguments, and its rotation."""
    variables = "xyzuv"[: max(2, count)]
    args, rotated = variables[:count], (variables[1:] + variables[0])[:count]
    sorts = ", ".join(["person"] * count)
    return f"r({sorts})\n0.5 r({','.join(args)}) => r({','.join(rotated)}) | distinct"


def predicates(count: int) -> str:
    """So many predicates, each tied to the next."""
    declared = [f"p{i}(person)" for i in range(count)]
    rules = [f"0.1 p{i}(x) <=> p{(i + 1) % count}(y) | x != y" for i in range(count)]
    return "\n".join([*declared, *rules])


def unlike_predicates(count: int) -> str:
    """So many predicates, each tied to the next by a weight of its own: nothing is symmetric."""
    declared = [f"p{i}(person)" for i in range(count)]
    rules = [
        f"{0.001 * (1 + i / 100):.5f} p{i}(x) ^ p{(i + 1) % count}(y) | x != y"
        for i in range(count)
    ]
    return "\n".join([*declared, *rules])


def region_states(bits: int) -> str:
    """A region of 2 to the so many states, which shares an atom with another."""
    declared = [f"p{i}(person)" for i in range(bits)]
    atoms = " v ".join(f"p{i}(x)" for i in range(bits))
    return "\n".join([*declared, f"0.5 {atoms}", "0.01 p0(x) <=> p0(y) | x != y"])


def classes(count: int) -> str:
    """So many people that formulas mention by name, each a class of its own."""
    facts = [f"0.{k + 1:02} smokes(P{k})" for k in range(count - 1)]
    rule = "0.01 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    return "\n".join(["friends(person, person)", "smokes(person)", *facts, rule])


FAMILIES = (
    Family("formulas", (1, 3, 10, 30), formulas),
    Family("arity", (1, 2, 3, 4), arity),
    Family("predicates", (2, 4, 8, 16, 32), predicates),
    Family("unlike predicates", (4, 8, 16, 32, 64), unlike_predicates),
    Family("2^k states", (4, 8, 12, 16, 20), region_states),
    Family("classes", (1, 2, 5, 10, 20), classes),
)


def main(jobs: int = 1) -> None:
    Console(width=120).print(growth(jobs))


def growth(jobs: int) -> Table:
    table = Table(
        title=f"cost against size, {PEOPLE} people, ms: the last two columns should stay flat"
    )
    table.add_column("what grows")
    headings = ("", "regions", "edges", "entries", "shatter", "graph", "plan", "solve", "auto, ms")
    for heading in (*headings, "build, µs per entry + edge", "auto, µs per entry + edge"):
        table.add_column(heading, justify="right")
    wanted = [(family, step) for family in FAMILIES for step in family.steps]
    found = in_order(finished(_row, wanted, jobs))
    for (family, step), row in zip(wanted, found, strict=True):
        table.add_row(family.quantity, *row, end_section=step == family.steps[-1])
    return table


def _row(wanted: tuple[Family, int]) -> list[str]:
    family, step = wanted
    stages = _stages(liftgbp.parse(family.text(step)))
    units = stages.entries + stages.edges
    return [
        str(step),
        str(stages.regions),
        str(stages.edges),
        f"{stages.entries:,}",
        *(f"{1e3 * seconds:.1f}" for seconds in (*stages.build, stages.solve, stages.auto)),
        f"{1e6 * sum(stages.build) / units:.1f}",
        f"{1e6 * stages.auto / units:.1f}",
    ]


@dataclass(frozen=True, slots=True)
class Stages:
    regions: int
    edges: int
    entries: int
    build: tuple[float, float, float]
    solve: float
    auto: float


def _stages(model: liftgbp.Model) -> Stages:
    sizes = {"person": PEOPLE}
    clock = [time.process_time()]

    def tick() -> None:
        clock.append(time.process_time())

    _forget()
    normal = shatter(model, sizes)
    tick()
    graph = build_regions(normal)
    tick()
    plan = compile_plan(graph)
    tick()
    Flooding()(plan)
    tick()
    _forget()
    liftgbp.infer(model, sizes, effort="quick")
    tick()
    shattered, regions, compiled, solve, auto = (b - a for a, b in pairwise(clock))
    entries = plan.layout.region_slice(len(graph.regions) - 1).stop + plan.layout.message_entries
    return Stages(
        len(graph.regions), len(graph.edges), entries, (shattered, regions, compiled), solve, auto
    )


def _forget() -> None:
    """What is known of earlier models, or of this one from building it first."""
    canonise.cache_clear()
    plan_compile._kept.clear()
    regions_build._kept.clear()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_jobs(parser)
    main(parser.parse_args().jobs)
