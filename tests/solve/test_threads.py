"""The number of threads of linear algebra is put back, whatever happens in between."""

from __future__ import annotations

import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from liftgbp.solve.newton import one_thread


def numbers_of_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def test_small_matrices_get_one_thread() -> None:
    with one_thread():
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}


def test_large_matrices_get_one_thread_of_each_library() -> None:
    """SciPy brings a library of its own, which is loaded where there are many equations."""
    with one_thread(scipy=True):
        assert numbers_of_threads() <= {1}
        assert "scipy.linalg" in sys.modules
    assert numbers_of_threads() <= {2}


def test_threads_come_back_after_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), one_thread():
        raise KeyboardInterrupt
    assert numbers_of_threads() <= {2}


def test_nested_use_ends_where_it_began() -> None:
    with one_thread(), one_thread():
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}
