"""Heat maps of the probabilities between blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.files import check_writable, need_module, whole_file
from liftgbp.query.block_table import MOST_BLOCKS, BlockStructure, cell_text, size_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTENSIONS = (".png", ".svg")

CELL = 0.55
"""The height and width of a cell in inches."""

MOST_IN_A_ROW = 4
"""More heat maps than this go below each other."""

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


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be written."""
    check_writable(path, EXTENSIONS)
    need_module("matplotlib", "plot", f"writing {path.suffix}")


def write_figure(structure: BlockStructure, path: Path) -> None:
    """Write the heat maps to a file, which appears when it is complete."""
    check_picture(path)
    from matplotlib import rc_context

    # Texts that stay texts make small files; without dates and random names, they are repeatable.
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "liftgbp"}
    metadata = {"Date": None} if path.suffix == ".svg" else None
    with rc_context(settings), whole_file(path) as unfinished:
        figure_of(structure).savefig(unfinished, dpi=150, metadata=metadata)


def figure_of(structure: BlockStructure) -> Figure:
    """One heat map for each atom and value; numbers are blocks, with their sizes below."""
    need_module("matplotlib", "plot", "drawing")
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    maps = _maps(structure)
    columns = min(len(maps), MOST_IN_A_ROW)
    rows = math.ceil(len(maps) / columns)
    widths = [max(len(own.columns) for own in maps[k::columns]) for k in range(columns)]
    ratios = [max(width, 1) * CELL + 1.2 for width in widths]
    height = max(len(own.rows) for own in maps) * CELL + 1.3
    figure = Figure(
        figsize=(max(sum(ratios) + 0.9, 4.2), rows * height + 0.4), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios)
    sizes = {block.number: size_text(block.size) for block in structure.blocks}
    for own, place in zip(maps, axes.flat, strict=False):
        _draw(place, own, sizes)
    for place in list(axes.flat)[len(maps) :]:
        place.set_axis_off()
    colours = ScalarMappable(Normalize(0.0, 1.0), "Blues")
    figure.colorbar(colours, ax=axes, shrink=0.8, label="probability")
    share = "" if structure.share > 0.9995 else f" (share {structure.share:.3g})"
    figure.suptitle(f"{structure.summary}{share}", fontsize="medium")
    return figure


def _maps(structure: BlockStructure) -> list[_Map]:
    maps = [
        _Map(
            panel.title,
            f"{panel.row_variable} in block",
            panel.rows,
            f"{panel.column_variable} in block",
            panel.columns,
            panel.cells,
        )
        for panel in structure.panels
    ]
    for text, numbers in structure.singles:
        blocks = list(numbers)[:MOST_BLOCKS]
        cells = np.array([[numbers[block]] for block in blocks])
        maps.append(_Map(text, "x in block", blocks, "", (), cells))
    return maps


def _draw(axes: Any, own: _Map, sizes: dict[int, str]) -> None:
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
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_title(own.title, fontsize="medium")
    axes.set_ylabel(own.row_label)
    axes.set_yticks(range(rows), [f"{block}\n({sizes[block]})" for block in own.rows])
    axes.set_xlabel(own.column_label)
    axes.set_xticks(
        range(len(own.columns)), [f"{block}\n({sizes[block]})" for block in own.columns]
    )
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
