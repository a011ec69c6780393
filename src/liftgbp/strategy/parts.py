"""Independent parts of a model: no factor connects them, so each is solved apart.

The minima of the whole are all combinations of the minima of its parts, far too many to look for.
Solved apart, log Z is a sum and beliefs are products.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import QueryError, counted
from liftgbp.query import Answers, ClassReader, MixedResult, PreparedLifted, Reader, Result
from liftgbp.query.count_cases import Counted, CountedCase, by_listing
from liftgbp.query.lookup import alone, with_others
from liftgbp.shatter import NormalModel, ObjectClasses
from liftgbp.shatter.normal import SOFT, NormalParfactor, ObjAtom
from liftgbp.signature import canonise
from liftgbp.solve import Kind, Status, Verdict

WORST_FIRST = (
    Kind.UNKNOWN,
    Kind.SADDLE,
    Kind.VALLEY,
    Kind.UNCHECKED,
    Kind.BOUNDARY,
    Kind.MINIMUM,
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
    >>> from liftgbp.shatter import shatter
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
    return result.solver != "flooding" and (several or bool(result.flaw))


# --- the whole


@dataclass(frozen=True, eq=False, repr=False)
class PartedAnswers(Answers):
    """Answers that multiply those of independent parts."""

    parts: tuple[Answers, ...] = field(default=(), kw_only=True)

    @property
    def used(self) -> str:
        """What the answers were made of, in words."""
        number = f"{len(self.parts)} independent parts"
        if self.verdict.kind is Kind.EXACT:
            return f"exact ({number})"
        others = [part for part in self.parts if part.verdict.kind is not Kind.EXACT]
        used = ", ".join(dict.fromkeys(part.used for part in others))
        exact = len(self.parts) - len(others)
        if exact:
            return f"{used}; {counted(exact, 'independent part')} exactly"
        return f"{number}: {used}"

    def as_dict(self, queries: str | Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        names = ("log_z", "trusted", "verdict", "minima")
        every = [part.as_dict() for part in self.parts]
        parts = [{name: own[name] for name in names} for own in every]
        return {**super().as_dict(queries), "parts": parts}


@dataclass(frozen=True, eq=False)
class PartsReader(ClassReader):
    """Reads each atom from the part that it belongs to; `prepared` is the whole model."""

    prepared: PreparedLifted
    readers: tuple[Reader, ...]
    part_of: Mapping[ObjAtom, int]

    @property
    def normal(self) -> NormalModel:
        """The normal form of the whole."""
        return self.prepared.graph.normal

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms; those of different parts are independent."""
        table = np.ones(1)
        inside: list[ObjAtom] = []
        homes = {atom: self.part_of.get(canonise((atom,)).cluster[0]) for atom in atoms}
        for number, reader in enumerate(self.readers):
            own = [atom for atom, home in homes.items() if home == number]
            if own:
                table = np.multiply.outer(table, reader.joint(own))
                inside += own
        whole = with_others(atoms, inside, table, lambda atom: alone(atom, self.normal))
        return np.asarray(whole[0])

    def counted(self, case: CountedCase) -> Counted:
        """How likely each number of objects is: read from one part, or listed for a few objects."""
        homes = {self.part_of.get(canonise((atom,)).cluster[0]) for atom in case.atoms}
        homes.discard(None)
        if len(homes) == 1:
            return self.readers[cast(int, homes.pop())].counted(case)
        ranges = self.normal.ranges
        try:
            return Counted(by_listing(case, self.joint, lambda atom: ranges[atom[0]]))
        except QueryError:
            raise QueryError(
                "the formula is about several independent parts of the model, or none"
            ) from None


def multiplied(
    prepared: PreparedLifted,
    parts: Sequence[Part],
    answers: Sequence[Answers],
    offsets: Sequence[float],
) -> Answers:
    """The answers of a model from those of its parts.

    `offsets` are what atoms outside of each part add to its log Z.
    """
    part_of = {atom: number for number, part in enumerate(parts) for atom in part.atoms}
    reader = PartsReader(prepared, tuple(own.reader for own in answers), part_of)
    return product_of(reader, answers, offsets)


def product_of(
    reader: Reader, answers: Sequence[Answers], offsets: Sequence[float]
) -> PartedAnswers:
    """The product of the answers of parts; the reader reads the whole."""
    doubtful = next((own for own in answers if not own.trusted), None)
    results = [own.result for own in answers]
    gains = (own.log_z - offset for own, offset in zip(results, offsets, strict=True))
    result = MixedResult(
        solver=results[0].solver,
        status=next((own.status for own in results if own.flaw), Status.CONVERGED),
        iterations=max(own.iterations for own in results),
        residual=max(own.residual for own in results),
        log_z=reader.prepared.plan.log_offset + math.fsum(gains),
        verdict=_together([own.verdict for own in results]),
        flaw="" if doubtful is None else doubtful.result.flaw,
        remedies=() if doubtful is None else doubtful.result.remedies,
    )
    return PartedAnswers(
        reader,
        result,
        sum(own.seconds for own in answers),
        blocks=tuple(structure for own in answers for structure in own.blocks),
        parts=tuple(answers),
    )


def _together(verdicts: Sequence[Verdict]) -> Verdict:
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
