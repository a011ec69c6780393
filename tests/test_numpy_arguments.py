"""Every public function takes numbers of NumPy, and refuses whatever else is wrong in words."""

from __future__ import annotations

import decimal
import fractions
import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import liftgbp

ANY: Any = liftgbp
MODEL = liftgbp.parse("""
person = 3
friends(person, person)
smokes(person)
$w = 1
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
""")


class Unshown:
    """A class that fails wherever it is looked at."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


WRONG: dict[str, object] = {
    "None": None,
    "zero": 0,
    "negative": -1,
    "huge": 10**400,
    "fraction": fractions.Fraction(1, 2),
    "decimal": decimal.Decimal("0.5"),
    "nan": math.nan,
    "infinite": math.inf,
    "true": True,
    "text": "text",
    "empty text": "",
    "null": "a\0b",
    "surrogate": "\ud800",
    "bytes": b"smokes(x)",
    "list": [],
    "list of None": [None],
    "tuple": (1, 2),
    "mapping": {"a": 1},
    "numbers": {1: 2},
    "set": {1},
    "range": range(3),
    "complex": 1j,
    "class": dict,
    "NumPy integer": np.int64(3),
    "NumPy float": np.float64(0.5),
    "NumPy truth": np.bool_(True),
    "NumPy text": np.str_("smokes(x)"),
    "array": np.array([1, 2]),
    "matrix": np.zeros((2, 2)),
    "array without axes": np.array(3),
    "array of objects": np.array([None, "a"], object),
    "array of texts": np.array(["smokes(x)"]),
    "empty array": np.array([]),
    "model": MODEL,
    "unshown": Unshown(),
}
LONG = {"seconds", "sweeps", "iterations", "random"}
"""Arguments that say how long to go on; large ones are right, but take their time."""


def calls(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public function, and what it needs at least."""
    net = folder / "net.uai"
    liftgbp.export_network(MODEL, net)
    network = liftgbp.load_network(net)
    answers = liftgbp.infer(MODEL, effort="quick")
    sample = liftgbp.sample(MODEL, sweeps=64)
    evidence = liftgbp.parse_evidence(MODEL, "smokes(Anna)")
    builder = liftgbp.ModelBuilder().sort("a", size=3).predicate("p", "a")
    prepared_graph = liftgbp.prepare(MODEL)
    model = {"model": MODEL}
    quick = {"model": MODEL, "effort": "quick"}
    return {
        "parse": (liftgbp.parse, {"text": "p(a)\n1 p(x)"}),
        "load": (liftgbp.load, {"path": folder / "absent.mln"}),
        "load_network": (liftgbp.load_network, {"path": net}),
        "parse_evidence": (liftgbp.parse_evidence, {**model, "text": "smokes(Anna)"}),
        "load_evidence": (liftgbp.load_evidence, model),
        "infer": (liftgbp.infer, quick),
        "infer about a network": (liftgbp.infer, {"model": network, "effort": "quick"}),
        "prepare": (liftgbp.prepare, model),
        "forecast": (liftgbp.forecast, model),
        "bounds": (liftgbp.bounds, quick),
        "check": (liftgbp.check, {**quick, "seconds": 0.01}),
        "check_messages": (liftgbp.check_messages, {**model, "iterations": 2}),
        "sample": (liftgbp.sample, {**model, "sweeps": 64}),
        "sweep": (liftgbp.sweep, quick),
        "sweep_to_file": (
            liftgbp.sweep_to_file,
            {**model, "output": folder / "o.csv", "sizes": {"person": [2]}},
        ),
        "export_network": (liftgbp.export_network, {**model, "path": folder / "o.uai"}),
        "Flooding": (liftgbp.Flooding, {}),
        "Descent": (liftgbp.Descent, {}),
        "Auto": (liftgbp.Auto, {}),
        "Limits": (liftgbp.Limits, {}),
        "Answers.query": (answers.query, {}),
        "Answers.marginal": (answers.marginal, {"atom": "smokes(x)"}),
        "Answers.as_dict": (answers.as_dict, {}),
        "Answers.at": (answers.at, {}),
        "Answers.write_all": (answers.write_all, {"path": folder / "all.csv"}),
        "Answers.compare": (answers.compare, {"second": sample}),
        "Answers.explain": (answers.explain, {"query": "smokes(x)"}),
        "Answers.plot": (answers.plot, {}),
        "Answers.write_picture": (answers.write_picture, {"path": folder / "answers.svg"}),
        "Prepared.write_graph": (prepared_graph.write_graph, {"path": folder / "graph.svg"}),
        "LiftedRegionGraph.plot": (prepared_graph.graph.plot, {}),
        "Answer.assignment_text": (answers.query("smokes(x)")[0].assignment_text, {}),
        "Sample.query": (sample.query, {}),
        "Sample.as_dict": (sample.as_dict, {}),
        "Sample.write": (sample.write, {"path": folder / "worlds.csv"}),
        "Network.observed": (network.observed, {}),
        "Network.conditioned": (network.conditioned, {}),
        "Network.as_problem": (network.as_problem, {}),
        "Network.check_queries": (network.check_queries, {"queries": "x0"}),
        "Model.with_weights": (MODEL.with_weights, {}),
        "Model.with_constants": (MODEL.with_constants, {}),
        "Model.constants": (MODEL.constants, {}),
        "Model.check_queries": (MODEL.check_queries, {"queries": "smokes(x)"}),
        "Model.check_atom": (MODEL.check_atom, {}),
        "Model.variable_sorts": (MODEL.variable_sorts, {}),
        "Model.domain_sizes": (MODEL.domain_sizes, {}),
        "Evidence.of": (liftgbp.Evidence.of, model),
        "Evidence.enlarge": (evidence.enlarge, {}),
        "Evidence.with_facts": (evidence.with_facts, {}),
        "Evidence.without": (evidence.without, {}),
        "ModelBuilder.sort": (builder.sort, {"name": "b"}),
        "ModelBuilder.predicate": (builder.predicate, {"name": "q"}),
        "ModelBuilder.weight": (builder.weight, {"name": "w", "value": 1}),
        "ModelBuilder.formula": (builder.formula, {"formula": "p(x)", "weight": 1}),
        "ModelBuilder.hard": (builder.hard, {"formula": "p(x)"}),
        "ModelBuilder.table": (builder.table, {"atoms": ["p(x)"], "potentials": [1, 2]}),
    }


