"""A region graph and its plan as small tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from liftgbp.plan import Plan

MOST_ROWS = 20
"""Longer tables are cut off."""


def preview(graph: dict[str, Any], via: str, plan: Plan) -> str:
    """The regions, the edges and the size of the arrays, in words."""
    sizes = ", ".join(f"{sort} = {size}" for sort, size in graph["domains"].items())
    regions, edges, layout = graph["regions"], graph["edges"], plan.layout
    return "\n".join(
        [
            f"{graph['model']}" + (f" ({sizes})" if sizes else ""),
            f"{len(regions)} canonical regions for {graph['ground_regions']} ground regions, "
            f"{len(edges)} {'edge' if len(edges) == 1 else 'edges'} ({graph['family']}, via {via})",
            "",
            *_table(
                ("region", "n", "c", "atoms"),
                ((r["region"], r["n"], r["c"], " ".join(r["atoms"])) for r in regions),
                len(regions),
            ),
            "",
            *_table(
                ("edge", "κ", "parent → child"),
                ((e["edge"], e["kappa"], f"{e['parent']} → {e['child']}") for e in edges),
                len(edges),
            ),
            "",
            *_table(
                ("plan", "entries"),
                (
                    ("beliefs", layout.belief_entries),
                    ("messages", layout.message_entries),
                    ("sums over parents", len(layout.sources)),
                ),
                3,
            ),
        ]
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], count: int) -> list[str]:
    shown = [header, *(list(map(str, row)) for row in islice(rows, MOST_ROWS))]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    if count > MOST_ROWS:
        lines.append(f"... and {count - MOST_ROWS} more")
    return lines
