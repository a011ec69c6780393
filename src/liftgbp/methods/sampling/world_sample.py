"""A sample of worlds, which answers queries as answers do, with standard errors."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from liftgbp.evidence import Problem
from liftgbp.ground.grounding import atom_names
from liftgbp.methods.sampling.annealing import LogZ
from liftgbp.methods.sampling.chain_starts import Start, Variables
from liftgbp.methods.sampling.diagnostics import MOST_R_HAT, Diagnosis, Grouping, grouped
from liftgbp.methods.sampling.reading import Grounder, GroundRow, Literals, traces_of
from liftgbp.methods.sampling.terms import WORD, Planes, Words
from liftgbp.methods.sampling.tied import Tied
from liftgbp.model.ast import BOOLEAN
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import COMPARISONS, CountQuery, as_count, checked_count, parse_count
from liftgbp.posterior import Answer, posterior_of
from liftgbp.posterior.answer import AnswerRows, asked_values
from liftgbp.posterior.count_queries import asks_for_count
from liftgbp.posterior.lookup import repeat_axes
from liftgbp.posterior.opinions import Opinion, OpinionRow
from liftgbp.posterior.readers import Reader
from liftgbp.solve import Finding, Flaw
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import InputError, QueryError, checked_path, checked_texts
from liftgbp.support.files import Schema, check_apart, check_writable, whole_file, write_table
from liftgbp.support.shown import Reported, in_words

MOST_R_HAT_OF_ROWS = 1.1
"""The largest R-hat of one row among many."""

FEWEST_EFFECTIVE = 400.0
"""Chains have mixed if they are worth at least this many independent draws, as Vehtari et al. 2021
recommend."""

MOST_ENTRIES = 2**23
"""How many numbers are read off the worlds at once."""

MOST_GROUPED = 200
"""Chains are put into groups by at most this many rows."""

WHOLE = 1e-6
"""How far rounding leads from whole counts."""

WARM_UP = 1 / 3
"""The part of the draws that is left out at the beginning."""


@dataclass(frozen=True, slots=True, repr=False)
class SampledAnswer(Answer):
    """One row of an answer by sampling, with Monte Carlo standard errors.

    `effective` is the effective sample size and `r_hat` the rank-normalised split R-hat, the worst
    of all values.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sample = liftgbp.sample(model, {"person": 6}, sweeps=200, seed=1)
    >>> (row,) = sample.query("smokes(x)")
    >>> 0 < row.errors["true",] < 0.05, row.r_hat < 1.1
    (True, True)
    """

    errors: dict[tuple[str, ...], float] = field(default_factory=dict)
    effective: float = 0.0
    r_hat: float = float("inf")

    def error_of(self, assignment: tuple[str, ...]) -> float | None:
        """The standard error of a probability."""
        return self.errors.get(assignment)

    def __str__(self) -> str:
        values = "  ".join(
            f"{self.assignment_text(key)}: {p:.4f} ± {self.errors[key]:.4f}"
            for key, p in self.values.items()
        )
        return f"{self.atom}{f' [{self.where}]' if self.where else ''}  {values}"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        told = Answer.as_dict(self)
        values = told["values"]
        if isinstance(values, list):
            for value, error in zip(values, self.errors.values(), strict=True):
                value["standard_error"] = None if np.isnan(error) else error
        return {**told, "effective": self.effective, "r_hat": _finite(self.r_hat)}


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Reported):
    """Worlds drawn by many chains; ask it with `query` or `marginal`, as answers.

    `worlds` are bits: for each draw, one row of words for each value but the first of each
    variable. The first third of the draws is left out of all results.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sample = liftgbp.sample(model, {"person": 6}, sweeps=200, seed=1)
    >>> sample.chains, abs(sample.marginal("smokes(x)") - 0.5) < 0.05
    (64, True)
    """

    problem: Problem
    variables: Variables
    tied: Tied
    grounder: Grounder
    worlds: Words
    starts: tuple[Start, ...]
    start_of: Ints
    seed: int
    sweeps: int
    """How many sweeps were made."""
    every: int
    """The number of sweeps from one world that is kept to the next."""
    seconds: float
    interrupted: bool = False
    annealed: LogZ | None = None
    notes: tuple[str, ...] = ()
    moves: dict[str, float] = field(default_factory=dict)
    """The part of the moves of many atoms that were accepted, by their kind."""

    @property
    def model(self) -> Model:
        """The model that was sampled."""
        return self.problem.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.problem.sizes

    @property
    def chains(self) -> int:
        """The number of chains."""
        return len(self.start_of)

    @property
    def draws(self) -> int:
        """How many worlds of each chain the results are read from."""
        return len(self._drawn)

    @property
    def _drawn(self) -> Words:
        return self.worlds[int(len(self.worlds) * WARM_UP) :]

    # --- queries

    def query(self, text: str) -> AnswerRows[SampledAnswer]:
        """The rows that answer a query, with standard errors."""
        count = parse_count(text)
        if count is not None:
            return AnswerRows([self.counted(count)])
        count = as_count(parse_query(text))
        try:
            return AnswerRows(self.answered(self.grounder.rows(text)))
        except QueryError:
            if count is None:
                raise
        return AnswerRows([self.counted(count)])

    def counted(self, query: CountQuery) -> SampledAnswer:
        """How many objects satisfy a formula, counted in each world."""
        checked_count(query, self.model)
        rows = self.grounder.rows(query.rows_text)
        exact = np.zeros((self.draws, self.chains))
        given = np.ones((self.draws, self.chains))
        for row, drawn in zip(rows, self._traces(rows), strict=True):
            event = row.row.event
            if event is None or (row.objects and len(row.objects[0]) < row.row.count):
                raise QueryError("a count over so many objects is not read off a sample")
            if any(name != query.variable for name, _ in row.row.way):
                raise QueryError(
                    "a sample counts beside named objects only: put a constant in the place of the "
                    "other variable"
                )
            if event.formula is not None:
                exact += drawn @ event.formula.ravel().astype(float) * row.row.count
            if event.condition is not None:
                given = drawn @ event.condition.ravel().astype(float)
        counts = np.rint(exact)
        off = np.abs(counts - exact).max(initial=0.0), np.abs(np.rint(given) - given).max(initial=0)
        if max(off) > WHOLE:
            raise QueryError("no factor is about some of the atoms, so worlds do not have them")
        keys: list[tuple[str, ...]] = [("false",), ("true",)]
        if query.operator:
            holds = np.vectorize(COMPARISONS[query.operator], otypes=[bool])(counts, query.number)
            events = np.stack([~holds, holds], axis=-1).astype(float)
        else:
            values = np.unique(counts)
            keys = [(str(int(value)),) for value in values.tolist()]
            events = (counts[..., None] == values).astype(float)
        if query.conditions:
            condition = np.broadcast_to(np.rint(given)[..., None], events.shape)
            told = self._ratio(events * condition, condition)
        else:
            told = self._diagnosed(events)
        conditions = query.condition_texts
        about = Answer(query.text, query.text, (query.text,), (), "", 1, {}, "", conditions)
        return _sampled(about, keys, told)

    def marginal(self, atom: str, value: str | tuple[str, ...] = "true") -> float:
        """The probability that an atom has a value, for different objects without names."""
        rows = [row for row in self.grounder.rows(atom) if row.row.generic]
        if len(rows) != 1:
            raise QueryError(f"{atom} has no row for different unnamed objects; use query()")
        return next(self.answered(rows))[value]

    def probability(self, formula: str) -> float:
        """The probability that a formula holds, for different objects without names."""
        return self.marginal(formula, parse_query(formula).all_true)

    @cached_property
    def all(self) -> AnswerRows[SampledAnswer]:
        """The answers for every predicate."""
        return AnswerRows(self.answered(self.grounder.every_row()))

    @property
    def log_z(self) -> float | None:
        """The log partition function, if it was estimated."""
        return None if self.annealed is None else self.annealed.value

    @property
    def apart(self) -> bool:
        """Whether chains from different starts stay apart, so that log Z of answers weighs them."""
        return self._grouping.apart

    def mixed_about(self, reader: Reader) -> bool:
        """Whether chains agree about every predicate, and about each row of a reader of answers.

        Of many rows, some have a larger R-hat by chance.
        """
        if not self.mixed:
            return False
        rows = self.answered(self.grounder.rows_of(reader, ()))
        return max((row.r_hat for row in rows), default=1.0) <= MOST_R_HAT_OF_ROWS

    @property
    def mixed(self) -> bool:
        """Whether chains from different starts agree about every predicate."""
        return self.flaw is None

    @property
    def worst_r_hat(self) -> float:
        """The largest R-hat of all predicates."""
        return max((row.r_hat for row in self.all), default=1.0)

    @cached_property
    def flaw(self) -> Finding | None:
        """Why the sample settles nothing; `None` if it does."""
        worst_r_hat = self.worst_r_hat
        fewest = min((row.effective for row in self.all), default=np.inf)
        if worst_r_hat > MOST_R_HAT:
            row = max(self.all, key=lambda row: row.r_hat)
            return Finding(Flaw.NOT_MIXED, (worst_r_hat,), about=row.atom)
        if fewest < FEWEST_EFFECTIVE:
            row = min(self.all, key=lambda row: row.effective)
            return Finding(Flaw.FEW_DRAWS, (fewest,), about=row.atom)
        return None

    @property
    def doubt(self) -> str:
        """Why the sample settles nothing, in words; empty if it does."""
        return "" if self.flaw is None else in_words(self.flaw)

    def as_dict(self, queries: str | Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        texts = checked_texts("queries", queries)
        rows = [row for text in texts for row in self.query(text)] if texts else self.all
        annealed = self.annealed
        return {
            "model": self.model.name,
            "domains": self.sizes,
            "mixed": self.mixed,
            "doubt": self.doubt,
            "chains": self.chains,
            "sweeps": self.sweeps,
            "draws": self.draws,
            "seed": self.seed,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "log_z": None if annealed is None else _finite(annealed.value),
            "log_z_error": None if annealed is None else _finite(annealed.error),
            "notes": list(self.all_notes),
            "answers": [row.as_dict() for row in rows],
        }

    def opinion_on(self, answers: object, queries: Sequence[str]) -> Opinion:
        """What the sample says about the rows of answers."""
        answers = posterior_of(answers)
        queries = checked_texts("queries", queries)
        if dict(answers.sizes) != self.sizes:
            raise InputError("the sample is about domains of other sizes than the answers")
        counts = [text for text in queries if asks_for_count(text, answers.reader)]
        others = [text for text in queries if text not in counts]
        answered = [row for text in counts for row in self.query(text)]
        if others or not queries:
            answered += self.answered(self.grounder.rows_of(answers.reader, others))
        rows = [OpinionRow(r.query, r.atom, r.where, r.values, r.errors) for r in answered]
        annealed = self.annealed
        return Opinion(
            "the sample",
            rows,
            None if annealed is None else annealed.value,
            0.0 if annealed is None else annealed.error,
            self.doubt,
        )

    def answered(self, rows: Sequence[GroundRow]) -> Iterator[SampledAnswer]:
        """The answers of rows, with standard errors."""
        # Many rows are read off each world at once, as far as memory allows.
        most = max(1, MOST_ENTRIES // max(1, self.draws * self.chains))
        yield from map(self._read, rows, self._traces(rows, most))

    def _traces(self, rows: Sequence[GroundRow], most: float = math.inf) -> Iterator[Floats]:
        return traces_of(self._planes, [self._literals.cells(row) for row in rows], most)

    def distribution(self, row: GroundRow) -> Floats:
        """The mean joint distribution of the atoms of a row, one axis each."""
        (flat,) = self._traces([row])
        return np.tensordot(self._grouping.weights, self._table(row, flat).mean(axis=0), axes=1)

    def _table(self, row: GroundRow, flat: Floats) -> Floats:
        """Draws as tables over all atoms of a row, some of which are the same atom."""
        predicates = self.variables.predicates
        values = [len(predicates[number].values) for number in row.predicates]
        wide = repeat_axes(flat.reshape(-1, *values), row.places)
        return np.asarray(wide.reshape(*flat.shape[:2], *wide.shape[1:]))

    def _read(self, row: GroundRow, flat: Floats) -> SampledAnswer:
        predicates = self.variables.predicates
        drawn = self._table(row, flat)
        answer = row.row
        given = len(answer.given)
        if answer.event is not None:
            drawn = answer.event.folded(drawn, given)
        if answer.conditional:
            axes = tuple(range(2, drawn.ndim - given))
            condition = np.broadcast_to(drawn.sum(axis=axes, keepdims=True), drawn.shape)
            told = self._ratio(drawn, condition)
        else:
            told = self._diagnosed(drawn)
        keys = list(product(*asked_values(answer, lambda atom: predicates[atom[0]].values)))
        about = Answer(
            row.query,
            answer.text,
            answer.atom_texts,
            answer.given_texts,
            answer.where,
            answer.count,
            {},
            answer.example,
            answer.conditions,
        )
        return _sampled(about, keys, told)

    def _ratio(self, drawn: Floats, condition: Floats) -> Diagnosis:
        """The ratio of two means; its errors by linearising it."""
        shape = drawn.shape[2:]
        joint_mean = self._diagnosed(drawn, whole=False).mean
        mean_condition = self._diagnosed(condition, whole=False).mean
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = joint_mean / mean_condition
            linear = (drawn - ratio * condition) / mean_condition
        told = self._diagnosed(np.nan_to_num(linear), whole=False)
        errors = np.where(np.isnan(ratio), np.nan, told.error.reshape(shape))
        return Diagnosis(ratio, errors, told.effective, told.r_hat)

    def marginals(self, predicate: int, objects: Ints) -> Floats:
        """How often each of some ground atoms of a predicate has its values."""
        literals, factors = self._literals.of(predicate, objects)
        return np.asarray(self._frequencies[literals] * factors[:, None])

    @cached_property
    def _frequencies(self) -> Floats:
        """How often each bit of a world is set."""
        weights = self._grouping.weights
        return np.asarray(np.mean([_bits(own) @ weights for own in self._planes()], axis=0))

    # --- worlds

    @cached_property
    def _literals(self) -> Literals:
        return Literals(self.variables, self.tied, self.problem)

    def _planes(self) -> Iterator[Words]:
        """The bits of each draw: one row for each value, one that is zero and one that is not."""
        ranges = self.tied.network.ranges
        where = Planes(ranges)
        written = kept_rows(ranges)
        planes = np.zeros((where.rows + 1, self.worlds.shape[2]), np.uint64)
        planes[-1] = ~np.uint64(0)
        for world in self._drawn:
            planes[written] = world
            planes[where.first] = ~np.uint64(0)
            for value in range(1, int(ranges.max(initial=1))):
                rows = where.first[ranges > value]
                planes[rows] &= ~planes[rows + value]
            yield planes

    # --- groups of chains

    def _diagnosed(self, drawn: Floats, *, whole: bool = True) -> Diagnosis:
        """Means and errors over all chains, or over groups of them that stay apart.

        What a `whole` distribution has adds up to one.
        """
        flat = drawn.reshape(*drawn.shape[:2], -1)
        shape = drawn.shape[2:]
        if whole and shape == (2,):
            # One probability says everything about the other.
            one = self._grouping.diagnosed(flat[:, :, 1:])
            others = (np.repeat(part, 2) for part in (one.error, one.effective, one.r_hat))
            return Diagnosis(np.append(1 - one.mean, one.mean), *others)
        told = self._grouping.diagnosed(flat)
        parts = told.mean, told.error, told.effective, told.r_hat
        return Diagnosis(*(part.reshape(shape) for part in parts))

    @cached_property
    def _grouping(self) -> Grouping:
        shares = [start.share for start in self.starts]
        if sum(share is not None for share in shares) < 2:
            return Grouping(np.zeros(self.chains, np.int64))
        every = [*self._traces(self.grounder.every_row()[:MOST_GROUPED])]
        none = np.zeros((self.draws, self.chains, 0))
        return grouped(np.concatenate([none, *every], axis=2), self.start_of, shares)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with one on chains that stay apart."""
        if not self._grouping.apart:
            return self.notes
        weights = ", ".join(
            f"{self.starts[number].name} {share:.3g}"
            for number, share in self._grouping.shares.items()
        )
        apart = f"chains from different starts stay apart; they are weighed by log Z ({weights})"
        return (*self.notes, apart)

    # --- files

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the worlds to a `.csv` or `.parquet` file: one row for each draw of a chain.

        The columns are draw, chain, and one for each ground atom that some factor touches.
        """
        file = checked_path("path", path)
        check_writable(file, (".csv", ".parquet"))
        check_apart(file, self.problem.files)
        atoms, predicates = self.variables.atoms, self.variables.predicates
        values = [predicates[number].values for number in atoms.predicate.tolist()]
        kinds = [bool if own == BOOLEAN else str for own in values]
        columns = zip(atom_names(atoms, self.model), kinds, strict=True)
        schema: Schema = {"draw": int, "chain": int, **dict(columns)}
        with whole_file(file) as unfinished:
            write_table(unfinished, schema, self._records(values))

    def _records(self, values: Sequence[tuple[str, ...]]) -> Iterator[Sequence[object]]:
        variables = np.arange(len(values))
        for draw, planes in enumerate(self._planes()):
            world = self._values(planes)
            values_of_atoms = self.tied.value[variables[:, None], world[self.tied.root]]
            for chain, column in enumerate(values_of_atoms.T.tolist()):
                cells = zip(column, values, strict=True)
                yield [draw, chain, *(bool(v) if own == BOOLEAN else own[v] for v, own in cells)]

    def _values(self, planes: Words) -> Ints:
        ranges = self.tied.network.ranges
        where = Planes(ranges)
        values = np.zeros((len(ranges), planes.shape[1] * WORD), np.int64)
        for value in range(1, int(ranges.max(initial=1))):
            some = np.flatnonzero(ranges > value)
            words = planes[where.first[some] + value]
            values[some] += value * _bits(words).astype(np.int64)
        return values


def _bits(planes: Words) -> NDArray[np.uint8]:
    """Each bit of words, for each chain."""
    words = np.ascontiguousarray(planes).view(np.uint8)
    return np.unpackbits(words, axis=1, bitorder="little")


def kept_rows(ranges: Ints) -> Ints:
    """The rows of bits that are kept of each world: those of all values but the first."""
    where = Planes(ranges)
    every = np.ones(where.never, bool)
    every[where.first] = False
    return np.flatnonzero(every)


def _sampled(about: Answer, keys: Sequence[tuple[str, ...]], told: Diagnosis) -> SampledAnswer:
    """What a row is about, with its probabilities and their errors."""
    same = {name: getattr(about, name) for name in Answer.__slots__ if name != "values"}
    return SampledAnswer(
        values=dict(zip(keys, told.mean.ravel().tolist(), strict=True)),
        errors=dict(zip(keys, told.error.ravel().tolist(), strict=True)),
        effective=float(np.nanmin(told.effective, initial=np.inf)),
        r_hat=float(np.nanmax(told.r_hat, initial=1.0)),
        **same,
    )


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
