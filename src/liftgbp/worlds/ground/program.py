"""A network as a linear program in whole numbers, written cube by cube.

A cube fixes some of the variables of a factor. Each table is its largest entry less the sum of the
costs of the cubes that a state lies in. A Boolean variable is a column of the program, and another
variable a column for each value; a literal is a column, or one minus a column. A cube of one
literal is a cost of its column. A larger one costs as much as a column z ≥ Σ literals - (k - 1),
and an impossible one demands Σ literals ≤ k - 1. A violated clause is one cube.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Bools, Floats, Ints, distinct, starts_of
from liftgbp.support.limits import checkpoint
from liftgbp.support.workers import finished

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FIRST_SLICE = 5.0
"""Seconds that the solver may take in this process, where it hears no signal."""

TOLERANCE = 1e-6
"""How far the solver's columns may be from what they stand for."""

OPTIMAL, INFEASIBLE = 0, 2
"""How HiGHS says how it ended."""


@dataclass(frozen=True, slots=True)
class Cube:
    """The states of a table that have some values on some axes, and what they cost."""

    literals: tuple[tuple[int, int], ...]
    cost: float


def cubes_of(table: Floats) -> list[Cube]:
    """Cubes whose costs are what the states of a table lack of its largest entry.

    >>> cubes_of(np.array([[0.0, 0.0], [-3.0, 0.0]]))
    [Cube(literals=((0, 1), (1, 0)), cost=3.0)]
    """
    lacking = table.max() - table
    cubes = []
    hard = lacking == math.inf
    open_states = hard.copy()
    while open_states.any():
        state = _first(open_states)
        index = _widened(state, table.ndim, hard.__getitem__)
        open_states[index] = False
        cubes.append(Cube(_literals(index), math.inf))
    # What is impossible anyway may cost anything.
    lacking[hard] = math.inf
    while True:
        left = (lacking > 0) & ~hard
        if not left.any():
            return cubes
        least = lacking[left].min()
        state = _first(left & (lacking == least))
        index = _widened(state, table.ndim, lambda own: lacking[own] > 0)
        lacking[index] -= least
        cubes.append(Cube(_literals(index), float(least)))


Index = tuple[Any, ...]
"""What to take of each axis: one value, or all of them."""


def _first(states: Bools) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(int(states.argmax()), states.shape))


def _widened(state: tuple[int, ...], axes: int, holds: Callable[[Index], Bools]) -> Index:
    """A largest cube around a state in which something holds everywhere."""
    index: Index = state
    for axis in range(axes):
        wider = (*index[:axis], slice(None), *index[axis + 1 :])
        if np.all(holds(wider)):
            index = wider
    return index


def _literals(index: Index) -> tuple[tuple[int, int], ...]:
    return tuple((axis, k) for axis, k in enumerate(index) if not isinstance(k, slice))


@dataclass(eq=False, slots=True)
class Clauses:
    """Many cubes of one cost: the columns of their literals, (cubes, literals).

    `negated` says for which of the literals it is one minus the column. `active` cubes are part of
    the program.
    """

    columns: Ints
    negated: Bools
    cost: float
    active: Bools

    def violations(self, x: Floats) -> Floats:
        """By how much Σ literals exceeds k - 1."""
        values = np.where(self.negated, 1.0 - x[self.columns], x[self.columns])
        return np.asarray(values.sum(axis=1) - (self.columns.shape[1] - 1))


@dataclass(frozen=True, eq=False, slots=True)
class Solved:
    """What the solver found: the columns, the least cost that is possible, and whether it is done.

    `x` is `None` if it found nothing yet; `lower` is infinite if there is no solution.
    """

    x: Floats | None
    lower: float
    done: bool


