"""The view of answers beside a second opinion."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from liftgbp.cli.terminal import Column, Sheet, Terminal, probability_text


def show_comparison(comparison: dict[str, Any], *, sentence: bool = True) -> None:
    """Print answers beside a second opinion, and whether they agree."""
    terminal = Terminal()
    sampled = any(row["standard_error"] for row in comparison["rows"])
    headings = ["answer", "second opinion", *(["standard error"] * sampled), "difference"]
    for query, group in groupby(comparison["rows"], key=lambda row: row["query"]):
        columns = [Column("atom", prose=True), Column("where", prose=True), Column("value")]
        columns += [Column(heading, right=True) for heading in headings]
        sheet = Sheet(f"{query}, beside {comparison['title']}", columns)
        for row in group:
            # The probability of true says everything about a Boolean atom.
            if row["assignment"] != ["false"]:
                error = [f"{row['standard_error']:.2g}"] * sampled
                sheet.add(
                    row["atom"],
                    row["where"],
                    row["value"],
                    probability_text(row["answer"]),
                    probability_text(row["second"]),
                    *error,
                    # Adding zero makes minus zero plus zero.
                    f"{round(row['difference'], 6) + 0.0:+.6f}",
                )
        terminal.show(sheet)
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
