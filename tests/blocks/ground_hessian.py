"""The Hessian of the ground free energy at the beliefs of a lifted answer, as a dense matrix.

It shares nothing with the engine: regions, factors and counting numbers are those of the reference,
and curvatures are generalised eigenvalues of plain matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import null_space

from liftgbp.oracle.reference import GroundAtom, GroundRegionGraph, Region
from liftgbp.posterior import ClassReader
from liftgbp.support.arrays import Floats

State = tuple[Region, tuple[int, ...]]
ZERO = 1e-30


class GroundHessian:
    """Curvatures in the metric of the outer regions' entropy, on consistent directions."""

    def __init__(self, graph: GroundRegionGraph, reader: ClassReader) -> None:
        self._graph = graph
        self.sizes = graph.ground.sizes
        outer = [region for region in graph.regions if not graph.parents[region]]
        self._beliefs = {region: _joint(graph, reader, region) for region in graph.regions}
        self._states: list[State] = [
            (region, state)
            for region in outer
            for state in np.ndindex(*self._beliefs[region].shape)
            if self._beliefs[region][state] > ZERO
        ]
        self._place = {state: k for k, state in enumerate(self._states)}
        self._fill(outer)

    def _fill(self, outer: Sequence[Region]) -> None:
        """The Hessian, the equations between beliefs, and the slope, in scaled coordinates."""
        graph, number = self._graph, len(self._states)
        b = np.array([self._beliefs[region][state] for region, state in self._states])
        # A change p of beliefs has coordinates p / root. Outer regions count once, so that the
        # Hessian of their entropy is the identity.
        root = np.sqrt(b)
        self._hessian = np.eye(number)
        theta = np.array([graph.theta[region][state] for region, state in self._states])
        self._slope = np.log(b) - theta + 1
        equations = [[float(region == own) for region, _ in self._states] for own in outer]
        for inner in graph.regions:
            if inner in outer:
                continue
            above = [region for region in outer if inner < region]
            rows = {region: self._marginal(region, inner) for region in above}
            first = rows[above[0]]
            for region in above[1:]:
                equations += [list(row) for row in rows[region] - first]
            y = self._beliefs[inner].reshape(-1)
            used = y > ZERO
            weight = graph.counting[inner]
            marginal = first[used]
            scaled = marginal * root / np.sqrt(y[used])[:, None]
            self._hessian += weight * scaled.T @ scaled
            inner_theta = graph.theta[inner].reshape(-1)[used]
            self._slope += weight * (np.log(y[used]) - inner_theta + 1) @ marginal
        matrix = np.array(equations).reshape(-1, number)
        np.testing.assert_allclose(matrix[: len(outer)] @ b, 1, atol=1e-9)
        np.testing.assert_allclose(matrix[len(outer) :] @ b, 0, atol=1e-9)
        self._equations = matrix * root
        self._slope *= root

    def _marginal(self, region: Region, inner: Region) -> Floats:
        """How the table of an inner region is a sum of entries of an outer one."""
        axes = [k for k, atom in enumerate(sorted(region)) if atom in inner]
        shape = self._beliefs[inner].shape
        rows = np.zeros((self._beliefs[inner].size, len(self._states)))
        for column, (own, state) in enumerate(self._states):
            if own == region:
                inside = tuple(state[axis] for axis in axes)
                rows[int(np.ravel_multi_index(inside, shape)) if shape else 0, column] = 1
        return rows

    def curvatures(self, blocks: Mapping[str, Sequence[int]] | None = None) -> Floats:
        """All curvatures, or those of directions that treat the objects of a block alike.

        `blocks` gives for each sort the block of each object.
        """
        alike = np.eye(len(self._states)) if blocks is None else self._orbits(blocks)
        free = alike @ null_space(self._equations @ alike)
        return np.asarray(np.linalg.eigvalsh(free.T @ self._hessian @ free))

    def steepest(self) -> float:
        """The slope of the free energy along consistent directions, in the same coordinates."""
        return float(np.linalg.norm(null_space(self._equations).T @ self._slope))

    def _orbits(self, blocks: Mapping[str, Sequence[int]]) -> Floats:
        """One column for each set of entries that exchanging objects of a block permutes."""
        label = list(range(len(self._states)))
        for sort, of_object in blocks.items():
            for one, other in itertools.combinations(range(len(of_object)), 2):
                if of_object[one] == of_object[other]:
                    self._join(label, sort, {one: other, other: one})
        names = sorted(set(label))
        columns = np.zeros((len(label), len(names)))
        columns[np.arange(len(label)), [names.index(own) for own in label]] = 1
        return np.asarray(columns / np.linalg.norm(columns, axis=0))

    def _join(self, label: list[int], sort: str, swap: Mapping[int, int]) -> None:
        sorts = self._graph.ground.argument_sorts

        def moved(atom: GroundAtom) -> GroundAtom:
            places = zip(sorts[atom.predicate], atom.objects, strict=True)
            objects = (swap.get(obj, obj) if own == sort else obj for own, obj in places)
            return GroundAtom(atom.predicate, tuple(objects))

        for k, (region, state) in enumerate(self._states):
            values = {moved(atom): v for atom, v in zip(sorted(region), state, strict=True)}
            image = frozenset(values)
            there = self._place[image, tuple(values[atom] for atom in sorted(image))]
            old, new = max(label[k], label[there]), min(label[k], label[there])
            if old != new:
                label[:] = [new if own == old else own for own in label]


def _joint(graph: GroundRegionGraph, reader: ClassReader, region: Region) -> Floats:
    """The belief of a lifted answer about the atoms of a ground region."""
    normal = reader.normal
    names = list(normal.model.predicates)
    atoms = []
    for atom in sorted(region):
        sorts = graph.ground.argument_sorts[atom.predicate]
        args = tuple(
            (int(normal.class_index[sort].of_all(np.array([obj]))[0]), obj)
            for sort, obj in zip(sorts, atom.objects, strict=True)
        )
        atoms.append((names.index(atom.predicate), args))
    return np.where(graph.alive[region], reader.joint(atoms), 0.0)


def smallest_belief(graph: GroundRegionGraph, reader: ClassReader) -> float:
    """The smallest belief of a region that is not zero."""
    tables = [_joint(graph, reader, region) for region in graph.regions]
    return min(float(table[table > ZERO].min()) for table in tables)
