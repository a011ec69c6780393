"""Definite clauses `head :- body`, against all worlds listed in Python."""

from __future__ import annotations

import math
from itertools import product

import pytest

import liftgbp
from liftgbp.model import definite_clauses
from liftgbp.model.parser import parse
from liftgbp.support.errors import ModelError
from small_worlds import World, listed_worlds

VIAS = ["lifted", "ground"]


def implies(one: object, other: object) -> bool:
    return not one or bool(other)


def same(clauses: str, meant: str) -> None:
    declared = "p(a)\nq(a)\nr(a,a)\n"
    assert parse(declared + clauses) == parse(declared + meant)


def test_one_clause() -> None:
    same("1 p(x) :- q(x)", "1 q(x) => p(x)\np(x) => q(x).")


def test_variables_of_the_body_are_quantified() -> None:
    same("p(x) :- r(x,y).", "r(x,y) => p(x).\np(x) => EXIST y r(x,y).")


def test_clauses_with_heads_of_one_form_belong_together() -> None:
    same(
        "1 p(x) :- q(x)\n2 p(y) :- r(y,x) ^ q(x)",
        "1 q(x) => p(x)\n2 r(y,x) ^ q(x) => p(y)\np(x) => q(x) v (EXIST x' r(x,x') ^ q(x')).",
    )


def test_commas_join_the_conditions_of_a_body() -> None:
    same("2 p(y) :- r(y,x), !q(x), p(x)", "2 p(y) :- r(y,x) ^ !q(x) ^ p(x)")
    same("p(y) :- q(y), q(y) v p(y).", "p(y) :- q(y) ^ (q(y) v p(y)).")


def test_atoms_of_other_forms_are_false() -> None:
    same(
        "p(A) :- q(A).\n1 r(x,x) :- q(x)\n1 r(x,B) :- p(x)",
        "q(A) => p(A).\n1 q(x) => r(x,x)\n1 p(x) => r(x,B)\n"
        "p(A) => q(A).\nr(x,x) => q(x).\nr(x,B) => p(x).\n"
        "p(x1) => x1 = A.\nr(x1,x2) => x2 = x1 v x2 = B.",
    )


def test_clauses_may_lack_weights_for_learning() -> None:
    model = parse("p(a)\nq(a)\np(x) :- q(x)")
    assert list(model.without_weight) == ["w1"]


def test_a_weight_and_a_period_do_not_go_together() -> None:
    with pytest.raises(ModelError, match="drop its weight or this period"):
        parse("p(a)\nq(a)\n1 p(x) :- q(x).")


@pytest.mark.parametrize("via", VIAS)
def test_quantified_bodies(via: str) -> None:
    model = parse("""
        person = {A, B}
        happy(person)
        friends(person, person)
        rich(person)
        0.7 happy(x) :- friends(x,y) ^ rich(y)
        -0.4 happy(z) :- rich(z) ^ EXIST x friends(z,x)
        0.3 rich(x)
    """)

    def log_weight(world: World) -> float:
        total = 0.0
        for x in "AB":
            some = any(world[f"f{x}{y}"] for y in "AB")
            reasons = [world[f"f{x}{y}"] and world[f"r{y}"] for y in "AB"]
            if world[f"h{x}"] and not (any(reasons) or (world[f"r{x}"] and some)):
                return -math.inf
            total += sum(0.7 * implies(reason, world[f"h{x}"]) for reason in reasons)
            total -= 0.4 * implies(world[f"r{x}"] and some, world[f"h{x}"])
            total += 0.3 * world[f"r{x}"]
        return total

    atoms = [f"{k}{x}" for k in "hr" for x in "AB"] + [f"f{x}{y}" for x in "AB" for y in "AB"]
    log_z, marginals = listed_worlds(atoms, log_weight)
    answers = liftgbp.infer(model, via=via, exact=True)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("happy(A)") == pytest.approx(marginals["hA"])


