"""`python -m liftgbp` is the command line."""

from liftgbp.cli import program

program()
