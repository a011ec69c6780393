"""Why a probability is what it is: what pulls it up or down in its region, and what rules change.

The belief of a region is a product of factors and of messages that enter it. Each of them is
scaled from nothing to what it is, all together, and what it adds to the log-odds on the way is its
pull (the Aumann-Shapley value): pulls add up to the log-odds. In a region of one atom, a pull is
the log-odds of the factor or message itself.

Descent knows no messages. They are found from the beliefs: log b = theta + exponents @ m is linear
in them, and of all solutions, the one with the smallest messages is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.signature import embeddings
from liftgbp.model.writer import rule_text
from liftgbp.pictures.cards import Shown, code, note, pull_bar, shortened, table
from liftgbp.pictures.markup import Content
from liftgbp.posterior import Posterior
from liftgbp.posterior.answer import read_row
from liftgbp.posterior.readers import ClassReader, PreparedLifted, Reader
from liftgbp.posterior.rows import Row
from liftgbp.report.answers_report import finite, made_of
from liftgbp.solve import Solution
from liftgbp.strategy.question import Question
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InputError, QueryError

MOST_NUMBERS = 4_000_000
"""Larger systems of equations for messages are not solved: this takes about a second."""

FITS = 1e-6
"""Messages explain log beliefs if they differ by less, in proportion; descent stops at 1e-12."""

NODES = 24
"""Places at which pulls are read on the way; more do not change six digits for weights up to 20."""

MOST_PULLS = 15
"""Texts and cards show at most this many pulls, the strongest first."""

FULL = 5.0
"""A change of the log-odds that fills a bar: from 0.5 to 0.993."""

POSSIBLE = "what hard rules leave possible"


@dataclass(frozen=True, slots=True)
class Pull:
    """What a factor or a message adds to the log-odds: up if positive, down if negative."""

    source: str
    log_odds: float
    message: bool


@dataclass(frozen=True, slots=True)
class WithoutRule:
    """The probability without a rule; `change` is what the rule adds to the log-odds."""

    rule: str
    probability: float
    change: float
    problem: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """Why an atom has its probability.

    pulls     what pulls the log-odds up or down in the region that the probability is read from;
              they add up to `region_log_odds`, those of the belief that was explained
    region    the atoms of that region in words
    without   the probability without each rule
    notes     what to know about them
    """

    query: str
    value: str
    probability: float
    region: str
    region_log_odds: float
    pulls: tuple[Pull, ...]
    without: tuple[WithoutRule, ...]
    notes: tuple[str, ...]

    @property
    def log_odds(self) -> float:
        """The log-odds of the probability."""
        return log_odds(self.probability)

    @property
    def _asked(self) -> str:
        return self.query if self.value == "true" else f"{self.query} = {self.value}"

    def _headline(self) -> str:
        return f"{self._asked}: {self.probability:.6f}, log-odds {self.log_odds:+z.4f}"

    def __str__(self) -> str:
        lines = [self._headline()]
        if self.pulls:
            lines += ["", f"pulls in the region {self.region} (log-odds)"]
            lines += [f"  {own.log_odds:+z9.4f}  {own.source}" for own in self.pulls[:MOST_PULLS]]
            left = self.pulls[MOST_PULLS:]
            if left:
                rest = math.fsum(own.log_odds for own in left)
                lines.append(f"  {rest:+z9.4f}  {len(left)} more")
            lines.append(f"  {self.region_log_odds:+z9.4f}  together")
        if self.without:
            lines += ["", "without a rule: the probability, and what the rule adds to the log-odds"]
            lines += [
                f"  {own.probability:.6f}  {own.change:+z9.4f}  {own.rule}"
                if not own.problem
                else f"  {own.problem}: {own.rule}"
                for own in self.without
            ]
        return "\n".join([*lines, *(f"note: {own}" for own in self.notes)])

    def _body(self) -> Iterable[Content]:
        if self.pulls:
            most = max(abs(own.log_odds) for own in self.pulls) or 1.0
            rows = [
                (f"{own.log_odds:+z.4f}", pull_bar(own.log_odds / most), code(own.source))
                for own in self.pulls
            ]
            yield note(f"pulls in the region {self.region}, in log-odds")
            yield table(("log-odds", "", "from"), rows, numbers=[0], most=MOST_PULLS)
        if self.without:
            without = [
                (
                    code(shortened(own.rule, 120)),
                    own.problem or f"{own.probability:.6f}",
                    "" if own.problem else f"{own.change:+z.4f}",
                    "" if own.problem else pull_bar(own.change / FULL),
                )
                for own in self.without
            ]
            headings = ("rule", "probability without it", "it adds to the log-odds", "")
            yield table(headings, without, numbers=[1, 2])
        yield from map(note, self.notes)

    def as_dict(self) -> dict[str, object]:
        """The explanation for JSON."""
        return {
            "query": self.query,
            "value": self.value,
            "probability": self.probability,
            "log_odds": finite(self.log_odds),
            "region": self.region,
            "region_log_odds": finite(self.region_log_odds),
            "pulls": [
                {"from": own.source, "log_odds": finite(own.log_odds), "message": own.message}
                for own in self.pulls
            ],
            "without": [
                {
                    "rule": own.rule,
                    "probability": finite(own.probability),
                    "change": finite(own.change),
                    "problem": own.problem,
                }
                for own in self.without
            ],
            "notes": list(self.notes),
        }


def log_odds(p: float) -> float:
    """The log-odds of a probability; infinite for 0 and 1."""
    if math.isnan(p) or p <= 0:
        return -math.inf if p <= 0 else math.nan
    return math.log(p) - math.log1p(-p) if p < 1 else math.inf


def explained(
    answers: Posterior, query: str, value: str, question: Question | None, *, rules: bool
) -> Explanation:
    """Why a value of an atom has its probability."""
    row = _row_of(answers.reader, query)
    probability = read_row(query, row, [answers.reader])[0][value]
    notes: list[str] = []
    if row.where and sum(own.generic for own in answers.reader.rows(query)) != 1:
        notes.append(f"this is about the row where {row.where}")
    belief = _explained_belief(answers, query, value, question, notes)
    without = []
    if rules and question is not None:
        without = list(_without_rules(answers, query, value, question))
    elif rules:
        notes.append("rules are left out one by one for answers of infer alone")
    region, total, pulls = ("", math.nan, ()) if belief is None else belief
    return Explanation(
        query, value, probability, region, total, tuple(pulls), tuple(without), tuple(notes)
    )


def _without_rules(
    answers: Posterior, query: str, value: str, question: Question
) -> Iterator[WithoutRule]:
    model = answers.model
    row = _row_of(answers.reader, query)
    here = log_odds(read_row(query, row, [answers.reader])[0][value])
    for number, rule in enumerate(model.rules):
        text = rule_text(rule)
        try:
            other = question.without_rule(number).answered()
            found = _probability(other, query, value, row)
        except InputError as error:
            yield WithoutRule(text, math.nan, math.nan, error.message)
            continue
        yield WithoutRule(text, found, here - log_odds(found))


# --- pulls


def _explained_belief(
    answers: Posterior, query: str, value: str, question: Question | None, notes: list[str]
) -> tuple[str, float, Sequence[Pull]] | None:
    """The region of an atom, the log-odds there, and the pulls; or none, with a note."""
    found = answers
    if answers.via == "ground":
        notes.append("pulls are told about answers over classes of objects (via='lifted')")
        return None
    if not _passes_messages(answers) and question is not None:
        found = question.quick().answered()
        p = _probability(found, query, value, _row_of(answers.reader, query))
        notes.append(
            f"messages are those of the least effort (effort='quick'), which answers {p:.6f}; "
            f"these answers come from another method: {made_of(answers)}"
        )
    reader, result = found.reader, found.result
    if not isinstance(reader, ClassReader) or not isinstance(result, Solution):
        notes.append("no messages were passed over classes of objects for these answers")
        return None
    log_beliefs = result.log_beliefs
    if result.points:
        log_beliefs = result.points[0].log_beliefs
        if sum(point.weight > 0 for point in result.points) > 1:
            notes.append("several minima are mixed; pulls are those at the best of them")
    row = _row_of(reader, query)
    if row.event is not None or len(row.every) != 1:
        notes.append("pulls are told about single atoms")
        return None
    return _pulls(reader.prepared, log_beliefs, row, value, notes)


def _passes_messages(answers: Posterior) -> bool:
    return isinstance(answers.reader, ClassReader) and isinstance(answers.result, Solution)


def _row_of(reader: Reader, query: str, where: str | None = None) -> Row:
    """The row that is explained: that of different unnamed objects, else of most groundings."""
    rows = reader.rows(query)
    same = [row for row in rows if row.where == where]
    generic = [row for row in rows if row.generic]
    if where is not None and len(same) == 1:
        return same[0]
    return generic[0] if len(generic) == 1 else max(rows, key=lambda row: row.count)


def _probability(answers: Posterior, query: str, value: str, row: Row) -> float:
    """The probability in the same row of other answers."""
    own = _row_of(answers.reader, query, row.where)
    return read_row(query, own, [answers.reader])[0][value]


def _pulls(
    prepared: PreparedLifted, log_beliefs: Floats, row: Row, value: str, notes: list[str]
) -> tuple[str, float, Sequence[Pull]] | None:
    graph, layout = prepared.graph, prepared.plan.layout
    (atom,) = row.every
    # The smallest region that holds the atom, as for its probability.
    for number in reversed(range(len(graph.regions))):
        placed = next(embeddings([atom], graph.regions[number].cluster), None)
        if placed is not None:
            break
    else:
        notes.append("no rule is about this atom, or its value is observed")
        return None
    axis = graph.regions[number].cluster.index((atom[0], tuple(placed[o] for o in atom[1])))
    tables = [layout.full_table(k, log_beliefs, -math.inf) for k in range(len(graph.regions))]
    messages = _messages(graph, tables)
    if messages is None:
        notes.append("the region graph is too large, or the beliefs are no fixed point of messages")
        return None
    chosen = prepared.model.predicates[prepared.graph.normal.predicates[atom[0]].name].values
    holds = np.indices(tables[number].shape)[axis].ravel() == chosen.index(value)
    terms = list(_terms(graph, number, messages))
    possible = np.isfinite(tables[number].ravel())
    base, pulls = aumann_shapley([own for _, _, own in terms], holds, possible)
    found = [
        Pull(source, own, message)
        for (source, message, _), own in zip(terms, pulls, strict=True)
        if abs(own) > 1e-12
    ]
    if abs(base) > 1e-12:
        found.append(Pull(POSSIBLE, base, message=False))
    found.sort(key=lambda own: -abs(own.log_odds))
    total = math.fsum(own.log_odds for own in found)
    return graph.region_text(number), total, found


def aumann_shapley(
    terms: Sequence[Floats], holds: np.ndarray, possible: np.ndarray
) -> tuple[float, list[float]]:
    """What each log term adds to the log-odds of some states, if all grow from zero together.

    The first number is what is there before: the log-odds if all possible states were alike.

    >>> half = np.array([True, False])
    >>> aumann_shapley([np.array([0.7, 0.0]), np.array([0.0, 0.2])], half, half | True)
    (0.0, [0.7, -0.2])
    """
    inside = holds[possible]
    own = np.array([term[possible] for term in terms]).reshape(len(terms), -1)
    if not inside.any() or inside.all():
        return (math.inf if inside.all() else -math.inf), [0.0] * len(terms)
    base = math.log(inside.sum()) - math.log((~inside).sum())
    total = own.sum(axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    pulls = np.zeros(len(terms))
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        for side, sign in ((inside, 1.0), (~inside, -1.0)):
            shares = np.exp(node * total[side] - (node * total[side]).max())
            pulls += sign * weight * (own[:, side] @ (shares / shares.sum()))
    return base, [round(float(pull), 12) + 0.0 for pull in pulls]


def _terms(
    graph: LiftedRegionGraph, number: int, messages: Sequence[Floats]
) -> Iterator[tuple[str, bool, Floats]]:
    """The logs of all that is multiplied in a region, state by state: factors, then messages."""
    region = graph.regions[number]
    words = graph.atoms_in_words
    by_rule: dict[int, Floats] = {}
    for held in region.held:
        rule = graph.normal.parfactors[held.parfactor].rule
        table = _placed(graph, number, held.parfactor, held.axes)
        by_rule[rule] = by_rule.get(rule, 0.0) + table
    rules = graph.normal.model.rules
    for rule, table in by_rule.items():
        text = rule_text(rules[rule]) if rule >= 0 else "uncertain evidence"
        yield f"in the region itself: {text}", False, np.where(np.isfinite(table), table, 0.0)
    for edge, axes, exponent in _entering(graph, number):
        states = _message_states(graph, number, axes, edge)
        found = graph.edges[edge]
        times = "" if exponent == 1 else f"{exponent:.10g} × "
        into = " ".join(words[number][k] for k in axes)
        place = dict(zip(found.axes, graph.messages[found.message].axes, strict=True))
        about = " ".join(words[found.parent][place[k]] for k in range(len(axes)))
        named = "" if about == into else f" about its {about}"
        source = f"{times}message from {' '.join(words[found.parent])}{named} into {into}"
        yield source, True, exponent * messages[found.message][states]


def _entering(
    graph: LiftedRegionGraph, number: int
) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """The messages that enter a region: edge, the atoms they are about, and how often."""
    region = graph.regions[number]
    whole: tuple[int, ...] = tuple(range(len(region.cluster)))
    itself: tuple[int, tuple[int, ...], dict[int, int]] = (number, whole, {})
    inside = ((own.region, own.axes, own.local_parents) for own in region.members)
    for child, axes, local in (itself, *inside):
        for edge in graph.edges_into[child]:
            exponent = graph.kappa[edge] - local.get(edge, 0)
            if exponent:
                yield edge, axes, float(exponent)


def _message_states(
    graph: LiftedRegionGraph, number: int, axes: tuple[int, ...], edge: int
) -> np.ndarray:
    """For each state of a region, the entry of a message into atoms of it."""
    grid = np.indices(graph.shapes[number]).reshape(len(graph.shapes[number]), -1)
    chosen = [axes[k] for k in graph.edges[edge].axes]
    return np.asarray(
        np.ravel_multi_index(
            tuple(grid[k] for k in chosen), tuple(graph.shapes[number][k] for k in chosen)
        )
    )


def _placed(graph: LiftedRegionGraph, number: int, parfactor: int, axes: tuple[int, ...]) -> Floats:
    """A factor inside a region, state by state."""
    grid = np.indices(graph.shapes[number]).reshape(len(graph.shapes[number]), -1)
    table: Floats = graph.log_table(parfactor)[tuple(grid[k] for k in axes)]
    return table


def _messages(graph: LiftedRegionGraph, tables: Sequence[Floats]) -> list[Floats] | None:
    """Messages that make up these log beliefs, as flat tables, or none if there are none."""
    sizes = [
        math.prod(graph.shapes[message.parent][k] for k in message.axes)
        for message in graph.messages
    ]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    rows = sum(int(np.isfinite(own).sum()) for own in tables)
    columns = int(starts[-1]) + len(tables)
    if rows * columns > MOST_NUMBERS:
        return None
    matrix, right = np.zeros((rows, columns)), np.zeros(rows)
    row = 0
    for number, log_belief in enumerate(tables):
        possible = np.isfinite(log_belief.ravel())
        own = slice(row, row + int(possible.sum()))
        row = own.stop
        right[own] = log_belief.ravel()[possible]
        for held in graph.regions[number].held:
            right[own] -= _placed(graph, number, held.parfactor, held.axes)[possible]
        matrix[own, starts[-1] + number] = 1.0
        for edge, axes, exponent in _entering(graph, number):
            states = _message_states(graph, number, axes, edge)[possible]
            place = starts[graph.edges[edge].message] + states
            np.add.at(matrix, (np.arange(own.start, own.stop), place), exponent)
    scale = np.abs(matrix).max(axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    solved = np.linalg.lstsq(matrix / scale, right, rcond=1e-14)[0] / scale
    off = np.abs(matrix @ solved - right).max(initial=0.0)
    if off > FITS * (1 + np.abs(right).max(initial=0.0)):
        return None
    return [solved[a:b] for a, b in pairwise(starts.tolist())]


def check_explained(query: str, value: object) -> None:
    """Refuse what cannot be explained."""
    if not isinstance(value, str):
        raise QueryError(f"explain tells about one value of {query}, such as 'true'")
