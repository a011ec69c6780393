"""The models that are asked."""

from __future__ import annotations

from benchmarks.people.case import PeopleCase
from benchmarks.people.drawn import DRAWN
from benchmarks.people.summed import (
    agreement,
    asthma,
    celebrity,
    coloured_ring,
    equivalence,
    hubs,
    order,
    records,
    small,
    smokers,
)
from benchmarks.people.towns import towns

EQUIVALENCES = [
    *(equivalence(size, 0.05) for size in (12, 20, 30, 40, 100, 200)),
    *(equivalence(size, 0) for size in (12, 40, 100)),
    *(equivalence(size, -0.1) for size in (12, 40, 100)),
    equivalence(12, 0, mark=-0.4),
    equivalence(40, 0.05, mark=-0.4),
    equivalence(100, -0.1, mark=-0.4),
    equivalence(30, 0, mark=-0.4, differ=0.2),
    equivalence(12, 0, facts="same(Anna,Bob) !same(Anna,Carl)"),
    equivalence(40, -0.1, facts="same(Anna,Bob) same(Bob,Dora)"),
    equivalence(20, 0.05, mark=-0.4, facts="marked(Anna) same(Anna,Bob) !marked(Carl)"),
    records(12),
]

ORDERS = [order(10, -0.4, 0.5), order(40, -0.4, 0.1), order(20, -0.4, 0.3, facts=True)]

COUNTS = [
    smokers(20, 1.4, 0),
    smokers(100, 0.05, -0.02),
    smokers(20, 1.4, -0.5, "smokes(Anna) friends(Anna,Bob) friends(Bob,Anna)"),
    smokers(100, 0.05, -0.02, "smokes(Anna) friends(Anna,Bob) !smokes(Carl) friends(Carl,Dora)"),
    smokers(200, 0.02, -0.02, "smokes(Anna) friends(Anna,Bob) friends(Bob,Anna) friends(Bob,Carl)"),
    asthma(15),
    asthma(40),
    celebrity(20),
    celebrity(150),
    agreement(200, 0.0099, 0.002, 2),
    agreement(100, 0.03, 0.01, 2),
    agreement(60, 0.05, 0.02, 3),
    agreement(40, -0.3, 0.2, 3),
    hubs(10, 20, 10),
    hubs(4, 90, 15),
    coloured_ring(30),
]

TOWNS = [
    towns((60, 60)),
    towns((120, 120, 120, 120)),
    towns((40, 80, 60, 120, 100)),
    towns((60, 60, 60), values=3),
    towns((60, 60), weight=0.5),
    towns((80, 80, 80), habit=-0.01),
]

RELATION = "r(person, person)\n"
SMALL = [
    small(
        "transitive 5",
        RELATION + "1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct\n",
        {"person": 5},
        ["r(x,y)"],
    ),
    small(
        "transitive 5, 2 facts",
        "person = {A, B, C, D, E}\n" + RELATION + "2 r(x,y) ^ r(y,z) => r(x,z) | distinct\n",
        {"person": 5},
        ["r(A,C)", "r(C,A)", "r(D,E)"],
        "r(A,B); r(B,C)",
    ),
    small(
        "symmetric 6, 2 facts",
        "person = {A, B, C, D, E, F}\n" + RELATION + "r(x,y) => r(y,x).\n"
        "0.87 r(x,y) ^ r(y,z) => r(x,z) | distinct\n",
        {"person": 6},
        ["r(A,C)", "r(D,E)"],
        "r(A,B); r(B,C)",
    ),
    small(
        "teachers 4",
        "person = {A, B, C, D}\nteaches(person, person)\nknows(person, person)\n"
        "teaches(x,y) => knows(x,y).\nteaches(x,y) => !teaches(y,x).\n"
        "1.2 teaches(x,y) ^ knows(x,z) => knows(y,z) | distinct\n-0.6 teaches(x,y)\n",
        {"person": 4},
        ["knows(C,B)", "knows(D,C)", "teaches(A,C)"],
        "teaches(A,B); !knows(B,A)",
    ),
]

ALL_CASES: tuple[PeopleCase, ...] = (*EQUIVALENCES, *ORDERS, *COUNTS, *TOWNS, *SMALL, *DRAWN)
