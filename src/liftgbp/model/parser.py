"""Models and queries from text and from files, which may include other files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import cast

from liftgbp.errors import (
    ModelError,
    QueryError,
    Source,
    checked_path,
    wrong_type,
)
from liftgbp.limits import Limits, limited
from liftgbp.model.assemble import assemble
from liftgbp.model.ast import Atom, Query
from liftgbp.model.model import Model
from liftgbp.model.statements import Include, Statement, read_statements
from liftgbp.model.syntax import ParseTree, clean_source, parse_tree, read_source
from liftgbp.model.tree_reader import Reader, subtrees


@limited("reading the model")
def parse(text: str, name: str = "<text>", *, limits: Limits | None = None) -> Model:
    """The model that a text describes; `name` is for messages, and locates included files.

    >>> model = parse('''
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
    return assemble(text_statements(clean_source(name, text), path.parent), path.stem)


@limited("reading the model")
def load(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Model:
    """The model in a file; see `parse` for the language.

    >>> load("no such file.mln")
    Traceback (most recent call last):
    liftgbp.errors.ModelError: cannot read no such file.mln: No such file or directory
    """
    file = checked_path("the model", path)
    return assemble(file_statements(file), file.stem)


def parse_query(text: str) -> Query:
    """The atoms that a query asks for, those it is given, and the restrictions of their variables.

    >>> query = parse_query("smokes(y) | friends(x,y), smokes(x), x != y")
    >>> [str(atom) for atom in query.atoms], [str(atom) for atom in query.given]
    (['smokes(y)'], ['friends(x,y)', 'smokes(x)'])
    >>> len(query.restrictions), query.distinct
    (1, False)
    """
    return _parse_query(clean_source("<query>", text))


@lru_cache(maxsize=256)
def _parse_query(source: Source) -> Query:
    reader = Reader(source, QueryError)
    tree = cast(ParseTree, parse_tree(source, "query", QueryError))
    reader.check_nesting(tree)
    reader.refuse_expanded(tree)
    queried, *after_bar = ([*_conjuncts(formulas)] for formulas in subtrees(tree))
    known = [part for parts in after_bar for part in parts]
    facts = [part for part in known if reader.span(part).text != "distinct"]
    comparisons = [part for part in facts if part.data == "comparison"]
    given = [part for part in facts if part.data != "comparison"]
    return Query(
        source.text.strip(),
        tuple(_atom(reader, part) for part in queried),
        tuple(_atom(reader, part) for part in given),
        tuple(map(reader.restriction, comparisons)),
        distinct=len(facts) < len(known),
    )


def _conjuncts(tree: ParseTree) -> Iterator[ParseTree]:
    """The parts between commas and `^`."""
    for part in subtrees(tree):
        if part.data == "conjunction":
            yield from _conjuncts(part)
        else:
            yield part


def _atom(reader: Reader, part: ParseTree) -> Atom:
    if part.data != "truth":
        raise reader.problem("a query lists atoms; the answer covers all their values", part)
    return reader.atom(subtrees(part)[0])


# --- files and the files that they include


MAX_LEVELS = 100


def text_statements(source: Source, folder: Path) -> Iterator[Statement]:
    """All statements of a text whose includes are relative to a folder."""
    return _statements(source, folder, (), set())


def file_statements(path: Path) -> Iterator[Statement]:
    """All statements of a file and its includes."""
    return _statements(read_source(path), path.parent, (path.resolve(),), set())


def _statements(
    source: Source, folder: Path, trail: tuple[Path, ...], finished: set[Path]
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
        included = read_source(path, statement.span)
        file = path.resolve()
        if file in trail:
            cycle = [*trail[trail.index(file) :], file]
            names = " -> ".join(member.name for member in cycle)
            raise ModelError(f"these files include each other: {names}", statement.span)
        if len(trail) > MAX_LEVELS:
            raise ModelError(
                f"files include each other more than {MAX_LEVELS} levels deep", statement.span
            )
        if file not in finished:
            yield from _statements(included, path.parent, (*trail, file), finished)
            finished.add(file)
