"""Best worlds beside other programs, in one run and in processor time of one thread.

`OMP_NUM_THREADS=1 python -m benchmarks.worlds` prints a line for each goal; names of parts choose
among them: `attractive`, `records`, `glass`, `extremal`, `walk`. HiGHS gets the whole program in
whole numbers, RC2 (of python-sat, in its own environment) the same clauses, and MaxWalkSAT is
`benchmarks.walk_sat`, with ten seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
from rich.console import Console

import liftgbp
from benchmarks import others
from benchmarks.walk_sat import MaxWalkSat
from benchmarks.worlds_instances import WeightedClauses, clauses_of, glass, records, smokers
from liftgbp.evidence import Problem
from liftgbp.ground.grounding import GroundNetwork, ground_network
from liftgbp.worlds import Budget
from liftgbp.worlds.ground import NetworkOptimum, best_of_network

PEOPLE = 100_000
RECORDS, ENTITIES = 100, 20
NOISE = (0.02, 0.03, 0.04)
"""Of records: with more noise, the linear program is not whole."""

SIDE = 40
OBJECTS = 10**9
CLOCK = 300.0
"""Seconds on the clock that HiGHS may take."""

LIMIT = 60.0
"""Seconds of processor time that RC2 may take, as other programs in an environment of their own."""


WALK_SECONDS, WALK_PEOPLE = 10.0, (1_000, 100_000)
EXTREMAL = (
    *("two-sides", "opposites", "no-triangles", "no-shortcuts", "no-four-friends", "three-teams"),
    *("couples", "pairs", "ranking", "cycles", "one-step"),
)

Result = TypeVar("Result")
console = Console(width=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts: dict[str, Callable[[], None]] = {
        "attractive": attractive,
        "records": entity_resolution,
        "glass": frustrated,
        "extremal": extremal,
        "walk": walks,
    }
    parser.add_argument("names", nargs="*", choices=[*parts, []], default=[])
    # Times are without imports.
    best_of_network(written_out(smokers(10)), Budget())
    for name in parser.parse_args().names or parts:
        parts[name]()


def attractive() -> None:
    """People whose friends are known."""
    problem = smokers(PEOPLE)
    network, grounding = timed(lambda: ground_network(problem, chained=True))
    best, ours = timed(lambda: best_of_network(network, Budget()))
    console.print(
        f"attractive, {PEOPLE} people: {len(network.ranges)} atoms, {network.factors} factors, "
        f"{proof(best)}"
    )
    goal("solving / grounding", ours, grounding, 1.0)
    score, theirs = highs(clauses_of(network))
    agree(best, score)
    goal("solving / HiGHS", ours, theirs, 1 / 50)


def entity_resolution() -> None:
    """Records that look alike."""
    missing = others.missing("pysat")
    if missing:
        console.print(f"RC2 is left out: {missing}")
    for noise in NOISE:
        network = written_out(records(RECORDS, ENTITIES, noise))
        best, ours = timed(partial(best_of_network, network, Budget()))
        console.print(
            f"entity resolution, {RECORDS} records, noise {noise:.0%}: {network.factors} factors, "
            f"{proof(best)}"
        )
        clauses = clauses_of(network)
        score, theirs = highs(clauses)
        agree(best, score)
        goal("solving / HiGHS", ours, theirs, 1 / 10)
        if missing:
            continue
        task = {"variables": clauses.variables, "hard": clauses.hard, "soft": clauses.soft}
        found = others.reply(others.worker("rc2"), LIMIT, json.dumps(task))
        if isinstance(found, str):
            console.print(f"  RC2: {found}")
            found = others.Reply(math.nan, LIMIT)
        agree(best, clauses.score(found.value))
        goal("solving / RC2", ours, found.seconds, 1 / 4)


def proof(best: NetworkOptimum) -> str:
    """Whether a world is proven to be best, and by what."""
    return f"{'proven' if best.score == best.upper else 'NOT PROVEN'} by {', '.join(best.how)}"


def frustrated() -> None:
    """A glass: which world is best is not proven, but a bound is close."""
    trace = Trace.of(glass(SIDE), 60.0)
    gaps = [(seconds, (upper - score) / abs(score)) for seconds, score, upper in trace.steps]
    close = next((seconds for seconds, gap in gaps if gap <= 1e-3), math.inf)
    console.print(f"glass, {SIDE} × {SIDE}: score {trace.steps[-1][1]:.2f}")
    console.print(f"  gap {100 * gaps[-1][1]:.3f} % in the end")
    goal("seconds until the gap is 0.1 %", close, 1.0, 60.0)


def extremal() -> None:
    """Worlds over a billion objects, from the text of a model to the proof."""
    console.print(f"extremal models over {OBJECTS:.0e} objects")
    for name in EXTREMAL:
        model = liftgbp.load(f"example:{name}")
        sizes = dict.fromkeys(model.sorts, OBJECTS)
        world, seconds = timed(partial(liftgbp.best_world, model, sizes))
        proof = "proven" if world.proven else f"NOT PROVEN, gap {world.gap:.3g}"
        goal(f"{name}: {proof}; seconds", seconds, 1.0, 2.0)


def walks() -> None:
    """Where ten seconds of MaxWalkSAT lead, and when that was passed."""
    networks = {
        f"attractive, {people} people": written_out(smokers(people)) for people in WALK_PEOPLE
    }
    networks[f"entity resolution, {RECORDS} records"] = written_out(
        records(RECORDS, ENTITIES, NOISE[-1])
    )
    networks[f"glass, {SIDE} × {SIDE}"] = glass(SIDE)
    friends = liftgbp.load("example:friends-smokers")
    networks["friends and smokers, 100 people"] = written_out(
        Problem.of(friends, None, {"person": 100})
    )
    for name, network in networks.items():
        clauses = clauses_of(network)
        walk = clauses.score(MaxWalkSat(clauses).search(WALK_SECONDS))
        trace = Trace.of(network, 20.0)
        passed = (seconds for seconds, score, _ in trace.steps if score >= walk - 1e-9)
        console.print(f"{name}: MaxWalkSAT reaches {walk:.2f}, we {trace.steps[-1][1]:.2f}")
        goal("seconds until MaxWalkSAT is reached", next(passed, math.inf), 1.0, 1.0)


def written_out(problem: Problem) -> GroundNetwork:
    return ground_network(problem, chained=True)


@dataclass
class Trace:
    """How a search went: processor time, score and bound."""

    steps: list[tuple[float, float, float]] = field(default_factory=list)

    @staticmethod
    def of(network: GroundNetwork, seconds: float) -> Trace:
        """The search for the best world of a network."""
        trace, started = Trace(), processor_time()

        def hear(score: Fraction | float, upper: Fraction | float) -> None:
            trace.steps.append((processor_time() - started, float(score), float(upper)))

        best = best_of_network(network, Budget(seconds=seconds, report=hear))
        hear(best.score, best.upper)
        return trace


# --- other programs


def highs(problem: WeightedClauses) -> tuple[float, float]:
    """The best score by HiGHS with the whole program, and its processor time."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    single = [(weight, clause[0]) for weight, clause in problem.soft if len(clause) == 1]
    longer = [(weight, clause) for weight, clause in problem.soft if len(clause) > 1]
    size = problem.variables + len(longer)
    cost = np.zeros(size)
    constant = 0.0
    for weight, literal in single:
        cost[abs(literal) - 1] -= math.copysign(weight, literal)
        constant += weight * (literal > 0)
    cost[problem.variables :] = [weight for weight, _ in longer]
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    least: list[float] = []
    every = [clause for _, clause in longer] + problem.hard
    for number, clause in enumerate(every):
        # Literals that hold, or a column for the violated clause, add up to one.
        rows += [number] * len(clause)
        columns += [abs(literal) - 1 for literal in clause]
        entries += [math.copysign(1.0, literal) for literal in clause]
        least.append(1.0 - sum(literal < 0 for literal in clause))
        if number < len(longer):
            rows.append(number)
            columns.append(problem.variables + number)
            entries.append(1.0)
    matrix = csr_array((entries, (rows, columns)), shape=(len(every), size))
    result, seconds = timed(
        lambda: milp(
            cost,
            integrality=np.arange(size) < problem.variables,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=np.array(least)),
            options={"time_limit": CLOCK, "mip_rel_gap": 0.0},
        )
    )
    if result.x is None or result.status != 0:
        console.print(f"  HiGHS was stopped by the clock, after {seconds:.0f} s of processor time")
        return math.nan, seconds
    return problem.score(result.fun + constant), seconds


# --- what is measured


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What comes out, and its processor time."""
    started = processor_time()
    result = work()
    return result, processor_time() - started


def processor_time() -> float:
    """Of this process and of those that it has started, which have ended by now."""
    every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(own.ru_utime + own.ru_stime for own in every)


def goal(name: str, value: float, other: float, most: float) -> None:
    """Print a ratio, and whether it is small enough."""
    ratio = value / other
    verdict = "" if ratio <= most else "  MISSED"
    numbers = f"{value:.3g}" if other == 1.0 else f"{value:.3g} s / {other:.3g} s = {ratio:.3g}"
    console.print(f"  {name}: {numbers} (at most {most:.3g}){verdict}", highlight=False)


def agree(best: NetworkOptimum, score: float) -> None:
    """Two programs that both prove their worlds must agree; one that was stopped has no score."""
    if not math.isnan(score) and abs(float(best.score) - score) > 1e-6 * abs(score):
        raise AssertionError(f"another program finds {score}, we {float(best.score)}")


if __name__ == "__main__":
    main()
