"""Lifted against ground message passing, iterate by iterate: a check of the engine itself.

The only place that knows both the engine and the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from liftgbp.api import infer
from liftgbp.evidence import AnyEvidence, Evidence
from liftgbp.lift.regions import LiftedRegionGraph, parse_family
from liftgbp.lift.shatter import NormalModel, Obj
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.signature import canonise
from liftgbp.lift.via import ViaChoice
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom
from liftgbp.pictures.cards import BAD, GOOD, Shown, badge, table
from liftgbp.pictures.markup import Content
from liftgbp.posterior.ground_reader import PreparedGround
from liftgbp.report import Answers
from liftgbp.solve import Flooding
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InternalError, checked_number
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent

Match: TypeAlias = tuple[reference.Region, int, list[int]]
"""A ground region, the number of the region that stands for it, and the axes of its atoms there."""

TOLERANCE = 1e-9
"""How far beliefs may differ between the engine and the reference, which add the same numbers in
another order."""

RUN_AWAY = 100.0
"""Log beliefs beyond this have run away; rounding is amplified there with every iteration."""


@dataclass(frozen=True, slots=True, repr=False)
class MessageCheck(Shown):
    """How lifted message passing compares with ground message passing.

    `differences` holds, before the first iteration and after each, the largest difference in
    probability between the belief of a ground region and that of the canonical region which stands
    for it; the first `judged` of them tell whether both sides agree.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> found = liftgbp.check_messages(model, {"person": 4}, iterations=20)
    >>> found.agrees, found.ground_regions, len(found.differences)
    (True, 22, 21)
    """

    answers: Answers
    differences: tuple[float, ...]
    judged: int
    ground_regions: int

    @property
    def agrees(self) -> bool:
        """Whether lifted and ground beliefs are equal, up to rounding, at every iteration.

        Iterations after the messages have run away are not judged: there, rounding decides.
        """
        same_regions = self.ground_regions == self.answers.graph.ground_regions
        return same_regions and max(self.differences[: self.judged]) <= TOLERANCE

    def _headline(self) -> str:
        agrees = "agrees with" if self.agrees else "differs from"
        judged = max(self.differences[: self.judged], default=0.0)
        return (
            f"{self.answers.model.name}: lifted message passing {agrees} that on "
            f"{self.ground_regions} ground regions; the largest difference is {judged:.2g}"
        )

    def _body(self) -> Iterable[Content]:
        yield badge(GOOD, "agrees") if self.agrees else badge(BAD, "differs")
        rows = [(str(k), f"{own:.3g}") for k, own in enumerate(self.differences)]
        yield table(("iteration", "largest difference"), rows, numbers=[0, 1], most=8)

    def as_dict(self) -> dict[str, object]:
        """The report for JSON."""
        status = self.answers.status
        log_z = self.answers.result.log_z
        return {
            "model": self.answers.model.name,
            "domains": self.answers.sizes,
            "agrees": self.agrees,
            "differences": list(self.differences),
            "judged": self.judged,
            "lifted_regions": len(self.answers.graph.regions),
            "ground_regions": self.ground_regions,
            "status": status.value,
            "trusted": self.answers.trusted,
            "reason": self.answers.reason,
            "log_z": log_z if math.isfinite(log_z) else None,
        }


@limited("starting")
def check_messages(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    damping: float = 0.5,
    iterations: int = 30,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> MessageCheck:
    """Run lifted and ground message passing side by side for some iterations.

    >>> import liftgbp
    >>> model = liftgbp.parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
    >>> liftgbp.check_messages(model, sizes={"thing": 3}).agrees
    True
    """
    checked_number("iterations", iterations, least=1)
    family = parse_family(regions)
    known = Evidence.of(model, evidence)
    answers = infer(
        model,
        sizes,
        evidence=known,
        via=via,
        regions=str(family),
        solver=Flooding(damping=damping),
        progress=progress,
    )
    progress("grounding", 0, 1)
    ground_model = reference.ground(model, sizes, known)
    progress("building ground regions", 0, 1)
    ground_graph = reference.ground_regions(ground_model, str(family))
    alignment = _Alignment(answers, ground_graph.regions)
    both = zip(
        reference.iterates(ground_graph, damping, iterations),
        Flooding(damping=damping).iterates(answers.posterior.plan),
        strict=False,
    )
    differences: list[float] = []
    judged = 0
    for ground, lifted in both:
        progress("comparing iterates", len(differences), iterations)
        # Before the first iteration nothing can have run away, however unlikely some states are.
        tame = not differences or np.abs(lifted).max(initial=0.0) <= RUN_AWAY
        if judged == len(differences) and tame:
            judged += 1
        differences.append(alignment.largest_difference(lifted, ground))
    return MessageCheck(answers, tuple(differences), judged, len(ground_graph.regions))


def _lifted(answers: Answers) -> LiftedRegionGraph:
    if not isinstance(answers.graph, LiftedRegionGraph):
        raise InternalError(f"a lifted run on a {type(answers.graph).__name__}")
    return answers.graph


def ground_atom_of(answers: Answers) -> Callable[[ObjAtom], GroundAtom]:
    """What names the atoms of answers as the reference does."""
    if isinstance(answers.posterior.reader.prepared, PreparedGround):
        names = [predicate.name for predicate in answers.model.predicates.values()]
        return lambda atom: GroundAtom(names[atom[0]], tuple(number for _, number in atom[1]))
    return GroundObjects(_lifted(answers).normal).atom


class GroundObjects:
    """Which object of the reference each placeholder (class, index) is, and the other way round.

    The reference numbers the objects of a sort, named ones first.
    """

    def __init__(self, normal: NormalModel) -> None:
        self._predicates = normal.predicates
        self._number = normal.predicate_number
        self._placeholder: dict[tuple[str, int], Obj] = {}
        for sort, size in normal.sizes.items():
            used = dict.fromkeys(normal.classes_of(sort), 0)
            for k in range(size):
                cls = normal.class_index[sort].of(k)
                self._placeholder[sort, k] = (cls, used[cls])
                used[cls] += 1
        self._object = {obj: k for (_, k), obj in self._placeholder.items()}

    def atom(self, atom: tuple[int, tuple[Obj, ...]]) -> GroundAtom:
        """The ground atom of the reference for an atom over placeholders."""
        number, args = atom
        return GroundAtom(self._predicates[number].name, tuple(self._object[o] for o in args))

    def placeholders(self, atom: GroundAtom) -> tuple[int, tuple[Obj, ...]]:
        """The atom over placeholders for a ground atom of the reference."""
        number = self._number[atom.predicate]
        sorts = self._predicates[number].sorts
        pairs = zip(sorts, atom.objects, strict=True)
        return number, tuple(self._placeholder[sort, k] for sort, k in pairs)


def _in_lifted_graph(
    graph: LiftedRegionGraph, ground_regions: tuple[reference.Region, ...]
) -> Iterator[Match]:
    objects = GroundObjects(graph.normal)
    number = {region.cluster: k for k, region in enumerate(graph.regions)}
    for ground_region in ground_regions:
        atoms = [objects.placeholders(atom) for atom in sorted(ground_region)]
        signature = canonise(tuple(sorted(atoms)))
        axes = [
            signature.cluster.index((p, tuple(signature.renaming[o] for o in args)))
            for p, args in atoms
        ]
        yield ground_region, number[signature.cluster], axes


def _in_quotient(
    prepared: PreparedGround, ground_regions: tuple[reference.Region, ...]
) -> Iterator[Match]:
    names = [predicate.name for predicate in prepared.model.predicates.values()]
    atoms = zip(prepared.atoms.predicate.tolist(), prepared.atoms.args.tolist(), strict=True)
    variable = {
        GroundAtom(names[p], tuple(k for k in args if k >= 0)): number
        for number, (p, args) in enumerate(atoms)
    }
    alignment = prepared.graph.alignment
    rows = [row.tolist() for block in alignment.variables_in_frame for row in block]
    region_of = {frozenset(row): number for number, row in enumerate(rows)}
    for ground_region in ground_regions:
        variables = [variable[atom] for atom in sorted(ground_region)]
        number = region_of[frozenset(variables)]
        axes = [rows[number].index(v) for v in variables]
        yield ground_region, int(alignment.kind[number]), axes


class _Alignment:
    """For each ground region the canonical region that stands for it, and how the axes match."""

    def __init__(self, answers: Answers, ground_regions: tuple[reference.Region, ...]) -> None:
        self._layout = answers.posterior.plan.layout
        prepared = answers.posterior.reader.prepared
        self._matches = list(
            _in_quotient(prepared, ground_regions)
            if isinstance(prepared, PreparedGround)
            else _in_lifted_graph(_lifted(answers), ground_regions)
        )

    def largest_difference(self, lifted: Floats, ground: reference.Beliefs) -> float:
        probabilities = np.exp(lifted)
        largest = 0.0
        for region, k, axes in self._matches:
            table = self._layout.full_table(k, probabilities, missing=0.0).transpose(axes)
            largest = max(largest, float(np.abs(table - np.exp(ground[region])).max()))
        return largest
