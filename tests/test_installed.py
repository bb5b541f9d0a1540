"""A quick look at an installation, with pytest and the core's libraries only: wheels are tested with this file."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import kernel
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import PARTS

POSES = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 7))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "counterpoise", *arguments], capture_output=True, text=True, check=False
    )


def test_version() -> None:
    """The distribution has the version that the code says; an editable one keeps that of the day it was installed."""
    found = metadata.distribution("counterpoise")
    if '"editable": true' in (found.read_text("direct_url.json") or ""):
        pytest.skip("installed for editing")
    assert found.version == cp.__version__
    assert run("--version").stdout.split()[-1] == cp.__version__


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("counterpoise", ["py.typed"]),
        ("counterpoise.foundation", [f"stored/{name}.f64" for name in PARTS]),
        ("counterpoise.report", ["page.html", "page.css", "page.js"]),
        ("counterpoise.description.bundled", [f"{entry.name}.toml" for entry in cp.catalog()]),
    ],
)
def test_data_files_are_there(package: str, names: list[str]) -> None:
    """Everything that is not Python and that the package reads was installed with it."""
    assert names and all(resources.files(package).joinpath(name).is_file() for name in names)


@pytest.mark.parametrize("name", [entry.name for entry in cp.catalog()])
def test_gravity_is_that_of_the_reference(name: str) -> None:
    """Every bundled arm loads, and its torques are those that the NumPy reference computes."""
    robot = cp.load(name)
    poses = np.random.default_rng(1).uniform(-1.0, 1.0, (20, robot.n))
    expected = ReferenceKernel(robot.tree).gravity(poses)
    np.testing.assert_allclose(robot.gravity(poses), expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_native_kernels_were_built_where_they_must() -> None:
    """A wheel of ours has its kernels: their absence is told, never silent."""
    findings = json.loads(run("doctor", "--self", "--json").stdout)["findings"]
    (found,) = (each for each in findings if each["what"] == "native kernels")
    assert found["state"] == ("good" if kernel.NATIVE else "missing")


def test_calibrate_from_csv(tmp_path: Path) -> None:
    """Torques at rest of a heavier arm, as a CSV file, lead to that arm's gravity."""
    robot = cp.load("planar3")
    heavier = robot.with_payload(0.5, com=(0.1, 0.0, 0.0))
    poses = np.random.default_rng(2).uniform(-2.0, 2.0, (40, robot.n))
    header = ",".join([f"{name}_{what}" for what in ("position", "effort") for name in robot.joint_names])
    table = np.hstack([poses, heavier.gravity(poses)])
    np.savetxt(tmp_path / "poses.csv", table, delimiter=",", header=header, comments="")
    out = tmp_path / "arm.calibration.json"
    result = run("calibrate", "planar3", str(tmp_path / "poses.csv"), "--use", "rows", "--out", str(out))
    assert result.returncode == 0, result.stdout + result.stderr
    found = cp.load_calibration(out, robot).robot
    np.testing.assert_allclose(found.gravity(POSES[:, :3]), heavier.gravity(POSES[:, :3]), atol=0.05)


def test_the_command_line_agrees_with_python() -> None:
    """Torques as the command prints them are those of the library."""
    printed = json.loads(run("gravity", "wam7", *(f"{angle:.6f}" for angle in POSES[0]), "--json").stdout)
    np.testing.assert_allclose(printed["torques"][0], cp.load("wam7").gravity(POSES[0].round(6)), atol=1e-9)
