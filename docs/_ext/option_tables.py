"""The commands and their options as tables, made from the parser of the command line.

A page asks for them by a block of kind `{options}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from sphinx.application import Sphinx

from liftgbp.cli.commands import cli
from liftgbp.cli.help_pages import GroupedOption

PLACE = re.compile(r"^```\{options\}\n.*?^```$", re.MULTILINE | re.DOTALL)
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
CODE = re.compile(
    r"('[^']+'"  # a query
    r"|(?<![\w`-])--?[a-z][-a-z]*"  # an option
    r"|(?<!\w)\.[a-z]+(?:\.[a-z]+)*"  # an extension
    r"|\$?\b\w+(?::\w+)?=\S*[^\s,.;:)]"  # a value
    r"|\b[A-Z]{2,}(?:=[A-Z]+)?(?:\[[^\]]+\])?\b)"  # a placeholder
)
WORDS = {"CSV", "JSON", "UAI", "MB", "GB", "EXIST"}


def described(text: str) -> str:
    """A text of the help pages as Markdown, with what can be typed as code."""
    pieces = CODE.split(" ".join(text.split()))
    return "".join(
        SPECIAL.sub(r"\\\1", piece)
        if place % 2 == 0 or piece in WORDS
        else f"`{piece.strip(chr(39))}`".replace("|", "\\|")
        for place, piece in enumerate(pieces)
    )


def table(title: str, records: list[tuple[str, str]]) -> Iterator[str]:
    """The options of one group."""
    yield f"\n| {title} | |\n| --- | --- |"
    for names, meaning in records:
        yield "| `{}` | {} |".format(names.replace("|", "\\|"), described(meaning))


def command_page(name: str, command: click.Command) -> Iterator[str]:
    """One command as a section of a page."""
    context = click.Context(command, info_name=f"liftgbp {name}", max_content_width=100)
    arguments = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}\n\n```text\nliftgbp {name} {arguments}\n```\n"
    yield from (f"{described(part)}\n" for part in (command.help or "").split("\n\n"))
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and isinstance(parameter, GroupedOption):
            groups.setdefault(parameter.group, []).append(record)
    for title, records in groups.items():
        yield from table(title, records)
    if examples := getattr(command, "examples", ""):
        yield f"\n```sh\n{examples.strip()}\n```\n"


def with_options(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the commands where a page asks for them."""
    if PLACE.search(source[0]):
        text = "\n".join(
            line
            for name, command in cli.every_command().items()
            for line in command_page(name, command)
        )
        source[0] = PLACE.sub(lambda place: text, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the above."""
    app.connect("source-read", with_options)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
