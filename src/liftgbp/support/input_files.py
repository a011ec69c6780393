"""Reading files: unpacked on the way, never more than a stated size, and regular files if asked."""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from liftgbp.support.errors import InputError, Span

LARGEST_UNPACKED = 2**28
"""Bytes that are read from one packed file, and from one that is no file on a disk.

Three megabytes can unpack to three gigabytes. Plain files may be of any size: they are as large as
they look.
"""

LARGEST_UNTRUSTED = 2**24
"""Bytes that are read from one file of a stranger, unpacked."""

PIECE = 2**20


def is_file(path: str | Path) -> bool:
    """Whether there is such a file; there is none if its name is too long to be asked for.

    >>> is_file("a" * 10_000), is_directory(".")
    (False, True)
    """
    try:
        return Path(path).is_file()
    except OSError:  # whoever reads the file will say what is wrong
        return False


def is_directory(path: str | Path) -> bool:
    """Whether there is such a directory."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def is_gzipped(path: Path) -> bool:
    """Whether the extension of a file says that it is gzipped."""
    return path.suffix.lower() == ".gz"


def pieces(
    path: Path,
    *,
    regular: bool = False,
    most: int | None = None,
    error: type[InputError] = InputError,
    span: Span | None = None,
) -> Iterator[bytes]:
    """The bytes of a file piece by piece, or an error that says why it cannot be read.

    A `regular` file is one on a disk: neither a pipe, at which reading may wait for ever, nor a
    device. `most` is the largest number of bytes; `span` is where a user named the file.
    """

    def problem(reason: object) -> InputError:
        return error(f"cannot read {path}: {reason}", span)

    try:
        with contextlib.ExitStack() as stack:
            opener = _not_waiting if regular else None
            file: BinaryIO = stack.enter_context(open(path, "rb", opener=opener))
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if regular and not is_regular:
                raise problem("it is no regular file")
            packed = is_gzipped(path)
            if packed:
                import gzip  # most runs do without

                file = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=file)))
            if most is None and (packed or not is_regular):
                most = LARGEST_UNPACKED
            count = 0
            while piece := file.read(PIECE):
                count += len(piece)
                if most is not None and count > most:
                    raise problem(_too_large(most, packed))
                yield piece
    except (zlib.error, EOFError):
        raise problem("it is not a complete gzip file") from None
    except OSError as failure:
        raise problem(failure.strerror or "it is not a complete gzip file") from None
    except ValueError as failure:  # a null character in the path
        raise problem(failure) from None


def _too_large(most: int, packed: bool) -> str:
    unpacked = " unpacked" if packed else ""
    advice = "; unpack it first" if packed and most != LARGEST_UNTRUSTED else ""
    return f"it has more than {most // 2**20} MB{unpacked}{advice}"


def _not_waiting(path: str, flags: int) -> int:
    """Open a file without waiting until someone writes to it, if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(
    path: Path,
    *,
    regular: bool = False,
    most: int | None = None,
    error: type[InputError] = InputError,
    span: Span | None = None,
) -> str:
    """The text of a file; the options are those of `pieces`."""
    try:
        parts = pieces(path, regular=regular, most=most, error=error, span=span)
        return b"".join(parts).decode("utf-8")
    except UnicodeDecodeError:
        raise error(f"cannot read {path}: it is not UTF-8 text", span) from None
