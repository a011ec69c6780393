"""The syntax tree of a query."""

from __future__ import annotations

from dataclasses import dataclass, field

from liftgbp.model.ast import Atom, Equal, Not


@dataclass(frozen=True, slots=True)
class Query:
    """The joint distribution of some atoms, possibly given others.

    The same question in other words is an equal query: the text takes no part in comparisons.
    """

    text: str = field(compare=False)
    atoms: tuple[Atom, ...]
    given: tuple[Atom, ...] = ()
    restrictions: tuple[Equal | Not, ...] = ()
    distinct: bool = False

    def __str__(self) -> str:
        return self.text
