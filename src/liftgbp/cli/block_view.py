"""The view of blocks: what an answer was made of, its blocks, and the tables between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import liftgbp
from liftgbp.cli.terminal import Sheet, Terminal, counted

SMALLEST_SHARE = 1e-4
"""Other structures with a smaller share are not mentioned."""

WHOLE_SHARE = 0.9995
"""A structure with a larger share is alone, as far as three digits show."""

LEAST_CHANGE = 5e-4
"""Smaller changes do not show in three digits."""


def show_used(terminal: Terminal, result: dict[str, Any]) -> None:
    """Say what the answer was made of, and what that changed against the least effort."""
    effort = result["effort"]
    if effort is None or (effort["level"] == "quick" and not result["blocks"]):
        return
    quick = effort["quick"]
    if quick is None:
        exact = result["verdict"]["kind"] == liftgbp.Kind.EXACT.value
        same = "" if exact or result.get("growth") else ", as with --effort quick"
        terminal.say(f"used: {effort['used']}{same}")
        return
    terminal.say(f"used: {effort['used']}")
    change = quick["change"]
    if change is None:
        return
    refused = quick["standing"] == liftgbp.Standing.REFUSED.value
    against = "against quick (refused)" if refused else "against quick"
    if abs(change["p"] - change["quick"]) < LEAST_CHANGE:
        terminal.say(f"{against}: no probability changed by more than {LEAST_CHANGE:g}")
        return
    atom = _changed_atom(change, located=result["evidence"] is not None)
    terminal.say(f"{against}: {atom} is {change['p']:.3f} instead of {change['quick']:.3f}")


def _changed_atom(change: dict[str, Any], located: bool) -> str:
    """The atom that changed, with its value; of a Boolean atom, true goes without saying."""
    value = "" if change["assignment"] == ["true"] else f" {change['value']}"
    where = f" [{change['where']}]" if located and change["where"] else ""
    return f"{change['atom']}{value}{where}"


def show_blocks(terminal: Terminal, structures: Sequence[liftgbp.BlockStructure]) -> None:
    """Show the blocks of the structure with the largest share, and mention the others."""
    if not structures:
        return
    first = structures[0]
    terminal.show(_blocks_sheet(first))
    for panel in first.panels:
        terminal.show(_panel_sheet(panel, "block "), _panel_sheet(panel, ""))
    if len(first.blocks) > first.shown_blocks:
        left = counted(len(first.blocks) - first.shown_blocks, "more block")
        terminal.say(f"... and {left}; --json shows them all")
    others = [(other.summary, other.share) for other in structures[1:]]
    others.append(("one block", 1.0 - math.fsum(other.share for other in structures)))
    for summary, share in others:
        if share >= SMALLEST_SHARE:
            terminal.say(f"mixed with {summary} (share {share:.3g})")


def _blocks_sheet(structure: liftgbp.BlockStructure) -> Sheet:
    """The blocks with their sizes, and with the probabilities of atoms over one object."""
    share = "" if structure.share > WHOLE_SHARE else f" (share {structure.share:.3g})"
    headings = ["block", "objects", "size", *(text for text, _ in structure.singles)]
    rows = structure.block_rows()
    return Sheet.of(
        f"blocks{share}", headings, rows, prose=["objects"], left=["block"], lead="block {}"
    )


def _panel_sheet(panel: liftgbp.BlockPanel, word: str) -> Sheet:
    """The probabilities between blocks; without the word it takes less room."""
    headings = ["", *(f"{panel.column_variable} in {word}{k}" for k in panel.columns)]
    rows = (
        (f"{panel.row_variable} in {word}{k}", *row)
        for k, row in zip(panel.rows, panel.texts, strict=True)
    )
    return Sheet.of(f"{panel.title} between blocks", headings, rows)
