"""How much work grounding would be, rule by rule, without listing anything."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from liftgbp.evidence import Evidence
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
    factors        those of them that depend on something unknown
    width          the most unknown atoms of one of these factors; those below quantifiers not
                   counted
    exact          whether `visited` and `factors` were counted; otherwise they are bounds
    """

    rule: Rule
    substitutions: int
    visited: int
    factors: int
    width: int
    exact: bool

    @property
    def line(self) -> int | None:
        """The line of the rule, if it comes from a text."""
        return None if self.rule.span is None else self.rule.span.line

    @property
    def text(self) -> str:
        """The rule as it is written, if it comes from a text."""
        return "" if self.rule.span is None else " ".join(self.rule.span.text.split())

    def as_dict(self) -> dict[str, object]:
        """The numbers for JSON."""
        return {
            "line": self.line,
            "rule": self.text,
            "substitutions": self.substitutions,
            "visited": self.visited,
            "factors": self.factors,
            "atoms": self.width,
            "counted": self.exact,
        }


def rule_counts(
    evidence: Evidence,
    sizes: Mapping[str, int] | None = None,
    *,
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> tuple[RuleCount, ...]:
    """The counts of each rule of a model under its evidence.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("*friends(person,person)\\nsmokes(person)\\n1 friends(x,y) => smokes(y)")
    >>> evidence = Evidence.of(model, "friends(Anna,Bob)\\nfriends(Bob,Carl)\\nsmokes(Carl)")
    >>> (count,) = rule_counts(evidence, {"person": 1000})
    >>> count.substitutions, count.visited, count.factors
    (1000000, 2, 1)
    """
    domain_sizes = evidence.domain_sizes(sizes)
    setting = Setting(evidence, domain_sizes, all_facts(evidence, domain_sizes), table_cap)
    found = []
    with closing(Database(setting.facts)) as database:
        for done, rule in enumerate(evidence.model.rules):
            progress("counting", done, len(evidence.model.rules))
            parts = with_one_constant(evidence.model, rule, domain_sizes)
            counts = [RuleGrounder(setting, one, database).counts() for one in parts]
            total, visited, factors, width, exact = zip(*counts, strict=True)
            found.append(
                RuleCount(rule, max(total), sum(visited), sum(factors), max(width), all(exact))
            )
    return tuple(found)
