"""Processors add numbers up in another order; answers must not show it.

OpenBLAS and NumPy choose their instructions by the processor. Here they are told to take others, in
processes of their own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from processes import run

HERE = Path(__file__).parent
OLD = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
ARITHMETICS = {
    "default": {},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": OLD},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
}

QUIZ = """
person = {Anna, Bob}
rain
p(person)
q(thing) : {low, mid, high}
r(person, person)
s(person, thing)
-1.2 (((q(a) = high) ^ p(Anna)) <=> !s(y,a))
1.4 ((!r(y,x) <=> rain) => (r(y,x) => p(y))) | x != y
0.3 ((r(x,z) ^ p(z)) <=> rain)
"""
"""With all p true, each of the two values of `rain`, and each of q, leaves the same weights."""

TABLE = f"""
import json, warnings
import liftgbp
quiz = liftgbp.parse('''{QUIZ}''')
"""
TABLE += """
warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
table = {}
for name in ("friends-smokers", "transitive", "chain", "town", "celebrity", "moods", "married"):
    model = liftgbp.load(f"example:{name}")
    for size in (5, 100, 10**6, 10**9, 10**12, 10**15):
        answers = liftgbp.infer(model, dict.fromkeys(model.sorts, size), effort="quick")
        table[f"{name} {size:g}"] = {
            "trusted": answers.flaw is None,
            "shares": sorted(p.weight for p in answers.minima if p.weight > 1e-12),
            "marginals": [v for row in answers.all for v in row.values.values()],
        }
answers = liftgbp.infer(quiz, {"person": 1000, "thing": 50})
chances = [answers.marginal("rain"), *answers.query("q(x)")[0].values.values()]
table["quiz"] = {"trusted": answers.flaw is None, "shares": [], "marginals": chances}
print(json.dumps(table))
"""


def _has_avx512() -> bool:
    core = np._core if hasattr(np, "_core") else np.core  # the second one is NumPy 1
    return bool(core._multiarray_umath.__cpu_features__["AVX512F"])


def environment(name: str) -> dict[str, str]:
    if name == "SkylakeX" and not _has_avx512():
        pytest.skip("this processor has no AVX512")
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | threads | ARITHMETICS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Prescott", "SkylakeX"])
def test_no_lies_under_other_arithmetics(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = run([*command, str(HERE / "test_lies.py")], env=environment(name))
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, list[float]]]:
    return table_under("default")


def table_under(name: str) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(output_under(name, TABLE))
    return found


def output_under(name: str, program: str) -> str:
    done = run([sys.executable, "-c", program], env=environment(name))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Prescott", "SkylakeX"])
def test_answers_are_the_same(name: str, table: dict[str, dict[str, list[float]]]) -> None:
    for case, other in table_under(name).items():
        known = table[case]
        assert known["trusted"] == other["trusted"], case
        if known["trusted"]:
            assert known["shares"] == pytest.approx(other["shares"], abs=1e-9), case
            assert known["marginals"] == pytest.approx(other["marginals"], abs=1e-9), case
    assert table["quiz"]["marginals"] == pytest.approx([1 / 2, 1 / 3, 1 / 3, 1 / 3], abs=1e-9)
    assert sum(bool(own["trusted"]) for own in table.values()) > len(table) / 2


SEARCH = """
import hashlib, json
import liftgbp
from liftgbp.plan import compile_plan
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.solve import Descent
table = {}
for name in ("friends-smokers", "transitive", "chain", "town", "celebrity", "moods", "married"):
    model = liftgbp.load(f"example:{name}")
    for size in (5, 100, 10**6, 10**9):
        plan = compile_plan(build_regions(shatter(model, dict.fromkeys(model.sorts, size))))
        trace = Descent()(plan).trace
        table[f"{name} {size:g}"] = [*trace.shape, hashlib.sha256(trace.tobytes()).hexdigest()]
print(json.dumps(table))
"""
"""A fingerprint of the free energies that all starts pass on their way down."""


@pytest.fixture(scope="module")
def ways_down() -> dict[str, object]:
    return dict(json.loads(output_under("default", SEARCH)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Prescott", "SkylakeX"])
def test_all_starts_take_the_same_way(name: str, ways_down: dict[str, object]) -> None:
    """Every free energy on the way, to the last bit."""
    assert json.loads(output_under(name, SEARCH)) == ways_down
