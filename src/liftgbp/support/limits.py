"""How long a run may take and how much memory it may use, and where it is when it has to stop.

A run within limits has a `Watch`. Work says which stage it enters, and looks at the watch wherever
it reports progress and inside its loops; beyond a limit, that raises `LimitExceeded`. Nothing else
stops it: one long call into a compiled library ends before the next look. The command line also
has a timer and limits of the system.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from liftgbp.support.errors import CapacityError, LimitExceeded, checked_number, wrong_type
from liftgbp.support.shown import HasCard

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

GIGABYTE = 10**9

MOST_WORK = 200_000
"""The most steps of one search, unless limits say otherwise: some seconds. Of the models in this
repository, none takes a tenth of that."""

STEPS_AT_ONCE = 1000
"""A search looks at its limits after this many steps."""

MEMORY_EVERY = 0.05
"""Seconds between two looks at the memory, which take longer than looks at the clock."""


@dataclass(frozen=True, slots=True)
class Limits(HasCard):
    """The most that a run may take; `None` stands for no limit.

    seconds  time
    memory   gigabytes (10^9 bytes) of memory that the whole process holds, with its workers
    work     steps of one search, such as for the regions that overlap; counted, not timed

    >>> import liftgbp
    >>> town, minute = liftgbp.load("example:town"), liftgbp.Limits(seconds=60, memory=4)
    >>> liftgbp.infer(town, {"person": 1000}, limits=minute).trusted
    True
    >>> liftgbp.Limits(seconds=-1)
    Traceback (most recent call last):
    liftgbp.InputError: the limit of seconds must be a number above 0, got the int -1
    """

    seconds: float | None = None
    memory: float | None = None
    work: int = MOST_WORK

    def __post_init__(self) -> None:
        checked_number("the limit of work", self.work, least=1)
        for name in ("seconds", "memory"):
            given = getattr(self, name)
            if given is None:
                continue
            number = isinstance(given, Real) and not isinstance(given, bool)
            if not number or not 0 < given < math.inf:
                raise wrong_type(f"the limit of {name}", "a number above 0", given)

    @classmethod
    def for_strangers(cls) -> Limits:
        """Limits for models that somebody else wrote: ten seconds, two gigabytes.

        The models in the documentation take a tenth of that.
        """
        return cls(seconds=10.0, memory=2.0)


class Watch:
    """Knows the limits of a run, how much is left of them, and which stage the run is in."""

    def __init__(self, limits: Limits, outer: Watch | None = None) -> None:
        self.limits = limits
        self.stage = "starting"
        self._outer = outer
        self._left = math.inf if limits.seconds is None else float(limits.seconds)
        self._deadline = math.inf
        self._most = math.inf if limits.memory is None else limits.memory * GIGABYTE
        self._look_again = 0.0

    @contextmanager
    def running(self) -> Iterator[Watch]:
        """Watch what runs inside; time between two such blocks does not count."""
        self._deadline = time.monotonic() + self._left
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)
            self._left = self._deadline - time.monotonic()

    def enter(self, stage: str) -> None:
        """Go on to a stage, unless a limit is exceeded."""
        if stage != self.stage:
            self.stage = stage
            if self._outer is not None:
                self._outer.enter(stage)
        self.check()

    def check(self) -> None:
        """Raise `LimitExceeded` if the run has taken more than it may."""
        now = time.monotonic()
        if now > self._deadline:
            raise self.exceeded("seconds")
        if now >= self._look_again and self._most < math.inf:
            if held_memory() > self._most:
                raise self.exceeded("memory")
            self._look_again = now + MEMORY_EVERY
        if self._outer is not None:
            self._outer.check()

    def spare_memory(self) -> float:
        """The bytes of memory that the run may still take."""
        spare = math.inf
        if self._most < math.inf:
            spare = max(0.0, self._most - held_memory())
        return spare if self._outer is None else min(spare, self._outer.spare_memory())

    @property
    def most_work(self) -> int:
        """The most steps of one search."""
        outer = self._outer
        # Without a word about work, what is around decides.
        if outer is None or self.limits.work != MOST_WORK:
            return self.limits.work
        return outer.most_work

    def exceeded(self, name: str) -> LimitExceeded:
        """The error that says which limit the run has exceeded, and in which stage.

        >>> print(Watch(Limits(seconds=5)).exceeded("seconds"))
        stopped in stage 'starting': it took longer than 5 s; --timeout \
(limits=Limits(seconds=...) in Python) allows more
        """
        if name == "seconds":
            reason = f"it took longer than {self.limits.seconds:g} s; --timeout"
        else:
            reason = f"it took more than {self.limits.memory:g} GB of memory; --memory"
        return LimitExceeded(
            f"stopped in stage '{self.stage}': {reason} (limits=Limits({name}=...) in Python) "
            "allows more",
            self.stage,
        )


_CURRENT: ContextVar[Watch | None] = ContextVar("liftgbp.watch", default=None)


def checkpoint() -> None:
    """Look whether a limit is exceeded; for loops that may take long."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.check()


@contextmanager
def interruptible() -> Iterator[None]:
    """Tell why a query of DuckDB was ended: by Ctrl-C, or by a limit.

    DuckDB replaces what a signal raises by an error of its own, which does not say so.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        checkpoint()
        raise KeyboardInterrupt from None


def enter(stage: str) -> None:
    """Tell the watch, if there is one, what is being done."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.enter(stage)


