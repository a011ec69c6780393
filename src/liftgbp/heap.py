"""Memory that large arrays leave is kept for the next ones.

The C library of Linux asks the system for every array beyond 32 MB, and gives it back as soon as
the array is gone. The system clears all of it each time: of the regions and the compression of a
network of a million atoms, that is half of the time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
"""The options of `mallopt` in malloc.h."""

_KEPT = {_MMAP_MAX: 0, _TRIM_THRESHOLD: -1}
"""Nothing is asked of the system by itself, and nothing is given back."""

_USUAL = {_MMAP_MAX: 65536, _MMAP_THRESHOLD: 2**25, _TRIM_THRESHOLD: 2**26}
"""What the C library comes to by itself in a process that has freed large arrays."""

_lock = Lock()
_users = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep the memory of arrays inside, and give it back in the end.

    This holds for the whole process. Where the C library has no such options, nothing changes.

    >>> with kept_memory():
    ...     total = sum(range(10))
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _users  # noqa: PLW0603
    with _lock:
        _users += 1
        if _users == 1:
            _set(_KEPT)


def _leave() -> None:
    global _users  # noqa: PLW0603
    with _lock:
        _users -= 1
        if not _users and _set(_USUAL):
            _library().malloc_trim(0)


def _set(options: dict[int, int]) -> bool:
    """Set options of the C library, if it has them."""
    library = _library()
    if library is not None:
        for option, value in options.items():
            library.mallopt(option, value)
    return library is not None


@lru_cache(maxsize=1)
def _library() -> Any:
    """The C library, if it has the options; `None` elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
