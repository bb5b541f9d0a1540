"""Imports point one way: a subpackage imports only from subpackages to its left."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "counterpoise"
ORDER = (
    *("errors", "foundation", "description", "dynamics", "recording", "fitting", "doctor", "identification"),
    *("sensing", "control", "plants", "tasks", "lab", "report", "view", "exporters", "cli"),
)
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem == "errors")


def subpackage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_subpackages(path: Path) -> set[str]:
    """Subpackages of counterpoise that a module imports, whether relatively or by full name, lazily or not."""
    package = ("counterpoise", *path.relative_to(SOURCE).parts[:-1])
    subpackages = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            head = ".".join(part for part in (stem, node.module or "") if part)
            names = [head, *(f"{head}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "counterpoise" and len(parts) > 1 and parts[1] in ORDER:
                subpackages.add(parts[1])
    return subpackages


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path: Path) -> None:
    """A module imports from its own subpackage or from those before it."""
    subpackage = subpackage_of(path)
    assert subpackage in ORDER, f"{path} lives in a subpackage that ORDER does not know"
    allowed = set(ORDER[: ORDER.index(subpackage) + 1])
    assert imported_subpackages(path) <= allowed


def test_the_check_sees_imports() -> None:
    """The parser finds relative and absolute imports, so the test above can fail."""
    assert imported_subpackages(SOURCE / "dynamics" / "robot.py") == {"errors", "foundation", "description", "dynamics"}


def test_a_class_name_means_one_thing() -> None:
    """No two public classes of the package share a name, whichever subpackage they live in."""
    places: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_picture_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/figures/architecture.svg is what its script draws from the code of today."""
    figures = SOURCE.parents[1] / "docs" / "figures"
    spec = importlib.util.spec_from_file_location("make_architecture", figures / "make_architecture.py")
    assert spec is not None and spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, drawing)  # its dataclasses look their module up
    spec.loader.exec_module(drawing)
    assert ORDER[1:] == drawing.ORDER
    for step in (step for flow in drawing.FLOWS for step in flow.steps):
        assert step.name in importlib.import_module(f"counterpoise.{step.subpackage}").__all__
    written = (figures / "architecture.svg").read_text(encoding="utf-8")
    assert written == drawing.picture(), "run: python docs/figures/make_architecture.py"
