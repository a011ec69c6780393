"""The answers of a run: marginals, joints and conditionals by region beliefs, and log Z."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from liftgbp.errors import InputError, QueryError, checked_path, checked_texts, wrong_type
from liftgbp.model.model import Model
from liftgbp.plan import Plan
from liftgbp.query.every_atom import write_every_atom
from liftgbp.query.lookup import conditional_table
from liftgbp.query.reader import LiftedReader, Reader
from liftgbp.query.rows import Row
from liftgbp.regions import LiftedRegionGraph, RegionGraph
from liftgbp.shatter.normal import ObjAtom
from liftgbp.signature import objects_of
from liftgbp.solve import Point, Solution, Status, Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of an answer.

    `values` gives a probability for each value of the atom or, for several atoms, for each
    combination of values joined by commas in the order of the atoms. Given an impossible condition
    a probability is NaN. `count` is how many ground atoms (or groundings) the row stands for;
    `example` is one of them.
    """

    query: str
    atom: str
    where: str
    count: int
    values: dict[str, float]
    example: str = ""

    def as_dict(self) -> dict[str, object]:
        """The row for JSON; undefined probabilities are `None`."""
        values = {key: None if math.isnan(p) else p for key, p in self.values.items()}
        return {
            "query": self.query,
            "atom": self.atom,
            "where": self.where,
            "count": self.count,
            "example": self.example,
            "values": values,
        }

    def __str__(self) -> str:
        values = "  ".join(f"{key}: {p:.6f}" for key, p in self.values.items())
        return f"{self.atom}{f' [{self.where}]' if self.where else ''}  {values}"


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """What a run found out; ask it with `query` or `marginal`.

    Where regions were grown automatically, `growth` holds the answers of every family that was
    tried, small regions first, and `growth_end` says why there are no more.
    """

    reader: Reader
    solution: Solution
    seconds: float
    growth: tuple[Answers, ...] = ()
    growth_end: str = ""

    @classmethod
    def lifted(cls, graph: LiftedRegionGraph, plan: Plan, solution: Solution) -> Answers:
        """The answers of a run on the region graph of a model in normal form."""
        return cls(LiftedReader(graph, plan), solution, 0.0)

    @property
    def graph(self) -> RegionGraph:
        """The region graph that messages were passed on."""
        return self.reader.graph

    @property
    def plan(self) -> Plan:
        """The arrays that the solver ran on."""
        return self.reader.plan

    @property
    def via(self) -> str:
        """How the region graph was found: over `classes` of objects, or on the `ground`."""
        return self.reader.via

    def __repr__(self) -> str:
        sizes = ", ".join(f"{sort}={size}" for sort, size in self.sizes.items())
        name = self.model.name
        return f"<Answers {name} ({sizes}): {self.status.value}, log Z {self.log_z:.10g}>"

    @property
    def model(self) -> Model:
        """The model that was asked."""
        return self.reader.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.reader.sizes

    @property
    def log_z(self) -> float:
        """The log partition function by the Kikuchi free energy."""
        return self.solution.log_z

    @property
    def status(self) -> Status:
        """Whether the numbers can be trusted, with advice."""
        return self.solution.status

    @property
    def verdict(self) -> Verdict:
        """How far the best solution can be trusted."""
        return self.solution.verdict

    @property
    def minima(self) -> tuple[Point, ...]:
        """The stationary points of the free energy that descent found, the best first."""
        return self.solution.points

    def at(self, point: Point) -> Answers:
        """The answers of one stationary point alone.

        >>> import liftgbp
        >>> model = liftgbp.parse("s(thing)\\n1.5 s(x) <=> s(y) | x != y")
        >>> answers = liftgbp.infer(model, sizes={"thing": 9})
        >>> sorted(round(answers.at(point).marginal("s(x)"), 3) for point in answers.minima)
        [0.0, 0.5, 1.0]
        """
        if not any(point is own for own in self.minima):
            if not isinstance(point, Point):
                raise wrong_type("point", "one of answers.minima", point)
            raise InputError("the point is none of answers.minima; those of other runs do not fit")
        solution = replace(
            self.solution,
            log_beliefs=point.log_beliefs,
            log_z=point.log_z,
            residual=point.verdict.residual,
            judged=point.verdict,
        )
        return replace(self, solution=solution)

    def query(self, text: str) -> tuple[Answer, ...]:
        """The rows that answer a query.

        >>> import liftgbp
        >>> model = liftgbp.parse("friends(person, person)\\n1.0 friends(x,y) | x != y")
        >>> for row in liftgbp.infer(model, sizes={"person": 1000}).query("friends(x,y)"):
        ...     print(row)
        friends(x,x) [x = y]  false: 0.500000  true: 0.500000
        friends(x,y) [x != y]  false: 0.268941  true: 0.731059
        """
        rows = self.reader.rows(text)
        # The row with most objects comes first: the regions that its error asks for hold them all.
        widest_first = sorted(rows, key=lambda row: -len(objects_of((*row.atoms, *row.given))))
        answers = {row: self._answer(text, row) for row in widest_first}
        return tuple(answers[row] for row in rows)

    def marginal(self, atom: str, value: str = "true") -> float:
        """The probability that an atom has a value, for different objects without names.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n1.0 smokes(x)")
        >>> round(liftgbp.infer(model, sizes={"person": 1000}).marginal("smokes(x)"), 6)
        0.731059
        """
        rows = [row for row in self.reader.rows(atom) if row.generic]
        if len(rows) != 1:
            raise QueryError(f"{atom} has no row for different unnamed objects; use query()")
        values = self._answer(atom, rows[0]).values
        if not isinstance(value, str):
            raise wrong_type("value", "text", value)
        if value not in values:
            raise QueryError(f"{atom} takes the values {', '.join(values)}, not {value}")
        return values[value]

    @cached_property
    def all(self) -> tuple[Answer, ...]:
        """The answers for every predicate."""
        return tuple(answer for answer, _ in self.all_with_examples)

    @property
    def all_with_examples(self) -> Iterator[tuple[Answer, ObjAtom]]:
        """The answers for every predicate, each with one of the atoms it stands for."""
        for text, row in self.reader.rows_of_everything():
            yield self._answer(text, row), row.atoms[0]

    def _answer(self, text: str, row: Row) -> Answer:
        atoms = (*row.atoms, *row.given)
        try:
            table = self.reader.joint(atoms, self.solution.log_beliefs)
        except QueryError as error:
            where = f" where {row.where}" if row.where else ""
            raise QueryError(f"no region holds {row.text}{where}: {error.message}") from None
        if row.given:
            table = conditional_table(table[None], len(row.given))[0]
        keys = map(",".join, product(*map(self.reader.values, atoms)))
        # Rounding makes some probabilities larger than one.
        values = dict(zip(keys, np.minimum(table.ravel(), 1.0).tolist(), strict=True))
        return Answer(text, row.text, row.where, row.count, values, row.example)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user may want to know about model and evidence although nothing is wrong."""
        return (*self.model.notes, *self.reader.evidence.notes)

    def _evidence_as_dict(self) -> dict[str, object] | None:
        known = self.reader.evidence
        if not known:
            return None
        return {
            "via": self.via,
            "facts": sum(len(relation.values) for relation in known.hard.values()),
            "uncertain": sum(len(relation.args) for relation in known.soft.values()),
            "counted": sum(counted.count for counted in known.known),
            "closed": sorted(known.closed),
        }

    def write_all(self, path: str | os.PathLike[str], *, observed: bool = False) -> None:
        """Write the marginal of every ground atom to a `.csv` or `.parquet` file.

        The columns are predicate, atom, value, probability and observed, with one row per value;
        Boolean atoms have one row, for true. Atoms whose value evidence states (facts, known
        counts, all atoms of closed predicates) are left out unless `observed` is true.
        """
        file = checked_path("path", path)
        write_every_atom(self.reader, self.solution.log_beliefs, file, observed=observed)

    def as_dict(self, queries: str | Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        solution = self.solution
        queries = checked_texts("queries", queries)
        rows = self._rows(queries)
        return {
            "model": self.model.name,
            "domains": self.sizes,
            "evidence": self._evidence_as_dict(),
            "regions": {
                "family": str(self.graph.family),
                "canonical": len(self.graph.regions),
                "edges": len(self.graph.edges),
                "ground_regions": self.graph.ground_regions,
            },
            "solver": {
                "name": solution.solver,
                "status": solution.status.value,
                "advice": solution.reason,
                "iterations": solution.iterations,
                "residual": _finite(solution.residual),
                "seconds": self.seconds,
            },
            "verdict": solution.verdict.as_dict(),
            "minima": [
                {"log_z": _finite(p.log_z), "weight": p.weight, **p.verdict.as_dict()}
                for p in solution.points
            ],
            "log_z": _finite(solution.log_z),
            "notes": list(self.notes),
            "answers": [row.as_dict() for row in rows],
            **({"growth": self._growth_as_dict(queries)} if self.growth else {}),
        }

    def _rows(self, queries: tuple[str, ...]) -> Sequence[Answer]:
        return [row for query in queries for row in self.query(query)] if queries else self.all

    def _growth_as_dict(self, queries: tuple[str, ...]) -> dict[str, object]:
        return {
            "steps": [
                {
                    "family": str(step.graph.family),
                    "chosen": step.solution is self.solution,
                    "status": step.status.value,
                    "plausible": step.verdict.plausible,
                    "log_z": _finite(step.log_z),
                    "seconds": step.seconds,
                    "answers": [row.as_dict() for row in step._rows_if_any(queries)],
                }
                for step in self.growth
            ],
            "end": self.growth_end,
        }

    def _rows_if_any(self, queries: tuple[str, ...]) -> Sequence[Answer]:
        """The rows that answer queries, or none where the regions are too small for them."""
        try:
            return self._rows(queries)
        except QueryError:
            return ()


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
