"""The rooms import only rooms before them, and the public surface is what it is."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import liftgbp
import processes

SOURCE = Path(liftgbp.__file__).parent
ORDER = """
errors texts shown pictures limits arrays progress workers files charts input_files
example_models
model evidence shatter signature grounding formats regions compress plan
solve opinions posterior
reference via series counting blocks exact sampling effort bounding
strategy report fitting api
forecasting engines sweeps messages checking reproduction
cli __main__
"""
"""All rooms; each may import those before it."""

ROOMS = ORDER.split()

MODEL = {"errors", "limits", "arrays", "model", "evidence"}
DRAWING = {"texts", "pictures", "charts"}
NARROW = {
    "reference": MODEL,
    "exact": set(ROOMS) - DRAWING - {"reference"},
    "strategy": set(ROOMS) - DRAWING,
    "cli": {"the public surface", "limits", "files", "texts"},
    "__main__": {"cli"},
}
"""Rooms that may import less, and what. The oracle shares no code with what it tests."""

LATER = {"shown": {"report"}}
"""What is imported only once a value is shown."""


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "liftgbp":
            names = [f"liftgbp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            package, *rest = name.split(".")
            if package == "liftgbp":
                rooms.add(rest[0] if rest else "the public surface")
    return rooms


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    if room != "__init__":
        before = set(ROOMS[: ROOMS.index(room) + 1])
        allowed = before & NARROW[room] if room in NARROW else before
        later = LATER.get(room, set()) | (NARROW.get(room, set()) - set(ROOMS))
        assert imported_rooms(path) <= allowed | {room} | later


@pytest.mark.parametrize(
    "room",
    ["solve", "posterior", "counting", "blocks", "exact", "bounding", "sampling", "limits.py"],
)
def test_engine_rooms_draw_nothing(room: str) -> None:
    files = [SOURCE / room, *(SOURCE / room).rglob("*.py")]
    for path in (path for path in files if path.is_file()):
        assert imported_rooms(path).isdisjoint({"pictures", "report"}), path


OWN_NAMES = {"shatter", "regions", "compress", "plan", "reference"}


def test_no_two_source_files_share_a_name() -> None:
    """So far in these rooms: a name says in which room to look."""
    count = Counter(path.name for path in SOURCE.rglob("*.py"))
    shared = [
        path for path in SOURCE.rglob("*.py") if count[path.name] > 1 and room_of(path) in OWN_NAMES
    ]
    assert {path.name for path in shared} <= {"__init__.py"}


@pytest.mark.parametrize("room", sorted(OWN_NAMES))
def test_no_room_exports_a_name_of_its_modules(room: str) -> None:
    modules = {path.stem for path in (SOURCE / room).glob("*.py")}
    assert modules.isdisjoint(import_module(f"liftgbp.{room}").__all__)


def test_every_room_is_on_the_architecture_page() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in SOURCE.iterdir():
        if path.stem not in {"__init__", "__main__", "__pycache__", "py"}:
            name = f"{path.name}/" if path.is_dir() else path.name
            assert f"`{name}" in page or f"`{path.stem}.py`" in page, name


def test_public_surface() -> None:
    assert liftgbp.__all__ == [
        "Algorithm",
        "Answer",
        "Answers",
        "Auto",
        "BlockPanel",
        "BlockStructure",
        "BlockedAtom",
        "Bounds",
        "BusyError",
        "CapacityError",
        "Check",
        "Comparison",
        "ContradictionError",
        "CountAnswer",
        "CountDistribution",
        "CountSum",
        "Descent",
        "EngineForecast",
        "EngineRun",
        "Evidence",
        "EvidenceError",
        "Finding",
        "Flaw",
        "Flooding",
        "Forecast",
        "InputError",
        "InternalError",
        "Kind",
        "LiftedRegionGraph",
        "LiftgbpError",
        "LimitExceeded",
        "Limits",
        "MessageCheck",
        "Model",
        "ModelBuilder",
        "ModelError",
        "Network",
        "NotHeldError",
        "Point",
        "Prepared",
        "ProbabilityBounds",
        "ProcessError",
        "QueryError",
        "Reproduction",
        "Sample",
        "SampledAnswer",
        "SizeError",
        "Solution",
        "Status",
        "Sweep",
        "SweepPoint",
        "SweepRow",
        "UntrustedAnswer",
        "UntrustedAnswerError",
        "Verdict",
        "WorkerError",
        "bounds",
        "check",
        "check_messages",
        "examples",
        "export_network",
        "fit_weights",
        "forecast",
        "forecast_on_engine",
        "infer",
        "load",
        "load_evidence",
        "load_network",
        "parse",
        "parse_evidence",
        "prepare",
        "reproduce",
        "run_on_engine",
        "sample",
        "sweep",
        "sweep_to_file",
    ]
    assert all(hasattr(liftgbp, name) for name in liftgbp.__all__)


def test_type_checkers_see_the_public_surface() -> None:
    tree = ast.parse(SOURCE.joinpath("__init__.py").read_text(encoding="utf-8"))
    (branch,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = [
        (alias.name, alias.asname, node.module)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(name for name, _, _ in imported) == liftgbp.__all__
    for name, shown, module in imported:
        assert name == shown
        assert getattr(liftgbp, name) is getattr(import_module(str(module)), name)


IMPORTS = """
import importlib, pkgutil, sys, types
import liftgbp

def import_modules():
    for found in pkgutil.walk_packages(liftgbp.__path__, "liftgbp."):
        if not found.name.endswith("__main__"):
            names = {}
            exec(f"import {found.name} as module", names)
            assert names["module"] is sys.modules[found.name], found.name

def use_names():
    for name in liftgbp.__all__:
        assert not isinstance(getattr(liftgbp, name), types.ModuleType), name

ORDER
"""


@pytest.mark.parametrize(
    "order", ["import_modules(); use_names()", "use_names(); import_modules()"]
)
def test_modules_and_public_names_do_not_collide(order: str) -> None:
    done = processes.run([sys.executable, "-c", IMPORTS.replace("ORDER", order)])
    assert done.returncode == 0, done.stderr


def test_unknown_public_names() -> None:
    assert set(liftgbp.__all__) <= set(dir(liftgbp))
    with pytest.raises(AttributeError, match="module 'liftgbp' has no attribute 'marginals'"):
        liftgbp.marginals  # type: ignore[attr-defined] # noqa: B018
