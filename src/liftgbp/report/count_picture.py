"""Bar charts of how many objects satisfy a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.model.queries import COMPARISONS, CountQuery
from liftgbp.pictures.charts import write_figure
from liftgbp.posterior.count_queries import QUANTILES, CountDistribution
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 2.4
"""The size of a chart, in inches."""

SHOWN = 1e-4
"""Counts at both ends that are less likely than this part of the most likely one are left out."""

MOST_BARS = 120
"""More counts than this are drawn as an area."""


@dataclass(frozen=True, eq=False, slots=True)
class Chart:
    """A distribution with a title, and the comparison whose counts are drawn in a darker colour."""

    title: str
    distribution: CountDistribution
    query: CountQuery | None = None

    def holds(self, count: int) -> bool:
        """Whether a count is one that was asked about."""
        if self.query is None or not self.query.operator:
            return True
        return COMPARISONS[self.query.operator](count, self.query.number)


def write_charts(charts: Sequence[Chart], path: Path) -> None:
    """Write charts to a file, which appears when it is complete."""
    write_figure(lambda: _figure(charts), path)


def _figure(charts: Sequence[Chart]) -> Figure:
    from liftgbp.pictures.shown_figure import ShownFigure

    figure = ShownFigure(figsize=(WIDTH, HEIGHT * len(charts)), layout="constrained")
    every = figure.subplots(len(charts), 1, squeeze=False)[:, 0]
    for axes, chart in zip(every, charts, strict=True):
        _draw(axes, chart)
    return figure


def _draw(axes: Any, chart: Chart) -> None:
    """The likely counts; below them a line from the 5 to the 95 per cent quantile."""
    found = chart.distribution
    chances = np.array(found.known)
    likely = np.flatnonzero(chances >= SHOWN * chances.max())
    counts = np.arange(likely[0], likely[-1] + 1)
    shown = chances[counts]
    asked = np.array([chart.holds(count) for count in counts.tolist()])
    for own, colour in ((asked, "#2166ac"), (~asked, "#bdd7e7")):
        if len(counts) <= MOST_BARS:
            axes.bar(counts[own], shown[own], width=0.85, color=colour, linewidth=0)
        elif own.any():
            axes.fill_between(counts, shown, where=own, step="mid", color=colour, linewidth=0)
    low, _, high = map(found.quantile, QUANTILES)
    axes.plot([low, high], [-0.03 * shown.max()] * 2, color="black", linewidth=2, clip_on=False)
    axes.plot([found.mean], [-0.03 * shown.max()], "o", color="black", markersize=4, clip_on=False)
    axes.set_title(visible(chart.title), fontsize="medium")
    axes.set_ylabel("probability")
    axes.set_xlim(counts[0] - 1, counts[-1] + 1)
    axes.set_ylim(bottom=-0.06 * shown.max())
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
