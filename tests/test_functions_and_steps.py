"""Functions and steps in time: what models mean, against all worlds listed in Python."""

from __future__ import annotations

import math
from itertools import product

import pytest

import liftgbp
from liftgbp.model.parser import parse
from liftgbp.support.errors import EvidenceError, ModelError, QueryError, SizeError
from small_worlds import World, listed_worlds

VIAS = ["lifted", "ground", "auto"]


def implies(one: object, other: object) -> bool:
    return not one or bool(other)


# --- functions with values


FAMILY = """
person = {Anna, Bob, Carl}
person motherOf(person)
smokes(person)
1.5 smokes(motherOf(x)) => smokes(x)
-0.4 smokes(motherOf(motherOf(x)))
0.3 smokes(x) ^ motherOf(x) != Carl
"""
MOTHERS = {"Anna": "Bob", "Bob": "Carl"}


def family_weight(world: World) -> float:
    total = 0.0
    for x, mother in MOTHERS.items():
        total += 1.5 * implies(world[mother], world[x])
        if mother in MOTHERS:
            total -= 0.4 * world[MOTHERS[mother]]
    for x in world:
        total += 0.3 * (world[x] and MOTHERS.get(x) != "Carl")
    return total


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize(
    "facts",
    [
        "motherOf(Anna) = Bob\nmotherOf(Bob) = Carl",
        "Bob = motherOf(Anna)\nCarl = motherOf(Bob)",
        "motherOf(Anna, Bob)\nmotherOf(Bob, Carl)",
    ],
)
def test_functions_with_values(via: str, facts: str) -> None:
    model = parse(FAMILY)
    assert parse(str(model)) == model
    answers = liftgbp.infer(model, evidence=liftgbp.parse_evidence(model, facts), via=via)
    log_z, marginals = listed_worlds(["Anna", "Bob", "Carl"], family_weight)
    assert answers.log_z == pytest.approx(log_z)
    for name, expected in marginals.items():
        assert answers.marginal(f"smokes({name})") == pytest.approx(expected)


def test_a_hard_formula_holds_where_a_function_has_a_value() -> None:
    model = parse(
        "person = {Anna, Bob}\nperson motherOf(person)\nsmokes(person)\nsmokes(motherOf(x))."
    )
    evidence = liftgbp.parse_evidence(model, "motherOf(Anna) = Bob")
    answers = liftgbp.infer(model, evidence=evidence)
    assert answers.marginal("smokes(Bob)") == pytest.approx(1)
    assert answers.marginal("smokes(Anna)") == pytest.approx(0.5)


def test_alchemy_writes_functions_in_clauses_as_predicates() -> None:
    declared = "person motherOf(person)\nsmokes(person)\n"
    clause = "1 !isReturnValueOfmotherOf(y, x) v smokes(y) v !smokes(x)"
    assert parse(declared + clause) == parse(declared + "1 !motherOf(x,y) v smokes(y) v !smokes(x)")


def test_a_function_below_a_quantifier_depends_on_its_variable() -> None:
    model = parse(
        "person = {Anna, Bob, Carl}\nperson motherOf(person)\nsmokes(person)\n"
        "0.9 EXIST x smokes(motherOf(x))\n0.7 FORALL x smokes(x) => smokes(motherOf(x))\n"
        "0.2 !(FORALL x smokes(motherOf(x)))"
    )

    def log_weight(world: World) -> float:
        return (
            0.9 * any(world[mother] for mother in MOTHERS.values())
            + sum(0.7 * implies(world[x], world[mother]) for x, mother in MOTHERS.items())
            + 0.2 * (not all(world[mother] for mother in MOTHERS.values()))
        )

    log_z, marginals = listed_worlds(["Anna", "Bob", "Carl"], log_weight)
    evidence = liftgbp.parse_evidence(model, "motherOf(Anna) = Bob\nmotherOf(Bob) = Carl")
    answers = liftgbp.infer(model, evidence=evidence)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("smokes(Carl)") == pytest.approx(marginals["Carl"])


# --- functions that construct objects


EVENTS = """
time = {1, 2}
person = {Anna, Bob}
event walking(person)
event running(person)
happens(event, time)
seen(person, time)
0.7 happens(walking(p), t) => seen(p, t)
-0.6 happens(walking(p), t) ^ happens(running(p), t)
"""


