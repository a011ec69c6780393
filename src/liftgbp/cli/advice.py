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
    ("--regions", "bethe"),
)
"""Options that a reason may recommend."""

FLAGS = {"--adaptive"}
SOLVER_OPTIONS = {"--solver", "--damping", "--iterations", "--tol", "--seed"}
"""These belong to the run that failed; the next one starts from the defaults."""


def next_command(arguments: Sequence[str], result: dict[str, Any], *, summable: bool) -> str:
    """The command with the first remedy that the reason names and that was not in use already.

    `summable` says whether the model has predicates whose counts can be summed over. The text is
    empty where no remedy is left.

    >>> reason = "it diverged; try descent (--solver descent)"
    >>> result = {"reason": reason, "regions": {"family": "intersections"}}
    >>> next_command(["m.mln", "-n", "a=9", "--damping", "0.1"], result, summable=True)
    'liftgbp query m.mln -n a=9 --solver descent'
    """
    named = {remedy: result["reason"].find(" ".join(remedy)) for remedy in REMEDIES}
    in_use: dict[tuple[str, ...], bool] = {
        ("--sum-over", "auto"): "sum_over" in result or not summable,
        ("--regions", "auto"): "growth" in result,
        ("--regions", "bethe"): result["regions"]["family"] == "bethe",
    }
    for remedy in sorted(REMEDIES, key=named.__getitem__):
        if named[remedy] >= 0 and not in_use.get(remedy):
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
