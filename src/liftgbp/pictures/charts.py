"""Charts by Matplotlib: how figures are checked, drawn and written to files.

Matplotlib draws SVG, PNG and PDF without a browser, without JavaScript and without the internet; it
is the extra `plot`, and imported only here and where drawings become figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liftgbp.pictures.cards import shortened
from liftgbp.pictures.line_chart import (
    LONGEST_NAME,
    MANY_POINTS,
    PALETTE,
    RED,
    Curve,
    curves_range,
    is_wide,
)
from liftgbp.support.files import check_writable, need_module, plain_texts, whole_file
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTENSIONS = (".pdf", ".png", ".svg")
"""What figures are written as."""

BLUE = PALETTE[0]

MOST_BARS, LONGEST_NOTE = 40, 110
"""Charts show at most this many rows; what is written below them has at most this many letters."""

TITLE, ROW, AXIS, LEGEND, ACROSS, RIGHT = 0.4, 0.28, 0.55, 0.3, 4.8, 0.2
"""Heights of a title, of a row, of an axis with its label and of a legend, the least width of axes,
and the room at their right, in inches."""

LETTER, TITLE_LETTER = 0.075, 0.095
"""About the width of a letter, in a small text and in a title, in inches."""


def check_figure(path: Path) -> None:
    """Refuse a figure that could not be written, before anything is computed."""
    check_writable(path, EXTENSIONS)
    need_module("matplotlib", "plot", f"writing {path.suffix}")


def drawn(make: Callable[[], Figure]) -> Figure:
    """The figure that a function makes; names of users in it are never taken for formulas."""
    need_module("matplotlib", "plot", "drawing")
    with plain_texts():
        return make()


def write_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure to a file, which appears when it is complete."""
    check_figure(path)
    with whole_file(path) as unfinished:
        save_figure(make, unfinished)


