"""The lines, cards and figures of what answers are made of: rows, counts, blocks and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liftgbp.pictures.cards import (
    BAD,
    DOUBTFUL,
    GOOD,
    badge,
    bar,
    code,
    columns_chart,
    count_text,
    fields,
    heat_map,
    note,
    number_text,
    shortened,
    side_by_side,
    sizes_text,
    table,
)
from liftgbp.pictures.markup import Content, Markup
from liftgbp.posterior import (
    Answer,
    BlockedAtom,
    BlockPanel,
    BlockStructure,
    Bounds,
    CountAnswer,
    CountDistribution,
    CountSum,
    Prepared,
    ProbabilityBounds,
)
from liftgbp.posterior.answer import AnswerRows
from liftgbp.posterior.block_table import MOST_BLOCKS, cell_text, size_text
from liftgbp.posterior.opinions import ComparedValue, Comparison, digits_text
from liftgbp.posterior.proven_bounds import interval_text
from liftgbp.report.rows_shown import bar_rows, rows_table
from liftgbp.support.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

VISIBLE, MOST_COLUMNS = 1e-3, 100
"""Counts with less than this part of the highest share are not seen in a chart, which has at most
this many columns."""

LONGEST_TITLE = 120
"""Titles of charts are cut off after this many letters."""

MOST_MAPS = 6
"""Notebooks show at most this many heat maps of one structure."""


def headline_of(value: object) -> str | None:
    """The most important about a value in one line; none if it is of another kind."""
    match value:
        case CountAnswer():
            true = value.values.get(("true",))
            chance = "" if true is None else f": probability {true:.6f}"
            return f"{value.atom}{chance}; mean {value.mean:.6g}{_spread(value.spread)}"
        case CountDistribution():
            objects = f"#{{{value.formula}}} of {value.objects} objects"
            return f"{objects}: mean {value.mean:.6g}{_spread(value.spread)}"
        case Answer() | ProbabilityBounds():
            return str(value)
        case BlockPanel():
            return f"{value.title}: {len(value.rows)} × {len(value.columns)} blocks"
        case BlockedAtom():
            sizes = " × ".join(str(len(own)) for own in value.blocks)
            return f"{value.text} by the blocks of {', '.join(value.variables)}: {sizes}"
        case BlockStructure():
            return f"{value.summary}, share {value.share:.3g}"
        case Bounds():
            return f"{value.model}{sizes_text(value.domains)}: {value.text}"
        case CountSum():
            return str(value) if value.predicates else "sum over no counts"
        case Comparison():
            return value.sentence
        case Prepared():
            graph, named = value.graph, f"{value.model.name}{sizes_text(value.sizes)}"
            regions = f"{len(graph.regions)} canonical regions, {len(graph.edges)} edges"
            return f"{named}: {regions} ({graph.family}, via {value.via})"
    return None


def _spread(spread: float | None) -> str:
    return "" if spread is None else f", spread {spread:.6g}"


def body_of(value: object) -> Iterable[Content] | None:
    """What a card shows below the headline; none if the value is of another kind."""
    match value:
        case AnswerRows():
            return [rows_table(value)]
        case CountAnswer() if ("true",) not in value.values:
            return [likely_counts({int(count): p for (count,), p in value.values.items()})]
        case Answer():
            return [rows_table([value])]
        case CountDistribution():
            known = dict(enumerate(value.probabilities))
            unknown = f"the distribution is not known: {value.unknown}"
            return [likely_counts(known) if known else note(unknown)]
        case BlockPanel():
            return [_heat_map(value)]
        case BlockedAtom():
            return [_of_atom(value)]
        case BlockStructure():
            return _of_structure(value)
        case ProbabilityBounds():
            return [_bounds_table([value])]
        case Bounds():
            return _of_bounds(value)
        case CountSum():
            peaks = [(text, bar(share), f"{share:.4f}") for text, share in value.peaks]
            return [note(value.choice), table(("counts", "", "share"), peaks, numbers=[2])]
        case Prepared():
            return _of_prepared(value)
        case Comparison():
            return _of_comparison(value)
    return None


# --- comparisons


def _of_comparison(value: Comparison) -> Iterator[Content]:
    level = GOOD if value.agrees else BAD if value.disagrees else DOUBTFUL
    yield badge(level, "agrees" if value.agrees else value.sentence)
    # The probability of true says everything about a Boolean atom.
    told = [row for row in value.rows if row.assignment != ("false",)]
    rows = [
        (
            code(row.atom),
            row.where,
            "" if row.assignment == ("true",) else row.value,
            f"{row.answer:.6f}",
            bar(row.answer),
            f"{row.second:.6f}",
            bar(row.second, *_error_interval(row)),
            digits_text(row.error) if row.error else "",
            f"{row.difference:+.6f}",
        )
        for row in told
    ]
    headings = ("atom", "where", "value", "answer", "", value.title, "", "error", "difference")
    yield table(headings, rows, numbers=[3, 5, 7, 8])


def _error_interval(row: ComparedValue) -> tuple[float, float] | tuple[()]:
    """Two standard errors around the second opinion, if it has any."""
    if not row.error:
        return ()
    return max(0.0, row.second - 2 * row.error), min(1.0, row.second + 2 * row.error)


# --- counts


def likely_counts(shares: Mapping[int, float]) -> Markup:
    """A chart of how likely counts are, from the first that shows to the last."""
    highest = max(shares.values(), default=0.0)
    seen = [count for count, share in shares.items() if share > VISIBLE * highest]
    if not seen:
        return Markup("")
    first, last = min(seen), max(seen)
    together = -(-(last - first + 1) // MOST_COLUMNS)
    columns = [
        sum(shares.get(count + k, 0.0) for k in range(together))
        for count in range(first, last + 1, together)
    ]
    return columns_chart(columns, first, together)


# --- blocks


def _heat_map(panel: BlockPanel) -> Markup:
    """The cells as a table in which higher probabilities are darker."""
    rows = [f"{panel.row_variable} in {k}" for k in panel.rows]
    columns = [f"{panel.column_variable} in {k}" for k in panel.columns]
    return heat_map(panel.title, rows, columns, panel.cells.tolist(), panel.texts)


def _of_atom(atom: BlockedAtom) -> Markup:
    if len(atom.variables) > 1:
        return side_by_side(map(_heat_map, atom.panels()))
    blocks = atom.blocks[0][:MOST_BLOCKS]
    cells = [
        atom.table[: len(blocks), atom.values.index(value)].tolist() for value in atom.shown_values
    ]
    names = [f"{atom.variables[0]} in {k}" for k in blocks]
    rows = [atom.value_text(value) for value in atom.shown_values]
    return heat_map("", rows, names, cells, [list(map(cell_text, own)) for own in cells])


def _of_structure(structure: BlockStructure) -> Iterator[Content]:
    singles, blocks = structure.singles, structure.blocks[: structure.shown_blocks]
    rows = [(str(own.number), own.objects, size_text(own.size)) for own in blocks]
    total = len(structure.blocks)
    yield table(("block", "objects", "size"), rows, numbers=[2], total=total)
    maps = list(map(_heat_map, structure.panels[:MOST_MAPS]))
    if singles:
        numbers = [own.number for own in blocks]
        cells = [[own.get(k, math.nan) for k in numbers] for _, own in singles]
        texts = [list(map(cell_text, own)) for own in cells]
        names = [text for text, _ in singles]
        maps.append(heat_map("", names, [f"block {k}" for k in numbers], cells, texts))
    yield side_by_side(maps)


# --- bounds


def _of_bounds(bounds: Bounds) -> Iterator[Content]:
    told = [
        ("from below by", bounds.lower_by),
        ("from above by", bounds.upper_by),
        ("ground atoms", count_text(bounds.atoms)),
        ("gap per ground atom", number_text(bounds.width_per_atom)),
    ]
    yield fields(told)
    if bounds.rows:
        yield _bounds_table(bounds.rows)


def _bounds_table(rows: Iterable[ProbabilityBounds]) -> Markup:
    lines = [
        (
            code(row.atom),
            row.where,
            "" if value == "true" else value,
            bar(0.0, least, most),
            interval_text(least, most) if row.informative else "no information",
        )
        for row in rows
        for value, (least, most) in row.values.items()
        if not (value == "false" and "true" in row.values)
    ]
    return table(("atom", "where", "value", "", "probability"), lines)


# --- prepared models


def _of_prepared(prepared: Prepared) -> Iterator[Content]:
    from liftgbp.report.graph_drawing import graph_card

    atoms: Any = [own["atoms"] for own in prepared.described_regions]
    yield from graph_card(prepared.graph, atoms)
    layout = prepared.plan.layout
    yield fields(
        [
            ("beliefs", count_text(layout.belief_entries)),
            ("messages", count_text(layout.message_entries)),
            ("sums over parents", count_text(len(layout.sources))),
        ]
    )


# --- figures


def figure_of(value: object, title: str) -> Figure:
    """A value as a figure of Matplotlib."""
    from liftgbp.pictures.charts import drawn

    return drawn(_figure(value, title))


def write_picture_of(value: object, path: Path, title: str) -> None:
    """Write this figure to a file, which appears when it is complete."""
    from liftgbp.pictures.charts import write_figure

    write_figure(_figure(value, title), path)


def _figure(value: object, title: str) -> Callable[[], Figure]:
    match value:
        case AnswerRows():
            from liftgbp.pictures.charts import bars

            return lambda: bars(title, list(bar_rows(value)))
        case BlockStructure():
            from liftgbp.report.answer_pictures import heat_maps

            return lambda: heat_maps(value)
        case Comparison():
            from liftgbp.pictures.charts import PairRow, pairs

            told = [row for row in value.rows if row.assignment != ("false",)]
            rows = [PairRow(row.text, row.answer, row.second, row.error) for row in told]
            heading = shortened(f"the answer {value.sentence}", LONGEST_TITLE)
            return lambda: pairs(heading, value.title, rows)
    raise InternalError(f"{type(value).__name__} has no figure")
