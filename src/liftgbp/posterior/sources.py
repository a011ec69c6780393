"""Where probabilities are read: in beliefs here; methods have sources of their own.

A reader knows which rows a query has; a source knows the joint distributions of their atoms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.plan import Layout
from liftgbp.posterior.count_cases import Counted, CountedCase
from liftgbp.posterior.lookup import belongs_to_graph, region_table
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError

if TYPE_CHECKING:
    from liftgbp.ground.compress import QuotientGraph
    from liftgbp.model.queries import CountQuery
    from liftgbp.posterior.answer import Answer
    from liftgbp.posterior.readers import ClassReader, Reader
    from liftgbp.posterior.rows import Row

Key = TypeVar("Key")


class Source(ABC):
    """Joint distributions of atoms over placeholders for the objects of classes."""

    @abstractmethod
    def holds(self, atom: ObjAtom) -> bool:
        """Whether it knows about an atom; all others are observed, or uniform and independent."""

    @abstractmethod
    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of different atoms that it knows about, one axis each."""

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely each number of objects satisfies a formula, together with a condition."""
        return reader.listed(case)


class GroundSource(Protocol):
    """Joint distributions of the variables of a ground network."""

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of different variables in factors, one axis each."""


class Sampled(Protocol):
    """Reads answers off a sample, with standard errors."""

    def read(self, rows: Sequence[tuple[str, Row]], reader: Reader) -> Iterable[Answer]:
        """The answers of rows, each with the text of its query."""

    def counted(self, query: CountQuery) -> Answer | None:
        """How many objects satisfy a formula, or how likely a comparison of that number holds.

        Nothing is returned where that is known without a sample.
        """

    def errors(self, atom: ObjAtom, reader: Reader) -> Floats:
        """The standard errors of the probabilities of the values of an atom."""


@dataclass(frozen=True, eq=False, slots=True)
class Beliefs(Source):
    """The beliefs of a region graph over classes of objects."""

    graph: LiftedRegionGraph
    layout: Layout
    log_beliefs: Floats

    def holds(self, atom: ObjAtom) -> bool:
        """Whether a region is about an atom."""
        return belongs_to_graph(atom, self.graph)

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution by the belief of a region that holds the atoms."""
        beliefs = np.exp(self.log_beliefs)[None]
        return np.asarray(region_table(atoms, self.graph, self.layout, beliefs)[0])

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """Regions know no more than means and spreads."""
        raise QueryError(
            "regions are about a few objects; a sum over counts (--sum-over) or an exact answer "
            "(--exact) knows it"
        )


@dataclass(frozen=True, eq=False, slots=True)
class GroundBeliefs:
    """The beliefs of the quotient of a ground network."""

    graph: QuotientGraph
    layout: Layout
    log_beliefs: Floats

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution by the belief of a region that holds the variables."""
        if not variables:
            return np.ones(())
        found = self.graph.where(variables)
        if found is None:
            raise QueryError("its atoms lie in no common region")
        region, axes = found
        belief = np.exp(self.layout.full_table(region, self.log_beliefs, missing=-np.inf))
        table = belief.sum(axis=tuple(k for k in range(belief.ndim) if k not in axes))
        return np.asarray(table.transpose([sorted(axes).index(axis) for axis in axes]))


def product_of_parts(
    asked: Sequence[Key],
    part_of: Callable[[Key], int | None],
    joints: Sequence[Callable[[Sequence[Key]], Floats]],
) -> Floats:
    """The joint distribution of atoms or variables, which are independent in different parts."""
    table = np.ones(())
    order: list[Key] = []
    for number, joint in enumerate(joints):
        own = [one for one in asked if part_of(one) == number]
        if own:
            table = np.multiply.outer(table, joint(own))
            order += own
    return np.asarray(table.transpose([order.index(one) for one in asked]))
