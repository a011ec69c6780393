"""Markov chain Monte Carlo on the ground network of a model, many chains at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from liftgbp.evidence import AnyEvidence, Evidence, Problem
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding import AtomTable, GroundNetwork, ground_network
from liftgbp.ground.grounding.from_classes import ground_classes
from liftgbp.lift.shatter import Shattering, object_classes
from liftgbp.lift.via import groundings, open_atoms
from liftgbp.methods.sampling.annealing import Annealing, LogZ, possible_worlds
from liftgbp.methods.sampling.chain_starts import (
    Variables,
    allotted,
    first_values,
    mean_chances,
    starts_of,
)
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.moves import Moves
from liftgbp.methods.sampling.reading import Grounder, sampled_objects
from liftgbp.methods.sampling.terms import WORD, Words, WorldWeights
from liftgbp.methods.sampling.tied import Tied, tie
from liftgbp.methods.sampling.world_sample import Sample, kept_rows
from liftgbp.model.model import Model
from liftgbp.posterior import Answered, Posterior, posterior_of
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import (
    CapacityError,
    InputError,
    InternalError,
    LimitExceeded,
    check_function,
    checked_flag,
    checked_number,
    checked_seconds,
    counted,
    shown,
    wrong_type,
)
from liftgbp.support.limits import Limits, limited, reporting, watch_for
from liftgbp.support.progress import Progress, silent

SWEEPS = 1000
"""How many sweeps are made if neither their number nor a time is given."""

WEIGHED = 16
"""After so many sweeps worlds are weighed, or so many worlds that are kept: the best one bounds
log Z."""

FEWEST_SWEEPS = 8
"""A sample has at least this many sweeps, or R-hat could not be computed."""

FEWEST_STEPS = 50
"""The fewest steps of annealing; where time allows fewer, log Z is left out."""

MOST_STEPS = 200
"""The most steps of annealing beside a sample that takes the place of an answer: more would take
longer than the sample."""

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


@dataclass(frozen=True, eq=False)
class Target:
    """What is sampled: a problem, the network that is left of it, and its atoms."""

    problem: Problem
    network: GroundNetwork
    atoms: AtomTable

    @classmethod
    def of(
        cls,
        model: Model | Network,
        sizes: Mapping[str, int] | None,
        evidence: AnyEvidence | Mapping[int, int] | None,
        progress: Progress,
    ) -> Target:
        """A model for some sizes, or a network of another tool, under evidence."""
        progress("writing out ground atoms", 0, 1)
        if isinstance(model, Network):
            if sizes:
                raise wrong_type("sizes", "left out, since a network has no domains", sizes)
            if isinstance(evidence, Evidence):
                raise wrong_type(
                    "evidence", "a .uai.evid file, or a mapping of variables", evidence
                )
            seen = model.observed(cast("Mapping[int, int] | str | None", evidence))
            problem, atoms = model.as_problem(seen)
            return cls(problem, model.conditioned(seen), atoms)
        problem = Problem.of(model, cast("AnyEvidence | None", evidence), sizes)
        return cls.of_problem(problem, progress)

    @classmethod
    def of_problem(cls, problem: Problem, progress: Progress) -> Target:
        """A model under evidence."""
        _check_size(problem)
        if problem.evidence:
            network = ground_network(problem, progress=progress)
        else:
            # Without evidence there is nothing to join, so that no database is needed.
            network = ground_classes(Shattering(object_classes(problem)).normal())
        if network.atoms is None:
            raise InternalError("a ground model without a table of its atoms")
        return cls(problem, network, network.atoms)

    @cached_property
    def tied(self) -> Tied:
        """The network with one variable for all that must agree."""
        return tie(self.network)

    @cached_property
    def sweeper(self) -> Sweeper:
        """What draws all variables."""
        return Sweeper(self.tied.network)


MOST_CHAINS = 2**20
"""More chains than this need more memory for one atom each than other runs altogether."""


@limited("starting")
def sample(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | Mapping[int, int] | None = None,
    answers: Posterior | Answered | None = None,
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
    posterior = None if answers is None else posterior_of(answers)
    width = -(-checked_number("chains", chains, least=1) // WORD)
    log_z = checked_flag("log_z", log_z)
    if width * WORD > MOST_CHAINS:
        raise CapacityError(f"at most {MOST_CHAINS} chains can be sampled, got {shown(chains)}")
    limit = None if sweeps is None else checked_number("sweeps", sweeps, least=FEWEST_SWEEPS)
    if limit is None and seconds is None:
        limit = SWEEPS
    if seconds is not None:
        seconds = checked_seconds(seconds)
    check_function("progress", progress)
    clock = _Clock(limit, seconds, log_z, reporting(progress))
    return _drawn(
        lambda: Target.of(model, sizes, evidence, clock.progress),
        posterior,
        width * WORD,
        seed,
        clock,
    )


def drawn_from(
    target: Target, answers: Posterior, chains: int, sweeps: int, progress: Progress
) -> Sample:
    """A sample without log Z, of chains that start at what some answers are made of."""
    clock = _Clock(sweeps, None, False, progress)
    return _drawn(lambda: target, answers, chains, 0, clock)


def _drawn(
    target: Callable[[], Target],
    posterior: Posterior | None,
    chains: int,
    seed: int,
    clock: _Clock,
) -> Sample:
    try:
        with clock.watched():
            chain = _Chains(target(), posterior, chains, seed, clock.progress)
            clock.start(len(chain.tied.network.ranges))
            thinned = _Kept(chain.tied.network.ranges, chain.worlds.chains)
            while clock.goes_on():
                chain.sweep(clock.done + 1)
                clock.done += 1
                thinned.add(clock.done, chain.worlds)
    except LimitExceeded:
        if not clock.is_up:
            raise
        clock.check_enough()
    except KeyboardInterrupt:
        clock.interrupt()
    annealed, notes = None, []
    steps = clock.steps()
    if steps:
        try:
            annealed = chain.annealed(posterior, steps, clock.progress)
            if annealed is None:
                notes.append("log Z is left out: annealing contradicts the sampled worlds")
        except KeyboardInterrupt:
            clock.interrupt()
    notes += clock.notes
    if chain.lost:
        total = counted(chain.worlds.chains, "chain")
        notes.insert(0, f"{chain.lost} of {total} found no possible world of their own")
    return Sample(
        problem=chain.problem,
        variables=chain.variables,
        tied=chain.tied,
        grounder=Grounder(sampled_objects(chain.problem), seed),
        worlds=thinned.worlds,
        starts=tuple(chain.starts),
        start_of=chain.start_of,
        seed=seed,
        sweeps=clock.done,
        every=thinned.every,
        seconds=time.perf_counter() - clock.begun,
        interrupted=clock.interrupted,
        annealed=annealed,
        notes=tuple(notes),
        moves={
            name: rhythm.accepted / max(1, rhythm.tries)
            for name, rhythm in chain.moves.rhythms.items()
        },
    )


def estimated_log_z(
    target: Target, answers: Posterior, drawn: Sample, progress: Progress
) -> LogZ | None:
    """An estimate of log Z for a sample that was drawn without one, if a sound one is found."""
    network, sweeper = drawn.tied.network, target.sweeper
    weights = WorldWeights(sweeper.index)
    few = np.linspace(0, len(drawn.worlds) - 1, min(len(drawn.worlds), WEIGHED)).astype(np.int64)
    some = [Worlds.of_bits(network.ranges, drawn.worlds[k]) for k in few.tolist()]
    best = max(float(weights.full(worlds.planes).max()) for worlds in some)
    chances = mean_chances(drawn.variables, answers.reader)[drawn.tied.decides, :, 0]
    steps = max(FEWEST_STEPS, min(MOST_STEPS, drawn.sweeps // 2))
    random = np.random.default_rng(drawn.seed)
    return Annealing(sweeper, weights, chances, steps, random, progress).log_z(some[-1], best)


class _Chains:
    """Chains that are ready to go, at worlds that satisfy all hard factors."""

    def __init__(
        self,
        target: Target,
        answers: Posterior | None,
        chains: int,
        seed: int,
        progress: Progress,
    ) -> None:
        self.problem, network = target.problem, target.network
        _check_answers(answers, self.problem)
        predicates = tuple(self.problem.model.predicates.values())
        self.variables = Variables(target.atoms, network.ranges, predicates)
        progress("preparing chains", 0, 1)
        self.tied, self.sweeper = target.tied, target.sweeper
        self.weights = WorldWeights(self.sweeper.index)
        self.random = random = np.random.default_rng(checked_number("seed", seed, least=0))
        self.starts = starts_of(self.variables, answers)
        self.start_of = allotted(self.starts, chains)
        values = first_values(self.variables, self.starts, self.start_of, random)
        worlds = Worlds(self.tied.network.ranges, values[self.tied.decides])
        self.worlds, self.lost = possible_worlds(
            self.sweeper, self.weights, worlds, random, progress
        )
        self.best = -math.inf
        """The largest log weight of a world that was met."""
        self.moves = Moves(
            self.variables, self.problem.sizes, self.tied, self.sweeper, self.weights
        )

    def sweep(self, number: int) -> None:
        """Draw every atom anew, and try the moves whose turn it is."""
        self.sweeper.sweep(self.worlds, self.random)
        self.moves.after_sweep(number, self.worlds, self.random)
        if number % WEIGHED == 0:
            self.best = max(self.best, float(self.weights.full(self.worlds.planes).max()))

    def annealed(self, answers: Posterior | None, steps: int, progress: Progress) -> LogZ | None:
        """An estimate of log Z, unless the worlds of the chains refute it."""
        reader = None if answers is None else answers.reader
        chances = mean_chances(self.variables, reader)[self.tied.decides, :, 0]
        annealing = Annealing(self.sweeper, self.weights, chances, steps, self.random, progress)
        return annealing.log_z(self.worlds, self.best)


class _Clock:
    """How long chains go on: for a number of sweeps, or for some seconds.

    These count from here: what is prepared before the first sweep takes its part.
    """

    def __init__(
        self, limit: int | None, seconds: float | None, log_z: bool, progress: Progress
    ) -> None:
        self.done = 0
        self.interrupted = False
        self.notes: list[str] = []
        self.progress = progress
        self.begun = self._started = time.perf_counter()
        self._limit = limit
        self._seconds = seconds
        self._until = None if seconds is None else self.begun + seconds
        self._log_z = log_z
        self._time = 0.0
        self._atoms = 0

    def watched(self) -> AbstractContextManager[object]:
        """Ends what is done inside once time is up, by raising `LimitExceeded`."""
        watch = None if self._seconds is None else watch_for(Limits(seconds=self._seconds))
        return nullcontext() if watch is None else watch.running()

    def start(self, atoms: int) -> None:
        """Everything is prepared, and the first sweep begins."""
        self._started = time.perf_counter()
        self._atoms = atoms
        # The rest of the time is for log Z.
        part = (1 - FOR_LOG_Z) if self._log_z else 1.0
        left = 0.0 if self._until is None else max(0.0, self._until - self._started)
        self._time = left * part

    @property
    def is_up(self) -> bool:
        """Whether time is up."""
        return self._until is not None and time.perf_counter() >= self._until

    def check_enough(self) -> None:
        """An error unless there are enough sweeps."""
        if self.done >= FEWEST_SWEEPS:
            return
        remedy = "give it more seconds, or sample smaller domains"
        reached = "chains were still being prepared"
        if self._atoms:
            made = f"{counted(self.done, 'sweep')} over {counted(self._atoms, 'atom')}"
            reached = f"there had been {made}, and a sample needs {FEWEST_SWEEPS}"
        raise CapacityError(f"too little time for a sample: {reached}; {remedy}") from None

    def interrupt(self) -> None:
        """Ctrl-C: what was drawn is kept, if it is enough."""
        if self.done < FEWEST_SWEEPS:
            raise KeyboardInterrupt(
                f"{counted(self.done, 'sweep')} had been made, and a sample needs {FEWEST_SWEEPS}: "
                "nothing is kept"
            ) from None
        self.interrupted = True
        self.notes.append(f"interrupted after {counted(self.done, 'sweep')}")

    def goes_on(self) -> bool:
        """Whether there is another sweep; says how many are left."""
        spent = time.perf_counter() - self._started
        if self._until is not None:
            self.progress("sampling (seconds)", int(min(spent, self._time)), math.ceil(self._time))
            if spent >= self._time and self.done >= FEWEST_SWEEPS:
                return False
        else:
            self.progress("sampling", self.done, self._limit or self.done)
        return self._limit is None or self.done < self._limit

    def steps(self, fewest: int = FEWEST_STEPS) -> int:
        """How many steps of annealing there are, there and back: half the sweeps, or what time
        allows."""
        if not self._log_z or self.interrupted:
            return 0
        if self._until is None:
            return max(fewest, self.done // 2)
        now = time.perf_counter()
        of_sweep = (now - self._started) / max(1, self.done)
        steps = int(max(0.0, self._until - now) / max(of_sweep, 1e-6)) // 2
        if steps < fewest:
            self.notes.append("no time was left to estimate log Z")
            return 0
        return steps


def _check_answers(answers: Posterior | None, problem: Problem) -> None:
    """Refuse answers about something else than what is sampled."""
    if answers is None:
        return
    same = answers.model.predicates == problem.model.predicates
    if answers.sizes != problem.sizes or not same:
        raise InputError("the answers are about another model or other domains than the sample")


def _check_size(problem: Problem) -> None:
    """Refuse a model whose ground network would not fit into memory, before it is written out."""
    model, sizes = problem.model, problem.sizes
    if problem.evidence:
        # Evidence may leave few factors, but never more atoms than there are.
        number, what = open_atoms(problem), "ground atoms"
    else:
        number, what = groundings(model, sizes), "groundings of rules"
    objects = max(sizes.values(), default=0)
    if objects > number:
        number, what = objects, "objects of one sort"
    if number > MOST_GROUNDINGS:
        raise CapacityError(
            f"the model has {number:.2g} {what}, and sampling writes them out: at most "
            f"{MOST_GROUNDINGS:.0e}; sample smaller domains"
        )
