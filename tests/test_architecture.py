"""The rooms import only rooms before them, and the public surface is what it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import liftgbp

SOURCE = Path(liftgbp.__file__).parent
ALLOWED = {
    "errors": set(),
    "model": {"errors"},
    "shatter": {"errors", "model"},
    "signature": {"errors"},
    "regions": {"errors", "model", "shatter", "signature"},
    "plan": {"errors", "model", "regions"},
    "solve": {"errors", "plan"},
    "query": {"errors", "model", "shatter", "signature", "regions", "plan", "solve"},
    "reference": {"errors", "model"},
    "api": {"errors", "model", "shatter", "regions", "plan", "solve", "query"},
    "sweeps": {"errors", "model", "shatter", "regions", "plan", "solve", "query"},
    "check": {
        *("errors", "model", "shatter", "signature", "regions", "plan", "solve", "query"),
        *("api", "reference"),
    },
    "reproduce": {
        *("errors", "model", "shatter", "signature", "regions", "plan", "solve", "query"),
        *("api", "reference", "check"),
    },
    "cli": {"the public surface"},
    "__main__": {"cli"},
}


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
        assert imported_rooms(path) <= ALLOWED[room] | {room}


def test_every_room_is_on_the_architecture_page() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in SOURCE.iterdir():
        if path.name not in {"__init__.py", "__main__.py", "__pycache__", "py.typed"}:
            name = f"{path.name}/" if path.is_dir() else path.name
            assert f"`{name}" in page or f"`{path.stem}.py`" in page, name


def test_public_surface() -> None:
    assert sorted(liftgbp.__all__) == [
        "Answer",
        "Answers",
        "CapacityError",
        "CheckReport",
        "ContradictionError",
        "InputError",
        "LiftedRegionGraph",
        "Model",
        "ModelBuilder",
        "ModelError",
        "Point",
        "QueryError",
        "Reproduction",
        "SizeError",
        "Solution",
        "Status",
        "Sweep",
        "SweepPoint",
        "SweepRow",
        "Verdict",
        "build_regions",
        "check",
        "infer",
        "load",
        "parse",
        "reproduce",
        "shatter",
        "size_range",
        "sweep",
        "sweep_to_file",
        "weight_range",
    ]
    assert all(hasattr(liftgbp, name) for name in liftgbp.__all__)
