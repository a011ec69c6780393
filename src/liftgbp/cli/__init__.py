"""The command line: an ordinary user of the public API."""

from liftgbp.cli.main import main

__all__ = ["main"]
