"""Answers with blocks against exact, published and sampled values."""

from __future__ import annotations

import math

import pytest

import liftgbp
from liftgbp.oracle import reference

TRANSITIVE = "r(person,person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct"
CHAIN = "r(person,person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"
FRIENDS_KNOWS = (
    "friends(person,person)\nknows(person,person)\n"
    "1.4 friends(x,y) ^ friends(y,z) => knows(x,z) | distinct"
)
FRIENDS_SMOKERS = (
    "friends(person,person)\nsmokes(person)\n1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
)


def blocked(text: str, size: int, **options: object) -> liftgbp.Answers:
    model = liftgbp.parse(text)
    sort = next(iter(model.sorts))
    return liftgbp.infer(model, {sort: size}, blocks="auto", **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize(
    ("text", "size", "sampled", "allowed"),
    [
        (TRANSITIVE, 20, 0.2175, 0.06),
        (TRANSITIVE, 40, 0.192, 0.006),
        (TRANSITIVE, 100, 0.1893, 0.001),
        (CHAIN, 20, 0.131, 0.005),
    ],
)
def test_answers_are_near_sampled_ones(
    text: str, size: int, sampled: float, allowed: float
) -> None:
    answers = blocked(text, size)
    # What is off by more than 0.01 is contradicted by a sample of its own.
    assert (answers.flaw is None) is (allowed < 0.01)
    assert answers.blocks
    assert abs(answers.marginal("r(x,y)") - sampled) <= allowed


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 13, 14, 15, 18])
def test_blocks_are_found_at_all_sizes(size: int) -> None:
    """Sampling says 0.1405 at 10 objects and 0.131 at 20; one block says 0.105 and less."""
    answers = liftgbp.infer(liftgbp.parse(CHAIN), {"person": size}, effort="normal")
    assert answers.trusted
    assert answers.blocks or answers.verdict.kind is liftgbp.Kind.SAMPLED
    assert 0.131 - 0.01 < answers.marginal("r(x,y)") < 0.1405


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_blocks_that_hardly_differ_take_the_place_of_a_saddle() -> None:
    answers = blocked(TRANSITIVE, 11)
    assert answers.reason.startswith("a sample says")
    (structure,) = answers.blocks
    assert structure.share == 1.0, "the saddle has no share"
    quick = answers.quick
    assert quick is not None
    assert answers.log_z > quick.log_z
    # Sampling says 0.263 at 10 objects and 0.238 at 14.
    assert quick.marginal("r(x,y)") < answers.marginal("r(x,y)") < 0.238


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 35])
def test_sums_over_sizes_stay_near_their_peak(size: int) -> None:
    answers = blocked(FRIENDS_KNOWS, size)
    assert answers.flaw is None or answers.reason.startswith("a sample says")
    assert min(answers.blocks[0].sizes["person"]) > size / 5


@pytest.mark.slow
@pytest.mark.parametrize("size", [10**5, 10**9])
def test_most_transitive_relations_are_orders_in_three_layers(size: int) -> None:
    """Kleitman and Rothschild 1975: a quarter, half and a quarter, so 3/16 of all pairs."""
    answers = blocked(TRANSITIVE, size)
    assert answers.flaw is None
    assert abs(answers.marginal("r(x,y)") - 3 / 16) < 1e-4
    (structure,) = answers.blocks
    assert sorted(structure.sizes["person"]) == pytest.approx(
        [size / 4, size / 4, size / 2], rel=1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["<=>", "=>"])
@pytest.mark.parametrize("weight", ["3 ", ""])
def test_most_triangle_free_graphs_are_bipartite(weight: str, symmetry: str) -> None:
    """Erdős, Kleitman and Rothschild 1976: two halves, so a quarter of all pairs is joined."""
    end = "" if weight else "."
    text = f"e(p,p)\n{weight}e(x,y) ^ e(y,z) => !e(x,z) | distinct{end}\ne(x,y) {symmetry} e(y,x)."
    answers = blocked(text, 1000)
    assert answers.flaw is None
    assert abs(answers.marginal("e(x,y)") - 1 / 4) < 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_the_number_of_partial_orders() -> None:
    """log Z of hard transitivity: exact from the number of partial orders on 18 objects."""
    answers = blocked("r(p,p)\nr(x,y) ^ r(y,z) => r(x,z) | distinct.", 18)
    assert answers.reason.startswith("a sample says")
    assert abs(answers.log_z - 94.028) < 6


