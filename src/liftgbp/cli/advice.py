"""What to run instead when an answer is not trusted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

REMEDIES: tuple[tuple[str, ...], ...] = (
    ("--solver", "descent"),
    ("--solver", "flooding", "--damping", "0.9", "--iterations", "5000"),
    ("--sum-over", "auto"),
    ("--regions", "auto"),
)
"""Options that a reason may recommend."""

IN_USE = {"--sum-over": "sum_over", "--regions": "growth"}
"""Options that are in use if a result has this part."""

FLAGS = {"--adaptive"}
SOLVER_OPTIONS = {"--solver", "--damping", "--iterations", "--tol", "--seed"}
"""These belong to the run that failed; the next one starts from the defaults."""


def next_command(arguments: Sequence[str], result: dict[str, Any], *, summable: bool) -> str:
    """The command with the first remedy that the reason names and that was not in use already.

    `summable` says whether the model has predicates whose counts can be summed over. The text is
    empty where no remedy is left.

    >>> result = {"reason": "diverged; try descent (--solver descent)"}
    >>> next_command(["m.mln", "-n", "a=9", "--damping", "0.1"], result, summable=True)
    'liftgbp query m.mln -n a=9 --solver descent'
    """
    for remedy in REMEDIES:
        in_use = IN_USE.get(remedy[0]) in result
        applies = summable or remedy[0] != "--sum-over"
        if " ".join(remedy) in result["reason"] and applies and not in_use:
            kept = _without(arguments, SOLVER_OPTIONS | {remedy[0]})
            return shlex.join(["liftgbp", "query", *kept, *remedy])
    return ""


def distrust(reason: str, advice: str) -> list[str]:
    """What is wrong, and what to try: a command, or what the reason recommends.

    >>> distrust("it diverged; try descent (--solver descent)", "liftgbp query m.mln")
    ['NOT TRUSTED: it diverged', 'try: liftgbp query m.mln']
    """
    flaw, _, _ = reason.partition("; try ")
    return [f"NOT TRUSTED: {flaw}", f"try: {advice}"] if advice else [f"NOT TRUSTED: {reason}"]


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
