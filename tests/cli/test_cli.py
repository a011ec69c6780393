"""The command line as a user meets it: output, JSON, exit codes, and messages for bad input."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import liftgbp
import processes
from command_shell import Shell
from json_rows import probability
from liftgbp import Standing
from liftgbp.model.example_models import FOLDER as MODELS

SMOKERS = str(MODELS / "friends-smokers.mln")
CHAIN = str(MODELS / "chain.mln")
QUICK = ("--effort", "quick")


def test_version(shell: Shell) -> None:
    for name in ("--version", "-V"):
        code, out, _ = shell(name)
        assert code == 0
        assert out.split() == ["liftgbp", liftgbp.__version__]


@pytest.mark.parametrize("command", [(), ("query",), ("graph",), ("check",), ("reproduce",)])
def test_help(shell: Shell, command: tuple[str, ...]) -> None:
    code, out, _ = shell(*command, "--help")
    assert code == 0
    assert "Usage: liftgbp" in out


def test_query_prints_a_table(shell: Shell) -> None:
    flooding = ("--solver", "flooding")
    code, out, _ = shell("query", SMOKERS, "-n", "person=1e6", "-q", "friends(x,y)", *flooding)
    assert "0.441985" in out
    assert "999,999,000,000" in out
    # Flooding ends at a saddle here.
    assert code == 1
    assert out.startswith("REFUSED: ")
    code, out, _ = shell("query", SMOKERS, "-n", "person=4", "-q", "friends(x,y)", *flooding)
    assert code == 6
    assert out.startswith("unconfirmed: ")
    assert "residual" not in out
    _, out, _ = shell("query", SMOKERS, "-n", "person=4", "-q", "friends(x,y)", *flooding, "-v")
    assert re.search(r"converged after \d+ iterations, residual", out)


def test_query_json(shell: Shell) -> None:
    flooding = ("--solver", "flooding", "--json")
    code, out, _ = shell("query", SMOKERS, "-n", "person=4", "-q", "friends(x,y)", *flooding)
    assert code == 6
    result = json.loads(out)
    assert (result["standing"], result["trusted"]) == ("unconfirmed", False)
    assert result["reason"] == result["because"]
    assert result["domains"] == {"person": 4}
    assert result["regions"] == {
        "family": "intersections",
        "canonical": 3,
        "edges": 3,
        "ground_regions": 22,
    }
    assert result["solver"]["name"] == "flooding"
    assert result["solver"]["status"] == "converged"
    assert result["solver"]["residual"] < 1e-11
    # The published value without the four diagonal atoms, each of which adds log 2.
    assert result["log_z"] == pytest.approx(26.6382328807 + 4 * 0.693147180560, abs=1e-9)
    same, different = result["answers"]
    assert same["where"] == "x = y"
    assert same["count"] == 4
    assert different["query"] == different["atom"] == "friends(x,y)"
    assert different["where"] == "x != y"
    assert different["count"] == 12
    assert probability(different, "true") == pytest.approx(0.4419851737, abs=1e-9)
    assert sum(value["p"] for value in different["values"]) == pytest.approx(1)


def test_minima(shell: Shell) -> None:
    code, out, _ = shell("query", SMOKERS, "-n", "person=10", "--minima", *QUICK)
    assert code == 6
    assert "saddle" in out
    assert "the answer mixes 2 minima" in out
    _, out, _ = shell("query", SMOKERS, "-n", "person=10", "--json", *QUICK)
    result = json.loads(out)
    assert [point["kind"] for point in result["minima"]] == ["minimum", "minimum", "saddle"]
    assert [point["weight"] for point in result["minima"]] == pytest.approx([0.5, 0.5, 0.0])
    assert result["verdict"]["plausible"] is True


@pytest.mark.slow
def test_growing_regions(shell: Shell) -> None:
    code, out, _ = shell("query", SMOKERS, "-n", "person=10", "--regions", "auto")
    assert code == 0
    chosen = next(line for line in out.splitlines() if "chosen" in line)
    assert "objects:2" in chosen
    assert "no larger regions: the answer of objects:3 cannot be trusted" in out
    _, out, _ = shell("query", SMOKERS, "-n", "person=10", "--regions", "auto", "--json")
    steps = json.loads(out)["growth"]["steps"]
    assert [step["family"] for step in steps[:2]] == ["bethe", "intersections"]


def test_no_minimum_is_exit_code_1(shell: Shell) -> None:
    code, out, _ = shell("query", "example:married", "-n", "person=100", *QUICK)
    assert code == 1
    assert out.startswith("REFUSED: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        (SMOKERS, "-n", "person=1e6", "--solver=flooding", "-q", "smokes(x)"),
        (CHAIN, "-n", "person=6", "--solver", "flooding", "--damping", "0.1"),
    ],
)
def test_the_recommended_command_works(shell: Shell, arguments: tuple[str, ...]) -> None:
    code, out, _ = shell("query", *arguments)
    assert code == 1
    first, second, *_ = out.splitlines()
    assert first.startswith("REFUSED: ")
    program, *command = shlex.split(second.removeprefix("try: "))
    assert program == "liftgbp"
    code, out, _ = shell(*command)
    assert code in (0, 6)
    assert out.startswith(("confirmed: ", "unconfirmed: "))


def test_without_queries_every_predicate_is_answered(shell: Shell) -> None:
    _, out, _ = shell("query", SMOKERS, "-n", "person=4", "--json")
    assert [row["query"] for row in json.loads(out)["answers"]] == [
        *("friends(x,y)", "friends(x,y)", "smokes(x)")
    ]


def test_conditional_keys_follow_the_atoms(shell: Shell) -> None:
    query = "smokes(y) | friends(x,y), smokes(x), x != y"
    _, out, _ = shell("query", SMOKERS, "-n", "person=4", "-q", query, "--json")
    (row,) = json.loads(out)["answers"]
    assert len(row["values"]) == 8
    assert sum(
        probability(row, value, "true", "true") for value in ("false", "true")
    ) == pytest.approx(1)


def test_model_from_standard_input(shell: Shell) -> None:
    text = "smokes(person)\n1.0 smokes(x)"
    code, out, _ = shell("query", "-", "-n", "person=3", "--json", stdin=text)
    assert code == 0
    assert json.loads(out)["model"] == "<stdin>"


def test_named_weights(shell: Shell) -> None:
    text = "smokes(person)\n$a = 1\n$a smokes(x)"
    _, out, _ = shell("query", "-", "-n", "person=3", "-w", "a=0", "--json", stdin=text)
    assert probability(json.loads(out)["answers"][0], "true") == 0.5


@pytest.mark.slow
def test_reproduce_shows_verdicts_and_files(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = liftgbp.reproduce

    def short(directory: str, **options: Any) -> liftgbp.Reproduction:
        return whole(directory, weights=(0.5,), sizes=(7,), iterations=5, compared=1, **options)

    monkeypatch.setattr(liftgbp, "reproduce", short)
    code, out, _ = shell("reproduce", "-o", str(tmp_path))
    assert code == 0
    assert "domain-size independence" in out
    for name in ("times.svg", "probability.svg", "results.csv", "report.md"):
        assert f"written: {tmp_path / name}" in out


def test_sweep(shell: Shell, tmp_path: Path) -> None:
    output = tmp_path / "sweep.csv"
    arguments = ("sweep", SMOKERS, "-n", "person=2..1e9", "--points", "10", "-q", "friends(x,y)")
    arguments += QUICK
    code, out, err = shell(*arguments, "-o", str(output))
    assert code == 6
    assert out == ""
    assert "10 points, 9 unconfirmed, 40 rows" in err or "10 points, 10 unconfirmed, 40 rows" in err
    assert len(output.read_text().splitlines()) == 41


def test_graph(shell: Shell) -> None:
    code, out, _ = shell("graph", CHAIN, "-n", "person=10")
    assert code == 0
    assert "r(1,2) r(2,3) r(3,4)" in out
    _, out, _ = shell("graph", CHAIN, "-n", "person=10", "--json")
    result = json.loads(out)
    assert len(result["regions"]) == 4
    # The seven edges of the chain and how many parents each stands for, at N = 10.
    assert sorted(edge["kappa"] for edge in result["edges"]) == [1, 1, 7, 7, 8, 8, 56]


def test_check(shell: Shell) -> None:
    code, out, _ = shell("check", CHAIN, "-n", "person=4", "--effort", "quick")
    assert code == 1
    assert out.startswith("the answer disagrees with the exact answer by ")
    assert "0.335765" in out
    code, out, _ = shell("check", CHAIN, "-n", "person=4", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["agrees"] is True
    assert result["method"] == "exact"


def test_check_of_a_network(shell: Shell, tmp_path: Path) -> None:
    network = tmp_path / "smokers.uai"
    assert shell("export", SMOKERS, "-n", "person=3", "-o", str(network))[0] == 0
    code, out, _ = shell("check", str(network), "--json")
    assert code in (0, 1)
    assert json.loads(out)["method"] is not None


@pytest.mark.slow
def test_check_of_messages(shell: Shell) -> None:
    code, out, _ = shell("check", CHAIN, "-n", "person=4", "--messages")
    assert code == 0
    assert "lifted equals ground at every iteration" in out
    _, out, _ = shell("check", CHAIN, "-n", "person=4", "--messages", "--json")
    assert json.loads(out)["agrees"] is True


def test_divergence_is_exit_code_1_with_advice(shell: Shell) -> None:
    flooding = ("--solver", "flooding")
    code, out, _ = shell("query", CHAIN, "-n", "person=6", *flooding)
    assert code == 1
    assert out.startswith("REFUSED: message passing has diverged, most of all in the region r(1,2)")
    code, out, _ = shell("query", CHAIN, "-n", "person=6", *flooding, "--json")
    assert code == 1
    result = json.loads(out)
    assert result["solver"]["status"] == "diverged"
    assert result["trusted"] is False
    assert "--solver descent" in result["reason"]


HEAD = "person = {Anna, Bob}\nfriends(person, person)\nsmokes(person)\n"

BAD_MODELS = {
    "syntax error": (HEAD + "1.4 smokes(x) ^ => smokes(y)", ":4:17:"),
    "wrong arity": (HEAD + "1.4 smokes(x) ^ friends(x) => smokes(y)", "friends takes 2 arguments"),
    "unknown predicate": (HEAD + "1.4 smoks(x)", "unknown predicate smoks"),
    "unknown sort": (HEAD + "1.4/|persn| smokes(x)", "unknown sort persn"),
    "nan weight": (HEAD + "nan smokes(x)", ":4:1:"),
    "infinite weight": (HEAD + "1e999 smokes(x)", "finite"),
    "table too short": (HEAD + "parfactor smokes(x) : [1, 2, 3]", "3 entries"),
    "negative potential": (HEAD + "parfactor smokes(x) : [1, -2]", "negative"),
    "contradiction": (HEAD + "smokes(x).\n!smokes(Anna).", "no world satisfies"),
    "table cap": (HEAD + "1 " + " ^ ".join(f"friends(x{i},y{i})" for i in range(21)), "cap"),
    "division by zero": (HEAD + "1/(|person|-2) smokes(x)", "not a finite number"),
    "no weight": (HEAD + "smokes(x) => smokes(y)", "weight"),
    "two sorts": (HEAD + "city(place)\nplace = 3\n1 smokes(x) ^ city(x)", "use two variables"),
}


@pytest.mark.parametrize(("text", "message"), BAD_MODELS.values(), ids=BAD_MODELS)
def test_bad_models(shell: Shell, text: str, message: str) -> None:
    code, out, err = shell("query", "-", stdin=text)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


LONG = 300 * "x"
BAD_CALLS = {
    "a network as a model": (("graph", "net.uai"), "net.uai is a ground network"),
    "a via for a network": (("query", "net.uai", "--via", "lifted"), "--via"),
    "a cap for a network": (("query", "net.uai", "--table-cap", "9"), "--table-cap"),
    "long name of evidence": (
        ("query", SMOKERS, "-n", "person=3", "-e", f"{LONG}.csv"),
        "name too long",
    ),
    "long name of a table": (
        ("query", SMOKERS, "-n", "person=3", "--all", f"{LONG}.csv"),
        f"cannot write {LONG[:100]}",
    ),
    "auto and a predicate": (
        ("query", SMOKERS, "-n", "person=3", "--sum-over", "auto", "--sum-over", "smokes"),
        "auto alone",
    ),
    "far too many points": (
        ("sweep", SMOKERS, "-n", "person=2..9", "--points", "9999999999", "-o", "never.csv"),
        "at most 1000000",
    ),
    "size zero": (("query", SMOKERS, "-n", "person=0"), "at least 1"),
    "negative size": (("query", SMOKERS, "-n", "person=-3"), "at least 1"),
    "size not a number": (("query", SMOKERS, "-n", "person=many"), "whole number"),
    "fractional size": (("query", SMOKERS, "-n", "person=2.5"), "whole number"),
    "infinite size": (("query", SMOKERS, "-n", "person=inf"), "whole number"),
    "no equals sign": (("query", SMOKERS, "-n", "person"), "SORT=SIZE"),
    "size twice": (("query", SMOKERS, "-n", "person=3", "-n", "person=4"), "twice"),
    "unknown sort": (("query", SMOKERS, "-n", "people=3"), "unknown sort people"),
    "missing size": (("query", SMOKERS), "no size"),
    "undeclared query": (("query", SMOKERS, "-n", "person=3", "-q", "knows(x,y)"), "knows"),
    "malformed query": (("query", SMOKERS, "-n", "person=3", "-q", "smokes(x"), "<query>:1:"),
    "unknown constant": (("query", SMOKERS, "-n", "person=3", "-q", "smokes(Anna)"), "Anna"),
    "not held": (
        (
            "query",
            SMOKERS,
            "-n",
            "person=3",
            *QUICK,
            "-q",
            "smokes(x) ^ (EXIST y friends(x,y))",
        ),
        "its quantifier ranges over all objects",
    ),
    "missing file": (("query", "no-such.mln"), "no-such.mln"),
    "directory": (("query", str(MODELS)), "cannot read"),
    "unknown family": (("query", SMOKERS, "-n", "person=3", "--regions", "all"), "intersections"),
    "bad damping": (("query", SMOKERS, "-n", "person=3", "--damping", "1"), "damping"),
    "bad tolerance": (("query", SMOKERS, "-n", "person=3", "--tol", "nan"), "tol"),
    "no iterations": (("query", SMOKERS, "-n", "person=3", "--iterations", "0"), "iterations"),
    "unknown solver": (("query", SMOKERS, "-n", "person=3", "--solver", "best"), "descent"),
    "reversed range": (
        ("sweep", SMOKERS, "-n", "person=9..2", "-o", "never.csv"),
        "is reversed",
    ),
    "empty range": (("sweep", SMOKERS, "-n", "person=", "-o", "never.csv"), "SORT=RANGE"),
    "no points": (
        ("sweep", SMOKERS, "-n", "person=2..9", "--points", "0", "-o", "never.csv"),
        "at least 1",
    ),
    "unwritable output": (
        ("sweep", SMOKERS, "-n", "person=2..9", "-o", "no/such/folder/s.csv"),
        "cannot write",
    ),
    "unknown format": (("sweep", SMOKERS, "-n", "person=2", "-o", "s.xls"), ".parquet"),
    "a file where a directory belongs": (("reproduce", "-o", SMOKERS), "cannot write to"),
    "a range for a query": (("query", SMOKERS, "-n", "person=2..9"), "liftgbp sweep"),
    "unknown weight": (("query", SMOKERS, "-n", "person=2", "-w", "a=1"), "$a"),
    "counts beyond floats": (("query", CHAIN, "-n", "person=1e90"), "too large"),
    "nothing to answer": (
        ("query", SMOKERS, "-n", "person=3", "-q", "smokes(x) | x != x"),
        "no obj",
    ),
    "no iterations to compare": (
        ("check", CHAIN, "-n", "person=4", "--messages", "--iterations", "0"),
        "at least",
    ),
    "unknown option": (("query", SMOKERS, "--people", "3"), "--people"),
    "too large to check": (
        ("check", SMOKERS, "-n", "person=1e9", "--messages"),
        "plain grounding",
    ),
    "queries for messages": (
        ("check", SMOKERS, "-n", "person=3", "--messages", "-q", "smokes(x)"),
        "--messages",
    ),
    "no amount of memory": (
        ("query", SMOKERS, "-n", "person=3", "--memory", "much"),
        "'much' is no amount of memory; give gigabytes",
    ),
    "no memory": (("query", SMOKERS, "-n", "person=3", "--memory", "0MB"), "no amount of memory"),
    "objects beyond the cap": (
        ("query", SMOKERS, "-n", "person=9", "--regions", "objects:6"),
        "above the cap",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_bad_calls(shell: Shell, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = shell(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_include_cycle(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.mln").write_text('#include "b.mln"\n')
    (tmp_path / "b.mln").write_text('#include "a.mln"\n')
    code, _, err = shell("query", str(tmp_path / "a.mln"))
    assert code == 2
    assert "includes" in err or "cycle" in err


# Flooding oscillates for ever on this model.
ENDLESS = ("query", "-", "-n", "person=6", "--solver", "flooding", "--iterations", "1000000000")


def feed(process: subprocess.Popen[str], model: str) -> None:
    """Hand over more than a pipe holds: once it is written, the program is past its imports."""
    assert process.stdin is not None
    process.stdin.write(model + "\n" + "// and so on\n" * 50_000)
    process.stdin.flush()


@pytest.mark.slow
def test_interrupt_ends_cleanly() -> None:
    command = processes.hearing_interrupts(sys.executable, "-m", "liftgbp", *ENDLESS)
    with processes.started(command) as process:
        feed(process, (MODELS / "transitive.mln").read_text(encoding="utf-8"))
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=processes.TIMEOUT)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "interrupted"


@pytest.mark.slow
def test_background_jobs_go_on() -> None:
    """Where a shell started it with Ctrl-C ignored, the program respects that."""
    query = ("query", "-", "-n", "person=3", "--json")
    command = processes.ignoring_interrupts(sys.executable, "-m", "liftgbp", *query)
    with processes.started(command) as process:
        feed(process, "p(person)\n1 p(x)")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate("", timeout=processes.TIMEOUT)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["trusted"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [f"query {SMOKERS} -n person=4", "--help"])
def test_a_closed_pipe_ends_the_program_as_sigpipe_would(arguments: str) -> None:
    command = f"{sys.executable} -m liftgbp {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = processes.run(["bash", "-c", command])
    assert done.stdout.strip() == "141"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--exact --no-exact", "--exact and --no-exact exclude each other"),
        ("--exact --regions bethe", "leaves nothing to choose: regions"),
        ("--exact -n person=1e6", "leave --exact (exact=True in Python) out"),
    ],
)
def test_refusals_of_exact_answers_name_options(shell: Shell, options: str, message: str) -> None:
    sizes = [] if "-n" in options else ["-n", "person=4"]
    code, _, err = shell("query", SMOKERS, *options.split(), *sizes)
    assert message in err
    assert code == 2


@pytest.mark.slow
def test_unwritable_standard_output() -> None:
    command = f"{sys.executable} -m liftgbp query {SMOKERS} -n person=4 > /dev/full"
    done = processes.run(["bash", "-c", command])
    assert done.returncode == 2
    assert "cannot write the answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_quoted_constants_are_told_from_variables(shell: Shell) -> None:
    text = 'a = {"x", "Anna Lee"}\np(a)\n1 p("x") ^ p("Anna Lee")'
    _, out, _ = shell("query", "-", "-n", "a=3", "--json", stdin=text)
    atoms = [row["atom"] for row in json.loads(out)["answers"]]
    assert atoms == ['p("x")', 'p("Anna Lee")', "p(x)"]


def test_many_values_stand_below_each_other(shell: Shell) -> None:
    query = "smokes(y) | friends(x,y), smokes(x), x != y"
    _, out, _ = shell("query", SMOKERS, "-n", "person=4", "-q", query)
    assert "true | true,false" in out
    assert "…" not in out


def test_flooding_beyond_double_precision_says_so(shell: Shell) -> None:
    text = "rain\nwet(a)\n2/|a| rain => wet(x)"
    code, out, _ = shell("query", "-", "-n", "a=1e17", "--solver", "flooding", stdin=text)
    assert code == 1
    assert "exceed double precision" in out
    # Of a star the answer is known: P(rain) is 1 / (1 + e) for many objects.
    code, out, _ = shell("query", "-", "-n", "a=1e12", "--json", stdin=text)
    assert code == 0
    rain = probability(json.loads(out)["answers"][0], "true")
    assert rain == pytest.approx(0.2689414213699951, abs=1e-8)


@pytest.mark.parametrize("query", ["hates(x)", "smokes(x,y)", "smokes(x"])
def test_wrong_queries_are_refused_before_the_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def never(*arguments: object, **options: object) -> None:
        pytest.fail("the run was started")

    monkeypatch.setattr(liftgbp, "infer", never)
    code, _, err = shell("query", SMOKERS, "-n", "person=5", "-q", query)
    assert code == 2
    assert "<query>:1:" in err


@pytest.mark.slow
@pytest.mark.parametrize("query", ["x9", "x0(a)", "x0 ^", "smokes(x)"])
def test_wrong_queries_of_networks_are_refused_before_the_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str
) -> None:
    def never(*arguments: object, **options: object) -> None:
        pytest.fail("the run was started")

    network = str(tmp_path / "net.uai")
    assert shell("export", SMOKERS, "-n", "person=2", "-o", network)[0] == 0
    assert shell("query", network, "-q", "x0")[0] == 0
    monkeypatch.setattr("liftgbp.ground.compress.ground_region_graph", never)
    code, _, err = shell("query", network, "-q", "x0", "-q", query)
    assert code == 2
    assert "<query>:1:" in err


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--solver", "flooding"), "--solver descent"), (("--sum-over", "smokes"), "each count")],
)
def test_where_there_are_no_minima_to_show(
    shell: Shell, options: tuple[str, ...], reason: str
) -> None:
    code, out, _ = shell("query", SMOKERS, "-n", "person=5", "--minima", *options)
    assert code in (0, 6)
    assert "no minima to show" in out
    assert reason in out


@pytest.mark.parametrize(
    ("standing", "expected"), [(Standing.UNCONFIRMED, 0), (Standing.REFUSED, 1)]
)
def test_checks_of_smaller_domains_say_nothing_about_refused_answers(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, standing: Standing, expected: int
) -> None:
    answers = SimpleNamespace(standing=standing)
    found = SimpleNamespace(agrees=True, is_smaller=True, answers=answers, as_dict=dict)
    monkeypatch.setattr("liftgbp.check", lambda **_: found)
    code, _, _ = shell("check", SMOKERS, "-n", "person=1e6", "--json")
    assert code == expected
