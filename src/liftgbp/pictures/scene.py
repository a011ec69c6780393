"""Drawings of boxes, lines and texts, which become SVG, or a figure of Matplotlib for PNG and PDF.

SVG is written without any library, for notebooks and for files. Its lines and texts have the colour
of the surroundings; a file brings its own, for light and for dark systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from liftgbp.pictures.markup import Markup, element
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Spot: TypeAlias = tuple[float, float]
"""A place: from the left and from the top, in pixels."""

LETTER = 0.602
"""The width of a letter of a monospaced font, as a part of its size."""

FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

INK, MUTED, ACCENT = "ink", "muted", "accent"
"""What lines and texts are drawn in: the colour of texts, a weaker one, and blue."""

BLUE = "#4c8fd1"
LIGHT = {INK: "#1b1b1b", MUTED: "#707070", ACCENT: BLUE}
"""Colours on white paper."""

TINT = 0.14
"""How opaque a filled box is."""

HEAD = 7.0
"""The length of the head of an arrow."""

PAPER = (
    ".liftgbp-picture{color:#1b1b1b;background:#ffffff}"
    "@media (prefers-color-scheme:dark){.liftgbp-picture{color:#e4e4e4;background:#181a1b}}"
)
"""The colours of a file that stands alone."""

PIXELS_PER_INCH = 96


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with round corners around a centre."""

    centre: Spot
    width: float
    height: float
    filled: bool = False
    colour: str = INK
    radius: float = 5.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line along some points, or a cubic spline, whose points come in threes after the first."""

    points: tuple[Spot, ...]
    curved: bool = False
    arrow: bool = False
    colour: str = INK
    dashed: bool = False
    thick: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A text whose anchor (start, middle or end) lies at a point of its base line."""

    at: Spot
    text: str
    size: float = 12.0
    anchor: str = "middle"
    colour: str = INK
    bold: bool = False
    hint: str = ""
    """What is shown when a mouse rests on it."""


Shape: TypeAlias = Box | Line | Words


def text_width(text: str, size: float = 12.0) -> float:
    """How wide a text is."""
    return LETTER * size * len(visible(text))


@dataclass(frozen=True, slots=True)
class Scene:
    """Shapes on paper of some width and height."""

    width: float
    height: float
    shapes: tuple[Shape, ...]

    def shifted(self, right: float, down: float) -> Scene:
        """The same drawing somewhere else."""

        def move(at: Spot) -> Spot:
            return at[0] + right, at[1] + down

        moved: list[Shape] = []
        for own in self.shapes:
            match own:
                case Box():
                    moved.append(replace(own, centre=move(own.centre)))
                case Line():
                    moved.append(replace(own, points=tuple(map(move, own.points))))
                case Words():
                    moved.append(replace(own, at=move(own.at)))
        return Scene(self.width + right, self.height + down, tuple(moved))

    # --- SVG

    def svg(self, *, alone: bool = False) -> Markup:
        """The drawing as SVG; `alone`, in a file, it brings its own colours."""
        style = [element("style", Markup(PAPER))] if alone else []
        return element(
            "svg",
            *style,
            *(_element(own) for own in self.shapes),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width:.5g} {self.height:.5g}",
            width=round(self.width),
            height=round(self.height),
            font_family=FONT,
            class_="liftgbp-picture",
            role="img",
        )

    # --- Matplotlib

    def figure(self) -> Figure:
        """The drawing as a figure, on white paper."""
        from liftgbp.pictures.shown_figure import ShownFigure

        inches = self.width / PIXELS_PER_INCH, self.height / PIXELS_PER_INCH
        figure = ShownFigure(figsize=inches, facecolor="white")
        axes: Any = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        axes.axis("off")
        for own in self.shapes:
            _draw(axes, own)
        return figure


def beside(scenes: Sequence[Scene], gap: float = 30.0) -> Scene:
    """Drawings beside each other."""
    shapes: list[Shape] = []
    right = 0.0
    for own in scenes:
        shapes += own.shifted(right, 0.0).shapes
        right += own.width + gap
    height = max((own.height for own in scenes), default=0.0)
    return Scene(max(right - gap, 0.0), height, tuple(shapes))


def head_of(points: Sequence[Spot]) -> tuple[Spot, Spot, Spot]:
    """The corners of the head of an arrow along points: its tip first."""
    tip = points[-1]
    before = next((own for own in reversed(points[:-1]) if math.dist(own, tip) > 1e-6), tip)
    angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
    left, right = (
        (tip[0] - HEAD * math.cos(angle + turn), tip[1] - HEAD * math.sin(angle + turn))
        for turn in (0.4, -0.4)
    )
    return tip, left, right


