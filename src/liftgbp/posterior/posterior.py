"""What a method found out: a reader of probabilities, how the run ended, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from liftgbp.lift.regions import RegionGraph
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import as_count, checked_query, parse_count
from liftgbp.plan import Plan
from liftgbp.posterior.answer import Answer, every_row, query_all
from liftgbp.posterior.count_queries import count_answer, count_distributions
from liftgbp.posterior.provenance import NOTHING_SPECIAL, Provenance
from liftgbp.posterior.readers import Prepared, Reader, Via
from liftgbp.posterior.results import Result
from liftgbp.posterior.standing import NOT_ASKED, Confirmation, Standing, Unconfirmed
from liftgbp.solve import Kind, Point, Solution, Verdict
from liftgbp.support.errors import (
    InputError,
    InternalError,
    NotHeldError,
    QueryError,
    checked_texts,
    wrong_type,
)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of a model with how the run ended; every method returns one.

    reader      reads the probabilities of the rows of queries
    result      how the run ended, log Z, and whether to trust it
    provenance  what it was made of
    seconds     how long that took
    support     what speaks for it besides the method itself, or why nothing does
    """

    reader: Reader
    result: Result
    provenance: Provenance = NOTHING_SPECIAL
    seconds: float = 0.0
    support: Confirmation | Unconfirmed = NOT_ASKED

    @classmethod
    def of(cls, prepared: Prepared, solution: Solution, seconds: float = 0.0) -> Posterior:
        """The posterior that a solution of a prepared model gives."""
        return cls(prepared.reader(solution.log_beliefs), solution, seconds=seconds)

    @property
    def graph(self) -> RegionGraph:
        """The region graph that messages were passed on."""
        return self.reader.prepared.graph

    @property
    def plan(self) -> Plan:
        """The arrays that the solver ran on."""
        return self.reader.prepared.plan

    @property
    def via(self) -> Via:
        """How the region graph was found: `lifted` over classes of objects, or `ground`."""
        return self.reader.prepared.via

    @property
    def model(self) -> Model:
        """The model that was asked."""
        return self.reader.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.reader.sizes

    @property
    def verdict(self) -> Verdict:
        """What is known about the best solution."""
        return self.result.verdict

    @property
    def sound(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return self.result.flaw is None

    @property
    def standing(self) -> Standing:
        """How far it can be trusted."""
        if not self.sound:
            return Standing.REFUSED
        if not self.approximate or isinstance(self.support, Confirmation):
            return Standing.CONFIRMED
        return Standing.UNCONFIRMED

    @property
    def trusted(self) -> bool:
        """Whether it is confirmed: exact, sampled, or an independent method agrees."""
        return self.standing is Standing.CONFIRMED

    @property
    def approximate(self) -> bool:
        """Whether regions overlap, so that larger ones might change the numbers."""
        if self.provenance.parts:
            return any(part.approximate for part in self.provenance.parts)
        known = (Kind.EXACT, Kind.SAMPLED)
        return not self.provenance.sums.exact and self.verdict.kind not in known

    def answers_to(self, query: str) -> tuple[Answer, ...]:
        """The rows that answer a query, which is read once."""
        known = self._read.get(query) if isinstance(query, str) else None
        if known is None:
            known = self._read[query] = self._rows_of(query)
        return known

    @cached_property
    def _read(self) -> dict[str, tuple[Answer, ...]]:
        return {}

    def _rows_of(self, query: str) -> tuple[Answer, ...]:
        asked = parse_count(query)
        if asked is None:
            parsed = parse_query(query)
            free = checked_query(parsed, self.model).variables
            # EXIST x smokes(x) over many objects asks whether a count is zero.
            asked = None if free else as_count(parsed)
            try:
                return query_all(query, [self.reader])[0]
            except QueryError:
                if asked is None:
                    raise
        sample = self.reader.sample
        sampled = None if sample is None else sample.counted(asked)
        if sampled is not None:
            return (sampled,)
        return tuple(count_answer(asked, row) for row in count_distributions(self.reader, asked))

    def holds(self, query: str) -> bool:
        """Whether the atoms of a query lie in a common region, so that it has an answer."""
        try:
            self.answers_to(query)
        except NotHeldError:
            return False
        return True

    @cached_property
    def every_row(self) -> tuple[Answer, ...]:
        """The rows of a query for each predicate."""
        return tuple(answer for answer, _ in every_row(self.reader))

    def rows_for(self, queries: str | Iterable[str] = ()) -> Sequence[Answer]:
        """The rows of queries, or of every predicate."""
        asked = checked_texts("queries", queries)
        if not asked:
            return self.every_row
        return [row for query in asked for row in self.answers_to(query)]

    def judged(self, verdict: Verdict) -> Posterior:
        """The same with another verdict."""
        return replace(self, result=self.result.with_verdict(verdict))

    def supported(self, support: Confirmation | Unconfirmed) -> Posterior:
        """The same with what else speaks for it, or why nothing does."""
        return replace(self, support=support)

    def made_of(self, **changes: Any) -> Posterior:
        """The same with other fields of its provenance."""
        return replace(self, provenance=replace(self.provenance, **changes))

    def at(self, point: Point) -> Posterior:
        """The probabilities at one stationary point alone."""
        if not any(point is known for known in self.result.points):
            if not isinstance(point, Point):
                raise wrong_type("point", "one of answers.minima", point)
            raise InputError("the point is none of answers.minima; those of other runs do not fit")
        if not isinstance(self.result, Solution):
            raise InternalError(f"{type(self.result).__name__} has points of its own")
        solution = replace(
            self.result,
            log_beliefs=point.log_beliefs,
            log_z=point.log_z,
            residual=point.verdict.residual,
            # A bound of the whole says nothing about one of its parts.
            judged=point.verdict.bounded_by(-math.inf, point.verdict.bound_by, slack=0.0),
        )
        reader = self.reader.prepared.reader(point.log_beliefs)
        return replace(self, reader=reader, result=solution, support=NOT_ASKED)


class Answered(Protocol):
    """Something that reads a posterior, as what `liftgbp.infer` returns does."""

    @property
    def posterior(self) -> Posterior:
        """What it reads."""


def posterior_of(answers: object) -> Posterior:
    """The posterior that some answers read."""
    found = answers if isinstance(answers, Posterior) else getattr(answers, "posterior", None)
    if not isinstance(found, Posterior):
        raise wrong_type("answers", "what liftgbp.infer returns", answers)
    return found
