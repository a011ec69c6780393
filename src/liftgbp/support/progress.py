"""How work that takes a while reports how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from liftgbp.support.limits import enter

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, how much of it is done, and how much there is."""


def silent(stage: str, done: int, total: int) -> None:
    """Report to nobody but the watch over limits."""
    enter(stage)
