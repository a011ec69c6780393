"""The public names with their docstrings; a page asks for them by blocks of kind `{public}`.

Docstrings are plain text: a word between backticks is code, and a link if it is a public name;
lines of a name, spaces and a description are a list of fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import liftgbp

PLACE = re.compile(r"^```\{public\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`\w])`([^`]+)`(?!`)")
FIELD = re.compile(r"^(\w+) {2,}(\S.*)$")
CONSTRUCTED = {"Auto", "Descent", "Flooding", "Limits", "ModelBuilder"}
"""Classes that users make; of the others, how they are made says nothing to them."""


def directive(name: str) -> str:
    """What documents a public name."""
    value = getattr(liftgbp, name)
    if not inspect.isclass(value):
        return f".. autofunction:: liftgbp.{name}\n"
    if issubclass(value, BaseException):
        return f".. autoexception:: liftgbp.{name}\n"
    return f".. autoclass:: liftgbp.{name}\n   :members:\n"


def with_names(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the names where a page asks for them."""
    source[0] = PLACE.sub(
        lambda place: "\n".join(
            ["```{eval-rst}", *(directive(name) for name in place[1].split()), "```"]
        ),
        source[0],
    )


def as_code(match: re.Match[str]) -> str:
    """A word between backticks: a link to a public name, or code."""
    name = match[1].removeprefix("liftgbp.")
    return f":py:obj:`~liftgbp.{name}`" if name in liftgbp.__all__ else f"``{match[1]}``"


def as_fields(lines: list[str]) -> Iterator[str]:
    """The lines with columns of names and descriptions as lists of fields."""
    inside = False
    for line in lines:
        if field := FIELD.match(line):
            yield f":{field[1]}: {field[2]}"
        else:
            yield "    " + line.strip() if inside and line.startswith(" ") else line
        inside = bool(field) or (inside and line.startswith(" "))


def as_text(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Turn a docstring into what Sphinx reads."""
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[number] = CODE.sub(as_code, line)
    lines[:] = as_fields(list(lines))


def without_constructor(
    app: Sphinx,
    what: str,
    name: str,
    value: object,
    options: object,
    arguments: str | None,
    *_: str,
) -> tuple[str, None] | None:
    """Leave out how results and errors are made."""
    made = what in ("class", "exception") and name.rpartition(".")[2] not in CONSTRUCTED
    return ("", None) if made and arguments is not None else None


def found(
    app: Sphinx, environment: BuildEnvironment, node: pending_xref, shown: nodes.TextElement
) -> nodes.Node | None:
    """Link types in signatures to public names; other types are text."""
    if node.get("refdomain") != "py":
        return None
    name = str(node["reftarget"]).rpartition(".")[2]
    if name in liftgbp.__all__:
        domain = environment.domains.python_domain
        page, place = node["refdoc"], f"liftgbp.{name}"
        return domain.resolve_xref(environment, page, app.builder, "obj", place, node, shown)
    return shown if node["reftype"] in ("class", "data") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the above."""
    app.connect("source-read", with_names)
    app.connect("autodoc-process-docstring", as_text)
    app.connect("autodoc-process-signature", without_constructor)
    app.connect("missing-reference", found)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
