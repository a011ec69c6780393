"""The views of second opinions: proven bounds, samples, and answers beside an opinion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import liftgbp
from liftgbp.cli.terminal import Terminal, count_text, counted, probability_text

Result = dict[str, Any]

ATOM = ("atom", "where")
"""The columns that say what a row is about."""


def show_bounds(result: Result) -> None:
    """Print what log Z and probabilities lie in."""
    terminal = Terminal()
    for line in bounds_lines(result["log_z"]):
        terminal.say(line)
    for query, group in groupby(result["rows"], key=lambda row: row["query"]):
        rows = list(group)
        values = [f"P({value['value']})" for value in rows[0]["values"]]
        lines = (
            (
                row["atom"],
                row["where"],
                count_text(row["count"]),
                *(
                    value["text"] if row["informative"] else "no information"
                    for value in row["values"]
                ),
            )
            for row in rows
        )
        terminal.table(query, (*ATOM, "count", *values), lines, prose=ATOM)


def bounds_lines(log_z: Result) -> Iterator[str]:
    """What log Z lies in, in words."""
    yield f"proven: {log_z['text']}"
    if log_z["lower"] is None:
        yield f"above: {log_z['upper_by']}"
        return
    yield (
        f"for each of {counted(log_z['atoms'], 'ground atom')}: {log_z['lower_per_atom']:.6g} to "
        f"{log_z['upper_per_atom']:.6g}, {log_z['width_per_atom']:.3g} apart"
    )
    yield f"below: {log_z['lower_by']}; above: {log_z['upper_by']}"


def show_comparison(comparison: Result, *, sentence: bool = True) -> None:
    """Print answers beside a second opinion, and whether they agree."""
    terminal = Terminal()
    sampled = any(row["standard_error"] for row in comparison["rows"])
    numbers = ("answer", "second opinion", *(["standard error"] * sampled), "difference")
    for query, group in groupby(comparison["rows"], key=lambda row: row["query"]):
        lines = (
            (
                row["atom"],
                row["where"],
                row["value"],
                probability_text(row["answer"]),
                probability_text(row["second"]),
                *([f"{row['standard_error']:.2g}"] * sampled),
                # Adding zero makes minus zero plus zero.
                f"{round(row['difference'], 6) + 0.0:+.6f}",
            )
            for row in group
            # The probability of true says everything about a Boolean atom.
            if row["assignment"] != ["false"]
        )
        title = f"{query}, beside {comparison['title']}"
        terminal.table(title, (*ATOM, "value", *numbers), lines, prose=ATOM, left=["value"])
    log_z = comparison["log_z"]
    if log_z["second"] is not None and log_z["answer"] is not None:
        error = log_z["standard_error"]
        error_text = f" (standard error {error:.2g})" if error else ""
        terminal.say(
            f"log Z = {log_z['answer']:.10g}, by {comparison['title']} "
            f"{log_z['second']:.10g}{error_text}"
        )
    if sentence:
        terminal.say(comparison["sentence"], "green" if comparison["agrees"] else "bold red")


def show_sample(result: Result, rows: Sequence[liftgbp.SampledAnswer]) -> None:
    """Print whether the chains have mixed, the answers with their errors, and log Z."""
    terminal = Terminal()
    if result["mixed"]:
        terminal.say("mixed: chains from different starts agree", "green")
    else:
        doubt = result["doubt"].removeprefix("the sample has not mixed: ")
        terminal.say(f"HAS NOT MIXED: {doubt}", "bold red")
    numbers = ("count", "value", "P", "standard error", "effective draws", "R-hat")
    for query, group in groupby(rows, key=lambda row: row.query):
        lines = (
            (
                row.atom,
                row.where,
                count_text(row.count),
                row.assignment_text(key),
                probability_text(p),
                _small(row.error_of(key)),
                count_text(round(row.effective)),
                f"{row.r_hat:.3f}" if math.isfinite(row.r_hat) else "undefined",
            )
            for row in group
            for key, p in row.shown_values.items()
        )
        terminal.table(query, (*ATOM, *numbers), lines, prose=ATOM)
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


def _small(number: float | None) -> str:
    return "undefined" if number is None or math.isnan(number) else f"{number:.2g}"
