"""The claims of the paper, judged by measurements: each is a list of cases that hold or fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.oracle.reproduction.experiments import CHAIN, TRANSITIVE
from liftgbp.oracle.reproduction.measure import (
    DESCENT,
    DESCENT_BP,
    GROUND_GBP,
    LIFTED_BP,
    LIFTED_GBP,
    Measurement,
)

SAME_TIME = 2.0
"""Times that differ by less than this factor count as independent of the domain size."""

TENS_OF_MILLISECONDS = 0.1
CLOSE = 0.03
"""Probabilities that differ by less than this count as very similar."""

REGIONS_OF_THE_FIGURE = 4
EDGES_OF_THE_FIGURE = 7


@dataclass(frozen=True, slots=True)
class Cell:
    """One case of a claim, such as a size in a series of runs, and whether the claim holds."""

    series: str
    case: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, what was measured for it, and the cases by which it is judged."""

    title: str
    statement: str
    measured: str
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> str:
        """Whether the claim was reproduced: everywhere, in some cases, or nowhere."""
        if not self.cells:
            return "not measured"
        holding = sum(cell.holds for cell in self.cells)
        if holding == len(self.cells):
            return "reproduced"
        return (
            f"reproduced in {holding} of {len(self.cells)} cases" if holding else "not reproduced"
        )

    @property
    def exceptions(self) -> tuple[str, ...]:
        """The cases where the claim fails, those of one series together."""
        failing: dict[str, list[str]] = {}
        for cell in self.cells:
            if not cell.holds:
                failing.setdefault(cell.series, []).append(cell.case)
        return tuple(f"{series}: {', '.join(cases)}" for series, cases in failing.items())


def judge_claims(runs: Sequence[Measurement], chain: LiftedRegionGraph) -> tuple[Claim, ...]:
    """All claims, judged by these runs and by the lifted region graph of the chain."""
    return (
        _size_independence(runs),
        _generation(runs),
        _equals_ground(runs),
        _faster_than_ground(runs),
        _close_to_bp(runs),
        _chain_by_flooding(runs),
        _chain_by_descent(runs),
        _figure(chain),
    )


def _size_independence(runs: Sequence[Measurement]) -> Claim:
    cells: list[Cell] = []
    ratios: list[float] = []
    changes = 0
    for own in _by_model_and_weight(_of(runs, LIFTED_GBP)):
        # The graph of a tiny domain may be smaller; from some size on it should stay the same.
        first = next(k for k, run in enumerate(own) if _shape(run) == _shape(own[-1]))
        for run in own[first:]:
            ratios.append(run.seconds / own[first].seconds)
            changed = _shape(run) != _shape(own[-1])
            changes += changed
            cells.append(_cell(run, not changed and ratios[-1] <= SAME_TIME))
    sizes = [run.people for run in runs]
    return Claim(
        "domain-size independence",
        "The algorithm is domain-size independent.",
        f"From {min(sizes):,} to {max(sizes):,} people, a run takes at most {_largest(ratios):.2f} "
        "times as long as in the smallest domain with the same lifted graph "
        f"(allowed: {SAME_TIME:g}); from that domain on, {changes} graphs differ from the largest "
        "one's in regions or edges.",
        tuple(cells),
    )


def _generation(runs: Sequence[Measurement]) -> Claim:
    lifted = _of(runs, LIFTED_GBP)
    slowest = _largest(run.graph_seconds for run in lifted)
    return Claim(
        "graph generation",
        "Generating the lifted graphs takes tens of milliseconds.",
        f"The slowest graph took {1e3 * slowest:.1f} ms, shattering included "
        f"(allowed: {1e3 * TENS_OF_MILLISECONDS:g} ms).",
        tuple(_cell(run, run.graph_seconds <= TENS_OF_MILLISECONDS) for run in lifted),
    )


def _equals_ground(runs: Sequence[Measurement]) -> Claim:
    ground = _of(runs, GROUND_GBP)
    return Claim(
        "lifted equals ground",
        "Lifted message passing mimics GBP in the corresponding ground model.",
        "The largest difference in probability between the belief of a ground region and that of "
        "its canonical region, at any iteration compared, is "
        f"{_largest(run.difference for run in ground):.1e}.",
        tuple(_cell(run, run.agrees) for run in ground),
    )


def _faster_than_ground(runs: Sequence[Measurement]) -> Claim:
    pairs = [(run, _partner(runs, run, LIFTED_GBP)) for run in _of(runs, GROUND_GBP)]
    ratios = [ground.seconds / lifted.seconds for ground, lifted in pairs]
    return Claim(
        "time performance",
        "The algorithm significantly dominates in time performance. (The paper compares with the "
        "WFOMC engine, which is not run here; this is the time of ground GBP instead.)",
        f"Ground GBP took {min(ratios, default=math.nan):.0f} to {_largest(ratios):.0f} times as "
        "long as lifted GBP for the same iterations.",
        tuple(_cell(ground, ground.seconds > lifted.seconds) for ground, lifted in pairs),
    )


