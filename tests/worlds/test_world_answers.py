"""What a best world answers: atoms, counts, costs, evidence, files, cards and pictures."""

from __future__ import annotations

import signal
from math import exp, log
from pathlib import Path

import pytest

import liftgbp
from all_worlds import scores
from liftgbp.evidence import Problem
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError, QueryError

BILLION = 10**9


@pytest.fixture(scope="module")
def halves() -> liftgbp.BestWorld:
    """Half of a billion people are on the left; friends only across."""
    return liftgbp.best_world(liftgbp.load("example:opposites"), {"person": BILLION})


@pytest.fixture(scope="module")
def hundred() -> liftgbp.BestWorld:
    return liftgbp.best_world(liftgbp.load("example:opposites"), {"person": 100})


# --- at any size


def test_counts_are_whole_numbers(halves: liftgbp.BestWorld) -> None:
    half, pairs = BILLION // 2, BILLION * (BILLION - 1)
    assert halves.count("left(x)") == halves.count("!left(x)") == half
    assert halves.count("friends(x,y)") == 2 * half * half
    assert halves.count("EXIST y friends(x,y)") == BILLION
    assert halves.numbers == {"friends": 2 * half * half, "left": half}
    irreflexive, friendly, sided = halves.rules
    assert (irreflexive.satisfied, irreflexive.violated) == (BILLION, 0)
    assert (friendly.satisfied, friendly.violated) == (2 * half**2, pairs - 2 * half**2)
    assert (sided.satisfied, sided.violated) == (0, pairs)


def test_formulas_about_all_objects(halves: liftgbp.BestWorld) -> None:
    assert halves.holds("friends(x,y) => friends(y,x)")
    assert halves.holds("friends(x,y) => !(left(x) <=> left(y))")
    assert not halves.holds("left(x)")


@pytest.mark.slow
def test_queries_about_some_objects() -> None:
    model = liftgbp.load("example:couples")
    world = liftgbp.best_world(model, {"person": 10_000}, evidence="married(Anna,Bob)")
    assert world.proven
    assert world.true("married(Anna,x)") == ["married(Anna,Bob)"]
    assert world.true("married(x,Bob) | x != Anna") == []
    assert world.true("married(x,x)") == []
    assert world.value("married(Bob,Anna)") is True
    assert len(world.true("married(x,y)")) == 10_000


@pytest.mark.parametrize("method", ["true", "to_evidence", "to_frame"])
def test_too_many_atoms_are_refused_at_once(halves: liftgbp.BestWorld, method: str) -> None:
    with pytest.raises(CapacityError, match="too many to write out"):
        getattr(halves, method)()


@pytest.mark.parametrize("atom", ["left(#0)", "left(#1000000001)", "left(x)", "left(#1,#2)"])
def test_what_is_no_ground_atom(halves: liftgbp.BestWorld, atom: str) -> None:
    with pytest.raises(liftgbp.InputError):
        halves.value(atom)
    assert halves.value("left(#1)") != halves.value("left(#1000000000)")


@pytest.mark.parametrize("query", ["P(x)", "left(x) | friends(x,y)", "#{x : left(x)} >= 3"])
def test_what_a_world_does_not_count(halves: liftgbp.BestWorld, query: str) -> None:
    with pytest.raises(QueryError):
        halves.count(query)


# --- against other ways to the same numbers


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("opposites", None),
        ("moods", None),
        ("celebrity", "famous(Anna)\n!follows(Bob,Anna)"),
        ("friends-smokers", "smokes(Anna)\n!smokes(Bob)\nfriends(Anna,Bob)"),
    ],
)
@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_a_world_as_evidence_has_its_score_as_log_z(
    name: str, evidence: str | None, via: str
) -> None:
    model = liftgbp.load(f"example:{name}")
    world = liftgbp.best_world(model, {"person": 6}, evidence=evidence, via=via)
    seen = world.to_evidence()
    assert liftgbp.infer(model, {"person": 6}, evidence=seen).log_z == pytest.approx(world.score)
    same = liftgbp.best_world(model, {"person": 6}, evidence=seen)
    assert same.exact_score == world.exact_score
    for predicate in model.predicates:
        assert dict(same.world.atoms(predicate)) == dict(world.world.atoms(predicate))


def test_uncertain_facts_count() -> None:
    model = liftgbp.parse("smokes(person)\n-1 smokes(x)")
    world = liftgbp.best_world(model, {"person": 10**6}, evidence="0.9 smokes(Anna)\n0.6 smokes(B)")
    # The log-odds of 0.9 are above the weight, those of 0.6 are not.
    assert world.proven
    assert world.numbers == {"smokes": 1}
    assert world.value("smokes(Anna)") is True
    assert world.score == pytest.approx(-1 + log(0.9) + log(0.4))


