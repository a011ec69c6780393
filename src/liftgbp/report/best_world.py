"""The most probable world: what is true in it, its score, and how far it is proven."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.evidence import AnyEvidence, Evidence, Relation
from liftgbp.model.ast import (
    BOOLEAN,
    Constant,
    Number,
    Predicate,
    Rule,
    TableParfactor,
    Variable,
    applied,
)
from liftgbp.model.model import Model
from liftgbp.model.parser import parse_query
from liftgbp.model.queries import checked_atom_query, checked_query, parse_count
from liftgbp.model.writer import ground_atom_text, object_text, rule_text
from liftgbp.pictures.cards import (
    BAD,
    DOUBTFUL,
    GOOD,
    MOST_ROWS,
    Shown,
    badge,
    code,
    count_text,
    note,
    sizes_text,
    table,
)
from liftgbp.pictures.markup import Content
from liftgbp.posterior import posterior_of
from liftgbp.report.answers import UntrustedAnswer
from liftgbp.report.world_atoms import Row, WorldAtoms
from liftgbp.report.world_structure import WorldStructure, listed, short_count
from liftgbp.support.errors import (
    InputError,
    QueryError,
    checked_path,
    wrong_type,
)
from liftgbp.support.files import (
    NUMPY_TYPES,
    Schema,
    check_apart,
    check_writable,
    installed,
    whole_file,
    write_table,
)
from liftgbp.support.texts import some_of
from liftgbp.worlds import Optimum, World, WorldQuestion, structure_of
from liftgbp.worlds.optimum import exact, log_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNNAMED = re.compile(r'(?<!["\w])#(\d+)')
"""An unnamed object in the text of an atom."""

NAMED = r"Object_\1"
"""What an unnamed object is called in facts."""

SHOWN_ATOMS = 200
"""So many atoms are listed where nobody asked for all of them."""

PROOFS = {
    "branching": "branch and bound",
    "cells": "the numbers of objects in each cell",
    "cutting planes": "cutting planes",
    "elimination": "elimination",
    "linear program over regions": "a linear program over regions",
    "maximum flow": "a maximum flow",
    "regions": "a linear program over regions of ground atoms",
}
"""What proves that no world is better, in words, by the names of methods."""

NOTHING_BROKEN = "no rule or table can add more"
"""Why a world is best in which no rule is broken."""

SCHEMA: Schema = {"predicate": str, "arguments": str, "value": str, "observed": bool}

WORLD_FILES = (".db", ".csv", ".json", ".parquet", ".pdf", ".png", ".svg")


@dataclass(frozen=True, slots=True, repr=False)
class RuleInWorld(Shown):
    """A rule of the model in a world: how many of its groundings hold, and what they add.

    A hard rule has no weight. A table of potentials is neither satisfied nor violated.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person)\\n2 smokes(x)\\n!smokes(Anna).")
    >>> for rule in liftgbp.best_world(model, {"person": 5}).rules:
    ...     print(rule.text, rule.satisfied, rule.violated, rule.score)
    2 smokes(x) 4 1 8.0
    !smokes(Anna). 1 0 0.0
    """

    text: str
    weight: float | None
    groundings: int
    satisfied: int | None
    violated: int | None
    score: float

    def _headline(self) -> str:
        counts = "" if self.violated is None else f", {count_text(self.violated)} violated"
        return f"{self.text}: {count_text(self.groundings)} groundings{counts}"

    def _body(self) -> Iterator[Content]:
        yield note(f"score {self.score:.10g}")

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "rule": self.text,
            "weight": self.weight,
            "groundings": self.groundings,
            "satisfied": self.satisfied,
            "violated": self.violated,
            "score": self.score,
        }


@dataclass(frozen=True, eq=False, repr=False)
class BestWorld(Shown):
    """The best world that was found, and what no world exceeds.

    The score of a world is the sum of the weights of its satisfied groundings, or the logarithm of
    its weight; no world that violates a hard rule is a world. Among best worlds, one with few true
    atoms is taken. Unnamed objects are called `#1`, `#2` and so on.

    >>> import liftgbp
    >>> people = "person = {Anna, Bob}\\nsmokes(person)"
    >>> model = liftgbp.parse(people + "\\n1.5 smokes(Anna) v smokes(x)")
    >>> world = liftgbp.best_world(model)
    >>> world.score, world.proven, world.true("smokes(x)")
    (3.0, True, ['smokes(Anna)'])
    """

    question: WorldQuestion
    optimum: Optimum
    world: World
    seconds: float
    interrupted: bool = False

    # --- how good it is

    @property
    def exact_score(self) -> Fraction:
        """The score as a fraction; weights are the decimals that people write."""
        return self.optimum.known_score

    @property
    def score(self) -> float:
        """The sum of the weights of satisfied groundings."""
        return float(self.exact_score)

    @property
    def upper(self) -> float:
        """No world has a larger score; infinite if nothing is known."""
        return float(self.optimum.upper)

    @property
    def gap(self) -> float:
        """How much better a world may be."""
        return max(0.0, float(self.optimum.upper - self.exact_score))

    @property
    def proven(self) -> bool:
        """Whether no world has a larger score."""
        return self.optimum.proven

    @property
    def reason(self) -> str:
        """Why it is proven to be best, or what is left open."""
        if self.proven:
            how = self.how
            return "no world has a larger score" + (f" ({how})" if how else "")
        until, budget = "interrupted; " if self.interrupted else "", self.question.budget
        if math.isinf(self.upper):
            return f"{until}better worlds may exist: no bound was found within this effort"
        return (
            f"{until}no world has a score above {_number(self.optimum.upper)}; whether one above "
            f"{_number(self.exact_score)} exists is open at {budget.effort} effort"
            f"{budget.time_text}"
        )

    @property
    def how(self) -> str:
        """How it is proven to be best, in a few words; empty if that is plain or not known."""
        if not self.proven:
            return ""
        methods = dict.fromkeys(self.optimum.how)
        named = [PROOFS[method] for method in methods if method in PROOFS]
        if named:
            return f"by {listed(named)}"
        return NOTHING_BROKEN if "no rule is broken" in methods else ""

    @property
    def fewest(self) -> bool:
        """Whether no best world is known to have fewer true atoms; otherwise one may."""
        return self.optimum.fewest

    @cached_property
    def rules(self) -> tuple[RuleInWorld, ...]:
        """Each rule of the model with its groundings in this world."""
        return tuple(_rule_in(self.world, rule) for rule in self.model.rules)

    @cached_property
    def undecided(self) -> list[str] | None:
        """The atoms that differ between best worlds; `None` if that is not known."""
        atoms = self.optimum.undecided
        return None if atoms is None else [self._text(name, objects) for name, objects in atoms]

    @property
    def free(self) -> dict[str, int]:
        """How many atoms of each predicate no rule touches; they have their first value."""
        return dict(self.optimum.free)

    def cost(self, facts: AnyEvidence) -> float:
        """How much worse the best world is in which facts hold, such as `smokes(Anna)`.

        Unnamed objects, as in `smokes(#1)`, are alike: it is a fact about any one of them. Facts
        about a network are values of its variables: `{3: 1}` or `"x3 = 1"`.
        If one of the two worlds is not proven to be best, that warns (`UntrustedAnswer`). What no
        world allows costs infinitely much.
        """
        from liftgbp.support.errors import ContradictionError

        try:
            other = self.question.given(self._named(facts)).answered()
        except ContradictionError:
            return math.inf
        if not (self.proven and other.proven):
            text = "the cost is that of the best worlds that were found, which are not proven"
            warnings.warn(text, UntrustedAnswer, stacklevel=2)
        return float(self.exact_score - other.known_score)

    def log_probability(self, answers: object) -> float:
        """The log probability of this very world, with log Z from answers about the same model."""
        posterior = posterior_of(answers)
        if dict(posterior.sizes) != self.sizes:
            raise InputError("the answers are about domains of other sizes than the world")
        return self.score - float(posterior.result.log_z)

    # --- what is true

    @property
    def model(self) -> Model:
        """The model, with all objects that evidence names."""
        return self.world.problem.model

    @property
    def sizes(self) -> dict[str, int]:
        """The domain size of every sort."""
        return dict(self.world.problem.sizes)

    def value(self, atom: str) -> bool | str:
        """The value of a ground atom: whether it is true, or which value it has.

        Unnamed objects are `#1`, `#2` and so on.
        """
        predicate, objects = self._ground_atom(atom)
        return _shown_value(predicate, self.world.value(predicate.name, objects))

    def holds(self, formula: str) -> bool:
        """Whether a formula holds for all objects in the place of its variables."""
        return self._tally(formula)[0] == 0

    def count(self, query: str) -> int:
        """For how many objects in the place of its variables a formula holds.

        >>> import liftgbp
        >>> rules = "1 smokes(x)\\n-3 smokes(x) ^ smokes(y) | x != y"
        >>> model = liftgbp.parse("smokes(person)\\n" + rules)
        >>> liftgbp.best_world(model, {"person": 9}).count("smokes(x)")
        1
        """
        return self._tally(query)[1]

    def true(self, query: str | None = None) -> list[str]:
        """The atoms that are true, or do not have their first value; all of them, or of a query."""
        return [self._fact(*row) for row in self._rows(query)]

    @cached_property
    def structure(self) -> WorldStructure | None:
        """What the world looks like: its blocks of objects, and what is true of them.

        It prints as sentences and is a table in notebooks. None is known of a large world that was
        found atom by atom.
        """
        found = structure_of(self.world)
        return None if found is None else WorldStructure(self.model, found)

    # --- elsewhere

    def to_evidence(self) -> Evidence:
        """The whole world as evidence: every atom that is not false, and all others closed."""
        problem = self.world.problem
        facts = {}
        for name, predicate in self.model.predicates.items():
            listed = self._atoms.true if predicate.values == BOOLEAN else self._atoms.every
            rows = list(listed(predicate))
            shape = len(rows), len(predicate.sorts)
            args = np.array([objects for _, objects, _ in rows], np.int64).reshape(shape)
            facts[name] = Relation(args, np.array([value for *_, value in rows], np.int64))
        boolean = (p.name for p in self.model.predicates.values() if p.values == BOOLEAN)
        return replace(problem.evidence, hard=facts, soft={}, known=(), closed=frozenset(boolean))

    def to_frame(self, query: str | None = None, *, everything: bool = False) -> Any:
        """A data frame with a row for each atom that is true, or for every atom."""
        pandas = installed("pandas", "a data frame")
        cells = list(zip(*self._records(query, everything), strict=True)) or [()] * len(SCHEMA)
        return pandas.DataFrame(
            {
                name: np.array(column, NUMPY_TYPES[kind])
                for (name, kind), column in zip(SCHEMA.items(), cells, strict=True)
            }
        )

    def write(self, path: str | os.PathLike[str], *, everything: bool = False) -> None:
        """Write the world to a file: facts (`.db`), a table, everything (`.json`) or a picture.

        Facts and tables have the atoms that are true; with `everything`, tables have all.
        """
        file = checked_path("path", path)
        check_writable(file, WORLD_FILES)
        check_apart(file, self.world.problem.files)
        if file.suffix in (".pdf", ".png", ".svg"):
            figure = self.figure()
            with whole_file(file) as unfinished:
                figure.savefig(unfinished, format=file.suffix[1:])
            return
        with whole_file(file) as unfinished:
            if file.suffix in (".csv", ".parquet"):
                write_table(unfinished, SCHEMA, self._records(None, everything))
            elif file.suffix == ".json":
                import json

                text = json.dumps(self.as_dict(), indent=2)
                unfinished.write_text(text + "\n", encoding="utf-8")
            else:
                with unfinished.open("w", encoding="utf-8") as lines:
                    lines.writelines(self._fact_lines())

    def figure(self) -> Figure:
        """A picture of the world: which atoms are true, for some objects of each block."""
        from liftgbp.report.world_picture import picture_of

        return picture_of(self)

    def as_dict(self, queries: Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        undecided = self.undecided
        asked = tuple(queries) or tuple(self._listed())
        return {
            "model": self.model.name,
            "domains": self.sizes,
            "score": self.score,
            "exact_score": str(self.exact_score),
            "upper": None if math.isinf(self.upper) else self.upper,
            "gap": None if math.isinf(self.gap) else self.gap,
            "proven": self.proven,
            "reason": self.reason,
            "fewest": self.fewest,
            "rules": [rule.as_dict() for rule in self.rules],
            "structure": None if self.structure is None else self.structure.as_dict(),
            "numbers": self.numbers,
            "true": {query: self._some(query) for query in asked},
            "true_numbers": {query: self._number_of(query) for query in asked},
            "undecided": None if undecided is None else undecided[:SHOWN_ATOMS],
            "undecided_number": None if undecided is None else len(undecided),
            "free": self.free,
            "notes": list(self.notes),
            "seed": self.question.budget.seed,
            "seconds": self.seconds,
        }

    @cached_property
    def numbers(self) -> dict[str, int]:
        """How many atoms of each open predicate are true, or do not have their first value."""
        return {name: self.world.number(name) for name in self._open_predicates()}

    @property
    def numbers_text(self) -> str:
        """The same in words, out of how many atoms; those without objects are counted together.

        >>> import liftgbp
        >>> world = liftgbp.best_world(liftgbp.load("example:couples"), {"person": 9})
        >>> world.numbers_text
        'true atoms: 8 of 81 (married)'
        """
        predicates = [self.model.predicates[name] for name in self.numbers]
        parts = [
            f"{short_count(self.numbers[p.name])} of {short_count(self._atom_number(p))} ({p.name})"
            for p in predicates
            if p.sorts
        ]
        single = [predicate for predicate in predicates if not predicate.sorts]
        if single:
            number = sum(self.numbers[predicate.name] for predicate in single)
            together = f"{count_text(number)} of {count_text(len(single))}"
            parts.append(f"{together} (without objects)" if self.model.sorts else together)
        return f"{self._what_is_true}: {', '.join(parts)}" if parts else ""

    @property
    def _what_is_true(self) -> str:
        if any(p.sorts or p.values == BOOLEAN for p in self.model.predicates.values()):
            return "true atoms"
        return "variables that do not have their first value"

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to know."""
        notes = list(self.world.problem.evidence.notes)
        if not any(self.numbers.values()):
            notes.append(f"it has no {self._what_is_true} that are not observed")
        if self.fewest:
            notes.append(f"among best worlds, it is one with the fewest {self._what_is_true}")
        elif self.undecided is None or self.undecided:
            notes.append(
                f"other worlds may have the same score, perhaps with fewer {self._what_is_true}"
            )
        if self.free:
            named = some_of(
                [
                    f"{count_text(number)} of {name}" if self.model.predicates[name].sorts else name
                    for name, number in self.free.items()
                ]
            )
            notes.append(f"no rule touches some atoms ({named}): they have their first value")
        return tuple(notes)

    # --- inside

    def _open_predicates(self) -> list[str]:
        closed = self.world.problem.evidence.closed
        return [
            name
            for name, predicate in self.model.predicates.items()
            if predicate.kind == "relation" and name not in closed
        ]

    def _atom_number(self, predicate: Predicate) -> int:
        return math.prod(self.sizes[sort] for sort in predicate.sorts)

    def _listed(self) -> list[str]:
        """Queries for all atoms of predicates with few enough of them to be listed."""
        variables = "xyzuvw"
        return [
            applied(name, _variables(self.model.predicates[name], variables))
            for name in self._open_predicates()
            if 0 < self.numbers[name] <= SHOWN_ATOMS
        ]

    def _some(self, query: str) -> list[str]:
        rows = WorldAtoms(self.world, some=True).of_query(query)
        return [self._fact(*row) for row in islice(rows, SHOWN_ATOMS)]

    def _number_of(self, query: str) -> int:
        """How many atoms of a query do not have their first value."""
        asked = checked_atom_query(query, self.model)
        (atom,) = asked.atoms
        if not atom.args:
            return self.world.number(atom.predicate)  # of a network, there are many of these
        values = self.model.predicates[atom.predicate].values
        nothing = (Number(0.0),) * len(values)
        rule = TableParfactor(asked.atoms, nothing, asked.restrictions, asked.distinct)
        return sum(self.world.tally(rule)[1:])

    def _named(self, facts: Any) -> Any:
        """Facts with a name for each unnamed object."""
        if isinstance(facts, Mapping):
            return {self._named(fact): value for fact, value in facts.items()}
        if not isinstance(facts, str) or not UNNAMED.search(facts):
            return facts
        if self.world.problem.evidence.known:
            raise InputError(
                f"{facts}: unnamed objects are not alike here, as evidence counts some of them; "
                "put an object into the evidence by name and ask about that"
            )
        return UNNAMED.sub(NAMED, facts)

    def _tally(self, text: str) -> tuple[int, ...]:
        count = parse_count(text)
        if count is not None and (count.operator or count.conditions):
            raise QueryError(f"{text}: ask for the count itself, as in #{{x : smokes(x)}}")
        asked = parse_query(text) if count is None else count.body
        terms = checked_query(asked, self.model)
        query = terms.query
        if query.given or query.condition is not None:
            raise QueryError(f"{text}: a world has no conditions; write a => b")
        return self.world.tally(query.rule)

    def _ground_atom(self, text: str) -> tuple[Predicate, tuple[int, ...]]:
        if not isinstance(text, str):
            raise wrong_type("atom", "a ground atom, as in 'smokes(Anna)'", text)
        quoted = UNNAMED.sub(r'"#\1"', text)
        try:
            asked = parse_query(quoted)
        except QueryError as error:
            if quoted == text:
                raise
            # The place is that in another text.
            raise QueryError(f"{text}: {error.message}") from None
        if len(asked.atoms) != 1 or asked.formula is not None or asked.given:
            raise QueryError(f"{text} must be one ground atom, as in smokes(Anna)")
        (atom,) = asked.atoms
        if self.model.predicates.get(atom.predicate) is None:
            self.model.check_atom(atom, QueryError)
        predicate = self.model.predicates[atom.predicate]
        if len(atom.args) != len(predicate.sorts):
            self.model.check_atom(atom, QueryError)
        return predicate, tuple(
            self._object(text, term, sort)
            for term, sort in zip(atom.args, predicate.sorts, strict=True)
        )

    def _object(self, text: str, term: Constant | Variable, sort: str) -> int:
        if isinstance(term, Variable):
            raise QueryError(f"{text} has a variable; use true(), count() or holds()")
        numbers = self.model.object_numbers(sort)
        if term.name in numbers:
            return numbers[term.name]
        unnamed = re.fullmatch(r"#(\d+)", term.name)
        number = int(unnamed[1]) - 1 if unnamed else -1
        if not 0 <= number < self.sizes[sort]:
            raise QueryError(f"{text}: {sort} has no object {term.name}")
        return number

    @property
    def _atoms(self) -> WorldAtoms:
        return WorldAtoms(self.world)

    def _rows(self, query: str | None, everything: bool = False) -> Iterator[Row]:
        """The atoms that do not have their first value, of open predicates or of a query."""
        if query is not None:
            yield from self._atoms.of_query(query)
            return
        for name in self._open_predicates():
            predicate = self.model.predicates[name]
            atoms = self._atoms.every(predicate) if everything else self._atoms.true(predicate)
            yield from atoms

    def _records(self, query: str | None, everything: bool) -> Iterator[tuple[str, str, str, bool]]:
        observed = self._observed
        for predicate, objects, value in self._rows(query, everything):
            arguments = (
                object_text(self.model, sort, number)
                for sort, number in zip(predicate.sorts, objects, strict=True)
            )
            seen = objects in observed.get(predicate.name, ())
            yield predicate.name, ",".join(arguments), predicate.values[value], seen

    @cached_property
    def _observed(self) -> Mapping[str, frozenset[tuple[int, ...]]]:
        facts = self.world.problem.facts()
        return {name: frozenset(map(tuple, r.args.tolist())) for name, r in facts.items()}

    def _fact_lines(self) -> Iterator[str]:
        for row in self._rows(None):
            yield UNNAMED.sub(NAMED, self._fact(*row)) + "\n"

    def _fact(self, predicate: Predicate, objects: tuple[int, ...], value: int) -> str:
        atom = self._text(predicate.name, objects)
        return atom if predicate.values == BOOLEAN else f"{atom} = {predicate.values[value]}"

    def _text(self, predicate: str, objects: tuple[int, ...]) -> str:
        return ground_atom_text(self.model, predicate, objects)

    # --- what notebooks show

    def _headline(self) -> str:
        proof = "proven" if self.proven else f"gap {self.gap:.6g}"
        return f"{self.model.name}{sizes_text(self.sizes)}: score {self.score:.10g}, {proof}"

    def _body(self) -> Iterator[Content]:
        yield badge(GOOD if self.proven else BAD if math.isinf(self.gap) else DOUBTFUL, self.reason)
        if self.structure is not None:
            yield from self.structure._body()
        rows = [
            (
                code(rule.text),
                "" if rule.satisfied is None else count_text(rule.satisfied),
                "" if rule.violated is None else count_text(rule.violated),
                f"{rule.score:.10g}",
            )
            for rule in self.rules[:MOST_ROWS]
        ]
        heads = ("rule", "satisfied", "violated", "score")
        yield table(heads, rows, numbers=[1, 2, 3], total=len(self.rules))
        yield note(self.numbers_text)
        single = []
        for query in self._listed():
            if "(" not in query:
                single += self._some(query)
            elif self.numbers[query.partition("(")[0]] <= MOST_ROWS:
                yield note("true: " + ", ".join(self._some(query)))
        if single:
            yield note(some_of(single, MOST_ROWS))
        yield from map(note, self.notes)


def _rule_in(world: World, rule: Rule) -> RuleInWorld:
    problem, states = world.problem, world.tally(rule)
    logs = log_weights(rule, problem.sizes, problem.model.weights)
    # What hard rules rule out does not occur in a world.
    parts = (n * exact(log) for n, log in zip(states, logs, strict=True) if n)
    score = float(sum(parts, Fraction(0)))
    text, groundings = rule_text(rule), sum(states)
    if isinstance(rule, TableParfactor):
        return RuleInWorld(text, None, groundings, None, None, score)
    violated, satisfied = states
    return RuleInWorld(
        text, None if rule.weight is None else logs[1], groundings, satisfied, violated, score
    )


def _variables(predicate: Predicate, names: str) -> list[str]:
    return [names[k] if k < len(names) else f"{names[0]}{k}" for k in range(len(predicate.sorts))]


def _shown_value(predicate: Predicate, value: int) -> bool | str:
    return bool(value) if predicate.values == BOOLEAN else predicate.values[value]


def _number(score: Fraction | float) -> str:
    return f"{float(score):.10g}"
