"""Reading rows of answers in JSON."""

from __future__ import annotations

from typing import Any


def probability(row: Any, *values: str) -> float:
    """What a row says about an assignment."""
    (found,) = [value["p"] for value in row["values"] if value["assignment"] == list(values)]
    return float(found)
