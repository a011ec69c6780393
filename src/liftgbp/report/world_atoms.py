"""The ground atoms of a world, one by one, where they are few enough to be written out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from liftgbp.lift.shatter.assignments import admits
from liftgbp.model.ast import Atom, Constant, Predicate, Query, Term, Variable
from liftgbp.model.queries import checked_atom_query
from liftgbp.support.errors import CapacityError
from liftgbp.support.limits import checkpoint
from liftgbp.worlds import World

MOST_ATOMS = 10**7
"""At most so many atoms of a world are written out."""

LOOKED_AT = 10**5
"""So many atoms are looked at where some are enough."""

Row = tuple[Predicate, tuple[int, ...], int]
"""A predicate, the numbers of the objects of one of its atoms, and the number of its value."""


@dataclass(frozen=True, slots=True)
class WorldAtoms:
    """Lists of atoms; more than `MOST_ATOMS` are refused before the first one.

    Where some are enough, none are refused, and the first `LOOKED_AT` are looked at.
    """

    world: World
    some: bool = False

    @property
    def _most(self) -> int:
        return LOOKED_AT if self.some else MOST_ATOMS

    def _check_number(self, text: str, number: int) -> None:
        if number > MOST_ATOMS and not self.some:
            raise CapacityError(
                f"{text}, too many to write out (the cap is {MOST_ATOMS:,}); ask for count() of a "
                "query, for the structure, or for the atoms of some objects"
            )

    def true(self, predicate: Predicate) -> Iterator[Row]:
        """The atoms of a predicate that do not have their first value."""
        number = self.world.number(predicate.name)
        self._check_number(f"{number:,} atoms of {predicate.name} are true", number)
        for objects, value in islice(self.world.atoms(predicate.name), self._most):
            checkpoint()
            yield predicate, objects, value

    def every(self, predicate: Predicate) -> Iterator[Row]:
        """All atoms of a predicate, in the order of their objects."""
        sizes = [self.world.problem.sizes[sort] for sort in predicate.sorts]
        number = math.prod(sizes)
        self._check_number(f"{predicate.name} has {number:,} atoms", number)
        for objects in _tuples(sizes, self._most):
            checkpoint()
            yield predicate, objects, self.world.value(predicate.name, objects)

    def of_query(self, text: str) -> Iterator[Row]:
        """The atoms of a query that do not have their first value."""
        query = checked_atom_query(text, self.world.problem.model)
        (atom,) = query.atoms
        predicate = self.world.problem.model.predicates[atom.predicate]
        sort_of = dict(zip(atom.args, predicate.sorts, strict=True))
        variables = {t.name: s for t, s in sort_of.items() if isinstance(t, Variable)}
        sizes = [self.world.problem.sizes[sort] for sort in variables.values()]
        if math.prod(sizes) > self.world.number(predicate.name):
            for row in self.true(predicate):
                way = self._way(atom, predicate, row[1])
                if way is not None and self._is_asked(query, variables, way):
                    yield row
            return
        number = math.prod(sizes)
        self._check_number(f"{text} has {number:,} atoms", number)
        for chosen in _tuples(sizes, self._most):
            checkpoint()
            way = dict(zip(variables, chosen, strict=True))
            if self._is_asked(query, variables, way):
                objects = tuple(
                    self._number(term, sort, way)
                    for term, sort in zip(atom.args, predicate.sorts, strict=True)
                )
                value = self.world.value(predicate.name, objects)
                if value:
                    yield predicate, objects, value

    def _number(self, term: Term, sort: str, way: dict[str, int]) -> int:
        if isinstance(term, Constant):
            return self.world.problem.model.object_numbers(sort)[term.name]
        return way[term.name]

    def _way(
        self, atom: Atom, predicate: Predicate, objects: tuple[int, ...]
    ) -> dict[str, int] | None:
        """The objects of variables for which an atom is about some objects, if there are any."""
        way: dict[str, int] = {}
        for term, number in zip(atom.args, objects, strict=True):
            if isinstance(term, Variable):
                way.setdefault(term.name, number)
        same = all(
            self._number(term, sort, way) == number
            for term, sort, number in zip(atom.args, predicate.sorts, objects, strict=True)
        )
        return way if same else None

    def _is_asked(self, query: Query, sorts: dict[str, str], way: dict[str, int]) -> bool:
        """Whether restrictions hold for these objects of variables."""
        if query.distinct and len({(sorts[name], way[name]) for name in way}) < len(way):
            return False

        def object_of(term: Term, other: Term) -> tuple[int, int]:
            variable = other if isinstance(term, Constant) else term
            return 0, self._number(term, sorts[variable.name], way)

        return admits(query.restrictions, object_of)


def _tuples(sizes: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """The first tuples of numbers below sizes, in order.

    >>> list(_tuples([10**18, 2], 3))
    [(0, 0), (0, 1), (1, 0)]
    """
    for number in range(min(math.prod(sizes), most)):
        left, found = number, list[int]()
        for size in reversed(sizes):
            left, own = divmod(left, size)
            found.append(own)
        yield tuple(reversed(found))