def event_weight(world: World) -> float:
    total = 0.0
    for p, t in product("AB", "12"):
        total += 0.7 * implies(world[f"w{p}{t}"], world[f"s{p}{t}"])
        total -= 0.6 * (world[f"w{p}{t}"] and world[f"r{p}{t}"])
    return total if world["wA1"] and world["rB2"] else -math.inf


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize(
    ("facts", "walks"),
    [
        ("happens(walking(Anna), 1)\nhappens( running( Bob ), 2)", "walking(Bob)"),
        (
            "E1 = walking(Anna)\nE2 = walking(Bob)\nE3 = running(Anna)\nE4 = running(Bob)\n"
            "happens(E1, 1)\nhappens(running(Bob), 2)",
            "E2",
        ),
    ],
)
def test_functions_that_construct_objects(via: str, facts: str, walks: str) -> None:
    model = parse(EVENTS)
    atoms = [kind + p + t for kind, p, t in product("wrs", "AB", "12")]
    log_z, marginals = listed_worlds(atoms, event_weight)
    answers = liftgbp.infer(model, evidence=liftgbp.parse_evidence(model, facts), via=via)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal(f"happens({walks}, 2)") == pytest.approx(marginals["wB2"])
    assert answers.marginal("seen(Anna, 1)") == pytest.approx(marginals["sA1"])


def test_constructed_objects_need_no_evidence() -> None:
    answers = liftgbp.infer(parse(EVENTS))
    one = math.exp(0.7)
    # Without walking, seen is free; with it, running is less likely.
    walking = (1 + math.exp(-0.6)) * (one + 1)
    standing = 2 * 2 * one
    assert answers.marginal("happens(walking(Bob), 1)") == pytest.approx(
        walking / (walking + standing)
    )


# --- steps in time


TRAFFIC = """
time = {0,...,4}
jam(time)
slow(time)
0.5 jam(0)
1.2 jam(t) <=> jam(t+1)
0.9 jam(t) <=> slow(t)
-0.8 jam(t) ^ !jam(t+2)
0.4 EXIST t (jam(t) ^ slow(t+1))
"""


def traffic_weight(world: World) -> float:
    jam = [world[f"j{t}"] for t in range(5)]
    slow = [world[f"s{t}"] for t in range(5)]
    if not slow[1] or slow[3]:
        return -math.inf
    return (
        0.5 * jam[0]
        + sum(1.2 * (jam[t] == jam[t + 1]) for t in range(4))
        + sum(0.9 * (jam[t] == slow[t]) for t in range(5))
        - sum(0.8 * (jam[t] and not jam[t + 2]) for t in range(3))
        + 0.4 * any(jam[t] and slow[t + 1] for t in range(4))
    )


@pytest.mark.parametrize("via", ["ground", "auto"])  # over classes, the last rule is too large
def test_a_model_of_traffic(via: str) -> None:
    model = parse(TRAFFIC)
    assert parse(str(model)) == model
    evidence = liftgbp.parse_evidence(model, "slow(1)\n!slow(3)")
    answers = liftgbp.infer(model, evidence=evidence, via=via)
    log_z, marginals = listed_worlds(
        [f"{kind}{t}" for kind in "js" for t in range(5)], traffic_weight
    )
    assert answers.log_z == pytest.approx(log_z)
    for t in range(5):
        assert answers.marginal(f"jam({t})") == pytest.approx(marginals[f"j{t}"])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("p(t++)", "p(t+1)"),
        ("p(succ(t))", "p(t+1)"),
        ("p(t--)", "p(t-1)"),
        ("p(prec(t))", "p(t-1)"),
        ("p(t) ^ s > t ^ p(s)", "p(t) ^ t < s ^ p(s)"),
        ("p(t) ^ t <= s ^ p(s)", "p(t) ^ !(s < t) ^ p(s)"),
        ("p(t) ^ t >= s ^ p(s)", "p(t) ^ !(t < s) ^ p(s)"),
        ("p(t) ^ p(s) ^ s = t+2", "p(t) ^ p(s) ^ s-2 = t"),
    ],
)
def test_notations_of_steps(written: str, meant: str) -> None:
    models = [parse(f"time = {{1,...,9}}\np(time)\n1 {text}") for text in (written, meant)]
    one, other = (liftgbp.infer(model) for model in models)
    assert one.log_z == pytest.approx(other.log_z)
    assert parse(str(models[0])) == models[0]


