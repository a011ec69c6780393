"""Samples answer queries as exact inference does, within their standard errors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from scipy.stats import binom, norm

import liftgbp
from liftgbp.evidence import Evidence
from liftgbp.ground.grounding.from_classes import ground_classes
from liftgbp.lift.shatter import shatter
from liftgbp.methods.sampling import Sample, sampler
from liftgbp.methods.sampling.annealing import possible_worlds
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.reading import Cells, traces
from liftgbp.methods.sampling.terms import WorldWeights
from liftgbp.methods.sampling.tied import tie
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError, LimitExceeded
from liftgbp.support.progress import silent
from random_models import models_with_evidence

MOST_ERRORS = 5.0
"""Of some thousand differences none exceeds this many standard errors by chance."""

COMMON = 10.0
"""Standard errors mean something where a value is expected at least this often among independent
draws, and so are the others; rarer ones follow Poisson's distribution."""

ROUNDING = 1e-12
"""What a sample knows exactly has an error of this size at most, and is as far off."""


def exactly(model: Model, sizes: dict[str, int], evidence: Evidence | None = None):
    return reference.exact(reference.ground(model, sizes, evidence), cap=2**16)


def distances(
    sample: Sample, truth: reference.ExactValues, *, one_of_each: bool = False
) -> list[float]:
    """How many standard errors each marginal of each ground atom, or of one of each predicate, is
    off.

    What is known exactly must be right, and rare values must be as rare as they are.
    """
    names = list(sample.model.predicates)
    found: list[float] = []
    done: set[str] = set()
    for atom, exact in truth.marginals.items():
        if one_of_each and atom.predicate in done:
            continue
        done.add(atom.predicate)
        objects = np.array([atom.objects], np.int64).reshape(1, len(atom.objects))
        literals, factors = sample._literals.of(names.index(atom.predicate), objects)
        count = len(exact)
        places = np.arange(count)
        cells = Cells(literals.T.reshape(-1, 1), places, np.full(count, factors[0]), places, count)
        seen = sample._diagnosed(traces(sample._planes(), cells))
        # The first value is what the others leave over.
        for k in range(1, count):
            off = abs(seen.mean[k] - exact[k])
            if seen.effective[k] * min(exact[k], 1 - exact[k]) < COMMON:
                assert off * seen.effective[k] < COMMON + MOST_ERRORS * math.sqrt(COMMON)
            elif seen.error[k] <= ROUNDING:
                assert off <= ROUNDING
            else:
                found.append(float(off / seen.error[k]))
    return found


