"""How much work grounding would be, rule by rule, without listing anything."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from liftgbp.evidence import Problem
from liftgbp.grounding.atom_states import Setting, all_facts
from liftgbp.grounding.clauses_of_terms import with_one_constant
from liftgbp.grounding.join import Database
from liftgbp.grounding.rules import RuleGrounder
from liftgbp.model.ast import Rule
from liftgbp.progress import Progress, silent
from liftgbp.shatter import TABLE_CAP


@dataclass(frozen=True, slots=True)
class RuleCount:
    """What a rule grounds to.

    substitutions  all ways to choose its objects
    visited        those that a join over the facts finds; the others are one constant
    unsettled      those of them that depend on something unknown: each becomes a factor
    width          the most unknown atoms of one of these factors; those below quantifiers not
                   counted
    exact          whether `visited` and `unsettled` were counted; otherwise they are bounds
    """

    rule: Rule
    substitutions: int
    visited: int
    unsettled: int
    width: int
    exact: bool


def rule_counts(
    problem: Problem,
    *,
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> tuple[RuleCount, ...]:
    """The counts of each rule of a model under its evidence.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("*friends(person,person)\\nsmokes(person)\\n1 friends(x,y) => smokes(y)")
    >>> facts = "friends(Anna,Bob)\\nfriends(Bob,Carl)\\nsmokes(Carl)"
    >>> (count,) = rule_counts(Problem.of(model, facts, {"person": 1000}))
    >>> count.substitutions, count.visited, count.unsettled
    (1000000, 2, 1)
    """
    model = problem.model
    setting = Setting(problem, all_facts(problem), table_cap)
    found = []
    with closing(Database(setting.facts)) as database:
        for done, rule in enumerate(model.rules):
            progress("counting", done, len(model.rules))
            parts = with_one_constant(model, rule, problem.sizes)
            counts = [RuleGrounder(setting, one, database).counts() for one in parts]
            total, visited, unsettled, width, exact = zip(*counts, strict=True)
            found.append(
                RuleCount(rule, max(total), sum(visited), sum(unsettled), max(width), all(exact))
            )
    return tuple(found)
