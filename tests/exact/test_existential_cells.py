"""Quantifiers over large sorts: exact against the ground model, and against closed forms."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import Answers, Evidence, infer, parse, parse_evidence
from liftgbp.cli.commands import cli
from liftgbp.evidence import Problem
from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.lift.shatter import Shattering, object_classes
from liftgbp.methods.exact.exact_result import ExactLimits
from liftgbp.methods.exact.over_classes import exact_with_quantifiers
from liftgbp.model.model import Model
from liftgbp.model.rewriting import outlined
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.posterior import every_row
from liftgbp.strategy.lifted_case import prepare_lifted
from liftgbp.support.errors import CapacityError, ContradictionError, QueryError
from liftgbp.support.progress import silent

DECLARED = """
person = {Anna, Bob}
student(person)
prof(person)
mood(person) : {low, mid, high}
advises(person, person)
owns(person, thing)
"""


def by_cells(model: Model, sizes: dict[str, int], evidence: Evidence) -> Answers:
    """The answers with a stand-in for every quantifier, however small its sort."""
    outline = outlined(model, set(model.sorts))
    assert outline is not None
    asked = Problem.of(model, evidence, sizes)
    problem = replace(asked, model=outline.model)
    normal = Shattering(object_classes(problem)).normal()
    prepared = prepare_lifted(normal, FACTOR_SCOPES, silent)
    limits = ExactLimits.of(2**24)
    return Answers(exact_with_quantifiers(prepared, outline, asked, limits))


def check(text: str, sizes: dict[str, int], facts: str = "") -> None:
    """Log Z, all marginals and a joint against exact inference on the ground."""
    plain = parse(text)
    evidence = parse_evidence(plain, facts)
    model = evidence.enlarge(plain)
    answers = by_cells(model, sizes, evidence)
    exact = reference.exact(reference.ground(model, sizes, evidence))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    objects = GroundObjects(answers.posterior.reader.normal)  # type: ignore[attr-defined]
    compared = 0
    for row, atom in every_row(answers.posterior.reader):
        assert not row.atom.startswith("?")
        if (ground_atom := objects.atom(atom)) in exact.marginals:
            wanted = exact.marginals[ground_atom].tolist()
            assert list(row.values.values()) == pytest.approx(wanted, abs=1e-9)
            compared += 1
    assert compared
    other = infer(plain, sizes, evidence=evidence, exact=True)
    for query in ("advises(x,y) ^ advises(y,x) ^ student(x)", "student(x) ^ prof(y)"):
        for row, wanted_row in zip(answers.query(query), other.query(query), strict=True):
            wanted = list(wanted_row.values.values())
            assert list(row.values.values()) == pytest.approx(wanted, abs=1e-9)


RULES = """
-1 advises(x,y)
0.7 advises(x,y) => prof(x)
0.3 student(x)
"""
EXISTENTIALS = {
    "weighted": "1.5 student(y) => EXIST x advises(x,y)",
    "hard": "student(y) => EXIST x advises(x,y).",
    "negated": "0.8 !(EXIST x advises(x,y)) ^ student(y)",
    "others": "student(y) => EXIST x (advises(x,y) ^ prof(x) ^ x != y).",
    "rows": "prof(x) => EXIST y advises(x,y).",
    "forall": "1.1 student(y) => FORALL x (advises(x,y) => prof(x))",
    "values": "mood(y) = low => EXIST x (advises(x,y) ^ mood(x) = high).",
    "free": "0.4 advises(x,y) ^ !(EXIST z advises(z,y)) | x != y",
    "unary": "1 student(x) => EXIST y (prof(y) ^ x != y)",
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", EXISTENTIALS.values(), ids=EXISTENTIALS)
@pytest.mark.parametrize("facts", ["", "student(Anna)\n!prof(Bob)\nadvises(Anna,Bob)"])
def test_against_the_ground(rule: str, facts: str) -> None:
    check(DECLARED + RULES + rule, {"person": 3, "thing": 1}, facts)


def test_two_sorts() -> None:
    rules = "student(x) => EXIST t owns(x,t).\n-0.5 owns(x,t)\n0.9 owns(x,t) => prof(x)\n"
    check(DECLARED + RULES + rules, {"person": 2, "thing": 3})
    check(DECLARED + RULES + rules, {"person": 2, "thing": 3}, "owns(Anna,Ball)\n!owns(Bob,Ball)")


@pytest.mark.slow
def test_two_quantifiers() -> None:
    """What one object sees is about its own atoms, so several quantifiers do not meddle."""
    rules = (
        "student(x) => EXIST t owns(x,t).\n0.6 student(y) => EXIST x advises(x,y)\n-1 owns(x,t)\n"
    )
    check(DECLARED + RULES + rules, {"person": 2, "thing": 2})


WEIGHTS = st.sampled_from([-1.0, -0.4, 0.3, 0.9])
LITERALS = st.sampled_from(
    [
        "advises(x,y)",
        "!advises(x,y)",
        "prof(y)",
        "!prof(y)",
        "student(x)",
        "x != y",
        "mood(y) = low",
    ]
)
PAIRS = st.sampled_from(
    [
        "advises(x,y)",
        "advises(x,y) => prof(x)",
        "advises(x,y) ^ student(y)",
        "prof(x) ^ student(y)",
        "advises(x,x)",
        "mood(x) = high ^ student(x)",
        "mood(x) = mid ^ mood(y) = low",
    ]
)


@pytest.mark.slow
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    st.lists(st.tuples(WEIGHTS, PAIRS), max_size=3),
    st.lists(LITERALS, min_size=1, max_size=3, unique=True),
    st.sampled_from([" ^ ", " v "]),
    st.sampled_from(["EXIST", "FORALL"]),
    st.sampled_from(["0.8 ", "-1.1 ", ""]),
    st.integers(2, 3),
)
def test_random_models(
    pairs: list[tuple[float, str]],
    literals: list[str],
    between: str,
    quantifier: str,
    weight: str,
    size: int,
) -> None:
    body = between.join(literals)
    assume("y" in body.replace("y)", "y"))
    rule = f"{weight}prof(x) => {quantifier} y ({body})" + ("" if weight else ".")
    text = DECLARED + "\n".join(f"{w} {pair}" for w, pair in pairs) + f"\n0.1 advises(x,y)\n{rule}"
    model = parse(text)
    outline = outlined(model, {"person"})
    # A variable that only quantifiers bind is no free one.
    assume(outline is not None and outline.definitions)
    try:
        check(text, {"person": size, "thing": 1})
    except ContradictionError:
        assume(False)


# --- closed forms in large domains


@pytest.mark.parametrize("size", [5, 1000, 100_000])
def test_students_have_advisors(size: int) -> None:
    """Each column is independent: a student's is not empty, with the probability 1 - R."""
    model = parse(
        "student(person)\nadvises(person, person)\nstudent(y) => EXIST x advises(x,y).\n"
        "-7 advises(x,y)\n0.3 student(x)"
    )
    answers = infer(model, {"person": size}, table_cap=4)
    p = 1 / (1 + math.exp(7))
    none = math.exp(size * math.log1p(-p))
    student = math.exp(0.3) * (1 - none)
    log_z = size * (size * math.log1p(math.exp(-7)) + math.log(1 + student))
    assert answers.verdict.kind.value == "exact"
    assert answers.log_z == pytest.approx(log_z, rel=1e-12)
    assert answers.marginal("student(x)") == pytest.approx(student / (1 + student), rel=1e-9)
    advises = p * (1 + math.exp(0.3)) / (1 + student)
    assert answers.marginal("advises(x,y)") == pytest.approx(advises, rel=1e-9)


