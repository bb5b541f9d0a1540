"""--fix-joint: joints that do not move are fixed before anything is computed or read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import counterpoise as cp
from counterpoise.cli.main import main
from library.docs_material import recording
from library.shared_data import example_urdf

LOCKED = {"joint3": 0.4, "joint7": -0.3}
FREE = ["joint1", "joint2", "joint4", "joint5", "joint6"]
FIXED = ("--fix-joint", "joint3=0.4", "--fix-joint", "joint7=-0.3")
FINGER = ("--fix-joint", "panda_finger_joint1=0.02")


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def document(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings of an arm whose last two joints do not move, with columns of the others only."""
    folder = tmp_path_factory.mktemp("locked")
    robot = cp.load("wam7").locked(LOCKED)
    for seed, name in ((1, "run.npz"), (2, "later.npz")):
        cp.write_log(recording(robot, seed), folder / name)
    return folder


def test_gravity_is_that_of_the_full_arm() -> None:
    """Positions and torques are those of the other joints; with --degrees, turning joints are fixed in degrees."""
    free = (0.1, -0.5, 1.0, -0.3, 0.7)
    expected = cp.load("wam7").gravity([0.1, -0.5, 0.4, 1.0, -0.3, 0.7, -0.3])[[0, 1, 3, 4, 5]]
    found = document("gravity", "wam7", *free, *FIXED)
    assert found["joint_names"] == FREE
    assert found["torques"][0] == pytest.approx(expected, abs=1e-12)
    options = [word for name, q in LOCKED.items() for word in ("--fix-joint", f"{name}={float(np.degrees(q))!r}")]
    found = document("gravity", "wam7", *np.degrees(free), "--degrees", *options)
    assert found["torques"][0] == pytest.approx(expected, abs=1e-12)


def test_load_lists_the_other_joints() -> None:
    """A locked joint is fixed; the mass is all there."""
    locked, full = document("load", "wam7", *FIXED), document("load", "wam7")
    assert [joint["name"] for joint in locked["joints"]] == FREE
    assert locked["total_mass"] == pytest.approx(full["total_mass"], rel=1e-13)


def test_calibrate_verify_and_export(recordings: Path) -> None:
    """The file belongs to the arm with these joints fixed: to no other geometry, and C is written for five joints."""
    fit, code = recordings / "fit.json", recordings / "arm.h"
    run("calibrate", "wam7", recordings / "run.npz", *FIXED, "--out", fit)
    assert document("verify", "wam7", fit, recordings / "later.npz", *FIXED)["holds"]
    run("export", "wam7", "--calibration", fit, "--out", code, *FIXED)
    assert "joint6" in code.read_text() and "joint7" not in code.read_text()
    for other in ((), FIXED[:2], ("--fix-joint", "joint3=0.5", *FIXED[2:])):
        error = document("verify", "wam7", fit, recordings / "later.npz", *other, code=1)["error"]
        assert error["kind"] in ("InputError", "DataFileError")


def test_doctor_and_estimate(recordings: Path) -> None:
    """Both read a recording that has no columns of the fixed joints; nothing is wrong with it."""
    found = document("doctor", recordings / "run.npz", "--robot", "wam7", *FIXED)
    assert not [each for each in found["findings"] if each["consequence"] in ("invalidates", "danger")]
    run("estimate", recordings / "run.npz", "--robot", "wam7", *FIXED)


def test_track_follows_a_panda_whose_fingers_do_not_report_efforts(shared: Callable[[str], Path]) -> None:
    """Without the option the recording is refused, and the message names the option."""
    log = shared("data/ur10_panda/panda_exciting_trajectory.db3")
    mapping = Path(__file__).parents[2] / "examples" / "mappings" / "panda.toml"
    arm = ("--robot", example_urdf("panda.urdf"), "--mapping", mapping)
    refused = document("track", log, *arm, code=1)["error"]["message"]
    assert "panda_finger_joint1" in refused and "--fix-joint" in refused
    followed = document("track", log, *arm, *FINGER)
    assert followed["joints"] == [f"panda_joint{number}" for number in range(1, 8)]
    assert followed["samples"] > 700


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("load", "wam7", "--fix-joint", "joint7"), "is not of the form joint=number"),
        (("load", "wam7", "--fix-joint", "joint7=open"), "is not of the form joint=number"),
        (("load", "wam7", "--fix-joint", "joint7=0", "--fix-joint", "joint7=1"), "each joint once"),
        (("doctor", "run.npz", "--fix-joint", "joint7=0"), "--fix-joint needs --robot"),
        (("view", "wam7:plate", "--fix-joint", "joint7=0"), "without a preset"),
    ],
)
def test_wrong_command_lines(arguments: tuple[str, ...], message: str) -> None:
    """They are refused as such."""
    assert message in " ".join(run(*arguments, code=2).output.split())


def test_a_position_beyond_the_limits_is_refused() -> None:
    """Degrees that were typed for rad, for example."""
    assert "expected a number from" in document("load", "wam7", "--fix-joint", "joint7=90", code=1)["error"]["message"]
