"""Models whose truth only a long run of the plain sampler knows.

`python -m benchmarks.people.drawn` draws all of them anew, in some ten minutes, and `python -m
benchmarks.people.drawn NAME...` those whose names contain one of some texts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.people.sampling import (
    Recipe,
    SampledCase,
    empty,
    everything,
    in_order,
    sampled,
    store,
)
from benchmarks.people.summed import RECORD_WEIGHTS, drawn_records, record_facts

PEOPLE = "person = {A, B, C, D, E, F}\n"
"""Those of whom facts can be known."""


def transitive(size: int, weight: float, recipe: Recipe, facts: str = "") -> SampledCase:
    """A relation that tends to be transitive; everybody who is named is alike but for facts."""
    text = "r(person, person)\n"
    text += f"{weight} r(x,y) ^ r(y,z) => r(x,z) | distinct\n"
    queries = ["r(A,C)", "r(F,A)", "r(E,F)"] if facts else ["r(x,y)"]
    told = f", {len(facts.split(';'))} facts" if facts else ""
    return sampled(
        f"transitive {size}, {weight}{told}",
        (PEOPLE if facts else "") + text,
        {"person": size},
        queries,
        recipe,
        facts,
    )


def circles(size: int, weight: float, recipe: Recipe, facts: str = "") -> SampledCase:
    """A symmetric relation that tends to be transitive: circles of friends."""
    text = "r(person, person)\nr(x,y) => r(y,x).\n"
    text += f"{weight} r(x,y) ^ r(y,z) => r(x,z) | distinct\n"
    told = f", {len(facts.split(';'))} facts" if facts else ""
    return sampled(
        f"circles {size}, {weight}{told}",
        (PEOPLE if facts else "") + text,
        {"person": size},
        ["r(A,C)", "r(C,D)", "r(D,E)"] if facts else ["r(x,y)"],
        recipe,
        facts,
    )


def friends_knows(size: int, recipe: Recipe) -> SampledCase:
    """One knows the friends of one's friends."""
    return sampled(
        f"friends-knows {size}",
        "friends(person, person)\nknows(person, person)\n"
        "1.4 friends(x,y) ^ friends(y,z) => knows(x,z) | distinct\n",
        {"person": size},
        ["friends(x,y)", "knows(x,y)"],
        recipe,
    )


def chain(size: int, recipe: Recipe) -> SampledCase:
    """A chain of three links."""
    return sampled(
        f"chain {size}",
        "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct\n",
        {"person": size},
        ["r(x,y)"],
        recipe,
    )


def ranking(size: int, recipe: Recipe, facts: str = "") -> SampledCase:
    """Who beats whom tends to be an order, in which most are compared."""
    told = f", {len(facts.split(';'))} facts" if facts else ""
    return sampled(
        f"ranking {size}{told}",
        (PEOPLE if facts else "") + "r(person, person)\nr(x,y) => !r(y,x).\n"
        "2.26 r(x,y) ^ r(y,z) => r(x,z) | distinct\n1.45 r(x,y) v r(y,x) | x != y\n",
        {"person": size},
        ["r(A,C)", "r(A,D)", "r(D,E)"] if facts else ["r(x,y)"],
        recipe,
        facts,
    )


def likes(people: int, movies: int, recipe: Recipe) -> SampledCase:
    """Friends like the same movies."""
    return sampled(
        f"likes {people} x {movies}",
        "friends(person, person)\nlikes(person, movie)\n"
        "1.4 friends(x,y) ^ likes(x,m) => likes(y,m) | distinct\n-0.2 friends(x,y)\n",
        {"person": people, "movie": movies},
        ["friends(x,y)"],
        recipe,
        # Whoever likes what they dislike, and turns friendships round, has the same model.
        by_symmetry={"likes(x,m)": 0.5},
    )


def soft_records(size: int, strength: float, queries: Sequence[str], recipe: Recipe) -> SampledCase:
    """Which citations are the same? Here it is only likely that this is transitive."""
    names, alike, _ = drawn_records(size, seed=0)
    return sampled(
        f"records {size}, soft",
        f"record = {{{', '.join(names)}}}\n*title(record, record)\n*author(record, record)\n"
        "same(record, record)\nsame(x,y) => same(y,x).\n"
        f"{strength} same(x,y) ^ same(y,z) => same(x,z) | distinct\n"
        f"{RECORD_WEIGHTS['title']} title(x,y) ^ same(x,y) | x != y\n"
        f"{RECORD_WEIGHTS['author']} author(x,y) ^ same(x,y) | x != y\n"
        f"{RECORD_WEIGHTS['same']} same(x,y) | x != y\n",
        {"record": size},
        queries,
        recipe,
        record_facts(names, alike).replace("\n", "; "),
    )


OFFICE = """\
person = {Me, Ann, Ben}
likes(person, person)
talks(person, person)
happy(person)
busy(person)
remote(person)
0.8 likes(x,y) => likes(y,x)
1.1 likes(x,y) ^ busy(y) => talks(x,y) | x != y
0.7 talks(x,y) => talks(y,x)
0.6 talks(x,y) ^ talks(y,z) => likes(x,z) | distinct
1.5 talks(Me,x) => happy(x)
0.9 happy(x) ^ likes(x,y) => happy(y)
-0.7 busy(x) ^ happy(x)
1.2 remote(x) => !talks(x,y) | x != y
0.5 busy(x) v remote(x)
-1.1 likes(x,y) | x != y
0.4 busy(Me)
"""
"""Many rules about few people."""