@pytest.mark.slow
def test_conditionals_see_the_correlation_that_blocks_carry() -> None:
    """In three layers, whom one precedes precedes others rarely: only the middle layer does."""
    answers = blocked(TRANSITIVE, 10**6)
    (row,) = answers.query("r(y,z) | r(x,y), x != y, y != z, x != z")
    # From x to y: 1/2 of 1/4 * 1/2 twice, and all of 1/16; then y is in the middle for 1/16 of
    # all pairs, and goes on to the last quarter with 1/2.
    expected = (1 / 4 * 1 / 2 * 1 / 2) * (1 / 4 * 1 / 2) / (3 / 16)
    assert row["true", "true"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "sampled", "allowed"),
    [
        ("r(y,z) | r(x,y), distinct", 0.042066, 5e-5),
        ("r(x,z) | r(x,y), r(y,z), distinct", 0.999933, 1e-5),
    ],
)
def test_conditionals_are_those_of_samples(query: str, sampled: float, allowed: float) -> None:
    """Gibbs sampling with moves of whole objects; standard errors 1.1e-5 and 1e-6."""
    (row,) = blocked(TRANSITIVE, 100).query(query)
    assert row[("true",) * len(row.atoms + row.given)] == pytest.approx(sampled, abs=allowed)


@pytest.mark.slow
@pytest.mark.parametrize(("atom", "sampled"), [("friends(x,y)", 0.15769), ("knows(x,y)", 0.53162)])
def test_friends_of_friends_form_three_layers(atom: str, sampled: float) -> None:
    """Sampled as above, with standard errors of 3e-5 at most; 5/32 and 17/32 in the limit."""
    assert blocked(FRIENDS_KNOWS, 100).marginal(atom) == pytest.approx(sampled, abs=1e-4)
    limit = 5 / 32 if atom.startswith("friends") else 17 / 32
    assert blocked(FRIENDS_KNOWS, 10**5).marginal(atom) == pytest.approx(limit, abs=1e-4)


@pytest.mark.slow
def test_blocks_are_found_where_rounding_may_hide_their_minimum() -> None:
    """Then independent atoms stand in for it, and a note says so; that depends on the machine."""
    answers = blocked(FRIENDS_KNOWS, 10**12)
    assert answers.flaw is None
    assert answers.marginal("friends(x,y)") == pytest.approx(5 / 32, abs=1e-3)


def test_blocks_change_nothing_where_there_is_nothing_to_find() -> None:
    model = liftgbp.parse(FRIENDS_SMOKERS)
    for size in (10, 200):
        plain = liftgbp.infer(model, {"person": size}, sum_over="smokes")
        answers = liftgbp.infer(model, {"person": size}, sum_over="smokes", blocks=2)
        assert not answers.blocks
        assert answers.log_z == plain.log_z
        assert answers.marginal("friends(x,y)") == plain.marginal("friends(x,y)")


@pytest.mark.slow
def test_the_answer_with_one_block_recommends_blocks() -> None:
    model = liftgbp.parse(TRANSITIVE)
    for size in (11, 40):
        answers = liftgbp.infer(model, {"person": size}, effort="normal", blocks=1)
        assert "below what independent atoms over blocks" in answers.reason
        assert "try blocks (blocks='auto', --blocks auto)" in answers.reason
        found = blocked(TRANSITIVE, size, effort="normal")
        assert found.flaw is None or found.reason.startswith("a sample says")


def test_the_answer_with_one_block_is_proven_wrong() -> None:
    model = liftgbp.parse(TRANSITIVE)
    answers = liftgbp.infer(model, {"person": 40}, effort="normal", blocks=1)
    assert answers.flaw is not None
    assert "independent atoms over blocks of 20, 20, mixed in all ways, reach" in answers.reason