def most_work() -> int:
    """The most steps of one search."""
    watch = _CURRENT.get()
    return MOST_WORK if watch is None else watch.most_work


def spare_memory() -> float:
    """The bytes of memory that the run may still take; infinite without a limit."""
    watch = _CURRENT.get()
    return math.inf if watch is None else watch.spare_memory()


def watch_for(limits: Limits | None) -> Watch | None:
    """A watch over limits, and over those of the run that this is a part of."""
    current = _CURRENT.get()
    if limits is None:
        return current
    if not isinstance(limits, Limits):
        raise wrong_type("limits", "liftgbp.Limits(...)", limits)
    return Watch(limits, current)


def limited(
    stage: str,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Keep a function within its keyword argument `limits`; it starts with this stage.

    What the function reports to its argument `progress` names the stages after that. What is done
    for strangers, as the argument `untrusted` or the model says, has limits in any case.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def run(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
            limits = cast("Limits | None", keywords.get("limits"))
            model = args[0] if args else keywords.get("model")
            watch = watch_for(limits_about(model, limits, keywords.get("untrusted")))
            if watch is None:
                return function(*args, **keywords)
            given: Any = keywords.get("progress")
            if callable(given):
                keywords["progress"] = reporting(given)
            if watch is _CURRENT.get():
                watch.enter(stage)
                return function(*args, **keywords)
            with watch.running():
                watch.enter(stage)
                return function(*args, **keywords)

        return run

    return decorate


def limits_about(model: object, limits: Limits | None, untrusted: object = False) -> Limits | None:
    """The limits that are given or, if there are none, those for the model of a stranger."""
    if limits is not None or _CURRENT.get() is not None:
        return limits
    strange = untrusted is True or getattr(model, "untrusted", False) is True
    return Limits.for_strangers() if strange else None


@contextmanager
def within_limits_about(model: object, stage: str) -> Iterator[None]:
    """What is done with the model of a stranger, within limits also where nobody gives any."""
    watch = watch_for(limits_about(model, None))
    if watch is None or watch is _CURRENT.get():
        yield
        return
    with watch.running():
        watch.enter(stage)
        yield


def reporting(progress: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    """Progress that the watch hears about, too."""

    def report(stage: str, done: int, total: int) -> None:
        enter(stage)
        progress(stage, done, total)

    return report


def each_limited(limits: Limits | None, items: Iterator[Result]) -> Iterator[Result]:
    """The items, with limits on the time and memory that finding them takes all together."""
    watch = watch_for(limits)
    if watch is None or watch is _CURRENT.get():
        yield from items
        return
    while True:
        # Not around the `yield`: what the caller does between two items is no part of the run.
        with watch.running():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


# --- work


class Search:
    """Counts the steps of a search, and refuses to take more than limits allow."""

    def __init__(self, what: str, remedy: str) -> None:
        self._what = what
        self._remedy = remedy
        self.steps = 0
        self._look_at = STEPS_AT_ONCE

    def take(self, steps: int) -> None:
        """Take some more steps."""
        self.steps += steps
        if self.steps >= self._look_at:
            self._look_at = self.steps + STEPS_AT_ONCE
            checkpoint()
            check_work(self._what, self.steps, self._remedy, at_least=True)


_SEARCH: ContextVar[Search | None] = ContextVar("liftgbp.search", default=None)


@contextmanager
def searching(what: str, remedy: str) -> Iterator[Search]:
    """Count the steps that are taken inside, for the sake of what."""
    search = Search(what, remedy)
    token = _SEARCH.set(search)
    try:
        yield search
    finally:
        _SEARCH.reset(token)


def take_steps(steps: int = 1) -> None:
    """Count steps of the search that this is a part of, if there is one."""
    search = _SEARCH.get()
    if search is not None:
        search.take(steps)


def check_work(what: str, steps: int, remedy: str, *, at_least: bool = False) -> None:
    """Refuse what takes more steps than limits allow.

    >>> check_work("grounding", 10**7, "use smaller domains")
    Traceback (most recent call last):
    liftgbp.CapacityError: grounding takes 10000000 steps, above the limit of 200000; use \
smaller domains, or allow more by --work (limits=Limits(work=...) in Python)
    """
    most = most_work()
    if steps > most:
        number = (
            f"more than {most} steps" if at_least else f"{steps} steps, above the limit of {most}"
        )
        raise CapacityError(
            f"{what} takes {number}; {remedy}, or allow more by --work (limits=Limits(work=...) in "
            "Python)"
        )


# --- memory


WORKERS: list[int] = []
"""The processes that work for this one: their memory counts as well."""


def held_memory() -> float:
    """The bytes of memory that this process and its workers hold together."""
    return resident_memory() + sum(map(_private_memory, WORKERS))


def _private_memory(process: int) -> float:
    """The bytes that a process shares with no other one: a forked one begins with next to none."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return 0.0
    return 1024.0 * sum(int(line.split()[1]) for line in lines if line.startswith(b"Private_"))


def resident_memory() -> float:
    """The bytes of memory that this process holds; without /proc, the most that it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  # half the time
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except OSError:
        return _peak_memory()


def physical_memory() -> float:
    """The bytes of memory that this machine has; infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return math.inf


def _peak_memory() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
