"""Independent parts of a model: no factor connects them, so each is solved apart.

The minima of the whole are all combinations of the minima of its parts, far too many to look for.
Solved apart, log Z is a sum and beliefs are products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.lift.shatter import NormalModel, ObjectClasses
from liftgbp.lift.shatter.normal import SOFT, NormalParfactor, ObjAtom
from liftgbp.lift.signature import canonise
from liftgbp.model.queries import CountQuery
from liftgbp.posterior import (
    Answer,
    ClassReader,
    Confirmation,
    MixedResult,
    Posterior,
    PreparedLifted,
    Provenance,
    Reader,
    Result,
    Unconfirmed,
)
from liftgbp.posterior.answer import read_row
from liftgbp.posterior.count_cases import Counted, CountedCase
from liftgbp.posterior.rows import Row
from liftgbp.posterior.sources import Source, product_of_parts
from liftgbp.solve import Algorithm, Kind, Status, Verdict
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InternalError, QueryError

WORST_FIRST = (
    Kind.UNKNOWN,
    Kind.SADDLE,
    Kind.VALLEY,
    Kind.UNCHECKED,
    Kind.PRODUCT,
    Kind.BOUNDARY,
    Kind.MINIMUM,
    Kind.SAMPLED,
    Kind.EXACT,
)
"""Kinds of points, from those that no answer may rest on to those that nothing is wrong with."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rules of an independent part, by number, and the predicates of its uncertain facts."""

    rules: frozenset[int]
    soft: frozenset[str]
    atoms: frozenset[ObjAtom]

    def of(self, objects: ObjectClasses) -> ObjectClasses:
        """The same objects with the rules of this part alone."""
        problem = objects.problem
        model, known = problem.model, problem.evidence
        rules = (rule for k, rule in enumerate(model.rules) if k in self.rules)
        soft = {name: facts for name, facts in known.soft.items() if name in self.soft}
        alone = replace(problem, model=model.with_rules(rules), evidence=replace(known, soft=soft))
        return replace(objects, problem=alone)


def independent_parts(normal: NormalModel) -> list[Part]:
    """The parts of a model that no factor connects; rules without atoms go with the first one.

    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.lift.shatter import shatter
    >>> model = parse("p(t)\\nq(t)\\n1 p(x) <=> p(y)\\n2 q(x)\\n3 p(x)")
    >>> [sorted(part.rules) for part in independent_parts(shatter(model, {"t": 9}))]
    [[0, 2], [1]]
    """
    together: list[tuple[set[int | str], set[ObjAtom]]] = []
    for parfactor in normal.parfactors:
        names = {_name(parfactor, normal)}
        atoms = {canonise((atom,)).cluster[0] for atom in parfactor.atoms}
        apart = []
        for own in together:
            if own[0].isdisjoint(names) and own[1].isdisjoint(atoms):
                apart.append(own)
            else:
                names |= own[0]
                atoms |= own[1]
        together = [*apart, (names, atoms)]
    parts = [
        Part(
            frozenset(name for name in names if isinstance(name, int)),
            frozenset(name for name in names if isinstance(name, str)),
            frozenset(atoms),
        )
        for names, atoms in together
    ]
    last = len(normal.model.rules)
    parts.sort(key=lambda part: (min(part.rules, default=last), min(part.soft, default="")))
    used = frozenset().union(*(part.rules for part in parts))
    others = frozenset(range(len(normal.model.rules))) - used
    return [replace(parts[0], rules=parts[0].rules | others), *parts[1:]] if parts else []


def _name(parfactor: NormalParfactor, normal: NormalModel) -> int | str:
    if parfactor.rule != SOFT:
        return parfactor.rule
    return normal.predicates[parfactor.atoms[0][0]].name


def may_miss_minima(result: Result) -> bool:
    """Whether a whole with independent parts may have more minima than were found.

    Each part was started from all its values, so the whole shows whether a part has several.
    """
    several = sum(1 for point in result.points if point.weight > 0) > 1
    flooded = result.solver.algorithm is Algorithm.FLOODING
    return not flooded and (several or result.flaw is not None)


# --- the whole


@dataclass(frozen=True, eq=False, slots=True)
class Parts(Source):
    """The distributions of independent parts."""

    readers: tuple[ClassReader, ...]
    part_of_atom: Mapping[ObjAtom, int]

    def _part_of(self, atom: ObjAtom) -> int | None:
        return self.part_of_atom.get(canonise((atom,)).cluster[0])

    def holds(self, atom: ObjAtom) -> bool:
        """Whether a part is about an atom."""
        return self._part_of(atom) is not None

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms; those of different parts are independent."""
        return product_of_parts(atoms, self._part_of, [own.joint for own in self.readers])

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely each number of objects is: read from one part, or listed for a few objects."""
        homes = {home for atom in case.atoms if (home := self._part_of(atom)) is not None}
        if len(homes) == 1:
            return self.readers[homes.pop()].counted(case)
        try:
            return reader.listed(case)
        except QueryError:
            raise QueryError(
                "the formula is about several independent parts of the model, or none"
            ) from None