@pytest.mark.parametrize("facts", ["friends(A,B)", "left(A)\nleft(B)\nfriends(A,B)", "left(A)"])
def test_costs(facts: str) -> None:
    model, sizes = liftgbp.load("example:opposites"), {"person": 4}
    known = Problem.of(model, facts, sizes)
    best = float(scores(reference.ground(model, sizes, None))[1].max())
    least = float(scores(reference.ground(model, sizes, known.evidence))[1].max())
    for via in ("lifted", "ground"):
        world = liftgbp.best_world(model, sizes, via=via)
        assert world.cost(facts) == pytest.approx(best - least)


def test_costs_of_what_is_impossible(hundred: liftgbp.BestWorld) -> None:
    assert hundred.cost("friends(Anna,Anna)") == float("inf")


def test_costs_of_facts_about_unnamed_objects(halves: liftgbp.BestWorld) -> None:
    # Friends on one side lose 3 and gain 1.
    facts = "left(#1)\nleft(#2)\nfriends(#1,#2)\n"
    assert halves.cost("left(#1)") == halves.cost({"left(#1)": True}) == 0
    assert halves.cost(facts) == halves.cost("left(A)\nleft(B)\nfriends(A,B)") == 2


def test_unnamed_objects_that_are_counted_are_not_alike() -> None:
    model = liftgbp.parse("smokes(person)\n-1 smokes(x)")
    known = liftgbp.load_evidence(model, known=["smokes(x)=20"])
    world = liftgbp.best_world(model, {"person": 100}, evidence=known)
    with pytest.raises(liftgbp.InputError, match="not alike here"):
        world.cost("smokes(#1)")


def test_errors_show_the_atom_as_it_was_typed(halves: liftgbp.BestWorld) -> None:
    with pytest.raises(QueryError) as error:
        halves.value("left(#1")
    assert str(error.value).startswith("left(#1: ")


def test_log_probability() -> None:
    model, sizes = liftgbp.load("example:two-sides"), {"person": 4}
    world = liftgbp.best_world(model, sizes, via="lifted")
    # By the number of people on the left: C(4, k) worlds of score 2 k (4 - k).
    total = 2 * exp(0) + 8 * exp(6) + 6 * exp(8)
    answers = liftgbp.infer(model, sizes)
    assert world.log_probability(answers) == pytest.approx(8 - log(total))
    with pytest.raises(liftgbp.InputError, match="other sizes"):
        world.log_probability(liftgbp.infer(model, {"person": 5}))


def test_demands_are_fitted_first() -> None:
    text = "smokes(person)\nhappy(person)\n2 smokes(x) => happy(x)\nP(smokes(x)) = 0.8"
    world = liftgbp.best_world(liftgbp.parse(text), {"person": 100})
    # With e⁻² for people who smoke and are not happy, 4 (1 + 1) / (1 + e⁻²) is the odds to smoke.
    weight = log(4 * 2 / (1 + exp(-2)))
    assert world.proven
    assert world.numbers == {"smokes": 100, "happy": 100}
    assert world.score == pytest.approx(100 * (2 + weight), rel=1e-6)


def test_known_numbers_of_objects() -> None:
    model = liftgbp.load("example:friends-smokers")
    known = liftgbp.load_evidence(model, known=["smokes(x)=200", "!smokes(x)=100"])
    world = liftgbp.best_world(model, {"person": 10**6}, evidence=known)
    assert world.proven
    assert world.numbers == {"friends": 0, "smokes": 200}
    assert str(world.structure).startswith("person: A (200), B (100) and C (999,700)\n")


def test_quantifiers_over_many_objects() -> None:
    text = "likes(person,person)\nEXIST y likes(x,y).\n!likes(x,x).\nlikes(x,y) => likes(y,x).\n"
    text += "!(likes(x,y) ^ likes(x,z)) | distinct.\n-1 likes(x,y)"
    world = liftgbp.best_world(liftgbp.parse(text), {"person": 10**6})
    assert world.score == -(10**6)
    assert world.holds("EXIST y likes(x,y)")
    assert str(world.structure) == "person: 500,000 pairs\nlikes: only inside each pair"


def test_few_objects_with_names_are_listed() -> None:
    facts = "".join(f"s({name})\n" for name in ("A", "Anna")) + "!s(B)\n!s(C)"
    model = liftgbp.parse("s(person)\nlikes(person,person)\n-1 likes(x,y)\n2 s(x) ^ likes(x,y)")
    world = liftgbp.best_world(model, {"person": 4}, evidence=facts)
    # A, B and C are people, so no block is called like them.
    assert (
        str(world.structure).splitlines()[0] == "person: two halves, D (2: A, Anna) and E (2: B, C)"
    )
    assert world.numbers["likes"] == 8


