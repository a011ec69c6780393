"""Tasks in several processes: the results of one process, and no process that outlives the run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import liftgbp
from liftgbp import InputError, LimitExceeded, Limits, WorkerError
from liftgbp.support import workers
from liftgbp.support.limits import Watch, check_work, resident_memory
from liftgbp.support.workers import checked_jobs, finished, in_order

FOREVER = 1000.0


def square(number: int) -> int:
    return number * number


def slow_first(number: int) -> int:
    """The later a task, the sooner it is done."""
    time.sleep(0.3 / (1 + number))
    return number


def process_of(_task: object) -> int:
    return os.getpid()


def sleep(_task: object) -> None:
    time.sleep(FOREVER)


def hold(size: int) -> None:
    block = bytearray(size)
    time.sleep(FOREVER)
    del block


@pytest.fixture(params=["fork", "spawn"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START", request.param)


@pytest.mark.slow
@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
def test_results_are_those_of_one_process(jobs: int) -> None:
    tasks = list(range(7))
    found = list(finished(square, tasks, jobs))
    assert sorted(found) == [(k, k * k) for k in tasks]
    assert list(in_order(finished(square, tasks, jobs))) == [k * k for k in tasks]


@pytest.mark.slow
def test_results_come_in_order_whoever_is_done_first() -> None:
    tasks = list(range(6))
    assert list(in_order(finished(slow_first, tasks, 3))) == tasks


def test_one_job_stays_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(workers, "ProcessPoolExecutor", refuse)
    assert dict(finished(process_of, [1, 2, 3], 1)) == dict.fromkeys(range(3), os.getpid())
    assert dict(finished(process_of, ["only one"], 4)) == {0: os.getpid()}
    assert list(finished(process_of, [], 4)) == []


def test_several_jobs_are_several_processes() -> None:
    found = {process for _, process in finished(process_of, range(40), 2)}
    assert os.getpid() not in found
    assert 1 <= len(found) <= 2


def threads(_task: object) -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info()}


def test_linear_algebra_has_one_thread_in_each_worker() -> None:
    for _, found in finished(threads, range(3), 2):
        assert found <= {1}


# --- errors


def fail_at_two_and_four(number: int) -> int:
    if number == 2:
        time.sleep(0.3)  # the error of 4 comes first
        raise InputError("two is wrong")
    if number == 4:
        raise InputError("four is wrong")
    return number


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_error_is_the_one_that_comes_first_in_one_process(jobs: int) -> None:
    found = in_order(finished(fail_at_two_and_four, range(6), jobs))
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(InputError, match="two is wrong"):
        next(found)


def fail_with_a_place(_task: object) -> None:
    liftgbp.parse("smokes(person)\n1.4 smoke(x)", name="a.mln")


def test_errors_keep_their_place_in_the_text() -> None:
    with pytest.raises(liftgbp.ModelError) as alone:
        list(finished(fail_with_a_place, range(2), 1))
    with pytest.raises(liftgbp.ModelError) as shared:
        list(finished(fail_with_a_place, range(2), 2))
    assert str(shared.value) == str(alone.value)
    assert str(shared.value).startswith("a.mln:2:5: ")


def divide(_task: object) -> float:
    return 1 / 0


def test_other_errors_say_where_they_come_from() -> None:
    with pytest.raises(ZeroDivisionError) as found:
        list(finished(divide, range(2), 2))
    assert "in divide" in str(found.value.__cause__)


def die(_task: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(_task: object) -> None:
    os._exit(7)


@pytest.mark.slow
@pytest.mark.usefixtures("start")
@pytest.mark.parametrize(
    ("work", "how"), [(die, r"by signal 9 \(SIGKILL\)"), (leave, "with exit code 7")]
)
def test_a_worker_that_is_gone_is_missed(work: Callable[[object], None], how: str) -> None:
    with pytest.raises(WorkerError, match=f"ended {how}; .* use fewer jobs"):
        list(finished(work, range(4), 2))
    assert own_children() == set()


@pytest.mark.parametrize("wrong", [0, -1, 257, 10**9, 1e9, 2.0, True, "2", "many", None, [2]])
def test_wrong_numbers_of_jobs(wrong: object) -> None:
    with pytest.raises(InputError, match="jobs must be a whole number from 1 to 256, got the "):
        checked_jobs(wrong)


def test_numbers_of_numpy() -> None:
    assert checked_jobs(np.int64(3)) == 3


# --- ends


def own_children() -> set[int | None]:
    return {own.pid for own in multiprocessing.active_children()}


@pytest.fixture
def alone() -> Iterator[None]:
    """Tests that look at the processes that they have started."""
    before = own_children()
    yield
    assert own_children() <= before


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_run_that_is_given_up_ends_its_workers() -> None:
    with closing(finished(process_of, range(9), 2)) as found:  # type: ignore[type-var]
        next(found)
        assert len(own_children()) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_runs_beside_each_other_end_their_own_workers_only() -> None:
    with (
        closing(finished(process_of, range(9), 2)) as first,  # type: ignore[type-var]
        closing(finished(square, range(9), 2)) as second,  # type: ignore[type-var]
    ):
        next(second)
        next(first)
        second.close()
        assert len(own_children()) == 2
        assert len(list(first)) == 8


@pytest.mark.usefixtures("alone")
def test_processes_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refuse)
    with pytest.raises(WorkerError, match="cannot start 2 worker processes: Resource"):
        list(finished(square, range(4), 2))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_time_is_up_for_all_workers() -> None:
    with (
        Watch(Limits(seconds=0.5)).running(),
        pytest.raises(LimitExceeded, match=r"in stage '.*': it took longer"),
    ):
        list(finished(sleep, range(4), 2))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="no such system")
def test_memory_counts_for_all_workers_together() -> None:
    """Each of them holds less than it may."""
    size = 2 * 10**8
    allowed = resident_memory() + 1.7 * size
    with (
        Watch(Limits(memory=allowed / 1e9)).running(),
        pytest.raises(LimitExceeded, match="GB of memory; --memory"),
    ):
        list(finished(hold, [size] * 4, 2))


def search(steps: int) -> None:
    check_work("looking", steps, "look at less")


@pytest.mark.slow
@pytest.mark.usefixtures("start")
def test_work_is_limited_in_workers() -> None:
    list(finished(search, [11, 11], 2))
    with (
        Watch(Limits(work=10)).running(),
        pytest.raises(liftgbp.CapacityError, match="above the limit of 10; look at less"),
    ):
        list(finished(search, [11, 11], 2))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_an_interrupt_ends_workers() -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(finished(sleep, range(4), 2))
    finally:
        signal.signal(signal.SIGALRM, before)
