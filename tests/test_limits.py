"""Limits on time and memory: what exceeds them ends cleanly, and says in which stage it was."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

import liftgbp
import processes
from liftgbp import LimitExceeded, Limits
from liftgbp.cli.commands import cli
from liftgbp.ground.grounding import join
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.support import limits as room

SMOKERS = str(MODELS / "friends-smokers.mln")
LIFTGBP = [sys.executable, "-m", "liftgbp"]


class Clock:
    """A clock that stands still unless it is put forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    own = Clock()
    monkeypatch.setattr(room, "time", own)
    return own


@pytest.fixture
def model() -> liftgbp.Model:
    return liftgbp.load(SMOKERS)


class Late:
    """Progress that takes an hour in one stage."""

    def __init__(self, clock: Clock, stage: str) -> None:
        self._clock = clock
        self._stage = stage

    def __call__(self, stage: str, _done: int, _total: int) -> None:
        if stage == self._stage:
            self._clock.now += 3600


# --- in Python


CALLS = {
    "infer": lambda model, **known: liftgbp.infer(model, {"person": 9}, exact=False, **known),
    "prepare": lambda model, **known: liftgbp.prepare(model, {"person": 9}, **known),
    "bounds": lambda model, **known: liftgbp.bounds(model, {"person": 9}, **known),
    "check": lambda model, **known: liftgbp.check(model, {"person": 9}, **known),
    "sweep": lambda model, **known: list(liftgbp.sweep(model, {"person": [5, 9]}, **known)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_hour_is_longer_than_a_minute(call: object, model: liftgbp.Model, clock: Clock) -> None:
    assert callable(call)
    seen: list[str] = []
    call(model, progress=lambda stage, done, total: seen.append(stage))
    late = Late(clock, seen[0])
    with pytest.raises(LimitExceeded, match="longer than 60 s; --timeout"):
        call(model, progress=late, limits=Limits(seconds=60))
    call(model, progress=late, limits=Limits(seconds=1e9))


def test_the_stage_is_named(model: liftgbp.Model, clock: Clock) -> None:
    with pytest.raises(LimitExceeded, match="in stage 'descending'"):
        liftgbp.infer(
            model,
            {"person": 9},
            effort="quick",
            progress=Late(clock, "descending"),
            limits=Limits(seconds=60),
        )


def test_memory(model: liftgbp.Model) -> None:
    with pytest.raises(LimitExceeded, match=r"more than 0\.001 GB of memory; --memory"):
        liftgbp.infer(model, {"person": 9}, limits=Limits(memory=0.001))
    assert liftgbp.infer(model, {"person": 9}, limits=Limits(memory=1e3)).flaw is None


def test_memory_is_what_the_system_says() -> None:
    before = room.resident_memory()
    block = bytearray(10**8)
    assert room.resident_memory() - before > 0.9 * len(block)


@pytest.mark.parametrize(
    "read",
    [
        lambda limits: liftgbp.load(SMOKERS, limits=limits),
        lambda limits: liftgbp.parse("p(t)", limits=limits),
        lambda limits: liftgbp.parse_evidence(liftgbp.load(SMOKERS), "smokes(A)", limits=limits),
    ],
)
def test_reading(read: object) -> None:
    assert callable(read)
    with pytest.raises(LimitExceeded, match="in stage 'reading"):
        read(Limits(memory=1e-6))


def test_what_happens_between_the_points_of_a_sweep_does_not_count(
    model: liftgbp.Model, clock: Clock
) -> None:
    rows = iter(liftgbp.sweep(model, {"person": [5, 6, 7]}, limits=Limits(seconds=60)))
    sizes = set()
    for row in rows:
        sizes.add(row.point.sizes)
        clock.now += 3600
        # Nor is anything else held to the limits of the sweep.
        liftgbp.infer(model, {"person": 5}, progress=Late(clock, "shattering"))
    assert len(sizes) == 3


def test_all_points_of_a_sweep_count_together(model: liftgbp.Model, clock: Clock) -> None:
    def slow(_stage: str, _done: int, _total: int) -> None:
        clock.now += 25

    found = liftgbp.sweep(model, {"person": [5, 6, 7, 8]}, progress=slow, limits=Limits(seconds=60))
    with pytest.raises(LimitExceeded):
        list(found)


@pytest.mark.parametrize("judging", ["bounding log Z", "sampling"])
def test_no_judge_is_left_out_because_time_is_up(judging: str, clock: Clock) -> None:
    """The answer was there, but nobody may take it for one that was judged."""
    stages: list[str] = []

    def slow(stage: str, _done: int, _total: int) -> None:
        stages.append(stage)
        if stage == judging:
            clock.now += 3600

    model = liftgbp.load(MODELS / "transitive.mln")
    with pytest.raises(LimitExceeded, match="longer than 60 s"):
        liftgbp.infer(model, {"person": 4}, exact=False, progress=slow, limits=Limits(seconds=60))
    assert judging in stages


def test_inner_limits_do_not_lift_outer_ones(clock: Clock) -> None:
    with room.Watch(Limits(seconds=60)).running(), room.Watch(Limits(seconds=1e6)).running():
        clock.now += 3600
        room.checkpoint()
    outer = room.Watch(Limits(seconds=60))
    with outer.running():
        inner = room.watch_for(Limits(seconds=1e6))
        assert inner is not None
        with inner.running():
            clock.now += 3600
            with pytest.raises(LimitExceeded, match="60 s"):
                room.checkpoint()


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "5", True])
def test_wrong_limits(wrong: object) -> None:
    for name in ("seconds", "memory"):
        with pytest.raises(liftgbp.InputError, match="a number above 0"):
            Limits(**{name: wrong})