@pytest.mark.parametrize("size", [4, 100, 300])
def test_advisors_are_professors(size: int) -> None:
    """A sum over the number of professors, from the weight of a world with k of them."""
    model = parse(
        "student(person)\nprof(person)\nadvises(person, person)\n"
        "1.2 student(y) => EXIST x (advises(x,y) ^ prof(x))\n-3 advises(x,y)\n-2 prof(x)"
    )
    answers = infer(model, {"person": size}, table_cap=4)
    p = 1 / (1 + math.exp(3))
    logs, students = [], []
    for k in range(size + 1):
        none = (1 - p) ** k
        column = math.exp(1.2) + (math.exp(1.2) * (1 - none) + none)
        students.append((math.exp(1.2) * (1 - none) + none) / column)
        ways = math.lgamma(size + 1) - math.lgamma(k + 1) - math.lgamma(size - k + 1)
        logs.append(ways - 2 * k + size * math.log(column))
    shares = [math.exp(own - max(logs)) for own in logs]
    total = math.fsum(shares)
    log_z = max(logs) + math.log(total) + size**2 * math.log1p(math.exp(-3))
    assert answers.log_z == pytest.approx(log_z, rel=1e-12)
    student = math.fsum(s * q for s, q in zip(shares, students, strict=True)) / total
    assert answers.marginal("student(x)") == pytest.approx(student, abs=1e-9)
    prof = math.fsum(s * k for k, s in enumerate(shares)) / total / size
    assert answers.marginal("prof(x)") == pytest.approx(prof, abs=1e-9)


# --- what is not covered

REFUSED = {
    "a(x,y) <=> a(y,x).\np(x) => EXIST y a(x,y).": "depend on each other",
    "p(x) => EXIST y a(x,y).\n1 a(x,y) ^ a(y,z)": "more than two objects",
    "1 rain\np(x) => EXIST y a(x,y).": "without objects",
    "p(x) => EXIST y, z (a(x,y) ^ a(y,z)).": "expands over the 30 objects",
    "1 EXIST x p(x)": "expands over the 30 objects",
    "a(x,y) => EXIST z b(x,y,z).": "expands over the 30 objects",
}


