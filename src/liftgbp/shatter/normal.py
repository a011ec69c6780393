"""The normal form: every variable ranges over one class, and different variables differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.model.ast import Predicate, Rule
from liftgbp.model.model import Model

Obj: TypeAlias = tuple[int, int]
"""A placeholder for an object: (class, index inside the class)."""

ObjAtom: TypeAlias = tuple[int, tuple[Obj, ...]]
"""An atom over placeholders: (predicate number, objects)."""


@dataclass(frozen=True, slots=True)
class ObjectClass:
    """Interchangeable objects of one sort; a constant that rules mention is alone in its class."""

    sort: str
    size: int
    constant: str | None = None

    def __str__(self) -> str:
        return self.constant or self.sort


@dataclass(frozen=True, slots=True)
class NormalParfactor:
    """One ground factor for every way to put different objects for its placeholders.

    The axes of `log_table` follow `atoms`. Placeholders that share a group of `exchangeable` stand
    for a set: permuting them gives the same ground factor, which counts once.
    """

    atoms: tuple[ObjAtom, ...]
    log_table: NDArray[np.float64]
    exchangeable: tuple[tuple[Obj, ...], ...]
    rule: int

    def __post_init__(self) -> None:
        self.log_table.setflags(write=False)


@dataclass(frozen=True)
class NormalModel:
    """A shattered model: the same ground model for the same sizes, in normal form."""

    model: Model
    sizes: dict[str, int]
    classes: tuple[ObjectClass, ...]
    predicates: tuple[Predicate, ...]
    parfactors: tuple[NormalParfactor, ...]
    log_constant: float
    table_cap: int

    @cached_property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of objects of each class."""
        return tuple(c.size for c in self.classes)

    @cached_property
    def ranges(self) -> tuple[int, ...]:
        """The number of values of each predicate's atoms."""
        return tuple(len(predicate.values) for predicate in self.predicates)

    @cached_property
    def predicate_number(self) -> dict[str, int]:
        """Predicate numbers by name."""
        return {predicate.name: k for k, predicate in enumerate(self.predicates)}

    def classes_of(self, sort: str) -> tuple[int, ...]:
        """The classes of a sort: constants that rules mention first, then all other objects."""
        return tuple(k for k, c in enumerate(self.classes) if c.sort == sort)

    def class_of_constant(self, sort: str, constant: str) -> int:
        """The class that a named object belongs to."""
        homes = self.classes_of(sort)
        own = [k for k in homes if self.classes[k].constant == constant]
        return own[0] if own else next(k for k in homes if self.classes[k].constant is None)

    def rule_of(self, parfactor: NormalParfactor) -> Rule:
        """The rule that a parfactor comes from."""
        return self.model.rules[parfactor.rule]
