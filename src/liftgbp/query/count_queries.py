"""How many objects satisfy a formula: the mean, the spread, and the distribution where it is known.

The mean follows from the probability of the formula, and the spread from that of a pair. The
distribution is read off sums over counts, exact cells and samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import QueryError
from liftgbp.model.ast import And, Equal, Not, Variable
from liftgbp.model.queries import COMPARISONS, CountQuery, checked_count
from liftgbp.model.writer import formula_text
from liftgbp.pictures.cards import Shown, columns_chart, note
from liftgbp.pictures.markup import Content, Markup
from liftgbp.query.answer import Answer, read_row, rows_table
from liftgbp.query.readers import Reader
from liftgbp.query.rows import Row, renamed

LISTED = 1e-9
"""Counts that are less likely are not listed."""

QUANTILES = (0.05, 0.5, 0.95)
"""Which quantiles are told of a count."""

VISIBLE, MOST_COLUMNS = 1e-3, 100
"""Counts with less than this part of the highest share are not seen in a chart, which has at most
this many columns."""

DIGITS = 1e-10
"""A variance that is smaller than the square of the mean by this factor is lost in rounding."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CountDistribution(Shown):
    """How many objects satisfy a formula.

    `objects` is how many there are. `spread` is the standard deviation, `None` if no region holds
    two of the objects. `probabilities` has one entry for each count from zero on; it is empty if
    the distribution is not known, and `unknown` says why.

    >>> coins = CountDistribution("heads(x)", 2, 1.0, 0.5**0.5, (0.25, 0.5, 0.25))
    >>> coins.at_least(1), coins.at_most(0), coins.exactly(2), coins.quantile(0.5)
    (0.75, 0.25, 0.25, 1)
    """

    formula: str
    objects: int
    mean: float
    spread: float | None
    probabilities: tuple[float, ...] = ()
    unknown: str = ""

    def _headline(self) -> str:
        spread = "" if self.spread is None else f", spread {self.spread:.6g}"
        return f"#{{{self.formula}}} of {self.objects} objects: mean {self.mean:.6g}{spread}"

    def _body(self) -> Iterable[Content]:
        if self.probabilities:
            yield likely_counts(dict(enumerate(self.probabilities)))
        else:
            yield note(f"the distribution is not known: {self.unknown}")

    def at_least(self, count: int) -> float:
        """The probability that so many objects satisfy the formula, or more."""
        return math.fsum(self._known()[max(0, count) :])

    def at_most(self, count: int) -> float:
        """The probability that so many objects satisfy the formula, or fewer."""
        return math.fsum(self._known()[: max(0, count + 1)])

    def exactly(self, count: int) -> float:
        """The probability that just so many objects satisfy the formula."""
        known = self._known()
        return known[count] if 0 <= count < len(known) else 0.0

    def quantile(self, share: float) -> int:
        """The least count that is not exceeded with this probability."""
        sums = np.cumsum(self._known())
        return int(min(np.searchsorted(sums, share * sums[-1] - LISTED), len(sums) - 1))

    def _known(self) -> tuple[float, ...]:
        if not self.probabilities:
            raise QueryError(
                f"the distribution of #{{{self.formula}}} is not known: {self.unknown}; "
                f"its mean is {self.mean:.6g}"
            )
        return self.probabilities


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

    def _headline(self) -> str:
        spread = "" if self.spread is None else f", spread {self.spread:.6g}"
        true = self.values.get(("true",))
        chance = "" if true is None else f": probability {true:.6f}"
        return f"{self.atom}{chance}; mean {self.mean:.6g}{spread}"

    def _body(self) -> Iterable[Content]:
        if ("true",) in self.values:
            return [rows_table([self])]
        return [likely_counts({int(count): p for (count,), p in self.values.items()})]

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        told = Answer.as_dict(self)
        quantiles = list(self.quantiles)
        return {**told, "mean": self.mean, "spread": self.spread, "quantiles": quantiles}


