"""Texts in files that may be packed with gzip, as the ending `.gz` tells."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from liftgbp.errors import InputError

LEVEL = 6


def is_packed(path: Path) -> bool:
    """Whether a file is packed."""
    return path.suffix.lower() == ".gz"


def name_unpacked(path: Path) -> Path:
    """The path without the ending that says that the file is packed.

    >>> name_unpacked(Path("net.uai.gz")).name, name_unpacked(Path("net.uai")).name
    ('net.uai', 'net.uai')
    """
    return path.with_suffix("") if is_packed(path) else path


def read_text(path: Path) -> str:
    """The text of a file, or an error that says why it cannot be read."""
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if is_packed(path) else raw
        return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8").read()
    except UnicodeDecodeError:
        raise InputError(f"cannot read {path}: it is not UTF-8 text") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"cannot read {path}: it is no whole gzip file") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # a character that no path can have
        raise InputError(f"cannot read {str(path)!r}: {error}") from None


def in_bytes(path: Path, text: str) -> bytes:
    """What a file of this name holds for a text; the same text gives the same bytes."""
    raw = text.encode("utf-8")
    return gzip.compress(raw, LEVEL, mtime=0) if is_packed(path) else raw
