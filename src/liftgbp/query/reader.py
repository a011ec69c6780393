"""How answers read a region graph: which rows a query has, and where their atoms are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import QueryError
from liftgbp.evidence import Evidence
from liftgbp.model.ast import Predicate, applied
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.plan import Plan
from liftgbp.query.lookup import joint_table
from liftgbp.query.rows import Row, query_rows
from liftgbp.regions import LiftedRegionGraph, RegionGraph
from liftgbp.shatter.normal import NormalModel, ObjAtom

VARIABLE_NAMES = ("x", "y", "z", "u", "w")


class Reader(Protocol):
    """What answers need to know of a model and its region graph."""

    @property
    def graph(self) -> RegionGraph:
        """The region graph."""

    @property
    def plan(self) -> Plan:
        """The plan of the region graph."""

    @property
    def via(self) -> str:
        """How the region graph was found."""

    @property
    def model(self) -> Model:
        """The model that was asked, with all objects that evidence names."""

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""

    @property
    def evidence(self) -> Evidence:
        """What was known."""

    def rows(self, query: str) -> list[Row]:
        """The rows that answer a query."""

    def rows_of_everything(self) -> Iterator[tuple[str, Row]]:
        """The rows of a query for each predicate, with its text."""

    def joint(self, atoms: Sequence[ObjAtom], log_beliefs: Floats) -> Floats:
        """The joint distribution of atoms of a row, one axis per atom."""

    def values(self, atom: ObjAtom) -> tuple[str, ...]:
        """The values that an atom takes."""

    def marginals(self, predicate: int, objects: Sequence[Ints], log_beliefs: Floats) -> Floats:
        """For ground atoms of a predicate, one array of objects per argument, their marginals."""

    def graph_as_dict(self) -> dict[str, object]:
        """The region graph for JSON, with atoms in words."""


class ClassReader(ABC):
    """Reads atoms of a model in normal form, whose objects come in classes."""

    @property
    @abstractmethod
    def normal(self) -> NormalModel:
        """The normal form whose classes the rows of queries are about."""

    @abstractmethod
    def joint(self, atoms: Sequence[ObjAtom], log_beliefs: Floats) -> Floats:
        """The joint distribution of atoms over objects of the classes, one axis per atom."""

    @property
    def via(self) -> str:
        """Over classes of objects."""
        return "lifted"

    @property
    def evidence(self) -> Evidence:
        """What was known."""
        return self.normal.evidence

    @property
    def model(self) -> Model:
        """The model, with all objects that evidence names."""
        return self.normal.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.normal.sizes

    def rows(self, query: str) -> list[Row]:
        """One row per way in which the variables coincide, and per class of objects."""
        rows = query_rows(parse_query(query), self.normal)
        if not rows:
            raise QueryError(f"no objects satisfy the restrictions of {query}")
        return rows

    def rows_of_everything(self) -> Iterator[tuple[str, Row]]:
        """The rows of a query for each predicate, with its text."""
        for predicate in self.model.predicates.values():
            text = pattern_text(predicate)
            yield from ((text, row) for row in query_rows(parse_query(text), self.normal))

    def values(self, atom: ObjAtom) -> tuple[str, ...]:
        """The values of the atom's predicate."""
        return self.normal.predicates[atom[0]].values

    def marginals(self, predicate: int, objects: Sequence[Ints], log_beliefs: Floats) -> Floats:
        """One marginal per pattern of classes and equalities, for all atoms that have it."""
        sorts = self.normal.predicates[predicate].sorts
        columns = [
            self.normal.class_index[s].of_all(o) for s, o in zip(sorts, objects, strict=True)
        ]
        pairs = [(j, k) for j in range(len(sorts)) for k in range(j) if sorts[j] == sorts[k]]
        columns += [objects[j] == objects[k] for j, k in pairs]
        table = np.column_stack(columns).astype(np.int64) if columns else np.zeros((1, 0), np.int64)
        _, first, pattern = np.unique(table, axis=0, return_index=True, return_inverse=True)
        rows = [
            self.joint(
                [
                    (
                        predicate,
                        tuple(
                            (int(c[k]), int(o[k])) for c, o in zip(columns, objects, strict=False)
                        ),
                    )
                ],
                log_beliefs,
            )
            for k in first
        ]
        return np.array(rows)[pattern.ravel()]


@dataclass(frozen=True, eq=False)
class LiftedReader(ClassReader):
    """Reads the region graph of a model in normal form."""

    graph: LiftedRegionGraph
    plan: Plan

    @property
    def normal(self) -> NormalModel:
        """The normal form that the graph was built from."""
        return self.graph.normal

    def joint(self, atoms: Sequence[ObjAtom], log_beliefs: Floats) -> Floats:
        """The joint distribution by the belief of a region that holds the atoms."""
        beliefs = np.exp(log_beliefs)[None]
        return np.asarray(joint_table(atoms, self.graph, self.plan.layout, beliefs)[0])

    def graph_as_dict(self) -> dict[str, object]:
        """The region graph for JSON."""
        return self.graph.as_dict()


def pattern_text(predicate: Predicate) -> str:
    """A query for all atoms of a predicate."""
    names = [
        VARIABLE_NAMES[k] if k < len(VARIABLE_NAMES) else f"x{k}"
        for k in range(len(predicate.sorts))
    ]
    return applied(predicate.name, names)
