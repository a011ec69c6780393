"""Large domains, digit by digit: the same stationary points with fifty digits.

The lifted free energies of three models are written down by hand here: the tables of each region,
how many ground regions there are, and their counting numbers as polynomials in the number of
people. Newton's method with fifty digits starts from the engine's answer rounded to six.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import mpmath
import pytest
from mpmath import mpf

from liftgbp import Answers, infer, parse
from liftgbp.solve import Descent, Flooding, Kind, Status

DIGITS = 50
STATES = list(product((0, 1), repeat=3))

Table = list[list[int]]
"""Per entry of a region's table, which of the eight states of the outer region it sums."""


def table(*axes: int) -> Table:
    return [
        [
            int(all(state[a] == value for a, value in zip(axes, values, strict=True)))
            for state in STATES
        ]
        for values in product((0, 1), repeat=len(axes))
    ]


@dataclass(frozen=True)
class Problem:
    """One outer region of three atoms, the regions inside, and what makes beliefs consistent.

    regions   tables with the function of the number of people that gives n times c
    equal     pairs of lists of axes whose marginals are the same
    free      how many atoms per person no formula touches
    """

    text: str
    query: str
    holds: Callable[[int, int, int], bool]
    regions: Sequence[tuple[Table, Callable[[int], int]]]
    equal: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
    free: int


