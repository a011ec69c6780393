"""The two figures of the paper: running times, and the query probability of friends(x,y)."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from liftgbp.reproduce.experiments import CHAIN, EXPERIMENTS
from liftgbp.reproduce.measure import (
    DESCENT,
    EXACT,
    GROUND_GBP,
    LIFTED_BP,
    LIFTED_GBP,
    Run,
)

DOTS_PER_INCH = 160
LARGEST_SHOWN = 1000
"""Beyond this many people probabilities hardly change; times are shown for all sizes."""


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
    GROUND_GBP: _Style("#d55e00", "x", "", 7.0),
}
"""Colours that colour-blind people can tell apart; what is drawn later is smaller."""


def running_times(runs: Sequence[Run], weight: float) -> bytes:
    """Milliseconds over the number of people, one panel per model, as PNG."""
    own = [run for run in runs if run.weight == weight and run.method != EXACT]
    figure, panels = _panels(1, len(EXPERIMENTS), width=2.9, height=3.3, sharey="all")
    for panel, experiment in zip(panels[0], EXPERIMENTS, strict=True):
        _title(panel, experiment.name)
        for method in (GROUND_GBP, LIFTED_BP, LIFTED_GBP):
            line = _series(own, experiment.name, method)
            times = [(run.people, 1e3 * run.seconds) for run in line]
            _draw(panel, times, STYLES[method], method, line="-")
        generated = [
            (run.people, 1e3 * run.graph_seconds)
            for run in _series(own, experiment.name, LIFTED_GBP)
        ]
        _draw(panel, generated, _Style("#999999", "", ":"), "lifted region graph alone")
        panel.set_yscale("log")
    panels[0][0].set_ylabel("processor time in milliseconds")
    return _finished(figure, panels, "Running times: all iterations, region graph included")


def probabilities(runs: Sequence[Run], weights: Sequence[float]) -> bytes:
    """P(friends(x,y)) over the number of people, one row of panels per weight, as PNG.

    The chain is left out, as in the paper. Hollow markers did not converge.
    """
    shown = [experiment for experiment in EXPERIMENTS if experiment is not CHAIN]
    figure, panels = _panels(len(weights), len(shown), width=3.7, height=2.7, sharey="col")
    for row, weight in zip(panels, weights, strict=True):
        own = [run for run in runs if run.weight == weight and run.people <= LARGEST_SHOWN]
        for panel, experiment in zip(row, shown, strict=True):
            for method, style in STYLES.items():
                line = _series(own, experiment.name, method)
                _draw_probabilities(panel, line, style, method)
        row[0].set_ylabel(f"P(friends(x,y)),  w = {weight:g}")
    for panel, experiment in zip(panels[0], shown, strict=True):
        _title(panel, experiment.name)
    title = "Query probability of friends(x,y), x ≠ y   (hollow: did not converge)"
    return _finished(figure, panels, title)


def _draw_probabilities(panel: Any, line: Sequence[Run], style: _Style, method: str) -> None:
    unsettled = [run for run in line if not run.converged and method != EXACT]
    # Gaps in the line, since there is no answer at these sizes.
    settled = [(r.people, math.nan if r in unsettled else r.probability) for r in line]
    _draw(panel, settled, style, method)
    panel.plot(
        [run.people for run in unsettled],
        [run.probability for run in unsettled],
        linestyle="",
        marker=style.marker,
        markersize=style.size,
        color=style.colour,
        markerfacecolor="white",
        zorder=3,
    )


def _draw(
    panel: Any,
    points: Iterable[tuple[float, float]],
    style: _Style,
    label: str,
    line: str | None = None,
) -> None:
    x, y = zip(*points, strict=True) if (points := list(points)) else ((), ())
    panel.plot(
        x,
        y,
        label=label,
        color=style.colour,
        marker=style.marker,
        linestyle=style.line if line is None else line,
        linewidth=style.width,
        markersize=style.size,
    )


def _series(runs: Iterable[Run], model: str, method: str) -> list[Run]:
    own = [run for run in runs if run.model == model and run.method == method]
    return sorted(own, key=lambda run: run.people)


def _panels(
    rows: int, columns: int, width: float, height: float, sharey: Literal["all", "col"]
) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows + 0.7), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False)
    return figure, panels


def _title(panel: Any, text: str) -> None:
    panel.set_title(text, fontsize="medium")


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
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=DOTS_PER_INCH)
    return png.getvalue()
