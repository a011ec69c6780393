"""Pictures of answers: how likely counts are, and heat maps of probabilities between blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.model.queries import COMPARISONS, CountQuery
from liftgbp.pictures.charts import write_figure
from liftgbp.posterior.block_table import MOST_BLOCKS, BlockStructure, cell_text, size_text
from liftgbp.posterior.count_queries import QUANTILES, CountDistribution
from liftgbp.support.arrays import Floats
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHART_WIDTH, CHART_HEIGHT = 6.4, 2.4
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
    write_figure(lambda: _charts_figure(charts), path)


def _charts_figure(charts: Sequence[Chart]) -> Figure:
    from liftgbp.pictures.shown_figure import ShownFigure

    figure = ShownFigure(figsize=(CHART_WIDTH, CHART_HEIGHT * len(charts)), layout="constrained")
    every = figure.subplots(len(charts), 1, squeeze=False)[:, 0]
    for axes, chart in zip(every, charts, strict=True):
        _draw_chart(axes, chart)
    return figure


def _draw_chart(axes: Any, chart: Chart) -> None:
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


# --- blocks


CELL = 0.62
"""The height and width of a cell. All lengths are in inches."""

LETTER = 0.085
"""About the width of a letter."""

ABOVE, BELOW, BESIDE = 0.35, 0.65, 0.35
"""Room for a title, for labels below, and for the name of the rows; their labels need more."""

HEADING, SCALE = 0.35, 0.95
"""Room for the heading of the picture, and for the scale of colours at its right."""

MOST_IN_A_ROW = 4
"""More heat maps than this go below each other."""

WHOLE_SHARE = 0.9995
"""A structure with a larger share is alone, as far as three digits show."""

DARK = 0.55
"""Numbers in cells of a higher probability are white."""


@dataclass(frozen=True, slots=True)
class _Map:
    """A heat map: a title, the blocks of its rows and columns, and what these stand for."""

    title: str
    row_label: str
    rows: Sequence[int]
    column_label: str
    columns: Sequence[int]
    cells: Floats

    @property
    def width(self) -> float:
        """The width of the cells, or of the title if that is wider."""
        columns: int = self.cells.shape[1]
        return max(columns * CELL, LETTER * len(self.title) / 2 + CELL / 2)


def heat_maps(structure: BlockStructure) -> Figure:
    """One heat map for each atom and value; numbers are blocks, with their sizes below.

    Everything has its place in inches, so that cells are of one size and rows at one height.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    from liftgbp.pictures.shown_figure import ShownFigure

    maps, labels = _maps(structure), _labels(structure)
    share = "" if structure.share > WHOLE_SHARE else f" (share {structure.share:.3g})"
    heading = f"{structure.summary}{share}"
    left = BESIDE + LETTER * max(len(line) for label in labels.values() for line in label.split())
    lines = [maps[k : k + MOST_IN_A_ROW] for k in range(0, len(maps), MOST_IN_A_ROW)]
    heights = [max(own.cells.shape[0] for own in line) * CELL + ABOVE + BELOW for line in lines]
    widths = [sum(left + own.width for own in line) for line in lines]
    width = max(*widths, LETTER * len(heading) - SCALE) + SCALE
    height = sum(heights) + HEADING
    figure = ShownFigure(figsize=(width, height))

    def place(x: float, y: float, across: float, down: float) -> Any:
        """Axes at a distance from the left and from the top."""
        return figure.add_axes((x / width, 1 - (y + down) / height, across / width, down / height))

    y = HEADING
    for line, own_height in zip(lines, heights, strict=True):
        x = 0.0
        for own in line:
            rows, columns = own.cells.shape
            _draw_map(place(x + left, y + ABOVE, columns * CELL, rows * CELL), own, labels)
            x += left + own.width
        y += own_height
    colours = ScalarMappable(Normalize(0.0, 1.0), "Blues")
    bar = place(width - SCALE + 0.15, HEADING + ABOVE, 0.15, heights[0] - ABOVE - BELOW)
    figure.colorbar(colours, cax=bar, label="probability")
    figure.suptitle(heading, fontsize="medium", y=1 - 0.5 * HEADING / height, va="center")
    return figure


def _maps(structure: BlockStructure) -> list[_Map]:
    maps = [
        _Map(
            visible(panel.title),
            f"{panel.row_variable} in block",
            panel.rows,
            f"{panel.column_variable} in block",
            panel.columns,
            panel.cells,
        )
        for panel in structure.panels
    ]
    for text, numbers in structure.singles:
        # The same rows as beside it, so that blocks are at the same height.
        beside = (own.rows for own in maps if set(numbers).intersection(own.rows))
        blocks = next(beside, tuple(numbers)[:MOST_BLOCKS])
        cells = np.array([[numbers.get(block, np.nan)] for block in blocks])
        maps.append(_Map(visible(text), "x in block", blocks, "", (), cells))
    return maps


def _labels(structure: BlockStructure) -> dict[int, str]:
    """The number of each block with its size, or with the name of its only object."""
    split = {name for name, sizes in structure.sizes.items() if len(sizes) > 1}
    return {
        own.number: f"{own.number}\n({size_text(own.size)})"
        if own.size > 1 or own.objects in split
        else f"{own.number}\n({visible(own.objects)})"
        for own in structure.blocks
    }


def _draw_map(axes: Any, own: _Map, labels: dict[int, str]) -> None:
    """Draw a heat map as a mesh, which stays sharp in vector graphics."""
    rows, columns = own.cells.shape
    axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        np.ma.masked_invalid(own.cells),
        vmin=0.0,
        vmax=1.0,
        cmap="Blues",
        edgecolors="white",
        linewidth=1.5,
    )
    axes.invert_yaxis()
    axes.set_title(own.title, fontsize="medium")
    axes.set_ylabel(own.row_label)
    axes.set_yticks(range(rows), [labels[block] for block in own.rows])
    axes.set_xlabel(own.column_label)
    axes.set_xticks(range(len(own.columns)), [labels[block] for block in own.columns])
    axes.tick_params(length=0, labelsize="small")
    axes.spines[:].set_visible(False)
    for (row, column), p in np.ndenumerate(own.cells):
        axes.text(
            column,
            row,
            cell_text(p),
            ha="center",
            va="center",
            fontsize="small",
            color="white" if p > DARK else "black",
        )