def save_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure at once, for those who see to it that files are whole."""
    from matplotlib import rc_context

    # Texts that stay texts make small files; without dates and random names, they are repeatable.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "liftgbp",
        "pdf.fonttype": 42,
    }
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context(settings), plain_texts():
        make().savefig(path, dpi=150, metadata=undated.get(path.suffix))


# --- bars


@dataclass(frozen=True, slots=True)
class BarRow:
    """A probability with its name and, where they are known, what it lies in or its error."""

    name: str
    p: float
    interval: tuple[float, float] | None = None


def bars(title: str, rows: Sequence[BarRow], colour: str = BLUE) -> Figure:
    """Probabilities as bars below each other; intervals are lines across their ends."""
    shown = rows[:MOST_BARS]
    names = [shortened(row.name, LONGEST_NAME) for row in shown]
    figure, axes = _framed(title, names)
    places = range(len(shown))
    axes.barh(places, [row.p for row in shown], color=colour, height=0.62)
    for place, row in zip(places, shown, strict=True):
        if row.interval is not None:
            axes.plot(row.interval, [place, place], color="black", linewidth=1.4)
        edge = max(row.p, row.interval[1] if row.interval else 0.0)
        axes.text(edge + 0.012, place, f"{row.p:.4f}", va="center", fontsize="small")
    axes.set_xlim(0.0, 1.12)
    _below_each_other(axes, names)
    axes.set_xlabel(_more("probability", len(rows) - len(shown)))
    return figure


# --- answers beside a second opinion


@dataclass(frozen=True, slots=True)
class PairRow:
    """An answer beside a second opinion, which may have a standard error."""

    name: str
    answer: float
    second: float
    error: float


def pairs(title: str, second: str, rows: Sequence[PairRow]) -> Figure:
    """Answers as dots beside the second opinion, which is a line of two standard errors."""
    shown = rows[:MOST_BARS]
    names = [shortened(row.name, LONGEST_NAME) for row in shown]
    figure, axes = _framed(title, names, AXIS + LEGEND)
    places = list(range(len(shown)))
    axes.errorbar(
        [row.second for row in shown],
        places,
        xerr=[2 * row.error for row in shown],
        fmt="D",
        markersize=8,
        color="black",
        markerfacecolor="none",
        capsize=3,
        label=f"{second}, ± 2 standard errors" if any(r.error for r in shown) else second,
    )
    axes.plot([row.answer for row in shown], places, "o", markersize=5, color=BLUE, label="answer")
    numbers = [number for row in shown for number in (row.answer, row.second)] or [0.0, 1.0]
    axes.set_xlim(*effect_range(numbers))
    _below_each_other(axes, names)
    axes.set_xlabel(_more("probability", len(rows) - len(shown)))
    figure.legend(fontsize="small", loc="lower center", ncols=2, frameon=False)
    return figure


def effect_range(numbers: Sequence[float], *, least: float = 0.02) -> tuple[float, float]:
    """The part of an axis that shows how probabilities differ, with some room around them.

    >>> effect_range([0.25, 0.3])
    (0.246, 0.304)
    >>> effect_range([0.5, 0.5])
    (0.49, 0.51)
    """
    low, high = min(numbers), max(numbers)
    missing = max(0.0, least - (high - low)) / 2
    room = 0.08 * (high - low)
    return round(low - missing - room, 9), round(high + missing + room, 9)


# --- curves


def curves(
    title: str, along: str, drawn_curves: Sequence[Curve], constant: Sequence[str]
) -> Figure:
    """Probabilities over a quantity; branches are thin, and dashed where they are not stable."""
    from matplotlib.lines import Line2D

    from liftgbp.pictures.shown_figure import ShownFigure

    figure = ShownFigure(figsize=(8, 5), layout="constrained")
    axes: Any = figure.subplots()
    if title:
        axes.set_title(title, fontsize="medium")
    handles = []
    for number, curve in enumerate(drawn_curves):
        colour = PALETTE[number % len(PALETTE)]
        for branch in curve.branches:
            axes.plot(*zip(*branch.points, strict=True), color=colour, linewidth=1.0,
                      linestyle="-" if branch.stable else (0, (4, 3)), alpha=0.75)  # fmt: skip
        x, y = zip(*curve.points, strict=True) if curve.points else ((), ())
        marker = "." if len(x) < MANY_POINTS else ""
        axes.plot(x, y, color=colour, marker=marker, linewidth=2.0)
        doubtful = [point for point, own in zip(curve.points, curve.sound, strict=True) if not own]
        if doubtful:
            axes.plot(*zip(*doubtful, strict=True), "x", color=RED, markersize=6)
        # A legend leaves out names that start with an underscore.
        name = f" {curve.name}" if curve.name.startswith("_") else curve.name
        handles.append(Line2D([], [], color=colour, linewidth=2.0, label=name))
    handles += _kinds_of_lines(drawn_curves)
    if is_wide([x for curve in drawn_curves for x, _ in curve.points]):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, place: power_text(value))
    axes.set_xlabel(_with_constants(along, constant))
    axes.set_ylabel("probability")
    axes.set_ylim(*curves_range(drawn_curves))
    axes.grid(alpha=0.3)
    if handles:
        axes.legend(handles=handles, fontsize="small")
    return figure


def power_text(value: float) -> str:
    """A number on a logarithmic axis; Matplotlib would write a formula, and none is drawn as one.

    >>> power_text(0.1), power_text(1000.0), power_text(1e9)
    ('0.1', '1000', '1e9')
    """
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].strip("+"), f"{value:g}")


def _kinds_of_lines(drawn_curves: Sequence[Curve]) -> list[Any]:
    """What thin and dashed lines and crosses mean, as far as there are any."""
    from matplotlib.lines import Line2D

    kinds = {branch.stable for curve in drawn_curves for branch in curve.branches}
    grey: dict[str, Any] = {"color": "#707070", "linewidth": 1.0}
    found = []
    if True in kinds:
        found.append(Line2D([], [], **grey, label="a minimum"))
    if False in kinds:
        found.append(Line2D([], [], **grey, linestyle=(0, (4, 3)), label="not stable"))
    if not all(own for curve in drawn_curves for own in curve.sound):
        found.append(Line2D([], [], color=RED, marker="x", linestyle="", label="refused"))
    return found


def _with_constants(along: str, constant: Sequence[str]) -> str:
    if not constant:
        return along
    return f"{along}\nthe same everywhere: {shortened('; '.join(constant), LONGEST_NOTE)}"


# --- what charts have in common


def _framed(
    title: str, names: Sequence[str], below: float = AXIS, row: float = ROW
) -> tuple[Figure, Any]:
    """A figure with axes that leave room for names at the left; lengths are in inches."""
    from liftgbp.pictures.shown_figure import ShownFigure

    left = 0.35 + LETTER * max(map(len, names), default=0)
    width = max(left + ACROSS + RIGHT, 0.4 + TITLE_LETTER * len(title))
    inside = row * max(1, len(names)) + 0.1
    height = TITLE + inside + below
    figure = ShownFigure(figsize=(width, height))
    across = width - left - RIGHT
    axes: Any = figure.add_axes((left / width, below / height, across / width, inside / height))
    axes.set_title(visible(title), fontsize="medium", loc="left", x=(0.15 - left) / across)
    return figure, axes


def _below_each_other(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _more(label: str, left: int) -> str:
    return f"{label}; {left} more rows are left out" if left > 0 else label