def test_log_z_is_the_sum_over_all_ways_to_form_blocks() -> None:
    """Two blocks of equal role: each graph is counted once, not once per name of its halves."""
    text = "e(p,p)\ne(x,y) ^ e(y,z) => !e(x,z) | distinct.\ne(x,y) <=> e(y,x)."
    size = 60
    answers = blocked(text, size)
    halves = [
        math.lgamma(size + 1)
        - math.lgamma(k + 1)
        - math.lgamma(size - k + 1)
        + k * (size - k) * math.log(2)
        for k in range(1, size)
    ]
    top = max(halves)
    bipartite = top + math.log(sum(math.exp(own - top) for own in halves)) - math.log(2)
    # Edges e(x,x) are free.
    assert answers.log_z == pytest.approx(bipartite + size * math.log(2), abs=0.05)


TURNED = (
    "r(thing,thing)\n"
    "1.83 r(x,z) ^ !r(x,y) ^ !r(z,y) | distinct\n"
    "1.83 !r(x,z) ^ r(x,y) ^ r(z,y) | distinct"
)
"""All relate to the things of one block, and to no others; turning all values changes nothing."""


@pytest.mark.slow
def test_the_mirror_image_of_blocks_counts_as_much() -> None:
    """Of five things two or three are in the block; without the latter, log 2 would be missing."""
    exact = reference.exact(reference.ground(liftgbp.parse(TURNED), {"thing": 5}))
    answers = blocked(TURNED, 5, effort="normal", exact=False)
    assert [own.share for own in answers.blocks] == pytest.approx([0.5, 0.5])
    assert answers.log_z == pytest.approx(exact.log_z, abs=0.05)
    for size in (5, 9, 14):
        answers = blocked(TURNED, size, effort="normal", exact=False)
        assert answers.flaw is None
        assert answers.blocks
        assert answers.marginal("r(x,y)") == pytest.approx(0.5, abs=1e-9)


@pytest.mark.slow
def test_an_exchange_of_blocks_is_no_mirror_image() -> None:
    """Half of the things are in the block, or the other half: turned, that is the same worlds."""
    (structure,) = blocked(TURNED, 8, effort="normal", exact=False).blocks
    assert structure.share == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": 0}, "must be a whole number of at least 1"),
        ({"blocks": 50}, "50 blocks of person are more than the 9 objects"),
        ({"blocks": 10}, "10 blocks of person are more than the 9 objects"),
        ({"blocks": {"city": 2}}, "the model has no such sort"),
        ({"blocks": 2.5}, "blocks must be a whole number"),
        ({"blocks": 2, "via": "ground"}, "use via lifted"),
        ({"blocks": 2, "solver": liftgbp.Flooding()}, "blocks are found by descent"),
        ({"effort": "much"}, "unknown effort"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    model = liftgbp.parse(TRANSITIVE)
    with pytest.raises(liftgbp.InputError, match=message):
        liftgbp.infer(model, {"person": 9}, **options)  # type: ignore[call-overload]


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["normal", "thorough"])
def test_few_objects_are_split_no_further_than_possible(effort: str) -> None:
    """What an effort allows is no demand, and neither is `auto`; a number by hand is one."""
    model = liftgbp.parse(TRANSITIVE)
    options = {"sizes": {"person": 3}, "effort": effort}
    assert liftgbp.infer(model, **options).flaw is None  # type: ignore[call-overload]
    assert liftgbp.infer(model, blocks="auto", **options).flaw is None  # type: ignore[call-overload]
    assert liftgbp.infer(model, blocks=1, **options).flaw is None  # type: ignore[call-overload]
    with pytest.raises(liftgbp.InputError, match="4 blocks of person are more than the 3 objects"):
        liftgbp.infer(model, blocks=4, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_every_effort_answers_in_small_domains(effort: str) -> None:
    model = liftgbp.parse(TRANSITIVE)
    answers = liftgbp.infer(model, {"person": 3}, effort=effort)  # type: ignore[call-overload]
    assert answers.flaw is None
    assert answers.posterior.provenance.effort == effort
