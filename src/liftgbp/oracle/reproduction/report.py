"""What is written: the report in Markdown, the table as CSV, and the two figures of the paper."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.oracle.reproduction.claims import Claim
from liftgbp.oracle.reproduction.experiments import CHAIN, EXPERIMENTS, SAMPLED_WEIGHT, Experiment
from liftgbp.oracle.reproduction.measure import (
    DEFAULT,
    DESCENT,
    EXACT,
    GROUND_GBP,
    LIFTED_BP,
    LIFTED_GBP,
    Measurement,
    Settings,
)

METHODS = (LIFTED_GBP, LIFTED_BP, GROUND_GBP, DESCENT, DEFAULT, EXACT)


def table(runs: Iterable[Measurement]) -> str:
    """All runs as CSV; columns that do not apply to a method are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, [field.name for field in fields(Measurement)], lineterminator="\n"
    )
    writer.writeheader()
    for run in runs:
        row = asdict(run) | {"status": run.status.value}
        if run.method != GROUND_GBP:
            row |= {"agrees": ""}
        if run.method == EXACT:
            row |= {"regions": "", "edges": ""}
        writer.writerow({name: "" if str(own) == "nan" else own for name, own in row.items()})
    return text.getvalue()


def report(
    runs: Sequence[Measurement],
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
        _markdown(["claim", "verdict"], ([claim.title, claim.verdict] for claim in claims)),
        *(f"### {claim.title}\n\n{_claim(claim)}" for claim in claims),
        "## Figures",
        note or "\n\n".join(f"![{name}]({name})" for name in figures),
        "## Query probability",
        "Numbers in parentheses are from runs that did not converge. For ground GBP they may "
        "also mean that rounding has told people apart whom the model treats alike: a ground run "
        "can lose this symmetry, a lifted run cannot.",
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
    again = f"; everything is run again with {', '.join(others)}" if others else ""
    return (
        "U. Apsel, *Lifted Message Passing for the Generalized Belief Propagation*: four models, "
        f"{settings.iterations} iterations of flooding with damping {settings.damping:g}. The "
        f"paper does not print its weights: here the weight is {first}{again}. Lifted and ground "
        f"beliefs are compared over {settings.compared} iterations, up to where diverging "
        "messages leave nothing but rounding to compare."
    )


def _claim(claim: Claim) -> str:
    lines = [f"> {claim.statement}", f"**{claim.verdict.capitalize()}.** {claim.measured}"]
    if claim.exceptions:
        lines.append("It fails at\n\n" + "\n".join(f"- {case}" for case in claim.exceptions))
    return "\n\n".join(lines)


def _probabilities(experiment: Experiment, weight: float, runs: Sequence[Measurement]) -> str:
    texts = {
        (run.people, run.method): f"{run.probability:.6f}"
        if run.converged or run.method == EXACT
        else f"({run.probability:.6f})"
        for run in runs
    }
    rows = (
        [f"{people:,}", *(texts.get((people, method), "") for method in METHODS)]
        for people in _sizes(runs)
    )
    title = f"{experiment.name}, P({experiment.query}) for x ≠ y, w = {weight:g}:"
    return f"{title}\n\n{_markdown(['N', *METHODS], rows)}"


def _times(runs: Sequence[Measurement], weight: float) -> str:
    headings = ["model", "N", "region graph", LIFTED_GBP, LIFTED_BP, GROUND_GBP, DESCENT]
    rows = []
    for experiment in EXPERIMENTS:
        own = [run for run in runs if run.model == experiment.name and run.weight == weight]
        for people in _sizes(own):
            by_method = {run.method: run for run in own if run.people == people}
            times = [by_method[m].seconds if m in by_method else None for m in headings[3:]]
            times.insert(0, by_method[LIFTED_GBP].graph_seconds)
            texts = ["" if time is None else f"{1e3 * time:.1f}" for time in times]
            rows.append([experiment.name, f"{people:,}", *texts])
    return _markdown(headings, rows)


def _sizes(runs: Iterable[Measurement]) -> list[int]:
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


# --- figures

LARGEST_SHOWN = 10**6
"""Beyond this many people probabilities do not change any more; times are shown for all sizes."""


@dataclass(frozen=True, slots=True)
class _Style:
    colour: str
    marker: str
    line: str = "-"
    size: float = 5.0
    width: float = 1.4


STYLES = {
    EXACT: _Style("#bbbbbb", "", width=6.0),
    LIFTED_BP: _Style("#e69f00", "s", size=7.0),
    LIFTED_GBP: _Style("#0072b2", "o", size=4.5),
    DESCENT: _Style("#009e73", "^", "--", 3.5),
    DEFAULT: _Style("#cc79a7", "D", "-", 4.5, 2.0),
    GROUND_GBP: _Style("#d55e00", "x", "", 7.0),
}
"""Colours that colour-blind readers can tell apart; later lines are drawn smaller, on top."""


SAMPLES = _Style("black", "*", "", 9.0)


def running_times(runs: Sequence[Measurement], weight: float) -> bytes:
    """Milliseconds over the number of people, one panel per model, as SVG."""
    own = [run for run in runs if run.weight == weight and run.method != EXACT]
    figure, panels = _panels(1, len(EXPERIMENTS), width=2.9, height=3.3, sharey="all")
    for panel, experiment in zip(panels[0], EXPERIMENTS, strict=True):
        panel.set_title(experiment.name, fontsize="medium")
        for method in (GROUND_GBP, LIFTED_BP, LIFTED_GBP):
            line = _line(own, experiment.name, method)
            times = [(run.people, 1e3 * run.seconds) for run in line]
            _draw(panel, times, STYLES[method], method, linestyle="-")
        generated = [
            (run.people, 1e3 * run.graph_seconds) for run in _line(own, experiment.name, LIFTED_GBP)
        ]
        _draw(panel, generated, _Style("#999999", "", ":"), "lifted region graph alone")
        panel.set_yscale("log")
    panels[0][0].set_ylabel("processor time in milliseconds")
    return _finished(figure, panels, "Running times: all iterations, region graph included")


def probabilities(runs: Sequence[Measurement], weights: Sequence[float]) -> bytes:
    """The query probability over the number of people, one row of panels per weight, as SVG.

    The chain is left out, as in the paper. Hollow markers did not converge. Where objects fall into
    blocks, all methods but the default miss them, by more the larger the domain.
    """
    shown = [experiment for experiment in EXPERIMENTS if experiment is not CHAIN]
    figure, panels = _panels(len(weights), len(shown), width=3.7, height=2.7, sharey="col")
    for row, weight in zip(panels, weights, strict=True):
        own = [run for run in runs if run.weight == weight and run.people <= LARGEST_SHOWN]
        for panel, experiment in zip(row, shown, strict=True):
            for method, style in STYLES.items():
                line = _line(own, experiment.name, method)
                lost = [run for run in line if not run.converged and method != EXACT]
                # The line has gaps where there is no answer.
                points = ((r.people, math.nan if r in lost else r.probability) for r in line)
                _draw(panel, points, style, method)
                hollow = {"linestyle": "", "markerfacecolor": "white", "zorder": 3}
                _draw(panel, [(r.people, r.probability) for r in lost], style, "", **hollow)
            if weight == SAMPLED_WEIGHT:
                _draw(panel, experiment.sampled.items(), SAMPLES, "sampled")
        row[0].set_ylabel(f"P(query),  w = {weight:g}")
    for panel, experiment in zip(panels[0], shown, strict=True):
        panel.set_title(experiment.name, fontsize="medium")
    title = "Query probability, x ≠ y   (hollow: did not converge)"
    return _finished(figure, panels, title)


def _draw(
    panel: Any, points: Iterable[tuple[float, float]], style: _Style, label: str, **more: Any
) -> None:
    x, y = zip(*points, strict=True) if (points := list(points)) else ((), ())
    how: dict[str, Any] = {
        "color": style.colour,
        "marker": style.marker,
        "linestyle": style.line,
        "linewidth": style.width,
        "markersize": style.size,
    }
    panel.plot(x, y, label=label, **{**how, **more})


def _line(runs: Iterable[Measurement], model: str, method: str) -> list[Measurement]:
    own = [run for run in runs if run.model == model and run.method == method]
    return sorted(own, key=lambda run: run.people)


def _panels(
    rows: int, columns: int, width: float, height: float, sharey: Literal["all", "col"]
) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows + 0.7), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False)
    return figure, panels


def _finished(figure: Any, panels: Any, title: str) -> bytes:
    from matplotlib.ticker import LogLocator, NullLocator

    for panel in panels.flat:
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(numticks=5))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel("number of people N")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title)
    import matplotlib

    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "liftgbp"}
    svg = io.BytesIO()
    with matplotlib.rc_context(settings):
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()
