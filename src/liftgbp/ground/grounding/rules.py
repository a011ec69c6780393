"""The ground factors of one rule under evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from liftgbp.evidence.problem import contradiction
from liftgbp.ground.grounding.atom_states import Facts, GroundingTask, open_facts
from liftgbp.ground.grounding.join import Database, PlacedAtom, Selection, states_of
from liftgbp.ground.grounding.patterns import Drivers, Pattern, Patterns, Place, Varying, drivers_of
from liftgbp.ground.grounding.quantifiers import Expansion, GroundAtom, Skeleton
from liftgbp.lift.shatter.rule_tables import RuleTables, drop_indifferent
from liftgbp.model.ast import Rule
from liftgbp.support.arrays import Floats, Ints, stable_order
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.support.limits import checkpoint

MOST_ROWS = 10_000_000
"""The most substitutions of one rule that are listed one by one, which bounds the memory."""

LISTED_AT_ONCE = 1_000_000
"""Up to so many substitutions are listed before it is known which of them the evidence settles.

The others are counted first: of 10^8 pairs of papers, 10^5 may have anything unknown about them.
"""

MOST_COUNTED = 1_000_000_000
"""The most substitutions that are counted, which takes some ten seconds."""


@dataclass(frozen=True, eq=False, slots=True)
class AtomFactors:
    """Factors with one log table, over atoms of the same predicates.

    Axis k of the table of each factor is an atom of predicate number `predicates[k]`, and row i of
    `args[k]` are the objects of this atom in factor i.
    """

    predicates: tuple[int, ...]
    args: tuple[Ints, ...]
    table: Floats


@dataclass(slots=True)
class Grounded:
    """What rules ground to: factors, and how many factors have become which log constant."""

    factors: list[AtomFactors] = field(default_factory=list)
    constants: Counter[float] = field(default_factory=Counter)

    @property
    def log_constant(self) -> float:
        """The sum of all constants, rounded once per different constant."""
        return math.fsum(value * count for value, count in self.constants.items())

    def add(self, factors: Iterable[tuple[tuple[GroundAtom, ...], Floats]]) -> None:
        """Add single factors; those with equal tables become one array."""
        found: dict[tuple[tuple[int, ...], bytes], tuple[Floats, list[tuple[GroundAtom, ...]]]] = {}
        for atoms, table in factors:
            key = (tuple(predicate for predicate, _ in atoms), table.tobytes())
            found.setdefault(key, (table, []))[1].append(atoms)
        for (predicates, _), (table, scopes) in found.items():
            args = tuple(
                np.array([scope[k][1] for scope in scopes], np.int64).reshape(len(scopes), -1)
                for k in range(len(predicates))
            )
            self.factors.append(AtomFactors(predicates, args, table))


class RuleGrounder:
    """Grounds one rule, pattern by pattern."""

    def __init__(self, task: GroundingTask, rule: Rule, database: Database) -> None:
        self._task = task
        self._rule = rule
        self._database = database
        skeleton = Skeleton(task.model, rule)
        self._facts = (*task.facts, *(open_facts(2) for _ in skeleton.quantified))
        self._patterns = Patterns(skeleton.model, skeleton.rule, task.sizes, task.object_number)
        self._tables = RuleTables(skeleton.model, skeleton.rule, task.sizes, task.table_cap)
        self._expansion = Expansion(task, rule)
        self._rows = 0

    def __call__(self, result: Grounded) -> None:
        """Add the factors of this rule to the result."""
        for pattern, table, drivers, selections in self._selections():
            self._ground(pattern, table, drivers, selections, result)

    def counts(self) -> tuple[int, int, int, int, bool]:
        """The numbers of a `RuleCount`, without listing anything."""
        total = visited = unsettled = width = 0
        exact = True
        for pattern, table, _, selections in self._selections():
            total += pattern.count
            for selection in selections:
                bound = self._database.bound(selection, MOST_COUNTED)
                if bound > MOST_COUNTED:
                    visited, unsettled, exact = visited + bound, unsettled + bound, False
                    width = max(width, len(selection.atoms))
                    continue
                for code, count in self._database.counts(selection).items():
                    kept, _ = sliced(selection.atoms, table, code)
                    visited += count
                    unsettled += count if kept else 0
                    width = max(width, len(kept))
        return total, visited, unsettled, width, exact

    def _selections(self) -> Iterator[tuple[Pattern, Floats, Drivers, list[Selection]]]:
        return selections_of(self._patterns, self._tables, self._facts)

    def _ground(
        self,
        pattern: Pattern,
        table: Floats,
        drivers: Drivers,
        selections: Sequence[Selection],
        result: Grounded,
    ) -> None:
        others = pattern.count
        for selection in selections:
            others -= self._select(selection, table, result)
        if others:
            if drivers.constant == -np.inf:
                raise self._contradiction(pattern, self._other_row(pattern, selections))
            result.constants[drivers.constant] += others

    def _select(self, selection: Selection, table: Floats, result: Grounded) -> int:
        """Add the factors of the substitutions in a selection; returns how many these are."""
        bound = self._database.bound(selection, MOST_COUNTED)
        if bound <= LISTED_AT_ONCE:
            rows, codes = self._database.rows(selection)
            self._check_rows(len(rows))
            for code, members in _groups(codes):
                kept, left = sliced(selection.atoms, table, code)
                self._add(selection.pattern, rows[members], kept, left, result)
            return len(rows)
        if bound > MOST_COUNTED:
            self._check_rows(bound)
        checkpoint()
        counts = self._database.counts(selection)
        slices = {code: sliced(selection.atoms, table, code) for code in counts}
        unsettled = [code for code, (kept, _) in slices.items() if kept]
        self._check_rows(sum(counts[code] for code in unsettled))
        for code, (kept, left) in slices.items():
            if not kept and left == -np.inf:
                (first,), _ = self._database.rows(selection, [code], 1)
                raise self._contradiction(selection.pattern, tuple(first.tolist()))
            if not kept:
                result.constants[float(left)] += counts[code]
        rows, codes = self._database.rows(selection, unsettled)
        for code, members in _groups(codes):
            self._add(selection.pattern, rows[members], *slices[code], result)
        return sum(counts.values())

    def _check_rows(self, more: int) -> None:
        self._rows += more
        if self._rows > MOST_ROWS:
            raise CapacityError(
                f"this rule has more than {MOST_ROWS} substitutions that the evidence does not "
                "settle (--dry-run counts them); make a predicate closed-world (--closed), use "
                "fewer objects, or give evidence about few objects, so that classes of objects "
                "suffice (--via lifted)",
                self._rule.span,
            )

    def _add(
        self,
        pattern: Pattern,
        rows: Ints,
        kept: Sequence[PlacedAtom],
        left: Floats,
        result: Grounded,
    ) -> None:
        """Add the factors of substitutions whose atoms have equal states: they share a table."""
        if any(atom.predicate >= len(self._task.facts) for atom in kept):
            self._expand(pattern, rows, result)
        elif kept:
            result.factors.append(_factors(kept, rows, left))
        else:
            if left == -np.inf:
                raise self._contradiction(pattern, min(map(tuple, rows.tolist())))
            result.constants[float(left)] += len(rows)

    def _expand(self, pattern: Pattern, rows: Ints, result: Grounded) -> None:
        """Add the factors of substitutions under which quantified formulas matter."""
        found: list[tuple[tuple[GroundAtom, ...], Floats]] = []
        for row in sorted(map(tuple, rows.tolist())):
            atoms, table = self._expansion(_substitution(pattern, row))
            if atoms:
                found.append((atoms, table))
            elif table == -np.inf:
                raise self._contradiction(pattern, row)
            else:
                result.constants[float(table)] += 1
        result.add(found)

    def _contradiction(self, pattern: Pattern, row: Sequence[int]) -> ContradictionError:
        return contradiction(self._task.problem, self._rule, _substitution(pattern, row))

    def _other_row(self, pattern: Pattern, selections: Sequence[Selection]) -> tuple[int, ...]:
        """The first substitution of a pattern that is in no selection."""
        taken = {
            tuple(row)
            for selection in selections
            for row in self._database.rows(selection)[0].tolist()
        }
        return next(row for row in _rows_of(pattern, len(taken) + 1) if row not in taken)


def selections_of(
    patterns: Patterns, tables: RuleTables, facts: Sequence[Facts]
) -> Iterator[tuple[Pattern, Floats, Drivers, list[Selection]]]:
    """For each pattern of a rule, the table of the rule and the substitutions that matter."""
    for pattern in patterns:
        label_atoms, table = tables(pattern.labels)
        atoms = tuple(
            PlacedAtom(number, tuple(pattern.places[k] for k in labels), facts[number])
            for number, labels in label_atoms
        )
        drivers = drivers_of(table, [atom.facts for atom in atoms])
        selections = [
            Selection(pattern, atoms, chosen, drivers.sets[:k])
            for k, chosen in enumerate(drivers.sets)
        ]
        yield pattern, table, drivers, selections


def sliced(
    atoms: Sequence[PlacedAtom], table: Floats, code: int
) -> tuple[list[PlacedAtom], Floats]:
    """The unknown atoms that a rule depends on where its atoms have these states, and its table."""
    states = states_of(atoms, code)
    unknown = [k for k, atom in enumerate(atoms) if states[k] == atom.facts.unknown]
    index = tuple(slice(None) if k in unknown else states[k] for k in range(len(states)))
    axes, left = drop_indifferent(tuple((k, ()) for k in unknown), table[index])
    return [atoms[k] for k, _ in axes], left


def _rows_of(pattern: Pattern, wanted: int) -> Iterator[tuple[int, ...]]:
    """At least as many substitutions as wanted, or all of them, over the first objects."""
    avoided = len(pattern.domains) + max(map(len, pattern.excluded), default=0)
    for row in product(*(range(min(size, wanted + avoided)) for size in pattern.domains)):
        if all(row[i] != row[j] for i, j in pattern.different) and not any(
            number in excluded for number, excluded in zip(row, pattern.excluded, strict=True)
        ):
            yield row


def _substitution(pattern: Pattern, row: Sequence[int]) -> dict[str, int]:
    return {
        name: row[place.number] if isinstance(place, Varying) else place.number
        for name, place in pattern.variables.items()
    }


def _groups(codes: Ints) -> Iterator[tuple[int, Ints]]:
    """Each code with the positions where it occurs."""
    order = stable_order(codes)
    ordered = codes[order]
    (ends,) = np.nonzero(np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)])
    yield from zip(ordered[ends].tolist(), np.split(order, ends + 1)[:-1], strict=True)


def _factors(atoms: Sequence[PlacedAtom], rows: Ints, table: Floats) -> AtomFactors:
    return AtomFactors(
        tuple(atom.predicate for atom in atoms),
        tuple(_objects(atom.places, rows) for atom in atoms),
        table,
    )


def _objects(places: Sequence[Place], rows: Ints) -> Ints:
    """The objects at some places, for each row."""
    objects = np.empty((len(rows), len(places)), np.int64)
    for k, place in enumerate(places):
        objects[:, k] = rows[:, place.number] if isinstance(place, Varying) else place.number
    return objects
