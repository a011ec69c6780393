"""The command line from a cold shell."""

from __future__ import annotations

import subprocess
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.timing import MODELS, PAPER_MODELS, milliseconds

COMMANDS = (
    ("--version",),
    ("--help",),
    ("query", str(MODELS / "friends-smokers.mln"), "-n", "person=1e6"),
    ("graph", str(MODELS / "chain.mln"), "-n", "person=10"),
)


def main() -> None:
    table = Table(title="milliseconds from a cold shell (goals: 150 without a model, 400 with one)")
    table.add_column("command")
    table.add_column("ms", justify="right")
    table.add_column("against python -c pass", justify="right")
    nothing = milliseconds(lambda: _run("-c", "pass"), repetitions=3)
    for command in COMMANDS:
        time = milliseconds(lambda command=command: _run("-m", "liftgbp", *command), repetitions=3)
        words = " ".join(word.rpartition("/")[2] for word in command)
        table.add_row(f"liftgbp {words}", f"{time:.0f}", f"{time / nothing:.1f}")
    console = Console(width=120)
    console.print(table)
    console.print(whole_queries())


def whole_queries() -> Table:
    table = Table(
        title="liftgbp query from a cold shell, ms: N = 10⁹ against N = 10 (goal: within 20%)"
    )
    table.add_column("model")
    for heading in ("N = 10", "N = 10⁹", "ratio"):
        table.add_column(heading, justify="right")
    for name in PAPER_MODELS:
        small, large = (
            milliseconds(lambda name=name, n=n: _query(name, n), repetitions=5)
            for n in ("10", "1e9")
        )
        table.add_row(name, f"{small:.0f}", f"{large:.0f}", f"{large / small:.2f}")
    return table


def _query(name: str, people: str) -> None:
    # The chain has no trustworthy minimum for a billion people, which is exit code 1.
    model = str(MODELS / f"{name}.mln")
    command = [sys.executable, "-m", "liftgbp", "query", model, "-n", f"person={people}"]
    subprocess.run(command, check=False, capture_output=True)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
