"""How answers read a region graph: which rows a query has, and where their atoms are.

A prepared model and beliefs make a reader, which owns both.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.lift.regions import LiftedRegionGraph, RegionGraph
from liftgbp.lift.shatter.normal import NormalModel, ObjAtom
from liftgbp.model.ast import Predicate, applied
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.plan import Plan
from liftgbp.posterior.count_cases import Counted, CountedCase, by_listing
from liftgbp.posterior.lookup import alone, with_others
from liftgbp.posterior.rows import Row, query_rows
from liftgbp.posterior.sources import Beliefs, Sampled, Source
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import QueryError, checked_number, checked_path, counted
from liftgbp.support.files import check_apart, check_place, whole_file
from liftgbp.support.shown import Reported, drawings
from liftgbp.support.texts import aligned

VARIABLE_NAMES = ("x", "y", "z", "u", "w")

MOST_ROWS = 20
"""Longer tables of what is prepared are cut off."""

Via: TypeAlias = Literal["lifted", "ground"]


class Prepared(Reported, ABC):
    """A model that is ready to be solved: its region graph and its plan.

    `print` shows both as small tables.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> prepared = liftgbp.prepare(model, {"person": 20})
    >>> prepared.via, prepared.sizes
    ('lifted', {'person': 20})
    >>> print(prepared.graph.region_text(0))
    friends(1,2) smokes(1) smokes(2)
    """

    graph: RegionGraph
    """The region graph that messages are passed on."""

    plan: Plan
    """The arrays that solvers run on."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The model, what is known, and the domain size of every sort."""

    @property
    @abstractmethod
    def via(self) -> Via:
        """How the region graph was found: over classes of objects, or from the ground model."""

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.problem.sizes

    @property
    def model(self) -> Model:
        """The model, with all objects that evidence names."""
        return self.problem.model

    @abstractmethod
    def reader(self, log_beliefs: Floats) -> Reader:
        """What reads the answers to queries off beliefs."""

    @abstractmethod
    def graph_as_dict(self) -> dict[str, object]:
        """The region graph for JSON, with atoms in words."""

    def write_graph(self, path: str | os.PathLike[str], local: int | None = None) -> None:
        """Draw the region graph to a `.svg`, `.png` or `.pdf` file; `.dot` is for Graphviz.

        With the number of a region, three panels are drawn: the graph, the signatures of its
        regions, and the local graph of that region. A `.json` file gets what `graph_as_dict` says.
        """
        file = checked_path("path", path)
        check_apart(file, self.problem.files)
        if local is not None:
            local = checked_number("local", local, least=0)
        if file.suffix == ".json":
            check_place(file)
            import json  # only here, and slow to import

            with whole_file(file) as unfinished:
                text = json.dumps(self.graph_as_dict(), indent=2)
                unfinished.write_text(text + "\n", encoding="utf-8")
            return
        drawings().write_drawing(
            self.graph, [region["atoms"] for region in self.described_regions], file, local
        )

    def region_text(self, region: int) -> str:
        """The atoms of a region in words."""
        return " ".join(self.described_regions[region]["atoms"])

    @property
    def described_regions(self) -> Any:
        """The regions as `graph_as_dict` has them."""
        return self.graph_as_dict()["regions"]

    def __str__(self) -> str:
        graph: dict[str, Any] = self.graph_as_dict()
        regions, edges, layout = graph["regions"], graph["edges"], self.plan.layout
        sizes = ", ".join(f"{sort} = {size}" for sort, size in graph["domains"].items())
        entries = {
            "beliefs": layout.belief_entries,
            "messages": layout.message_entries,
            "sums over parents": len(layout.sources),
        }
        tables = (
            (
                ("region", "n", "c", "atoms"),
                [
                    (region["region"], region["n"], region["c"], " ".join(region["atoms"]))
                    for region in regions
                ],
            ),
            (
                ("edge", "κ", "parent → child"),
                [
                    (edge["edge"], edge["kappa"], f"{edge['parent']} → {edge['child']}")
                    for edge in edges
                ],
            ),
            (("plan", "entries"), list(entries.items())),
        )
        lines = [
            f"{graph['model']} ({sizes})" if sizes else graph["model"],
            f"{len(regions)} canonical regions for {graph['ground_regions']} ground regions, "
            f"{counted(len(edges), 'edge')} ({graph['family']}, via {self.via})",
        ]
        for heading, rows in tables:
            shown = (tuple(map(str, row)) for row in rows[:MOST_ROWS])
            lines += ["", *aligned([heading, *shown])]
            if len(rows) > MOST_ROWS:
                lines.append(f"... and {len(rows) - MOST_ROWS} more")
        return "\n".join(lines)


