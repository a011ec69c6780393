"""A table of answers, to tell whether a change of the engine changes any of them.

`python -m benchmarks.answers write table.json` solves the shipped models, the accuracy grid and two
hundred random models by several solvers and families, which takes some ten minutes; names after the
file pick parts of the table. `python -m benchmarks.answers compare before.json after.json` lists
every difference between two tables and ends with code 1 if there is any.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import liftgbp
from benchmarks.accuracy import CASES, WEIGHTS
from benchmarks.timing import MODELS

SAME_PROBABILITY = 1e-9
SAME_LOG_Z, ROUNDED_LOG_Z = 1e-12, 1e-9
"""Log Z is the same if it differs by less than the first in proportion, or by the second."""

SMALLEST_SHARE = 1e-9
"""Minima with a smaller share are not counted."""

SIZES = (3, 10, 100, 10**4, 10**6, 10**9)
LARGEST_SUM = 10**6
SOLVERS = {"auto": "auto", "flooding": liftgbp.Flooding(), "descent": liftgbp.Descent()}
FAMILIES = ("bethe", "subsets", "objects:2", "objects:3")
RANDOM_MODELS = 200

METHODS: dict[str, dict[str, Any]] = {
    "bethe": {"regions": "bethe", "solver": liftgbp.Flooding()},
    "paper": {"solver": liftgbp.Flooding()},
    "default": {},
    "counts": {"sum_over": "smokes"},
    "objects:3": {"regions": "objects:3"},
    "objects:4": {"regions": "objects:4"},
    "auto": {"regions": "auto", "table_cap": 2**12},
    "sharpest": {"sum_over": "auto", "regions": "auto", "table_cap": 2**12},
}
LARGEST_SHARPEST = 20

Run = Callable[[], liftgbp.Answers]
Record = dict[str, Any]


def main() -> int:
    match sys.argv[1:]:
        case ["write", path, *parts]:
            write(Path(path), parts or list(PARTS))
            return 0
        case ["compare", before, after]:
            return compare(*(json.loads(Path(path).read_text()) for path in (before, after)))
    print(__doc__)
    return 2


# --- writing


def write(path: Path, parts: list[str]) -> None:
    warnings.simplefilter("ignore")  # flooding leaves the range of floats where it diverges
    table: dict[str, Record] = {}
    for part in parts:
        for name, run in PARTS[part]():
            table[f"{part}/{name}"] = record(run)
            print(f"\r{len(table)} answers, last {part}/{name}\033[K", end="", flush=True)
    path.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    print()


def record(run: Run) -> Record:
    started = time.process_time()
    try:
        answers = run()
    except liftgbp.InputError as error:
        return {"error": type(error).__name__}
    return {
        "rows": [
            [row.atom, row.where, row.count, list(map(_finite, row.values.values()))]
            for row in answers.all
        ],
        "log_z": _finite(answers.log_z),
        "status": answers.status.value,
        "trusted": answers.flaw is None,
        "reason": answers.reason,
        "minima": sum(point.weight > SMALLEST_SHARE for point in answers.minima),
        "seconds": time.process_time() - started,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def shipped() -> Iterator[tuple[str, Run]]:
    for path in sorted(MODELS.glob("*.mln")):
        model = liftgbp.load(path)
        facts = path.with_suffix(".db")
        if facts.exists():
            known = liftgbp.load_evidence(model, facts)
            for via in ("lifted", "ground"):
                for name, solver in SOLVERS.items():
                    yield (
                        f"{path.stem}/{via}/{name}",
                        _run(model, {}, evidence=known, via=via, solver=solver),
                    )
            continue
        for size in SIZES:
            sizes = dict.fromkeys(model.sorts, size)
            for name, solver in SOLVERS.items():
                yield f"{path.stem}/{size}/{name}", _run(model, sizes, solver=solver)
            for family in FAMILIES:
                yield f"{path.stem}/{size}/{family}", _run(model, sizes, regions=family)
            if size <= LARGEST_SUM:
                yield f"{path.stem}/{size}/sum_over", _run(model, sizes, sum_over="auto")


def grid() -> Iterator[tuple[str, Run]]:
    for case in CASES:
        for weight in WEIGHTS:
            model = case.model(weight)
            for size in case.sizes:
                for method, options in METHODS.items():
                    if method == "counts" and not case.counted:
                        continue
                    if method == "sharpest" and size > LARGEST_SHARPEST:
                        continue
                    name = f"{case.name}/{weight}/{size}/{method}"
                    yield name, _run(model, {"person": size}, **options)


def random_models() -> Iterator[tuple[str, Run]]:
    for number in range(RANDOM_MODELS):
        draw = Random(number)
        model = liftgbp.parse(random_text(draw))
        small = {"person": draw.randint(2, 5), "thing": draw.randint(1, 4)}
        for label, sizes in (("small", small), ("large", {"person": 1000, "thing": 50})):
            for name in ("auto", "flooding"):
                yield f"{number}/{label}/{name}", _run(model, sizes, solver=SOLVERS[name])
        yield f"{number}/bethe", _run(model, small, regions="bethe")
        yield f"{number}/sum_over", _run(model, small, sum_over="p")
        facts = random_facts(draw)
        for via in ("lifted", "ground"):

            def with_facts(
                model: liftgbp.Model = model,
                small: Mapping[str, int] = small,
                facts: str = facts,
                via: Any = via,
            ) -> liftgbp.Answers:
                known = liftgbp.parse_evidence(model, facts)
                return liftgbp.infer(model, small, evidence=known, via=via, effort="quick")

            yield f"{number}/evidence/{via}", with_facts


def _run(model: liftgbp.Model, sizes: Mapping[str, int], **options: Any) -> Run:
    return lambda: liftgbp.infer(model, sizes, **{"effort": "quick", **options})


PARTS: dict[str, Callable[[], Iterator[tuple[str, Run]]]] = {
    "shipped": shipped,
    "grid": grid,
    "random": random_models,
}


# --- random models


DECLARED = """\
person = {Anna, Bob}
rain
p(person)
q(thing) : {low, mid, high}
r(person, person)
s(person, thing)
"""


def random_text(draw: Random) -> str:
    """A model with up to three formulas or tables over a few predicates, some of them hard."""
    return DECLARED + "\n".join(_rule(draw) for _ in range(draw.randint(1, 3)))


def _rule(draw: Random) -> str:
    if draw.random() < 0.3:
        atoms = ", ".join(draw.choice(["p(x)", "p(y)", "r(x,y)", "s(x,a)"]) for _ in range(2))
        entries = [str(draw.choice([0.5, 1, 1, 2, 3.5])) for _ in range(4)]
        if draw.random() < 0.2:
            entries[draw.randrange(4)] = "0"
        return f"parfactor {atoms}{_restriction(draw, atoms)} : [{', '.join(entries)}]"
    formula = _formula(draw, 2)
    if draw.random() < 0.1:
        return f"{formula}."
    weight = draw.choice([-1.2, -0.5, 0.3, 0.7, 1.4])
    return f"{weight} {formula}{_restriction(draw, formula)}"


def _restriction(draw: Random, scope: str) -> str:
    chosen = draw.choice(["", "", " | distinct", " | x != y"])
    return "" if "!=" in chosen and not ("x" in scope and "y" in scope) else chosen


def _formula(draw: Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(["", "!"]) + _atom(draw)
    joined = draw.choice([" ^ ", " v ", " => ", " <=> "])
    return f"({_formula(draw, depth - 1)}{joined}{_formula(draw, depth - 1)})"


def _atom(draw: Random) -> str:
    def person() -> str:
        return draw.choice(["x", "x", "y", "y", "z", "Anna"])

    return draw.choice(
        [
            "rain",
            f"p({person()})",
            f"p({person()})",
            f"(q(a) = {draw.choice(['low', 'mid', 'high'])})",
            f"r({person()},{person()})",
            f"r({person()},{person()})",
            f"s({person()},a)",
        ]
    )


def random_facts(draw: Random) -> str:
    """Facts about Anna and Bob, and friends of theirs."""
    names = ("Anna", "Bob")
    atoms = [f"p({one})" for one in names] + [
        f"r({one},{other})" for one in names for other in names
    ]
    chosen = [atom for atom in atoms if draw.random() < 0.5] or atoms[:1]
    return "\n".join(draw.choice(["", "!"]) + atom for atom in chosen)


# --- comparing


def compare(before: Mapping[str, Record], after: Mapping[str, Record]) -> int:
    found = 0
    for key in sorted({*before, *after}):
        if key not in before or key not in after:
            differences = ["only in one of the tables"]
        else:
            differences = list(differences_of(before[key], after[key]))
        if differences:
            found += 1
            print(key, "; ".join(differences), sep=": ")
    seconds = [sum(one.get("seconds", 0.0) for one in table.values()) for table in (before, after)]
    print(
        f"{found} of {len({*before, *after})} answers differ; processor time in seconds: "
        f"{seconds[0]:.1f} before, {seconds[1]:.1f} after"
    )
    return 1 if found else 0


def differences_of(one: Record, other: Record) -> Iterator[str]:
    """What differs between two answers; numbers that neither side trusts are not compared."""
    if "error" in one or "error" in other:
        if one.get("error") != other.get("error"):
            yield f"error {one.get('error')} -> {other.get('error')}"
        return
    if one["trusted"] != other["trusted"]:
        yield f"trusted {one['trusted']} -> {other['trusted']} ({one['reason'] or other['reason']})"
    if one["status"] != other["status"]:
        yield f"status {one['status']} -> {other['status']}"
    if not one["trusted"] and not other["trusted"]:
        return
    if [row[:3] for row in one["rows"]] != [row[:3] for row in other["rows"]]:
        yield "other rows"
        return
    pairs = [
        (p, q)
        for row, same in zip(one["rows"], other["rows"], strict=True)
        for p, q in zip(row[3], same[3], strict=True)
    ]
    if any((p is None) != (q is None) for p, q in pairs):
        yield "a probability is undefined on one side"
    worst = max((abs(p - q) for p, q in pairs if None not in (p, q)), default=0.0)
    if worst > SAME_PROBABILITY:
        yield f"probabilities by {worst:.1e}"
    if _log_z_differs(one["log_z"], other["log_z"]):
        yield f"log Z {one['log_z']} -> {other['log_z']}"
    if one["minima"] != other["minima"]:
        yield f"minima {one['minima']} -> {other['minima']}"


def _log_z_differs(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) > ROUNDED_LOG_Z + SAME_LOG_Z * abs(one)


if __name__ == "__main__":
    sys.exit(main())