PROBLEMS = {
    # friends(x,y), smokes(x), smokes(y)
    "friends-smokers": Problem(
        "friends(person, person)\nsmokes(person)\n"
        "WEIGHT friends(x,y) ^ smokes(x) => smokes(y) | x != y",
        "friends(x,y) ^ smokes(x) ^ smokes(y) | distinct",
        lambda f, s, t: not (f and s) or bool(t),
        [
            (table(0, 1, 2), lambda n: n * (n - 1)),
            (table(1, 2), lambda n: -n * (n - 1) // 2),
            (table(1), lambda n: n * (2 - n)),
        ],
        [((1, 2), (2, 1))],
        1,
    ),
    # friends(x,y), friends(y,z), knows(x,z)
    "friends-knows": Problem(
        "friends(person, person)\nknows(person, person)\n"
        "WEIGHT friends(x,y) ^ friends(y,z) => knows(x,z) | distinct",
        "friends(x,y) ^ friends(y,z) ^ knows(x,z) | distinct",
        lambda f, g, k: not (f and g) or bool(k),
        [
            (table(0, 1, 2), lambda n: n * (n - 1) * (n - 2)),
            (table(0), lambda n: n * (n - 1) * (1 - 2 * (n - 2))),
            (table(2), lambda n: n * (n - 1) * (1 - (n - 2))),
        ],
        [((0,), (1,))],
        2,
    ),
    # r(x,y), r(y,z), r(x,z)
    "transitive": Problem(
        "r(person, person)\nWEIGHT r(x,y) ^ r(y,z) => r(x,z) | distinct",
        "r(x,y) ^ r(y,z) ^ r(x,z) | distinct",
        lambda a, b, c: not (a and b) or bool(c),
        [
            (table(0, 1, 2), lambda n: n * (n - 1) * (n - 2)),
            (table(0, 2), lambda n: -n * (n - 1) * (n - 2) // 2),
            (table(1, 2), lambda n: -n * (n - 1) * (n - 2) // 2),
            (table(0), lambda n: n * (n - 1) * (3 - n)),
        ],
        [((0, 2), (2, 0)), ((1, 2), (2, 1))],
        1,
    ),
}


class Oracle:
    """The free energy of a problem over beliefs of the eight states, with fifty digits."""

    def __init__(self, problem: Problem, weight: float, people: int) -> None:
        self._people = people
        self._free = problem.free
        self._parts = [(mpmath.matrix(rows), mpf(count(people))) for rows, count in problem.regions]
        self._scale = self._parts[0][1]
        # The weight of a formula is a double, divided by the number of people in doubles.
        self._theta = mpmath.matrix(
            [mpf(weight / people) if problem.holds(*state) else mpf(0) for state in STATES]
        )
        rows = [[1] * 8]
        for one, other in problem.equal:
            both = list(zip(table(*one), table(*other), strict=True))
            rows += [[a - b for a, b in zip(*pair, strict=True)] for pair in both]
        self._equations = mpmath.matrix(_independent(rows))

    def solve(self, start: Sequence[float]) -> mpmath.matrix:
        """The stationary point near a start; Newton's method on beliefs and multipliers."""
        b = mpmath.matrix([mpf(value) for value in start])
        equations = self._equations
        right_side = mpmath.zeros(equations.rows, 1)
        right_side[0] = 1
        for _ in range(60):
            gradient, hessian = self._derivatives(b)
            size = 8 + equations.rows
            system = mpmath.zeros(size, size)
            right = mpmath.zeros(size, 1)
            miss = right_side - equations * b
            for i in range(8):
                right[i] = -gradient[i]
                for j in range(8):
                    system[i, j] = hessian[i, j]
            for k in range(equations.rows):
                right[8 + k] = miss[k]
                for i in range(8):
                    system[8 + k, i] = system[i, 8 + k] = equations[k, i]
            step = mpmath.lu_solve(system, right)[:8]
            longest = max(abs(change / here) for change, here in zip(step, b, strict=True))
            shorter = min(mpf(1), mpf("0.5") / longest) if longest else mpf(1)
            b = mpmath.matrix([here + shorter * s for here, s in zip(b, step, strict=True)])
            if longest < mpf(10) ** -25:
                return b
        raise AssertionError("the oracle found no stationary point")

    def _derivatives(self, b: mpmath.matrix) -> tuple[mpmath.matrix, mpmath.matrix]:
        gradient, hessian = -self._theta, mpmath.zeros(8, 8)
        for rows, weight in self._parts:
            y, share = rows * b, weight / self._scale
            logs = mpmath.matrix([share * (mpmath.log(value) + 1) for value in y])
            gradient = gradient + rows.T * logs
            bends = mpmath.diag([share / value for value in y])
            hessian = hessian + rows.T * bends * rows
        return gradient, hessian

    def log_z(self, b: mpmath.matrix) -> mpf:
        total = self._scale * sum(t * value for t, value in zip(self._theta, b, strict=True))
        for rows, weight in self._parts:
            total -= weight * sum(value * mpmath.log(value) for value in rows * b)
        return total + self._free * self._people * mpmath.log(2)


def _independent(rows: list[list[int]]) -> list[list[int]]:
    kept: list[list[int]] = []
    for row in rows:
        gram = mpmath.matrix([*kept, row])
        if abs(mpmath.det(gram * gram.T)) > mpf("0.5"):
            kept.append(row)
    return kept


def joint(answers: Answers, problem: Problem) -> list[float]:
    values = answers.query(problem.query)[0].values
    names = ("false", "true")
    return [values[tuple(names[v] for v in state)] for state in STATES]


def check(problem: Problem, answers: Answers, weight: float, people: int) -> None:
    with mpmath.workdps(DIGITS):
        oracle = Oracle(problem, weight, people)
        found = joint(answers, problem)
        rounded = [float(f"{value:.5e}") for value in found]
        assert rounded != found
        exact = oracle.solve(rounded)
        assert max(abs(a - b) for a, b in zip(exact, found, strict=True)) < mpf("1e-8")
        wanted = oracle.log_z(exact)
        assert abs(mpf(answers.log_z) / wanted - 1) < mpf("1e-10")


SIZES = [10, 10**3, 10**6, 10**9]


@pytest.mark.slow
@pytest.mark.parametrize("people", SIZES)
@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("friends-smokers", 1.4),
        ("friends-smokers", -1.0),
        ("friends-knows", 2.0),
        ("friends-knows", -3.0),
        ("transitive", 1.0),
        ("transitive", -2.0),
    ],
)
def test_one_minimum(name: str, weight: float, people: int) -> None:
    problem = PROBLEMS[name]
    model = parse(problem.text.replace("WEIGHT", f"{weight}/|person|"))
    answers = infer(model, {"person": people}, solver=Descent(), effort="quick")
    assert answers.status is Status.CONVERGED
    assert answers.minima[0].weight == pytest.approx(1)
    check(problem, answers.at(answers.minima[0]), weight, people)


@pytest.mark.slow
@pytest.mark.parametrize("people", SIZES[1:])
def test_two_minima_and_a_saddle(people: int) -> None:
    problem = PROBLEMS["friends-smokers"]
    model = parse(problem.text.replace("WEIGHT", "6/|person|"))
    answers = infer(model, {"person": people}, solver=Descent(), effort="quick")
    known = [p for p in answers.minima if p.verdict.kind is not Kind.UNKNOWN]
    assert [p.verdict.kind for p in known] == [Kind.MINIMUM, Kind.MINIMUM, Kind.SADDLE]
    for point in known:
        check(problem, answers.at(point), 6.0, people)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_oracle_has_the_right_regions(name: str) -> None:
    """At a size where nothing is delicate, message passing agrees with it, too."""
    problem = PROBLEMS[name]
    model = parse(problem.text.replace("WEIGHT", "1/|person|"))
    answers = infer(
        model, {"person": 7}, solver=Flooding(damping=0.8, iterations=5000), effort="quick"
    )
    assert answers.status is Status.CONVERGED
    check(problem, answers, 1.0, 7)


@pytest.mark.parametrize("start", ["rough", "flat"])
def test_the_oracle_finds_its_digits_itself(start: str) -> None:
    """Another start, the same fifty digits."""
    problem, people = PROBLEMS["transitive"], 10**6
    answers = infer(
        parse(problem.text.replace("WEIGHT", "1/|person|")),
        {"person": people},
        solver=Descent(),
        effort="quick",
    )
    with mpmath.workdps(DIGITS):
        oracle = Oracle(problem, 1.0, people)
        near = oracle.solve(joint(answers, problem))
        other = [float(f"{v:.3e}") for v in joint(answers, problem)]
        far = oracle.solve(other if start == "rough" else [0.125] * 8)
        assert max(abs(a - b) for a, b in zip(near, far, strict=True)) < mpf("1e-20")
