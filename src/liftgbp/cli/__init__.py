"""The command line: an ordinary user of the public API."""

from liftgbp.cli.entry import main, program

__all__ = ["main", "program"]
