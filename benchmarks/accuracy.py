"""How far answers are from exact ones: by method, model, weight and domain size.

`python -m benchmarks.accuracy` prints, for each cell, the errors of P and of log Z. The paper's
setting is flooding on factor scopes, one solution; quick and normal are levels of effort, normal
without the exact answers that it gives to small models; the default is normal with them; the
sharpest answer sums over counts where that helps, and lets regions grow. `--jobs` lets several
processes share the cells.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.progress import track
from rich.table import Table

import liftgbp
from benchmarks.timing import add_jobs
from liftgbp.oracle import reference
from liftgbp.support.workers import finished, in_order

WEIGHTS = (0.3, 0.5, 1.0, 1.4)
ALLOWED = 1e-3
"""An answer may be worse than one of less effort by no more than this."""

LARGEST_TABLE = 2**25
"""What a junction tree may need, in entries: one gigabyte of memory."""

TIE = 1e-9
"""Errors that differ by less than this are equal."""


@dataclass(frozen=True)
class Case:
    """A model of the paper, with the sizes for which exact answers can be had."""

    name: str
    text: str
    atom: str
    sizes: tuple[int, ...]
    counted: str | None = None

    def model(self, weight: float) -> liftgbp.Model:
        return liftgbp.parse(self.text.replace("$w", str(weight)), name=self.name)


CASES = (
    Case(
        "friends-smokers",
        "friends(person,person)\nsmokes(person)\n$w friends(x,y) ^ smokes(x) => smokes(y) | x != y",
        "friends(x,y)",
        (3, 4, 5, 8, 10, 15, 20, 50, 100, 200),
        counted="smokes",
    ),
    Case(
        "transitive",
        "r(person,person)\n$w r(x,y) ^ r(y,z) => r(x,z) | distinct",
        "r(x,y)",
        (3, 4, 5, 6),
    ),
    Case(
        "friends-knows",
        "friends(person,person)\nknows(person,person)\n"
        "$w friends(x,y) ^ friends(y,z) => knows(x,z) | distinct",
        "friends(x,y)",
        (3, 4, 5),
    ),
    Case(
        "chain",
        "r(person,person)\n$w r(x,y) ^ r(y,z) => r(z,u) | distinct",
        "r(x,y)",
        (4, 5, 6),
    ),
)


@dataclass(frozen=True)
class Value:
    """What a method says: the probability of the atom for different objects, and log Z."""

    probability: float
    log_z: float
    trusted: bool = True


@dataclass(frozen=True)
class Cell:
    """All methods on one model at one weight and size."""

    case: Case
    weight: float
    size: int
    exact: Value
    values: dict[str, Value | None]

    def error(self, method: str) -> float:
        value = self.values[method]
        if value is None or not value.trusted:
            return math.inf
        return abs(value.probability - self.exact.probability)


def infer_with(**options: object) -> Callable[[Case, liftgbp.Model, int], Value | None]:
    def run(case: Case, model: liftgbp.Model, size: int) -> Value | None:
        try:
            answers = liftgbp.infer(model, {"person": size}, **options)  # type: ignore[arg-type]
        except liftgbp.CapacityError:
            return None
        probability = answers.marginal(case.atom)
        return Value(probability, answers.log_z, answers.flaw is None)

    return run


def summed(case: Case, model: liftgbp.Model, size: int) -> Value | None:
    if not case.counted:
        return None
    return infer_with(sum_over=case.counted, effort="quick")(case, model, size)


METHODS: dict[str, Callable[[Case, liftgbp.Model, int], Value | None]] = {
    "bethe": infer_with(regions="bethe", solver=liftgbp.Flooding()),
    "paper": infer_with(solver=liftgbp.Flooding()),
    "quick": infer_with(effort="quick"),
    "normal": infer_with(effort="normal", exact=False),
    "default": infer_with(),
    "counts": summed,
    "objects:3": infer_with(effort="quick", regions="objects:3"),
    "objects:4": infer_with(effort="quick", regions="objects:4"),
    "auto": infer_with(effort="quick", regions="auto", table_cap=2**12),
    "sharpest": infer_with(effort="quick", sum_over="auto", regions="auto", table_cap=2**12),
}


# --- exact values


def exact_value(case: Case, model: liftgbp.Model, weight: float, size: int) -> Value:
    if case.counted:
        return over_number_of_smokers(weight, size)
    truth = reference.exact(reference.ground(model, {"person": size}), cap=LARGEST_TABLE)
    predicate = case.atom.partition("(")[0]
    marginal = truth.marginals[reference.GroundAtom(predicate, (0, 1))]
    return Value(float(marginal[1]), truth.log_z)


def over_number_of_smokers(weight: float, size: int) -> Value:
    """Given who smokes, friendships are independent: sum over how many do.

    A friendship of a smoker with someone who does not smoke breaks the rule.
    """
    broken_true = 1 / (1 + math.exp(weight))
    pairs = size * (size - 1)
    terms = []
    for smokers in range(size + 1):
        broken = smokers * (size - smokers)
        log_weight = (
            math.lgamma(size + 1) - math.lgamma(smokers + 1) - math.lgamma(size - smokers + 1)
        )
        log_weight += broken * math.log(1 + math.exp(weight))
        log_weight += (pairs - broken) * (weight + math.log(2))
        terms.append((log_weight, (broken * broken_true + (pairs - broken) / 2) / pairs))
    top = max(log_weight for log_weight, _ in terms)
    total = math.fsum(math.exp(log_weight - top) for log_weight, _ in terms)
    mean = math.fsum(math.exp(log_weight - top) * p for log_weight, p in terms) / total
    return Value(mean, top + math.log(total) + size * math.log(2))


# --- the table


def cells(jobs: int) -> Iterator[Cell]:
    wanted = [(case, w, n) for case in CASES for w in WEIGHTS for n in case.sizes]
    found = in_order(finished(_cell, wanted, jobs))
    yield from track(found, description="computing", total=len(wanted), transient=True)


def _cell(wanted: tuple[Case, float, int]) -> Cell:
    case, weight, size = wanted
    model = case.model(weight)
    return Cell(
        case,
        weight,
        size,
        exact_value(case, model, weight, size),
        {name: method(case, model, size) for name, method in METHODS.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_jobs(parser)
    found = list(cells(parser.parse_args().jobs))
    console = Console(width=165)
    for case in CASES:
        console.print(_table(case, [cell for cell in found if cell.case == case]))
    _summarise(console, found)


def _table(case: Case, found: list[Cell]) -> Table:
    table = Table(title=f"{case.name}: error of P({case.atom}), and below it of log Z")
    for heading in ("w", "N", "exact P", "exact log Z", *METHODS):
        table.add_column(heading, justify="right")
    for cell in found:
        texts = [_text(cell, method) for method in METHODS]
        exact = f"{cell.exact.probability:.6f}", f"{cell.exact.log_z:.4f}"
        table.add_row(f"{cell.weight}", f"{cell.size}", *exact, *texts)
    return table


def _text(cell: Cell, method: str) -> str:
    value = cell.values[method]
    if value is None:
        return ""
    mark = "" if value.trusted else " ?"
    p, z = value.probability - cell.exact.probability, value.log_z - cell.exact.log_z
    return f"{p:+.1e}{mark}\n{z:+.1e}"


def _summarise(console: Console, found: list[Cell]) -> None:
    open_cells = [c for c in found if c.error("paper") > TIE]
    console.print(
        f"{len(found)} cells, in {len(open_cells)} of which the paper's setting is not exact"
    )
    answered = [c for c in found if c.error("default") <= TIE]
    console.print(f"the default is exact in {len(answered)}")
    pairs = (
        ("quick", "paper"),
        ("normal", "paper"),
        ("normal", "quick"),
        ("default", "normal"),
        ("sharpest", "paper"),
    )
    for method, other in pairs:
        better = [c for c in open_cells if c.error(method) < c.error(other) - TIE]
        equal = [c for c in open_cells if abs(c.error(method) - c.error(other)) <= TIE]
        worse = [c for c in found if c.error(method) > c.error(other) + TIE]
        console.print(
            f"{method} against {other}: better in {len(better)}, equal in {len(equal)}, worse in "
            f"{len(worse)}"
        )
        for cell in worse:
            gap = cell.error(method) - cell.error(other)
            console.print(
                f"  {cell.case.name}, w = {cell.weight}, N = {cell.size}: worse by {gap:.1e}"
                + (" (more than allowed)" if gap > ALLOWED else "")
            )


if __name__ == "__main__":
    main()
