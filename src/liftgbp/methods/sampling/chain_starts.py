"""Where chains start: at the minima that were found, at their blocks, and at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from liftgbp.ground.grounding import AtomTable
from liftgbp.methods.sampling.terms import Bytes
from liftgbp.model.ast import Predicate
from liftgbp.model.parser import parse_query
from liftgbp.posterior import BlockedAtom, BlockStructure, Posterior
from liftgbp.posterior.block_table import class_names
from liftgbp.posterior.readers import ClassReader, Reader
from liftgbp.support.arrays import Floats, Ints, distinct, in_parts
from liftgbp.support.errors import InputError

AT_RANDOM = 0.25
"""The part of the chains that start at random worlds if there are answers to start from."""

MOST_STARTS = 8
"""Chains start from at most this many minima and structures of blocks, those with most weight."""

LEAST_SHARE = 1e-3
"""What has a smaller share in the answers is no start."""

Chances: TypeAlias = Callable[[int, np.random.Generator], Floats]
"""For a number of chains: the chances of values, (variables, values, chains); the last axis may be
1."""


@dataclass(frozen=True, eq=False, slots=True)
class Start:
    """A product of independent atoms that chains start from.

    `share` is its share in the answers; nothing is known about that of random worlds.
    """

    name: str
    share: float | None
    chances: Chances


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables of a network before ties, and the predicates of its model."""

    atoms: AtomTable
    ranges: Ints
    predicates: tuple[Predicate, ...]

    def of(self, predicate: int) -> tuple[Ints, Ints]:
        """The variables of a predicate, and the objects of each."""
        order, starts = self._by_predicate
        variables = order[starts[predicate] : starts[predicate + 1]]
        return variables, self.atoms.args[variables, : len(self.predicates[predicate].sorts)]

    @cached_property
    def _by_predicate(self) -> tuple[Ints, Ints]:
        """All variables, predicate by predicate, and where each one starts."""
        order = np.argsort(self.atoms.predicate, kind="stable")
        numbers = np.arange(len(self.predicates) + 1)
        return order, np.searchsorted(self.atoms.predicate[order], numbers)


def starts_of(variables: Variables, answers: Posterior | None) -> list[Start]:
    """Random worlds first, then what answers are made of."""
    random_worlds = [Start("random worlds", None, _fixed(mean_chances(variables, None)))]
    if answers is None:
        return random_worlds
    more: list[Start] = []
    blocks = answers.provenance.blocks
    for number, structure in enumerate(blocks, start=1):
        chances = _of_blocks(variables, answers.reader, structure)
        more.append(Start(f"blocks {number}", structure.share, chances))
    points = [point for point in answers.result.points if point.weight > 0]
    left = max(0.0, 1.0 - sum(structure.share for structure in blocks))
    if len(points) > 1:
        for number, point in enumerate(points, start=1):
            chances = _fixed(mean_chances(variables, answers.at(point).reader))
            more.append(Start(f"minimum {number}", left * point.weight, chances))
    elif left > LEAST_SHARE:
        chances = _fixed(mean_chances(variables, answers.reader))
        more.append(Start("the answers", left, chances))
    more = [start for start in more if start.share is not None and start.share >= LEAST_SHARE]
    return random_worlds + sorted(more, key=lambda start: -(start.share or 0.0))[:MOST_STARTS]


def allotted(starts: Sequence[Start], chains: int) -> Ints:
    """The number of the start of each chain."""
    if len(starts) == 1:
        return np.zeros(chains, np.int64)
    at_random = max(1, round(AT_RANDOM * chains))
    return np.append(
        np.zeros(at_random, np.int64), 1 + np.arange(chains - at_random) % (len(starts) - 1)
    )


def first_values(
    variables: Variables, starts: Sequence[Start], start_of: Ints, random: np.random.Generator
) -> Bytes:
    """The value of each variable in each chain, drawn from the start of the chain."""
    values = np.zeros((len(variables.ranges), len(start_of)), np.uint8)
    for number, start in enumerate(starts):
        chains = np.flatnonzero(start_of == number)
        if len(chains):
            chances = start.chances(len(chains), random)
            values[:, chains] = drawn_values(chances, len(chains), random)
    return values


