"""Pictures of worlds: which atoms are true, between some of the objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.writer import object_text
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import CapacityError
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from liftgbp.report.best_world import BestWorld

MOST_OBJECTS = 48
"""A picture has at most so many objects of a sort."""

MOST_NAMED = 24
"""Objects are named if they are no more than this."""

MOST_IN_A_ROW = 4
PANEL = 2.8
"""The side of a panel in inches."""

TITLE = 5.0
"""The least width of a figure in inches, for its title."""

LETTERS_PER_INCH = 10
"""A line of a title has at most so many letters, wide ones too."""


def picture_of(best: BestWorld) -> Figure:
    """A panel for each predicate over one or two objects; dark cells are true.

    Objects are in the order of the structure, or else those that are alike are neighbours. Of many
    objects some are shown, of all blocks.
    """
    from liftgbp.pictures.shown_figure import ShownFigure

    predicates = [
        predicate
        for name, predicate in best.model.predicates.items()
        if name in best.numbers and 1 <= len(predicate.sorts) <= 2
    ]
    if not predicates:
        raise CapacityError("only predicates over one or two objects have a picture")
    sorts = dict.fromkeys(sort for p in predicates for sort in p.sorts)
    if best.structure is not None:
        structure = best.structure.structure
        order = {sort: structure.examples(sort, MOST_OBJECTS) for sort in sorts}
    else:
        objects = {sort: best.world.examples(sort, MOST_OBJECTS) for sort in sorts}
        order = {sort: _order(best, sort, objects, predicates) for sort in sorts}
    columns = min(MOST_IN_A_ROW, len(predicates))
    rows = math.ceil(len(predicates) / columns)
    width = max(PANEL * columns, TITLE)
    title = wrap(visible(best._headline()), round(LETTERS_PER_INCH * width))
    height = PANEL * rows + 0.4 + 0.2 * len(title)
    figure = ShownFigure(figsize=(width, height), layout="constrained")
    for place, predicate in enumerate(predicates, 1):
        axes = figure.add_subplot(rows, columns, place)
        _draw(axes, best, predicate, [order[sort] for sort in predicate.sorts])
    figure.suptitle("\n".join(title), fontsize="medium")
    return figure


def _order(
    best: BestWorld,
    sort: str,
    objects: dict[str, list[int]],
    predicates: Sequence[Predicate],
) -> list[int]:
    """The objects in an order in which those that are alike are neighbours."""
    keys = [
        _values(best, predicate, [objects[own] for own in predicate.sorts])
        if predicate.sorts[0] == sort
        else _values(best, predicate, [objects[own] for own in predicate.sorts]).T
        for predicate in predicates
        if sort in predicate.sorts
    ]
    table = np.concatenate([key.reshape(len(objects[sort]), -1) for key in keys], axis=1)
    # Those with the most in common stand next to each other; true comes first.
    places = np.lexsort(-table.T[::-1])
    return [objects[sort][place] for place in places.tolist()]


def _values(best: BestWorld, predicate: Predicate, objects: Sequence[Sequence[int]]) -> Ints:
    shape = [len(own) for own in objects]
    values = np.zeros(shape, np.int64)
    for place in np.ndindex(*shape):
        atom = [own[k] for own, k in zip(objects, place, strict=True)]
        values[place] = best.world.value(predicate.name, atom)
    return values


def _draw(
    axes: Any, best: BestWorld, predicate: Predicate, objects: Sequence[Sequence[int]]
) -> None:
    values = _values(best, predicate, objects)
    cells = values if values.ndim == 2 else values[:, None]
    colours = "Blues" if predicate.values == BOOLEAN else "viridis"
    most = len(predicate.values) - 1
    axes.imshow(cells, vmin=0, vmax=most, cmap=colours, interpolation="nearest", aspect="equal")
    axes.set_title(visible(predicate.name), fontsize="medium")
    for axis, sort, own in zip((axes.yaxis, axes.xaxis), predicate.sorts, objects, strict=False):
        shown = len(own) <= MOST_NAMED
        names = [visible(object_text(best.model, sort, number)) for number in own] if shown else []
        axis.set_ticks(range(len(names)), names, fontsize="xx-small")
        part = "" if len(own) == best.sizes[sort] else f" ({len(own)} of {best.sizes[sort]:,})"
        axis.set_label_text(visible(f"{sort}{part}"), fontsize="small")
    axes.tick_params(axis="x", rotation=90)
    if values.ndim == 1:
        axes.set_xticks([])
        axes.set_xlabel("")
