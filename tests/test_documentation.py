"""Every example in the README and the docs runs and prints what is written there."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import liftgbp
from liftgbp.cli import main
from liftgbp.cli.commands import cli
from liftgbp.cli.entry import UNCONFIRMED

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str | Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose_of(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", text_of(page))


def blocks(kind: str) -> list[pytest.param]:
    return [
        pytest.param(match[2], id=f"{name_of(page)}-{match.start()}")
        for page in PAGES
        for match in FENCE.finditer(text_of(page))
        if match[1] == kind
    ]


@pytest.fixture(autouse=True)
def _in_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples may write files, so they run in a folder that looks like the repository."""
    (tmp_path / "docs" / "img").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


# --- examples


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples(page: Path) -> None:
    text = "\n".join(m[2] for m in FENCE.finditer(text_of(page)) if m[1] == "python")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def without_times(text: str) -> list[str]:
    """The lines without what differs between machines: times, and how rounding ended a run."""
    text = re.sub(r"(?<![\d.])\d+(\.\d+)?(e-\d+)? s\b", "0 s", text)
    text = re.sub(r"after \d+ iterations", "after some iterations", text)
    text = re.sub(r"difference is (0|\d\.\de-1[5-9])\b", "difference is rounding", text)
    text = re.sub(r"residual \d\.\de[+-]\d+", "residual small", text)
    lines = (re.sub(r"[ ━─]+", " ", line).rstrip() for line in text.splitlines())
    return [line for line in lines if line]


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command line."""
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("console"))
def test_console_examples(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if command == "echo $?":
            assert code == int(expected)
            continue
        code = run(command, monkeypatch)
        assert without_times(capsys.readouterr().out) == without_times(expected)


def shell_commands() -> Iterator[pytest.param]:
    """The commands of shell blocks that run liftgbp."""
    for block in blocks("sh"):
        for line in block.values[0].replace("\\\n", " ").splitlines():
            if line.startswith("liftgbp "):
                yield pytest.param(line, id=f"{block.id}: {line.split()[1]}")


@pytest.mark.slow
@pytest.mark.parametrize("command", list(shell_commands()))
def test_shell_examples(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("net.uai", "net.fg.gz"):
        liftgbp.export_network(liftgbp.load("example:friends-smokers"), name, {"person": 3})
    Path("net.uai.evid").write_text("1  0 1")
    assert run(command, monkeypatch) in (0, UNCONFIRMED)
    words = shlex.split(command)
    if "-o" in words:
        assert Path(words[words.index("-o") + 1]).stat().st_size


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_code_are_run(page: Path) -> None:
    """Python, console and shell blocks are; other blocks show what is no code."""
    kinds = re.findall(r"^```(\S*)\n.*?^```$", text_of(page), re.MULTILINE | re.DOTALL)
    directives = {"{options}", "{public}", "{include}"}
    assert set(kinds) <= {"python", "console", "sh", "text", "bibtex"} | directives


def test_pictures_are_complete() -> None:
    for picture in (ROOT / "docs" / "img").iterdir():
        text = picture.read_text(encoding="utf-8")
        assert "<svg" in text
        assert text.rstrip().endswith("</svg>")
        assert len(text) < 60_000


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"`make ([a-z]+)`", prose_of(page)):
            assert target in targets, f"{page.name}: make {target}"


def test_the_model_of_the_town_is_shown() -> None:
    shown = next(m[2] for m in FENCE.finditer(text_of("docs/town.md")) if m[1] == "text")
    town = liftgbp.load("example:town")
    assert str(liftgbp.parse(shown, name="town.mln")) == str(town)


def test_the_language_page_is_a_model() -> None:
    block = next(match[2] for match in FENCE.finditer(text_of("docs/language.md")))
    model = liftgbp.parse(block)
    assert set(model.predicates) == {"friends", "likes", "mood", "rain", "knows"}
    assert len(model.rules) == 8


def test_the_evidence_page_shows_facts() -> None:
    language = next(match[2] for match in FENCE.finditer(text_of("docs/language.md")))
    model = liftgbp.parse(language + "\nsmokes(person)\n")
    block = next(match[2] for match in FENCE.finditer(text_of("docs/evidence.md")))
    evidence = liftgbp.parse_evidence(model, block)
    assert set(evidence.hard) == {"smokes", "friends", "mood", "rain"}
    assert set(evidence.soft) == {"smokes"}


# --- what pages name


def test_pages_name_public_names_only() -> None:
    for page in PAGES:
        for name in re.findall(r"\bliftgbp\.([A-Za-z_]+)\b(?!\.[a-z])", text_of(page)):
            assert hasattr(liftgbp, name), f"{page.name}: liftgbp.{name}"


def test_the_api_page_has_every_public_name_once() -> None:
    lists = re.findall(r"^```\{public\}\n(.*?)^```$", text_of("docs/api.md"), re.M | re.S)
    assert sorted(" ".join(lists).split()) == liftgbp.__all__


@pytest.mark.parametrize("name", liftgbp.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    """The doctests of the sources run it. It can be pasted: it imports what it uses."""
    example = getattr(liftgbp, name).__doc__ or ""
    assert ">>> import liftgbp\n" in example
    assert "from liftgbp" not in example


def test_options_in_the_pages_exist() -> None:
    known = {"--version", "--help"}
    for command in cli.every_command().values():
        known |= {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
    for page in PAGES:
        for option in re.findall(r"(?<![-\w])--[a-z][-a-z]*", text_of(page)):
            if not re.search(rf"(ruff|mypy|hunting\.py|benchmarks)[^`]*\s{option}", text_of(page)):
                assert option in known, f"{page.name}: {option}"


def fields(value: object, prefix: str = "") -> set[str]:
    """The dotted names of all fields of a JSON value."""
    if isinstance(value, list):
        return {name for one in value for name in fields(one, prefix)}
    if not isinstance(value, dict):
        return set()
    own = {f"{prefix}{key}" for key in value}
    return own.union(*(fields(one, f"{prefix}{key}.") for key, one in value.items()))


@pytest.mark.slow
def test_the_json_fields_are_on_the_command_line_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = set(re.findall(r"^\| `([a-z_.]+)` \|", text_of("docs/command-line.md"), re.MULTILINE))
    found: set[str] = set()
    for options in (
        "example:friends-smokers -n person=6 -q smokes(x) --regions auto --table-cap 100",
        "example:friends-smokers -n person=6 --sum-over auto --bounds --second-opinion 1",
        "example:transitive -n person=40 --effort normal",
        "example:smoking-network -e example:smoking-network.db --closed friends",
        "example:town -n person=1000 --known smokes(x)=300",
        "example:friends-smokers -n person=6 -q #{x:smokes(x)}",
        "example:transitive -n person=7",
    ):
        run(f"liftgbp query {options} --json", monkeypatch)
        found |= fields(json.loads(capsys.readouterr().out))
    of_verdict = {name.partition(".")[2] for name in listed if name.startswith("verdict.")}
    rows = (
        "growth.steps.answers.",
        "effort.quick.answers.",
        "parts.verdict.",
        "parts.minima.",
    )
    found = {name for name in found if not name.startswith((*rows, "domains."))}
    assert found == listed | {f"minima.{name}" for name in of_verdict}


def test_every_kind_and_status_is_on_the_trust_page() -> None:
    page = text_of("docs/trust.md")
    for value in (*liftgbp.Kind, *liftgbp.Status):
        assert f"`{value.value}`" in page


def test_files_in_the_pages_exist() -> None:
    files = [str(file.relative_to(ROOT)) for file in ROOT.glob("[bdst]*/**/*.py")]
    for page in PAGES:
        for named in re.findall(r"`([\w/]+\.pyi?)`", prose_of(page)):
            assert any(f"/{file}".endswith(f"/{named}") for file in files), f"{page.name}: {named}"


def test_changelog_names_the_version() -> None:
    assert f"## {liftgbp.__version__}" in text_of("CHANGELOG.md")


def test_the_citation_is_complete() -> None:
    """What the Citation File Format requires, and that it is about this version and the paper."""
    cited = yaml.safe_load(text_of("CITATION.cff"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == liftgbp.__version__
    paper = cited["preferred-citation"]
    for work in (cited, paper):
        assert work["type"] in ("software", "article")
        assert work["title"]
        for author in work["authors"]:
            assert author.keys() & {"name", "family-names"}
    assert cited["message"]
    for words in (paper["title"], str(paper["year"]), "1610.01525"):
        assert words in text_of("CITATION.cff")
        assert words in text_of("docs/citing.md")


# --- links


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        found = page.parent / target if target else page
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


def test_the_index_links_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)\)", text_of("docs/index.md")))
    assert linked == {page.name for page in DOCS} - {"index.md"}
