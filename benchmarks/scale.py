"""A social network of many people, from files to marginals: processor time of each stage.

`python -m benchmarks.scale` takes 1 000, 10 000 and 100 000 people; `python -m benchmarks.scale
1000000` takes others. Five closed friendships for each person and a quarter known smokers leave
hardly two people alike, so nothing is compressed away.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.evidence import FRIENDS_OF_EACH, MODEL, SHARE_OF_KNOWN_SMOKERS
from liftgbp.evidence import Problem
from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import ground_network
from liftgbp.lift.via import choose_via
from liftgbp.plan import compile_plan
from liftgbp.solve import Auto, Flooding

PEOPLE = (10**3, 10**4, 10**5)

Result = TypeVar("Result")


class Stages:
    """Seconds of processor time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        started = time.process_time()
        result = work()
        self.seconds[name] = time.process_time() - started
        return result


def main() -> None:
    people = [int(float(own)) for own in sys.argv[1:]] or PEOPLE
    console = Console(width=150)
    rows: list[tuple[str, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in people:
            found = run(Path(folder), number)
            cells = [f"{seconds:.2f}" for seconds in found.seconds.values()]
            counts = " / ".join(map(str, found.iterations))
            rows.append((f"{number}", [*cells, counts, f"{found.peak:.2f}"]))
            headings = list(found.seconds)
    table = Table(title="seconds of processor time by stage, and the peak up to `auto`, in GB")
    for heading in ("people", *headings, "iterations", "GB"):
        table.add_column(heading, justify="right")
    for number, cells in rows:
        table.add_row(number, *cells)
    console.print(table)


@dataclass(frozen=True)
class Measured:
    """Seconds by stage, the iterations of both runs, and the peak of memory in GB."""

    seconds: dict[str, float]
    iterations: list[int]
    peak: float


def run(folder: Path, people: int) -> Measured:
    """All stages; message passing as `auto` does it, and then as in the paper."""
    model, stages = liftgbp.parse(MODEL), Stages()
    friends, smokers = write(folder, people)

    def read() -> Problem:
        sources = f"friends={friends}", smokers
        evidence = liftgbp.load_evidence(model, *sources, closed=("friends",))
        return Problem.of(model, evidence, {"person": people})

    problem = stages("reading", read)
    stages("classes", partial(choose_via, "auto", problem, "intersections"))
    network = stages("grounding", partial(ground_network, problem))
    del problem  # the names of a million people take a gigabyte
    regions = stages("regions", lambda: ground_region_graph(network))
    graph = stages("compression", partial(compress, regions, network))
    del regions
    plan = stages("plan", lambda: compile_plan(graph))
    auto = stages("auto", lambda: Auto()(plan))
    stages("its verdict", lambda: auto.verdict)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    paper = stages("flooding", lambda: Flooding()(plan))
    stages("verdict", lambda: paper.verdict)
    return Measured(stages.seconds, [auto.iterations, paper.iterations], peak)


def write(folder: Path, people: int) -> tuple[str, str]:
    """The files of a random network: the same one in every run."""
    rng = np.random.default_rng(people)
    pairs = np.unique(rng.integers(0, people**2, size=FRIENDS_OF_EACH * people))
    known = rng.choice(people, int(people * SHARE_OF_KNOWN_SMOKERS), replace=False)
    friends, smokers = folder / f"friends-{people}.csv", folder / f"smokers-{people}.db"
    both = zip((pairs // people).tolist(), (pairs % people).tolist(), strict=True)
    lines = [f"P{x},P{y}\n" for x, y in both if x != y]
    friends.write_text("x,y\n" + "".join(lines), encoding="utf-8")
    smokers.write_text("".join(f"smokes(P{x})\n" for x in known.tolist()), encoding="utf-8")
    return str(friends), str(smokers)


if __name__ == "__main__":
    main()