def test_names_of_some_of_many_pairs() -> None:
    """Ten pairs of people, each with a fact; a person has one partner at most."""
    couples = [(f"M{k}", f"W{k}") for k in range(10)]
    text = "met(person,person)\npair(person,person)\npair(x,y) => pair(y,x).\n"
    text += "3 met(x,y) ^ pair(x,y)\n-1 pair(x,y)"
    model = liftgbp.parse("*" + text)
    world = liftgbp.best_world(model, evidence={"met": couples})
    listed = ", ".join(f"M{k} with W{k}" for k in range(8))
    assert str(world.structure).splitlines()[0] == f"person: 10 pairs: {listed} and 2 more"


# --- where there is no world, or no time


def test_contradictions_name_the_rules() -> None:
    text = "r(p,p)\ns(p)\n!r(x,x).\nr(x,y) => r(y,x).\nEXIST y r(x,y).\n"
    text += "!(r(x,y) ^ r(x,z)) | distinct.\ns(x) v s(y).\n1 s(x)"
    with pytest.raises(ContradictionError) as error:
        liftgbp.best_world(liftgbp.parse(text), {"p": 5})
    for rule in ("!r(x,x).", "r(x,y) => r(y,x).", "EXIST y r(x,y).", "| distinct."):
        assert rule in str(error.value)
    assert "s(x)" not in str(error.value)


def test_no_world_in_time_names_effort_and_time() -> None:
    """No perfect matching of an odd number of people; nothing proves that at this size."""
    text = "r(p,p)\n!r(x,x).\nr(x,y) => r(y,x).\nEXIST y r(x,y).\n!(r(x,y) ^ r(x,z)) | distinct."
    with pytest.raises(CapacityError, match="at normal effort within 60 seconds"):
        liftgbp.best_world(liftgbp.parse(text), {"p": 10**6 + 1}, seconds=60)


def test_a_moment_is_enough_for_some_world() -> None:
    model = liftgbp.load("example:no-four-friends")
    world = liftgbp.best_world(model, {"person": 10**6}, seconds=1e-6)
    assert not world.proven
    assert world.score <= 666_666_666_666 <= world.upper


@pytest.mark.slow
def test_an_interrupt_gives_the_best_world_so_far() -> None:
    def progress(stage: str, done: int, total: int) -> None:
        if stage.startswith("best world: score"):
            signal.raise_signal(signal.SIGINT)

    world = liftgbp.best_world(
        liftgbp.load("example:no-four-friends"), {"person": 10**6}, progress=progress
    )
    assert world.interrupted
    assert world.score == 666_666_666_666
    assert world.reason.startswith("interrupted")


# --- elsewhere


def test_a_frame(hundred: liftgbp.BestWorld) -> None:
    frame = hundred.to_frame()
    assert len(frame) == 5_000 + 50
    assert len(hundred.to_frame("left(x)", everything=False)) == 50
    assert len(hundred.to_frame(everything=True)) == 10_000 + 100


@pytest.mark.parametrize("name", ["couples", "three-teams", "celebrity"])
def test_facts_in_a_file_are_the_world(name: str, tmp_path: Path) -> None:
    model = liftgbp.load(f"example:{name}")
    world = liftgbp.best_world(model, {"person": 60})
    world.write(tmp_path / "best.db")
    again = liftgbp.load_evidence(model, tmp_path / "best.db")
    same = liftgbp.best_world(model, {"person": 60}, evidence=again)
    assert same.score == world.score
    assert same.numbers == world.numbers


def test_a_card_has_words_and_blocks(halves: liftgbp.BestWorld) -> None:
    card = halves._repr_html_()
    for text in (
        "two halves",
        "only between A and B",
        "500,000,000",
        "no world has a larger score",
    ):
        assert text in card
    assert halves.structure is not None
    assert "two halves" in halves.structure._repr_html_()


def test_a_picture_has_objects_of_all_blocks(halves: liftgbp.BestWorld) -> None:
    friends, left = halves.figure().axes
    assert friends.get_title() == "friends"
    cells = friends.images[0].get_array()
    assert 2 * cells.sum() == cells.size
    assert 2 * left.images[0].get_array().sum() == len(cells)


def test_a_long_title_of_a_picture_is_not_cut() -> None:
    model = liftgbp.parse("member(members_of_parliament)\n1 member(x)")
    figure = liftgbp.best_world(model, {"members_of_parliament": BILLION}).figure()
    figure.draw_without_rendering()
    (title,) = figure.texts
    extent = title.get_window_extent()
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.x1
    assert "\n" in title.get_text()


def test_json_has_the_structure(halves: liftgbp.BestWorld) -> None:
    structure = halves.as_dict()["structure"]
    assert isinstance(structure, dict)
    assert [block["objects"] for block in structure["blocks"]] == [BILLION // 2] * 2
    assert {own["kind"]: own["number"] for own in structure["atoms"]} == {
        "friends(A,B)": BILLION**2 // 4,
        "friends(B,A)": BILLION**2 // 4,
        "left(B)": BILLION // 2,
    }
