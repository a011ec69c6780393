"""Ground models of the reference as networks in arrays, and random networks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from liftgbp.ground.compress import GroundRegions
from liftgbp.ground.grounding import AtomTable, FactorBlock, GroundNetwork, merged
from liftgbp.oracle import reference


def touched_atoms(ground: reference.GroundModel) -> list[reference.GroundAtom]:
    """The atoms of factors in order; variable k of the network is the k-th of them."""
    return sorted({atom for factor in ground.factors for atom in factor.scope})


def network_of(ground: reference.GroundModel) -> GroundNetwork:
    atoms = touched_atoms(ground)
    number = {atom: k for k, atom in enumerate(atoms)}
    predicates = sorted({atom.predicate for atom in ground.atoms})
    arity = max((len(atom.objects) for atom in atoms), default=0)
    free: dict[int, int] = {}
    for atom in set(ground.atoms) - set(atoms):
        free[ground.ranges[atom]] = free.get(ground.ranges[atom], 0) + 1
    return merged(
        np.array([ground.ranges[atom] for atom in atoms], dtype=np.int64),
        [
            FactorBlock(np.array([[number[a] for a in f.scope]]), np.array([k]))
            for k, f in enumerate(ground.factors)
        ],
        [f.log_table for f in ground.factors],
        log_constant=ground.log_constant,
        free=free,
        atoms=AtomTable(
            np.array([predicates.index(a.predicate) for a in atoms], dtype=np.int64),
            np.array(
                [[*a.objects, *[-1] * (arity - len(a.objects))] for a in atoms], dtype=np.int64
            ).reshape(len(atoms), arity),
        ),
    )


def rows_as_atoms(
    ground: reference.GroundModel, regions: GroundRegions
) -> list[frozenset[reference.GroundAtom]]:
    atoms = touched_atoms(ground)
    return [frozenset(atoms[v] for v in row) for rows in regions.rows for row in rows.tolist()]


TABLES = st.sampled_from([0.0, 0.0, 0.5, 1.0, -0.7])


@st.composite
def ground_models(draw: st.DrawFn, hard: bool = False) -> reference.GroundModel:
    """Small networks that never were relational, with few different tables."""
    count = draw(st.integers(2, 7))
    # Atoms of one predicate, for atoms of different predicates are never taken to be alike.
    values_of = [draw(st.sampled_from([2, 2, 2, 3])) for _ in range(count)]
    ranges = {reference.GroundAtom(f"v{n}", (k,)): n for k, n in enumerate(values_of)}
    atoms = tuple(sorted(ranges))
    values = st.sampled_from([0.0, 0.5, -np.inf, 1.0, 0.0]) if hard else TABLES
    tables: dict[tuple[reference.GroundAtom, ...], np.ndarray] = {}
    pool: dict[tuple[int, ...], np.ndarray] = {}
    for _ in range(draw(st.integers(1, 7))):
        scope = tuple(
            sorted(draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=4, unique=True)))
        )
        shape = tuple(ranges[atom] for atom in scope)
        if shape not in pool or draw(st.booleans()):
            entries = int(np.prod(shape))
            drawn = draw(st.lists(values, min_size=entries, max_size=entries))
            pool[shape] = np.array(drawn).reshape(shape)
        tables[scope] = pool[shape]
    return plain_model(
        ranges, tuple(reference.GroundFactor(scope, tables[scope]) for scope in sorted(tables))
    )


def plain_model(
    ranges: dict[reference.GroundAtom, int], factors: tuple[reference.GroundFactor, ...]
) -> reference.GroundModel:
    """A ground model of atoms over things, without evidence."""
    return reference.GroundModel(
        atoms=tuple(sorted(ranges)),
        ranges=ranges,
        factors=factors,
        log_constant=0.0,
        sizes={"thing": len(ranges)},
        argument_sorts={atom.predicate: ("thing",) for atom in ranges},
        observed={},
    )
