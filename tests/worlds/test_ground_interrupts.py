"""Ctrl-C and a limit of time end a search, with the best world so far and its bound."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import liftgbp
import processes


@pytest.fixture(scope="module")
def glass(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that no method solves in minutes: couplings of both signs between all pairs."""
    size, random = 120, np.random.default_rng(0)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    lines = ["MARKOV", str(size), " ".join(["2"] * size), str(len(pairs))]
    lines += [f"2 {i} {j}" for i, j in pairs]
    for number in np.round(random.normal(size=len(pairs)), 3).tolist():
        high, low = np.exp([number, -number]).tolist()
        lines += ["4", f"{high} {low} {low} {high}"]
    file = tmp_path_factory.mktemp("glass") / "glass.uai"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


SEARCH = """
import json, sys
import liftgbp

def progress(stage, done, total):
    if stage.startswith("best world: score"):
        print("searching", flush=True)

network = liftgbp.load_network(sys.argv[1])
world = liftgbp.best_world(network, effort="thorough", progress=progress)
assert world.interrupted and "interrupted" in world.reason
print(json.dumps(world.as_dict()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.0, 8.0])
def test_an_interrupt_gives_the_best_world_so_far(glass: Path, wait: float) -> None:
    command = processes.hearing_interrupts(sys.executable, "-c", SEARCH, str(glass))
    with processes.started(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=processes.TIMEOUT)
    assert process.returncode == 0, err
    check(json.loads(out.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["0.2", "4"])
def test_time_ends_the_search(glass: Path, seconds: str) -> None:
    done = processes.run(
        [
            *(sys.executable, "-m", "liftgbp", "map", str(glass), "--json"),
            *("--effort", "thorough", "--seconds", seconds),
        ]
    )
    assert done.returncode == 1, done.stderr
    check(json.loads(done.stdout))


def check(world: dict[str, object]) -> None:
    assert not world["proven"]
    assert world["gap"] == pytest.approx(world["upper"] - world["score"])
    assert 0 < world["gap"] < float("inf")


@pytest.mark.slow
def test_time_ends_the_writing_out_of_a_model() -> None:
    """Each person has exactly one of a hundred others, which takes a minute to write out."""
    rules = "p(person)\nf(person,person!)\n1 f(x,y) ^ p(y) ^ !p(x)\n!f(x,x)."
    with pytest.raises(liftgbp.CapacityError, match=r"not written out .* 0\.5 seconds"):
        liftgbp.best_world(liftgbp.parse(rules), {"person": 150}, via="ground", seconds=0.5)
