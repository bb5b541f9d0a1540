"""Real recordings of real robots, with only the description and the files given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import counterpoise as cp
from counterpoise.doctor.diagnose import diagnose
from counterpoise.doctor.diagnosis import Diagnosis
from counterpoise.doctor.finding import Fault, Finding

Shared = Callable[[str], Path]
WRONG = {
    *(Fault.EFFORT_SIGN, Fault.POSITION_SIGN, Fault.JOINT_ORDER, Fault.DEGREES, Fault.EFFORT_IS_CURRENT),
    *(Fault.MOTOR_SIDE, Fault.GAIN, Fault.MOUNT, Fault.GRAVITY_COMPENSATED, Fault.PAYLOAD),
}
"""Findings that would be false about a recording in which nothing is reversed, exchanged or scaled."""


def diagnosed(description: Path, files: list[Path]) -> Diagnosis:
    robot = cp.load(description)
    return diagnose(robot, cp.read_log(files, robot))


def named(diagnosis: Diagnosis, fault: Fault) -> Finding:
    found = [finding for finding in diagnosis.findings if finding.fault is fault]
    assert len(found) == 1, [finding.fault for finding in diagnosis.findings]
    return found[0]


def example_robot(name: str) -> Path:
    """Path of a description of the PyPI package example-robot-data."""
    cmeel = pytest.importorskip("cmeel_pth", reason="example-robot-data is not installed")
    root = Path(cmeel.__file__).parent / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    path = root / name
    if not path.exists():
        pytest.skip(f"example-robot-data has no {name}")
    return path


def test_lbr_med_7_has_all_torques_reversed(shared: Shared) -> None:
    folder = shared("data/lbrmed7")
    diagnosis = diagnosed(folder / "med7dock.urdf", [folder / "measurements.csv"])
    assert named(diagnosis, Fault.EFFORT_SIGN).subjects == ("A1", "A2", "A3", "A4", "A5", "A6", "A7")
    assert {finding.fault for finding in diagnosis.findings} & WRONG == {Fault.EFFORT_SIGN}


def test_tiago_has_dead_and_reversed_currents(shared: Shared) -> None:
    folder = shared("data/tiago")
    files = [folder / f"tiago_{part}.csv" for part in ("position", "velocity", "effort")]
    diagnosis = diagnosed(folder / "tiago_48_schunk.urdf", files)
    assert named(diagnosis, Fault.EFFORT_SIGN).subjects == ("arm_3_joint", "arm_4_joint")
    assert named(diagnosis, Fault.DEAD).subjects == ("arm_5_joint", "arm_6_joint", "arm_7_joint")
    assert named(diagnosis, Fault.EFFORT_IS_CURRENT)
    assert {finding.fault for finding in diagnosis.findings} & WRONG == {Fault.EFFORT_SIGN, Fault.EFFORT_IS_CURRENT}


def test_tx40_was_recorded_at_the_motors_with_a_coupled_wrist(shared: Shared) -> None:
    folder = shared("data/tx40")
    files = [folder / "pos_read_data.csv", folder / "curr_data.csv"]
    finding = named(diagnosed(folder / "tx40_mdh_modified.urdf", files), Fault.MOTOR_SIDE)
    true = {"joint_1": 32, "joint_2": 32, "joint_3": 45, "joint_4": 48, "joint_5": 45, "joint_6": 32}
    assert all(5.0 < least < true[joint] for joint, least in finding.evidence["least_gear_ratio"].items())
    assert finding.evidence["coupling_suspected"] == [["joint_5", "joint_6"]]


@pytest.mark.parametrize(
    ("name", "description"),
    [("ur10", "ur_description/urdf/ur10_robot.urdf"), ("panda", "panda_description/urdf/panda.urdf")],
)
def test_ur10_and_panda_are_sound_but_drive_back_on_their_path(shared: Shared, name: str, description: str) -> None:
    bag = shared(f"data/ur10_panda/{name}_exciting_trajectory.db3")
    diagnosis = diagnosed(example_robot(description), [bag])
    assert named(diagnosis, Fault.REPEATED_PATH)
    assert not {finding.fault for finding in diagnosis.findings} & WRONG