@pytest.mark.parametrize(("rules", "message"), REFUSED.items(), ids=REFUSED)
def test_what_is_refused(rules: str, message: str) -> None:
    declared = "p(t)\na(t,t)\nb(t,t,t)\nrain\n"
    with pytest.raises(CapacityError, match=message):
        infer(parse(declared + rules), {"t": 30}, via="lifted")


def test_approximations_over_classes_are_refused() -> None:
    model = parse("p(t)\na(t,t)\np(x) => EXIST y a(x,y).")
    inexact = {"exact": False, "via": "lifted"}
    for options in (inexact, {"regions": "objects:2"}, {"sum_over": "p"}):
        with pytest.raises(CapacityError, match="expands over the 30 objects"):
            infer(model, {"t": 30}, **options)  # type: ignore[call-overload]
    with pytest.raises(QueryError, match="about two objects"):
        infer(model, {"t": 30}).query("a(x,y) ^ a(y,z) | distinct")


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "advisors.mln"
    path.write_text(
        "student(p)\nadvises(p, p)\nstudent(y) => EXIST x advises(x,y).\n-7 advises(x,y)"
    )
    result = CliRunner().invoke(cli, ["query", str(path), "-n", "p=1000", "--json"])
    told = json.loads(result.output)
    assert told["trusted"]
    assert [row["atom"] for row in told["answers"]] == [
        "student(x)",
        "advises(x,x)",
        "advises(x,y)",
    ]


# --- where there are no cells

BEYOND_CELLS = {
    "symmetric": "0.9 advises(x,y) => advises(y,x) | x != y\nstudent(y) => EXIST x advises(x,y).",
    "three": "0.8 advises(x,y) ^ advises(y,z) => advises(x,z)\n"
    "1.2 student(y) => EXIST x advises(x,y)",
    "nested": "-1 advises(x,y)\n1.2 student(x) => EXIST y (advises(x,y) ^ (FORALL z advises(y,z)))",
    "proposition": "rain\n0.6 rain => student(x)\n1.2 student(y) => EXIST x advises(x,y)",
}


@pytest.mark.parametrize("rules", BEYOND_CELLS.values(), ids=BEYOND_CELLS)
@pytest.mark.parametrize("facts", ["", "student(Anna)\n!advises(Anna,Bob)"])
def test_other_quantifiers_are_taken_apart_on_the_ground(rules: str, facts: str) -> None:
    """With a cap of eight states, three objects are many; no table holds four atoms."""
    declared = "person = {Anna, Bob, Carl, Dora}\nstudent(person)\nadvises(person, person)\n"
    model = parse(declared + rules)
    evidence = parse_evidence(model, facts)
    answers = infer(model, evidence=evidence, table_cap=8)
    exact = reference.exact(reference.ground(model, None, evidence))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-8)
    for name in ("student(Bob)", "advises(Bob,Carl)", "advises(Dora,Dora)"):
        predicate, _, args = name.removesuffix(")").partition("(")
        numbers = tuple(["Anna", "Bob", "Carl", "Dora"].index(own) for own in args.split(","))
        wanted = exact.marginals[reference.GroundAtom(predicate, numbers)]
        assert answers.marginal(name) == pytest.approx(float(wanted[1]), abs=1e-8)
    assert any("taken apart" in note for note in answers.notes)


@pytest.mark.slow
def test_trees_of_factors_are_as_good_as_sums() -> None:
    """Given the students, advisors are independent, so that messages along trees are exact."""
    model = parse("student(p)\nadvises(p,p)\n1 student(y) => EXIST x advises(x,y)\n-3 advises(x,y)")
    sums = infer(model, {"p": 100})
    trees = infer(model, {"p": 100}, exact=False)
    assert "taken apart" in trees.notes[-1]
    assert trees.log_z == pytest.approx(sums.log_z, rel=1e-9)
    for atom in ("student", "advises"):
        (wanted,) = {round(row["true"], 7) for row in sums.all if row.atom.startswith(atom)}
        found = {round(row["true"], 7) for row in trees.all if row.atom.startswith(atom)}
        assert found == {wanted}


def test_too_many_for_either() -> None:
    model = parse("s(p)\nr(p,p)\n1 s(y) => EXIST x r(x,y)\n0.5 r(x,y) => r(y,x)")
    with pytest.raises(CapacityError, match="use fewer objects, or write all atoms out"):
        infer(model, {"p": 1000})


def test_constants_keep_their_numbers() -> None:
    """Bob is mentioned first, but below the quantifier that a stand-in takes the place of."""
    model = parse(
        "p(t)\ns(t)\nq(t)\nr(t,t)\n1 p(x) => EXIST y (r(x,y) ^ q(Bob))\n2 s(Anna)\n-0.5 r(x,y)"
    )
    for size in (4, 40):
        answers = infer(model, {"t": size}, evidence="!q(Bob)", exact=True)
        assert answers.marginal("s(Anna)") == pytest.approx(1 / (1 + math.exp(-2)))
        assert answers.marginal("s(Bob)") == pytest.approx(0.5)
        assert answers.marginal("q(Bob)") == 0