FAMILY = """\
person = {Me, Mum, Dad, Kim}
parent(person, person)
sibling(person, person)
near(person, person)
tall(person)
parent(x,y) => !parent(y,x).
sibling(x,y) => sibling(y,x).
1.6 parent(x,y) ^ parent(x,z) => sibling(y,z) | distinct
1.3 sibling(x,y) ^ parent(z,x) => parent(z,y) | distinct
0.9 near(x,y) => near(y,x)
0.8 parent(x,y) => near(x,y)
0.5 near(x,y) ^ near(y,z) => near(x,z) | distinct
1.1 parent(x,y) ^ tall(x) => tall(y)
0.7 sibling(x,y) => (tall(x) <=> tall(y)) | x != y
-1.4 parent(x,y) | x != y
-0.9 sibling(x,y) | x != y
-0.6 near(x,y) | x != y
"""

CLUB = """\
person = {Me, Ann, Ben}
club = {Chess, Choir}
member(person, club)
knows(person, person)
leads(person, club)
keen(person)
leads(x,c) => member(x,c).
1.2 member(x,c) ^ member(y,c) => knows(x,y) | distinct
0.8 knows(x,y) ^ member(x,c) => member(y,c) | distinct
0.6 knows(x,y) => knows(y,x)
-1.5 leads(x,c) ^ leads(y,c) | distinct
1.0 keen(x) => member(x,Chess)
0.9 keen(x) ^ member(x,c) => leads(x,c)
-0.8 knows(x,y) | x != y
-0.5 member(x,c)
0.7 knows(Me,x) => keen(x)
"""

COLD = (1.0, 0.85, 0.7, 0.55)
HOT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)

DRAWN = [
    transitive(10, 1.4, Recipe(6000, 32, COLD)),
    transitive(20, 1.4, Recipe(2000, 32)),
    transitive(40, 1.4, Recipe(600, 32, starts=(empty, in_order))),
    transitive(10, 1.4, Recipe(3000, 32, COLD, exchangeable="person"), "r(A,B); r(B,C)"),
    transitive(20, 1.4, Recipe(2000, 32, exchangeable="person"), "r(A,B); r(B,C); !r(C,D)"),
    transitive(40, 1.4, Recipe(500, 32, exchangeable="person"), "r(A,B); r(B,C); !r(C,D)"),
    circles(10, 0.87, Recipe(2000, 32, HOT, ("r",), "person", "r"), "r(A,B); r(B,C)"),
    circles(20, 0.3, Recipe(1500, 32, COLD, ("r",), "person", "r"), "r(A,B); r(B,C); !r(D,A)"),
    friends_knows(10, Recipe(3000, 32)),
    friends_knows(20, Recipe(2000, 32)),
    friends_knows(40, Recipe(300, 32)),
    chain(10, Recipe(3000, 32)),
    ranking(10, Recipe(3000, 32, COLD, starts=(in_order, everything))),
    ranking(20, Recipe(2000, 32, starts=(in_order, empty))),
    ranking(40, Recipe(300, 16, starts=(in_order, empty))),
    ranking(60, Recipe(100, 16, starts=(in_order, empty))),
    ranking(
        20,
        Recipe(2500, 32, exchangeable="person", starts=(in_order, in_order)),
        "r(A,B); r(B,C)",
    ),
    likes(8, 6, Recipe(8000, 32, COLD)),
    likes(16, 10, Recipe(3000, 32, COLD)),
    likes(30, 12, Recipe(500, 16, HOT)),
    soft_records(
        12,
        1.5,
        ["same(R5,R6)", "same(R6,R8)", "same(R3,R4)", "same(R0,R9)"],
        Recipe(2500, 32, (1.0, 0.8, 0.6), ("same",), joins="same"),
    ),
    soft_records(
        20,
        1.5,
        ["same(R6,R14)", "same(R5,R7)", "same(R0,R11)", "same(R1,R2)"],
        Recipe(3000, 32, (1.0, 0.8, 0.6), ("same",), joins="same"),
    ),
    sampled(
        "office 7",
        OFFICE,
        {"person": 7},
        ["happy(Ann)", "talks(Me,Ann)", "likes(Ann,Ben)"],
        Recipe(5000, 32, COLD),
        "busy(Me); remote(Ben)",
    ),
    sampled(
        "family 6",
        FAMILY,
        {"person": 6},
        ["parent(Mum,Kim)", "sibling(Me,Kim)", "tall(Kim)"],
        Recipe(6000, 32, COLD, ("sibling",)),
        "parent(Mum,Me); tall(Mum); near(Me,Kim)",
    ),
    sampled(
        "club 12",
        CLUB,
        {"person": 12, "club": 4},
        ["member(Ben,Chess)", "leads(Ann,Chess)", "knows(Me,Ann)"],
        Recipe(4000, 32, COLD),
        "member(Me,Chess); keen(Ann); !member(Ann,Choir)",
    ),
]


def main() -> None:
    for case in DRAWN:
        if not sys.argv[1:] or any(text in case.name for text in sys.argv[1:]):
            print(case.name, store(case), flush=True)


if __name__ == "__main__":
    main()
