"""Evidence as frozen values: objects are numbers, the facts about a predicate are one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.errors import Span
from liftgbp.model.model import Model

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """Observed atoms of one predicate.

    Row k says that the atom over the objects `args[k]` has value number `values[k]`; no two rows
    are about one atom. Objects are numbered inside their sorts in the order of `model.constants`.
    """

    args: Ints
    values: Ints

    def __post_init__(self) -> None:
        self.args.setflags(write=False)
        self.values.setflags(write=False)


@dataclass(frozen=True, eq=False, slots=True)
class SoftRelation:
    """Uncertain observations of atoms of one predicate, as factors over single atoms.

    Row k multiplies the weight of each world by exp(log_potentials[k, v]), where v is the value
    that the atom over the objects `args[k]` has in it; no two rows are about one atom.
    """

    args: Ints
    log_potentials: Floats

    def __post_init__(self) -> None:
        self.args.setflags(write=False)
        self.log_potentials.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Known:
    """So many objects without names, each with these values of unary predicates.

    The objects of different `Known` are different. In numbers, they follow the named objects of
    their sort in the order in which they are stated.
    """

    sort: str
    values: tuple[tuple[str, int], ...]
    count: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about the objects of a model.

    `model` is the model whose sorts name the objects that evidence names, too. Atoms of a `closed`
    predicate that are not observed are false. `notes` say what a user may want to know; `places`
    says where observed atoms (predicate, objects) were stated, for messages.
    """

    model: Model
    hard: Mapping[str, Relation] = field(default_factory=dict)
    soft: Mapping[str, SoftRelation] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    known: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()
    places: Mapping[tuple[str, tuple[int, ...]], Span] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def __bool__(self) -> bool:
        return bool(self.hard or self.soft or self.closed or self.known)
