"""The number of threads of linear algebra is put back, whatever happens in between."""

from __future__ import annotations

from itertools import combinations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.parser import parse
from liftgbp.plan import compile_plan
from liftgbp.solve.energy import Polytope, one_thread, polytope


def consistent_beliefs(predicates: int) -> Polytope:
    """Those of a model in which each predicate is tied to each other one."""
    declared = "".join(f"p{k}(thing)\n" for k in range(predicates))
    rules = "".join(f"1 p{i}(x) => p{k}(x)\n" for i, k in combinations(range(predicates), 2))
    return polytope(
        compile_plan(build_regions(shatter(parse(declared + rules), {"thing": 9}))).layout
    )


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


def test_large_matrices_get_one_thread() -> None:
    large = consistent_beliefs(6)
    assert not large.is_tiny
    with one_thread(large):
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}


def test_tiny_matrices_are_left_alone() -> None:
    """No library divides them among threads, and looking for its threads would take longer."""
    tiny = consistent_beliefs(2)
    assert tiny.is_tiny
    with one_thread(tiny):
        assert numbers_of_threads() <= {2}


def test_threads_come_back_after_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), one_thread():
        raise KeyboardInterrupt
    assert numbers_of_threads() <= {2}


def test_nested_use_ends_where_it_began() -> None:
    with one_thread(), one_thread():
        assert numbers_of_threads() <= {1}
    assert numbers_of_threads() <= {2}
