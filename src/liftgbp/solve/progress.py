"""How solvers tell what they are doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with how many iterations are done, and how many there may be."""


def silent(done: int, total: int) -> None:
    """Report no progress."""
