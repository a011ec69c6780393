"""Independent tasks in several processes, with the results that one process gives.

Tasks are handed out in their order, one to each process at a time, and what comes out of a task
depends on nothing but the task. So results are the same for any number of processes.

The first process keeps the limits of the run, for its own time and memory and for those of its
workers, and writes all files. Workers only compute: they may be killed at any time, are killed when
the run is over, however it ends, and end by themselves if the first process is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from numbers import Integral
from types import MappingProxyType, TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from liftgbp.errors import InputError, InternalError, WorkerError, wrong_type
from liftgbp.limits import Limits, Watch, checkpoint, enter, helped_by, most_work

Task = TypeVar("Task")
Result = TypeVar("Result")

START = "fork" if sys.platform == "linux" else "spawn"
"""How workers start. Forked ones have imported everything, and scripts that start them need no
`if __name__ == "__main__"`. Other systems have libraries that do not survive a fork."""

MOST_JOBS = 256
"""More processes than this are a typing error: they take longer to start than to help."""

LOOK_EVERY = 0.05
"""Seconds between two looks at the limits, and at workers that say nothing."""

LAST_WORDS = 5.0
"""Seconds to learn from the system how a worker has ended, once its connection is closed."""

ENDS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals by which others end a run."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What tells libraries that a worker loads later how many threads they may start."""


def checked_jobs(jobs: object) -> int:
    """The number of processes.

    >>> checked_jobs(0)
    Traceback (most recent call last):
    liftgbp.errors.InputError: jobs must be a whole number from 1 to 256, got the int 0
    """
    whole = isinstance(jobs, Integral) and not isinstance(jobs, bool)
    if not whole or not 1 <= jobs <= MOST_JOBS:  # type: ignore[operator]
        raise wrong_type("jobs", f"a whole number from 1 to {MOST_JOBS}", jobs)
    return int(jobs)  # type: ignore[call-overload, no-any-return]


def finished(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int
) -> Iterator[tuple[int, Result]]:
    """The place of each task and what came out of it, as they finish.

    With one job, or one task, all is done in this process. An error of a task is raised when all
    tasks before it are finished, so it is the error that one process would have met.

    >>> sorted(finished(abs, [-3, 4], jobs=1))
    [(0, 3), (1, 4)]
    """
    if jobs == 1 or len(tasks) < 2:
        for place, task in enumerate(tasks):
            yield place, work(task)
        return
    with _Crew(work, min(jobs, len(tasks))) as crew:
        yield from crew.results(tasks)


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


# --- what workers hear and say


def _read_only(own: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(own)


# Evidence has some, and Python does not know how to hand them over.
ForkingPickler.register(MappingProxyType, lambda own: (_read_only, (dict(own),)))


class _Stage(NamedTuple):
    """The worker has entered a stage."""

    name: str


class _Done(NamedTuple):
    """The worker has finished its task."""

    result: Any


class _Failed(NamedTuple):
    """The task of the worker has raised an error."""

    error: Exception


# --- in the first process


class _Worker:
    """A process, the connection to it, and the place of the task that it works on."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context: Any = multiprocessing.get_context(START)
        self.link, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, other, most_work()), daemon=True)
        self.process.start()
        other.close()
        self.place: int | None = None

    def give(self, place: int, task: object) -> None:
        self.place = place
        # Whoever is gone by now is missed when it does not answer.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.link.send(task)

    def messages(self) -> Iterator[_Stage | _Done | _Failed]:
        """What the worker has said since the last time."""
        try:
            while self.link.poll():
                yield self.link.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if not self.process.is_alive() and not self.link.poll():
            raise self._lost()

    def _lost(self) -> WorkerError:
        self.process.join(LAST_WORDS)
        code = self.process.exitcode or 0
        how = f"with exit code {code}"
        if code < 0:
            how = f"by signal {-code} ({signal.Signals(-code).name})"
        return WorkerError(
            f"worker process {self.process.pid} was ended {how}; systems do this where memory runs "
            "out: use fewer jobs, or smaller models"
        )


class _Crew(Generic[Task, Result]):
    """Processes that work for this one; all of them are gone when it is left."""

    def __init__(self, work: Callable[[Task], Result], size: int) -> None:
        self._work = work
        self._size = size
        self._workers: list[_Worker] = []
        self._known = contextlib.ExitStack()

    def __enter__(self) -> _Crew[Task, Result]:
        try:
            # A signal must not reach a worker before that knows what to do about it.
            with _signals_held():
                for _ in range(self._size):
                    self._workers.append(_Worker(self._work))
        except OSError as error:
            self._end()
            raise WorkerError(
                f"cannot start {self._size} worker processes: {error.strerror}; use fewer jobs"
            ) from None
        except BaseException:
            self._end()
            raise
        self._known.enter_context(helped_by([own.process.pid for own in self._workers]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        self._known.close()
        for worker in self._workers:
            worker.process.join()
            worker.link.close()
        self._workers = []

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """The place of each task and its result, as they finish."""
        given = 0
        failed: dict[int, Exception] = {}
        while True:
            for worker in self._workers:
                if worker.place is None and given < len(tasks) and not failed:
                    worker.give(given, tasks[given])
                    given += 1
            busy = [own.place for own in self._workers if own.place is not None]
            if failed and all(place > min(failed) for place in busy):
                raise failed[min(failed)]
            if not busy:
                return
            for place, message in self._heard():
                if isinstance(message, _Failed):
                    failed[place] = message.error
                else:
                    yield place, message.result

    def _heard(self) -> list[tuple[int, _Done | _Failed]]:
        """Wait for workers; the tasks that have ended since the last time."""
        checkpoint()
        connection.wait([worker.link for worker in self._workers], LOOK_EVERY)
        ended: list[tuple[int, _Done | _Failed]] = []
        for worker in self._workers:
            for message in worker.messages():
                if isinstance(message, _Stage):
                    enter(message.name)
                elif worker.place is not None:
                    ended.append((worker.place, message))
                    worker.place = None
        return ended


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


def _serve(work: Callable[[Any], Any], link: Any, steps: int) -> None:
    """Work on one task after the other, until somebody ends this process."""
    _leave_signals_to_the_first_process()
    threading.Thread(target=_end_with_the_first_process, daemon=True).start()
    _use_one_thread()
    # Time and memory are looked after by the first process, for all workers together.
    watch = Watch(Limits(work=steps), told=lambda own: link.send(_Stage(own.stage)))
    with watch.running():
        while True:
            task = link.recv()
            _answer(link, _outcome(work, task))


def _outcome(work: Callable[[Any], Any], task: object) -> _Done | _Failed:
    try:
        return _Done(work(task))
    except Exception as error:
        if not isinstance(error, InputError):
            error.add_note("in a worker process:\n" + traceback.format_exc())
        return _Failed(error)


def _answer(link: Any, outcome: _Done | _Failed) -> None:
    try:
        pickle.loads(pickle.dumps(outcome)) if isinstance(outcome, _Failed) else None
        link.send(outcome)
    except (pickle.PicklingError, TypeError, AttributeError) as problem:
        what = outcome.error if isinstance(outcome, _Failed) else outcome.result
        link.send(_Failed(InternalError(f"{what!r} does not leave its process: {problem}")))


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
