"""The view of a sample."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from liftgbp.cli.selection import assignment_text
from liftgbp.cli.terminal import Column, Sheet, Terminal, count_text, counted, probability_text

Result = dict[str, Any]


def show_sample(result: Result) -> None:
    """Print whether the chains have mixed, the answers with their errors, and log Z."""
    terminal = Terminal()
    if result["mixed"]:
        terminal.say("mixed: chains from different starts agree", "green")
    else:
        terminal.say(
            f"HAS NOT MIXED: {result['doubt'].removeprefix('the sample has not mixed: ')}",
            "bold red",
        )
    for query, group in groupby(result["answers"], key=lambda row: row["query"]):
        columns = [Column("atom", prose=True), Column("where", prose=True)]
        columns += [
            Column(heading, right=True)
            for heading in ("count", "value", "P", "standard error", "effective draws", "R-hat")
        ]
        sheet = Sheet(query, columns)
        for row in group:
            for value in row["values"][_first(row) :]:
                sheet.add(
                    row["atom"],
                    row["where"],
                    count_text(row["count"]),
                    assignment_text(row, value["assignment"]),
                    probability_text(value["p"]),
                    _small(value["standard_error"]),
                    count_text(round(row["effective"])),
                    "undefined" if row["r_hat"] is None else f"{row['r_hat']:.3f}",
                )
        terminal.show(sheet)
    if result["log_z"] is not None:
        terminal.say(
            f"log Z {result['log_z']:.10g}, standard error {_small(result['log_z_error'])}"
        )
    terminal.say(
        f"{counted(result['chains'], 'chain')}, {counted(result['sweeps'], 'sweep')} in "
        f"{result['seconds']:.1f} s, seed {result['seed']}"
    )
    for note in result["notes"]:
        terminal.say(f"note: {note}")


def _first(row: Result) -> int:
    """A single Boolean atom shows true alone."""
    every = [value["assignment"] for value in row["values"]]
    return 1 if every == [["false"], ["true"]] else 0


def _small(number: float | None) -> str:
    return "undefined" if number is None else f"{number:.2g}"
