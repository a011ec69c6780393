"""The command line from a cold shell: processor time of whole commands, with byte code in place."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.timing import PAPER_MODELS

SMALL = ("query", "example:friends-smokers", "-n", "person=10")

COMMANDS = (
    ("--version",),
    ("--help",),
    SMALL,
    ("query", "example:friends-smokers", "-n", "person=1e6"),
    ("graph", "example:chain", "-n", "person=10"),
)

REPETITIONS = 20


def main() -> None:
    small = " ".join(SMALL[:2])
    table = Table(
        title=f"milliseconds of processor time, best of {REPETITIONS} (goal: 200 for {small})"
    )
    table.add_column("command")
    table.add_column("ms", justify="right")
    table.add_column("× import numpy", justify="right")
    numpy = milliseconds("-c", "import numpy")
    for command in COMMANDS:
        time = milliseconds("-m", "liftgbp", *command)
        table.add_row(f"liftgbp {' '.join(command)}", f"{time:.0f}", f"{time / numpy:.1f}")
    console = Console(width=120)
    console.print(table)
    console.print(whole_queries())


def whole_queries() -> Table:
    table = Table(title="liftgbp query, ms of processor time: N = 10⁹ against N = 10")
    table.add_column("model")
    for heading in ("N = 10", "N = 10⁹", "ratio"):
        table.add_column(heading, justify="right")
    for name in PAPER_MODELS:
        small, large = (
            milliseconds("-m", "liftgbp", "query", f"example:{name}", "-n", f"person={people}")
            for people in ("10", "1e9")
        )
        table.add_row(name, f"{small:.0f}", f"{large:.0f}", f"{large / small:.2f}")
    return table


def milliseconds(*arguments: str) -> float:
    """The processor time of one run of Python; a first run writes byte code and does not count."""
    return 1e3 * min([_seconds(*arguments) for _ in range(1 + REPETITIONS)][1:])


def _seconds(*arguments: str) -> float:
    before = _used()
    environment = {
        name: own for name, own in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    # An answer that is not trusted is exit code 1.
    ended = subprocess.run(
        [sys.executable, *arguments], check=False, capture_output=True, env=environment
    )
    if ended.returncode not in (0, 1):
        raise SystemExit(ended.stderr.decode())
    return _used() - before


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