@pytest.mark.parametrize("via", VIAS)
def test_orders_of_numbers(via: str) -> None:
    model = parse("time = {1,...,4}\np(time)\n0.7 p(s) ^ s < t => p(t)\n-0.3 p(t) ^ t <= 2")

    def log_weight(world: World) -> float:
        pairs = product(range(1, 5), repeat=2)
        return sum(0.7 * implies(world[f"p{s}"] and s < t, world[f"p{t}"]) for s, t in pairs) - sum(
            0.3 * world[f"p{t}"] for t in (1, 2)
        )

    log_z, marginals = listed_worlds([f"p{t}" for t in range(1, 5)], log_weight)
    answers = liftgbp.infer(model, via=via)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("p(2)") == pytest.approx(marginals["p2"])
    assert answers.marginal("p(4)") == pytest.approx(marginals["p4"])


YALE = """
time = {0,...,3}
fluent = {Loaded, Alive}
event = {Load, Shoot}
*happens(event, time)
holds(fluent, time)
starts(fluent, time)
ends(fluent, time)
starts(f,t) => holds(f, t++).
ends(f,t) => !holds(f, t++).
holds(f,t) ^ !ends(f,t) => holds(f, t++).
!holds(f,t) ^ !starts(f,t) => !holds(f, t++).
2 happens(Load,t) => starts(Loaded,t)
2 happens(Shoot,t) ^ holds(Loaded,t) => ends(Alive,t)
-1 starts(f,t)
-1 ends(f,t)
holds(Alive,0).
!holds(Loaded,0).
"""


def yale_weight(world: World) -> float:
    def at(kind: str, fluent: str, t: int) -> bool:
        return world[f"{kind}{fluent}{t}"]

    if not at("h", "A", 0) or at("h", "L", 0):
        return -math.inf
    total = 0.0
    for fluent, t in product("LA", range(4)):
        total -= at("s", fluent, t) + at("e", fluent, t)
        if t < 3:
            after = at("h", fluent, t + 1)
            possible = (
                implies(at("s", fluent, t), after)
                and implies(at("e", fluent, t), not after)
                and implies(at("h", fluent, t) and not at("e", fluent, t), after)
                and implies(not at("h", fluent, t) and not at("s", fluent, t), not after)
            )
            if not possible:
                return -math.inf
    for t in range(4):
        total += 2 * implies(t == 0, at("s", "L", t))
        total += 2 * implies(t == 2 and at("h", "L", t), at("e", "A", t))
    return total


@pytest.mark.slow
def test_yale_shooting() -> None:
    model = parse(YALE)
    evidence = liftgbp.parse_evidence(model, "happens(Load, 0)\nhappens(Shoot, 2)")
    # The atoms at the last time are in no dynamics, and log Z counts them alone.
    atoms = [f"{kind}{f}{t}" for kind in "hse" for f in "LA" for t in range(3)] + ["hL3", "hA3"]
    tail = {"sL3": False, "sA3": False, "eL3": False, "eA3": False}
    log_z, marginals = listed_worlds(atoms, lambda world: yale_weight({**world, **tail}))
    ends = 4 * math.log1p(math.exp(-1))
    for via in ("ground", "auto"):
        answers = liftgbp.infer(model, evidence=evidence, via=via)
        assert answers.log_z == pytest.approx(log_z + ends)
        assert answers.marginal("holds(Alive,3)") == pytest.approx(marginals["hA3"])
        assert answers.marginal("holds(Loaded,2)") == pytest.approx(marginals["hL2"])


def test_steps_reach_numbers_that_evidence_names() -> None:
    model = parse("p(time)\n0.7 p(t) <=> p(t+1)")
    evidence = liftgbp.parse_evidence(model, "p(10)\ntime = {12, 11}")
    answers = liftgbp.infer(model, evidence=evidence)
    agree = math.exp(0.7) / (1 + math.exp(0.7))
    assert answers.marginal("p(11)") == pytest.approx(agree)
    assert answers.marginal("p(12)") == pytest.approx(agree**2 + (1 - agree) ** 2)


def test_steps_and_functions_are_no_answers_of_their_own() -> None:
    model = parse("time = {1,2}\np(time)\nevent f(time)\nq(event)\n1 p(t+1)\n1 q(f(t)) ^ 1 < t")
    answers = liftgbp.infer(model)
    rows = answers.as_dict()["answers"]
    assert {row["query"] for row in rows} == {"p(x)", "q(x)"}
    assert answers.via == "ground"


