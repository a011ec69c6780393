"""Models and evidence in the manner of the examples that come with Alchemy, Tuffy and ProbCog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.evidence.read import parse_evidence
from liftgbp.oracle import reference
from liftgbp.support.errors import ModelError

ITERATIONS = 15


@dataclass(frozen=True)
class Example:
    model: str
    evidence: str
    closed: tuple[str, ...] = ()
    tree: bool = False  # whether message passing is exact

    def read(self) -> Problem:
        model = liftgbp.parse(self.model)
        return Problem.of(model, parse_evidence(model, self.evidence, closed=self.closed))


EXAMPLES = {
    # --- social networks
    "clauses over a closed predicate": Example(
        """
        // known
        *Friends(person, person)
        // partly known
        Smokes(person)
        Cancer(person)

        0.6\t!Smokes(v0)  v  Cancer(v0)  //1.0
        0.3\t!Friends(v0, v1)  v !Smokes(v0)  v  Smokes(v1)
        0.9\t!Friends(v0, v1)  v !Smokes(v1)  v  Smokes(v0)
        """,
        """
        Friends(Ute, Veit)
        Friends(Veit, Wim)
        Friends(Wim, Xenia)
        !Friends(Ute, Xenia)

        Smokes(Ute)
        """,
        tree=True,
    ),
    "uncertain friends": Example(
        """
        Friends(person, person)
        Smokes(person)
        Cancer(person)
        0.2 !Smokes(v0) v Cancer(v0)
        0.7 !Friends(v0, v1) v !Smokes(v0) v Smokes(v1)
        """,
        """
        1.0 Friends(Ute, Veit)
        0.4 Friends(Veit, Ute)
        0.75 Smokes(Ute)
        0.15 Cancer(Ute)
        """,
    ),
    "both smoke or neither does": Example(
        """
        Smokes(person)
        Friends(person, person)
        Cancer(person)

        1.25    Smokes(x) => Cancer(x)
        0.875   Friends(x, y) => (Smokes(x) <=> Smokes(y))
        """,
        "Friends(Ute, Veit)\nFriends(Veit, Ute)\nFriends(Veit, Wim)\n\nSmokes(Wim)\n\n",
        closed=("Friends",),
        tree=True,
    ),
    "numbered people": Example(
        """
        dom={0,1,2}


        Smokes(dom)
        Friends(dom,dom)
        Asthma(dom)
        0.5 (Asthma(x) v !Friends(x,y) v !Smokes(y))
        0.25 (!Asthma(x) v !Smokes(x))
        """,
        "Smokes(0)\n!Smokes(1)\nFriends(0,1)",
    ),
    "transitive friends": Example(
        """
        p = {Ute,Veit,Wim}
        Smokes(p)
        Friends(p,p)
        0.5 (!Friends(x,y) v !Friends(y,z) v Friends(x,z))
        0.7 (!Smokes(x) v !Friends(x,y) v Smokes(y))
        """,
        "Friends(Ute,Veit)",
        closed=(),
    ),
    # --- records and pages
    "university": Example(
        """
        person = { Ute, Veit,Wim }
        phase = { Early, Late }
        title = { T1 }

        professor(person)
        student(person)
        advisedBy(person, person)
        inPhase(person, phase)
        publication(title, person)

        0.5 professor(p) <=> !student(p)
        0.4 advisedBy(s,p) => student(s) ^ professor(p)
        0.3 inPhase(s, ph) => student(s)
        0.6 publication(t,p) ^ publication(t,s) ^ professor(p) ^ student(s) ^ !(s = p) =>
            advisedBy(s,p)
        advisedBy(s,p) => !advisedBy(p,s).
        """,
        "professor(Ute)\n!student(Ute)\npublication(T1,Ute)\npublication(T1,Veit)",
        closed=("publication",),
    ),
    "records that are the same": Example(
        """
        *Author(record, author)
        SameRecord(record, record)
        SameAuthor(author, author)
        -0.8 SameRecord(r1,r2)
        0.9 Author(r1,a1) ^ Author(r2,a2) ^ SameAuthor(a1,a2) => SameRecord(r1,r2)
        0.5 Author(r1,a1) ^ Author(r2,a2) ^ SameRecord(r1,r2) => SameAuthor(a1,a2)
        SameRecord(r,r).
        SameAuthor(a,a).
        """,
        'Author(R1,"M. Curie")\nAuthor(R2,"Curie, M.")',
    ),
    "pages and words": Example(
        """
        class = {Course, Staff}
        word = {Exam, Office}
        Topic(class, page)
        HasWord(word, page)
        Links(page, page)
        0.8 HasWord(+w, p) => Topic(+c, p)
        0.6 Topic(c, p1) ^ Links(p1, p2) => Topic(c, p2)
        -0.2 Topic(Course, p)
        """,
        "HasWord(Exam, A)\nHasWord(Office, B)\nLinks(A, B)\nTopic(Course, A)",
        closed=("HasWord", "Links"),
    ),
    "papers in categories": Example(
        """
        *wrote(author, paper)
        *refers(paper, paper)
        category(paper, topic)
        0.9 wrote(a, p1), wrote(a, p2), category(p1, c) => category(p2, c)
        0.4 category(p1, c), refers(p1, p2) => category(p2, c)
        category(p, c1), category(p, c2) => c1 = c2.
        -0.3 category(p, "Data bases")
        EXIST c category(p, c).
        """,
        """
        wrote(Ute, P1)
        wrote(Ute, P2)
        refers(P2, P3)
        category(P1, "Data bases")
        !category(P1, Networks)
        """,
    ),
    "proteins": Example(
        """
        protein={1,2}
        func_id = {1,2}
        interaction(protein,protein)
        function(protein,func_id)
        0.4 function(p1,+f1) v !function(p1,+f2)
        0.5 !interaction(p1,p2) v function(p2,f) v !function(p1,f)
        """,
        "interaction(1,2)\nfunction(1,2)",
    ),
    "states in time": Example(
        """
        state = {Stop, Go}
        State(state, time)
        Sign(sign, time)
        *Next(time, time)

        State(s!, t)
        Sign(o!, t)
        log(0.7) State(Stop, t) ^ Next(t, u) ^ State(Stop, u)
        log(0.3) State(Stop, t) ^ Next(t, u) ^ State(Go, u)
        0.5 Sign(Red, t) ^ State(Stop, t)
        """,
        "Next(0,1)\nNext(1,2)\nSign(Red,0)\nSign(Green,1)",
    ),
    # --- exactly one value, and odds
    "alarms": Example(
        """
        alarm(person)
        burglary(person)
        district(person,quality!)
        livesIn(person,place!)
        storm(place)

        quality = {Fine, Poor}

        1.2 burglary(x) => alarm(x)
        0.9 livesIn(x,y) ^ storm(y) => alarm(x)
        0.4 district(x,Poor) => burglary(x)
        -0.6 district(x,Fine) => burglary(x)
        """,
        "livesIn(Ute,Bonn)\nstorm(Bonn)\nburglary(Ute)\nplace = {Bonn, Kiel}",
    ),
    "an alarm for some reason": Example(
        """
        alarm(person)
        fromBurglary(person)
        fromStorm(person,place)
        logx(0.8) fromBurglary(x)
        logx(0.2) !fromBurglary(x)
        -1.5 fromStorm(x,y)
        alarm(x) <=> fromBurglary(x) v EXIST y (fromStorm(x,y)). // noisy or
        """,
        "alarm(Ute)\n!fromStorm(Ute,Bonn)\nplace = {Kiel}",
        tree=True,
    ),
    "birds": Example(
        """
        bird(animal)
        flies(animal)
        penguin(animal)

        log(0.8/0.2)   bird(x) => flies(x)
        log(0.05/0.95) penguin(x) => flies(x)
        penguin(x) => bird(x).
        """,
        "bird(Pip)\npenguin(Pingu)\nbird(Pingu)\n\n",
        tree=True,
    ),
    "orders": Example(
        """
        vegetarian(person)
        meatless(dish)
        orders(person,dish!)
        female(person)
        0 female(p)
        log(0.2/0.8) vegetarian(p)
        log(0.4/0.6) meatless(d)
        1.1 female(x) => vegetarian(x)
        1.8 orders(p,d) ^ !vegetarian(p) => !meatless(d)
        orders(p,d) ^ vegetarian(p) => meatless(d).
        """,
        "person = {Ute,Veit}\ndish = {Soup,Stew}\n\n\nmeatless(Soup)\norders(Ute,Soup)\n",
    ),
    "seats at a meal": Example(
        """
        seat = {Left, Right}
        sitsAt(guest, seat)
        present(guest)
        sitsAt(g,s) ^ sitsAt(h,s) => (g = h).
        present(g) => (EXIST s (sitsAt(g,s) ^ !(EXIST t (sitsAt(g,t) ^ !(s = t))))).
        0.7 sitsAt(g, Left)
        """,
        "present(Ute)\nguest = {Ute, Veit}",
    ),
    "two attributes": Example(
        "a(thing)\nb(thing)\n2.5   a(x)\n-1.5   b(x)\n-1.25  a(x) v b(x)\n0.75    a(x) => b(x)\n",
        "1.0 a(K)\n0.2 a(L)\n\nb(K)\n!b(M)\n",
        tree=True,
    ),
    "students and courses": Example(
        """
        kind = {Bachelor,Master}
        kindOf(student,kind!)
        takes(student,course)
        $courses = 12
        log(2/3) kindOf(x,Bachelor)
        log(1/3) kindOf(x,Master)
        log(3/$courses) takes(x,y) ^ kindOf(x,Master)
        log(1-3/$courses) !takes(x,y) ^ kindOf(x,Master)
        """,
        "student = {S}\ncourse = {C, D}\ntakes(S,C)",
    ),
}


def marginals(answers: liftgbp.Answers) -> Iterator[tuple[reference.GroundAtom, np.ndarray]]:
    """Every ground atom with the probabilities of its values."""
    for number, predicate in enumerate(answers.model.predicates.values()):
        atoms = list(product(*(range(answers.sizes[sort]) for sort in predicate.sorts)))
        objects = list(np.array(atoms, dtype=np.int64).reshape(len(atoms), -1).T)
        tables = answers.posterior.reader.marginals(number, objects)
        for args, table in zip(atoms, tables, strict=True):
            yield reference.GroundAtom(predicate.name, args), table


@pytest.mark.slow
@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_messages_are_those_of_the_conditioned_ground_model(name: str, via: str) -> None:
    problem = EXAMPLES[name].read()
    ground = reference.ground(problem.model, problem.sizes, problem.evidence)
    graph = reference.ground_regions(ground)
    *_, beliefs = reference.iterates(graph, 0.5, ITERATIONS)
    answers = liftgbp.infer(
        problem.model,
        evidence=problem.evidence,
        via=via,
        solver=liftgbp.Flooding(iterations=ITERATIONS, tol=1e-300),
        effort="quick",
    )
    assert answers.result.log_z == pytest.approx(
        reference.log_z(graph, beliefs), rel=1e-9, abs=1e-9
    )
    for atom, table in marginals(answers):
        if atom in ground.observed:
            expected = np.eye(len(table))[ground.observed[atom]]
        else:
            expected = reference.marginal(graph, beliefs, atom)
        assert table == pytest.approx(expected, abs=1e-9), atom


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if example.tree])
def test_answers_are_exact_on_trees(name: str, via: str) -> None:
    problem = EXAMPLES[name].read()
    ground = reference.ground(problem.model, problem.sizes, problem.evidence)
    exact = reference.exact(ground)
    answers = liftgbp.infer(problem.model, evidence=problem.evidence, via=via, effort="quick")
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    for atom, table in marginals(answers):
        if atom not in ground.observed:
            assert table == pytest.approx(exact.marginals[atom], abs=1e-9), atom


@pytest.mark.parametrize(
    "outside",
    [
        "Dist(person)\n1 motherOf(Ute) = Veit",  # functions
        "takes(student, course)\ncount(takes(x,y)|x)=6.",  # counts
    ],
)
def test_what_is_outside_the_language_is_pointed_at(outside: str) -> None:
    with pytest.raises(ModelError) as caught:
        liftgbp.parse(outside)
    assert caught.value.span is not None
    assert caught.value.span.line == 2
