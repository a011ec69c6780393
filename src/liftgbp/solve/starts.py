"""Where descent starts: independent atoms, flat, tilted towards each value, and at random."""

from __future__ import annotations

import numpy as np

from liftgbp.plan.plan import Floats, Layout

TILT = 0.9


def starting_beliefs(layout: Layout, random: int, seed: int) -> Floats:
    """A stack of beliefs of all entries, as if atoms of each group were independent.

    The first is flat. Then, for each value of each group of atoms, one in which the group's atoms
    have that value with high probability; then random ones.
    """
    sizes = group_sizes(layout)
    flat = {group: np.full(size, 1 / size) for group, size in sizes.items()}
    starts = [flat]
    for group, size in sizes.items():
        for value in range(size):
            tilted = np.full(size, (1 - TILT) / (size - 1))
            tilted[value] = TILT
            starts.append({**flat, group: tilted})
    generator = np.random.default_rng(seed)
    starts += [
        {group: generator.dirichlet(np.ones(size)) for group, size in sizes.items()}
        for _ in range(random)
    ]
    return np.array([_independent(layout, start) for start in starts])


def group_sizes(layout: Layout) -> dict[int, int]:
    """The number of values of each group of atoms."""
    return dict(sorted(zip(layout.group_of_atom, layout.atom_ranges, strict=True)))


def _independent(layout: Layout, probabilities: dict[int, Floats]) -> Floats:
    tables = []
    for shape, states, atoms in zip(
        layout.shapes, layout.representatives, layout.atom_of_axis, strict=True
    ):
        belief = np.ones(len(states))
        for digits, atom in zip(np.unravel_index(states, shape), atoms, strict=True):
            belief *= probabilities[layout.group_of_atom[atom]][digits]
        tables.append(belief)
    return np.concatenate(tables) if tables else np.zeros(0)