def test_limits_of_the_wrong_type(model: liftgbp.Model) -> None:
    with pytest.raises(liftgbp.InputError, match="limits must be"):
        liftgbp.infer(model, {"person": 3}, limits=5)


# --- long texts


class Ticking(Clock):
    """A clock that every look at it puts forward."""

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now


PREDICATES = "p(person)\nq(person)\ntime = {1,...,9}\nat(time)\nperson f(person)\n"
LONG_TEXTS = {
    "conjunction": "1 " + " ^ ".join(["p(x)"] * 4000),
    "disjunction": "1 " + " v ".join(f"p(x{i})" for i in range(4000)),
    "parentheses": "1 " + "(" * 9000 + "p(x)" + ")" * 9000,
    "negations": "1 " + "!" * 9000 + "p(x)",
    "constants": "person = {" + ", ".join(f"A{i}" for i in range(4000)) + "}",
    "declarations": "\n".join(f"p{i}(person)" for i in range(2000)),
    "rules": "1 p(x)\n" * 2000,
    "equivalences": "1 " + " <=> ".join(["p(x)"] * 4000),
    "terms": "1 " + " ^ ".join(f"p(f(x{i}))" for i in range(2000)),
    "orders": "1 " + " ^ ".join(f"(at(t{i}) v t{i} < t{i + 1})" for i in range(2000)),
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_reading_looks_at_its_limits_all_the_time(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "time", Ticking())
    with pytest.raises(LimitExceeded, match="in stage 'reading the model'"):
        liftgbp.parse(PREDICATES + text, limits=Limits(seconds=2))


def test_reading_facts_looks_at_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = liftgbp.parse(PREDICATES)
    facts = "\n".join(f"p(A{i})" for i in range(3000))
    monkeypatch.setattr(room, "time", Ticking())
    with pytest.raises(LimitExceeded, match="in stage 'reading evidence'"):
        liftgbp.parse_evidence(model, facts, limits=Limits(seconds=2))


@pytest.mark.slow
def test_queries_of_strangers_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = liftgbp.parse("p(person)\nperson = 9\n1 p(x)", untrusted=True)
    answers = liftgbp.infer(model)
    monkeypatch.setattr(room, "time", Ticking())
    with pytest.raises(LimitExceeded, match="in stage 'answering'"):
        answers.query(" ^ ".join(["p(x)"] * 20_000))


# --- on the command line


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_queries_of_duckdb_are_interrupted_by_ctrl_c_or_a_limit(
    seconds: float | None, clock: Clock
) -> None:
    def query() -> None:
        with room.interruptible():
            clock.now += 61
            raise RuntimeError("Query interrupted")

    ended = KeyboardInterrupt if seconds is None else liftgbp.LimitExceeded
    with pytest.raises(ended), room.Watch(liftgbp.Limits(seconds=seconds)).running():
        query()
    with pytest.raises(RuntimeError, match="something else"), room.interruptible():
        raise RuntimeError("something else")


def test_joins_of_grounding_are_ended_by_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        """A connection whose every query is ended by a signal."""

        def register(self, *_: object) -> None: ...

        def close(self) -> None: ...

        def execute(self, query: str) -> None:
            raise RuntimeError("Query interrupted")

    model = liftgbp.parse("friends(p,p)\nsmokes(p)\np = 9\n1 friends(x,y) ^ smokes(x) => smokes(y)")
    evidence = liftgbp.parse_evidence(model, "friends(A,B)\nfriends(B,C)", closed="friends")
    monkeypatch.setattr(join, "_connect", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        liftgbp.infer(model, evidence=evidence, via="ground")


def test_every_command_has_limits() -> None:
    for name, command in cli.commands.items():
        names = {one for parameter in command.params for one in parameter.opts}
        assert {"--timeout", "--memory"} <= names, name


@pytest.mark.slow
def test_enough_time_and_memory_change_nothing() -> None:
    command = [*LIFTGBP, "query", SMOKERS, "-n", "person=9"]
    free = processes.run(command)
    limited = processes.run([*command, "--timeout", "100", "--memory", "50"])
    assert (limited.returncode, limited.stdout, limited.stderr) == (0, free.stdout, "")


ENDLESS = [*LIFTGBP, "sample", SMOKERS, "-n", "person=5", "--sweeps", "1000000000"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "words"),
    [(("--timeout", "1.5"), "longer than 1.5 s"), (("--memory", "40MB"), "more than 0.04 GB")],
)
def test_a_run_that_exceeds_a_limit(tmp_path: Path, limit: tuple[str, str], words: str) -> None:
    ended = processes.run([*ENDLESS, "-o", str(tmp_path / "worlds.csv"), *limit])
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: stopped in stage '")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


DEAF = """
import signal, sys, time
from pathlib import Path
from liftgbp import Limits
from liftgbp.cli import run_limits
from liftgbp.cli.entry import leaving
from liftgbp.support.files import whole_file
from liftgbp.support.limits import enter

run_limits.GRACE = 0.3

def work():
    with whole_file(Path(sys.argv[1])) as unfinished:
        unfinished.write_text("half of it")
        enter("multiplying")
        {deaf}

with leaving():
    run_limits.run_within({limits}, work)
"""


@pytest.mark.slow
def test_a_call_that_hears_no_signals_is_ended(tmp_path: Path) -> None:
    output = tmp_path / "two\nlines.csv"
    blocked = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(1000)"
    script = DEAF.format(deaf=blocked, limits="Limits(seconds=0.5)")
    ended = processes.run([sys.executable, "-c", script, str(output)])
    assert ended.returncode == 3
    assert ended.stderr.startswith("error: stopped in stage 'multiplying': it took")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_call_that_lets_no_thread_go_on_is_ended(tmp_path: Path) -> None:
    deaf = "from itertools import repeat; sum(repeat(1))"
    script = DEAF.format(deaf=deaf, limits="Limits(seconds=0.5)")
    ended = processes.run([sys.executable, "-c", script, str(tmp_path / "out.csv")])
    assert ended.returncode == 1
    assert ended.stderr.startswith("Timeout (0:00:01")
    assert "in work" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_arrays_that_are_far_too_large_are_refused(tmp_path: Path) -> None:
    script = DEAF.format(deaf="bytearray(10**11)", limits="Limits(memory=0.5)")
    ended = processes.run([sys.executable, "-c", script, str(tmp_path / "out.csv")])
    assert "stopped in stage 'multiplying': it took more than 0.5 GB" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_call_that_swallows_the_first_signal_is_ended(tmp_path: Path) -> None:
    """What is raised while an object is deleted, Python prints and forgets."""
    slow = 'type("Slow", (), {"__del__": lambda self: time.sleep(1)})(); time.sleep(1000)'
    script = DEAF.format(deaf=slow, limits="Limits(seconds=0.5)").replace("= 0.3", "= 60")
    ended = processes.run([sys.executable, "-c", script, str(tmp_path / "out.csv")])
    assert "LimitExceeded: stopped in stage 'multiplying': it took" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["answer.csv", "two\nlines.csv"])
