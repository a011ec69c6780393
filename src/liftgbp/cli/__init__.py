"""The command line: an ordinary user of the public API.

Takes arguments and files; gives tables, JSON and exit codes. Imports the public API and `support`.
"""

from liftgbp.cli.entry import main, program

__all__ = ["main", "program"]
