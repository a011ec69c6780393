"""The view of proven bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from liftgbp.cli.terminal import Column, Sheet, Terminal, count_text, counted

Result = dict[str, Any]


def show_bounds(result: Result) -> None:
    """Print what log Z and probabilities lie in."""
    terminal = Terminal()
    for line in bounds_lines(result["log_z"]):
        terminal.say(line)
    for query, group in groupby(result["rows"], key=lambda row: row["query"]):
        rows = list(group)
        columns = [Column("atom", prose=True), Column("where", prose=True)]
        columns.append(Column("count", right=True))
        columns += [Column(f"P({own['value']})", right=True) for own in rows[0]["values"]]
        sheet = Sheet(query, columns)
        for row in rows:
            texts = [
                value["text"] if row["informative"] else "no information" for value in row["values"]
            ]
            sheet.add(row["atom"], row["where"], count_text(row["count"]), *texts)
        terminal.show(sheet)


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
