"""The report in Markdown, and the table as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

from liftgbp.regions import LiftedRegionGraph
from liftgbp.reproduce.claims import Claim
from liftgbp.reproduce.experiments import EXPERIMENTS, Experiment
from liftgbp.reproduce.measure import (
    DESCENT,
    EXACT,
    GROUND_GBP,
    LIFTED_BP,
    LIFTED_GBP,
    Run,
    Settings,
)

METHODS = (LIFTED_GBP, LIFTED_BP, GROUND_GBP, DESCENT, EXACT)


def table(runs: Iterable[Run]) -> str:
    """All runs as CSV; what a method does not have is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Run)], lineterminator="\n")
    writer.writeheader()
    for run in runs:
        row = asdict(run) | ({} if run.method == GROUND_GBP else {"agrees": ""})
        if run.method == EXACT:
            row |= {"regions": "", "edges": ""}
        writer.writerow({name: "" if _undefined(value) else value for name, value in row.items()})
    return text.getvalue()


def _undefined(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def report(
    runs: Sequence[Run],
    claims: Sequence[Claim],
    chain: LiftedRegionGraph,
    settings: Settings,
    figures: Sequence[str],
    note: str,
) -> str:
    """The report: the claims, the numbers behind them, and the graph of Figure 1."""
    weights = list(dict.fromkeys(run.weight for run in runs))
    parts = [
        "# The paper's evaluation, run again",
        _setting(weights, settings),
        "## Claims",
        _claims(claims),
        *(f"### {claim.title}\n\n{_claim(claim)}" for claim in claims),
        "## Figures",
        note or "\n\n".join(f"![{name}]({name})" for name in figures),
        "## Query probability",
        "Numbers in parentheses did not converge. Those of ground GBP may also stand there because "
        "rounding has told people apart whom the model treats alike: the lifted run cannot lose "
        "the symmetry, the ground run can.",
    ]
    for weight in weights:
        for experiment in EXPERIMENTS:
            own = [r for r in runs if r.weight == weight and r.model == experiment.name]
            parts.append(_probabilities(experiment, weight, own))
    title = f"## Processor time in milliseconds, w = {weights[0]:g}"
    parts += [title, _times(runs, weights[0])]
    parts += ["## The lifted region graph of the chain", _graph(chain)]
    return "\n\n".join(parts) + "\n"


def _setting(weights: Sequence[float], settings: Settings) -> str:
    first, *others = (f"{weight:g}" for weight in weights)
    again = f"; all is run a second time with {', '.join(others)}" if others else ""
    return (
        "U. Apsel, *Lifted Message Passing for the Generalized Belief Propagation*: four models, "
        f"{settings.iterations} iterations of flooding with damping {settings.damping:g}. The "
        f"paper does not print its weights: here the weight is {first}{again}. Lifted and ground "
        f"beliefs are compared over {settings.compared} iterations, as long as the messages do not "
        "run away, where rounding decides."
    )


def _claims(claims: Sequence[Claim]) -> str:
    return _markdown(["claim", "verdict"], ([claim.title, claim.verdict] for claim in claims))


def _claim(claim: Claim) -> str:
    lines = [f"> {claim.statement}", f"**{claim.verdict.capitalize()}.** {claim.measured}"]
    if claim.exceptions:
        lines.append("It fails at\n\n" + "\n".join(f"- {case}" for case in claim.exceptions))
    return "\n\n".join(lines)


def _probabilities(experiment: Experiment, weight: float, runs: Sequence[Run]) -> str:
    rows = (
        [f"{people:,}", *(_probability(runs, people, method) for method in METHODS)]
        for people in _sizes(runs)
    )
    title = f"{experiment.name}, P({experiment.query}) for x ≠ y, w = {weight:g}:"
    return f"{title}\n\n{_markdown(['N', *METHODS], rows)}"


def _probability(runs: Sequence[Run], people: int, method: str) -> str:
    for run in runs:
        if (run.people, run.method) == (people, method):
            text = f"{run.probability:.6f}"
            return text if run.converged or method == EXACT else f"({text})"
    return ""


def _times(runs: Sequence[Run], weight: float) -> str:
    headings = ["model", "N", "region graph", LIFTED_GBP, LIFTED_BP, GROUND_GBP, DESCENT]
    rows = []
    for experiment in EXPERIMENTS:
        own = [run for run in runs if run.model == experiment.name and run.weight == weight]
        for people in _sizes(own):
            by_method = {run.method: run for run in own if run.people == people}
            times = [
                by_method[LIFTED_GBP].graph_seconds,
                *(
                    by_method[method].seconds if method in by_method else math.nan
                    for method in headings[3:]
                ),
            ]
            texts = ["" if math.isnan(time) else f"{1e3 * time:.1f}" for time in times]
            rows.append([experiment.name, f"{people:,}", *texts])
    return _markdown(headings, rows)


def _sizes(runs: Iterable[Run]) -> list[int]:
    return sorted({run.people for run in runs})


def _graph(chain: LiftedRegionGraph) -> str:
    people = chain.class_sizes[0]
    regions = (
        [str(number), chain.region_text(number), f"{chain.n[number]:,}"]
        for number in range(len(chain.regions))
    )
    edges = (
        [
            f"{edge.parent} → {edge.child}",
            chain.mapping_text(number, chain.atoms_in_words),
            chain.kappa_text(number).replace("|person|", "N"),
            f"{chain.kappa[number]:,}",
        ]
        for number, edge in enumerate(chain.edges)
    )
    return "\n\n".join(
        [
            f"{len(chain.regions)} regions and {len(chain.edges)} edges; n is the number of ground "
            f"regions for N = {people}, κ that of the ground parents of one child.",
            _markdown(["region", "atoms", "n"], regions),
            _markdown(["edge", "mapping", "κ", f"κ for N = {people}"], edges),
        ]
    )


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
