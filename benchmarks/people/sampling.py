"""Truths of models that only long runs of a plain sampler know.

They are stored in `sampled.json` with their standard errors; `benchmarks.people.drawn` draws them.
Copies of the chains are independent, so that the spread of their means is an honest error. One half
starts otherwise than the other, and `apart` is by how many standard errors the halves differ.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.people.case import PeopleCase, Truth
from benchmarks.people.chains import Chains
from liftgbp.evidence import Problem
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom
from liftgbp.oracle.reference.plain_grounding import observed_values

STORED = Path(__file__).with_name("sampled.json")
WARM_UP = 0.3
"""The part of all sweeps that is left out."""

Starts = Callable[[np.random.Generator, GroundAtom], bool]


def empty(_: np.random.Generator, atom: GroundAtom) -> bool:
    return False


def anything(random: np.random.Generator, atom: GroundAtom) -> bool:
    return bool(random.random() < 0.5)


def everything(_: np.random.Generator, atom: GroundAtom) -> bool:
    return True


def in_order(_: np.random.Generator, atom: GroundAtom) -> bool:
    return len(atom.objects) == 2 and atom.objects[0] < atom.objects[1]


@dataclass(frozen=True)
class Recipe:
    """How a model is sampled: `betas` are temperatures, `exchangeable` the sort whose objects
    change places, and `joins` a symmetric relation whose objects join classes of others."""

    sweeps: int
    copies: int = 32
    betas: tuple[float, ...] = (1.0,)
    symmetric: tuple[str, ...] = ()
    exchangeable: str = ""
    joins: str = ""
    starts: tuple[Starts, Starts] = (empty, anything)


@dataclass(frozen=True)
class Estimate:
    """A probability, its standard error, and by how many of them the two starts differ."""

    value: float
    error: float
    apart: float


class Sampler:
    """Samples a case by a recipe, and reads off its queries."""

    def __init__(self, case: PeopleCase, recipe: Recipe, seed: int = 0) -> None:
        self.recipe = recipe
        self.problem = Problem.of(case.model, case.evidence, dict(case.sizes))
        # Objects change places together with their facts, so that atoms with facts stay variables.
        moves = bool(recipe.exchangeable)
        known = observed_values(self.problem) if moves else {}
        ground = reference.ground(case.model, case.sizes, None if moves else case.evidence)
        self.chains = Chains(
            ground,
            known,
            symmetric=recipe.symmetric,
            copies=recipe.copies,
            betas=recipe.betas,
            seed=seed,
        )
        self.sorts = {p.name: p.sorts for p in self.problem.model.predicates.values()}
        self._start(np.random.default_rng(seed + 1))
        self.atoms = {query: list(self._atoms_of(query)) for query in case.queries}

    def _start(self, random: np.random.Generator) -> None:
        worlds, half = self.chains.worlds, self.chains.worlds.shape[1] // 2
        for atom, number in self.chains.number.items():
            if number not in self.chains.known:
                for start, part in zip(
                    self.recipe.starts, (slice(0, half), slice(half, None)), strict=True
                ):
                    values = worlds[number, part]
                    values[:] = [start(random, atom) for _ in range(len(values))]

    def _atoms_of(self, query: str) -> Iterator[int]:
        """The atoms that a query stands for, which are all equally likely.

        A variable is any object without a name; so is, where objects are exchangeable, a name that
        no fact mentions. Different terms are different objects.
        """
        name, _, arguments = query.rstrip(")").partition("(")
        terms = list(filter(None, arguments.split(",")))
        sorts = self.sorts[name]
        choices = []
        for term, sort in zip(terms, sorts, strict=True):
            apart = self._told_apart[sort]
            others = [k for k in range(self.problem.sizes[sort]) if k not in apart.values()]
            choices.append([apart[term]] if term in apart else others)
        for objects in itertools.product(*choices):
            pairs = itertools.combinations(zip(objects, sorts, strict=True), 2)
            if all(one != other for one, other in pairs):
                yield self.chains[GroundAtom(name, objects)]

    @cached_property
    def _told_apart(self) -> dict[str, dict[str, int]]:
        """The named objects of each sort that differ from the others, with their numbers."""
        mentioned = {
            (sort, k)
            for atom in observed_values(self.problem)
            for sort, k in zip(self.sorts[atom.predicate], atom.objects, strict=True)
        }
        return {
            sort: {
                name: k
                for k, name in enumerate(self.problem.model.constants(sort))
                if not self.recipe.exchangeable or (sort, k) in mentioned
            }
            for sort in self.problem.sizes
        }

    def estimates(self) -> dict[str, Estimate]:
        """The probability of each query."""
        sums = {query: np.zeros(self.recipe.copies) for query in self.atoms}
        kept = 0
        for sweep in range(self.recipe.sweeps):
            self.chains.sweep()
            self.chains.exchange()
            if self.recipe.exchangeable:
                sort = self.recipe.exchangeable
                for _ in range(3):
                    self.chains.change_places(self.sorts, sort, self.problem.sizes[sort])
            if self.recipe.joins:
                sort = self.sorts[self.recipe.joins][0]
                for _ in range(self.problem.sizes[sort]):
                    self.chains.join(self.recipe.joins, self.problem.sizes[sort])
            if sweep >= WARM_UP * self.recipe.sweeps:
                kept += 1
                worlds = self.chains.by_copy
                for query, atoms in self.atoms.items():
                    sums[query] += worlds[atoms].mean(axis=0)
        return {query: _estimate(total / kept) for query, total in sums.items()}


def _estimate(means: np.ndarray) -> Estimate:
    half = len(means) // 2
    error = float(means.std(ddof=1) / math.sqrt(len(means)))
    apart = (means[:half].mean() - means[half:].mean()) / max(2 * error, 1e-12)
    return Estimate(float(means.mean()), error, float(apart))


@dataclass(frozen=True, eq=False)
class SampledCase(PeopleCase):
    """A case whose truth is stored."""

    queries: tuple[str, ...] = ()
    recipe: Recipe = Recipe(0)

    @cached_property
    def drawn(self) -> dict[str, Estimate]:
        """The truth, drawn anew."""
        return Sampler(self, self.recipe).estimates()


def sampled(
    name: str,
    text: str,
    sizes: Mapping[str, int],
    queries: Sequence[str],
    recipe: Recipe,
    facts: str = "",
    by_symmetry: Mapping[str, float] | None = None,
) -> SampledCase:
    """A model whose truth was drawn by a recipe, but for what is known by symmetry."""
    return SampledCase(
        name,
        text,
        sizes,
        "sampled",
        lambda: {**stored(name), **(by_symmetry or {})},
        "\n".join(facts.split("; ")),
        queries=tuple(queries),
        recipe=recipe,
    )


def stored(name: str) -> dict[str, Truth]:
    """The probabilities that earlier runs found, with their standard errors."""
    known = json.loads(STORED.read_text("utf-8"))
    return {
        query: Truth(own["value"], own["error"]) for query, own in known[name]["queries"].items()
    }


def store(case: SampledCase) -> dict[str, dict[str, float]]:
    """Draw the truth of a case anew, and keep it."""
    started = time.process_time()
    found = {
        query: {
            "value": round(own.value, 5),
            "error": round(own.error, 6),
            "apart": round(own.apart, 1),
        }
        for query, own in case.drawn.items()
    }
    known = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    known[case.name] = {"seconds": round(time.process_time() - started), "queries": found}
    STORED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return found
