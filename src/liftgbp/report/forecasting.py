"""What a run would go through, stage by stage, before anything is listed or solved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from liftgbp.evidence import AnyEvidence, Problem
from liftgbp.ground.grounding import RuleCount, rule_counts
from liftgbp.lift.regions import Family, build_regions, parse_family
from liftgbp.lift.shatter import TABLE_CAP, ObjectClasses, Shattering
from liftgbp.lift.via import ViaChoice, choose_via, parfactors_of
from liftgbp.model.model import Model
from liftgbp.pictures.cards import Shown, code, count_text, sizes_text, table
from liftgbp.pictures.markup import Content
from liftgbp.plan import compile_plan
from liftgbp.support.errors import CapacityError, check_function, checked_number
from liftgbp.support.limits import GIGABYTE, Limits, limited, physical_memory
from liftgbp.support.progress import Progress, silent

BASE_BYTES = 10**8
"""What Python and the libraries take."""

MOST_BUILT = 2_000
"""Regions over classes are built to be counted if there are no more factors over classes."""


@dataclass(frozen=True, slots=True)
class StageForecast:
    """How much there is in a stage of a run, at most, and about what that takes.

    gigabytes  memory
    seconds    processor time; None if it is not known
    entries    numbers in the tables of an engine; None without one
    disk       GB of disk that an engine takes
    """

    stage: str
    what: str
    number: int
    gigabytes: float
    seconds: float | None = None
    entries: int | None = None
    disk: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The numbers for JSON."""
        numbers: dict[str, object] = {
            "stage": self.stage,
            "what": self.what,
            "number": self.number,
            "gigabytes": self.gigabytes,
            "seconds": self.seconds,
        }
        if self.entries is not None:
            numbers |= {"entries": self.entries, "disk": self.disk}
        return numbers

    @property
    def cells(self) -> dict[str, str]:
        """How tables show it, by heading; only engines have entries and disks."""
        shown = {"stage": self.stage, "at most": count_text(self.number), "what": self.what}
        if self.entries is not None:
            shown["entries"] = count_text(self.entries)
        shown["GB, about"] = about(self.gigabytes)
        if self.entries is not None:
            shown["GB of disk"] = about(self.disk)
        shown["s, about"] = "" if self.seconds is None else about(self.seconds)
        return shown


@dataclass(frozen=True, slots=True)
class Cost:
    """What one of many takes, such as a factor, or a number in a table.

    memory   bytes
    seconds  processor time; None if it was not measured
    disk     bytes of disk
    base     bytes of memory that are taken whatever their number is
    """

    memory: float
    seconds: float | None = None
    disk: float = 0.0
    base: float = 0.0

    def stage(
        self,
        stage: str,
        what: str,
        number: int,
        *,
        entries: int | None = None,
        times: int = 1,
        limit: float = math.inf,
    ) -> StageForecast:
        """A stage with so many of them, or so many entries in tables about them.

        They are gone through several times, in no more memory than the limit.
        """
        size = number if entries is None else entries
        return StageForecast(
            stage,
            what,
            number,
            min(self.base + size * self.memory, limit) / GIGABYTE,
            None if self.seconds is None else size * self.seconds * times,
            entries,
            size * self.disk / GIGABYTE,
        )


ROW = Cost(memory=100, seconds=1e-6)
FACTOR = Cost(memory=1500, seconds=2e-5)
ENTRY = Cost(memory=80, seconds=4e-6)
"""What a row of a join takes, finding and comparing the regions of a ground factor, and all
messages about an entry of a table: some ten numbers of eight bytes. Memory for a factor was 1.3 kB
on a fold of IMDB and 0.5 kB on the citations of 7,000 papers; times are those of a network of 10^5
friendships."""


def about(number: float) -> str:
    """A rough number, in two digits or as a whole one.

    >>> about(0.0123), about(12345.6)
    ('0.012', '12,346')
    """
    # Beyond, two digits would need an exponent.
    return f"{number:.2g}" if number < 99.5 else count_text(round(number))


def stage_table(stages: Sequence[StageForecast]) -> Content:
    """The stages as a table."""
    headings = list(stages[0].cells)
    numbers = [k for k, heading in enumerate(headings) if heading not in ("stage", "what")]
    return table(headings, [tuple(stage.cells.values()) for stage in stages], numbers=numbers)


