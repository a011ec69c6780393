"""What is done with strangers' models has limits, unless others are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import liftgbp
from liftgbp import Limits
from liftgbp.support.limits import Watch


@pytest.mark.slow
def test_strangers_models_have_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever gives no limits gets those for strangers; whoever gives some gets these."""
    text = "p(thing)\n1 p(x)\n"
    seen: list[Limits] = []

    class Noted(Watch):
        def __init__(self, limits: Limits, outer: Watch | None = None, **rest: Any) -> None:
            super().__init__(limits, outer, **rest)
            seen.append(limits)

    monkeypatch.setattr("liftgbp.support.limits.Watch", Noted)
    trusted, untrusted = liftgbp.parse(text), liftgbp.parse(text, untrusted=True)
    assert seen == [Limits.for_strangers()]
    assert trusted == untrusted
    sizes = {"thing": 2}
    path = tmp_path / "net.uai"
    calls: list[Callable[..., object]] = [
        lambda model, **options: liftgbp.infer(model, sizes, **options),
        lambda model, **options: liftgbp.infer(model.with_weights({}), sizes, **options),
        lambda model, **options: liftgbp.infer(model=model, sizes=sizes, **options),
        lambda model, **options: liftgbp.prepare(model, sizes, **options),
        lambda model, **options: liftgbp.bounds(model, sizes, **options),
        lambda model, **options: liftgbp.check(model, sizes, **options),
        lambda model, **options: liftgbp.sample(model, sizes, sweeps=64, **options),
        lambda model, **options: list(liftgbp.sweep(model, sizes, **options)),
        lambda model, **options: liftgbp.sweep_to_file(
            model, tmp_path / "out.csv", sizes, **options
        ),
        lambda model, **options: liftgbp.export_network(model, path, sizes, **options),
        lambda model, **options: liftgbp.parse_evidence(model, "p(A)", **options),
        liftgbp.load_evidence,
    ]
    for call in calls:
        seen.clear()
        call(trusted)
        assert seen == []
        call(untrusted)
        assert seen == [Limits.for_strangers()]
        call(untrusted, limits=Limits(seconds=99))
        assert seen == [Limits.for_strangers(), Limits(seconds=99)]
    answers = liftgbp.infer(untrusted, sizes)
    reads: list[Callable[[], object]] = [
        answers.to_columns,
        answers.to_frame,
        answers.to_arrow,
        lambda: answers.write_all(tmp_path / "all.csv"),
        lambda: answers.top("p(x)"),
        lambda: answers.query("p(x)"),
    ]
    for read in reads:
        seen.clear()
        read()
        assert seen == [Limits.for_strangers()]
    network = liftgbp.load_network(path, untrusted=True)
    seen.clear()
    liftgbp.infer(network)
    assert seen == [Limits.for_strangers()]


@pytest.mark.slow
def test_tables_of_all_atoms_end_within_limits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A million atoms take ten batches; the time is over at the second look at the watch."""
    model = liftgbp.parse("p(thing)\n1 p(x)\n", untrusted=True)
    answers = liftgbp.infer(model, {"thing": 10**6})
    looks: list[int] = []

    def check(watch: Watch) -> None:
        looks.append(1)
        if len(looks) > 2:
            raise watch.exceeded("seconds")

    monkeypatch.setattr(Watch, "check", check)
    for read in (answers.to_columns, lambda: answers.write_all(tmp_path / "all.csv")):
        looks.clear()
        with pytest.raises(liftgbp.LimitExceeded, match="answering"):
            read()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "seconds", "memory"),
    [
        (["--untrusted"], 10, 2),
        (["--untrusted", "--timeout", "99"], 99, 2),
        (["--untrusted", "--memory", "9"], 10, 9),
    ],
)
def test_untrusted_runs_of_commands_have_limits(
    monkeypatch: pytest.MonkeyPatch, options: list[str], seconds: float, memory: float
) -> None:
    from liftgbp.cli import entry, run_limits

    seen: list[Limits] = []
    monkeypatch.setattr(run_limits, "run_within", lambda limits, work: seen.append(limits) or 0)
    monkeypatch.setattr("sys.argv", ["liftgbp", "query", "example:chain", *options])
    with pytest.raises(SystemExit):
        entry.main()
    assert seen == [Limits(seconds, memory)]
