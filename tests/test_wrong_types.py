"""What is of a wrong type is refused at the door, in words about what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import liftgbp

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
        (lambda: ANY.infer("smokers.mln"), "the model must be a Model"),
        (lambda: ANY.prepare(None), "the model must be a Model"),
        (lambda: ANY.check("smokers.mln"), "the model must be a Model"),
        (lambda: ANY.sweep("smokers.mln"), "the model must be a Model"),
        (lambda: ANY.export_network("smokers.mln", "net.uai"), "the model must be a Model"),
        (lambda: ANY.parse_evidence("smokers.mln", "smokes(Anna)"), "the model must be a Model"),
        (lambda: ANY.load_evidence("smokers.mln", "facts.db"), "the model must be a Model"),
        (lambda: ANY.infer(MODEL, 5), "sizes must be a mapping"),
        (lambda: ANY.infer(MODEL, ["person"]), "sizes must be a mapping"),
        (lambda: ANY.infer(MODEL, evidence="facts.db"), "evidence must be Evidence"),
        (lambda: ANY.infer(MODEL, regions=3), "regions must be the name"),
        (lambda: ANY.infer(MODEL, condition=3), "condition must be a predicate"),
        (lambda: ANY.infer(MODEL, damping="half"), "damping must be"),
        (lambda: ANY.infer(MODEL, tol="small"), "tol must be"),
        (lambda: ANY.infer(MODEL, seed="lucky"), "seed must be"),
        (lambda: ANY.infer(MODEL, seed=-1), "seed must be"),
        (lambda: ANY.infer(MODEL, table_cap="large"), "table_cap must be"),
        (lambda: ANY.infer(MODEL).query(None), "<query> must be text, got the NoneType"),
        (lambda: ANY.infer(MODEL).query(["smokes(x)"]), "<query> must be text, got the list"),
        (lambda: ANY.infer(MODEL).marginal(5), "<query> must be text, got the int 5"),
        (lambda: ANY.parse(5), "<text> must be text, got the int 5"),
        (lambda: ANY.parse(b"smokes(person)"), "<text> must be text, got the bytes"),
        (lambda: ANY.parse_evidence(MODEL, 5), "<evidence> must be text"),
        (lambda: ANY.load_evidence(MODEL, closed=5), "closed must be text"),
        (lambda: ANY.load_evidence(MODEL, known=[5]), "known must be text"),
        (lambda: ANY.sweep(MODEL, 5), "sizes must be a mapping"),
        (lambda: ANY.sweep(MODEL, weights=5), "weights must be a mapping"),
        (lambda: MODEL.with_weights(ANY), "weights must be a mapping"),
    ],
)
def test_it_is_named(call: Callable[[], object], words: str) -> None:
    with pytest.raises(liftgbp.InputError) as error:
        call()
    assert words in str(error.value)


@pytest.mark.parametrize("call", [ANY.load, ANY.infer_network, ANY.reproduce])
def test_what_is_no_path_is_a_type_error(call: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="PathLike"):
        call(5)


def test_long_values_are_cut_short() -> None:
    with pytest.raises(liftgbp.InputError) as error:
        ANY.infer("smokes(person)\n" * 1000)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("query", ["smokes(x,y)", "hates(x)", "smokes(Nobody)", "smokes(x"])
def test_queries_are_checked_before_a_run(query: str) -> None:
    with pytest.raises(liftgbp.QueryError):
        liftgbp.check_queries(MODEL, ["smokes(x)", query])


def test_checked_queries_may_name_what_only_rules_or_evidence_name() -> None:
    model = liftgbp.parse("smokes(person)\n1 smokes(Anna)")
    evidence = liftgbp.parse_evidence(model, "smokes(Bob)")
    liftgbp.check_queries(model, ["smokes(Anna)", "smokes(Bob)"], {"person": 9}, evidence=evidence)
    with pytest.raises(liftgbp.QueryError):
        liftgbp.check_queries(model, ["smokes(Bob)"], {"person": 9})
