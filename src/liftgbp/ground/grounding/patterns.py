"""How the variables of a rule can coincide, and which listed atoms drive its joins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from liftgbp.ground.grounding.atom_states import Facts
from liftgbp.lift.shatter.assignments import assignments, check_number_of_ways, falling, rule_admits
from liftgbp.lift.shatter.normal import Obj, ObjectClass
from liftgbp.lift.shatter.rule_tables import Labels
from liftgbp.model.ast import Rule
from liftgbp.model.model import Model
from liftgbp.support.arrays import Floats, Ints, distinct


@dataclass(frozen=True, slots=True)
class Varying:
    """An object that varies with the substitution; its position in a row."""

    number: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """An object that the rule mentions by name; its number."""

    number: int


Place = Varying | Fixed


@dataclass(frozen=True, slots=True)
class Pattern:
    """All substitutions whose variables coincide in one way; each is a row of objects.

    variables  the column or the named object that each variable stands for
    labels     the same, as tables of the rule need it
    places     the column or the named object behind each label
    sorts      the sort of each column
    domains    how many objects there are for each column
    different  pairs of columns that must not be equal
    excluded   the named objects that each column must not be
    count      the number of substitutions, exactly
    """

    variables: dict[str, Place]
    labels: Labels
    places: tuple[Place, ...]
    sorts: tuple[str, ...]
    domains: tuple[int, ...]
    different: tuple[tuple[int, int], ...]
    excluded: tuple[tuple[int, ...], ...]
    count: int


class Patterns:
    """The patterns of one rule without quantifiers."""

    def __init__(
        self,
        model: Model,
        rule: Rule,
        sizes: Mapping[str, int],
        number_of: Callable[[str, str], int],
    ) -> None:
        self._rule = rule
        self._sizes = sizes
        scope = model.scope(rule)
        self._sorts, self._variables = scope.sorts, scope.free
        self._numbers = {key: number_of(*key) for key in scope.constants}
        named = Counter(sort for sort, _ in scope.constants)
        self._classes = [ObjectClass(sort, 1, name) for sort, name in scope.constants]
        self._classes += [
            ObjectClass(sort, sizes[sort] - named[sort])
            for sort in dict.fromkeys(self._sorts.values())
            if sizes[sort] > named[sort]
        ]
        self._constants: dict[tuple[str, str], Obj] = {
            key: (k, 0) for k, key in enumerate(scope.constants)
        }

    def __iter__(self) -> Iterator[Pattern]:
        check_number_of_ways(self._rule, len(self._variables), self._ways())
        for way in self._ways():
            if rule_admits(self._rule, self._sorts, self._constants, way):
                yield self._pattern(way)

    def _ways(self) -> Iterator[dict[str, Obj]]:
        classes_of = {
            variable: [k for k, c in enumerate(self._classes) if c.sort == self._sorts[variable]]
            for variable in self._variables
        }
        sizes = [c.size for c in self._classes]
        return assignments(self._variables, classes_of, sizes, distinct=self._rule.distinct)

    def _pattern(self, way: Mapping[str, Obj]) -> Pattern:
        objects = list(dict.fromkeys((*way.values(), *self._constants.values())))
        label = {obj: k for k, obj in enumerate(objects)}
        columns = [obj for obj in objects if self._classes[obj[0]].constant is None]
        place: dict[Obj, Place] = {obj: Varying(k) for k, obj in enumerate(columns)}
        place |= {obj: Fixed(self._numbers[key]) for key, obj in self._constants.items()}
        sorts = [self._classes[cls].sort for cls, _ in columns]
        taken = Counter(cls for cls, _ in columns)
        return Pattern(
            variables={name: place[obj] for name, obj in way.items()},
            labels=Labels(
                variables=tuple((name, label[obj]) for name, obj in way.items()),
                constants=tuple((key, label[obj]) for key, obj in self._constants.items()),
                domains=(),
            ),
            places=tuple(place[obj] for obj in objects),
            sorts=tuple(sorts),
            domains=tuple(self._sizes[sort] for sort in sorts),
            different=tuple(
                (i, j) for j in range(len(sorts)) for i in range(j) if sorts[i] == sorts[j]
            ),
            excluded=tuple(
                tuple(number for (own, _), number in self._numbers.items() if own == sort)
                for sort in sorts
            ),
            count=math.prod(falling(self._classes[k].size, n) for k, n in taken.items()),
        )


# --- drivers


@dataclass(frozen=True, slots=True)
class Drivers:
    """Sets of atoms, by position: unless all atoms of some set are listed, the table is `constant`.

    No set contains another. The empty set means that every substitution matters.
    """

    sets: tuple[frozenset[int], ...]
    constant: float


def drivers_of(table: Floats, facts: Sequence[Facts]) -> Drivers:
    """The smallest such sets for a log table whose axis k is an atom with `facts[k]`.

    Where unlisted atoms are unknown, listing one only removes entries from the table. So a driver
    is an atom of a predicate whose atoms all have a value, and listed ones another than most.
    """
    unlisted = [np.array([own.default]) if own.complete else np.arange(own.range) for own in facts]
    entries = table[np.ix_(*unlisted)]
    if not np.all(entries == entries.flat[0]):
        return Drivers((frozenset(),), 0.0)
    constant = float(entries.flat[0])
    listed = [distinct(own.values) for own in facts]
    either = list(map(np.union1d, unlisted, listed))

    def is_constant(states: Sequence[Ints]) -> bool:
        """Whether nothing depends on atoms with these states."""
        return bool(np.all(table[np.ix_(*states)] == constant))

    telling = [k for k, own in enumerate(facts) if own.complete and len(own.values)]
    # Most rules are clauses, which need all of these atoms, so that case comes first.
    needed = frozenset(
        k for k in telling if is_constant([*either[:k], unlisted[k], *either[k + 1 :]])
    )
    others = [k for k in telling if k not in needed]
    found: list[frozenset[int]] = []
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            atoms = needed.union(more)
            covered = any(smaller <= atoms for smaller in found)
            states = [listed[k] if k in atoms else own for k, own in enumerate(unlisted)]
            if not covered and not is_constant(states):
                found.append(atoms)
    return Drivers(tuple(found), constant)
