"""Files of statements, together with the files that they include."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from liftgbp.errors import ModelError, Source, Span
from liftgbp.model.layout import clean_source
from liftgbp.model.statements import Include, Statement, read_statements

MAX_LEVELS = 100


def text_statements(source: Source, folder: Path) -> Iterator[Statement]:
    """All statements of a text whose includes are relative to a folder."""
    return _statements(source, folder, (), set())


def file_statements(path: Path) -> Iterator[Statement]:
    """All statements of a file and its includes."""
    return _statements(_read(path), path.parent, (path.resolve(),), set())


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
        included = _read(path, statement.span)
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


def _read(path: Path, span: Span | None = None) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:  # a null character in the path
        reason = str(error)
    else:
        if "\0" not in text:
            return clean_source(str(path), text)
        reason = "it is a binary file"
    raise ModelError(f"cannot read {path}: {reason}", span)
