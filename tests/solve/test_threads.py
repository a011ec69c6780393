"""The number of threads of linear algebra is put back, whatever happens in between."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from liftgbp.solve.newton import SMALL_MATRIX, few_threads


def numbers_of_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def test_small_matrices_get_one_thread() -> None:
    with few_threads(10):
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}


def test_large_matrices_keep_their_threads() -> None:
    with few_threads(SMALL_MATRIX):
        assert numbers_of_threads() <= {2}


def test_threads_come_back_after_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), few_threads(10):
        raise KeyboardInterrupt
    assert numbers_of_threads() <= {2}


def test_nested_use_ends_where_it_began() -> None:
    with few_threads(10), few_threads(20):
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}
