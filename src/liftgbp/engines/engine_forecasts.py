"""How large a run on an engine would be, from counts that the engine makes where the data are."""

from __future__ import annotations

import contextlib
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from liftgbp.engines.engine import Engine
from liftgbp.engines.engine_sources import KnownFacts, read_sources
from liftgbp.engines.engine_tasks import KINDS, checked_task, start
from liftgbp.engines.factor_tables import Join, Joins, Kind
from liftgbp.engines.message_tables import RegionKinds
from liftgbp.model.model import Model
from liftgbp.pictures.cards import Shown, count_text, sizes_text, table
from liftgbp.pictures.markup import Content
from liftgbp.report.forecasting import StageForecast, about, ground_gigabytes, stage_table
from liftgbp.support.errors import checked_number
from liftgbp.support.limits import GIGABYTE, Limits, limited, physical_memory
from liftgbp.support.progress import Progress, silent

ITERATIONS = 20
"""How many iterations the forecast is about. The networks that were tried took 10 to 28."""

MOST_COUNTED = 10**8
"""These are counted in seconds."""


@dataclass(frozen=True, slots=True, repr=False)
class EngineForecast(Shown):
    """How large the stages of a run on an engine are; see `forecast_on_engine`.

    engine      the engine that was asked
    family      the family of regions
    sizes       how many objects each sort has
    facts       how many rows the tables about each predicate have
    stages      rows, numbers, memory, disk and processor time of each stage
    iterations  how many iterations the forecast of messages is about
    in_memory   about how many GB the same run takes without an engine
    takes       where to run it: `memory`, `duckdb` or `spark`

    >>> import liftgbp
    >>> facts, no_stages = {"friends": 10**9}, ()
    >>> found = liftgbp.EngineForecast(
    ...     "town", "spark", "bethe", {"person": 10**8}, facts, no_stages, 20, 1500.0, "spark"
    ... )
    >>> found.advice.split(": ")[1]
    'take --engine spark'
    """

    model: str
    engine: str
    family: str
    sizes: dict[str, int]
    facts: dict[str, int]
    stages: tuple[StageForecast, ...]
    iterations: int
    in_memory: float
    takes: str

    @property
    def gigabytes(self) -> float:
        """About how much memory the largest stage takes."""
        return max(stage.gigabytes for stage in self.stages)

    @property
    def disk(self) -> float:
        """About how many GB of disk the largest stage takes."""
        return max(stage.disk for stage in self.stages)

    @property
    def seconds(self) -> float:
        """About how much processor time all stages take."""
        return KINDS[self.engine].seconds_to_start + sum(
            stage.seconds or 0.0 for stage in self.stages
        )

    @property
    def advice(self) -> str:
        """Where to run it, in a sentence."""
        need = f"without an engine it takes about {about(self.in_memory)} GB"
        have = f"this machine has {about(physical_memory() / GIGABYTE)} GB"
        if self.takes == "memory":
            return f"{need}, and {have}: it needs no engine"
        return f"{need}, and {have}: take --engine {self.takes}"

    @property
    def needs(self) -> str:
        """What a run takes, in words."""
        return (
            f"about {about(self.seconds)} s of processor time, {about(self.gigabytes)} GB of "
            f"memory and {about(self.disk)} GB of disk"
        )

    def _headline(self) -> str:
        return f"{self.model}{sizes_text(self.sizes)} on {self.engine}: {self.needs}"

    def _body(self) -> Iterable[Content]:
        rows = [(name, count_text(number)) for name, number in self.facts.items()]
        yield table(("predicate", "facts"), rows, numbers=[1])
        yield stage_table(self.stages)

    def as_dict(self) -> dict[str, object]:
        """The forecast for JSON."""
        return {
            "model": self.model,
            "engine": self.engine,
            "family": self.family,
            "domains": self.sizes,
            "facts": self.facts,
            "stages": [stage.as_dict() for stage in self.stages],
            "iterations": self.iterations,
            "gigabytes": self.gigabytes,
            "disk": self.disk,
            "seconds": self.seconds,
            "in_memory": self.in_memory,
            "takes": self.takes,
        }


