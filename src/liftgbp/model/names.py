"""Words of the language, which cannot name predicates and sorts."""

from __future__ import annotations

_EXACT = {"v", "distinct", "parfactor"} | {
    spelled for word in ("exist", "forall") for spelled in (word, word.title(), word.upper())
}
_IN_ANY_CASE = {"inf", "infinity", "nan"}


def is_reserved(name: str) -> bool:
    """Whether the language has its own reading of a name.

    >>> is_reserved("forall"), is_reserved("NaN"), is_reserved("friends")
    (True, True, False)
    """
    return name in _EXACT or name.lower() in _IN_ANY_CASE


def reserved_message(name: str) -> str:
    """What to say about a reserved word in the place of a name."""
    return f"{name} is a reserved word; choose another name"