@pytest.mark.parametrize("limits", ["Limits()", "Limits(seconds=600)"])
def test_a_run_that_is_ended_leaves_no_files(tmp_path: Path, limits: str, name: str) -> None:
    script = DEAF.format(deaf="time.sleep(1000)", limits=limits)
    with processes.started([sys.executable, "-c", script, str(tmp_path / name)]) as process:
        processes.wait_for(lambda: any(file.read_text() for file in tmp_path.iterdir()))
        process.terminate()
        _, err = process.communicate(timeout=processes.TIMEOUT)
    assert (process.returncode, err) == (-signal.SIGTERM, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(), ("--timeout", "600")])
def test_a_command_that_is_ended_leaves_no_lock(tmp_path: Path, limits: tuple[str, ...]) -> None:
    sizes, lock = "person=3..100000", tmp_path / "sweep.csv.lock"
    command = [*LIFTGBP, "sweep", SMOKERS, "-n", sizes, "--points", "50000", *limits]
    with processes.started([*command, "-o", str(tmp_path / "sweep.csv")]) as process:
        processes.wait_for(lock.exists)
        process.terminate()
        _, err = process.communicate(timeout=processes.TIMEOUT)
    assert process.returncode == -signal.SIGTERM, err
    assert {path.name for path in tmp_path.iterdir()} <= {"sweep.csv.partial"}


SWALLOWED = """
import os, signal, time
import liftgbp
from liftgbp.cli import entry
from liftgbp.cli.run_limits import run_within

class Ends:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

def work():
    Ends()
    time.sleep(600)

entry.AGAIN = 0.1
with entry.leaving():
    run_within(liftgbp.Limits(seconds=600), work)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers to signal with")
def test_a_signal_that_is_lost_in_a_destructor_comes_again() -> None:
    done = processes.run([sys.executable, "-c", SWALLOWED])
    assert done.returncode == -signal.SIGTERM


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_run_within_limits(number: signal.Signals) -> None:
    command = processes.hearing_interrupts(*ENDLESS, "--timeout", "60", "--memory", "5")
    with processes.started(command) as process:
        time.sleep(1.0)
        process.send_signal(number)
        _, err = process.communicate(timeout=processes.TIMEOUT)
    assert "Traceback" not in err
    assert process.returncode == (130 if number is signal.SIGINT else -number)
