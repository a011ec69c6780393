"""The answers of a run: marginals, joints and conditionals by region beliefs, and log Z."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from numpy.typing import NDArray

from liftgbp.lift.regions import RegionGraph
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import CountQuery, added_regions, checked_query, parse_count
from liftgbp.pictures.cards import (
    MOST_ROWS,
    Shown,
    sizes_text,
)
from liftgbp.pictures.markup import Content
from liftgbp.posterior import CountSum, Posterior, Standing, posterior_of
from liftgbp.posterior.answer import (
    Answer,
    AnswerRows,
    every_row,
    marginal_of,
    read_row,
)
from liftgbp.posterior.block_table import BlockStructure
from liftgbp.posterior.count_queries import (
    CountDistribution,
    asks_for_count,
    count_distributions,
)
from liftgbp.posterior.opinions import Comparison, Opinion, OpinionRow, SecondOpinion, compared
from liftgbp.posterior.proven_bounds import Bounds
from liftgbp.posterior.readers import Reader, Via
from liftgbp.posterior.results import Result
from liftgbp.posterior.rows import Row
from liftgbp.report.answers_report import answers_as_dict, card_of, finite, made_of
from liftgbp.report.every_atom import columns_of_every_atom, most_probable, write_every_atom
from liftgbp.report.rows_shown import Change, largest_change
from liftgbp.report.trust import reason_of, remedies_of, standing_text
from liftgbp.report.wording import growth_end, unchecked_text
from liftgbp.solve import Finding, Kind, Point, Points, Remedy, Status, Verdict
from liftgbp.strategy.question import Question
from liftgbp.support.errors import (
    InputError,
    LiftgbpError,
    QueryError,
    checked_flag,
    checked_number,
    checked_path,
    checked_texts,
    wrong_type,
)
from liftgbp.support.files import check_apart, installed
from liftgbp.support.limits import within_limits_about

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from liftgbp.report.answer_pictures import Chart
    from liftgbp.report.explaining import Explanation

Read = TypeVar("Read")


class UntrustedAnswer(UserWarning):
    """Numbers are read from an answer that is refused; the text says why.

    >>> import warnings
    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 20}, solver=liftgbp.Flooding(iterations=2))
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     p = answers.marginal("smokes(x)")
    >>> seen[0].category.__name__
    'UntrustedAnswer'
    """


class UntrustedAnswerError(LiftgbpError):
    """An answer is not confirmed, and `infer` was asked to be strict.

    `answers` are the answers all the same.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     liftgbp.infer(model, {"person": 20}, solver=liftgbp.Flooding(iterations=2), strict=True)
    ... except liftgbp.UntrustedAnswerError as error:
    ...     print(error.answers.trusted, str(error)[:33])
    False message passing has not converged
    """

    __module__ = "liftgbp"

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers.reason)
        self.answers = answers


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Shown):
    """What a run found out; ask it with `query` or `marginal`.

    They are `trusted` if they are exact, sampled, or confirmed by something independent. Reading
    probabilities or log Z from answers that are refused warns once (`UntrustedAnswer`), and the
    warning says why. `result`, `as_dict` and `at` do not warn.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 20})
    >>> answers.trusted, round(answers.marginal("friends(x,y)"), 4)
    (True, 0.5)
    >>> for row in answers.query("smokes(x) ^ smokes(y)"):
    ...     print(row.where or "all", row.count, round(row["true", "true"], 4))
    x = y 20 0.5
    x != y 380 0.4999
    """

    posterior: Posterior
    tried: frozenset[Remedy] = frozenset()
    """What was asked for by hand among the remedies; it is not recommended again."""

    question: Question | None = None
    """What was asked of `infer`, for `explain` and `quick`; none about networks."""

    one_point: bool = False
    """Whether these are the answers of a single stationary point, as `at` gives them."""

    @property
    def result(self) -> Result:
        """How the run ended, and log Z, without a warning about trust."""
        return self.posterior.result

    @property
    def graph(self) -> RegionGraph:
        """The region graph that messages were passed on."""
        return self.posterior.graph

    @property
    def via(self) -> Via:
        """How the region graph was found: `lifted` over classes of objects, or `ground`."""
        return self.posterior.via

    @property
    def sum_over(self) -> CountSum:
        """The sum over counts; one over no predicates where there is none."""
        return self.posterior.provenance.sums

    @property
    def blocks(self) -> tuple[BlockStructure, ...]:
        """How objects fall into blocks that behave differently, the largest share first."""
        return self.posterior.provenance.blocks

    @property
    def bounds(self) -> Bounds | None:
        """What log Z lies in for certain, if that was asked for."""
        return self.posterior.provenance.bounds

    @cached_property
    def growth(self) -> tuple[Answers, ...]:
        """The answers of every family that regions grew through, small regions first."""
        return tuple(map(Answers, self.posterior.provenance.growth))

    def _headline(self) -> str:
        where = f"{self.model.name}{sizes_text(self.sizes)}"
        return f"{where}: {self.standing.value}, log Z {self.result.log_z:.10g}"

    def _body(self) -> Iterable[Content]:
        rows = self.posterior.every_row if "every_row" in self.posterior.__dict__ else None
        with self._within_limits():
            # There may be very many on the ground.
            first = rows or [
                row for row, _ in islice(every_row(self.posterior.reader), MOST_ROWS + 1)
            ]
        return card_of(self, first)

    @property
    def model(self) -> Model:
        """The model that was asked."""
        return self.posterior.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return self.posterior.sizes

    @property
    def log_z(self) -> float:
        """The log partition function by the Kikuchi free energy."""
        return self._read(lambda reader: self.result.log_z)

    @property
    def status(self) -> Status:
        """How the run ended."""
        return self.result.status

    @property
    def verdict(self) -> Verdict:
        """What is known about the best solution."""
        return self.posterior.verdict

    @property
    def standing(self) -> Standing:
        """How far the numbers can be trusted."""
        return self.posterior.standing

    @property
    def trusted(self) -> bool:
        """Whether the numbers are confirmed: exact, sampled, or an independent method agrees."""
        return self.posterior.trusted

    @property
    def because(self) -> str:
        """Why the answers are confirmed, unconfirmed or refused, in words."""
        return standing_text(self.posterior)

    @property
    def approximate(self) -> bool:
        """Whether regions overlap, so that larger ones might change the numbers."""
        return self.posterior.approximate

    @property
    def reason(self) -> str:
        """Why the numbers are not confirmed, and what to try if they are refused; else empty."""
        return reason_of(self.posterior, self.tried)

    @property
    def flaw(self) -> Finding | None:
        """Why the numbers are refused, as a value; `None` if they are not."""
        return self.result.flaw

    @property
    def growth_end(self) -> str:
        """Why no larger regions were tried, in words; empty where regions did not grow."""
        return growth_end(self.posterior.provenance.growth_stop)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What is worth trying if the numbers are refused; empty if they are not."""
        return remedies_of(self.posterior, self.tried)

    @property
    def minima(self) -> Points:
        """The stationary points of the free energy that descent found, the best first."""
        return Points(self.result.points)

    def at(self, point: Point) -> Answers:
        """The answers of one stationary point alone.

        >>> import liftgbp
        >>> model = liftgbp.parse("s(thing)\\n1.5 s(x) <=> s(y) | x != y")
        >>> answers = liftgbp.infer(model, sizes={"thing": 9}, effort="quick")
        >>> sorted(round(answers.at(point).marginal("s(x)"), 3) for point in answers.minima)
        [0.0, 0.5, 1.0]
        """
        return replace(self, posterior=self.posterior.at(point), one_point=True)

    def query(self, text: str) -> AnswerRows[Answer]:
        """The rows that answer a query.

        >>> import liftgbp
        >>> model = liftgbp.parse("friends(person, person)\\n1.0 friends(x,y) | x != y")
        >>> for row in liftgbp.infer(model, sizes={"person": 1000}).query("friends(x,y)"):
        ...     print(row)
        friends(x,x) [x = y]  false: 0.500000  true: 0.500000
        friends(x,y) [x != y]  false: 0.268941  true: 0.731059
        """
        return AnswerRows(self._read(lambda reader: self.posterior.answers_to(text)))

    def _within_limits(self) -> AbstractContextManager[None]:
        """Limits on reading answers, if the model is a stranger's; so may be the query."""
        return within_limits_about(self.model, "answering")

    def count(self, formula: str) -> CountDistribution:
        """How many objects satisfy a formula with one free variable.

        `#{y : friends(x,y)} | smokes(x)` counts beside another object, and under a condition.

        The mean is always known; the spread, where a region holds two of the objects; the
        distribution, where a sum over counts, blocks or an exact answer knows it.

        >>> import liftgbp
        >>> model = liftgbp.parse("heads(coin)\\n0 heads(x)")
        >>> found = liftgbp.infer(model, sizes={"coin": 2}).count("heads(x)")
        >>> found.mean, [round(p, 6) for p in found.probabilities], round(found.at_least(1), 6)
        (1.0, [0.25, 0.5, 0.25], 0.75)
        """
        rows = self._read(lambda reader: count_distributions(reader, self._counted(formula)))
        if len(rows) > 1:
            kinds = "; ".join(row.where for row in rows)
            raise QueryError(f"{formula} has several answers ({kinds}); use query()")
        return rows[0].distribution

    def _counted(self, text: str) -> CountQuery:
        """What a text counts: one for a count, or a formula with one free variable."""
        asked = parse_count(text)
        if asked is not None:
            return asked
        free = checked_query(parse_query(text), self.model).variables
        if len(free) != 1:
            raise QueryError(
                f"{text}: counts are about formulas with one free variable; say which one is "
                "counted, as in #{y : friends(x,y)}"
            )
        return CountQuery(text, free[0], parse_query(text))

    def holds(self, text: str) -> bool:
        """Whether the atoms of a query lie in a common region, so that it has an answer."""
        with self._within_limits():
            return self.posterior.holds(text)

    def marginal(self, atom: str, value: str | tuple[str, ...] = "true") -> float:
        """The probability that an atom has a value, for different objects without names.

        Several atoms have a tuple of values.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n1.0 smokes(x)")
        >>> round(liftgbp.infer(model, sizes={"person": 1000}).marginal("smokes(x)"), 6)
        0.731059
        """
        return self._read(lambda reader: marginal_of(reader, atom, value))

    def probability(self, formula: str) -> float:
        """The probability that a formula holds, for different objects without names.

        Atoms after the bar hold, too.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n1.0 smokes(x) ^ smokes(y) | x != y")
        >>> answers = liftgbp.infer(model, sizes={"person": 3})
        >>> round(answers.probability("smokes(x) => smokes(y)"), 6)
        0.980472
        >>> round(answers.probability("smokes(x) | !smokes(y)"), 6)
        0.80749
        >>> round(answers.probability("EXIST x smokes(x)"), 6)
        0.997672
        """
        return self._read(
            lambda reader: marginal_of(reader, formula, parse_query(formula).all_true)
        )

    @property
    def all(self) -> AnswerRows[Answer]:
        """The answers for every predicate."""
        return AnswerRows(self._read(lambda reader: self.posterior.every_row))

    def _read(self, read: Callable[[Reader], Read]) -> Read:
        """What is read within the limits on strangers' models.

        Numbers that cannot be trusted warn, once, at the line that asked for them.
        """
        with self._within_limits():
            found = read(self.posterior.reader)
        if not (self.posterior.sound or self.one_point or "_warned" in self.__dict__):
            warnings.warn(self.reason, UntrustedAnswer, stacklevel=3)
            self.__dict__["_warned"] = True
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user may want to know although nothing is wrong."""
        verdict = self.result.verdict
        unchecked = verdict.kind is Kind.UNCHECKED and self.posterior.sound
        return (
            *self.model.notes,
            *self.posterior.reader.problem.evidence.notes,
            *(f"a region was added that holds {atoms}" for atoms in added_regions(self.model)),
            *([unchecked_text(verdict)] if unchecked else []),
        )

    def write_all(self, path: str | os.PathLike[str], *, observed: bool = False) -> None:
        """Write the marginal of every ground atom to a `.csv` or `.parquet` file.

        The columns are predicate, arguments, value, probability and observed, with one row per
        value; Boolean atoms have one row, for true. Atoms whose value evidence states (facts, known
        counts) are left out unless `observed` is true. Atoms of closed predicates that are not
        listed are false, and always left out.
        """
        file = checked_path("path", path)
        self._read(lambda reader: write_every_atom(reader, file, observed=observed))

    def to_columns(
        self, query: str | None = None, *, observed: bool = False
    ) -> dict[str, NDArray[Any]]:
        """The table that `write_all` writes, as arrays; with a query, for the atoms it matches.

        >>> import liftgbp
        >>> model = liftgbp.parse("person = {Anna, Bob}\\nsmokes(person)\\n1.0 smokes(Bob)")
        >>> table = liftgbp.infer(model).to_columns("smokes(x)")
        >>> table["arguments"].tolist(), table["probability"].round(4).tolist()
        (['Anna', 'Bob'], [0.5, 0.7311])
        """
        return self._read(lambda reader: columns_of_every_atom(reader, query, observed=observed))

    def to_frame(
        self,
        query: str | None = None,
        *,
        observed: bool = False,
        library: Literal["pandas", "polars"] = "pandas",
    ) -> Any:
        """The same table as a data frame of pandas or Polars, which must be installed."""
        if not isinstance(library, str) or library not in ("pandas", "polars"):
            raise wrong_type("library", "pandas or polars", library)
        frames = installed(library, "to_frame")
        return frames.DataFrame(
            self._read(lambda reader: columns_of_every_atom(reader, query, observed=observed))
        )

    def to_arrow(self, query: str | None = None, *, observed: bool = False) -> Any:
        """The same table for Arrow; pyarrow must be installed."""
        arrow = installed("pyarrow", "to_arrow")
        return arrow.table(
            self._read(lambda reader: columns_of_every_atom(reader, query, observed=observed))
        )

    def top(
        self, query: str, count: int | None = 20, *, least: float = 0.0, observed: bool = False
    ) -> AnswerRows[Answer]:
        """The ground atoms that match a query, one by one, the most probable ones first.

        `count` is how many at most, and `least` the smallest probability: that of true, or of
        other values, that of the most probable one. Observed atoms are left out unless asked for.

        >>> import liftgbp
        >>> model = liftgbp.parse("person = {Anna, Bob, Carl}\\nsmokes(person)\\n1.0 smokes(Bob)")
        >>> for row in liftgbp.infer(model, evidence="!smokes(Carl)").top("smokes(x)"):
        ...     print(row)
        smokes(Bob)  false: 0.268941  true: 0.731059
        smokes(Anna)  false: 0.500000  true: 0.500000
        """
        if count is not None:
            count = checked_number("count", count, least=1)
        if not isinstance(least, Real) or isinstance(least, bool):
            raise wrong_type("least", "a probability", least)
        return AnswerRows(
            self._read(
                lambda reader: most_probable(reader, query, count, float(least), observed=observed)
            )
        )

    def compare(self, second: SecondOpinion, queries: str | Iterable[str] = ()) -> Comparison:
        """These answers beside a second opinion: exact answers, or a sample.

        >>> import liftgbp
        >>> model = liftgbp.parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
        >>> answers = liftgbp.infer(model, sizes={"thing": 3}, effort="quick")
        >>> larger = liftgbp.infer(model, sizes={"thing": 3}, regions="objects:3")
        >>> print(answers.compare(larger).sentence)
        agrees with the other answers: the largest difference is 0.0014, in p(x)
        """
        if not callable(getattr(second, "opinion_on", None)):
            raise wrong_type("second", "answers, a sample or bounds", second)
        asked = checked_texts("queries", queries)
        if isinstance(second, Answers) and second.sizes != self.sizes:
            raise InputError("the other answers are about domains of other sizes")
        return compared(self.rows_for(asked), second.opinion_on(self, asked), self.result.log_z)

    def opinion_on(self, answers: object, queries: Sequence[str]) -> Opinion:
        """What these answers say about the rows of other answers."""
        answers = posterior_of(answers)
        rows = [
            OpinionRow(row.query, row.atom, row.where, row.values, _errors(row))
            for row in self._rows_of(answers, checked_texts("queries", queries))
        ]
        exact = self.verdict.kind is Kind.EXACT
        title = "the exact answer" if exact else "the other answers"
        doubt = "" if self.posterior.sound else self.reason
        return Opinion(title, rows, finite(self.result.log_z), doubt=doubt)

    def _rows_of(self, answers: Posterior, queries: tuple[str, ...]) -> Sequence[Answer]:
        """These answers for the rows of other answers, as far as both know the same objects."""
        if self.via != answers.via or self.sizes != answers.sizes:
            return self.rows_for(queries)
        # On the ground, answers may tell apart what others do not: rows are those of the others.
        reader = answers.reader
        found: list[Answer] = []
        texts: list[tuple[str, Row]] = [] if queries else list(reader.rows_of_everything())
        for text in queries:
            if asks_for_count(text, reader):
                found += self.posterior.answers_to(text)
            else:
                texts += [(text, row) for row in reader.rows(text)]
        return found + [read_row(text, row, [self.posterior.reader])[0] for text, row in texts]

    def explain(self, query: str, value: str = "true", *, rules: bool = True) -> Explanation:
        """Why an atom has its probability: what pulls the log-odds up, and what pulls them down.

        Pulls are those of the factors and messages in the region that the probability is read from,
        and add up to the log-odds there. With `rules`, the model is also answered without each of
        its rules, which takes as long as that many answers.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n0.5 smokes(x)\\n0.2 !smokes(x)")
        >>> print(liftgbp.infer(model, {"person": 9}, effort="quick").explain("smokes(x)"))
        smokes(x): 0.574443, log-odds +0.3000
        <BLANKLINE>
        pulls in the region smokes(1) (log-odds)
            +0.5000  in the region itself: 0.5 smokes(x)
            -0.2000  in the region itself: 0.2 !smokes(x)
            +0.3000  together
        <BLANKLINE>
        without a rule: the probability, and what the rule adds to the log-odds
          0.450166    +0.5000  0.5 smokes(x)
          0.622459    -0.2000  0.2 !smokes(x)
        """
        from liftgbp.report.explaining import check_explained, explained

        check_explained(query, value)
        rules = checked_flag("rules", rules)
        return self._read(
            lambda reader: explained(self.posterior, query, value, self.question, rules=rules)
        )

    def plot(self, queries: str | Iterable[str] = ()) -> Figure:
        """A figure of Matplotlib: the rows of queries, or of every predicate, as bars.

        The title says whether the answers are trusted.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n1.0 smokes(x)")
        >>> figure = liftgbp.infer(model, sizes={"person": 1000}).plot()
        >>> [round(float(bar.get_width()), 4) for bar in figure.axes[0].patches]
        [0.7311]
        """
        return AnswerRows(self.rows_for(checked_texts("queries", queries))).plot(self._title)

    def write_picture(
        self,
        path: str | os.PathLike[str],
        queries: str | Iterable[str] = (),
        *,
        rows: Iterable[Answer] | None = None,
    ) -> None:
        """Write these bars to a `.png`, `.svg` or `.pdf` file, or those of `rows` if given.

        If all queries are for counts, their distributions are drawn instead, one below the other.
        Counts of which `#{x : smokes(x)} >= 10` says that they hold are darker. The line below the
        bars goes from the 5 to the 95 per cent quantile, and its dot is the mean.
        """
        texts, file = checked_texts("queries", queries), checked_path("path", path)
        check_apart(file, self.posterior.reader.problem.files)
        counts = [count for text in texts if (count := parse_count(text)) is not None]
        if counts and len(counts) == len(texts):
            from liftgbp.report.answer_pictures import write_charts

            write_charts(self._read(lambda reader: list(_charts(reader, counts))), file)
            return
        shown = AnswerRows(self.rows_for(texts) if rows is None else _checked_rows(rows))
        shown.write_picture(file, self._title)

    @property
    def _title(self) -> str:
        trust = "" if self.trusted else f": {self.standing.value.upper()}"
        return f"{self.model.name}{sizes_text(self.sizes)}{trust}"

    def as_dict(self, queries: str | Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        texts = checked_texts("queries", queries)
        with self._within_limits():
            return answers_as_dict(self, texts)

    def rows_for(self, queries: str | Iterable[str] = ()) -> Sequence[Answer]:
        """The rows of queries, or of every predicate, without a warning about trust."""
        with self._within_limits():
            return self.posterior.rows_for(queries)

    @property
    def used(self) -> str:
        """What the answers were made of, in words."""
        return made_of(self.posterior)

    @property
    def change(self) -> Change | None:
        """What sums, blocks or larger regions changed most; nothing if there were none."""
        plain = self.posterior.provenance.plain
        return None if plain is None else largest_change(self.rows_for(), plain.every_row)

    @cached_property
    def quick(self) -> Answers | None:
        """The answers with the least effort, where these may differ.

        Beside exact answers they are found when they are read, which takes longer than these.
        """
        plain = self.posterior.provenance.plain
        if plain is None and self.question is not None and not self.approximate:
            with self._within_limits():
                plain = self.question.quick().answered()
        return None if plain is None else Answers(plain)


def _errors(row: Answer) -> dict[tuple[str, ...], float]:
    """The standard errors of a row that is sampled."""
    errors = {assignment: row.error_of(assignment) for assignment in row.values}
    return {assignment: error for assignment, error in errors.items() if error is not None}


def _charts(reader: Reader, counts: Iterable[CountQuery]) -> Iterator[Chart]:
    from liftgbp.report.answer_pictures import Chart

    for count in counts:
        for row in count_distributions(reader, count):
            title = f"{count.text}, {row.where}" if row.where else count.text
            yield Chart(title, row.distribution, count)


def _checked_rows(rows: object) -> list[Answer]:
    if not isinstance(rows, Iterable) or getattr(rows, "shape", None) == ():
        raise wrong_type("rows", "rows of answers", rows)
    listed = list(rows)
    found = [row for row in listed if isinstance(row, Answer)]
    if len(found) < len(listed):
        raise wrong_type("rows", "rows of answers", rows)
    return found
