"""The normal form stands for exactly the ground model, for every domain size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp import parse
from liftgbp.evidence import Evidence, Problem
from liftgbp.lift.shatter import NormalModel, NormalParfactor, Obj, object_classes, shatter
from liftgbp.model.ast import Constant, Rule, Sort, Variable
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom
from liftgbp.support.errors import (
    CapacityError,
    ContradictionError,
    InputError,
    ModelError,
    SizeError,
    Span,
)
from random_models import models, sizes

Tables = dict[tuple[GroundAtom, ...], np.ndarray]

MOST_SUBSTITUTIONS = 2000
thorough = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


# --- from the normal form back to ground factors


def objects_of_classes(normal: NormalModel) -> list[list[int]]:
    """Per class the objects of the reference: constants by position, then everybody else."""
    objects = []
    for cls in normal.classes:
        names = normal.model.constants(cls.sort)
        if cls.constant is not None:
            objects.append([names.index(cls.constant)])
        else:
            taken = [names.index(name) for name in normal.model.mentioned[cls.sort]]
            objects.append([k for k in range(normal.sizes[cls.sort]) if k not in taken])
    return objects


def placements(parfactor: NormalParfactor, objects: list[list[int]]) -> Iterator[dict[Obj, int]]:
    """All ways to put different objects for the placeholders; a set of them counts once."""
    holders = sorted({obj for _, args in parfactor.atoms for obj in args})
    classes = sorted({cls for cls, _ in holders})
    members = [[obj for obj in holders if obj[0] == cls] for cls in classes]
    for choice in product(
        *(permutations(objects[h], len(m)) for h, m in zip(classes, members, strict=True))
    ):
        placed = {
            obj: image
            for own, images in zip(members, choice, strict=True)
            for obj, image in zip(own, images, strict=True)
        }
        groups = [[placed[obj] for obj in group] for group in parfactor.exchangeable]
        if all(group == sorted(group) for group in groups):
            yield placed


def expanded(normal: NormalModel) -> Tables:
    """The log tables of all ground factors that the normal form stands for, summed per scope."""
    objects = objects_of_classes(normal)
    tables: Tables = {}
    for parfactor in normal.parfactors:
        for placed in placements(parfactor, objects):
            atoms = [
                GroundAtom(normal.predicates[predicate].name, tuple(placed[obj] for obj in args))
                for predicate, args in parfactor.atoms
            ]
            assert len(set(atoms)) == len(atoms)
            scope = tuple(sorted(atoms))
            table = parfactor.log_table.transpose([atoms.index(atom) for atom in scope])
            tables[scope] = tables.get(scope, 0.0) + table
    return tables


def assert_same_ground_model(model: Model, domain: dict[str, int]) -> None:
    ground = reference.ground(model, domain)
    normal = shatter(model, domain)
    found = expanded(normal)
    wanted = {factor.scope: factor.log_table for factor in ground.factors}
    assert sorted(found) == sorted(wanted)
    for scope, table in wanted.items():
        np.testing.assert_allclose(found[scope], table, rtol=1e-12, atol=1e-12)
    assert normal.log_constant == pytest.approx(ground.log_constant, rel=1e-12, abs=1e-12)


CASES = {
    "one atom": "p(person)\n1.1 p(x)",
    "coinciding variables": "r(person, person)\n0.7 r(x,y) ^ r(y,z) => r(x,z)",
    "inequality": "p(person)\nr(person, person)\n1.4 r(x,y) ^ p(x) => p(y) | x != y",
    "equality": "p(person)\nr(person, person)\n1.4 r(x,y) ^ p(x) | x = y",
    "distinct": "r(person, person)\n0.4 r(x,y) ^ r(y,z) => r(z,u) | distinct",
    "distinct per sort": "s(person, thing)\n0.4 s(x,a) => s(y,b) | distinct",
    "variable that only counts": "p(person)\n0.3 p(x) ^ (p(y) v !p(y)) | x != y",
    "unmet restriction": "p(person)\n0.3 p(x) | x != x",
    "equality inside": "r(person, person)\n0.8 r(x,y) => x = y",
    "inequality inside": "r(person, person)\np(person)\n0.8 (r(x,y) ^ x != y) v p(x)",
    "idle atom": "p(person)\nq(person)\n0.5 (p(x) v !p(x)) ^ q(y)",
    "tautology": "p(person)\n0.5 p(x) v !p(x)",
    "idle on the diagonal": "r(person, person)\n0.5 r(x,y) => r(y,x)",
    "merging on the diagonal": "p(person)\nparfactor p(x), p(y) : [1, 2, 3, 5]",
    "triple diagonal": (
        "m(person) : {a, b, c}\nparfactor m(x), m(y), m(x) : ["
        + ", ".join(str(k + 1) for k in range(27))
        + "]"
    ),
    "many-valued": (
        "m(person) : {a, b, c}\np(person)\nparfactor m(x), p(x) : [1, 2, 3, 4, 0, 6]\n"
        "0.4 m(x) = a ^ m(y) != b => p(x)"
    ),
    "zero potentials": "p(person)\nparfactor p(x), p(y) | x != y : [1, 0, 0, 2]",
    "nullary": "rain\np(person)\n0.9 rain => p(x)\n0.4 rain",
    "nullary alone": "rain\nwet\n0.9 rain => wet",
    "unused predicate": "p(person)\nq(thing)\n0.9 p(x)",
    "two sorts": "s(person, thing)\nq(thing)\n0.6 s(x,a) ^ s(y,a) => q(a) | x != y",
    "three arguments": "t(person, person, thing)\n0.6 t(x,y,a) => t(y,x,b)",
    "four arguments": "t(person, person, person, person)\n0.6 t(x,y,x,y) ^ t(y,y,x,x)",
    "hard": "r(person, person)\nr(x,y) => r(y,x).\n0.5 r(x,y)",
    "hard with restriction": "r(person, person)\n!(r(x,y) ^ r(x,z)) | distinct.",
    "exists": "r(person, person)\n1.1 EXIST y r(x,y)",
    "exists another": "r(person, person)\n1.1 EXIST y (y != x ^ r(x,y))",
    "forall": "r(person, person)\np(person)\n1.1 FORALL y (r(x,y) => p(y))",
    "exists without the free variable": "p(person)\n0.7 EXIST y (y != x ^ p(y))",
    "two free variables are missing": "p(person)\n0.7 EXIST z (z != x ^ z != y ^ p(z)) | x != y",
    "free variable as an idle atom": "p(person)\nq(person)\n0.7 (p(x) v !p(x)) ^ (EXIST y q(y))",
    "closed formula": "p(person)\n0.7 EXIST x p(x)",
    "nested quantifiers": "r(person, person)\n0.7 EXIST x FORALL y r(x,y)",
    "quantifier over the other sort": "s(person, thing)\np(person)\n0.8 p(x) <=> EXIST a s(x,a)",
    "hidden variable": "p(person)\nq(person)\n0.8 p(x) ^ (EXIST x q(x))",
    "quantified equality": "p(person)\n0.8 EXIST y (x = y ^ p(y))",
    "weight over a size": "p(person)\nr(person, person)\n1.5/|person| r(x,y) => p(x)",
    "weight vanishes at two": "p(person)\nq(person)\n(|person| - 2) * 0.5 p(x) ^ q(x)\n0.1 p(x)",
    "table flat at two": "p(person)\nq(person)\nparfactor p(x), q(x) : [1, |person|/2, 1, 1]",
    "rules that cancel": "p(person)\nq(person)\n0.5 p(x) ^ q(x)\n-0.5 p(x) ^ q(x)",
}
NAMED_CASES = {
    "constant": "r(person, person)\n0.5 r(x, Anna)",
    "constant twice": "r(person, person)\n0.5 r(Anna, Anna) v r(x, Anna)",
    "two constants": "r(person, person)\n0.5 r(Anna, Bob) => r(Bob, x)",
    "differs from a constant": "p(person)\nr(person, person)\n0.5 r(x,y) ^ p(x) | x != Anna",
    "equals a constant": "r(person, person)\n0.5 r(x,y) | x = Anna",
    "equals, on the other side": "r(person, person)\n0.5 r(x,y) | Anna = x, Bob != y",
    "constant inside": "r(person, person)\n0.5 r(x,y) => x = Anna",
    "constant left the scope": "p(person)\nq(person)\n0.5 (p(Anna) v !p(Anna)) ^ q(x)",
    "quantifier": "r(person, person)\n0.5 EXIST y (r(x,y) ^ y != Anna)",
    "quantifier without Anna": "p(person)\n0.5 EXIST y (y != Anna ^ p(y) ^ x != y)",
    "constant, distinct": "r(person, person)\n0.5 r(x,y) ^ r(Anna,x) | distinct",
    "declared but not mentioned": "person = {Anna, Bob, Carl}\np(person)\n0.5 p(Bob) => p(x)",
    "mentioned and not declared": "person = {Anna}\np(person)\n0.5 p(Bob) => p(x)",
    "one name in two sorts": "s(person, thing)\n0.5 s(Anna, x) v s(y, Anna) | y != Anna",
    "expanded variable": "person = {Anna, Bob}\nr(person, person)\n0.5 r(+x,y)",
}


def all_small_sizes(model: Model, most: int = 4) -> Iterator[dict[str, int]]:
    least = {sort: max(1, len(model.constants(sort))) for sort in model.sorts}
    for choice in product(*(range(least[sort], most + 1) for sort in model.sorts)):
        yield dict(zip(model.sorts, choice, strict=True))


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_stands_for_the_ground_model(text: str) -> None:
    model = parse(text)
    for domain in all_small_sizes(model):
        assert_same_ground_model(model, domain)


@pytest.mark.parametrize("text", NAMED_CASES.values(), ids=NAMED_CASES)
def test_stands_for_the_ground_model_with_constants(text: str) -> None:
    model = parse(text)
    for domain in all_small_sizes(model, most=5):
        assert_same_ground_model(model, domain)


def check_random(model: Model, domain: dict[str, int]) -> None:
    substitutions = max(domain.values()) ** 4
    assume(substitutions <= MOST_SUBSTITUTIONS)
    try:
        reference.ground(model, domain)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            shatter(model, domain)
    except CapacityError:
        assume(False)
    else:
        assert_same_ground_model(model, domain)


@pytest.mark.slow
@thorough
@given(model=models(), domain=sizes(4))
def test_random_models(model: Model, domain: dict[str, int]) -> None:
    check_random(model, domain)


def names_object(rule: Rule) -> bool:
    return "Constant" in repr(rule.restrictions)


def unnamed(node: Any) -> Any:
    """The same syntax with the variable z in place of every constant."""
    if isinstance(node, Constant):
        return Variable("z")
    if isinstance(node, tuple):
        return tuple(map(unnamed, node))
    if is_dataclass(node) and not isinstance(node, Span):
        return replace(node, **{f.name: unnamed(getattr(node, f.name)) for f in fields(node)})
    return node


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 2, 3])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(2))
def test_random_models_without_constants(people: int, model: Model, domain: dict[str, int]) -> None:
    sorts = {name: Sort(name) for name in model.sorts}
    # A restriction to a constant would name a variable that occurs nowhere else.
    rules = [replace(r, restrictions=()) if names_object(r) else r for r in model.rules]
    anonymous = Model(sorts, model.predicates, unnamed(tuple(rules)))
    check_random(anonymous, {**domain, "person": people})


# --- the form itself


@pytest.mark.slow
@thorough
@given(model=models(), domain=sizes(4))
def test_no_atom_is_idle_and_no_class_overflows(model: Model, domain: dict[str, int]) -> None:
    try:
        normal = shatter(model, domain)
    except ContradictionError:
        return
    for parfactor in normal.parfactors:
        assert parfactor.log_table.ndim == len(parfactor.atoms) == len(set(parfactor.atoms))
        for axis in range(parfactor.log_table.ndim):
            slices = np.moveaxis(parfactor.log_table, axis, 0)
            assert not all(np.array_equal(slices[0], other) for other in slices)
        for cls, index in {obj for _, args in parfactor.atoms for obj in args}:
            assert index < normal.class_sizes[cls]


def test_tables_are_read_only() -> None:
    (parfactor,) = shatter(parse("p(person)\n1 p(x)"), {"person": 3}).parfactors
    with pytest.raises(ValueError, match="read-only"):
        parfactor.log_table[0] = 7.0


CLASSES = {
    "nobody is named": ("p(person)\n1 p(x)", {"person": 5}, [("person", 5, None)]),
    "declared only": ("person = {Anna, Bob}\np(person)\n1 p(x)", {}, [("person", 2, None)]),
    "mentioned": (
        "person = {Anna, Bob}\np(person)\n1 p(Bob)",
        {"person": 9},
        [("person", 1, "Bob"), ("person", 8, None)],
    ),
    "everybody is mentioned": (
        "person = {Anna, Bob}\nr(person, person)\n1 r(Bob, Anna)",
        {},
        [("person", 1, "Bob"), ("person", 1, "Anna")],
    ),
    "mentioned by a restriction": (
        "p(person)\n1 p(x) | x != Anna",
        {"person": 3},
        [("person", 1, "Anna"), ("person", 2, None)],
    ),
    "mentioned by an equality inside": (
        "p(person)\n1 p(x) v x = Anna",
        {"person": 3},
        [("person", 1, "Anna"), ("person", 2, None)],
    ),
    "two sorts": (
        "s(person, thing)\n1 s(x, Ball)",
        {"person": 3, "thing": 4},
        [("person", 3, None), ("thing", 1, "Ball"), ("thing", 3, None)],
    ),
    "expanded": (
        "person = {Anna, Bob}\np(person)\n1 p(+x)",
        {"person": 3},
        [("person", 1, "Anna"), ("person", 1, "Bob"), ("person", 1, None)],
    ),
}


@pytest.mark.parametrize(("text", "domain", "wanted"), CLASSES.values(), ids=CLASSES)
def test_classes_come_from_mentioned_constants(
    text: str, domain: dict[str, int], wanted: list[tuple[str, int, str | None]]
) -> None:
    classes = shatter(parse(text), domain).classes
    assert [(c.sort, c.size, c.constant) for c in classes] == wanted


def test_the_class_of_a_named_object() -> None:
    model = parse("person = {Anna, Bob, Carl}\np(person)\n1 p(Bob)")
    normal = shatter(model, {"person": 9})
    classes = [normal.class_of_constant("person", name) for name in ("Anna", "Bob", "Carl")]
    assert [normal.classes[cls].constant for cls in classes] == [None, "Bob", None]


def test_variables_that_left_are_counted_exactly() -> None:
    n = 10**9
    idle = "(p(y) v !p(y)) ^ (p(z) v !p(z))"
    model = parse(f"p(person)\n0.5 p(x) ^ {idle} | distinct")
    (parfactor,) = shatter(model, {"person": n}).parfactors
    assert parfactor.log_table.tolist() == [0.0, 0.5 * ((n - 1) * (n - 2))]


def test_a_constant_table_only_counts() -> None:
    n = 10**9
    normal = shatter(parse("p(person)\n0.5 p(x) v !p(x) v p(y) | x != y"), {"person": n})
    assert normal.parfactors == ()
    assert normal.log_constant == 0.5 * (n * (n - 1))


def test_named_weights_scale_the_tables() -> None:
    model = parse("$a = 3\np(person)\n2*$a/|person| p(x)\nq\nparfactor q : [$a, 1]")
    for value in (3.0, 0.5):
        normal = shatter(model.with_weights({"a": value}), {"person": 2})
        logs = [parfactor.log_table.tolist() for parfactor in normal.parfactors]
        assert logs == [[0.0, value], [np.log(value), 0.0]]


# --- what is refused

QUANTIFIED = "r(person, person)\n1 EXIST y r(x,y)"
REFUSED = {
    "quantifier over a large sort": (QUANTIFIED, 21, 2**20, CapacityError, "21 objects of person"),
    "quantifier over a lower cap": (QUANTIFIED, 4, 2**3, CapacityError, "the table cap allows 3"),
    "wide formula": (
        "r(person, person)\n1 r(x,y) ^ r(y,z) ^ r(z,x)",
        10**9,
        7,
        CapacityError,
        "3 atoms and a table of 8 entries",
    ),
    "nested quantifiers": (
        "r(person, person)\n1 EXIST x FORALL y r(x,y)",
        5,
        2**20,
        CapacityError,
        "25 atoms",
    ),
    "too many coincidences": (
        "p(person)\n1 " + " v ".join(f"p(x{k})" for k in range(12)),
        100,
        2**20,
        CapacityError,
        "add '| distinct'",
    ),
    "division by zero": (
        "p(person)\n1/(|person| - 2) p(x)",
        2,
        2**20,
        ModelError,
        r"\|person\| = 2",
    ),
    "overflow": (
        "p(person)\n1e200 * 1e200 * |person| p(x)",
        2,
        2**20,
        ModelError,
        "not a finite number",
    ),
    "weight beside which nothing counts": (
        "p(person)\n1e14 * |person| p(x)",
        20,
        2**20,
        ModelError,
        r"the weight is 2e\+15 for \|person\| = 20, .* end the formula with a period",
    ),
    "potential divided by zero": (
        "p(person)\nparfactor p(x) : [1, 1/(|person| - 2)]",
        2,
        2**20,
        ModelError,
        "finite and not negative",
    ),
    "negative potential": (
        "p(person)\nparfactor p(x) : [1, 2 - |person|]",
        3,
        2**20,
        ModelError,
        "they are 1, -1",
    ),
    "division by a named weight": (
        "p(person)\n1/$a p(x)\n$a = 0",
        2,
        2**20,
        ModelError,
        r"not a finite number for \|person\| = 2, \$a = 0",
    ),
    "negative named potential": (
        "p(person)\nparfactor p(x) : [1, $a]\n$a = -1",
        2,
        2**20,
        ModelError,
        r"\$a = -1 they are 1, -1",
    ),
    "contradiction": (
        "p(person)\np(x) ^ !p(x).",
        3,
        2**20,
        ContradictionError,
        "no world",
    ),
    "zero table": (
        "p(person)\nparfactor p(x) : [0, 0]",
        3,
        2**20,
        ContradictionError,
        "no world",
    ),
}


@pytest.mark.parametrize(
    ("text", "people", "cap", "error", "message"), REFUSED.values(), ids=REFUSED
)
def test_refused(text: str, people: int, cap: int, error: type[InputError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        shatter(parse(text), {"person": people}, table_cap=cap)
    assert caught.value.span is not None, "the message points at the rule"
    assert caught.value.span.line == 2


@pytest.mark.parametrize(
    ("text", "people"),
    [
        (QUANTIFIED, 20),
        ("p(person)\n1 " + " v ".join(f"p(x{k})" for k in range(12)) + " | distinct", 100),
        ("p(person)\n1/(|person| - 2) p(x)", 3),
        ("p(person)\nparfactor p(x) : [1, 2 - |person|]", 2),
    ],
)
def test_accepted_at_other_sizes(text: str, people: int) -> None:
    assert shatter(parse(text), {"person": people}).parfactors


def test_contradiction_needs_two_objects() -> None:
    model = parse("p(person)\n(p(x) v !p(x)) ^ (p(y) v !p(y)) => x = y.")
    assert shatter(model, {"person": 1}).parfactors == ()
    with pytest.raises(ContradictionError):
        shatter(model, {"person": 2})


def test_sizes_must_hold_the_constants() -> None:
    with pytest.raises(SizeError, match="names 2 of its objects"):
        shatter(parse("r(person, person)\n1 r(Anna, Bob)"), {"person": 1})


# --- classes of objects


@pytest.mark.parametrize("regions", ["intersections", "auto"])
@pytest.mark.parametrize("facts", ["", "smokes(Anna)\nfriends(Bob, Carl)"])
def test_classes_are_found_once_per_run(
    facts: str, regions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parse("friends(person, person)\nsmokes(person)\n1 friends(x,y) ^ smokes(x)")
    evidence = liftgbp.parse_evidence(model, facts)
    module = import_module("liftgbp.lift.shatter.classes")
    facts_of, seen = module._Facts, []

    def counted(evidence: Evidence) -> object:
        seen.append(evidence)
        return facts_of(evidence)

    monkeypatch.setattr(module, "_Facts", counted)
    liftgbp.infer(model, {"person": 3}, evidence=evidence, regions=regions, effort="quick")
    assert len(seen) == 1


FACTS_ABOUT_PAIRS = st.lists(
    st.tuples(st.sampled_from(["", "!", "0.7 "]), st.integers(0, 7), st.integers(0, 7)),
    max_size=12,
    unique_by=lambda fact: fact[1:],
)


@pytest.mark.slow
@settings(deadline=None)
@given(pairs=FACTS_ABOUT_PAIRS, smokers=st.sets(st.integers(0, 7)))
def test_colours_never_tell_twins_apart(
    pairs: list[tuple[str, int, int]], smokers: set[int]
) -> None:
    """So that counting colours first refuses no model whose objects have few classes."""
    model = parse("friends(person, person)\nsmokes(person)\n1 friends(x,P0) ^ smokes(x)")
    facts = [f"{sign}friends(P{x},P{y})" for sign, x, y in pairs]
    text = "\n".join([*facts, *(f"smokes(P{x})" for x in smokers)])
    problem = Problem.of(model, text, {"person": 9})
    alone = {problem.model.object_numbers("person")["P0"]}
    fewest = import_module("liftgbp.lift.shatter.classes")._Facts(problem).fewest_classes
    classes = object_classes(problem).classes
    assert fewest("person", alone) <= sum(own.constant is None for own in classes)


def test_many_classes_are_refused_by_their_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path: all objects but the ends have two friends, and no two are alike."""
    model = parse("friends(person, person)\nsmokes(person)\n1 friends(x,y) ^ smokes(x)")
    facts = "\n".join(f"friends(P{k},P{k + 1})" for k in range(9))
    problem = Problem.of(model, facts, {"person": 20})
    module = import_module("liftgbp.lift.shatter.classes")
    monkeypatch.setattr(module, "MOST_CLASSES", 4)
    monkeypatch.delattr(module._SortClasses, "_twins")
    with pytest.raises(CapacityError, match="more than 4 classes"):
        object_classes(problem)
