"""Markov chain Monte Carlo on the ground network of a model, many chains at once."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.errors import InternalError, check_function, checked_number, wrong_type
from liftgbp.evidence import Evidence
from liftgbp.formats import Network
from liftgbp.grounding import AtomTable, GroundNetwork, ground_network
from liftgbp.model.model import Model, check_model
from liftgbp.progress import Progress, silent
from liftgbp.query import Answers
from liftgbp.sampling.chains import Sweeper, Worlds
from liftgbp.sampling.possible import possible_worlds
from liftgbp.sampling.reading import Grounder, sampled_objects
from liftgbp.sampling.starts import Variables, allotted, first_values, starts_of
from liftgbp.sampling.terms import WORD, Words, WorldWeights
from liftgbp.sampling.tied import tie
from liftgbp.sampling.world_sample import Sample, kept_rows

SWEEPS = 1000
"""How many sweeps are made if neither their number nor a time is given."""

MOST_DRAWS = 2000
"""At most this many worlds of each chain are kept."""

MOST_BYTES = 2**26
"""The worlds that are kept take at most this much memory."""


class _Kept:
    """The worlds after every so many sweeps; where there are too many, every other one is left."""

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
    progress: Progress = silent,
) -> Sample:
    """Draw worlds of a model by Markov chain Monte Carlo.

    Chains come in groups of 64, so their number is rounded up. Each makes `sweeps` sweeps, in which
    every atom is drawn anew given all others, or as many as fit into some `seconds`. The same
    `seed` and number of sweeps give the same sample. With `answers`, most chains start at the
    minima and blocks that these are made of, and chains that stay apart are weighed by their
    log Z. Ctrl-C ends the sample, and what was drawn is kept.

    The model may also be a network of another tool, which `load_network` reads.

    >>> import liftgbp
    >>> model = liftgbp.parse("p(thing)\\n1 p(x) ^ p(y) | x != y")
    >>> sample = liftgbp.sample(model, {"thing": 3}, sweeps=300)
    >>> abs(sample.marginal("p(x)") - 0.975817) < 0.01
    True
    """
    width = -(-checked_number("chains", chains, least=1) // WORD)
    limit = None if sweeps is None else checked_number("sweeps", sweeps, least=4)
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise wrong_type("seconds", "a number", seconds)
    check_function("progress", progress)
    begun = time.perf_counter()
    known, network, atoms = _grounded(model, sizes, evidence, progress)
    sizes = known.domain_sizes(sizes)
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
    if limit is None and seconds is None:
        limit = SWEEPS
    kept = _Kept(tied.network.ranges, worlds.chains)
    done, interrupted = 0, False
    try:
        while limit is None or done < limit:
            spent = time.perf_counter() - begun
            if seconds is not None and spent >= seconds and done >= 8:
                break
            _report(progress, done, limit, spent, seconds)
            sweeper.sweep(worlds, random)
            done += 1
            kept.add(done, worlds)
    except KeyboardInterrupt:
        if len(kept) < 8:
            raise
        interrupted = True
    notes = []
    if lost:
        notes.append(f"{lost} of {worlds.chains} chains found no possible world of their own")
    return Sample(
        known=known,
        sizes=dict(sizes),
        variables=variables,
        tied=tied,
        grounder=Grounder(sampled_objects(known, dict(sizes)), seed),
        worlds=kept.worlds,
        starts=tuple(starts),
        start_of=start_of,
        seed=seed,
        sweeps=done,
        every=kept.every,
        seconds=time.perf_counter() - begun,
        interrupted=interrupted,
        notes=tuple(notes),
    )


def _report(
    progress: Progress, done: int, limit: int | None, spent: float, seconds: float | None
) -> None:
    if seconds is not None:
        progress(f"sampling ({done} sweeps, seconds)", int(min(spent, seconds)), int(seconds) or 1)
    elif limit is not None:
        progress("sampling", done, limit)


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
    network = ground_network(known, sizes, progress=progress)
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    return known, network, network.atoms
