"""Models and queries from text and from files, which may include other files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import cast

from liftgbp.model.assemble import assemble
from liftgbp.model.ast import And, Atom, Formula, Query
from liftgbp.model.example_models import input_path
from liftgbp.model.model import Model
from liftgbp.model.statements import Include, Statement, read_statements
from liftgbp.model.syntax import ParseTree, clean_source, parse_tree, read_source
from liftgbp.model.tree_reader import TreeReader, compares_atom, subtrees
from liftgbp.support.errors import (
    InputError,
    ModelError,
    QueryError,
    Source,
    Span,
    checked_flag,
    wrong_type,
)
from liftgbp.support.limits import Limits, limited


@limited("reading the model")
def parse(
    text: str,
    name: str = "<text>",
    *,
    include_anywhere: bool = False,
    untrusted: bool = False,
    limits: Limits | None = None,
) -> Model:
    """The model that a text describes; `name` is for messages, and locates included files.

    Included files lie in the folder of the model or below it, unless they may lie anywhere
    (`include_anywhere`). The text of a stranger (`untrusted`) has at most 1 MB and cannot include
    files, and what is done with the model is within `Limits.for_strangers()`, unless other limits
    are given.

    >>> import liftgbp
    >>> model = liftgbp.parse('''
    ...     person = 1000
    ...     friends(person, person)
    ...     smokes(person)
    ...     1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    ... ''')
    >>> list(model.predicates), len(model.rules), model.domain_sizes()
    (['friends', 'smokes'], 1, {'person': 1000})
    """
    if not isinstance(name, str):
        raise wrong_type("name", "text", name)
    path = Path(name)
    includes = _includes(path.parent, include_anywhere, untrusted)
    source = clean_source(name, text)
    if untrusted and len(source.text) > LARGEST_UNTRUSTED_MODEL:
        raise ModelError(f"{name} has more than {LARGEST_UNTRUSTED_MODEL // 2**20} MB")
    read = dict[Path, None]()
    statements = _statements(source, path.parent, includes, (), read)
    model = assemble(statements, path.stem, untrusted=bool(untrusted))
    return replace(model, files=tuple(map(str, read))) if read else model


@limited("reading the model")
def load(
    path: str | os.PathLike[str],
    *,
    include_anywhere: bool = False,
    untrusted: bool = False,
    limits: Limits | None = None,
) -> Model:
    """The model in a file; see `parse` for the language and the options.

    `example:town` is one of the models that come with liftgbp, see `examples`.

    >>> import liftgbp
    >>> liftgbp.load("example:town").predicates["smokes"].sorts
    ('person',)
    >>> liftgbp.load("no such file.mln")
    Traceback (most recent call last):
    liftgbp.ModelError: cannot read no such file.mln: No such file or directory
    """
    file = input_path("the model", path, ModelError)
    includes = _includes(file.parent, include_anywhere, untrusted)
    source = read_source(file, most=LARGEST_UNTRUSTED_MODEL if untrusted else None)
    read = {(own := _resolved(file)): None}
    statements = _statements(source, file.parent, includes, (own,), read)
    model = assemble(statements, file.stem, untrusted=bool(untrusted))
    return replace(model, files=tuple(map(str, read)))


COUNT = re.compile(r"\s*#\s*\{")
"""How the text of a count begins."""


def parse_query(text: str) -> Query:
    """What a query asks for, what it is given, and the restrictions of its variables.

    Atoms between commas or `^` are asked for with all their values; anything else is a formula.

    >>> query = parse_query("smokes(y) | friends(x,y), smokes(x), x != y")
    >>> [str(atom) for atom in query.atoms], [str(atom) for atom in query.given]
    (['smokes(y)'], ['friends(x,y)', 'smokes(x)'])
    >>> len(query.restrictions), query.distinct
    (1, False)
    >>> parse_query("smokes(x) => smokes(y)").atoms
    ()
    """
    source = clean_source("<query>", text)
    if COUNT.match(source.text):
        whole = Span(source, 0, len(source.text))
        raise QueryError("a count cannot be asked for here, or as part of a query", whole)
    return _parse_query(source)


@lru_cache(maxsize=256)
def _parse_query(source: Source) -> Query:
    reader = TreeReader(source, QueryError)
    tree = cast(ParseTree, parse_tree(source, "query", QueryError))
    reader.check_nesting(tree)
    reader.refuse_expanded(tree)
    queried, *after_bar = subtrees(tree)
    asked = list(_conjuncts(queried))
    plain = all(part.data == "truth" for part in asked)
    known = [part for formulas in after_bar for part in _conjuncts(formulas)]
    facts = [part for part in known if reader.span(part).text != "distinct"]
    comparisons = [part for part in facts if _compares_terms(part)]
    atoms = [part for part in facts if part.data == "truth"]
    formulas = [part for part in facts if part.data != "truth" and not _compares_terms(part)]
    return Query(
        source.text.strip(),
        tuple(_atom(reader, part) for part in asked) if plain else (),
        tuple(_atom(reader, part) for part in atoms),
        tuple(map(reader.restriction, comparisons)),
        distinct=len(facts) < len(known),
        formula=None if plain else _all_of(reader, subtrees(queried)),
        condition=_all_of(reader, formulas) if formulas else None,
    )


def _conjuncts(tree: ParseTree) -> Iterator[ParseTree]:
    """The parts between commas and `^`."""
    for part in subtrees(tree):
        if part.data == "conjunction":
            yield from _conjuncts(part)
        else:
            yield part


def _compares_terms(part: ParseTree) -> bool:
    return part.data == "comparison" and not compares_atom(part)


def _atom(reader: TreeReader, part: ParseTree) -> Atom:
    return reader.atom(subtrees(part)[0])


def _all_of(reader: TreeReader, parts: list[ParseTree]) -> Formula:
    formulas = tuple(map(reader.formula, parts))
    return formulas[0] if len(formulas) == 1 else And(formulas)


# --- files and the files that they include


MAX_LEVELS = 100

LARGEST_UNTRUSTED_MODEL = 2**20
"""Bytes of a model by a stranger: a text that takes seconds to parse."""


@dataclass(frozen=True, slots=True)
class Includes:
    """Which files a model may include: all of them, those below a folder, or none."""

    allowed: bool
    folder: Path | None

    def file(self, path: Path, span: Span) -> Path:
        """The file that a path leads to, if it may be included."""
        if not self.allowed:
            raise ModelError("an untrusted model cannot include files", span)
        file = _resolved(path, span)
        # Whether there is a file outside is not told.
        if self.folder is not None and not file.is_relative_to(self.folder):
            raise ModelError(
                f"{path} is not in the folder of the model; to include files from anywhere, say "
                "--include-anywhere or include_anywhere=True",
                span,
            )
        return file


def _includes(folder: Path, include_anywhere: object, untrusted: object) -> Includes:
    include_anywhere = checked_flag("include_anywhere", include_anywhere)
    untrusted = checked_flag("untrusted", untrusted)
    if include_anywhere and untrusted:
        raise InputError("an untrusted model cannot include files; drop include_anywhere")
    return Includes(not untrusted, None if include_anywhere else _resolved(folder))


def _statements(
    source: Source,
    folder: Path,
    includes: Includes,
    trail: tuple[Path, ...],
    finished: dict[Path, None],
) -> Iterator[Statement]:
    """Statements across files; `trail` leads from the first file to this one.

    A file that several others include is read once; otherwise the weight of its rules would double
    silently.
    """
    for statement in read_statements(source):
        if not isinstance(statement, Include):
            yield statement
            continue
        path = folder / statement.path
        file = includes.file(path, statement.span)
        if file in trail:
            cycle = [*trail[trail.index(file) :], file]
            names = " -> ".join(member.name for member in cycle)
            raise ModelError(f"these files include each other: {names}", statement.span)
        if len(trail) > MAX_LEVELS:
            raise ModelError(
                f"files include each other more than {MAX_LEVELS} levels deep", statement.span
            )
        if file not in finished:
            included = read_source(path, statement.span, regular=True)
            yield from _statements(included, path.parent, includes, (*trail, file), finished)
            finished[file] = None


def _resolved(path: Path, span: Span | None = None) -> Path:
    """The path without symbolic links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as failure:  # links in a circle, or a null character
        reason = getattr(failure, "strerror", None) or failure
        raise ModelError(f"cannot read {path}: {reason}", span) from None