@dataclass(frozen=True, eq=False, slots=True)
class SampledParts:
    """Reads rows about one part off its sample; probabilities of several parts are multiplied."""

    parts: Parts

    def _alone(self, atoms: Sequence[ObjAtom]) -> ClassReader | None:
        """The reader of the part that all atoms are about, if that is sampled."""
        homes = {self.parts._part_of(atom) for atom in atoms}
        home = homes.pop() if len(homes) == 1 else None
        reader = None if home is None else self.parts.readers[home]
        return None if reader is None or reader.sample is None else reader

    def read(self, rows: Sequence[tuple[str, Row]], reader: Reader) -> Iterator[Answer]:
        """The answers of rows, each with the text of its query."""
        if not isinstance(reader, ClassReader):
            raise InternalError("parts are about classes of objects")
        for text, row in rows:
            alone = self._alone(row.every) or replace(reader, sample=None)
            yield from read_row(text, row, [alone])

    def counted(self, query: CountQuery) -> Answer | None:
        """How many objects satisfy a formula about one part that is sampled."""
        for reader in self.parts.readers:
            if reader.sample is not None:
                with suppress(QueryError):
                    return reader.sample.counted(query)
        return None

    def errors(self, atom: ObjAtom, reader: Reader) -> Floats:
        """The standard errors of the probabilities of the values of an atom."""
        alone = self._alone([atom])
        if alone is None or alone.sample is None:
            return np.zeros(len(reader.values(atom)))
        return alone.sample.errors(atom, alone)


def multiplied(
    prepared: PreparedLifted,
    parts: Sequence[Part],
    answers: Sequence[Posterior],
    offsets: Sequence[float],
) -> Posterior:
    """The answers of a model from those of its parts.

    `offsets` are what atoms outside of each part add to its log Z.
    """
    part_of = {atom: number for number, part in enumerate(parts) for atom in part.atoms}
    readers = tuple(own.reader for own in answers if isinstance(own.reader, ClassReader))
    source = Parts(readers, part_of)
    sampled = any(reader.sample is not None for reader in readers)
    reader = ClassReader(prepared, source, sample=SampledParts(source) if sampled else None)
    return product_of(reader, answers, offsets)


def product_of(reader: Reader, answers: Sequence[Posterior], offsets: Sequence[float]) -> Posterior:
    """The product of the answers of parts; the reader reads the whole."""
    doubtful = next((own for own in answers if not own.sound), None)
    flaw = None if doubtful is None else doubtful.result.flaw
    results = [own.result for own in answers]
    gains = (own.log_z - offset for own, offset in zip(results, offsets, strict=True))
    result = MixedResult(
        solver=results[0].solver,
        status=next((own.status for own in results if own.flaw), Status.CONVERGED),
        iterations=max(own.iterations for own in results),
        residual=max(own.residual for own in results),
        log_z=reader.prepared.plan.log_offset + math.fsum(gains),
        verdict=worst_of([own.verdict for own in results]),
        # Regions of a part have other numbers in the whole.
        flaw=flaw and replace(flaw, region=None),
        remedies=() if doubtful is None else doubtful.result.remedies,
    )
    blocks = tuple(structure for own in answers for structure in own.provenance.blocks)
    made = Provenance(blocks=blocks, parts=tuple(answers))
    seconds = sum(own.seconds for own in answers)
    return Posterior(reader, result, made, seconds, _support(answers))


def _support(answers: Sequence[Posterior]) -> Confirmation | Unconfirmed:
    """What speaks for a product: no more than for the part that is least confirmed."""
    approximate = [own for own in answers if own.approximate]
    least = next((own for own in approximate if not own.trusted), None)
    if least is not None:
        return least.support
    known = [own.support for own in approximate if isinstance(own.support, Confirmation)]
    return max(known, key=lambda own: own.difference, default=Unconfirmed())


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst of all verdicts; bounds are those of parts, which were judged by them."""
    worst = min(verdicts, key=lambda own: (own.sound, WORST_FIRST.index(own.kind)))
    curvatures = [own.curvature for own in verdicts if own.curvature is not None]
    return replace(
        worst,
        residual=max(own.residual for own in verdicts),
        curvature=min(curvatures, default=None),
        entropy=math.nan,
        entropy_bound=math.inf,
        count_margin=min(own.count_margin for own in verdicts),
        log_z_bound=-math.inf,
        log_z_slack=0.0,
    )
