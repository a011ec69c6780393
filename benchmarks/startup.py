"""The command line from a cold shell."""

from __future__ import annotations

import subprocess
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.timing import MODELS, milliseconds

COMMANDS = (
    ("--version",),
    ("--help",),
    ("query", str(MODELS / "friends-smokers.mln"), "-n", "person=1e6"),
    ("graph", str(MODELS / "chain.mln"), "-n", "person=10"),
)


def main() -> None:
    table = Table(title="milliseconds from a cold shell (goal: 600)")
    table.add_column("command")
    table.add_column("ms", justify="right")
    table.add_column("against python -c pass", justify="right")
    nothing = milliseconds(lambda: _run("-c", "pass"), repetitions=3)
    for command in COMMANDS:
        time = milliseconds(lambda command=command: _run("-m", "liftgbp", *command), repetitions=3)
        words = " ".join(word.rpartition("/")[2] for word in command)
        table.add_row(f"liftgbp {words}", f"{time:.0f}", f"{time / nothing:.1f}")
    Console(width=120).print(table)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
