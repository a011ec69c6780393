"""A sample as the answer: probabilities with standard errors, where no approximation will do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.methods.sampling.reading import GroundRow
from liftgbp.methods.sampling.world_sample import Sample, SampledAnswer
from liftgbp.model.queries import CountQuery
from liftgbp.posterior import ClassReader, CountSum, Posterior, Provenance, Reader, Source
from liftgbp.posterior.count_cases import Counted, CountedCase
from liftgbp.posterior.ground_reader import GroundReader
from liftgbp.posterior.provenance import SampleMade
from liftgbp.posterior.rows import Row
from liftgbp.solve import Algorithm, Finding, Kind, Point, Remedy, SolvedBy, Status, Verdict
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InternalError, QueryError


def sampled_posterior(answers: Posterior, drawn: Sample) -> Posterior:
    """What a sample answers in the place of other answers about the same rows."""
    reader = answers.reader
    rows = SampledRows(drawn)
    sampled: Reader
    if isinstance(reader, ClassReader):
        sampled = replace(reader, source=SampledSource(drawn, reader), sample=rows)
    elif isinstance(reader, GroundReader):
        # What messages do not tell apart is alike in a sample, too.
        sampled = replace(reader, source=SampledVariables(drawn, reader), finer=False, sample=rows)
    else:
        raise InternalError("answers of an unknown kind")
    result = SampledResult(
        SolvedBy(Algorithm.SAMPLING, drawn.chains), _log_z(drawn), iterations=drawn.sweeps
    )
    annealed = drawn.annealed
    error = None if annealed is None else annealed.error
    made = SampleMade(drawn.chains, drawn.sweeps, drawn.worst_r_hat, error)
    tried = answers.provenance
    # What was tried is told all the same.
    provenance = Provenance(
        sums=CountSum(chosen=tried.sums.chosen),
        growth=tried.growth,
        growth_stop=tried.growth_stop,
        effort=tried.effort,
        sample=made,
    )
    return Posterior(sampled, result, provenance, seconds=answers.seconds + drawn.seconds)


def _log_z(drawn: Sample) -> float:
    return math.nan if drawn.log_z is None else drawn.log_z


@dataclass(frozen=True, eq=False, slots=True)
class SampledResult:
    """The result of sampling: chains have mixed, and errors are known. `log_z` may be missing."""

    solver: SolvedBy
    log_z: float
    iterations: int
    status: Status = Status.CONVERGED
    residual: float = 0.0
    points: tuple[Point, ...] = ()
    flaw: Finding | None = None
    remedies: tuple[Remedy, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What is known about the answer: nothing is approximated, up to chance."""
        return Verdict(
            residual=0.0,
            curvature=None,
            kind=Kind.SAMPLED,
            entropy=math.nan,
            entropy_bound=math.inf,
            count_margin=math.inf,
            log_z_bound=-math.inf,
            log_z_slack=0.0,
        )

    def with_verdict(self, verdict: Verdict) -> SampledResult:
        """The same result: what judges approximations says nothing about a sample."""
        return self


@dataclass(frozen=True, eq=False, slots=True)
class SampledRows:
    """Reads rows off a sample, with standard errors."""

    drawn: Sample

    def read(self, rows: Sequence[tuple[str, Row]], reader: Reader) -> Iterable[SampledAnswer]:
        """The answers of rows, each with the text of its query."""
        return self.drawn.answered(self.drawn.grounder.grounded(rows, reader))

    def counted(self, query: CountQuery) -> SampledAnswer:
        """How many objects satisfy a formula, or how likely a comparison holds."""
        return self.drawn.counted(query)

    def errors(self, atom: ObjAtom, reader: Reader) -> Floats:
        """The standard errors of the probabilities of the values of an atom."""
        (answer,) = self.read([("", _row_of([atom]))], reader)
        return np.array(list(answer.errors.values()))


@dataclass(frozen=True, eq=False, slots=True)
class SampledSource(Source):
    """Joint distributions over placeholders, as frequencies in a sample."""

    drawn: Sample
    asked: ClassReader

    def holds(self, atom: ObjAtom) -> bool:
        """A sample knows about every atom."""
        return True

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """How often atoms have their values together."""
        grounded = self.drawn.grounder.grounded([("", _row_of(atoms))], self.asked)
        return self.drawn.distribution(grounded[0])

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """Counts are read off the worlds as a whole."""
        raise QueryError("counts are read off the sample")


@dataclass(frozen=True, eq=False)
class SampledVariables:
    """Joint distributions of ground variables, as frequencies in a sample."""

    drawn: Sample
    asked: GroundReader

    def joint(self, variables: Sequence[int]) -> Floats:
        """How often variables have their values together; one alone, with all that are like it."""
        if not variables:
            return np.ones(())
        if len(variables) == 1:
            kind = int(self.asked.kinds[variables[0]])
            return np.asarray(self._of_kind[kind])
        table = self.asked.atoms
        predicates = self.drawn.variables.predicates
        numbers = tuple(table.predicate[list(variables)].tolist())
        objects = tuple(
            table.args[[variable], : len(predicates[number].sorts)]
            for variable, number in zip(variables, numbers, strict=True)
        )
        places = tuple(range(len(variables)))
        return self.drawn.distribution(GroundRow("", _row_of(()), numbers, objects, places))

    @cached_property
    def _of_kind(self) -> dict[int, Floats]:
        """The mean distribution of the variables of each kind."""
        found: dict[int, Floats] = {}
        for number in range(len(self.drawn.variables.predicates)):
            variables, args = self.asked.variables(number)
            if len(variables):
                means = self.drawn.marginals(number, args)
                kinds, of = np.unique(self.asked.kinds[variables], return_inverse=True)
                sums = np.zeros((len(kinds), means.shape[1]))
                np.add.at(sums, of.ravel(), means)
                found |= zip(kinds.tolist(), sums / sums.sum(axis=1, keepdims=True), strict=True)
        return found


def _row_of(atoms: Sequence[ObjAtom]) -> Row:
    """A row about atoms that nobody asked about in words."""
    return Row(tuple(atoms), (), (), (), "", 1, "", generic=True)
