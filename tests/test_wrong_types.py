"""What is of a wrong type is refused at the door, in words about what was given."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter

MODEL = liftgbp.parse("""
person = 4
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
""")
ANY: Any = liftgbp  # type checkers would refuse all of this


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANY.infer("smokers.mln", effort="quick"), "the model must be a Model"),
        (lambda: ANY.prepare(None), "the model must be a Model"),
        (lambda: ANY.check("smokers.mln"), "the model must be a Model"),
        (lambda: ANY.sweep("smokers.mln", effort="quick"), "the model must be a Model"),
        (lambda: ANY.export_network("smokers.mln", "net.uai"), "the model must be a Model"),
        (lambda: ANY.parse_evidence("smokers.mln", "smokes(Anna)"), "the model must be a Model"),
        (lambda: ANY.load_evidence("smokers.mln", "facts.db"), "the model must be a Model"),
        (lambda: ANY.infer(MODEL, 5, effort="quick"), "sizes must be a mapping"),
        (lambda: ANY.infer(MODEL, ["person"], effort="quick"), "sizes must be a mapping"),
        (
            lambda: ANY.infer(MODEL, evidence="facts.db", effort="quick"),
            "read a file with load_evidence(model, 'facts.db')",
        ),
        (lambda: ANY.infer(MODEL, regions=3, effort="quick"), "regions must be the name"),
        (lambda: ANY.infer(MODEL, sum_over=3, effort="quick"), "sum_over must be text"),
        (lambda: ANY.Flooding(damping="half"), "damping must be"),
        (lambda: ANY.Flooding(tol="small"), "tol must be"),
        (lambda: ANY.Descent(seed="lucky"), "seed must be"),
        (lambda: ANY.Descent(seed=-1), "seed must be"),
        (lambda: ANY.infer(MODEL, table_cap="large", effort="quick"), "table_cap must be"),
        (
            lambda: ANY.infer(MODEL, effort="quick").query(None),
            "<query> must be text, got the NoneType",
        ),
        (
            lambda: ANY.infer(MODEL, effort="quick").query(["smokes(x)"]),
            "<query> must be text, got the list",
        ),
        (
            lambda: ANY.infer(MODEL, effort="quick").marginal(5),
            "<query> must be text, got the int 5",
        ),
        (
            lambda: ANY.infer(MODEL, effort="quick").opinion_on(True, ["smokes(x)"]),
            "answers must be what liftgbp.infer returns",
        ),
        (
            lambda: ANY.sample(MODEL, sweeps=8).opinion_on({"person": 4}, ["smokes(x)"]),
            "answers must be what liftgbp.infer returns",
        ),
        (
            lambda: ANY.sample(MODEL, sweeps=8).opinion_on(
                ANY.infer(MODEL, effort="quick"), slice(3)
            ),
            "queries must be text",
        ),
        (
            lambda: ANY.infer(MODEL, effort="quick").to_frame(library=np.array([1, 2])),
            "library must be pandas or polars",
        ),
        (lambda: ANY.parse(5), "<text> must be text, got the int 5"),
        (lambda: ANY.parse(b"smokes(person)"), "<text> must be text, got the bytes"),
        (lambda: ANY.parse_evidence(MODEL, 5), "<evidence> must be text"),
        (lambda: ANY.load_evidence(MODEL, closed=5), "closed must be text"),
        (lambda: ANY.load_evidence(MODEL, known=[5]), "known must be text"),
        (lambda: ANY.sweep(MODEL, 5, effort="quick"), "sizes must be a mapping"),
        (lambda: ANY.sweep(MODEL, weights=5, effort="quick"), "weights must be a mapping"),
        (lambda: ANY.sweep(MODEL, [], effort="quick"), "sizes must be a mapping"),
        (
            lambda: ANY.sweep(MODEL, {"person": None}, effort="quick"),
            "the sweep over person must be over numbers",
        ),
        (
            lambda: ANY.sweep(MODEL, {"person": [[4]]}, effort="quick"),
            "the sweep over person must be over numbers",
        ),
        (
            lambda: ANY.sweep(MODEL, {"person": "4"}, effort="quick"),
            "the sweep over person must be over numbers",
        ),
        (
            lambda: ANY.sweep(MODEL, weights={"w": math.nan}, effort="quick"),
            "the value of $w must be a finite",
        ),
        (
            lambda: ANY.sweep(MODEL, queries=5, effort="quick"),
            "queries must be text, or a list of texts",
        ),
        (
            lambda: ANY.sweep(MODEL, queries=["smokes(x)", None], effort="quick"),
            "queries must be text",
        ),
        (lambda: ANY.sweep(MODEL, regions=5, effort="quick"), "regions must be the name"),
        (
            lambda: ANY.sweep(MODEL, table_cap=None, effort="quick"),
            "table_cap must be a whole number",
        ),
        (
            lambda: ANY.sweep(MODEL, evidence=5, effort="quick"),
            "evidence must be facts as text, a pathlib.Path, a mapping",
        ),
        (lambda: ANY.sweep(MODEL, sum_over=3, effort="quick"), "sum_over must be text"),
        (lambda: ANY.sweep_to_file(5, "out.csv", {}, effort="quick"), "the model must be a Model"),
        (lambda: ANY.sweep_to_file(MODEL, 5, {}, effort="quick"), "output must be a path"),
        (lambda: MODEL.with_weights(ANY), "weights must be a mapping"),
        (lambda: MODEL.with_constants(ANY), "names must be a mapping"),
        (lambda: MODEL.constants("city"), "unknown sort city; the model has person"),
        (lambda: MODEL.object_numbers(ANY), "unknown sort"),
        (
            lambda: ANY.infer(MODEL, sum_over=["auto", "smokes"], effort="quick"),
            "sum over auto alone",
        ),
        (lambda: ANY.infer(MODEL, sum_over="", effort="quick"), "the model has no such predicate"),
        (lambda: ANY.Flooding(adaptive="no"), "adaptive must be True or False"),
        (
            lambda: ANY.infer(MODEL, solver=ANY.Descent(tol=math.inf), effort="quick"),
            "tol must be below 1",
        ),
        (lambda: ANY.infer(MODEL, via=["ground"], effort="quick"), "unknown via ['ground']"),
        (lambda: ANY.infer(MODEL, solver=None, effort="quick"), "unknown solver None"),
        (
            lambda: ANY.infer(MODEL, solver="flooding", effort="quick"),
            "write solver=liftgbp.Flooding()",
        ),
        (
            lambda: ANY.sweep(MODEL, solver="descent", effort="quick"),
            "write solver=liftgbp.Descent()",
        ),
        (lambda: ANY.Auto(flooding="fast"), "flooding must be a Flooding(...)"),
        (lambda: ANY.Auto(descent=ANY.Flooding()), "descent must be a Descent(...)"),
        (lambda: ANY.infer(MODEL, progress=True, effort="quick"), "progress must be a function"),
        (lambda: ANY.check_messages(MODEL, iterations="many"), "iterations must be a whole number"),
        (lambda: MODEL.check_queries(ANY), "queries must be text"),
        (lambda: ANY.infer(MODEL, strict="yes", effort="quick"), "strict must be True or False"),
        (lambda: ANY.infer(MODEL, effort="quick").at(None), "point must be one of answers.minima"),
        (
            lambda: ANY.infer(MODEL, effort="quick").at(ANY.infer(MODEL, effort="quick").minima[0]),
            "none of answers.minima",
        ),
        (
            lambda: ANY.infer(MODEL, effort="quick").marginal("smokes(x)", ["true"]),
            "value must be text",
        ),
        (lambda: ANY.infer(MODEL, effort="quick").as_dict(5), "queries must be text"),
        (lambda: ANY.infer(MODEL, effort="quick").write_all(5), "path must be a path"),
        (lambda: shatter("smokers.mln"), "the model must be a Model"),
        (lambda: shatter(MODEL, evidence=5), "evidence must be facts as text"),
        (lambda: shatter(MODEL, table_cap=0), "table_cap must be a whole number"),
        (lambda: build_regions(MODEL), "normal must be a NormalModel"),
        (lambda: build_regions(shatter(MODEL), 5), "regions must be the name"),
        (lambda: ANY.ModelBuilder().table(5, [1, 2]), "a table needs a list of atoms"),
        (lambda: ANY.load(5), "the model must be a path, got the int 5"),
        (lambda: ANY.load_network("net\0.uai"), "embedded null byte"),
        (lambda: ANY.reproduce("results\0"), "embedded null byte"),
        (lambda: ANY.parse("smokes(person)", name=5), "name must be text"),
        (lambda: ANY.load_evidence(MODEL, 5), "evidence must be a path"),
        (lambda: ANY.load_network(None), "the network must be a path"),
        (lambda: ANY.export_network(MODEL, 5), "path must be a path"),
        (lambda: ANY.reproduce(5), "directory must be a path"),
        (lambda: ANY.reproduce("results", weights=1.4), "weights must be a list of numbers"),
        (lambda: ANY.reproduce("results", sizes=["4"]), "a size must be a whole number"),
    ],
)
def test_it_is_named(call: Callable[[], object], words: str) -> None:
    with pytest.raises(liftgbp.InputError) as error:
        call()
    assert words in str(error.value)


@pytest.mark.parametrize("observed", [{"0": 1}, {0: 0.5}, {True: 1}, {0: None}])
def test_evidence_about_networks_goes_by_numbers(tmp_path: Path, observed: object) -> None:
    network = tmp_path / "net.uai"
    liftgbp.export_network(liftgbp.parse("p(a)\n1 p(x) ^ p(y)"), network, {"a": 3})
    with pytest.raises(liftgbp.InputError, match="a mapping from variables to values"):
        ANY.infer(liftgbp.load_network(network), evidence=observed)


@pytest.mark.parametrize("name", ["net.txt", "no such directory/net.uai"])
def test_files_that_cannot_be_written_are_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def never(*arguments: object, **options: object) -> None:
        pytest.fail("the model was grounded")

    monkeypatch.setattr("liftgbp.ground.grounding.ground_network", never)
    with pytest.raises(liftgbp.InputError, match="net"):
        liftgbp.export_network(MODEL, tmp_path / name)


@pytest.mark.parametrize("call", [liftgbp.infer, liftgbp.check, shatter])
def test_evidence_is_for_other_weights_and_formulas_too(call: Callable[..., object]) -> None:
    model = liftgbp.parse("person = 4\nsmokes(person)\n$w = 1\n$w smokes(x) ^ smokes(y)")
    evidence = liftgbp.parse_evidence(model, "smokes(Anna)")
    call(model, evidence=evidence)
    call(MODEL, evidence=evidence)
    call(model.with_weights({"w": 2}), evidence=evidence)
    with pytest.raises(liftgbp.EvidenceError, match="unknown predicate smokes"):
        call(liftgbp.parse("thing = 4\np(thing)"), evidence=evidence)


def test_one_text_stands_for_a_list() -> None:
    answers = liftgbp.infer(MODEL, effort="quick")
    assert answers.as_dict("smokes(x)")["answers"] == answers.as_dict(["smokes(x)"])["answers"]


def test_long_values_are_cut_short() -> None:
    with pytest.raises(liftgbp.InputError) as error:
        ANY.infer("smokes(person)\n" * 1000, effort="quick")
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("query", ["smokes(x,y)", "hates(x)", "smokes(Nobody)", "smokes(x"])
def test_queries_are_checked_before_a_run(query: str) -> None:
    with pytest.raises(liftgbp.QueryError):
        MODEL.check_queries(["smokes(x)", query])


def test_checked_queries_may_name_what_only_rules_or_evidence_name() -> None:
    model = liftgbp.parse("smokes(person)\n1 smokes(Anna)")
    evidence = liftgbp.parse_evidence(model, "smokes(Bob)")
    evidence.enlarge(model).check_queries(["smokes(Anna)", "smokes(Bob)"])
    with pytest.raises(liftgbp.QueryError):
        model.check_queries("smokes(Bob)")


@pytest.fixture
def network(tmp_path: Path) -> liftgbp.Network:
    path = tmp_path / "net.uai"
    liftgbp.export_network(liftgbp.parse("p(a)\n1 p(x) ^ p(y)"), path, {"a": 3})
    return liftgbp.load_network(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sizes": {"a": 3}}, "sizes and via='lifted' do not apply"),
        ({"via": "lifted"}, "sizes and via='lifted' do not apply"),
        ({"sum_over": "p"}, "sum_over and blocks do not apply"),
        ({"blocks": 2}, "sum_over and blocks do not apply"),
        ({"evidence": liftgbp.parse_evidence(MODEL, "smokes(Anna)")}, "a .uai.evid file"),
        ({"evidence": 5}, "evidence must be a path"),
        ({"progress": 5}, "progress must be a function"),
    ],
)
def test_options_that_do_not_apply_to_networks(
    network: liftgbp.Network, options: dict[str, object], words: str
) -> None:
    assert ANY.infer(network).flaw is None
    with pytest.raises(liftgbp.InputError) as error:
        ANY.infer(network, **options)
    assert words in str(error.value)


@pytest.mark.parametrize("query", ["x9", "x0(a)", "x0 ^", "smokes(x)"])
def test_queries_of_networks_are_checked_before_a_run(network: liftgbp.Network, query: str) -> None:
    network.check_queries(["x0", "x0 ^ x1"])
    with pytest.raises(liftgbp.QueryError, match="<query>:1:"):
        network.check_queries(["x0", query])
