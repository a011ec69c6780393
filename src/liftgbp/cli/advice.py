"""What to run instead when an answer is refused."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

FLAGS = {"--adaptive"}
SOLVER_OPTIONS = {"--solver", "--damping", "--iterations", "--tol", "--seed"}
"""These belong to the run that failed; the next one starts from the defaults."""


def next_command(arguments: Sequence[str], result: dict[str, Any]) -> str:
    """The command with the first remedy that was not tried; empty if there is none.

    >>> result = {"remedies": [{"options": "--solver descent"}]}
    >>> next_command(["m.mln", "-n", "a=9", "--damping", "0.1"], result)
    'liftgbp query m.mln -n a=9 --solver descent'
    """
    for remedy in result["remedies"]:
        added = shlex.split(remedy["options"])
        kept = _without(arguments, SOLVER_OPTIONS | {added[0]})
        if sorted([*kept, *added]) != sorted(arguments):
            return shlex.join(["liftgbp", "query", *kept, *added])
    return ""


def doubts(result: dict[str, Any], advice: str) -> list[str]:
    """Why an answer is not confirmed, and what to try: a command, or what the reason recommends.

    >>> reason = "it diverged; try descent (--solver descent)"
    >>> result = {"standing": "refused", "flaw": "it diverged", "reason": reason}
    >>> doubts(result, "liftgbp query m.mln")
    ['REFUSED: it diverged', 'try: liftgbp query m.mln']
    """
    if result["standing"] == "confirmed":
        return []
    if result["standing"] == "unconfirmed":
        return [f"unconfirmed: {result['because']}"]
    if advice:
        return [f"REFUSED: {result['flaw']}", f"try: {advice}"]
    return [f"REFUSED: {result['reason']}"]


def _without(arguments: Sequence[str], dropped: set[str]) -> list[str]:
    """The arguments without some options and their values."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if name in dropped:
            if not equals:
                next(rest, None)
        elif name not in FLAGS:
            kept.append(argument)
    return kept