def drawn_values(chances: Floats, chains: int, random: np.random.Generator) -> Bytes:
    """Values drawn by their chances (variables, values, chains); the last axis may be 1."""
    values = np.empty((len(chances), chains), np.uint8)
    for rows in in_parts(len(chances), chances.shape[1] * chains):
        levels = np.cumsum(chances[rows], axis=1)
        draws = random.random((len(levels), 1, chains)) * levels[:, -1:]
        # Of the values whose cumulative chance exceeds the draw, the first one.
        values[rows] = (draws < levels).argmax(axis=1)
    return values


def mean_chances(variables: Variables, reader: Reader | None) -> Floats:
    """The chances of values by answers, or uniform ones: (variables, values, 1)."""
    widest = max((len(predicate.values) for predicate in variables.predicates), default=1)
    if reader is None:
        allowed = np.arange(widest) < variables.ranges[:, None]
        return np.asarray((allowed / allowed.sum(axis=1, keepdims=True))[:, :, None])
    chances = np.zeros((len(variables.ranges), widest, 1))
    for number in distinct(variables.atoms.predicate).tolist():
        rows, args = variables.of(number)
        table = reader.marginals(number, list(args.T))
        unknown = np.isnan(table).any(axis=1, keepdims=True)
        known = np.where(unknown, 1 / table.shape[1], table)
        chances[rows, : table.shape[1], 0] = known
    return chances


def _fixed(chances: Floats) -> Chances:
    return lambda chains, random: chances


def _of_blocks(variables: Variables, reader: Reader, structure: BlockStructure) -> Chances:
    """Objects fall into blocks of these sizes at random, in each chain anew."""
    if not isinstance(reader, ClassReader):
        raise InputError("blocks are about classes of objects, which these answers do not have")
    normal = reader.normal
    alike = mean_chances(variables, reader)
    by_class = dict(enumerate(class_names(normal)))
    numbers = {
        name: np.repeat(
            [own.number for own in structure.blocks if own.objects == name],
            [own.size for own in structure.blocks if own.objects == name],
        )
        for name in structure.sizes
    }

    def blocks_of(chains: int, random: np.random.Generator) -> dict[str, Ints]:
        """For each sort the block of each object in each chain; 0 for none."""
        blocks = {}
        for sort, size in normal.sizes.items():
            blocks[sort] = np.zeros((size, chains), np.int64)
            home = normal.class_index[sort].of_all(np.arange(size))
            for cls in np.unique(home).tolist():
                members = np.flatnonzero(home == cls)
                labels = numbers.get(by_class[cls], np.zeros(0, np.int64))
                if len(labels) == len(members):
                    for chain in range(chains):
                        blocks[sort][members, chain] = random.permutation(labels)
        return blocks

    def chances(chains: int, random: np.random.Generator) -> Floats:
        table = np.repeat(alike, chains, axis=2)
        blocks = blocks_of(chains, random)
        for atom in structure.atoms:
            _fill(table, variables, atom, blocks)
        return table

    return chances


def _fill(
    chances: Floats, variables: Variables, atom: BlockedAtom, blocks: Mapping[str, Ints]
) -> None:
    """Set the chances of the atoms that a table between blocks is about."""
    (pattern,) = parse_query(atom.text).atoms
    names = [term.name for term in pattern.args]
    number = next(k for k, own in enumerate(variables.predicates) if own.name == pattern.predicate)
    sorts = variables.predicates[number].sorts
    every, args = variables.of(number)
    matching = np.ones(len(args), bool)
    for j, one in enumerate(names):
        for k in range(j):
            if sorts[j] == sorts[k]:
                matching &= (args[:, j] == args[:, k]) == (one == names[k])
    rows = np.flatnonzero(matching)
    at: list[Ints] = []
    for variable, own in zip(atom.variables, atom.blocks, strict=True):
        axis = names.index(variable)
        place = np.full(max(own) + 1, -1)
        place[list(own)] = np.arange(len(own))
        number_of = blocks[sorts[axis]][args[rows, axis]]
        at.append(np.where(number_of <= max(own), place[np.minimum(number_of, max(own))], -1))
    inside = np.all([own >= 0 for own in at], axis=0)
    wanted = atom.table[tuple(np.maximum(own, 0) for own in at)].transpose(0, 2, 1)
    use = inside[:, None, :] & ~np.isnan(wanted).any(axis=1, keepdims=True)
    known = chances[every[rows], : wanted.shape[1]]
    chances[every[rows], : wanted.shape[1]] = np.where(use, wanted, known)