class CubeProgram:
    """The program of a network; cubes enter it once they are violated.

    With `prefer_false`, a value other than the first costs so little that it only decides ties.
    """

    def __init__(self, network: WholeNetwork, *, prefer_false: bool) -> None:
        self.network = network
        wide = network.ranges != 2
        self._first_column = starts_of(np.where(wide, network.ranges, 1))[:-1]
        self.columns = int(np.where(wide, network.ranges, 1).sum())
        self._wide = np.flatnonzero(wide)
        self._cost = np.zeros(self.columns)
        self._constant = 0.0
        self.clauses: list[Clauses] = []
        for block in network.blocks:
            for table in distinct(block.table_of):
                self._add(block.scopes[block.table_of == table], network.tables[table])
        # What a true atom costs: all of them together less than one unit.
        self._tie = 1.0 / (network.most_true + 1) if prefer_false else 0.0
        self._constant += self._tie * float(network.true[~wide, 0].sum())

    def _add(self, scopes: Ints, table: Floats) -> None:
        for cube in cubes_of(table):
            axes, values = map(list, zip(*cube.literals, strict=True))
            variables = scopes[:, axes]
            boolean = self.network.ranges[variables[0]] == 2
            columns = self._first_column[variables] + np.where(boolean, 0, values)
            negated = boolean & (np.array(values) == 0)
            if len(axes) == 1 and cube.cost < math.inf:
                np.add.at(self._cost, columns[:, 0], -cube.cost if negated[0] else cube.cost)
                self._constant += cube.cost * len(columns) * bool(negated[0])
            else:
                active = np.zeros(len(columns), np.bool_)
                self.clauses.append(Clauses(columns, negated, cube.cost, active))

    def values(self, x: Floats) -> Ints:
        """The world that columns stand for, by rounding."""
        values = (x[self._first_column] > 0.5).astype(np.int64)
        for v in self._wide.tolist():
            start = self._first_column[v]
            values[v] = int(x[start : start + self.network.ranges[v]].argmax())
        return values

    def activate(self, x: Floats) -> int:
        """Make all cubes part of the program that are violated; how many."""
        added = 0
        for clauses in self.clauses:
            new = ~clauses.active & (clauses.violations(x) > TOLERANCE)
            clauses.active |= new
            added += int(new.sum())
        return added

    def solve(self, seconds: float, *, whole: bool) -> Solved:
        """Solve what is active; in a relaxation, columns need not be whole."""
        task = self._task(whole)
        slice_of = min(seconds, FIRST_SLICE)
        solved = _solve(task, slice_of)
        if not solved.done and seconds > slice_of:
            work = partial(_solve, seconds=seconds - slice_of)
            [(_, longer)] = finished(work, [task], 1, apart=True)
            solved = Solved(
                solved.x if longer.x is None else longer.x,
                max(solved.lower, longer.lower),
                longer.done,
            )
        ties = self._tie * self.network.most_true
        return replace(solved, lower=solved.lower + self._constant - ties)

    def _task(self, whole: bool) -> _Task:
        from scipy.sparse import csr_array

        active = [own for own in self.clauses if own.active.any()]
        soft = [int(own.active.sum()) if own.cost < math.inf else 0 for own in active]
        width = self.columns + sum(soft)
        cost = np.concatenate(
            [self._cost, *(np.full(n, own.cost) for n, own in zip(soft, active, strict=True))]
        )
        boolean, true = self.network.ranges == 2, self.network.true
        cost[self._first_column[boolean]] += self._tie * (true[boolean, 1] - true[boolean, 0])
        rows, columns, entries, most = [], [], [], []
        done, slack = 0, self.columns
        for own, extra in zip(active, soft, strict=True):
            chosen = own.columns[own.active]
            number, k = chosen.shape
            row = np.arange(done, done + number)
            rows += [np.repeat(row, k), row[:extra]]
            columns += [chosen.ravel(), np.arange(slack, slack + extra)]
            signs = np.where(own.negated, -1.0, 1.0)
            entries += [np.tile(signs, number), np.full(extra, -1.0)]
            most.append(np.full(number, k - 1.0 - own.negated.sum()))
            done, slack = done + number, slack + extra
        for v in self._wide.tolist():
            start, size = int(self._first_column[v]), int(self.network.ranges[v])
            cost[start : start + size] += self._tie * true[v, :size]
            for sign in (1.0, -1.0):
                rows.append(np.full(size, done))
                columns.append(np.arange(start, start + size))
                entries.append(np.full(size, sign))
                most.append(np.array([sign]))
                done += 1
        matrix = None
        if done:
            places = np.concatenate(rows), np.concatenate(columns)
            matrix = csr_array((np.concatenate(entries), places), shape=(done, width))
        bounds = np.ones(width)
        bounds[self.columns :] = np.inf
        return _Task(
            cost, matrix, np.concatenate([np.zeros(0), *most]), bounds, self.columns if whole else 0
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """Minimise cost @ x with 0 <= x <= bounds and matrix @ x <= most, the first columns whole."""

    cost: Floats
    matrix: csr_array | None
    most: Floats
    bounds: Floats
    whole: int


def _solve(task: _Task, seconds: float) -> Solved:
    """Let HiGHS solve a task (Q. Huangfu and J. Hall, *Math. Prog. Computation* 2018)."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    checkpoint()
    whole = np.arange(len(task.cost)) < task.whole
    limits = () if task.matrix is None else LinearConstraint(task.matrix, ub=task.most)
    options = {"time_limit": max(seconds, TOLERANCE), "mip_rel_gap": 0.0}
    result = milp(
        task.cost,
        integrality=whole.astype(int),
        bounds=Bounds(0, task.bounds),
        constraints=limits,
        options=options,
    )
    if result.status == INFEASIBLE:
        return Solved(None, math.inf, done=True)
    lower = result.fun if task.whole == 0 else result.mip_dual_bound
    known = lower is not None and (result.status == OPTIMAL or task.whole > 0)
    return Solved(result.x, float(lower) if known else -math.inf, result.status == OPTIMAL)
