"""The way in, which can be left at any time: it imports next to nothing by itself."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main(*, apart: bool = True) -> None:
    """Run the command line and leave with its exit code.

    Commands with a limit run in a process of their own, unless `apart` is false.
    """
    try:
        # Imported here, since Ctrl-C may come while this takes its time.
        from liftgbp.cli.commands import run

        code = run(apart=apart)
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        why = [str(error)] if isinstance(error, KeyboardInterrupt) and str(error) else []
        print(": ".join(["interrupted", *why]), file=sys.stderr, flush=True)
        # Not sys.exit: after an interrupt inside `exec`, which makes dataclasses, the interpreter
        # would end by the signal instead of with this code.
        os._exit(INTERRUPTED)
    sys.exit(code)


def _is_interrupt(error: BaseException) -> bool:
    """Whether it is Ctrl-C; Python 3.11 wraps what comes while a class is made."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)
