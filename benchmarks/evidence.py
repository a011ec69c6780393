"""Marginals in a social network that is known, of people of whom some are known to smoke."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import ground_network
from liftgbp.oracle import reference
from liftgbp.plan import compile_plan
from liftgbp.solve import Flooding, Solution

MODEL = """
friends(person, person)
smokes(person)
cancer(person)
-1.0 smokes(x)
-2.0 cancer(x)
1.5 smokes(x) => cancer(x)
0.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
FRIENDS_OF_EACH = 5
SHARE_OF_KNOWN_SMOKERS = 0.25
PEOPLE = 2000
# The reference keeps a dictionary entry per ground region, and tries all pairs of people.
PEOPLE_ON_GROUND = 100
ITERATIONS = 50

Result = TypeVar("Result")


@dataclass(frozen=True)
class Data:
    """The files of one network."""

    friends: Path
    smokers: Path


def main() -> None:
    console = Console(width=120)
    table = Table(
        title=f"smoking and cancer with {FRIENDS_OF_EACH} friends each and a quarter known "
        "smokers, files to marginals (goal: 30 s for 2 000 people)"
    )
    headings = ("people", "friendships", "known smokers", "compressed, s", "uncompressed, s")
    headings = (*headings, "reference, s")
    for heading in (*headings, "largest difference"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        table.add_row(*_row(Path(folder), PEOPLE_ON_GROUND, beside_ground=True))
        table.add_row(*_row(Path(folder), PEOPLE, beside_ground=False))
    console.print(table)


def _row(folder: Path, people: int, beside_ground: bool) -> list[str]:
    data = _write(folder, people)
    counts = (people, people * FRIENDS_OF_EACH, int(people * SHARE_OF_KNOWN_SMOKERS))
    seconds, compressed = _timed(lambda: _compressed(data, people))
    plain, _ = _timed(lambda: _uncompressed(data, people))
    row = [*map(str, counts), f"{seconds:.1f}", f"{plain:.1f}"]
    if not beside_ground:
        return [*row, "", ""]
    seconds, ground = _timed(lambda: _ground(data, people))
    difference = max(abs(compressed[atom] - ground[atom]) for atom in ground)
    return [*row, f"{seconds:.1f}", f"{difference:.0e}"]


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _write(folder: Path, people: int) -> Data:
    """A random network: the same one in every run."""
    rng = random.Random(people)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < people * FRIENDS_OF_EACH:
        x, y = rng.sample(range(people), 2)
        pairs.add((x, y))
    smokers = rng.sample(range(people), int(people * SHARE_OF_KNOWN_SMOKERS))
    data = Data(folder / f"friends-{people}.csv", folder / f"smokers-{people}.db")
    lines = [f"P{x},P{y}\n" for x, y in sorted(pairs)]
    data.friends.write_text("x,y\n" + "".join(lines), encoding="utf-8")
    data.smokers.write_text("".join(f"smokes(P{x})\n" for x in sorted(smokers)), encoding="utf-8")
    return data


def _evidence(data: Data) -> tuple[liftgbp.Model, liftgbp.Evidence]:
    model = liftgbp.parse(MODEL)
    sources = (f"friends={data.friends}", str(data.smokers))
    return model, liftgbp.load_evidence(model, *sources, closed=("friends",))


def _compressed(data: Data, people: int) -> dict[str, float]:
    model, evidence = _evidence(data)
    answers = liftgbp.infer(
        model,
        {"person": people},
        evidence=evidence,
        via="ground",
        solver=Flooding(iterations=ITERATIONS),
    )
    names = evidence.names["person"]
    return {
        f"{predicate}({name})": answers.marginal(f"{predicate}({name})")
        for predicate in ("smokes", "cancer")
        for name in names
    }


def _uncompressed(data: Data, people: int) -> Solution:
    """The same message passing with a region for each ground region."""
    network = ground_network(Problem.of(*_evidence(data), {"person": people}))
    all_different = np.arange(len(network.ranges))
    graph = compress(ground_region_graph(network), network, colours=all_different)
    return Flooding(iterations=ITERATIONS)(compile_plan(graph))


def _ground(data: Data, people: int) -> dict[str, float]:
    """The reference, which tries all pairs of people; observed atoms are left out."""
    model, evidence = _evidence(data)
    grounded = reference.ground(model, {"person": people}, evidence)
    graph = reference.ground_regions(grounded)
    beliefs = reference.run(graph, iterations=ITERATIONS, tol=1e-12).beliefs
    names = evidence.names["person"]
    return {
        f"{atom.predicate}({names[atom.objects[0]]})": float(
            reference.marginal(graph, beliefs, atom)[1]
        )
        for atom in grounded.atoms
        if atom.predicate != "friends" and atom.objects[0] < len(names)
    }


if __name__ == "__main__":
    main()
