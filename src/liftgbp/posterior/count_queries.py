"""How many objects satisfy a formula: the mean, the spread, and the distribution where it is known.

The mean follows from the probability of the formula, and the spread from that of a pair. The
distribution is read off sums over counts, exact cells and samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.model.ast import And, Equal, Not, Variable
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import (
    COMPARISONS,
    CountQuery,
    as_count,
    checked_count,
    parse_count,
)
from liftgbp.model.writer import formula_text
from liftgbp.posterior.answer import Answer, read_row
from liftgbp.posterior.count_cases import CountedCase, by_listing, counted_cases
from liftgbp.posterior.readers import ClassReader, Reader
from liftgbp.posterior.rows import Row, renamed
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, QueryError
from liftgbp.support.shown import Reported

LISTED = 1e-9
"""Counts that are less likely are not listed."""

QUANTILES = (0.05, 0.5, 0.95)
"""Which quantiles are told of a count."""

SAME_SPREAD = 0.02
"""How far the spread of objects that are taken to be independent may be from that of pairs."""

IMPOSSIBLE = "the condition is impossible"
NO_GROUND = "on the ground, only the mean is known; a sample (liftgbp sample) counts in each world"

DIGITS = 1e-10
"""A variance that is smaller than the square of the mean by this factor is lost in rounding."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CountDistribution(Reported):
    """How many objects satisfy a formula.

    `objects` is how many there are. `spread` is the standard deviation, `None` if no region holds
    two of the objects. `probabilities` has one entry for each count from zero on; it is empty if
    the distribution is not known, and `unknown` says why.

    >>> import liftgbp
    >>> coins = liftgbp.infer(liftgbp.parse("heads(coin)"), {"coin": 2}).count("heads(x)")
    >>> [round(p, 6) for p in (coins.at_least(1), coins.at_most(0), coins.exactly(2))]
    [0.75, 0.25, 0.25]
    >>> coins.quantile(0.5)
    1
    """

    formula: str
    objects: int
    mean: float
    spread: float | None
    probabilities: tuple[float, ...] = ()
    unknown: str = ""

    def at_least(self, count: int) -> float:
        """The probability that so many objects satisfy the formula, or more."""
        return math.fsum(self.known[max(0, count) :])

    def at_most(self, count: int) -> float:
        """The probability that so many objects satisfy the formula, or fewer."""
        return math.fsum(self.known[: max(0, count + 1)])

    def exactly(self, count: int) -> float:
        """The probability that just so many objects satisfy the formula."""
        known = self.known
        return known[count] if 0 <= count < len(known) else 0.0

    def quantile(self, share: float) -> int:
        """The least count that is not exceeded with this probability."""
        sums = np.cumsum(self.known)
        return int(min(np.searchsorted(sums, share * sums[-1] - LISTED), len(sums) - 1))

    @property
    def known(self) -> tuple[float, ...]:
        """The probabilities; a `QueryError` says why they are not known."""
        if not self.probabilities:
            raise QueryError(
                f"the distribution of #{{{self.formula}}} is not known: {self.unknown}; "
                f"its mean is {self.mean:.6g}"
            )
        return self.probabilities


@dataclass(frozen=True, eq=False, slots=True)
class CountRow:
    """A distribution beside objects that `where` describes, of which there are `count` kinds."""

    where: str
    count: int
    distribution: CountDistribution


@dataclass(frozen=True, slots=True, repr=False)
class CountAnswer(Answer):
    """A row with the distribution of a count, whose values are numbers, or of a comparison.

    `quantiles` are those at 5, 50 and 95 per cent.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 6})
    >>> (row,) = answers.query("#{x : smokes(x)} >= 4")
    >>> print(row)
    #{x : smokes(x)} >= 4  false: 0.534663  true: 0.465337
    >>> round(row.mean, 4), row.quantiles
    (3.0, (0, 3, 6))
    """

    mean: float = math.nan
    spread: float | None = None
    quantiles: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        told = Answer.as_dict(self)
        quantiles = list(self.quantiles)
        mean = None if math.isnan(self.mean) else self.mean
        return {**told, "mean": mean, "spread": self.spread, "quantiles": quantiles}


def asks_for_count(text: str, reader: Reader) -> bool:
    """Whether a query is answered by a count: `EXIST x smokes(x)` is, over many objects."""
    if parse_count(text) is not None:
        return True
    if as_count(parse_query(text)) is None:
        return False
    try:
        reader.rows(text)
    except QueryError:
        return True
    return False


def count_distributions(reader: Reader, query: CountQuery) -> list[CountRow]:
    """How many objects satisfy the formula of a query, beside each kind of other objects."""
    checked_count(query, reader.model)
    rows = reader.rows(query.rows_text)
    sample = reader.sample
    sampled = None if sample is None else sample.counted(replace(query, operator=""))
    if sampled is not None:
        return [_sampled(sampled, query, rows)]
    if not isinstance(reader, ClassReader):
        mean = _mean(reader, query, [(row.count, row) for row in rows])
        objects = sum(row.count for row in rows)
        unknown = CountDistribution(_words(query), objects, mean, None, unknown=NO_GROUND)
        return [CountRow("", 1, unknown)]
    cases = counted_cases(query.variable, rows, reader.normal.class_sizes)
    return [CountRow(own.where, own.count, _of_case(reader, query, own)) for own in cases]