WATCHED = """
id = {A, B}
time = {0,...,2}
HoldsAt(fluent, time)
InitiatedAt(fluent, time)
TerminatedAt(fluent, time)
*Happens(event, time)
event walks(id)
event waits(id)
fluent meets(id, id)
fluent moves(id, id)

InitiatedAt(f,t) => HoldsAt(f,t+1).
TerminatedAt(f,t) => !HoldsAt(f,t+1).
HoldsAt(f,t) ^ !TerminatedAt(f,t) => HoldsAt(f,t+1).
!HoldsAt(f,t) ^ !InitiatedAt(f,t) => !HoldsAt(f,t+1).
!HoldsAt(f,0).

1.4 InitiatedAt(moves(p,q), t) :- Happens(walks(p),t) ^ Happens(walks(q),t)
0.6 InitiatedAt(meets(p,q), t) :- Happens(waits(p),t) ^ !Happens(walks(q),t)
0.9 InitiatedAt(meets(q,p), s) :- Happens(waits(p),s) ^ Happens(waits(q),s)
2 TerminatedAt(moves(p,q), t) :- Happens(waits(p),t)
2 TerminatedAt(moves(p,q), t) :- Happens(waits(q),t)
TerminatedAt(meets(p,q), t) :- Happens(walks(p),t) ^ Happens(walks(q),t).
"""
SEEN = {("walks", "A", 0), ("walks", "B", 0), ("waits", "A", 1), ("waits", "B", 0)}