def ground_gigabytes(factors: int) -> float:
    """About how much memory the regions of so many ground factors take."""
    return (BASE_BYTES + factors * FACTOR.memory) / GIGABYTE


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Shown):
    """How large the stages of a run are.

    via         `lifted` over classes of objects, or `ground`
    facts       how many facts the evidence states about each predicate
    unknown     how many ground atoms of each predicate are unknown
    classes     how many classes of objects each sort has, over classes
    parfactors  about how many factors over classes there are, over classes
    rules       what each rule grounds to, on the ground
    stages      how much there is in each stage, and about how much memory that takes
    refused     why a run would be refused, as far as that is known; empty if nothing speaks
                against it

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> forecast = liftgbp.forecast(model, {"person": 1000})
    >>> forecast.via, forecast.unknown["friends"], forecast.classes
    ('lifted', 1000000, {'person': 1})
    """

    model: str
    sizes: dict[str, int]
    via: str
    facts: dict[str, int]
    unknown: dict[str, int]
    classes: dict[str, int]
    parfactors: int
    rules: tuple[RuleCount, ...]
    stages: tuple[StageForecast, ...] = ()
    refused: str = ""

    @property
    def factors(self) -> int:
        """How many ground factors there are at most: those over the same atoms become one."""
        return sum(rule.factors for rule in self.rules)

    @property
    def gigabytes(self) -> float | None:
        """About how much memory the regions of so many factors take, on the ground."""
        if self.via == "lifted":
            return None
        return ground_gigabytes(self.factors)

    @property
    def engine(self) -> str:
        """The engine that would do where the memory of this machine does not; else empty."""
        needed = 0.0 if self.gigabytes is None else self.gigabytes * GIGABYTE
        return "duckdb" if needed > physical_memory() else ""

    def _headline(self) -> str:
        size = (
            f"{self.parfactors} factors over {sum(self.classes.values())} classes of objects"
            if self.via == "lifted"
            else f"{self.factors} ground factors, about {self.gigabytes:.2g} GB"
        )
        return f"{self.model}{sizes_text(self.sizes)}: {self.via}, {size}"

    def _body(self) -> Iterable[Content]:
        both = self.facts, self.unknown
        rows = [
            (name, *(count_text(some[name]) if name in some else "" for some in both))
            for name in dict.fromkeys((*self.facts, *self.unknown))
        ]
        yield table(("predicate", "facts", "unknown atoms"), rows, numbers=[1, 2])
        if self.stages:
            yield stage_table(self.stages)
        counts: list[tuple[Content, ...]] = [
            (code(rule.text), *map(count_text, (rule.substitutions, rule.visited, rule.factors)))
            for rule in self.rules
        ]
        if counts:
            headings = ("rule", "substitutions", "visited", "ground factors")
            yield table(headings, counts, numbers=[1, 2, 3])

    def as_dict(self) -> dict[str, object]:
        """The forecast for JSON."""
        return {
            "model": self.model,
            "domains": self.sizes,
            "via": self.via,
            "facts": self.facts,
            "unknown": self.unknown,
            "classes": self.classes,
            "parfactors": self.parfactors,
            "rules": [rule.as_dict() for rule in self.rules],
            "factors": self.factors,
            "gigabytes": self.gigabytes,
            "stages": [stage.as_dict() for stage in self.stages],
            "refused": self.refused,
            "engine": self.engine,
        }


@limited("starting")
def forecast(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | None = None,
    via: ViaChoice = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Forecast:
    """How large the stages of a run would be, counted and not listed.

    >>> import liftgbp
    >>> model = liftgbp.parse('''
    ... *friends(person, person)
    ... smokes(person)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> found = liftgbp.forecast(model, {"person": 1000}, via="ground",
    ...                          evidence={"friends": [("Anna", "Bob"), ("Bob", "Carl")]})
    >>> found.unknown, found.rules[0].substitutions, found.factors
    ({'smokes': 1000}, 1000000, 2)
    """
    family = parse_family(regions)
    table_cap = checked_number("table_cap", table_cap, least=1)
    check_function("progress", progress)
    problem = Problem.of(model, evidence, sizes)
    objects = choose_via(via, problem, family)
    classes: dict[str, int] = {}
    parfactors = 0
    rules: tuple[RuleCount, ...] = ()
    stages: tuple[StageForecast, ...] = ()
    refused = ""
    if objects is None:
        rules = rule_counts(problem, table_cap=table_cap, progress=progress)
        stages = _on_ground(rules)
    else:
        classes = dict(Counter(c.sort for c in objects.classes))
        parfactors = parfactors_of(objects)
        try:
            stages = _over_classes(objects, family, table_cap, parfactors, progress)
        except CapacityError as error:
            refused = error.message
    return Forecast(
        model.name,
        problem.sizes,
        "ground" if objects is None else "lifted",
        dict(_facts(problem)),
        _unknown(problem),
        classes,
        parfactors,
        rules,
        stages,
        refused,
    )


def _on_ground(rules: Sequence[RuleCount]) -> tuple[StageForecast, ...]:
    entries = sum(rule.factors * 2**rule.width for rule in rules)
    return (
        ROW.stage("joining facts", "rows", sum(rule.visited for rule in rules)),
        FACTOR.stage("finding regions", "scopes of factors", sum(rule.factors for rule in rules)),
        ENTRY.stage("passing messages", "entries of tables", entries),
    )


def _over_classes(
    objects: ObjectClasses, regions: Family, table_cap: int, parfactors: int, progress: Progress
) -> tuple[StageForecast, ...]:
    """The regions over classes, which do not depend on how many objects there are."""
    if parfactors > MOST_BUILT:
        return ()
    progress("shattering", 0, 1)
    normal = Shattering(objects, table_cap=table_cap).normal()
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    entries = compile_plan(graph).layout.belief_entries
    # How long these take was never measured.
    factor, entry = Cost(FACTOR.memory), Cost(ENTRY.memory)
    what = f"regions, for {graph.ground_regions:.6g} ground ones"
    edges = factor.stage("building regions", what, len(graph.edges))
    return (
        factor.stage("shattering", "factors over classes", len(normal.parfactors)),
        replace(edges, number=len(graph.regions)),
        entry.stage("passing messages", "entries of tables", entries),
    )


def _facts(problem: Problem) -> Counter[str]:
    known = problem.evidence
    facts = Counter({name: len(relation.values) for name, relation in known.hard.items()})
    for counted in known.known:
        facts.update({name: counted.count for name, _ in counted.values})
    return facts


def _unknown(problem: Problem) -> dict[str, int]:
    facts = _facts(problem)
    return {
        name: math.prod(problem.sizes[sort] for sort in predicate.sorts) - facts[name]
        for name, predicate in problem.model.predicates.items()
        if name not in problem.evidence.closed
    }