def _sampled(answer: Answer, query: CountQuery, rows: Sequence[Row]) -> CountRow:
    """The distribution of a count that was sampled."""
    objects = sum(row.count for row in rows)
    chances = np.zeros(objects + 1)
    for (value,), p in answer.values.items():
        chances[int(value)] = p
    return CountRow(answer.where, 1, distributed(_words(query), objects, chances))


def listed_counts(
    reader: Reader, text: str, joint: Callable[[Sequence[ObjAtom]], Floats]
) -> list[Answer]:
    """The answers to a query for a count, by a joint distribution of all atoms it is about.

    What has too many states raises a `CapacityError`.
    """
    query = parse_count(text) or as_count(parse_query(text))
    if query is None or not isinstance(reader, ClassReader):
        raise CapacityError(f"{text} is not counted on the ground")
    rows = reader.rows(query.rows_text)
    answers = []
    for case in counted_cases(query.variable, rows, reader.normal.class_sizes):
        try:
            found = by_listing(case, joint, lambda atom: len(reader.values(atom)))
        except QueryError as error:
            raise CapacityError(error.message) from None
        known = distributed(_words(query), case.objects, found)
        answers.append(count_answer(query, CountRow(case.where, case.count, known)))
    return answers


def _of_case(reader: ClassReader, query: CountQuery, case: CountedCase) -> CountDistribution:
    words, objects = _words(query), case.objects
    try:
        counted = reader.counted(case)
        found = distributed(words, objects, counted.chances)
        if not counted.estimated:
            return found
        why = ""
    except QueryError as error:
        found, why = None, error.message
    mean = _mean(reader, query, [(row.number, row.row) for row in case.rows])
    simple = not case.fixed and case.condition is None
    spread = _spread(reader, query, mean) if simple else None
    if found is not None and found.spread is not None:
        # Where no region holds two of the objects, no rule relates them directly.
        if spread is None or abs(spread - found.spread) <= SAME_SPREAD * spread:
            return found
        why = "objects depend on each other, even where it is known in which blocks they are"
    return CountDistribution(words, objects, mean, spread, unknown=why)


def _words(query: CountQuery) -> str:
    conditions = ", ".join(query.condition_texts)
    return f"{query.variable} : {query.body}{f' | {conditions}' if conditions else ''}"


def _mean(reader: Reader, query: CountQuery, rows: Sequence[tuple[int, Row]]) -> float:
    """The expected count, from the probability of each row and its number of objects."""
    text = query.rows_text
    return math.fsum(number * read_row(text, row, [reader])[0]["true"] for number, row in rows)


def distributed(formula: str, objects: int, found: Floats) -> CountDistribution:
    """The distribution with these probabilities of the counts from zero on."""
    shares = np.maximum(found, 0.0)
    if not shares.sum() > 0:
        return CountDistribution(formula, objects, math.nan, None, unknown=IMPOSSIBLE)
    shares = shares / shares.sum()
    counts = np.arange(len(shares))
    mean = float(shares @ counts)
    spread = float(np.sqrt(shares @ (counts - mean) ** 2))
    return CountDistribution(formula, objects, mean, spread, tuple(shares.tolist()))


def count_answer(query: CountQuery, row: CountRow) -> Answer:
    """The answer to a query for a count: all likely counts, or whether a comparison holds."""
    found = row.distribution
    values: dict[tuple[str, ...], float]
    if found.unknown == IMPOSSIBLE:
        values = {("false",): math.nan, ("true",): math.nan} if query.operator else {}
    elif query.operator:
        compare = COMPARISONS[query.operator]
        known = list(enumerate(found.known))
        holds = math.fsum(p for count, p in known if compare(count, query.number))
        fails = math.fsum(p for count, p in known if not compare(count, query.number))
        values = {("false",): fails, ("true",): holds}
    else:
        values = {(str(count),): p for count, p in enumerate(found.known) if p > LISTED}
    text = query.text
    lead = (text, text, (text,), (), row.where, row.count, values, "", query.condition_texts)
    if not text.startswith("#"):
        return Answer(*lead)
    quantiles = tuple(map(found.quantile, QUANTILES)) if found.probabilities else ()
    return CountAnswer(*lead, mean=found.mean, spread=found.spread, quantiles=quantiles)


def _spread(reader: Reader, query: CountQuery, mean: float) -> float | None:
    """The standard deviation, from the probabilities of pairs."""
    name = query.variable
    other = f"{name}2"
    both = And((query.formula, renamed(query.formula, {name: other})))
    limits = [*query.body.restrictions, Not(Equal(Variable(name), Variable(other)))]
    limits += [renamed(own, {name: other}) for own in query.body.restrictions]  # type: ignore[misc]
    text = f"{formula_text(Not(Not(both)))} | {', '.join(map(formula_text, limits))}"
    try:
        pairs = [read_row(text, row, [reader])[0] for row in reader.rows(text)]
    except QueryError:
        return None
    variance = math.fsum([*(row.count * row["true"] for row in pairs), mean, -mean * mean])
    return math.sqrt(variance) if variance > DIGITS * mean * mean else None
