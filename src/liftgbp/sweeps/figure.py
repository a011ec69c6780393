"""A plot of a sweep: probabilities over the quantity that varies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Record = dict[str, object]

WIDE = 20
"""A range of positive numbers wider than this factor gets a logarithmic axis."""


def draw(records: Sequence[Record], path: Path) -> None:
    """Draw one line per row of the answers and value; `false` is left out."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    along = _varying(records)
    for name, own in _lines(records, along).items():
        x, y = zip(*own, strict=True)
        axes.plot(x, y, marker="." if len(x) < 50 else "", label=name)
    values = [float(str(record[along])) for record in records]
    if min(values) > 0 and max(values) > WIDE * min(values):
        axes.set_xscale("log")
    axes.set_xlabel(along)
    axes.set_ylabel("probability")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)


def _varying(records: Sequence[Record]) -> str:
    """The swept quantity with most values."""
    swept = [name for name in records[0] if name not in _ANSWER]
    return max(swept, key=lambda name: len({str(record[name]) for record in records}))


_ANSWER = {"query", "atom", "where", "value", "probability", "log_z", "status", "minima"}


def _lines(records: Sequence[Record], along: str) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    others = [name for name in records[0] if name not in _ANSWER and name != along]
    fixed = [name for name in others if len({str(r[name]) for r in records}) > 1]
    for record in records:
        if record["value"] == "false":
            continue
        name = f"{record['atom']} {record['value']}"
        if record["where"]:
            name += f" ({record['where']})"
        name += "".join(f", {one} = {record[one]:g}" for one in fixed)
        point = float(str(record[along])), float(str(record["probability"]))
        lines.setdefault(name, []).append(point)
    return lines
