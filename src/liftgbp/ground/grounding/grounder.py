"""Grounding: the random field of a model, conditioned on evidence, and its size beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.ground.grounding.atom_states import Facts, GroundingTask, all_facts, open_facts
from liftgbp.ground.grounding.join import Database
from liftgbp.ground.grounding.network import STAND_IN, AtomTable, FactorBlock, GroundNetwork, merged
from liftgbp.ground.grounding.quantifiers import Chains
from liftgbp.ground.grounding.rules import AtomFactors, Grounded, RuleGrounder
from liftgbp.lift.shatter import TABLE_CAP
from liftgbp.lift.shatter.rule_tables import drop_indifferent
from liftgbp.model.ast import Predicate, Rule
from liftgbp.model.rewriting import with_one_constant
from liftgbp.model.writer import ground_atom_text
from liftgbp.support.arrays import Ints, distinct, group_rows, places_of_rows, row_keys
from liftgbp.support.errors import ContradictionError
from liftgbp.support.progress import Progress, silent


def ground_network(
    problem: Problem,
    *,
    table_cap: int = TABLE_CAP,
    chained: bool = False,
    progress: Progress = silent,
) -> GroundNetwork:
    """The ground factors that evidence leaves of a model, over the atoms it does not observe.

    If it may be `chained`, quantified formulas whose tables exceed the cap are taken apart into
    factors with stand-ins. These variables come after all others; their predicate is one more than
    the model has.

    >>> from liftgbp.evidence import Evidence, Relation
    >>> from liftgbp.model.parser import parse
    >>> model = parse("friends(person, person) \\n smokes(person) \\n"
    ...               "1.4 friends(x,y) ^ smokes(x) => smokes(y)")
    >>> friends = Relation(np.array([[0, 1], [1, 2]]), np.array([1, 1]))
    >>> evidence = Evidence(model, {"friends": friends}, closed=frozenset({"friends"}))
    >>> network = ground_network(Problem.of(model, evidence, {"person": 1000}))
    >>> network.atoms.args[:, 0].tolist(), network.blocks[0].scopes.tolist(), network.free
    ([0, 1, 2], [[0, 1], [1, 2]], {2: 997})
    """
    model, domain_sizes = problem.model, problem.sizes
    chains = Chains(len(model.predicates)) if chained else None
    facts = all_facts(problem)
    task = GroundingTask(problem, facts, table_cap, chains)
    grounded = Grounded()
    with closing(Database(task.facts)) as database:
        for done, rule in enumerate(model.rules):
            progress("grounding", done, len(model.rules))
            for one in with_one_constant(model, rule, domain_sizes):
                RuleGrounder(task, one, database)(grounded)
    for number, name in enumerate(model.predicates):
        if name in problem.evidence.soft:
            _add_soft_factors(task, number, grounded)
    progress("grounding", len(model.rules), len(model.rules))
    predicates = list(model.predicates.values())
    if chains is not None and chains.defined:
        grounded.add(chains.defined)
        count = len(chains.defined)
        predicates.append(Predicate(STAND_IN, (STAND_IN,)))
        domain_sizes = {**domain_sizes, STAND_IN: count}
        facts = (*facts, replace(open_facts(2), unobserved=count))
    network = _network(predicates, domain_sizes, facts, grounded.factors, grounded.log_constant)
    return replace(network, constants=dict(grounded.constants))


def _add_soft_factors(task: GroundingTask, number: int, result: Grounded) -> None:
    """Add uncertain observations of a predicate, as factors over single atoms.

    The factor of an observed atom is a constant.
    """
    predicate = list(task.model.predicates.values())[number]
    soft, facts = task.problem.evidence.soft[predicate.name], task.facts[number]
    # A column more, since atoms may be about no object.
    both = ([np.zeros(len(args), bool), *args.T] for args in (soft.args, facts.args))
    states = np.append(facts.values, facts.default)[places_of_rows(*both)]
    for state in distinct(states).tolist():
        rows = np.flatnonzero(states == state)
        tables, table_of = np.unique(soft.log_potentials[rows], axis=0, return_inverse=True)
        for k, table in enumerate(tables):
            args = soft.args[rows[table_of.ravel() == k]]
            rest = table if state == facts.unknown else np.asarray(table[state])
            if np.all(rest == -np.inf):
                raise _soft_contradiction(task, predicate.name, min(map(tuple, args.tolist())))
            axes, left = drop_indifferent(((number, ()),) * rest.ndim, rest)
            if axes:
                result.factors.append(AtomFactors((number,), (args,), left))
            else:
                result.constants[float(left)] += len(args)


def _soft_contradiction(
    task: GroundingTask, predicate: str, objects: tuple[int, ...]
) -> ContradictionError:
    atom = ground_atom_text(task.model, predicate, objects)
    return ContradictionError(
        f"soft evidence rules out every value that {atom} "
        "can have; drop one of the statements about it",
        task.problem.evidence.place(predicate, objects),
    )


# --- numbering atoms


def _network(
    declared: Sequence[Predicate],
    sizes: Mapping[str, int],
    facts: Sequence[Facts],
    factors: Sequence[AtomFactors],
    log_constant: float,
) -> GroundNetwork:
    """The network of these factors; its variables are the atoms that factors touch."""
    atoms, numbers = _numbered(declared, sizes, factors)
    blocks = [
        FactorBlock(np.stack(scope, axis=1), np.full(len(scope[0]), k))
        for k, scope in enumerate(numbers)
    ]
    free: Counter[int] = Counter()
    touched = np.bincount(atoms.predicate, minlength=len(facts)).tolist()
    for some, used in zip(facts, touched, strict=True):
        free[some.range] += some.unobserved - used
    return merged(
        np.array([some.range for some in facts], np.int64)[atoms.predicate],
        blocks,
        [some.table for some in factors],
        log_constant=log_constant,
        free={values: count for values, count in sorted(free.items()) if count},
        atoms=atoms,
    )


def _numbered(
    declared: Sequence[Predicate], sizes: Mapping[str, int], factors: Sequence[AtomFactors]
) -> tuple[AtomTable, list[list[Ints]]]:
    """The sorted atoms of all factors, and the numbers of the atoms on each axis of each factor."""
    uses: dict[int, list[tuple[int, int]]] = {}
    for k, some in enumerate(factors):
        for axis, number in enumerate(some.predicates):
            uses.setdefault(number, []).append((k, axis))
    scopes = [[np.zeros(0, np.int64)] * len(some.predicates) for some in factors]
    widest = max((len(p.sorts) for p in declared), default=0)
    predicates, objects = [np.zeros(0, np.int64)], [np.zeros((0, widest), np.int64)]
    total = 0
    for number, predicate in enumerate(declared):
        if number in uses:
            parts = [factors[k].args[axis] for k, axis in uses[number]]
            atoms, numbers = _unique_rows(parts, [sizes[sort] for sort in predicate.sorts])
            for (k, axis), part in zip(uses[number], numbers, strict=True):
                scopes[k][axis] = part + total
            args = np.full((len(atoms), widest), -1)
            args[:, : atoms.shape[1]] = atoms
            predicates.append(np.full(len(atoms), number))
            objects.append(args)
            total += len(atoms)
    return AtomTable(np.concatenate(predicates), np.concatenate(objects)), scopes


def _unique_rows(parts: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, list[Ints]]:
    """The different rows of all parts, sorted, and for each part the numbers of its rows."""
    rows = np.concatenate(parts)
    first, numbers = group_rows([row_keys(rows, sizes)])
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return rows[first], np.split(numbers, ends)


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
    problem: Problem, *, table_cap: int = TABLE_CAP, progress: Progress = silent
) -> tuple[RuleCount, ...]:
    """The counts of each rule of a model under its evidence.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("*friends(person,person)\\nsmokes(person)\\n1 friends(x,y) => smokes(y)")
    >>> facts = "friends(Anna,Bob)\\nfriends(Bob,Carl)\\nsmokes(Carl)"
    >>> (count,) = rule_counts(Problem.of(model, facts, {"person": 1000}))
    >>> count.substitutions, count.visited, count.factors
    (1000000, 2, 1)
    """
    model = problem.model
    task = GroundingTask(problem, all_facts(problem), table_cap)
    found = []
    with closing(Database(task.facts)) as database:
        for done, rule in enumerate(model.rules):
            progress("counting", done, len(model.rules))
            parts = with_one_constant(model, rule, problem.sizes)
            counts = [RuleGrounder(task, one, database).counts() for one in parts]
            total, visited, factors, width, exact = zip(*counts, strict=True)
            found.append(
                RuleCount(rule, max(total), sum(visited), sum(factors), max(width), all(exact))
            )
    return tuple(found)
