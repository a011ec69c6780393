"""One value of every public class, about models whose names would be markup if they could."""

from __future__ import annotations

import inspect
import tempfile
from functools import cache
from pathlib import Path

import liftgbp
from liftgbp.oracle.reproduction.claims import Claim
from liftgbp.report.forecasting import StageForecast

HOSTILE = "<script>alert('&\"x')</script>"
"""A name that is dangerous unless it is escaped."""

CONTROL = "bell \x07 and ]]> and \u202e turned"
"""A name with characters that XML does not allow, or that turn text around."""

SMOKERS = f"""
person = {{"{HOSTILE.replace('"', '""').replace('""', chr(92) + '"')}", "{CONTROL}", Carl, Dora}}
friends(person, person)
smokes(person)
mood(person) : {{"<b>low</b>", "high & dry"}}
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
$w = 0.3
$w smokes(Carl)
0.4 smokes(x) => mood(x) = "<b>low</b>"
"""


def public_classes() -> dict[str, type]:
    """The public classes that have cards; errors, warnings and limits are shown by Python."""
    found = {name: getattr(liftgbp, name) for name in liftgbp.__all__}
    return {
        name: own
        for name, own in found.items()
        if inspect.isclass(own) and not issubclass(own, BaseException | liftgbp.Limits)
    }


@cache
def gallery() -> dict[str, object]:
    """A value for every public class, and some more for tuples of them."""
    model = liftgbp.parse(SMOKERS, name=f"{HOSTILE}.mln")
    evidence = liftgbp.Evidence.of(model, {"smokes(Carl)": True, "smokes(Dora)": 0.7})
    quick = liftgbp.infer(model, {"person": 9}, effort="quick")
    exact = liftgbp.infer(model, {"person": 6}, evidence=evidence)
    ising = liftgbp.parse("s(thing)\n1.5 s(x) <=> s(y) | x != y", name=HOSTILE)
    split = liftgbp.infer(ising, {"thing": 9}, effort="quick")
    # Named after what they are, and without names of objects, so that blocks appear.
    layers = liftgbp.infer(liftgbp.load("example:transitive"), {"person": 40})
    summed = liftgbp.infer(ising, {"thing": 5}, sum_over="s")
    sampled = liftgbp.sample(model, {"person": 4}, sweeps=300, seconds=20.0)
    swept = liftgbp.sweep(model, {"person": [4, 8]}, weights={"w": [0.0, 0.5]}, effort="quick")
    bounded = liftgbp.bounds(ising, {"thing": 6}, queries="s(x)")
    checked = liftgbp.check(ising, {"thing": 6}, queries="s(x)", effort="quick")
    structure = layers.blocks[0]
    world = liftgbp.best_world(ising, {"thing": 3})
    claim = Claim(HOSTILE, "lifted is faster", "a hundred times", ())
    found: dict[str, object] = {
        "Algorithm": liftgbp.Algorithm.DESCENT,
        "Answer": exact.query("mood(x)")[0],
        "Answers": quick,
        "Auto": liftgbp.Auto(),
        "BestWorld": world,
        "BlockPanel": structure.panels[0],
        "BlockStructure": structure,
        "BlockedAtom": structure.atoms[0],
        "Bounds": bounded,
        "Check": checked,
        "Comparison": checked.comparison,
        "CountAnswer": summed.query("#{x : s(x)}")[0],
        "CountDistribution": summed.count("s(x)"),
        "CountSum": summed.sum_over,
        "Descent": liftgbp.Descent(),
        "EngineForecast": _engine_forecast(),
        "EngineRun": liftgbp.EngineRun(HOSTILE, "duckdb", "bethe", True, 1e-10, 9, {HOSTILE: 2}),
        "Evidence": evidence,
        "Finding": liftgbp.Finding(liftgbp.Flaw.SAMPLE, (0.1, 0.2, 0.3), about=HOSTILE),
        "Flaw": liftgbp.Flaw.SADDLE,
        "Flooding": liftgbp.Flooding(),
        "Forecast": liftgbp.forecast(model, {"person": 9}, evidence=evidence, via="ground"),
        "Kind": liftgbp.Kind.MINIMUM,
        "Standing": liftgbp.Standing.CONFIRMED,
        "LiftedRegionGraph": quick.graph,
        "MessageCheck": liftgbp.check_messages(ising, {"thing": 3}, iterations=20),
        "Model": model,
        "ModelBuilder": _builder(),
        "Network": _network(),
        "Point": split.minima[0],
        "Prepared": liftgbp.prepare(model, {"person": 9}),
        "ProbabilityBounds": bounded.rows[0],
        "Reproduction": liftgbp.Reproduction((), (claim,), (Path(HOSTILE),), HOSTILE),
        "RuleInWorld": world.rules[0],
        "WorldBlock": world.structure.blocks[0],
        "WorldStructure": world.structure,
        "Sample": sampled,
        "SampledAnswer": sampled.query("mood(x)")[0],
        "Solution": split.result,
        "Status": liftgbp.Status.DIVERGED,
        "Sweep": swept,
        "SweepPoint": swept.rows[0].point,
        "SweepRow": swept.rows[0],
        "Verdict": split.verdict,
        "WorldCheck": liftgbp.check_world(world, seconds=0.1),
    }
    more = {
        "answers about layers": layers,
        "answers with evidence": exact,
        "answers that are refused": _untrusted(),
        "answers on the ground": liftgbp.infer(model, {"person": 9}, via="ground"),
        "a graph on the ground": liftgbp.prepare(model, {"person": 9}, via="ground").graph,
        "minima": split.minima,
        "no minima": exact.minima,
        "rows": quick.query("smokes(x)"),
        "every row": quick.all,
        "sampled rows": sampled.all,
        "a large domain": liftgbp.infer(ising, {"thing": 10**60}, effort="quick"),
        "a network": liftgbp.infer(_network()),
        "an explanation": exact.explain("mood(x)", "high & dry"),
    }
    return found | more


def _untrusted() -> liftgbp.Answers:
    model = liftgbp.load("example:friends-smokers")
    solver = liftgbp.Flooding(iterations=2)
    return liftgbp.infer(model, {"person": 1000}, effort="quick", solver=solver)


def _engine_forecast() -> liftgbp.EngineForecast:
    stages = (StageForecast(HOSTILE, HOSTILE, 3, 0.1, 2.0, 12, 0.2),)
    return liftgbp.EngineForecast(
        HOSTILE, "duckdb", "bethe", {HOSTILE: 3}, {HOSTILE: 4}, stages, 20, 0.5, "memory"
    )


def _builder() -> liftgbp.ModelBuilder:
    return (
        liftgbp.ModelBuilder(HOSTILE)
        .sort("person", size=9, constants=[HOSTILE])
        .predicate("mood", "person", values=[HOSTILE, "high"])
        .weight("w", 1.5)
        .formula("mood(x) = high", weight="$w")
    )


def _network() -> liftgbp.Network:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a<b>&c.uai"
        path.write_text("MARKOV 3  2 2 3  2  2 0 1  1 2   4 1 2 2 1  3 1 2 3", encoding="utf-8")
        return liftgbp.load_network(path)
