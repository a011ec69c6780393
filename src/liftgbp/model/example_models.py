"""The models that come with liftgbp: `example:town` stands for a file wherever a path may."""

from __future__ import annotations

import re
from pathlib import Path

from liftgbp.support.errors import InputError, checked_path

FOLDER = Path(__file__).parent / "example_files"
FOLDERS = (FOLDER, FOLDER / "worlds")
"""Where they are. Of those in the second one, the most probable world is known at any size."""

PREFIX = "example:"


def examples() -> dict[str, str]:
    """The models that come with liftgbp: what each is about, by name.

    A name after `example:` can be loaded from Python, and on the command line
    (`liftgbp query example:friends-smokers -n person=1000`).

    >>> import liftgbp
    >>> sorted(liftgbp.examples())[:3]
    ['celebrity', 'chain', 'couples']
    >>> liftgbp.examples()["friends-knows"]
    "One knows the friends of one's friends."
    >>> liftgbp.load("example:friends-knows")
    <Model friends-knows: 2 predicates, 1 rule>
    """
    found = sorted((path.stem, path) for folder in FOLDERS for path in folder.glob("*.mln"))
    return {name: _about(path) for name, path in found}


def input_path(what: str, given: object, error: type[InputError] = InputError) -> Path:
    """The argument as the path of a file to read, which may be one of the examples.

    >>> input_path("the model", "town.mln").name
    'town.mln'
    >>> input_path("the model", "example:town").is_file()
    True
    >>> input_path("the model", "example:twon")
    Traceback (most recent call last):
    liftgbp.InputError: no example is called twon; did you mean town?
    """
    path = checked_path(what, given)
    if not (isinstance(given, str) and given.startswith(PREFIX)):
        return path
    name = given.removeprefix(PREFIX)
    files = {file.name: file for folder in FOLDERS for file in folder.glob("*.*")}
    if found := files.get(name) or files.get(f"{name}.mln"):
        return found
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(name, [*examples(), *files], n=1)
    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(examples()))}"
    raise error(f"no example is called {name}; {advice}")


def _about(path: Path) -> str:
    """The first sentence of the comment at the top of a model."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        words.append(line.removeprefix("//").strip())
    return re.split(r"(?<=[.?]) ", " ".join(words), maxsplit=1)[0]
