"""Ground atoms, and the values that evidence gives to some of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from liftgbp.errors import SizeError
from liftgbp.evidence import Evidence


class GroundAtom(NamedTuple):
    """A predicate applied to objects, which are numbered from 0 within their sorts.

    >>> print(GroundAtom("friends", (0, 1)))
    friends(0,1)
    """

    predicate: str
    objects: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(map(str, self.objects))})"


def observed_values(evidence: Evidence, sizes: Mapping[str, int]) -> dict[GroundAtom, int]:
    """The value number of every atom that evidence observes, over domains of these sizes."""
    observed = {atom: 0 for name in evidence.closed for atom in _all_of(evidence, name, sizes)}
    for name, relation in evidence.hard.items():
        for objects, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True):
            observed[GroundAtom(name, tuple(objects))] = value
    observed.update(_known_values(evidence, sizes))
    return observed


def _all_of(evidence: Evidence, name: str, sizes: Mapping[str, int]) -> Iterator[GroundAtom]:
    domains = (range(sizes[sort]) for sort in evidence.model.predicates[name].sorts)
    return (GroundAtom(name, objects) for objects in itertools.product(*domains))


def _known_values(evidence: Evidence, sizes: Mapping[str, int]) -> Iterator[tuple[GroundAtom, int]]:
    """The values of objects without names, which follow the named ones as they are stated."""
    first = {sort: len(evidence.model.constants(sort)) for sort in sizes}
    for known in evidence.known:
        last = first[known.sort] + known.count
        if last > sizes[known.sort]:
            raise SizeError(
                f"size {sizes[known.sort]} is too small for sort {known.sort}: the evidence "
                f"speaks of {last} objects"
            )
        for number in range(first[known.sort], last):
            for name, value in known.values:
                yield GroundAtom(name, (number,)), value
        first[known.sort] = last
