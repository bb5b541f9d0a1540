"""What users rely on: the names, their documentation, a quick import."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import counterpoise as cp

NAMES = {
    "BaseSensor",
    "ControlLoop",
    "CounterpoiseError",
    "Gravity",
    "InputError",
    "Law",
    "Log",
    "ModelError",
    "OnlineGravity",
    "PD",
    "PDGravity",
    "PID",
    "PayloadEstimator",
    "Plant",
    "Rig",
    "Robot",
    "SafetyError",
    "Sample",
    "SimulatedArm",
    "TorqueLoop",
    "calibrate",
    "calibrate_sensor",
    "catalog",
    "design_poses",
    "diagnose",
    "export",
    "float_arm",
    "load",
    "load_calibration",
    "read_log",
    "record",
    "verify",
    "write_log",
}
SUBPACKAGES = {
    *("control", "description", "doctor", "dynamics", "exporters", "fitting", "identification", "lab", "plants"),
    *("recording", "report", "sensing", "tasks", "view"),
}
ROBOT_METHODS = [name for name, member in inspect.getmembers(cp.Robot) if not name.startswith("_") and callable(member)]


def test_top_level_names() -> None:
    """The top level holds the public names, the subpackages and the module of all exceptions, and nothing else."""
    assert set(cp.__all__) == NAMES
    assert set(dir(cp)) == {*NAMES, *SUBPACKAGES, "errors"}
    assert len(NAMES) <= 40


def test_names_of_functions_are_not_hidden_by_packages() -> None:
    """``cp.export`` and its like stay functions, whatever is imported before."""
    code = (
        "import counterpoise as cp, counterpoise.exporters.writing, counterpoise.identification.verification; "
        "print(callable(cp.export), callable(cp.verify))"
    )
    assert run_python(code).split() == ["True", "True"]


def test_exceptions_at_the_top_are_the_roots() -> None:
    """All that the package raises is caught as one of four names at the top; the kinds are in cp.errors."""
    kinds = [kind for _, kind in inspect.getmembers(cp.errors, inspect.isclass) if issubclass(kind, Exception)]
    assert len(kinds) > 10
    assert all(issubclass(kind, cp.CounterpoiseError) for kind in kinds)
    assert {name for name in NAMES if name.endswith("Error")} == {
        *("CounterpoiseError", "InputError", "ModelError", "SafetyError")
    }


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_is_documented(name: str) -> None:
    """Each public name has a docstring of its own."""
    assert inspect.getdoc(getattr(cp, name))


@pytest.mark.parametrize("name", ROBOT_METHODS)
def test_every_argument_is_documented(name: str) -> None:
    """Each method of Robot has a docstring that mentions each of its arguments."""
    method = getattr(cp.Robot, name)
    text = inspect.getdoc(method) or ""
    arguments = [parameter for parameter in inspect.signature(method).parameters if parameter != "self"]
    assert text
    if "Args:" in text or len(arguments) > 1:
        missing = [argument for argument in arguments if f"{argument}:" not in text]
        assert not missing


PACKAGES = [
    cp,
    *(importlib.import_module(f"counterpoise.{name}") for name in (*sorted(SUBPACKAGES), "foundation")),
]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_names_for_type_checkers_are_the_names_at_run_time(package: ModuleType) -> None:
    """Every lazily imported name is also imported, from the same module, for type checkers."""
    tree = ast.parse(inspect.getsource(package))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    lazily = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom) and node.module]
    for node in lazily:
        for item in node.names:
            source = importlib.import_module("." * node.level + str(node.module), package.__name__)
            assert item.asname == item.name
            assert getattr(package, item.name) is getattr(source, item.name)
    stated = {item.name for node in lazily for item in node.names}
    assert set(package.__all__) <= stated | set(vars(package))


def run_python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_is_quick() -> None:
    """Importing counterpoise costs less than 0.3 s of processor time beyond NumPy (best of three)."""
    code = "import time, numpy; t = time.process_time(); import counterpoise; print(time.process_time() - t)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.3


def test_import_is_light() -> None:
    """Importing counterpoise loads none of the heavy or optional libraries."""
    code = "import sys, counterpoise; print([m for m in {heavy} if m in sys.modules])".replace(
        "{heavy}", "('scipy', 'mujoco', 'pinocchio', 'rich', 'click', 'msgspec', 'xacrodoc', 'matplotlib')"
    )
    assert run_python(code).strip() == "[]"


def test_native_can_be_disabled() -> None:
    """COUNTERPOISE_DISABLE_NATIVE=1 makes Robot compute with the NumPy reference."""
    code = (
        "import counterpoise as cp; from counterpoise.dynamics import kernel; "
        "print(kernel.Kernel.__name__, kernel.NATIVE == '', round(float(cp.load('pendulum').gravity([0.3])[0]), 6))"
    )
    name, empty, torque = run_python(code, COUNTERPOISE_DISABLE_NATIVE="1").split()
    assert (name, empty) == ("ReferenceKernel", "True")
    assert float(torque) == pytest.approx(float(cp.load("pendulum").gravity([0.3])[0]), abs=1e-6)


def test_the_version_is_said_once() -> None:
    """The build takes it from the code; changelog and citation agree. test_installed.py asks the installation."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "counterpoise.__version__"}
    newest = re.search(r"^## (\S+) – (\d{4}-\d\d-\d\d)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest is not None and newest[1] == cp.__version__
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {newest[1]}\ndate-released: {newest[2]}\n" in citation
