"""Linear algebra in a single thread: on small matrices threads wait for each other, not work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

SMALL = 400
"""Matrices with fewer rows than this are handled faster by one thread than by several."""


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """Keep matrices of so many rows to one thread, if they are small.

    Stacks of small matrices are decomposed one after the other. A library that starts all its
    threads for each of them spends most of the time in waiting, above all on a busy machine.
    """
    if rows >= SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes milliseconds, so they are looked for once."""
    return ThreadpoolController()
