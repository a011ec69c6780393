"""Help as on a manual page: options in groups, examples, exit codes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

import liftgbp

EXIT_CODES = """\
0    the answer is confirmed, or the work is done
1    the answer is refused (sweep: all points are; check: it disagrees; sample:
     chains have not mixed; map: the world is not proven to be best)
2    bad input: an option, a file, a model, a query
3    a limit ended the run: --timeout, --memory, or the memory of the machine
4    another process writes to the same file, or a worker process was ended
5    a bug in liftgbp
6    the answer is unconfirmed: nothing contradicts it, and nothing independent
     speaks for it (sweep: no point is confirmed)
130  interrupted
141  the reader of the output went away, as in `| head`
"""

TYPED = "liftgbp.typed"
"""Where a context keeps the arguments as they were typed."""

UNITS = {"k": 1e-6, "m": 1e-3, "g": 1.0, "t": 1e3}
AMOUNT = r"\s*(?P<number>\d*\.?\d+(e[+-]?\d+)?)\s*((?P<unit>[kmgt])i?b?)?\s*"
"""An amount of memory, in gigabytes unless it says so."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GroupedOption(click.Option):
    """An option that belongs to a group on the help page."""

    def __init__(self, *names: Any, group: str = "", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group


def option(*names: str, group: str = "", **settings: Any) -> Callable[[Decorated], Decorated]:
    """Like `click.option`, for a group on the help page."""
    return click.option(*names, cls=GroupedOption, group=group, **settings)


def gigabytes(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> float | None:
    """An amount of memory: a number of gigabytes, or a number with a unit.

    >>> gigabytes(None, None, "500MB"), gigabytes(None, None, "2")
    (0.5, 2.0)
    """
    if value is None:
        return None
    found = re.fullmatch(AMOUNT, value.lower())
    if found is None or not 0 < float(found["number"]) < math.inf:
        raise click.BadParameter(
            f"{value!r} is no amount of memory; give gigabytes, as in 2 or 0.5, or a unit, as in "
            "500MB"
        )
    return float(found["number"]) * UNITS[found["unit"] or "g"]


def limit_options() -> list[click.Parameter]:
    """The options of every command that say how much it may take."""
    return [
        GroupedOption(
            ["--timeout"],
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            group="Limits",
            help="End the run after this long; it says which stage it was in.",
        ),
        GroupedOption(
            ["--memory"],
            callback=gigabytes,
            metavar="GB",
            group="Limits",
            help="End the run if it holds more than this many gigabytes of memory; units such as "
            "500MB will do, too.",
        ),
        GroupedOption(
            ["--work"],
            type=click.IntRange(min=1),
            default=200_000,
            show_default=True,
            metavar="STEPS",
            group="Limits",
            help="The most steps of one search, as for regions that overlap; what takes more is "
            "refused.",
        ),
    ]


class Command(click.Command):
    """A command with groups of options and examples on its help page."""

    def __init__(self, *arguments: Any, examples: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = examples
        self.params += limit_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, for advice on what to run next."""
        if {"--exact", "--no-exact"} <= set(args):
            # Else the last one would count.
            raise click.UsageError("--exact and --no-exact exclude each other", ctx)
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command within the limits that it is given."""
        seconds, memory = ctx.params.pop("timeout"), ctx.params.pop("memory")
        if ctx.params.get("untrusted"):
            strangers = liftgbp.Limits.for_strangers()
            seconds, memory = seconds or strangers.seconds, memory or strangers.memory
        limits = liftgbp.Limits(seconds, memory, ctx.params.pop("work"))
        if limits == liftgbp.Limits():
            return super().invoke(ctx)
        from liftgbp.cli.run_limits import run_within

        call = super().invoke
        return run_within(limits, lambda: call(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, in the order of declaration."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "group", ""), []).append(record)
        # Options without a group, such as --help, come last.
        for title, records in sorted(groups.items(), key=lambda item: not item[0]):
            with formatter.section(title or "Other"):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and exit codes as they are."""
        write_verbatim(formatter, "Examples", self.examples)
        write_verbatim(formatter, "Exit codes", EXIT_CODES)


ELSEWHERE = {
    "bounds": "second_opinions",
    "check": "checks",
    "explain": "checks",
    "map": "best_worlds:best",
    "mpe": "best_worlds:best",
    "sample": "second_opinions",
}
"""Commands that are imported when somebody asks for them, with their modules, and with their names
there if these are others."""


class CommandGroup(click.Group):
    """The command line itself, with examples and exit codes on its help page."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted([*self.commands, *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name."""
        if cmd_name not in ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, _, name = ELSEWHERE[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f"liftgbp.cli.{module}"), name or cmd_name)
        return found

    def every_command(self) -> dict[str, click.Command]:
        """All commands by name, each imported."""
        context = click.Context(self)
        found = {name: self.get_command(context, name) for name in self.list_commands(context)}
        return {name: command for name, command in found.items() if command is not None}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write an example and the exit codes as they are."""
        example = "liftgbp query example:friends-smokers -n person=1000 -q 'friends(x,y)'\n"
        write_verbatim(formatter, "Example", example)
        write_verbatim(formatter, "Exit codes", EXIT_CODES)
        formatter.write_paragraph()
        formatter.write_text("liftgbp COMMAND --help explains a command.")


def write_verbatim(formatter: click.HelpFormatter, title: str, text: str) -> None:
    """Write a section whose lines are not wrapped."""
    if text:
        formatter.write_paragraph()
        formatter.write_heading(title)
        for line in text.splitlines():
            formatter.write(f"  {line}\n")