class Reader(ABC):
    """Reads beliefs: which rows a query has, and the distributions of their atoms.

    Where probabilities are sampled, `sample` reads rows with their standard errors.
    """

    prepared: Prepared
    sample: Sampled | None

    @property
    def problem(self) -> Problem:
        """The model that was asked, what was known, and the domain size of every sort."""
        return self.prepared.problem

    @property
    def model(self) -> Model:
        """The model that was asked, with all objects that evidence names."""
        return self.problem.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.problem.sizes

    @abstractmethod
    def rows(self, query: str) -> list[Row]:
        """The rows that answer a query."""

    def rows_of_everything(self) -> Iterator[tuple[str, Row]]:
        """The rows of a query for each predicate, with its text."""
        for predicate in self.model.asked_by_default:
            text = pattern_text(predicate)
            yield from ((text, row) for row in self.rows(text))

    @abstractmethod
    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms of a row, one axis per atom."""

    @abstractmethod
    def values(self, atom: ObjAtom) -> tuple[str, ...]:
        """The values that an atom takes."""

    @abstractmethod
    def marginals(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """For ground atoms of a predicate, one array of objects per argument, their marginals."""

    @abstractmethod
    def errors(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """Their standard errors, which are zero unless probabilities are sampled."""


@dataclass(frozen=True, eq=False)
class ClassReader(Reader):
    """Reads atoms of a model in normal form, whose objects come in classes.

    `unsplit` is the normal form before classes were split, and `asked` the problem before atoms
    were added to its model; rows are about these.
    """

    prepared: PreparedLifted
    source: Source
    unsplit: NormalModel | None = None
    asked: Problem | None = None
    sample: Sampled | None = None

    @property
    def normal(self) -> NormalModel:
        """The normal form whose classes the rows of queries are about."""
        return self.unsplit or self.prepared.graph.normal

    @property
    def problem(self) -> Problem:
        """The model that was asked, what was known, and the domain size of every sort."""
        return self.asked or self.normal.problem

    def rows(self, query: str) -> list[Row]:
        """One row per way in which the variables coincide, and per class of objects."""
        rows = query_rows(parse_query(query), self.normal)
        if not rows:
            raise QueryError(f"no objects satisfy the restrictions of {query}")
        return rows

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms of a row, one axis per atom."""
        inside = [atom for atom in dict.fromkeys(atoms) if self.source.holds(atom)]
        table = self.source.joint(inside)[None]
        whole = with_others(atoms, inside, table, lambda atom: alone(atom, self.normal))
        return np.asarray(whole[0])

    def counted(self, case: CountedCase) -> Counted:
        """How likely each number of objects satisfies a formula, together with a condition."""
        return self.source.counted(case, self)

    def listed(self, case: CountedCase) -> Counted:
        """The same for a few objects, from the joint distribution of all their atoms."""
        ranges = self.normal.ranges
        return Counted(by_listing(case, self.joint, lambda atom: ranges[atom[0]]))

    def values(self, atom: ObjAtom) -> tuple[str, ...]:
        """The values of the atom's predicate."""
        return self.normal.predicates[atom[0]].values

    def marginals(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """One marginal per pattern of classes and equalities, for all atoms that have it."""
        return self._by_pattern(predicate, objects, lambda atom: self.joint([atom]))

    def errors(self, predicate: int, objects: Sequence[Ints]) -> Floats:
        """Their standard errors, which are zero unless probabilities are sampled."""
        sample = self.sample
        none = np.zeros(len(self.normal.predicates[predicate].values))
        return self._by_pattern(
            predicate, objects, lambda atom: none if sample is None else sample.errors(atom, self)
        )

    def _by_pattern(
        self, predicate: int, objects: Sequence[Ints], table: Callable[[ObjAtom], Floats]
    ) -> Floats:
        sorts = self.normal.predicates[predicate].sorts
        homes = [self.normal.class_index[s].of_all(o) for s, o in zip(sorts, objects, strict=True)]
        pairs = [(j, k) for j in range(len(sorts)) for k in range(j) if sorts[j] == sorts[k]]
        columns = [*homes, *(objects[j] == objects[k] for j, k in pairs)]
        rows = np.column_stack(columns).astype(np.int64) if columns else np.zeros((1, 0), np.int64)
        _, first, pattern = np.unique(rows, axis=0, return_index=True, return_inverse=True)

        def atom(k: int) -> ObjAtom:
            return predicate, tuple(
                (int(h[k]), int(o[k])) for h, o in zip(homes, objects, strict=True)
            )

        return np.array([table(atom(k)) for k in first])[pattern.ravel()]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedLifted(Prepared):
    """The region graph of a model in normal form, with its plan."""

    graph: LiftedRegionGraph
    plan: Plan

    @property
    def problem(self) -> Problem:
        """The model, what is known, and the domain size of every sort."""
        return self.graph.normal.problem

    @property
    def via(self) -> Via:
        """Over classes of objects."""
        return "lifted"

    def reader(self, log_beliefs: Floats) -> ClassReader:
        """What reads the answers to queries off beliefs."""
        return ClassReader(self, Beliefs(self.graph, self.plan.layout, log_beliefs))

    def graph_as_dict(self) -> dict[str, object]:
        """The region graph for JSON."""
        return self.graph.as_dict()


def pattern_text(predicate: Predicate) -> str:
    """A query for all atoms of a predicate."""
    return applied(predicate.name, variable_names(len(predicate.sorts)))


def variable_names(count: int) -> tuple[str, ...]:
    """Names for this many variables."""
    names = VARIABLE_NAMES[:count]
    return (*names, *(f"x{k}" for k in range(len(names), count)))
