"""What evidence says about the atoms of each predicate: listed states, and one for all others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.evidence import Problem, Relation
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model
from liftgbp.support.arrays import Ints

if TYPE_CHECKING:
    from liftgbp.ground.grounding.quantifiers import Chains


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """The states of all atoms of one predicate; a state is the number of a value, or `unknown`.

    The atom over the objects `args[k]` has value number `values[k]`. Every atom that is not listed
    has the state `default`, which no listed atom has. `unobserved` counts the unknown atoms.
    """

    args: Ints
    values: Ints
    range: int
    default: int
    unobserved: int

    @property
    def unknown(self) -> int:
        """The state of an atom without an observed value."""
        return self.range

    @property
    def complete(self) -> bool:
        """Whether every atom has an observed value."""
        return self.default != self.unknown


def open_facts(values: int) -> Facts:
    """Facts that leave all atoms unknown, for the atoms that stand for quantified formulas."""
    return Facts(np.zeros((0, 0), np.int64), np.zeros(0, np.int64), values, values, 0)


def all_facts(problem: Problem) -> tuple[Facts, ...]:
    """The facts about each predicate, in the order of the model's predicates."""
    relations, closed = problem.facts(), problem.evidence.closed
    return tuple(
        _facts(predicate, relations.get(name), name in closed, problem.sizes)
        for name, predicate in problem.model.predicates.items()
    )


def _facts(
    predicate: Predicate, relation: Relation | None, closed: bool, sizes: Mapping[str, int]
) -> Facts:
    atoms = math.prod(sizes[sort] for sort in predicate.sorts)
    if relation is None:
        relation = Relation(np.zeros((0, len(predicate.sorts)), np.int64), np.zeros(0, np.int64))
    args, values, length = relation.args, relation.values, len(predicate.values)
    if closed:
        default, unobserved = 0, 0
    elif len(values) == atoms:
        # Atoms with the most frequent value need no row when every atom is listed.
        default, unobserved = int(np.bincount(values).argmax()), 0
    else:
        default, unobserved = length, atoms - len(values)
    listed = values != default
    return Facts(args[listed], values[listed], length, default, unobserved)


@dataclass(frozen=True, eq=False, slots=True)
class GroundingTask:
    """What all rules of a model are grounded with; `facts` are in the order of the predicates."""

    problem: Problem
    facts: tuple[Facts, ...]
    table_cap: int
    chains: Chains | None = None
    """What takes in the stand-ins for parts of large formulas; without it, these are refused."""

    @property
    def model(self) -> Model:
        """The model, with all objects that evidence names."""
        return self.problem.model

    @property
    def sizes(self) -> Mapping[str, int]:
        """The domain size of every sort."""
        return self.problem.sizes

    def object_number(self, sort: str, name: str) -> int:
        """The number of the object with this name."""
        return self.model.object_numbers(sort)[name]