def fluent_worlds() -> tuple[float, dict[str, float]]:
    """Fluents do not touch each other: log Z is a sum, and each has its own worlds."""
    total = 0.0
    marginals: dict[str, float] = {}
    for kind, p, q in product(["moves", "meets"], "AB", "AB"):
        name = f"{kind}({p},{q})"

        def seen(event: str, person: str, t: int) -> bool:
            return (event, person, t) in SEEN

        def log_weight(world: World, kind: str = kind, p: str = p, q: str = q) -> float:
            weight = 0.0
            if world["h0"]:
                return -math.inf
            for t in range(3):
                begun, ended, now = world[f"i{t}"], world[f"e{t}"], world[f"h{t}"]
                if t < 2:
                    then = world[f"h{t + 1}"]
                    if (begun and not then) or (ended and then):
                        return -math.inf
                    if (now and not ended and not then) or (not now and not begun and then):
                        return -math.inf
                if kind == "moves":
                    starts = [(1.4, seen("walks", p, t) and seen("walks", q, t))]
                    ends = [(2.0, seen("waits", p, t)), (2.0, seen("waits", q, t))]
                else:
                    both = seen("waits", p, t) and seen("waits", q, t)
                    starts = [(0.6, seen("waits", p, t) and not seen("walks", q, t)), (0.9, both)]
                    walk = seen("walks", p, t) and seen("walks", q, t)
                    ends = [(0.0, walk)]
                    if walk and not ended:
                        return -math.inf
                if begun and not any(reason for _, reason in starts):
                    return -math.inf
                if ended and not any(reason for _, reason in ends):
                    return -math.inf
                weight += sum(w * implies(reason, begun) for w, reason in starts)
                weight += sum(w * implies(reason, ended) for w, reason in ends)
            return weight

        atoms = [f"{k}{t}" for k in "hie" for t in range(3)]
        log_z, own = listed_worlds(atoms, log_weight)
        total += log_z
        marginals |= {f"HoldsAt({name},{t})": own[f"h{t}"] for t in range(3)}
    return total, marginals


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 100])
def test_an_event_calculus(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms of bodies are variables of the whole formula, or quantified inside."""
    monkeypatch.setattr(definite_clauses, "MOST_IN_FRONT", most)
    model = parse(WATCHED)
    facts = "\n".join(f"Happens({event}({person}), {t})" for event, person, t in SEEN)
    answers = liftgbp.infer(model, evidence=facts)
    log_z, marginals = fluent_worlds()
    assert answers.log_z == pytest.approx(log_z)
    for atom, expected in marginals.items():
        assert answers.marginal(atom) == pytest.approx(expected)


TURKEY = """
fluent = {Loaded, Alive}
time = {0,...,6}
*Happens(event, time)
HoldsAt(fluent, time)
InitiatedAt(fluent, time)
TerminatedAt(fluent, time)

InitiatedAt(f,t) => HoldsAt(f,t++).
TerminatedAt(f,t) => !HoldsAt(f,t++).
HoldsAt(f,t) ^ !TerminatedAt(f,t) => HoldsAt(f,t++).
!HoldsAt(f,t) ^ !InitiatedAt(f,t) => !HoldsAt(f,t++).

1.5 InitiatedAt(Loaded,t) :- Happens(Load,t)
2 TerminatedAt(Loaded,t) :- Happens(Shoot,t) ^ HoldsAt(Loaded,t)
2.5 TerminatedAt(Alive,t) :- Happens(Shoot,t) ^ HoldsAt(Loaded,t)

HoldsAt(Alive,0).
!HoldsAt(Loaded,0).
"""
LOADS, SHOTS = {1, 4}, {2, 5}


def turkey_by_states() -> tuple[float, list[float]]:
    """Log Z, and the probability that it is alive at each time, by a sum over states.

    A state is whether the gun is loaded and the turkey alive; per time, the sum goes over what
    begins and ends, which the clauses allow only where they give a reason.
    """

    def step(loaded: bool, alive: bool, t: int) -> dict[tuple[bool, bool] | None, float]:
        hit = t in SHOTS and loaded
        found: dict[tuple[bool, bool] | None, float] = {}
        for loads, empties, dies in product((False, True), repeat=3):
            if (loads and t not in LOADS) or (empties and not hit) or (dies and not hit):
                continue
            # The last time has no successor: what begins there has no effect.
            if t < 6 and loads and empties:
                continue
            weight = 1.5 * implies(t in LOADS, loads) + 2 * implies(hit, empties)
            weight += 2.5 * implies(hit, dies)
            after = ((loaded or loads) and not empties, alive and not dies)
            key = after if t < 6 else None
            found[key] = found.get(key, 0.0) + math.exp(weight)
        return found

    forward: list[dict[tuple[bool, bool], float]] = [{(False, True): 1.0}]
    for t in range(6):
        following: dict[tuple[bool, bool], float] = {}
        for state, weight in forward[-1].items():
            for after, factor in step(*state, t).items():
                assert after is not None
                following[after] = following.get(after, 0.0) + weight * factor
        forward.append(following)
    backward: list[dict[tuple[bool, bool], float]] = [
        {state: sum(step(*state, 6).values()) for state in forward[6]}
    ]
    for t in reversed(range(6)):
        backward.insert(
            0,
            {
                state: sum(w * backward[0][after] for after, w in step(*state, t).items() if after)
                for state in forward[t]
            },
        )
    total = sum(forward[0][state] * backward[0][state] for state in forward[0])
    alive = [
        sum(forward[t][s] * backward[t][s] for s in forward[t] if s[1]) / total for t in range(7)
    ]
    return math.log(total), alive


def test_the_turkey() -> None:
    facts = "\n".join(
        [f"Happens(Load, {t})" for t in LOADS] + [f"Happens(Shoot, {t})" for t in SHOTS]
    )
    answers = liftgbp.infer(parse(TURKEY), evidence=facts)
    log_z, alive = turkey_by_states()
    # Atoms of the completion that are certainly false, and rules about Alive, add nothing.
    assert answers.log_z == pytest.approx(log_z)
    for t, expected in enumerate(alive):
        assert answers.marginal(f"HoldsAt(Alive,{t})") == pytest.approx(expected)
