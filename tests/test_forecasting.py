"""What is counted beforehand is what plain enumeration counts."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

import liftgbp
from liftgbp.cli.commands import cli

TEXT = """
friends(person, person)
smokes(person)
0.5 smokes(x)
1.5 friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.7 friends(x,y) ^ friends(y,z) => friends(x,z)
"""
PEOPLE = 12


def data(seed: int) -> tuple[list[tuple[int, int]], dict[int, bool]]:
    rng = random.Random(seed)
    pairs = [pair for pair in product(range(PEOPLE), repeat=2) if rng.random() < 0.3]
    return pairs, {k: rng.random() < 0.5 for k in range(PEOPLE) if rng.random() < 0.6}


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_enumeration(seed: int) -> None:
    pairs, smokers = data(seed)
    model = liftgbp.parse(TEXT)
    names = [f"P{k}" for k in range(PEOPLE)]
    given = {
        "friends": [(names[x], names[y]) for x, y in pairs],
        "smokes": {names[k]: truth for k, truth in smokers.items()},
    }
    evidence = liftgbp.load_evidence(model, given, closed=["friends"])
    found = liftgbp.forecast(model, {"person": PEOPLE}, evidence=evidence, via="ground")
    assert found.facts == {"friends": len(pairs), "smokes": len(smokers)}
    assert found.unknown == {"smokes": PEOPLE - len(smokers)}
    alone, pull, transitive = found.rules
    assert (alone.substitutions, alone.factors) == (PEOPLE, PEOPLE - len(smokers))
    assert pull.substitutions == PEOPLE * (PEOPLE - 1)
    open_pairs = [
        (x, y)
        for x, y in pairs
        if x != y
        and smokers.get(x) is not False
        and smokers.get(y) is not True
        and not (x in smokers and y in smokers)
    ]
    assert pull.factors == len(open_pairs)
    assert pull.width == max((x not in smokers) + (y not in smokers) for x, y in open_pairs)
    assert (transitive.substitutions, transitive.factors) == (PEOPLE**3, 0)
    assert all(rule.exact for rule in found.rules)
    assert found.factors == PEOPLE - len(smokers) + len(open_pairs)
    rows, scopes, entries = found.stages
    assert rows.number >= scopes.number == found.factors
    assert entries.number == 2 * (PEOPLE - len(smokers)) + 2**pull.width * len(open_pairs)


def test_terms_of_functions() -> None:
    """Only definitions and walks are visited, not all people at all times."""
    model = liftgbp.parse("""
        event walking(id)
        Happens(event, time)
        Moves(id, time)
        1.5 Happens(walking(p), t) => Moves(p, t)
    """)
    walks = [(p, t) for p in range(40) for t in range(40) if (p * t) % 7 == 3]
    lines = [f"W{p} = walking(P{p})" for p in range(40)]
    lines += [f"Happens(W{p},{t})" for p, t in walks]
    lines += [f"Moves(P{p},{t})" for p, t in walks[::3]]
    evidence = liftgbp.parse_evidence(model, "\n".join(lines), closed=["Happens"])
    found = liftgbp.forecast(model, evidence=evidence, via="ground")
    (rule,) = found.rules
    assert rule.substitutions == 40 * 40 * len({t for _, t in walks})
    assert rule.visited == 40 + len(walks)
    assert rule.factors == len(walks) - len(walks[::3])


def test_over_classes() -> None:
    model = liftgbp.parse(TEXT)
    evidence = liftgbp.load_evidence(model, known=["smokes(x)=3e8", "!smokes(x)=1e8"])
    found = liftgbp.forecast(model, {"person": 10**9}, evidence=evidence)
    assert (found.via, found.classes, found.rules) == ("lifted", {"person": 3}, ())
    assert found.unknown == {"friends": 10**18, "smokes": 6 * 10**8}
    assert found.gigabytes is None
    graph = liftgbp.prepare(model, {"person": 10**9}, evidence=evidence).graph
    assert [own.number for own in found.stages[1:2]] == [len(graph.regions)]
    assert not found.refused


def test_what_would_be_refused_says_so() -> None:
    model = liftgbp.parse("s(t)\nr(t,t)\n1 s(x) => EXIST y r(x,y)")
    found = liftgbp.forecast(model, {"t": 100})
    assert "expands over the 100 objects of t" in found.refused
    assert found.stages == ()


@pytest.mark.slow
def test_what_is_too_much_is_bounded() -> None:
    model = liftgbp.parse(TEXT)
    found = liftgbp.forecast(model, {"person": 10**4}, evidence="smokes(Anna)", via="ground")
    assert [rule.exact for rule in found.rules] == [True, True, False]
    assert found.rules[2].factors >= 10**12 - 10**8
    assert found.gigabytes is not None
    assert found.gigabytes > 1000


def test_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "m.mln"
    path.write_text(TEXT, encoding="utf-8")

    def run(*options: str) -> str:
        result = CliRunner().invoke(
            cli,
            ["query", str(path), "-n", "person=50", "--dry-run", *options],
            standalone_mode=False,
        )
        assert result.exception is None, result.exception
        return result.output

    found = json.loads(run("--via", "ground", "--json"))
    assert [rule["line"] for rule in found["rules"]] == [4, 5, 6]
    # With y = x or y = z, the rule says that an atom implies itself.
    assert found["rules"][2]["factors"] == 50 * 49 * 49
    assert "factors over classes: about" in run()
    assert "log Z" not in run("--via", "ground")
    network = CliRunner().invoke(cli, ["query", "net.uai", "--dry-run"], standalone_mode=False)
    assert "--dry-run is about models" in str(network.exception)
