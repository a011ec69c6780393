"""A model that people write, and its truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import liftgbp


class Truth(NamedTuple):
    """A probability, and its standard error if it is known by sampling."""

    value: float
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class PeopleCase:
    """A model with facts, queries with their true probabilities, and where these come from."""

    name: str
    text: str
    sizes: Mapping[str, int]
    source: str
    truths: Callable[[], Mapping[str, float | Truth]]
    facts: str = ""
    closed: tuple[str, ...] = ()

    @cached_property
    def model(self) -> liftgbp.Model:
        return liftgbp.parse(self.text)

    @cached_property
    def evidence(self) -> liftgbp.Evidence | None:
        if not self.facts and not self.closed:
            return None
        return liftgbp.parse_evidence(self.model, self.facts, closed=self.closed)

    @cached_property
    def truth(self) -> dict[str, Truth]:
        """The true probability of each query."""
        return {
            query: own if isinstance(own, Truth) else Truth(own)
            for query, own in self.truths().items()
        }