def _close_to_bp(runs: Sequence[Measurement]) -> Claim:
    own = [run for run in runs if run.model == TRANSITIVE.name]
    flooding = _differences(own, LIFTED_GBP, LIFTED_BP)
    descent = _differences(own, DESCENT, DESCENT_BP)
    elsewhere = [run.probability for run, gap in flooding.items() if gap > CLOSE]
    where = f", where GBP says up to {_largest(elsewhere):.4f}" if elsewhere else ""
    return Claim(
        "GBP close to BP",
        "On the transitive model, lifted BP returns results very similar to GBP.",
        f"Where flooding converges for both, they differ by at most {CLOSE} in "
        f"{len(flooding) - len(elsewhere)} of {len(flooding)} cases and by up to "
        f"{_largest(flooding.values()):.4f} in all{where}. By descent, they differ by up to "
        f"{_largest(descent.values()):.4f} in the {len(descent)} cases where both have a "
        "trustworthy minimum.",
        tuple(_cell(run, gap <= CLOSE) for run, gap in flooding.items()),
    )


def _differences(runs: Sequence[Measurement], method: str, other: str) -> dict[Measurement, float]:
    pairs = [(run, _partner(runs, run, other)) for run in _of(runs, method)]
    return {
        run: abs(run.probability - partner.probability)
        for run, partner in pairs
        if run.converged and partner.converged
    }


def _chain_by_flooding(runs: Sequence[Measurement]) -> Claim:
    own = [run for run in _of(runs, LIFTED_GBP) if run.model == CHAIN.name]
    unsettled = [run for run in own if not run.converged]
    ends = f"; these ended with {_statuses(unsettled)}" if unsettled else ""
    return Claim(
        "the chain does not converge by flooding",
        "The chain model did not converge.",
        f"Flooding did not converge in {len(unsettled)} of {len(own)} runs{ends}.",
        tuple(_cell(run, not run.converged) for run in own),
    )


def _chain_by_descent(runs: Sequence[Measurement]) -> Claim:
    own = [run for run in _of(runs, DESCENT) if run.model == CHAIN.name]
    lost = [run for run in own if not run.converged]
    ends = f"; the others ended with {_statuses(lost)}" if lost else ""
    return Claim(
        "the chain converges by descent",
        "Beyond the paper: descent on the same free energy finds a trustworthy minimum.",
        f"Descent found one in {len(own) - len(lost)} of {len(own)} runs{ends}.",
        tuple(_cell(run, run.converged) for run in own),
    )


def _statuses(runs: Sequence[Measurement]) -> str:
    return " or ".join(f"“{status}”" for status in sorted({run.status.value for run in runs}))


def _figure(chain: LiftedRegionGraph) -> Claim:
    regions, edges = len(chain.regions), len(chain.edges)
    shape = (regions, edges) == (REGIONS_OF_THE_FIGURE, EDGES_OF_THE_FIGURE)
    kappas = [
        Cell("edges", str(number), chain.kappa[number] == paper_kappa(chain, number))
        for number in range(edges)
    ]
    return Claim(
        "the lifted region graph of the chain",
        "Figure 1 shows four regions and seven edges, with κ as the paper's formula says.",
        f"The graph has {regions} regions and {edges} edges; see below.",
        (Cell("graph", "regions and edges", shape), *kappas),
    )


def paper_kappa(graph: LiftedRegionGraph, edge: int) -> int:
    """The number of ground parents by the formula that the paper prints, ∏ (N − n_β − i + 1)."""
    people = graph.class_sizes[0]
    known, all_objects = (
        len({obj for _, args in graph.regions[region].cluster for obj in args})
        for region in (graph.edges[edge].child, graph.edges[edge].parent)
    )
    return math.perm(people - known, all_objects - known)


# --- picking runs


def _of(runs: Sequence[Measurement], method: str) -> list[Measurement]:
    return [run for run in runs if run.method == method]


def _partner(runs: Sequence[Measurement], run: Measurement, method: str) -> Measurement:
    """The run of another method on the same model, weight and size."""
    return next(other for other in _of(runs, method) if _place(other) == _place(run))


def _by_model_and_weight(runs: Sequence[Measurement]) -> Iterator[list[Measurement]]:
    series = attrgetter("model", "weight")
    for _, own in groupby(sorted(runs, key=series), series):
        yield sorted(own, key=lambda run: run.people)


def _shape(run: Measurement) -> tuple[int, int]:
    return run.regions, run.edges


def _place(run: Measurement) -> tuple[str, float, int]:
    return run.model, run.weight, run.people


def _cell(run: Measurement, holds: bool) -> Cell:
    return Cell(f"{run.model}, w = {run.weight:g}", f"N = {run.people:,}", holds)


def _largest(values: Iterable[float]) -> float:
    return max(values, default=math.nan)
