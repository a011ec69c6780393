"""Independent tasks in several processes, with the results that one process gives.

What comes out of a task depends on nothing but the task, so results are the same for any number of
processes.

The first process keeps the limits of the run, for its own time and memory and for those of its
workers, and writes all files. Workers only compute: they may be killed at any time, are killed when
the run is over, however it ends, and end by themselves if the first process is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar

from liftgbp.support.errors import WorkerError, wrong_type
from liftgbp.support.limits import WORKERS, Limits, Watch, checkpoint, most_work

Task = TypeVar("Task")
Result = TypeVar("Result")

START = "fork" if sys.platform == "linux" else "spawn"
"""How workers start. Forked ones have imported everything, and scripts that start them need no
`if __name__ == "__main__"`. Other systems have libraries that do not survive a fork."""

MOST_JOBS = 256
"""More processes than this are a typing error: they take longer to start than to help."""

LOOK_EVERY = 0.05
"""Seconds between two looks at the limits."""

ENDS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals by which others end a run."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What tells libraries that a worker loads later how many threads they may start."""

# Evidence has some, and Python does not know how to hand them over.
ForkingPickler.register(MappingProxyType, lambda mapping: (MappingProxyType, (dict(mapping),)))


def checked_jobs(jobs: object) -> int:
    """The number of processes.

    >>> checked_jobs(0)
    Traceback (most recent call last):
    liftgbp.InputError: jobs must be a whole number from 1 to 256, got the int 0
    """
    whole = isinstance(jobs, Integral) and not isinstance(jobs, bool)
    if not whole or not 1 <= jobs <= MOST_JOBS:  # type: ignore[operator]
        raise wrong_type("jobs", f"a whole number from 1 to {MOST_JOBS}", jobs)
    return int(jobs)  # type: ignore[call-overload, no-any-return]


def finished(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    *,
    apart: bool = False,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[int, Result]]:
    """The place of each task and what came out of it, as they finish.

    With one job, or one task, all is done in this process, unless it is to be kept `apart`: some
    libraries hear no signal, and are ended with the worker. An error of a task is raised when all
    tasks before it are finished, so it is the error that one process would have met. Workers are
    ended once their results are no longer `wanted`.

    >>> sorted(finished(abs, [-3, 4], jobs=1))
    [(0, 3), (1, 4)]
    """
    if not apart and (jobs == 1 or len(tasks) < 2):
        for place, task in enumerate(tasks):
            yield place, work(task)
        return
    size = min(jobs, len(tasks))
    pool = ProcessPoolExecutor(
        size, multiprocessing.get_context(START), _begin, (work, most_work())
    )
    others = multiprocessing.active_children()
    workers: list[BaseProcess] = []
    try:
        # A signal must not reach a worker before that knows what to do about it.
        with _signals_held():
            try:
                waiting = {pool.submit(_work_on, task): place for place, task in enumerate(tasks)}
            except OSError as error:
                raise WorkerError(
                    f"cannot start {size} worker processes: {error.strerror}; use fewer jobs"
                ) from None
            finally:
                workers = [own for own in multiprocessing.active_children() if own not in others]
        WORKERS.extend(own.pid for own in workers if own.pid is not None)
        yield from _results(waiting, wanted)
    except BrokenProcessPool:
        pool.shutdown()
        raise _lost(workers) from None
    finally:
        # The pool itself would let them finish what they are at.
        for worker in workers:
            worker.kill()
            if worker.pid in WORKERS:
                WORKERS.remove(worker.pid)
        pool.shutdown(cancel_futures=True)


def _results(
    waiting: dict[Future[Any], int], wanted: Callable[[], bool]
) -> Iterator[tuple[int, Any]]:
    failed: dict[int, Future[Any]] = {}
    while waiting and wanted():
        checkpoint()
        for future in wait(waiting, LOOK_EVERY, FIRST_COMPLETED).done:
            place = waiting.pop(future)
            if future.exception() is not None:
                failed[place] = future
            elif not failed or place < min(failed):
                yield place, future.result()
        if failed and all(place > min(failed) for place in waiting.values()):
            failed[min(failed)].result()


def in_order(found: Iterator[tuple[int, Result]]) -> Iterator[Result]:
    """The results of tasks in the order of the tasks.

    >>> list(in_order(iter([(1, "b"), (0, "a"), (2, "c")])))
    ['a', 'b', 'c']
    """
    early: dict[int, Result] = {}
    following = 0
    for place, result in found:
        early[place] = result
        while following in early:
            yield early.pop(following)
            following += 1


def _lost(workers: Sequence[BaseProcess]) -> WorkerError:
    """The error for a worker that ended by itself; the pool has told the others to, by SIGTERM."""
    ended = [own for own in workers if own.exitcode not in (None, 0, -signal.SIGTERM)]
    who, how = "a worker process", "by signal 15 (SIGTERM)"
    if ended:
        code = ended[0].exitcode or 0
        who = f"worker process {ended[0].pid}"
        how = f"with exit code {code}"
        if code < 0:
            how = f"by signal {-code} ({signal.Signals(-code).name})"
    return WorkerError(
        f"{who} was ended {how}; systems do this where memory runs out: use fewer jobs, or smaller "
        "models"
    )


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Let signals that end a run wait until this is over."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker


_work: Callable[[Any], Any]
"""What this worker does with a task."""

_steps = Limits().work


def _begin(work: Callable[[Any], Any], steps: int) -> None:
    """Make this process a worker."""
    global _work, _steps
    _work, _steps = work, steps
    _leave_signals_to_the_first_process()
    threading.Thread(target=_end_with_the_first_process, daemon=True).start()
    _use_one_thread()


def _work_on(task: Any) -> Any:
    # Time and memory are looked after by the first process, for all workers together.
    with Watch(Limits(work=_steps)).running():
        return _work(task)


def _leave_signals_to_the_first_process() -> None:
    """Ctrl-C reaches all processes of a terminal. The first one knows what to do about it."""
    for number in ENDS:
        ignored = number == signal.SIGINT
        signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)


def _end_with_the_first_process() -> None:
    first = multiprocessing.parent_process()
    if first is not None:
        connection.wait([first.sentinel])
        os._exit(1)


def _use_one_thread() -> None:
    """Let linear algebra use one thread: there are as many processes as there should be."""
    from threadpoolctl import threadpool_limits

    os.environ |= dict.fromkeys(THREADS, "1")
    threadpool_limits(limits=1)