@pytest.mark.slow
def test_standard_errors_of_random_models_are_right() -> None:
    """With hard formulas and evidence: no more marginals are three errors off than by chance.

    Atoms of one predicate are off together, so one of them stands for all.
    """
    off: list[float] = []
    drawn: list[Sample] = []

    @seed(12)
    @settings(
        max_examples=40,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(models_with_evidence(most=3))
    def draw(case: tuple[Model, dict[str, int], Evidence]) -> None:
        model, sizes, evidence = case
        try:
            truth = exactly(model, sizes, evidence)
        except (CapacityError, ContradictionError):
            assume(False)
        own = len(drawn)
        sample = liftgbp.sample(model, sizes, evidence=evidence, sweeps=250, log_z=False, seed=own)
        drawn.append(sample)
        if sample.mixed:
            off.extend(distances(sample, truth, one_of_each=True))

    draw()
    assert len(off) > 30
    assert sum(sample.mixed for sample in drawn) > 0.9 * len(drawn)
    assert max(off) < MOST_ERRORS
    beyond = sum(own > 3 for own in off)
    assert beyond <= binom.ppf(0.999, len(off), 2 * norm.sf(3))
    # Nor are errors too large: about 68% are within one.
    within = sum(own < 1 for own in off)
    assert binom.ppf(0.001, len(off), 0.68) <= within <= binom.ppf(0.999, len(off), 0.69)


MODELS = {
    "transitive": ("r(p, p)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct", 4),
    "tied": ("e(p, p)\nh(p)\ne(x,y) <=> e(y,x).\n0.8 e(x,y) ^ h(x) => h(y) | x != y", 4),
    "exactly one": (
        "f(p, p)\nh(p)\nEXIST y f(x,y).\n!(f(x,y) ^ f(x,z)) | y != z.\n0.9 f(x,y) ^ h(x) => h(y)",
        3,
    ),
    "equivalence": ("r(p, p)\nr(x,y) ^ r(y,z) => r(x,z) | distinct.\n0.3 r(x,y) | x != y", 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transitive", "tied", "exactly one", "equivalence"])
def test_known_models(name: str) -> None:
    text, size = MODELS[name]
    model = liftgbp.parse(text)
    sample = liftgbp.sample(model, {"p": size}, sweeps=400, log_z=False)
    assert sample.mixed, sample.doubt
    off = distances(sample, exactly(model, {"p": size}))
    assert max(off) < MOST_ERRORS
    # Standard errors are neither too small nor far too large.
    assert 0.2 < math.sqrt(np.mean(np.square(off))) < 2.0


@pytest.mark.slow
def test_a_joint_and_a_conditional() -> None:
    model = liftgbp.parse("p(t)\nq(t)\n1 p(x) => q(x)\n-0.5 p(x) ^ p(y) | x != y\n0.4 q(x) ^ q(y)")
    sizes = {"t": 4}
    sample = liftgbp.sample(model, sizes, sweeps=400, log_z=False)
    truth = liftgbp.infer(model, sizes, regions="objects:4", effort="quick")
    for query in ("p(x) ^ q(y) | x != y", "q(x) | p(x)", "p(x) ^ p(x)", "q(x) ^ p(y) | p(x)"):
        for exact, seen in zip(truth.query(query), sample.query(query), strict=True):
            assert (seen.atom, seen.where, seen.count) == (exact.atom, exact.where, exact.count)
            for key, p in exact.values.items():
                error = max(seen.errors[key], 1e-4)
                assert abs(seen[key] - p) < MOST_ERRORS * error, (query, key)


def test_the_same_seed_gives_the_same_sample() -> None:
    model = liftgbp.parse("p(t)\nm(t) : {a, b, c}\n1 p(x) => p(y) | x != y\n0.3 p(x) ^ m(x) = b")
    one, same = (liftgbp.sample(model, {"t": 5}, sweeps=40, seed=7) for _ in range(2))
    other = liftgbp.sample(model, {"t": 5}, sweeps=40, seed=8)
    assert (one.worlds == same.worlds).all()
    assert (one.worlds != other.worlds).any()


@pytest.mark.slow
def test_named_objects_and_observed_atoms() -> None:
    model = liftgbp.parse("p = {A, B}\ns(p)\nf(p, p)\n1.5 f(x,y) ^ s(x) => s(y)")
    evidence = liftgbp.parse_evidence(model, "s(A)\nf(A,B)\n")
    sample = liftgbp.sample(model, {"p": 4}, evidence=evidence, sweeps=300)
    truth = exactly(model, {"p": 4}, evidence)
    (row,) = sample.query("s(B)")
    exact = truth.marginals[reference.GroundAtom("s", (1,))][1]
    assert abs(row["true"] - exact) < MOST_ERRORS * row.errors["true",]
    (known,) = sample.query("s(A)")
    assert known["true"] == 1.0


def test_atoms_that_no_factor_touches_are_uniform() -> None:
    sample = liftgbp.sample(liftgbp.parse("p(t)\nq(t)\n1 p(x)"), {"t": 3}, sweeps=20)
    assert sample.marginal("q(x)") == 0.5
    (row,) = sample.query("q(x) ^ q(x)")[:1]
    assert row["true", "true"] == 0.5
    assert row["true", "false"] == 0.0


@pytest.mark.slow
def test_a_network_of_another_tool(tmp_path: Path) -> None:
    path = tmp_path / "chain.uai"
    path.write_text(
        "MARKOV 4  2 3 2 2  3  2 0 1  2 1 2  2 2 3   6 1 2 3 4 1 1  6 1 5 2 2 3 1  4 3 1 1 2"
    )
    network = liftgbp.load_network(path)
    answers = liftgbp.infer(network, evidence={3: 1})
    sample = liftgbp.sample(network, evidence={3: 1}, sweeps=400)
    # A chain is a tree, on which belief propagation is exact.
    comparison = answers.compare(sample)
    assert comparison.agrees, comparison.sentence
    assert len(comparison.rows) == 2 + 3 + 2 + 2
    for row in comparison.rows:
        assert abs(row.difference) <= MOST_ERRORS * row.error


@pytest.mark.slow
def test_answers_are_compared_with_a_sample() -> None:
    model = liftgbp.load("example:friends-smokers")
    answers = liftgbp.infer(model, {"person": 4}, effort="normal")
    comparison = answers.compare(liftgbp.sample(model, {"person": 4}, sweeps=600, log_z=False))
    assert comparison.agrees, comparison.sentence
    model = liftgbp.load("example:transitive")
    # Exactly 0.3845, by GBP over factor scopes 0.3660, as the file of the model states.
    wrong = liftgbp.infer(model, {"person": 4}, effort="quick")
    comparison = wrong.compare(liftgbp.sample(model, {"person": 4}, sweeps=300, log_z=False))
    assert comparison.differs
    assert comparison.largest is not None
    assert comparison.largest.difference == pytest.approx(0.3660 - 0.3845, abs=0.005)


@pytest.mark.slow
def test_contradictions_are_told() -> None:
    model = liftgbp.parse("p(t)\nq(t)\np(x) ^ q(x).\n!(p(x) ^ q(y)) | x != y.\n0.1 p(x)")
    with pytest.raises(ContradictionError, match="no possible world"):
        liftgbp.sample(model, {"t": 4})
    # What is too large to be proven is not called impossible.
    network = tie(ground_classes(shatter(model, {"t": 3}))).network
    sweeper, random = Sweeper(network), np.random.default_rng(0)
    worlds = Worlds(network.ranges, np.zeros((len(network.ranges), 64), np.uint8))
    with pytest.raises(CapacityError, match="no world that satisfies all hard formulas"):
        possible_worlds(sweeper, WorldWeights(sweeper.index), worlds, random, silent, provable=1)


def test_worlds_are_written(tmp_path: Path) -> None:
    model = liftgbp.parse("p(t)\nm(t) : {a, b, c}\np(x) => m(x) = b.\n0.3 p(x) ^ p(y) | x != y")
    sample = liftgbp.sample(model, {"t": 2}, sweeps=12)
    sample.write(tmp_path / "worlds.csv")
    lines = (tmp_path / "worlds.csv").read_text().splitlines()
    assert lines[0] == "draw,chain,p(#1),p(#2),m(#1),m(#2)"
    cells = [line.split(",") for line in lines[1:]]
    assert len(cells) == sample.draws * 64
    assert {(p, m) for _, _, p, _, m, _ in cells} == {
        ("true", "b"), ("false", "a"), ("false", "b"), ("false", "c"),
    }  # fmt: skip
    mean = np.mean([p == "true" for _, _, p, *_ in cells])
    second = np.mean([p == "true" for _, _, _, p, *_ in cells])
    assert sample.marginal("p(x)") == pytest.approx((mean + second) / 2)


# --- log Z


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MODELS))
def test_log_z_by_annealing(name: str) -> None:
    text, size = MODELS[name]
    model = liftgbp.parse(text)
    found = liftgbp.sample(model, {"p": size}, sweeps=200).annealed
    assert found is not None
    assert abs(found.value - exactly(model, {"p": size}).log_z) < 4 * found.error
    assert found.error < 0.2


@pytest.mark.slow
def test_log_z_of_many_values_and_evidence() -> None:
    model = liftgbp.load("example:moods")
    # As the file of the model states.
    sample = liftgbp.sample(model, {"person": 4}, sweeps=600)
    assert sample.log_z == pytest.approx(14.9592642789, abs=0.1)
    (row,) = sample.query("mood(x)")
    assert abs(row["high"] - 0.8515895562) < MOST_ERRORS * row.errors["high",]


# --- starts, moves and groups


def test_mirror_worlds_are_reached() -> None:
    # Without moves of many atoms, no chain would go from one world to the other.
    model = liftgbp.parse("s(p)\n3 s(x) <=> s(y) | x != y")
    sample = liftgbp.sample(model, {"p": 12}, sweeps=100)
    assert sample.mixed, sample.doubt
    assert sample.moves["mirrors"] > 0.3
    (row,) = sample.query("s(x)")
    assert abs(row["true"] - 0.5) < MOST_ERRORS * row.errors["true",]


@pytest.mark.slow
def test_chains_start_at_minima() -> None:
    # Two worlds far apart, one of them e^3 times as heavy.
    model = liftgbp.parse("s(p)\n3 s(x) <=> s(y) | x != y\n0.25 s(x)")
    answers = liftgbp.infer(model, {"p": 12}, effort="quick", exact=False)
    sample = liftgbp.sample(model, {"p": 12}, sweeps=200, answers=answers)
    assert [start.name for start in sample.starts] == ["random worlds", "minimum 1", "minimum 2"]
    (row,) = sample.query("s(x)")
    heavy = exactly(model, {"p": 12}).marginals[reference.GroundAtom("s", (0,))][1]
    assert heavy == pytest.approx(1 / (1 + math.exp(-3)), abs=1e-3)
    assert abs(row["true"] - heavy) < MOST_ERRORS * row.errors["true",]


@pytest.mark.slow
def test_chains_start_at_blocks() -> None:
    model = liftgbp.load("example:transitive")
    answers = liftgbp.infer(model, {"person": 20}, blocks=2)
    sample = liftgbp.sample(model, {"person": 20}, answers=answers, sweeps=300, log_z=False)
    assert [start.name for start in sample.starts][:2] == ["random worlds", "blocks 1"]
    # Sampled before by another program, to three digits.
    assert sample.marginal("r(x,y)") == pytest.approx(0.2175, abs=0.004)


def test_ctrl_c_keeps_what_was_drawn() -> None:
    model = liftgbp.parse("p(t)\n1 p(x) ^ p(y) | x != y")

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "sampling" and done == 30:
            raise KeyboardInterrupt

    sample = liftgbp.sample(model, {"t": 3}, sweeps=100, progress=interrupt)
    assert sample.interrupted
    assert sample.sweeps == 30
    assert sample.notes == ("interrupted after 30 sweeps",)
    assert 0.9 < sample.marginal("p(x)") < 1

    def at_once(stage: str, done: int, total: int) -> None:
        if stage == "sampling":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        liftgbp.sample(model, {"t": 3}, sweeps=100, progress=at_once)


def test_json() -> None:
    model = liftgbp.parse("p(t)\n1 p(x) ^ p(y) | x != y")
    told = liftgbp.sample(model, {"t": 3}, sweeps=50).as_dict(["p(x)"])
    assert told["chains"] == 64
    assert told["sweeps"] == 50
    (row,) = told["answers"]  # type: ignore[misc]
    assert {value["assignment"][0] for value in row["values"]} == {"false", "true"}
    assert all(value["standard_error"] > 0 for value in row["values"])


def test_answers_about_something_else_are_refused() -> None:
    model, other = liftgbp.parse("p(t)\n1 p(x)"), liftgbp.parse("p(t)\nq\n1 p(x) ^ q")
    answers = liftgbp.infer(model, {"t": 3}, effort="quick")
    for asked, size in ((model, 4), (other, 3)):
        with pytest.raises(liftgbp.InputError, match="about another model or other domains"):
            liftgbp.sample(asked, {"t": size}, sweeps=8, answers=answers)
    with pytest.raises(liftgbp.InputError, match="answers must be what liftgbp"):
        liftgbp.sample(model, {"t": 3}, sweeps=8, answers=3)  # type: ignore[arg-type]


def test_models_that_are_too_large_are_refused() -> None:
    model = liftgbp.load("example:transitive")
    with pytest.raises(liftgbp.CapacityError, match="groundings of rules, and sampling writes"):
        liftgbp.sample(model, {"person": 10**6})


def test_what_cannot_be_sampled_is_refused() -> None:
    model = liftgbp.parse("p(t)\n1 p(x)")
    for wrong in ({"chains": 0}, {"sweeps": 1}, {"seconds": -1}, {"seconds": "2"}, {"seed": -1}):
        with pytest.raises(liftgbp.InputError):
            liftgbp.sample(model, {"t": 3}, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_chains_that_stay_apart_are_weighed_by_log_z() -> None:
    # If all p hold, weights are large; if none holds, all r are free. Both weigh about the same,
    # and no move leads from one to the other.
    model = liftgbp.parse("p(t)\nr(t, t)\n8 p(x) <=> p(y) | x != y\n3 p(x) => r(x,y)\n6.547 p(x)")
    answers = liftgbp.infer(model, {"t": 10}, effort="quick", exact=False)
    exact = exactly(model, {"t": 10}).marginals[reference.GroundAtom("p", (0,))][1]
    assert 0.6 < exact < 0.8
    weighed = liftgbp.sample(model, {"t": 10}, sweeps=60, answers=answers, log_z=False)
    assert weighed.mixed, weighed.doubt
    assert weighed.marginal("p(x)") == pytest.approx(exact, abs=1e-3)
    (note,) = weighed.as_dict()["notes"]  # type: ignore[misc]
    assert note.startswith("chains from different starts stay apart; they are weighed by log Z")
    # Without answers nobody knows the weights of the two groups.
    alone = liftgbp.sample(model, {"t": 10}, sweeps=60, log_z=False)
    assert alone.doubt.startswith("the sample has not mixed: R-hat is inf for p(x)")


@pytest.mark.parametrize("sweeps", [3, 20])
def test_time_may_be_up_inside_a_sweep(monkeypatch: pytest.MonkeyPatch, sweeps: int) -> None:
    """With enough sweeps before, there is a sample; otherwise an error says how many there were."""
    left = iter(range(sweeps))

    def sweep(*arguments: object) -> None:
        if next(left, None) is None:
            monkeypatch.setattr(sampler._Clock, "is_up", True)
            raise LimitExceeded("time is up")

    monkeypatch.setattr(sampler.Sweeper, "sweep", sweep)
    model = liftgbp.parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    if sweeps < sampler.FEWEST_SWEEPS:
        with pytest.raises(CapacityError, match="3 sweeps over 5 atoms, and a sample needs 8"):
            liftgbp.sample(model, {"thing": 5}, seconds=1000)
    else:
        sample = liftgbp.sample(model, {"thing": 5}, seconds=1000, log_z=False)
        assert sample.sweeps == sweeps


def test_without_time_there_is_no_log_z() -> None:
    clock = sampler._Clock(10, 1000.0, True, silent)
    clock.start(5)
    clock.done = 10
    assert clock.steps(fewest=10**15) == 0
    assert clock.notes == ["no time was left to estimate log Z"]