@limited("preparing")
def forecast_on_engine(
    model: Model,
    evidence: str | Iterable[str],
    *,
    engine: str = "duckdb",
    closed: str | Iterable[str] = (),
    sizes: Mapping[str, int] | None = None,
    regions: str = "bethe",
    memory: float | None = None,
    most_counted: int = MOST_COUNTED,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> EngineForecast:
    """How large the stages of `run_on_engine` would be, counted and not computed.

    The engine counts facts, objects and the rows of joins. Numbers are those at most: factors about
    the same atoms become one, and of more than `most_counted` substitutions that no table of facts
    limits, all are taken to leave factors. Times are processor time.

    >>> import pathlib, tempfile
    >>> import liftgbp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "friends.csv").write_text("who,whom\\nAnna,Bob\\nBob,Carl\\n")
    >>> model = liftgbp.load("example:smoking-network")
    >>> friends = f"friends={folder / 'friends.csv'}"
    >>> found = liftgbp.forecast_on_engine(model, friends, closed="friends")
    >>> found.facts, found.takes, [stage.stage for stage in found.stages][:2]
    ({'friends': 2}, 'memory', ['reading tables', 'grounding'])
    """
    task = checked_task(model, evidence, engine, closed, sizes, regions, memory, progress)
    most_counted = checked_number("most_counted", most_counted, least=0)
    with (
        tempfile.TemporaryDirectory(prefix="liftgbp-", ignore_cleanup_errors=True) as folder,
        contextlib.closing(start(engine, Path(folder), memory)) as started,
    ):
        progress("counting facts", 0, 1)
        known = read_sources(started, model, task.sources, task.closed, task.sizes, counting=True)
        counted = _Counted(started, model, known, most_counted, progress)
    kinds, rows = counted.regions(model, known, regions)
    stages = tuple(_stages(known, counted, kinds, rows, engine, memory))
    in_memory = ground_gigabytes(sum(counted.factors.values()))
    most = max(stage.entries or 0 for stage in stages)
    return EngineForecast(
        model=model.name,
        engine=engine,
        family=regions,
        sizes=dict(known.sizes),
        facts={name: number for name, number in known.rows.items() if number},
        stages=stages,
        iterations=ITERATIONS,
        in_memory=in_memory,
        takes=_place(in_memory, most * KINDS["duckdb"].cost.disk),
    )


def _place(in_memory: float, disk: float) -> str:
    """Where to run what takes so many GB without an engine, and bytes of disk on DuckDB."""
    if in_memory * GIGABYTE <= physical_memory():
        return "memory"
    return "duckdb" if disk <= shutil.disk_usage(Path.cwd()).free else "spark"


class _Counted:
    """How many rows the joins of grounding have, and how many factors of each kind they leave."""

    def __init__(
        self,
        engine: Engine,
        model: Model,
        known: KnownFacts,
        most_counted: int,
        progress: Progress,
    ) -> None:
        self._engine = engine
        self._known = known
        self._most_counted = most_counted
        self.rows = 0
        self.numbers = 0
        self.factors: Counter[Kind] = Counter()
        joins = Joins(model, known)
        for done, rule in enumerate(model.rules):
            progress("counting joins", done, len(model.rules))
            for join in joins.of(rule):
                self._add(joins, join)

    def _add(self, joins: Joins, join: Join) -> None:
        for code, number in self._codes(join).items():
            self.rows += number
            self.numbers += number * (len(join.selection.pattern.domains) + 1)
            unknown, _ = join.left(code)
            if unknown:
                self.factors[joins.kind(sorted(atom.predicate for atom in unknown))] += number

    def _codes(self, join: Join) -> dict[int, int]:
        """How many rows of a join have which states of their atoms."""
        atoms = join.selection.atoms
        if join.selection.free > self._most_counted:
            code, joined = 0, 1
            for k, atom in enumerate(atoms):
                listed = k in join.selection.drivers
                state = int(atom.facts.values[0]) if listed else atom.facts.default
                code = code * (atom.facts.range + 1) + state
                joined *= self._known.numbered[atom.predicate] if listed else 1
            return {code: joined * join.selection.free}
        sql = f"SELECT code, COUNT(*) AS number FROM ({join.sql}) AS counted GROUP BY code"
        rows = self._engine.rows_of(self._engine.translated(sql))
        return {int(code): int(number) for code, number in rows}

    def regions(
        self, model: Model, known: KnownFacts, family: str
    ) -> tuple[RegionKinds, Counter[Kind]]:
        """The kinds of regions, and how many of each there are at most."""
        rows = Counter({kind: n for kind, n in self.factors.items() if len(kind.predicates) > 1})
        triples = tuple(kind for kind in rows if len(kind.predicates) == 3)
        nested = family == "intersections"
        if nested:
            for triple in triples:
                for axes in combinations(range(3), 2):
                    # Pairs of several scopes of three: each of them is in two at least.
                    rows[triple.part(axes)] += rows[triple] // 2
        predicates = list(model.predicates.values())
        occurrences: Counter[Kind] = Counter()
        for kind, number in self.factors.items():
            for axis in range(len(kind.predicates)):
                occurrences[kind.part([axis])] += number
        for kind, number in occurrences.items():
            objects = (known.sizes[sort] for sort in predicates[kind.predicates[0]].sorts)
            rows[kind] = min(number, math.prod(objects))
        pairs = tuple(kind for kind in rows if len(kind.predicates) == 2)
        return RegionKinds(tuple(occurrences), pairs, triples, nested), rows


def _stages(
    known: KnownFacts,
    counted: _Counted,
    kinds: RegionKinds,
    rows: Counter[Kind],
    engine: str,
    memory: float | None,
) -> Iterator[StageForecast]:
    cost = KINDS[engine].cost
    limit = math.inf if memory is None else memory * GIGABYTE

    def stage(name: str, what: str, number: int, entries: int, times: int = 1) -> StageForecast:
        return cost.stage(name, what, number, entries=entries, times=times, limit=limit)

    facts, objects = sum(known.rows.values()), sum(known.sizes.values())
    widths = zip(known.numbered, known.facts, strict=True)
    listed = sum(number * (some.args.shape[1] + 1) for number, some in widths)
    yield stage("reading tables", "facts and objects", facts + objects, listed + objects)
    yield stage("grounding", "rows of joins", counted.rows, counted.numbers)
    factors = sum(counted.factors.values())
    scopes = sum(n * (len(kind.keys) + len(kind.states)) for kind, n in counted.factors.items())
    yield stage("merging factors", "factors", factors, scopes)
    regions = sum(number * kinds.numbers_of(kind) for kind, number in rows.items())
    yield stage("building regions", "regions", rows.total(), regions)
    title = f"passing messages, {ITERATIONS} iterations"
    yield stage(title, "regions", rows.total(), regions, ITERATIONS)
    atoms = {kind: rows[kind] for kind in kinds.atoms}
    marginals = sum(number * kinds.numbers_of(kind) for kind, number in atoms.items())
    yield stage("writing marginals", "atoms", sum(atoms.values()), marginals)
