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
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.support.arrays import Bools, Floats, Ints, starts_of
from liftgbp.support.limits import checkpoint
from liftgbp.support.workers import finished
from liftgbp.worlds.ground.whole import WholeNetwork, equal_places

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FIRST_SLICE = 5.0
"""Seconds that the solver may take in this process, where it hears no signal."""

TOLERANCE = 1e-6
"""How far the solver's columns may be from what they stand for."""

ROUNDED = 1e-2
"""A bound of a sum of whole numbers may be wrong by this much."""

PRECISION = 1e-8
"""The solver's bounds may be wrong by this much of the sum of all costs."""

LARGEST_COST = 1000.0
"""Of one column, as the solver sees it."""

BINARY_DIGITS = 20
"""Multipliers are rounded to so many binary digits after the point."""

TIE = 0.5
"""What all true atoms together may cost, in units."""

Left = Callable[[], float]
"""The seconds that are left."""

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
    """What the solver found: the columns, and a bound of the costs.

    `x` is `None` if it found nothing; `lower` is infinite if there is no solution. `done` says that
    the columns are the best, `stopped` that the solver has taken all steps that it may.
    """

    x: Floats | None
    lower: float
    done: bool
    stopped: bool = False


class CubeProgram:
    """The program of a network; cubes enter it once they are violated.

    With `prefer_false`, true atoms cost so little that they only decide ties.
    """

    def __init__(self, network: WholeNetwork, *, prefer_false: bool) -> None:
        self.network = network
        boolean = network.ranges == 2
        # For each variable, its first column.
        self._first = starts_of(np.where(boolean, 1, network.ranges))[:-1]
        self.columns = int(np.where(boolean, 1, network.ranges).sum())
        self._boolean, self._wide = np.flatnonzero(boolean), np.flatnonzero(~boolean)
        self._cost = np.zeros(self.columns)
        self._constant = 0.0
        self.clauses: list[Clauses] = []
        for block in network.blocks:
            for table, own in equal_places(block.table_of):
                self._add(block.scopes[own], network.tables[table])
        self._tie = TIE / (network.most_true + 1) if prefer_false else 0.0
        true = self._tie * network.true
        self._ties = np.zeros(self.columns)
        self._ties[self._first[boolean]] = true[boolean, 1] - true[boolean, 0]
        for v in self._wide.tolist():
            start, size = int(self._first[v]), int(network.ranges[v])
            self._ties[start : start + size] = true[v, :size]
        self._always = float(true[boolean, 0].sum())

    def _add(self, scopes: Ints, table: Floats) -> None:
        for cube in cubes_of(table):
            axes, values = (list(part) for part in zip(*cube.literals, strict=True))
            variables = scopes[:, axes]
            boolean = np.array([table.shape[axis] == 2 for axis in axes])
            columns = self._first[variables] + np.where(boolean, 0, values)
            negated = boolean & (np.array(values) == 0)
            if len(axes) == 1 and cube.cost < math.inf:
                np.add.at(self._cost, columns[:, 0], -cube.cost if negated[0] else cube.cost)
                self._constant += cube.cost * len(columns) * bool(negated[0])
            else:
                active = np.zeros(len(columns), np.bool_)
                self.clauses.append(Clauses(columns, negated, cube.cost, active))

    @property
    def cubes(self) -> int:
        """How many cubes there are that are no costs of single columns."""
        return sum(len(own.columns) for own in self.clauses)

    @property
    def active(self) -> int:
        """How many of these are part of the program."""
        return sum(int(own.active.sum()) for own in self.clauses)

    @property
    def total(self) -> float:
        """The sum of all costs: what the solver's errors are in proportion to."""
        soft = (own.cost * int(own.active.sum()) for own in self.clauses if own.cost < math.inf)
        return float(np.abs(self._cost).sum()) + sum(soft)

    @property
    def decides_ties(self) -> bool:
        """Whether what a true atom costs can be told from the solver's errors."""
        return self._tie > 2 * PRECISION * max(self.total, 1.0)

    def values(self, x: Floats) -> Ints:
        """The world that columns stand for, by rounding."""
        values = (x[self._first] > 1 / 2).astype(np.int64)
        for v in self._wide.tolist():
            start = self._first[v]
            values[v] = int(x[start : start + self.network.ranges[v]].argmax())
        return values

    def is_whole(self, x: Floats) -> bool:
        """Whether the columns stand for a world, without rounding."""
        own = x[: self.columns]
        return bool((np.abs(own - np.rint(own)) < TOLERANCE).all())

    def activate(self, x: Floats) -> int:
        """Make all cubes part of the program that are violated; how many."""
        added = 0
        for clauses in self.clauses:
            new = ~clauses.active & (clauses.violations(x) > TOLERANCE)
            clauses.active |= new
            added += int(new.sum())
        return added

    def most(self, solved: Solved) -> float:
        """What no score exceeds, in units, if the costs are at least these."""
        if not math.isfinite(solved.lower):
            return -solved.lower
        # The costs of the network are whole numbers, and those of ties are less than one.
        lower = solved.lower + self._constant + self._always - (TIE if self._tie else 0.0)
        return self.network.ceiling - math.ceil(lower - ROUNDED - PRECISION * self.total)

    def solve(self, left: Left, *, nodes: int | None) -> Solved:
        """Solve what is active; without `nodes`, columns need not be whole."""
        task = self._task()
        work = _relaxed if nodes is None else partial(_searched, nodes=nodes)
        solved = work(task, seconds=min(left(), FIRST_SLICE))
        if solved.done or solved.stopped or left() <= 0:
            return solved
        longer = partial(work, seconds=left())
        for _, found in finished(longer, [task], 1, apart=True, wanted=lambda: left() > 0):
            return Solved(
                solved.x if found.x is None else found.x, max(solved.lower, found.lower), found.done
            )
        return solved

    def _task(self) -> _Task:
        from scipy.sparse import csr_array

        active = [own for own in self.clauses if own.active.any()]
        soft = [int(own.active.sum()) if own.cost < math.inf else 0 for own in active]
        width = self.columns + sum(soft)
        costs = [np.full(n, own.cost) for n, own in zip(soft, active, strict=True)]
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
            start, size = int(self._first[v]), int(self.network.ranges[v])
            for sign in (1.0, -1.0):
                rows.append(np.full(size, done))
                columns.append(np.arange(start, start + size))
                entries.append(np.full(size, sign))
                most.append(np.array([sign]))
                done += 1
        empty, nothing = np.zeros(0), np.zeros(0, np.int64)
        places = np.concatenate([nothing, *rows]), np.concatenate([nothing, *columns])
        return _Task(
            np.concatenate([self._cost + self._ties, *costs]),
            csr_array((np.concatenate([empty, *entries]), places), shape=(done, width)),
            np.concatenate([empty, *most]),
            self.columns,
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """Minimise cost @ x with 0 <= x and matrix @ x <= most.

    The first columns are at most one, and may have to be whole; the others cost something.
    """

    cost: Floats
    matrix: csr_array
    most: Floats
    columns: int

    @property
    def scale(self) -> float:
        """What costs are divided by for the solver, whose tolerances are for numbers around one."""
        return max(1.0, float(np.abs(self.cost).max(initial=0.0)) / LARGEST_COST)

    @property
    def bounds(self) -> Floats:
        """What columns are at most."""
        return np.where(np.arange(len(self.cost)) < self.columns, 1.0, np.inf)

    def lower(self, multipliers: Floats) -> float:
        """What no solution costs less than, whatever the multipliers of the rows are."""
        rounded = np.rint(np.maximum(multipliers, 0) * 2.0**BINARY_DIGITS) / 2.0**BINARY_DIGITS
        # Columns without a bound must not gain anything; each of them is in one row.
        slack = self.matrix[:, self.columns :].tocoo()
        rounded[slack.row] = np.minimum(rounded[slack.row], self.cost[self.columns + slack.col])
        reduced = (self.cost + self.matrix.T @ rounded)[: self.columns]
        return math.fsum(np.minimum(reduced, 0)) - math.fsum(rounded * self.most)


def _relaxed(task: _Task, seconds: float) -> Solved:
    """Let HiGHS solve the relaxation (Q. Huangfu and J. Hall, *Math. Prog. Computation* 2018)."""
    from scipy.optimize import linprog

    checkpoint()
    result = linprog(
        task.cost / task.scale,
        A_ub=task.matrix if task.matrix.shape[0] else None,
        b_ub=task.most if task.matrix.shape[0] else None,
        bounds=np.column_stack([np.zeros(len(task.cost)), task.bounds]),
        method="highs",
        options={"time_limit": max(seconds, TOLERANCE)},
    )
    if result.status == INFEASIBLE:
        return Solved(None, math.inf, done=True)
    if result.status != OPTIMAL:
        return Solved(None, -math.inf, done=False)
    multipliers = np.zeros(0)
    if task.matrix.shape[0]:
        multipliers = -result.ineqlin.marginals * task.scale
    return Solved(result.x, task.lower(multipliers), done=True)


def _searched(task: _Task, seconds: float, nodes: int) -> Solved:
    """Let HiGHS search for whole columns, with so many nodes of its tree."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    checkpoint()
    limits = LinearConstraint(task.matrix, ub=task.most) if task.matrix.shape[0] else ()
    result = milp(
        task.cost / task.scale,
        integrality=(np.arange(len(task.cost)) < task.columns).astype(int),
        bounds=Bounds(0, task.bounds),
        constraints=limits,
        options={
            "time_limit": max(seconds, TOLERANCE),
            "node_limit": nodes,
            "mip_rel_gap": 0.0,
        },
    )
    if result.status == INFEASIBLE:
        return Solved(None, math.inf, done=True)
    bound = result.mip_dual_bound
    lower = -math.inf if bound is None or not math.isfinite(bound) else float(bound) * task.scale
    # The same status stands for a limit of time and one of nodes.
    stopped = result.mip_node_count is not None and result.mip_node_count >= nodes
    return Solved(result.x, lower, done=result.status == OPTIMAL, stopped=stopped)
