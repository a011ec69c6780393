"""The documentation builds as a site without a warning, and the site needs no other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from browser import rendered
from liftgbp.cli.commands import cli

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, links and can be linked by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given["id"]} if "id" in given else set()
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if LOADED.get(tag, "") in given:
            self.loads.add(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", f"{folder}/doctrees", "docs", f"{folder}/html"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert not built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file.read_text(encoding="utf-8")) for file in site.glob("*.html")}


def test_every_page_is_in_the_site(pages: dict[Path, Page]) -> None:
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= {file.stem for file in pages}


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        assert page.loads, file.name
        for address in page.loads:
            parts = urlsplit(address)
            assert not parts.scheme and not parts.netloc, f"{file.name} loads {address}"
            found = file.parent / unquote(parts.path) if parts.path else file
            assert found.is_file(), f"{file.name} loads {address}"
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\([\"']?([^\"')]+)|@import\s+([^;]+)", sheet.read_text()):
            named = "".join(address)
            assert named.startswith("data:") or (sheet.parent / named).is_file(), named


def test_every_option_is_in_the_site(site: Path) -> None:
    text = (site / "options.html").read_text(encoding="utf-8")
    shown = set(re.findall(r"--[a-z][-a-z]*|(?<![-\w])-[a-z]\b", unescape(text)))
    for name, command in cli.every_command().items():
        assert f'id="{name}"' in text
        assert {
            option for one in command.params for option in one.opts if option[0] == "-"
        } <= shown


def test_links_within_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = file.parent / unquote(parts.path) if parts.path else file
            assert target.is_file(), f"{file.name} links {address}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{file.name}: {address}"


# --- in a browser

MEASURE = """
<script>
window.addEventListener("load", () => {
  const root = document.documentElement;
  const sizes = [...document.querySelectorAll("math")].map((one) => one.getBoundingClientRect());
  const pictures = [...document.querySelectorAll("article img")];
  document.body.dataset.found = JSON.stringify({
    beyond: root.scrollWidth - root.clientWidth,
    formulas: sizes.length,
    empty: sizes.filter((one) => one.width < 2 || one.height < 5).length,
    missing: pictures.filter((one) => !one.naturalWidth).map((one) => one.src),
    heading: document.querySelector("h1").getBoundingClientRect().height,
  });
});
</script>
"""


@pytest.mark.parametrize(
    ("name", "width"), [("mathematics", 1300), ("mathematics", 500), ("accuracy", 500)]
)
def test_pages_in_a_browser(site: Path, tmp_path: Path, name: str, width: int) -> None:
    for folder in ("_static", "_images"):
        (tmp_path / folder).symlink_to(site / folder)
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    shown = rendered(text.replace("</body>", f"{MEASURE}</body>"), tmp_path, width)
    match = re.search(r'data-found="([^"]*)"', shown)
    assert match is not None
    found = json.loads(unescape(match[1]))
    assert found["beyond"] <= 0  # wide tables and formulas scroll by themselves
    assert found["empty"] == 0
    assert found["missing"] == []
    assert found["heading"] > 20
    assert (found["formulas"] > 50) == (name == "mathematics")
