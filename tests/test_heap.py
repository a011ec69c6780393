"""Memory of large arrays is kept while that is wanted, and given back in the end."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from liftgbp import heap
from liftgbp.heap import kept_memory

LARGE = 2**23
"""Numbers in an array of 64 MB, for which the C library asks the system each time."""


def faults_of_filling_again() -> int:
    """How many pages the system hands out for an array, just after one of that size is gone."""
    np.full(LARGE, 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.full(LARGE, 2.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(heap._library() is None, reason="the C library has no such options")
def test_memory_is_kept_inside_and_given_back_after() -> None:
    usual = faults_of_filling_again()
    with kept_memory(), kept_memory():
        assert faults_of_filling_again() < usual / 2
        inside = resident()
    assert resident() < inside - 4 * LARGE
    assert faults_of_filling_again() > usual / 2


def test_errors_leave_nothing_behind() -> None:
    with pytest.raises(KeyError), kept_memory():
        raise KeyError
    assert heap._users == 0


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_do_without(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    heap._library.cache_clear()
    try:
        with kept_memory():
            assert heap._library() is None
    finally:
        monkeypatch.undo()
        heap._library.cache_clear()
