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
support pictures model evidence
lift.shatter lift.signature lift.regions lift.via
ground.grounding ground.formats ground.compress
plan solve posterior
methods.series methods.counting methods.blocks methods.exact methods.sampling methods.effort
methods.communities methods.bounding
worlds.optimum worlds.ground worlds.blocks worlds.proofs worlds
strategy report api engines sweeps
oracle.reference oracle.messages oracle.checking oracle.world_checking oracle.reproduction
cli __main__
"""
"""The rooms, with the parts of large ones; each may import those before it."""

PLACES = ORDER.split()

NARROW = {
    "solve": {"support", "plan"},
    "oracle.reference": {"support", "model", "evidence"},
    "cli": {"the public surface", "support", "pictures"},
    "__main__": {"cli"},
}
"""Rooms that may import less, and what. `reference` shares no code with what it tests."""

LATER = {"support/shown.py": {"report"}}
"""What is imported only once a value is shown."""

DRAWS_NOTHING = {"solve", "posterior", "methods", "strategy"}


def place_of(module: str) -> str:
    """The room of a module, or its part of a large room."""
    parts = module.split(".")[1:]
    if not parts:
        return "the public surface"
    dotted = ".".join(parts[:2])
    return dotted if dotted in PLACES else parts[0]


def imported_places(path: Path) -> set[str]:
    places = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            # Names of a room itself may be its parts.
            parts = [f"{module}.{alias.name}" for alias in node.names]
            names = (
                parts if module.count(".") < 1 or module.split(".")[1] not in PLACES else [module]
            )
        else:
            continue
        places |= {place_of(name) for name in names if name.split(".")[0] == "liftgbp"}
    return places


def module_of(path: Path) -> str:
    return ".".join(["liftgbp", *path.relative_to(SOURCE).with_suffix("").parts])


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix()
)
def test_imports_go_one_way(path: Path) -> None:
    place = place_of(module_of(path))
    imported = imported_places(path)
    if place not in PLACES:
        assert path.name == "__init__.py"
        assert not imported or path.parent == SOURCE
        return
    allowed = NARROW.get(place, set(PLACES[: PLACES.index(place)]))
    later = LATER.get(path.relative_to(SOURCE).as_posix(), set())
    assert imported <= allowed | later | {place}


@pytest.mark.parametrize("room", sorted(DRAWS_NOTHING))
def test_engine_rooms_draw_nothing(room: str) -> None:
    for path in (SOURCE / room).rglob("*.py"):
        assert imported_places(path).isdisjoint({"pictures", "report"}), path


def test_rooms_say_what_they_take_and_give() -> None:
    rooms = {place.split(".")[0] for place in PLACES} - {"api", "__main__"}
    assert rooms == {
        path.name for path in SOURCE.iterdir() if path.joinpath("__init__.py").exists()
    }
    assert len(rooms) <= 17
    for room in rooms:
        text = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text("utf-8")))
        assert text and all(word in text for word in ("Takes", "gives", "mports")), room


def test_no_two_source_files_share_a_name() -> None:
    count = Counter(path.name for path in SOURCE.rglob("*.py"))
    assert {name for name, number in count.items() if number > 1} <= {"__init__.py"}


PARTS = [place for place in PLACES if (SOURCE / place.replace(".", "/")).is_dir()]


@pytest.mark.parametrize("place", PARTS)
def test_no_room_exports_a_name_of_its_modules(place: str) -> None:
    modules = {path.stem for path in (SOURCE / place.replace(".", "/")).glob("*.py")}
    assert modules.isdisjoint(getattr(import_module(f"liftgbp.{place}"), "__all__", []))


def test_every_room_is_on_the_architecture_page() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for place in PLACES[:-1]:
        room, _, part = place.partition(".")
        assert f"`{room}" in page and part in page, place


def test_public_surface() -> None:
    assert liftgbp.__all__ == [
        "Algorithm",
        "Answer",
        "Answers",
        "Auto",
        "BestWorld",
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
        "RuleInWorld",
        "Sample",
        "SampledAnswer",
        "SizeError",
        "Solution",
        "Standing",
        "Status",
        "Sweep",
        "SweepPoint",
        "SweepRow",
        "UntrustedAnswer",
        "UntrustedAnswerError",
        "Verdict",
        "WorkerError",
        "WorldBlock",
        "WorldCheck",
        "WorldStructure",
        "best_world",
        "bounds",
        "check",
        "check_messages",
        "check_world",
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


@pytest.mark.slow
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