def likely_counts(shares: Mapping[int, float]) -> Markup:
    """A chart of how likely counts are, from the first that shows to the last."""
    highest = max(shares.values(), default=0.0)
    seen = [count for count, share in shares.items() if share > VISIBLE * highest]
    if not seen:
        return Markup("")
    first, last = min(seen), max(seen)
    together = -(-(last - first + 1) // MOST_COLUMNS)
    columns = [
        sum(shares.get(count + k, 0.0) for k in range(together))
        for count in range(first, last + 1, together)
    ]
    return columns_chart(columns, first, together)


def count_distribution(reader: Reader, query: CountQuery) -> CountDistribution:
    """How many objects satisfy the formula of a query."""
    checked_count(query, reader.model)
    text = counted_text(query)
    rows = reader.rows(text)
    answers = [read_row(text, row, [reader])[0] for row in rows]
    mean = math.fsum(row.count * row["true"] for row in answers)
    objects = sum(row.count for row in rows)
    formula = f"{query.variable} : {query.body}"
    try:
        found = reader.counted(rows)
    except QueryError as error:
        spread = _spread(reader, query, mean)
        return CountDistribution(formula, objects, mean, spread, unknown=error.message)
    return distributed(formula, objects, found)


def distributed(formula: str, objects: int, found: Floats) -> CountDistribution:
    """The distribution with these probabilities of the counts from zero on."""
    shares = np.maximum(found, 0.0)
    shares = shares / shares.sum()
    counts = np.arange(len(shares))
    mean = float(shares @ counts)
    spread = float(np.sqrt(shares @ (counts - mean) ** 2))
    return CountDistribution(formula, objects, mean, spread, tuple(shares.tolist()))


def count_answer(query: CountQuery, found: CountDistribution) -> Answer:
    """The answer to a query for a count: all likely counts, or whether a comparison holds."""
    known = found._known()
    if query.operator:
        compare = COMPARISONS[query.operator]
        holds = math.fsum(p for count, p in enumerate(known) if compare(count, query.number))
        fails = math.fsum(p for count, p in enumerate(known) if not compare(count, query.number))
        values: dict[tuple[str, ...], float] = {("false",): fails, ("true",): holds}
    else:
        values = {(str(count),): p for count, p in enumerate(known) if p > LISTED}
    if not query.text.startswith("#"):
        return Answer(query.text, query.text, (query.text,), (), "", 1, values)
    return CountAnswer(
        query.text,
        query.text,
        (query.text,),
        (),
        "",
        1,
        values,
        mean=found.mean,
        spread=found.spread,
        quantiles=tuple(map(found.quantile, QUANTILES)),
    )


def counted_text(query: CountQuery) -> str:
    """The formula of a count as a query that is a formula even if it is an atom."""
    limits = [formula_text(own) for own in query.body.restrictions]
    text = formula_text(Not(Not(query.formula)))
    return f"{text} | {', '.join(limits)}" if limits else text


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


def binomials(
    numbers: Floats, chances: Floats, shares: Floats, objects: int, most: float
) -> Floats:
    """How likely each count is if objects fall into groups and each satisfies it on its own.

    `numbers` (T, G) are the sizes of groups, `chances` (T, G) those of their objects, and `shares`
    (T) mix all. What needs more than `most` operations is refused.
    """
    if np.isin(chances, (0.0, 1.0)).all():
        counts = np.rint((numbers * chances).sum(axis=1)).astype(np.int64)
        return np.bincount(counts, weights=shares, minlength=objects + 1).astype(float)
    if (objects + 1) * float(numbers.size) > most:
        raise QueryError("the distribution takes too many operations")
    # The characteristic function of a sum is a product.
    angles = 2 * np.pi * np.arange(objects // 2 + 1 + objects % 2) / (objects + 1)
    values = np.array(
        [
            np.prod((1 + chances * (np.exp(1j * angle) - 1)) ** numbers, axis=1) @ shares
            for angle in angles
        ]
    )
    return np.fft.irfft(values.conj(), objects + 1)


def one_object(rows: Sequence[Row]) -> None:
    """Refuse formulas that relate the counted object with others."""
    for row in rows:
        if len({obj for _, args in row.every for obj in args}) > 1:
            raise QueryError("the formula relates the counted objects with others")
