"""Markov chain Monte Carlo on the ground network of a model, many chains at once."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.errors import (
    CapacityError,
    InputError,
    InternalError,
    check_function,
    checked_number,
    counted,
    wrong_type,
)
from liftgbp.evidence import Evidence
from liftgbp.formats import Network
from liftgbp.grounding import AtomTable, GroundNetwork, ground_network
from liftgbp.grounding.from_classes import ground_classes
from liftgbp.limits import Limits, limited
from liftgbp.model.model import Model, check_model
from liftgbp.model.scopes import free_variables
from liftgbp.progress import Progress, silent
from liftgbp.query import Answers
from liftgbp.sampling.annealing import anneal
from liftgbp.sampling.chain_starts import Variables, allotted, first_values, mean_chances, starts_of
from liftgbp.sampling.chains import Sweeper, Worlds
from liftgbp.sampling.moves import Moves
from liftgbp.sampling.possible import possible_worlds
from liftgbp.sampling.reading import Grounder, sampled_objects
from liftgbp.sampling.terms import WORD, Words, WorldWeights
from liftgbp.sampling.tied import tie
from liftgbp.sampling.world_sample import Sample, kept_rows
from liftgbp.shatter import shatter

SWEEPS = 1000
"""How many sweeps are made if neither their number nor a time is given."""

FEWEST_SWEEPS = 8
"""At least this many sweeps are made, however little time there is."""

FEWEST_STEPS = 50
"""The fewest steps of annealing."""

FOR_LOG_Z = 0.25
"""The part of the time that is for log Z."""

MOST_GROUNDINGS = 2 * 10**7
"""The most groundings of rules, or ground atoms under evidence, that are written out."""

MOST_DRAWS = 2000
"""At most this many worlds of each chain are kept."""

MOST_BYTES = 2**26
"""The worlds that are kept take at most this much memory."""


class _Kept:
    """Worlds at equal distances; where there are too many, every other one is dropped."""

    def __init__(self, ranges: Ints, chains: int) -> None:
        self._rows = kept_rows(ranges)
        size = max(1, len(self._rows) * chains // 8)
        self._most = max(8, min(MOST_DRAWS, MOST_BYTES // size))
        self._worlds: list[Words] = []
        self._width = chains // WORD
        self.every = 1

    def add(self, sweep: int, worlds: Worlds) -> None:
        """Keep the worlds after a sweep, if it is their turn."""
        if sweep % self.every == 0:
            self._worlds.append(worlds.planes[self._rows])
            if len(self._worlds) > self._most:
                self._worlds = self._worlds[1::2]
                self.every *= 2

    def __len__(self) -> int:
        return len(self._worlds)

    @property
    def worlds(self) -> Words:
        """All worlds that are kept."""
        return np.array(self._worlds, np.uint64).reshape(len(self), len(self._rows), self._width)


@limited("starting")
def sample(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | Mapping[int, int] | str | None = None,
    answers: Answers | None = None,
    chains: int = WORD,
    sweeps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    log_z: bool = True,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Sample:
    """Draw worlds of a model by Markov chain Monte Carlo.

    Chains come in groups of 64, so their number is rounded up. Each makes `sweeps` sweeps, in which
    every atom is drawn anew given all others, or as many as fit into some `seconds`. The same
    `seed` and number of sweeps give the same sample. With `answers`, most chains start at the
    minima and blocks that these are made of, and chains that stay apart are weighed by their
    log Z. Unless `log_z` is false, log Z is estimated in the end, by annealing. Ctrl-C ends the
    sample, and what was drawn is kept.

    The model may also be a network of another tool, which `load_network` reads.

    >>> import liftgbp
    >>> model = liftgbp.parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
    >>> sample = liftgbp.sample(model, {"thing": 3}, sweeps=300)
    >>> abs(sample.marginal("p(x)") - 0.975817) < 0.01
    True
    """
    width = -(-checked_number("chains", chains, least=1) // WORD)
    limit = None if sweeps is None else checked_number("sweeps", sweeps, least=FEWEST_SWEEPS)
    if limit is None and seconds is None:
        limit = SWEEPS
    if seconds is not None and not _is_time(seconds):
        raise wrong_type("seconds", "a number above 0", seconds)
    check_function("progress", progress)
    begun = time.perf_counter()
    known, network, atoms = _grounded(model, sizes, evidence, progress)
    domains = known.domain_sizes(sizes)
    _check_answers(answers, known, domains)
    variables = Variables(atoms, network.ranges, tuple(known.model.predicates.values()))
    progress("preparing chains", 0, 1)
    tied = tie(network)
    sweeper = Sweeper(tied.network)
    weights = WorldWeights(sweeper.index)
    random = np.random.default_rng(checked_number("seed", seed, least=0))
    starts = starts_of(variables, answers)
    start_of = allotted(starts, width * WORD)
    values = first_values(variables, starts, start_of, random)
    worlds = Worlds(tied.network.ranges, values[tied.decides])
    worlds, lost = possible_worlds(sweeper, weights, worlds, random, progress)
    moves = Moves(variables, domains, tied, sweeper, weights)
    kept = _Kept(tied.network.ranges, worlds.chains)
    clock = _Clock(begun, limit, seconds, log_z, progress)
    interrupted = False
    annealed = None
    try:
        while clock.goes_on():
            sweeper.sweep(worlds, random)
            clock.done += 1
            moves.after_sweep(clock.done, worlds, random)
            kept.add(clock.done, worlds)
        if log_z:
            chances = mean_chances(variables, answers)[tied.decides]
            steps = clock.steps()
            annealed = anneal(sweeper, weights, chances, steps, worlds.chains, random, progress)
    except KeyboardInterrupt:
        if len(kept) < FEWEST_SWEEPS:
            raise
        interrupted = True
    notes = []
    if lost:
        notes.append(f"{lost} of {worlds.chains} chains found no possible world of their own")
    if interrupted:
        notes.append(f"interrupted after {counted(clock.done, 'sweep')}")
    return Sample(
        known=known,
        sizes=domains,
        variables=variables,
        tied=tied,
        grounder=Grounder(sampled_objects(known, domains), seed),
        worlds=kept.worlds,
        starts=tuple(starts),
        start_of=start_of,
        seed=seed,
        sweeps=clock.done,
        every=kept.every,
        seconds=time.perf_counter() - begun,
        interrupted=interrupted,
        annealed=annealed,
        notes=tuple(notes),
        moves={name: own.accepted / max(1, own.tries) for name, own in moves.rhythms.items()},
    )


class _Clock:
    """How long chains go on: for a number of sweeps, or for some seconds."""

    def __init__(
        self,
        begun: float,
        limit: int | None,
        seconds: float | None,
        log_z: bool,
        progress: Progress,
    ) -> None:
        self.done = 0
        self._limit = limit
        self._until = None if seconds is None else begun + seconds
        self._started = time.perf_counter()
        # The rest of the time is for log Z.
        part = (1 - FOR_LOG_Z) if log_z else 1.0
        left = 0.0 if self._until is None else max(0.0, self._until - self._started)
        self._time = left * part
        self._progress = progress

    def goes_on(self) -> bool:
        """Whether there is another sweep; says how many are left."""
        spent = time.perf_counter() - self._started
        if self._until is not None:
            self._progress("sampling (seconds)", int(min(spent, self._time)), math.ceil(self._time))
            if spent >= self._time and self.done >= FEWEST_SWEEPS:
                return False
        else:
            self._progress("sampling", self.done, self._limit or self.done)
        return self._limit is None or self.done < self._limit

    def steps(self) -> int:
        """How many steps of annealing there are: half the sweeps, or what time allows."""
        if self._until is None:
            return max(FEWEST_STEPS, self.done // 2)
        now = time.perf_counter()
        of_sweep = (now - self._started) / max(1, self.done)
        return max(FEWEST_STEPS, int(max(0.0, self._until - now) / max(of_sweep, 1e-6)))


def _is_time(seconds: object) -> bool:
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return known and 0 < seconds < math.inf  # type: ignore[operator]


def _grounded(
    model: Model | Network,
    sizes: Mapping[str, int] | None,
    evidence: Evidence | Mapping[int, int] | str | None,
    progress: Progress,
) -> tuple[Evidence, GroundNetwork, AtomTable]:
    """What is known, the network that it leaves, and the atoms of its variables."""
    if isinstance(model, Network):
        if sizes:
            raise wrong_type("sizes", "left out, since a network has no domains", sizes)
        if isinstance(evidence, Evidence):
            raise wrong_type("evidence", "a .uai.evid file, or a mapping of variables", evidence)
        seen = model.observed(evidence)
        known, atoms = model.as_evidence(seen)
        return known, model.conditioned(seen), atoms
    check_model(model)
    if evidence is not None and not isinstance(evidence, Evidence):
        raise wrong_type("evidence", "Evidence", evidence)
    known = Evidence.of(model, evidence)
    _check_size(known, known.domain_sizes(sizes))
    if known:
        network = ground_network(known, sizes, progress=progress)
    else:
        # Without evidence there is nothing to join, so that no database is needed.
        network = ground_classes(shatter(known.model, sizes))
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    return known, network, network.atoms


def _check_answers(answers: object, known: Evidence, sizes: Mapping[str, int]) -> None:
    """Refuse answers about something else than what is sampled."""
    if answers is None:
        return
    if not isinstance(answers, Answers):
        raise wrong_type("answers", "the answers of infer", answers)
    if dict(answers.sizes) != dict(sizes) or answers.model.predicates != known.model.predicates:
        raise InputError("the answers are about another model or other domains than the sample")


def _check_size(known: Evidence, sizes: Mapping[str, int]) -> None:
    """Refuse a model whose ground network would not fit into memory, before it is written out."""
    model = known.model
    if known:
        # Evidence may leave few factors, but never more atoms than there are.
        number, what = 0, "ground atoms"
        for name, predicate in model.predicates.items():
            if name not in known.closed:
                number += math.prod(sizes[sort] for sort in predicate.sorts)
    else:
        number, what = 0, "groundings of rules"
        for rule in model.rules:
            sorts = model.variable_sorts(rule)
            number += math.prod(sizes[sorts[variable]] for variable in free_variables(rule))
    if number > MOST_GROUNDINGS:
        raise CapacityError(
            f"the model has {number:.2g} {what}, and sampling writes them out: at most "
            f"{MOST_GROUNDINGS:.0e}; sample smaller domains"
        )
