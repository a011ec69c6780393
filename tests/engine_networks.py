"""Networks in tables, the models about them, and the marginals that engines write."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

PAIRS = """
friends(person, person)
smokes(person)
0.6 friends(x,y) => (smokes(x) <=> smokes(y))
-1 smokes(x)
"""
TRIPLES = """
friends(person, person)
smokes(person)
0.3 friends(x,y) ^ friends(y,z) ^ smokes(x) ^ smokes(y) => smokes(z) | distinct
0.3 friends(x,y) => (smokes(x) <=> smokes(y)) | x != y
-0.4 smokes(x)
"""
MANY_VALUED = """
thing = {Tea, Jam}
follows(person, person)
mood(person) : {low, mid, high}
likes(person, thing)
parfactor mood(x), likes(x,m) : [1, 2, 3, 1, 1, 2]
0.7 follows(x,y) => (mood(x) = high <=> mood(y) = high)
0.4 follows(x,y) ^ likes(x,m) => likes(y,m)
-0.8 likes(Anna,m)
"""


def write(path: Path, header: str, rows: list[tuple[str, ...]]) -> str:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return str(path)


def network(folder: Path, people: int, edges: int, seed: int, name: str = "friends") -> str:
    """A random network in a CSV file, with some friendships both ways and some listed twice."""
    draw = random.Random(seed)
    rows = [(f"P{draw.randrange(people)}", f"P{draw.randrange(people)}") for _ in range(edges)]
    rows += [(b, a) for a, b in rows[:3]] + rows[:2]
    return f"{name}={write(folder / f'{name}.csv', 'a,b', rows)}"


def marginals(folder: Path, predicate: str) -> dict[tuple[str, ...], tuple[float, ...]]:
    place = folder / f"{predicate}.parquet"
    files = str(place / "*.parquet") if place.is_dir() else str(place)
    found = duckdb.sql(f"SELECT * FROM '{files}'")
    width = sum(name.startswith("argument") for name in found.columns)
    return {tuple(map(str, row[:width])): row[width:] for row in found.fetchall()}


def assert_equal(one: Path, other: Path) -> None:
    found, expected = marginals(one, "smokes"), marginals(other, "smokes")
    assert found.keys() == expected.keys()
    for key, probabilities in found.items():
        assert probabilities == pytest.approx(expected[key], abs=1e-12)