# --- elements of SVG


def _element(shape: Shape) -> Markup:
    match shape:
        case Box():
            return _box(shape)
        case Line():
            return _line(shape)
        case Words():
            return _words(shape)


def _paint(colour: str) -> tuple[str, float | None]:
    """A colour and its opacity; what is no role is a colour."""
    if colour.startswith("#"):
        return colour, None
    return (BLUE, None) if colour == ACCENT else ("currentColor", 0.6 if colour == MUTED else None)


def _box(box: Box) -> Markup:
    colour, opacity = _paint(box.colour)
    return element(
        "rect",
        x=box.centre[0] - box.width / 2,
        y=box.centre[1] - box.height / 2,
        width=box.width,
        height=box.height,
        rx=box.radius,
        fill=BLUE if box.filled else "none",
        fill_opacity=TINT if box.filled else None,
        stroke=colour,
        stroke_opacity=opacity,
    )


def _line(line: Line) -> Markup:
    colour, opacity = _paint(line.colour)
    first, *rest = [f"{x:.5g} {y:.5g}" for x, y in line.points]
    if line.curved:
        steps = "".join(f" C {', '.join(rest[k : k + 3])}" for k in range(0, len(rest), 3))
    else:
        steps = "".join(f" L {own}" for own in rest)
    drawn = element(
        "path",
        d=f"M {first}{steps}",
        fill="none",
        stroke=colour,
        stroke_opacity=0.15 if line.faint else opacity,
        stroke_width=2.2 if line.thick else None,
        stroke_dasharray="5 4" if line.dashed else None,
    )
    if not line.arrow:
        return drawn
    corners = " ".join(f"{x:.5g},{y:.5g}" for x, y in head_of(line.points))
    head = element("polygon", points=corners, fill=colour, fill_opacity=opacity)
    return element("g", drawn, head)


def _words(words: Words) -> Markup:
    colour, opacity = _paint(words.colour)
    hint = [element("title", words.hint)] if words.hint else []
    return element(
        "text",
        *hint,
        words.text,
        x=words.at[0],
        y=words.at[1],
        font_size=words.size,
        font_weight="bold" if words.bold else None,
        text_anchor=words.anchor,
        fill=colour,
        fill_opacity=opacity,
    )


# --- patches of Matplotlib


def _draw(axes: Any, shape: Shape) -> None:
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path

    points = PIXELS_PER_INCH / 72
    match shape:
        case Box():
            corner = shape.centre[0] - shape.width / 2, shape.centre[1] - shape.height / 2
            style = f"round,pad=0,rounding_size={shape.radius}"
            size = shape.width, shape.height
            edge: dict[str, Any] = {
                "fill": False,
                "edgecolor": LIGHT[shape.colour],
                "linewidth": 0.9,
            }
            if shape.filled:
                tint: dict[str, Any] = {"facecolor": BLUE, "alpha": TINT, "edgecolor": "none"}
                axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, **tint))
            axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, **edge))
        case Line():
            step = Path.CURVE4 if shape.curved else Path.LINETO
            path = Path(shape.points, [Path.MOVETO, *[step] * (len(shape.points) - 1)])
            colour = LIGHT.get(shape.colour, shape.colour)
            dashes = (0, (5, 4)) if shape.dashed else "solid"
            axes.add_patch(
                PathPatch(path, fill=False, edgecolor=colour, linewidth=0.9, linestyle=dashes)
            )
            if shape.arrow:
                axes.add_patch(Polygon(head_of(shape.points), facecolor=colour, edgecolor="none"))
        case Words():
            axes.text(
                *shape.at,
                visible(shape.text),
                fontsize=shape.size / points,
                family="monospace",
                weight="bold" if shape.bold else "normal",
                color=LIGHT.get(shape.colour, shape.colour),
                ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
                va="baseline",
            )


def wrapped(words: Iterable[str], most: int, lines: int) -> list[str]:
    """Words in lines of at most so many letters; after so many lines, a count of the rest.

    >>> wrapped(["r(1,2)", "r(2,3)", "r(3,4)"], 14, 4)
    ['r(1,2) r(2,3)', 'r(3,4)']
    """
    found: list[list[str]] = [[]]
    listed = list(words)
    for word in listed:
        own = word if len(word) <= most else f"{word[: most - 1]}…"
        if found[-1] and len(" ".join([*found[-1], own])) > most:
            found.append([])
        found[-1].append(own)
    if len(found) > lines:
        kept = found[: lines - 1]
        left = len(listed) - sum(map(len, kept))
        return [*(" ".join(line) for line in kept), f"… {left} more"]
    return [" ".join(line) for line in found]
