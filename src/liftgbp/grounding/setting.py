"""What all rules are grounded with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from liftgbp.evidence import Evidence
from liftgbp.grounding.facts import Facts
from liftgbp.model.model import Model


@dataclass(frozen=True, eq=False)
class Setting:
    """A model with evidence over domains of these sizes; `facts` follow the predicates."""

    evidence: Evidence
    sizes: Mapping[str, int]
    facts: tuple[Facts, ...]
    table_cap: int

    @property
    def model(self) -> Model:
        """The model, with the names of all objects that have one."""
        return self.evidence.model

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the first objects of each sort."""
        return {sort: self.model.constants(sort) for sort in self.model.sorts}

    @cached_property
    def numbers(self) -> Mapping[tuple[str, str], int]:
        """The numbers of objects by sort and name."""
        return {(s, name): k for s, names in self.names.items() for k, name in enumerate(names)}

    def object_name(self, sort: str, number: int) -> str:
        """The name of an object; one without a name is told by its number."""
        names = self.names[sort]
        return names[number] if number < len(names) else f"{sort}#{number}"

    def atom_name(self, predicate: str, objects: tuple[int, ...]) -> str:
        """A ground atom as text."""
        sorts = self.model.predicates[predicate].sorts
        return f"{predicate}({','.join(map(self.object_name, sorts, objects))})"