NAMES = (
    "parse load load_network parse_evidence load_evidence infer prepare bounds check "
    "check_messages sample sweep sweep_to_file export_network Flooding Descent Auto Limits"
)


def failures(call: Callable[[], object], what: str) -> list[str]:
    """What is wrong with a call that should be refused in words, or done."""
    try:
        result = call()
        if isinstance(result, liftgbp.Sweep):
            list(result)
        if isinstance(result, liftgbp.ModelBuilder):
            result.build()
    except liftgbp.InputError as error:
        return [] if 0 < len(str(error)) < 1000 else [f"{what} has a message without end"]
    except Exception as error:
        return [f"{what} raises {error!r}"]
    return []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    every, failed = calls(tmp_path), list[str]()
    assert set(NAMES.split()) <= set(every)
    for name, (function, needed) in every.items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "error":
                for label, wrong in WRONG.items():
                    if parameter.name == "progress" and callable(wrong):
                        continue  # it takes three arguments, which nobody can tell beforehand
                    if parameter.name == "strict" and label in ("true", "NumPy truth"):
                        continue  # that is right, and raises as quick answers are unconfirmed
                    if parameter.name in LONG and label in ("None", "huge"):
                        continue
                    what = f"{name}({parameter.name} = {label})"
                    failed += failures(prepared(function, needed, parameter, wrong), what)
    assert failed == []


