"""Files of statements, together with the files that they include."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from liftgbp.errors import InputError, ModelError, Source, Span
from liftgbp.model.layout import clean_source
from liftgbp.model.statements import Include, Statement, read_statements

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

    A file that several others include is read once: otherwise its rules would count with twice
    their weight, and nobody would notice.
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


def read_source(
    path: Path, span: Span | None = None, error: type[InputError] = ModelError
) -> Source:
    """The text of a file; `span` is where the user named it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as problem:
        reason = problem.strerror or str(problem)
    except ValueError as problem:  # a null character in the path
        reason = str(problem)
    else:
        if "\0" not in text:
            return clean_source(str(path), text)
        reason = "it is a binary file"
    raise error(f"cannot read {path}: {reason}", span)
