"""The command line: an ordinary user of the public API."""

from liftgbp.cli.entry import main

__all__ = ["main"]
