"""Linear algebra in a single thread: on small matrices threads wait for each other, not work."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

SMALL = 400
"""Matrices with fewer rows than this are handled faster by one thread than by several."""

SPELLINGS = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
"""How the builds of OpenBLAS that NumPy comes with spell the names of its functions."""


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """Keep matrices of so many rows to one thread, if they are small.

    Stacks of small matrices are decomposed one after the other. A library that starts all its
    threads for each of them spends most of the time in waiting, above all on a busy machine. Where
    the library is another than OpenBLAS, nothing is changed.
    """
    controls = _controls() if rows < SMALL else None
    if controls is None:
        yield
        return
    get, set_ = controls
    before = get()
    set_(1)
    try:
        yield
    finally:
        set_(before)


@cache
def _controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions that tell and set the number of threads, found through NumPy's own module."""
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    except (AttributeError, OSError):
        return None
    for spelling in SPELLINGS:
        names = spelling.format("get_num_threads"), spelling.format("set_num_threads")
        if all(hasattr(library, name) for name in names):
            get, set_ = (getattr(library, name) for name in names)
            get.restype, set_.argtypes = ctypes.c_int, [ctypes.c_int]
            return get, set_
    return None
