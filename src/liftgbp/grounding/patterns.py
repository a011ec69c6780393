"""The ways in which the variables of a rule can coincide with each other and with constants."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from liftgbp.errors import CapacityError
from liftgbp.model.ast import Rule
from liftgbp.model.model import Model
from liftgbp.model.scopes import constant_sorts, free_variables
from liftgbp.shatter.assignments import assignments, falling, rule_admits
from liftgbp.shatter.normal import Obj, ObjectClass
from liftgbp.shatter.rule_tables import Labels
from liftgbp.shatter.shattering import MOST_WAYS


@dataclass(frozen=True, slots=True)
class Column:
    """An object that differs from substitution to substitution, by position in a row."""

    number: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """An object with a number that the rule mentions by name."""

    number: int


Place = Column | Fixed


@dataclass(frozen=True, slots=True)
class Pattern:
    """All substitutions whose variables coincide in one way: a row of objects for each.

    variables  which column, or which named object, each variable is
    labels     the same for tables of the rule
    places     the column or the named object behind each label
    domains    how many objects there are for each column
    different  pairs of columns that must not be equal
    excluded   for each column the named objects that it must not be
    count      the number of substitutions, exactly
    """

    variables: dict[str, Place]
    labels: Labels
    places: tuple[Place, ...]
    domains: tuple[int, ...]
    different: tuple[tuple[int, int], ...]
    excluded: tuple[tuple[int, ...], ...]
    count: int


class Patterns:
    """Goes through the patterns of one rule that has no quantifiers inside."""

    def __init__(
        self,
        model: Model,
        rule: Rule,
        sizes: Mapping[str, int],
        number_of: Callable[[str, str], int],
    ) -> None:
        self._rule = rule
        self._sizes = sizes
        self._sorts = model.variable_sorts(rule)
        self._variables = free_variables(rule)
        mentioned = dict.fromkeys(constant_sorts(rule, model.predicates))
        self._numbers = {key: number_of(*key) for key in mentioned}
        named = Counter(sort for sort, _ in mentioned)
        self._classes = [ObjectClass(sort, 1, name) for sort, name in mentioned]
        self._classes += [
            ObjectClass(sort, sizes[sort] - named[sort])
            for sort in dict.fromkeys(self._sorts.values())
            if sizes[sort] > named[sort]
        ]
        self._constants: dict[tuple[str, str], Obj] = {
            key: (k, 0) for k, key in enumerate(mentioned)
        }

    def __iter__(self) -> Iterator[Pattern]:
        if sum(1 for _ in islice(self._ways(), MOST_WAYS + 1)) > MOST_WAYS:
            raise CapacityError(
                f"the {len(self._variables)} variables of this formula can coincide in more than "
                f"{MOST_WAYS} ways, above the cap; add '| distinct' or use fewer variables",
                self._rule.span,
            )
        for way in self._ways():
            if self._admits(way):
                yield self._pattern(way)

    def _ways(self) -> Iterator[dict[str, Obj]]:
        homes = {
            variable: [k for k, c in enumerate(self._classes) if c.sort == self._sorts[variable]]
            for variable in self._variables
        }
        sizes = [c.size for c in self._classes]
        return assignments(self._variables, homes, sizes, distinct=self._rule.distinct)

    def _admits(self, way: Mapping[str, Obj]) -> bool:
        return rule_admits(self._rule, self._sorts, self._constants, way)

    def _pattern(self, way: Mapping[str, Obj]) -> Pattern:
        objects = list(dict.fromkeys((*way.values(), *self._constants.values())))
        label = {obj: k for k, obj in enumerate(objects)}
        columns = [obj for obj in objects if self._classes[obj[0]].constant is None]
        place: dict[Obj, Place] = {obj: Column(k) for k, obj in enumerate(columns)}
        place |= {obj: Fixed(self._numbers[key]) for key, obj in self._constants.items()}
        sorts = [self._classes[home].sort for home, _ in columns]
        taken = Counter(home for home, _ in columns)
        return Pattern(
            variables={name: place[obj] for name, obj in way.items()},
            labels=Labels(
                variables=tuple((name, label[obj]) for name, obj in way.items()),
                constants=tuple((key, label[obj]) for key, obj in self._constants.items()),
                domains=(),
            ),
            places=tuple(place[obj] for obj in objects),
            domains=tuple(self._sizes[sort] for sort in sorts),
            different=tuple(
                (i, j) for j in range(len(sorts)) for i in range(j) if sorts[i] == sorts[j]
            ),
            excluded=tuple(
                tuple(number for (home, _), number in self._numbers.items() if home == sort)
                for sort in sorts
            ),
            count=math.prod(falling(self._classes[k].size, n) for k, n in taken.items()),
        )
