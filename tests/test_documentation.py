"""Every example in the README and the docs runs and prints what is written there."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

import liftgbp
from liftgbp.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[pytest.param]:
    return [
        pytest.param(match[2], id=f"{page.name}-{match.start()}")
        for page in PAGES
        for match in FENCE.finditer(page.read_text(encoding="utf-8"))
        if match[1] == kind
    ]


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path) -> None:
    text = "\n".join(m[2] for m in FENCE.finditer(page.read_text("utf-8")) if m[1] == "python")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def without_times(text: str) -> list[str]:
    """The lines without what differs between machines: times, and how rounding ended a run."""
    text = re.sub(r"\d+\.\d+ s\b", "0 s", text)
    text = re.sub(r"after \d+ iterations", "after some iterations", text)
    text = re.sub(r"residual \d\.\de[+-]\d+", "residual small", text)
    lines = (re.sub(r"[ ━─]+", " ", line).rstrip() for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("block", blocks("console"))
def test_console_examples(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit):
            main()
        assert without_times(capsys.readouterr().out) == without_times(expected)


def test_the_language_page_is_a_model() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    section = page[page.index("## The model language") :]
    block = next(match[2] for match in FENCE.finditer(section) if match[1] == "text")
    model = liftgbp.parse(block)
    assert set(model.predicates) == {"friends", "likes", "mood", "rain", "knows"}
    assert len(model.rules) == 8


def test_changelog_names_the_version() -> None:
    assert f"## {liftgbp.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