# --- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 smokes(friends(x,y))", "friends is a predicate; only functions"),
        ("|y| friends(x,y) <= 1", "constraints on counts are not supported"),
        ("1 smokes(fatherOf(x))", "unknown predicate fatherOf"),
        ("1 smokes(motherOf(x,y))", "motherOf takes 2 arguments, got 3"),
        ("1 smokes(x+0.5)", "a step is a whole number"),
        ("1 smokes(x) | x < y", "< compares numbers in formulas of a model only"),
        ("1 smokes(x) | x != y+1", "a restriction compares variables and constants"),
        ("parfactor smokes(motherOf(x)) : [1, 2]", "functions and steps of variables belong"),
        ("city motherOf(person)", "motherOf was declared as motherOf(person, person)"),
        ("motherOf(person, person)", "motherOf was declared as a function"),
        ("1 x < y", "the sort of x and y is unknown"),
    ],
)
def test_wrong_functions_and_steps(text: str, message: str) -> None:
    declared = "person motherOf(person)\nsmokes(person)\nfriends(person, person)\n"
    with pytest.raises(ModelError) as caught:
        parse(declared + text)
    assert message in caught.value.message


def test_functions_need_values() -> None:
    with pytest.raises(EvidenceError, match="motherOf has no values"):
        liftgbp.infer(parse(FAMILY))
    model = parse(FAMILY)
    with pytest.raises(EvidenceError, match=r"motherOf\(Anna\) has two values, Bob and Carl"):
        liftgbp.parse_evidence(model, "motherOf(Anna) = Bob\nmotherOf(Anna) = Carl")


def test_steps_need_numbers() -> None:
    with pytest.raises(EvidenceError, match="Noon is an object of time"):
        liftgbp.infer(parse("time = {1, Noon}\np(time)\n1 p(t+1)"))
    with pytest.raises(SizeError, match="9 of 9 objects of time have no names"):
        liftgbp.infer(parse("time = 9\np(time)\n1 p(t+1)"))


def test_queries_name_objects_not_steps() -> None:
    answers = liftgbp.infer(parse("time = {1, 2}\np(time)\n1 p(t+1)"))
    with pytest.raises(QueryError, match="functions and steps of variables"):
        answers.query("p(t+1)")


def test_soft_clauses_about_terms_visit_only_what_facts_list() -> None:
    """All 4000 x 4000 pairs of times would be above the cap of substitutions."""
    model = parse(
        "*next(time, time)\n*happens(event, time)\nevent walking(person)\nseen(person, time)\n"
        "0.5 next(s,t) ^ happens(walking(p), s) => seen(p,t)"
    )
    steps = [f"next({t},{t + 1})" for t in range(3999)]
    facts = "\n".join([*steps, "happens(walking(Anna), 7)"])
    evidence = liftgbp.parse_evidence(model, facts)
    answers = liftgbp.infer(model, evidence=evidence, effort="quick")
    assert answers.marginal("seen(Anna, 8)") == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert answers.marginal("seen(Anna, 9)") == pytest.approx(0.5)
    # All groundings but one hold whatever is seen.
    others = 0.5 * (4000**2 - 1) + 3999 * math.log(2)
    assert answers.log_z == pytest.approx(others + math.log(1 + math.exp(0.5)), rel=1e-12)


def test_steps_both_ways_in_one_formula() -> None:
    answers = liftgbp.infer(parse("time = {0,1,2}\ns(time)\ng(time)\n3 s(t+1) ^ g(t-1)"))
    # Only t = 1 has both neighbours.
    log_z, marginals = listed_worlds(
        [f"{kind}{t}" for kind in "sg" for t in range(3)],
        lambda world: 3.0 * (world["s2"] and world["g0"]),
    )
    assert answers.log_z == pytest.approx(log_z)
    for t in range(3):
        assert answers.marginal(f"s({t})") == pytest.approx(marginals[f"s{t}"])
        assert answers.marginal(f"g({t})") == pytest.approx(marginals[f"g{t}"])


def test_distinct_is_about_the_variables_that_are_written() -> None:
    model = parse("t = {0,1,2}\np(t)\nr(t)\n0.9 p(x+1) ^ r(x) ^ r(y) | distinct")

    def weight(world: World) -> float:
        return 0.9 * sum(
            world[f"p{x + 1}"] and world[f"r{x}"] and world[f"r{y}"]
            for x in range(2)
            for y in range(3)
            if x != y
        )

    log_z, marginals = listed_worlds([f"{kind}{t}" for kind in "pr" for t in range(3)], weight)
    assert parse(str(model)) == model
    answers = liftgbp.infer(model)
    assert answers.log_z == pytest.approx(log_z)
    for t in range(3):
        assert answers.marginal(f"r({t})") == pytest.approx(marginals[f"r{t}"])


def test_a_step_beyond_all_numbers() -> None:
    with pytest.raises(liftgbp.ModelError, match="whole number"):
        parse("t = {0,1}\np(t)\n1 p(x+" + "9" * 400 + ")")
