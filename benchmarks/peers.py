"""Other programs on friends-smokers, as far as each goes in a minute: their time and their error.

`python -m benchmarks.peers` prints a line for each program and number of people; names of programs
choose among them. Errors are those
of P(friends(x,y)) for two different people, and of log Z for programs that count; what is true is a
sum over the number of smokers, which uses neither liftgbp nor any of the others. Each program runs
in a process of its own; times are processor time without imports.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable

from rich.console import Console

import liftgbp
from benchmarks import others
from benchmarks.accuracy import Value, over_number_of_smokers
from benchmarks.others import Reply

WEIGHT = 1.4
SIZES = (5, 10, 20, 50, 100, 200, 500)
LIMIT = 60.0
ITERATIONS = 500
REPETITIONS = 3
RULE = "friends(x,y) ^ smokes(x) => smokes(y)"
MODEL = liftgbp.parse(f"friends(person,person)\nsmokes(person)\n{WEIGHT} {RULE} | x != y")
ATOM = "friends(x,y)"

Program = Callable[[int], Reply | str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="how the names of programs begin")
    chosen = tuple(parser.parse_args().names) or ("",)
    console = Console(width=120)
    programs: dict[str, tuple[str, Program]] = {
        "liftgbp, exact": ("", _ours(exact=True)),
        "liftgbp, default": ("", _ours()),
        "pgmpy, variable elimination": ("pgmpy", _on_ground("pgmpy")),
        "pgmpy, junction tree": ("pgmpy", _on_ground("pgmpy_tree")),
        "pyAgrum, junction tree": ("pyagrum", _on_ground("pyagrum")),
        "PGMax, loopy BP": ("pgmax", _on_ground("pgmax")),
        "WFOMC": ("wfomc", _count),
        "liftgbp, log Z": ("", _our_count),
    }
    for name, (module, program) in programs.items():
        if not name.startswith(chosen):
            continue
        if module and (why := others.missing(module)):
            console.print(f"{name} is left out: {why}")
            continue
        for people in SIZES:
            found = program(people)
            if isinstance(found, Reply) and not math.isfinite(found.value):
                found = "its answer is not a number"
            if isinstance(found, str):
                console.print(f"{name}, N = {people}: {found}")
                break
            error = abs(found.value - _true_value(people, log_z=program in (_count, _our_count)))
            console.print(f"{name}, N = {people}: {1e3 * found.seconds:.3g} ms, error {error:.1e}")


def _true_value(people: int, *, log_z: bool) -> float:
    true: Value = over_number_of_smokers(WEIGHT, people)
    return true.log_z if log_z else true.probability


def _ours(**options: bool) -> Program:
    def run(people: int) -> Reply | str:
        try:
            found = [_once(people, **options) for _ in range(REPETITIONS)]
        except liftgbp.CapacityError as error:
            return f"it is refused: {error.message}"
        return min(found, key=lambda own: own.seconds)

    return run


def _once(people: int, **options: bool) -> Reply:
    started = time.process_time()
    answers = liftgbp.infer(MODEL, {"person": people}, **options)
    probability = answers.marginal(ATOM)
    return Reply(probability, time.process_time() - started)


def _our_count(people: int) -> Reply | str:
    try:
        started = time.process_time()
        log_z = liftgbp.infer(MODEL, {"person": people}, exact=True).log_z
        return Reply(log_z, time.process_time() - started)
    except liftgbp.CapacityError as error:
        return f"it is refused: {error.message}"


def _on_ground(program: str) -> Program:
    def run(people: int) -> Reply | str:
        task = others.ground_json(MODEL, people, "friends", ITERATIONS)
        return others.reply(others.worker(program), LIMIT, task)

    return run


def _count(people: int) -> Reply | str:
    text = f"{WEIGHT} friends(X,Y) & smokes(X) -> smokes(Y)\n\nperson = {people}\n"
    found = others.reply(others.worker("wfomc"), LIMIT, json.dumps({"model": text}))
    if isinstance(found, str):
        return found
    # Its rule is also about a person and the same person, where it holds in any world.
    return Reply(found.value - people * WEIGHT, found.seconds)


if __name__ == "__main__":
    main()
