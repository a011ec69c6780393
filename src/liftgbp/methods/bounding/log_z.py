"""The bounds of a model over its domains."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping

from liftgbp.evidence import AnyEvidence, Problem
from liftgbp.lift.regions import Family, parse_family
from liftgbp.lift.shatter import TABLE_CAP, ObjectClasses, Shattering
from liftgbp.lift.via import choose_via
from liftgbp.methods.bounding.interval import rounded_down, rounded_up
from liftgbp.methods.bounding.proving import Proof, Prover
from liftgbp.methods.effort import EffortChoice, checked_effort
from liftgbp.model.model import Model
from liftgbp.posterior import Bounds
from liftgbp.solve import Auto
from liftgbp.support.errors import (
    CapacityError,
    InputError,
    check_function,
    checked_number,
    checked_texts,
)
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent

TOO_MANY_CLASSES = (
    "bounds are found over classes of objects, and the evidence tells too many objects apart"
)


@limited("starting")
def bounds(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    queries: str | Iterable[str] = (),
    effort: EffortChoice = "normal",
    regions: str | None = None,
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Bounds:
    """Proven bounds of log Z, and of the probabilities of single atoms.

    From below by independent atoms over blocks of objects, from above by a sum of conditional
    entropies over consistent beliefs of regions. Both take the same time for any domain size.
    `regions` names the family of regions; without it, those that an effort allows are tried, and
    the least bound counts.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(thing)\\n0.1 s(x) <=> s(y) | x != y")
    >>> print(liftgbp.bounds(model, {"thing": 3}, queries="s(x)"))
    2.390527356 <= log Z <= 2.395406192
    a gap of 0.00163 per ground atom (3 atoms)
    s(x)  false: [0.498780, 0.501220]  true: [0.498780, 0.501220]
    """
    problem = Problem.of(model, evidence, sizes)
    texts = checked_texts("queries", queries)
    problem.model.check_queries(texts)
    if isinstance(regions, str) and regions == "auto":
        raise InputError("bounds try several regions by themselves; leave regions='auto' out")
    family = None if regions is None else parse_family(regions)
    checked_number("table_cap", table_cap, least=1)
    check_function("progress", progress)
    level = checked_effort(effort, Auto())
    objects = choose_via("auto", problem)
    if objects is None:
        raise CapacityError(TOO_MANY_CLASSES)
    return bounds_over(objects, level, family, table_cap, progress, texts)


def bounds_over(
    objects: ObjectClasses,
    effort: EffortChoice,
    regions: Family | None,
    table_cap: int,
    progress: Progress,
    queries: tuple[str, ...] = (),
) -> Bounds:
    """The bounds of a model whose objects come in classes."""
    started = time.perf_counter()
    progress("shattering", 0, 1)
    shattering = Shattering(objects, table_cap=table_cap)
    prover = Prover.of(effort, regions, progress)
    proof = Proof(prover, shattering.normal(), shattering)
    interval = proof.interval
    rows = []
    if queries:
        from liftgbp.methods.bounding.probabilities import Probabilities

        probabilities = Probabilities(prover, shattering, proof)
        for number, query in enumerate(queries):
            progress("bounding probabilities", number, len(queries))
            rows += probabilities.of(query)
    return Bounds(
        model=shattering.model.name,
        domains=shattering.sizes,
        lower=rounded_down(interval.lower),
        upper=rounded_up(interval.upper),
        width=math.inf
        if interval.lower is None
        else rounded_up(max(interval.upper - interval.lower, interval.upper * 0)),
        atoms=proof.atoms,
        reached=interval.reached,
        family=interval.family,
        rows=tuple(rows),
        seconds=time.perf_counter() - started,
    )
