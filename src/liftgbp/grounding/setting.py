"""What all rules are grounded with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liftgbp.evidence import Evidence
from liftgbp.grounding.facts import Facts
from liftgbp.model.model import Model
from liftgbp.model.writer import object_text


@dataclass(frozen=True, eq=False, slots=True)
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

    def object_number(self, sort: str, name: str) -> int:
        """The number of the object with this name."""
        return self.model.object_numbers(sort)[name]

    def object_name(self, sort: str, number: int) -> str:
        """The name of an object; one without a name is told by its number."""
        return object_text(self.model, sort, number)

    def atom_name(self, predicate: str, objects: tuple[int, ...]) -> str:
        """A ground atom as text."""
        sorts = self.model.predicates[predicate].sorts
        return f"{predicate}({','.join(map(self.object_name, sorts, objects))})"