def prepared(
    function: Callable[..., Any],
    needed: Mapping[str, Any],
    parameter: inspect.Parameter,
    wrong: object,
) -> Callable[[], object]:
    """The call with one wrong argument; what comes before `*arguments` goes by position."""
    arguments = dict(needed)
    signature = inspect.signature(function)
    if parameter.kind is not parameter.VAR_POSITIONAL:
        arguments[parameter.name] = wrong
    first = []
    if any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
        for one in signature.parameters.values():
            if one.kind is one.VAR_POSITIONAL:
                break
            first.append(arguments.pop(one.name))
    if parameter.kind is parameter.VAR_POSITIONAL:
        first.append(wrong)
    return lambda: function(*first, **arguments)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wrong_elements_are_refused_in_words(tmp_path: Path) -> None:
    net = tmp_path / "net.uai"
    liftgbp.export_network(MODEL, net)
    network = liftgbp.load_network(net)
    builder: Any = liftgbp.ModelBuilder().sort("a", size=3).predicate("p", "a")
    failed = list[str]()
    for label, wrong in WRONG.items():
        inside: dict[str, Callable[[], object]] = {
            "sizes": lambda v=wrong: ANY.infer(MODEL, {"person": v}, effort="quick"),
            "sum_over": lambda v=wrong: ANY.infer(MODEL, sum_over=[v], effort="quick"),
            "blocks": lambda v=wrong: ANY.infer(MODEL, blocks={"person": v}, effort="quick"),
            "observed": lambda v=wrong: ANY.infer(network, evidence={0: v}, effort="quick"),
            "weights": lambda v=wrong: ANY.sweep(MODEL, weights={"w": [v]}, effort="quick"),
            "swept": lambda v=wrong: ANY.sweep(MODEL, {"person": [v]}, effort="quick"),
            "file": lambda v=wrong: ANY.sweep_to_file(
                MODEL, tmp_path / "s.csv", {"person": [v]}, weights={"w": [v]}, effort="quick"
            ),
            "constants": lambda v=wrong: MODEL.with_constants({"person": [v]}),  # type: ignore
            "named": lambda v=wrong: builder.sort("b", constants=[v]),
            "values": lambda v=wrong: builder.predicate("q", "a", values=[v, "x"]),
            "atoms": lambda v=wrong: builder.table([v], [1, 2]),
            "potentials": lambda v=wrong: builder.table(["p(x)"], [1, v]),
            "where": lambda v=wrong: builder.formula("p(x)", 1, where=[v]),
        }
        for name, call in inside.items():
            if label != "huge" or name not in ("sizes", "swept", "file"):
                failed += failures(call, f"{name} with {label}")
    assert failed == []


@pytest.mark.parametrize("text", ["p(x)=", "p(x", "p(x)=x", "", "=", "p(x),p(x)", "!p(x)", "x=y"])
def test_texts_that_are_no_atoms(text: str) -> None:
    builder = liftgbp.ModelBuilder().sort("a", size=3).predicate("p", "a")
    with pytest.raises(liftgbp.ModelError, match=r"^<atom>:1:\d+: "):
        builder.table([text], [1, 2])


def test_what_follows_an_atom_is_named() -> None:
    builder = liftgbp.ModelBuilder().sort("a", size=3).predicate("p", "a")
    with pytest.raises(liftgbp.ModelError, match="expected the end of the text, got '='"):
        builder.table(["p(x)="], [1, 2])


# --- numbers of NumPy


INTEGERS = [np.int64, np.int8, np.uint32]
FLOATS = [np.float64, np.float32]


