"""The score of the worlds of a layout: whole-number tables over patterns, with counts.

One number orders worlds: first the fewest violated groundings of hard rules, then the score, then
the fewest true atoms. All weights are multiples of one fraction, so it is a whole number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from liftgbp.lift.shatter import NormalModel, ObjectClasses
from liftgbp.lift.shatter.assignments import rule_admits
from liftgbp.lift.shatter.rule_tables import Labels, LabelTable, RuleTables
from liftgbp.lift.shatter.ways import soft_ways
from liftgbp.lift.signature import objects_of
from liftgbp.model import ast
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError
from liftgbp.worlds.blocks.block_layout import (
    Layout,
    Pattern,
    Place,
    Placement,
    Spec,
    Ways,
    number_of_ways,
)
from liftgbp.worlds.blocks.block_tally import quantifier_depth
from liftgbp.worlds.optimum import exact, log_weights

Whole = npt.NDArray[np.object_]
"""An array of whole numbers of any size."""

Scope = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """How violations, weights and true atoms become one whole number.

    A violation costs `violation`, far more than all weights; a weight of one is `weight`, so that
    the smallest difference of scores is more than all atoms, of which there are `atoms`; a true
    atom costs one, or nothing where scores alone are asked for.
    """

    violation: int
    weight: Fraction
    true_atom: int = 1
    atoms: int = 0

    @classmethod
    def of(cls, normal: NormalModel) -> Scale:
        """The scale of a model over domains of some sizes."""
        problem = normal.problem
        sizes, named = problem.sizes, problem.model.weights
        unit, spread = 1, Fraction(0)
        for rule in problem.model.rules:
            scope = problem.model.scope(rule)
            groundings = math.prod(sizes[scope.sorts[name]] for name in scope.free)
            logs = [exact(own) for own in log_weights(rule, sizes, named) if own > -math.inf]
            unit = math.lcm(unit, *(own.denominator for own in logs))
            spread += groundings * max(map(abs, logs), default=Fraction(0))
        for relation in problem.evidence.soft.values():
            logs_of_facts = relation.log_potentials
            finite = [exact(own) for own in set(logs_of_facts[logs_of_facts > -np.inf].tolist())]
            unit = math.lcm(unit, *(own.denominator for own in finite))
            if finite:
                spread += len(logs_of_facts) * max(map(abs, finite))
        atoms = sum(math.prod(sizes[s] for s in p.sorts) for p in normal.predicates)
        weight = Fraction(unit * (atoms + 1))
        # Without violations no sum of numbers is beyond a sixth of this, in either direction.
        return cls(6 * (math.ceil(spread * weight) + atoms + 1), weight, 1, atoms)

    @property
    def hardly(self) -> int:
        """Numbers up to this have a violation in them, and all others have none."""
        return -self.violation // 2

    def of_scores(self) -> Scale:
        """The scale without costs of true atoms: the smallest one in which weights are whole."""
        weight = Fraction(self.weight.numerator, self.atoms + 1)
        return Scale(self.violation, weight, 0, self.atoms)

    def number(self, log_weight: float) -> int:
        """What a state with this weight counts."""
        return -self.violation if log_weight == -math.inf else int(exact(log_weight) * self.weight)


class BlockTerms:
    """The worth of the worlds of a layout, for any sizes of its rows.

    patterns  those of the atoms that rules are about and evidence leaves open
    """

    def __init__(self, normal: NormalModel, layout: Layout, scale: Scale, most: int) -> None:
        """More than `most` placements of one rule are a `CapacityError`."""
        self._normal, self.layout = normal, layout
        self._most = most
        self._number = cache(scale.number)
        self._axis: dict[Pattern, int] = {}
        self._ranges: list[int] = []
        self._terms: dict[Scope, dict[Spec, Whole]] = {}
        sizes = normal.class_sizes
        self.room = {
            k: min(sizes[cls] // row.classes.count(cls) for cls in row.classes)
            for k, row in enumerate(layout.rows)
        }
        for rule in normal.model.rules:
            self._add_rule(rule)
        self._add_uncertain()
        for axis, pattern in enumerate(self._axis):
            costs = np.array([0] + [-1] * (self._ranges[axis] - 1), dtype=object)
            self._add((axis,), self._spec_of(pattern), costs)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns whose values are open; each is a variable."""
        return tuple(self._axis)

    @property
    def ranges(self) -> tuple[int, ...]:
        """The number of values of each variable."""
        return tuple(self._ranges)

    # --- terms

    def _add_rule(self, rule: ast.Rule) -> None:
        normal = self._normal
        scope = normal.model.scope(rule)
        tables = cache(RuleTables(normal.model, rule, normal.sizes, normal.table_cap))
        pins = {
            (sort, name): (self.layout.of_class[normal.class_of_constant(sort, name)][0], 0)
            for sort, name in scope.constants
        }
        classes = [normal.classes_of(scope.sorts[name]) for name in scope.free]
        choices = (sum(len(self.layout.of_class.get(k, ())) for k in own) for own in classes)
        if math.prod(choices) > self._most:
            # Each choice of blocks has a placement or more.
            raise CapacityError(f"a rule has more than {self._most} placements in blocks")
        asked = dict.fromkeys(scope.sorts[v.name] for v in scope.quantified)
        depth = quantifier_depth(rule.formula) if isinstance(rule, ast.WeightedFormula) else 0
        placements = self.layout.placements(
            classes,
            room=self.room,
            pins=list(pins.values()),
            depth=depth,
            asked=[cls for sort in asked for cls in normal.classes_of(sort)],
        )
        for number, placement in enumerate(placements):
            if number >= self._most:
                raise CapacityError(f"a rule has more than {self._most} placements in blocks")
            where = dict(zip(pins, placement.places, strict=False))
            way = dict(zip(scope.free, placement.places[len(pins) :], strict=True))
            if rule.distinct:
                own = {(scope.sorts[name], place) for name, place in way.items()}
                if len(own) < len(way):
                    continue
            if rule_admits(rule, scope.sorts, where, way):
                self._add_placed(tables, scope.sorts, tuple(asked), where, way, placement)

    def _add_placed(
        self,
        tables: Callable[[Labels], LabelTable],
        sorts: Mapping[str, str],
        asked: Sequence[str],
        where: Mapping[tuple[str, str], Place],
        way: Mapping[str, Place],
        placement: Placement,
    ) -> None:
        every = tuple(dict.fromkeys((*way.values(), *where.values(), *placement.others)))
        label = {place: k for k, place in enumerate(every)}
        sort_of = [self._normal.classes[self.layout.blocks[block][1]].sort for block, _ in every]
        atoms, table = tables(
            Labels(
                variables=tuple((name, label[place]) for name, place in way.items()),
                constants=tuple((key, label[place]) for key, place in where.items()),
                domains=tuple(
                    (sort, tuple(k for k, own in enumerate(sort_of) if own == sort))
                    for sort in asked
                ),
            )
        )
        patterns = [self.layout.pattern(p, [every[k] for k in args]) for p, args in atoms]
        self._add_table(patterns, table, placement.spec)

    def _add_table(self, patterns: Sequence[Pattern], table: Floats, spec: Spec) -> None:
        """Add a table with an axis for each of some patterns, which may be observed, or equal."""
        values = [self._normal.observations.value(self.layout.objects(own)) for own in patterns]
        table = table[tuple(slice(None) if v is None else v for v in values)]
        axes = [self._variable(o) for o, v in zip(patterns, values, strict=True) if v is None]
        scope = tuple(sorted(set(axes)))
        index = np.indices([self._ranges[v] for v in scope])
        aligned = np.asarray(table[tuple(index[scope.index(v)] for v in axes)])
        whole = np.array([self._number(own) for own in aligned.ravel().tolist()], dtype=object)
        self._add(scope, spec, whole.reshape([self._ranges[v] for v in scope]))

    def _variable(self, pattern: Pattern) -> int:
        if pattern not in self._axis:
            self._axis[pattern] = len(self._axis)
            self._ranges.append(self._normal.ranges[pattern[0]])
        return self._axis[pattern]

    def _add(self, scope: Scope, spec: Spec, table: Whole) -> None:
        own = self._terms.setdefault(scope, {})
        # A sum of arrays without axes would be a plain number.
        own[spec] = np.asarray(own[spec] + table if spec in own else table, dtype=object)

    def _add_uncertain(self) -> None:
        """Uncertain facts: by the patterns of what they are about."""
        normal = self._normal
        if not normal.problem.evidence.soft:
            return
        objects = ObjectClasses(normal.problem, normal.classes, normal.class_index)
        for way in soft_ways(objects, normal.observations):
            if not way.atoms:
                number = way.copies(normal.class_sizes)
                self._add((), (), np.array(number * self._number(float(way.table)), dtype=object))
                continue
            (atom,) = way.atoms
            own = list(objects_of(way.atoms))
            classes = [[cls] for cls, _ in own]
            for placed in self.layout.placements(classes, room=self.room, different=True):
                where = dict(zip(own, placed.places, strict=True))
                pattern = self.layout.pattern(atom[0], [where[obj] for obj in atom[1]])
                self._add_table([pattern], way.table, placed.spec)

    def _spec_of(self, pattern: Pattern) -> Spec:
        """How many ground atoms have a pattern."""
        used: dict[int, set[int]] = {}
        for block, rank in pattern[1]:
            used.setdefault(self.layout.blocks[block][0], set()).add(rank)
        rows = self.layout.rows
        return tuple(Ways(row, rows[row].ordered, (), (len(own),)) for row, own in used.items())

    # --- what they say

    def factors(self, sizes: Sequence[int]) -> list[tuple[Scope, Whole]]:
        """The table of each set of variables, for these sizes, where it counts."""
        number = cache(lambda spec: number_of_ways(spec, sizes))
        found = []
        for scope, tables in self._terms.items():
            counted = [(n, table) for spec, table in tables.items() if (n := number(spec))]
            if counted and scope:
                found.append((scope, sum(n * table for n, table in counted)))
        return found

    def polynomial(self, values: Sequence[int]) -> list[tuple[Spec, int]]:
        """What worlds with these values are worth: the sum of numbers of ways times numbers."""
        total: dict[Spec, int] = {}
        for scope, tables in self._terms.items():
            state = tuple(values[v] for v in scope)
            for spec, table in tables.items():
                if entry := table[state]:
                    total[spec] = total.get(spec, 0) + entry
        return list(total.items())

    @cached_property
    def degree(self) -> int:
        """The largest number of indices of a term."""
        specs = (spec for tables in self._terms.values() for spec in tables)
        return max((sum(sum(ways.new) for ways in spec) for spec in specs), default=0)


def worth(polynomial: Iterable[tuple[Spec, int]], sizes: Sequence[int]) -> int:
    """What a polynomial says for some sizes."""
    return sum(number * number_of_ways(spec, sizes) for spec, number in polynomial)
