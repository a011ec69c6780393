"""What engines complain about, in one paragraph that says what to do."""

from __future__ import annotations

from liftgbp.support.errors import EvidenceError, InputError

NO_SPACE = (
    "no space left on device",
    "file too large",
    "quota exceeded",
    "failed to offload",
    "max_temp_directory_size",
)
"""What engines and systems say when something cannot be written for want of space."""

NO_MEMORY = ("out of memory", "outofmemoryerror", "java heap space", "gc overhead limit")
"""What engines say when they cannot do with the memory that they may take."""

GO_ON = "run the same command again: it goes on from the last complete iteration, if there is one"


def in_one_paragraph(engine: str, place: str, error: Exception, text: str) -> InputError:
    """The error for what an engine says about a place, which may be empty."""
    line = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    line = " ".join(line.split())[:300]
    where = f"{place}: " if place else ""
    if type(error).__name__ == "TableNotFound":
        return EvidenceError(f"{where}{engine} has no such table")
    low = text.lower()
    if any(words in low for words in NO_SPACE):
        return InputError(f"the disk is full. {engine} says: {line}. Free some space, and {GO_ON}")
    if any(words in low for words in NO_MEMORY):
        return InputError(
            f"{engine} needs more memory. It says: {line}. Allow more by --engine-memory, and "
            f"{GO_ON}"
        )
    return EvidenceError(f"{where}{engine} says: {line}")


def ibis_errors() -> tuple[type[Exception], type[Exception]]:
    """What Ibis raises itself."""
    from ibis.common.exceptions import IbisError, TableNotFound

    return IbisError, TableNotFound