@pytest.mark.slow
@pytest.mark.parametrize("whole", INTEGERS)
def test_whole_numbers_of_numpy(tmp_path: Path, whole: Any) -> None:
    """They give what those of Python give."""
    three = {"person": whole(3)}
    assert liftgbp.infer(MODEL, three).log_z == liftgbp.infer(MODEL, {"person": 3}).log_z
    assert liftgbp.infer(MODEL, three, blocks=whole(2), table_cap=whole(100)).log_z
    assert liftgbp.infer(MODEL, three, blocks={"person": whole(2)}).log_z
    for solver in (
        liftgbp.Flooding(iterations=whole(50)),
        liftgbp.Descent(iterations=whole(50), seed=whole(1), random=whole(2)),
    ):
        assert math.isfinite(liftgbp.infer(MODEL, solver=solver).log_z)
    drawn = liftgbp.sample(MODEL, three, chains=whole(64), sweeps=whole(64), seed=whole(1))
    again = liftgbp.sample(MODEL, {"person": 3}, chains=64, sweeps=64, seed=1)
    assert drawn.log_z == again.log_z
    assert liftgbp.check_messages(MODEL, three, iterations=whole(2)).agrees
    path = tmp_path / "s.csv"
    found = liftgbp.sweep_to_file(MODEL, path, {"person": [whole(2), whole(3)]}, effort="quick")
    assert found == liftgbp.sweep(MODEL, {"person": [2, 3]}, effort="quick").records()
    assert all(type(record["person"]) is int for record in found)
    array = np.array([2, 3], dtype=whole)
    assert liftgbp.sweep(MODEL, {"person": array}, effort="quick").records() == found
    net = tmp_path / "net.uai"
    liftgbp.export_network(MODEL, net, three)
    network = liftgbp.load_network(net)
    assert network.observed({whole(0): whole(1)}) == {0: 1}
    assert (
        liftgbp.infer(network, evidence={whole(0): whole(1)}).log_z
        == liftgbp.infer(network, evidence={0: 1}).log_z
    )


@pytest.mark.slow
@pytest.mark.parametrize("real", FLOATS)
def test_other_numbers_of_numpy(tmp_path: Path, real: Any) -> None:
    half = real(0.5)
    assert MODEL.with_weights({"w": half}) == MODEL.with_weights({"w": 0.5})
    assert liftgbp.infer(MODEL, solver=liftgbp.Flooding(damping=half, tol=real(1e-6))).log_z
    assert liftgbp.infer(MODEL, solver=liftgbp.Descent(tol=real(1e-6))).log_z
    assert liftgbp.infer(MODEL, limits=liftgbp.Limits(real(60), real(60))).log_z
    assert liftgbp.check(MODEL, seconds=half).agrees
    assert liftgbp.sample(MODEL, seconds=half).mixed in (True, False)
    assert liftgbp.check_messages(MODEL, damping=half, iterations=2).agrees
    path = tmp_path / "s.json"
    found = liftgbp.sweep_to_file(MODEL, path, {}, weights={"w": [half]}, effort="quick")
    assert found == liftgbp.sweep(MODEL, weights={"w": [0.5]}, effort="quick").records()


@pytest.mark.parametrize(("whole", "real"), [*itertools.product(INTEGERS, FLOATS)])
def test_builders_take_numbers_of_numpy(whole: Any, real: Any) -> None:
    def built(three: Any, half: Any, potentials: Any, flag: Any) -> liftgbp.Model:
        return (
            liftgbp.ModelBuilder("m")
            .sort("a", size=three)
            .sort("b", constants=[three, "Anna"])
            .predicate("p", "a", closed=flag)
            .predicate("q", "b", values=[three, "other"])
            .weight("w", half)
            .formula("p(x) ^ p(y)", half, distinct=flag)
            .formula("p(x)", three)
            .table(["q(x)"], potentials)
            .build()
        )

    plain = built(3, 0.5, [1, 2], True)
    for potentials in (np.array([1, 2], whole), np.array([1, 2], real), [whole(1), real(2)]):
        assert built(whole(3), real(0.5), potentials, np.bool_(True)) == plain
