"""The ground atoms of a world, one by one, where they are few enough to be written out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from liftgbp.lift.shatter.assignments import admits
from liftgbp.model.ast import Atom, Constant, Predicate, Query, Term, Variable
from liftgbp.model.queries import checked_atom_query
from liftgbp.support.errors import CapacityError
from liftgbp.support.limits import checkpoint
from liftgbp.worlds import World

MOST_ATOMS = 10**7
"""At most so many atoms of a world are written out."""

Row = tuple[Predicate, tuple[int, ...], int]
"""A predicate, the numbers of the objects of one of its atoms, and the number of its value."""


@dataclass(frozen=True, slots=True)
class WorldAtoms:
    """Lists of atoms; more than `MOST_ATOMS` are refused before the first one."""

    world: World

    def true(self, predicate: Predicate) -> Iterator[Row]:
        """The atoms of a predicate that do not have their first value."""
        number = self.world.number(predicate.name)
        _check_number(f"{number:,} atoms of {predicate.name} are true", number)
        for objects, value in self.world.atoms(predicate.name):
            checkpoint()
            yield predicate, objects, value

    def every(self, predicate: Predicate) -> Iterator[Row]:
        """All atoms of a predicate, in the order of their objects."""
        sizes = [self.world.problem.sizes[sort] for sort in predicate.sorts]
        number = math.prod(sizes)
        _check_number(f"{predicate.name} has {number:,} atoms", number)
        for objects in product(*map(range, sizes)):
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
        _check_number(f"{text} has {number:,} atoms", number)
        for chosen in product(*map(range, sizes)):
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


def _check_number(text: str, number: int) -> None:
    if number > MOST_ATOMS:
        raise CapacityError(
            f"{text}, too many to write out (the cap is {MOST_ATOMS:,}); ask for count() of a "
            "query, for the structure, or for the atoms of some objects"
        )
