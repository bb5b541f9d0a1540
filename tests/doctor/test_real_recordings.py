"""Real recordings of real robots, with only the description and the files given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import Diagnosis, diagnose
from counterpoise.doctor.finding import ABOUT_MODEL, Consequence, Finding, LogFault
from library.shared_data import example_urdf

Shared = Callable[[str], Path]
WRONG = ABOUT_MODEL - {LogFault.OFFSET, LogFault.MODEL_POOR}
"""Findings that would be false about a recording in which nothing is reversed, exchanged or scaled."""


@cache
def diagnosed(description: Path, *files: Path) -> Diagnosis:
    robot = cp.load(description)
    return diagnose(robot, cp.read_log(files, robot))


def named(diagnosis: Diagnosis, fault: LogFault) -> Finding:
    found = [finding for finding in diagnosis.findings if finding.fault is fault]
    assert len(found) == 1, [finding.fault for finding in diagnosis.findings]
    return found[0]


def alarms(diagnosis: Diagnosis) -> list[LogFault]:
    """All that is said beyond notes, the worst first."""
    return [finding.fault for finding in diagnosis.alarms]


def test_lbr_med_7_has_all_torques_reversed(shared: Shared) -> None:
    folder = shared("data/lbrmed7")
    diagnosis = diagnosed(folder / "med7dock.urdf", folder / "measurements.csv")
    finding = named(diagnosis, LogFault.EFFORT_SIGN)
    assert finding.subjects == ("A1", "A2", "A3", "A4", "A5", "A6", "A7")
    assert (finding.consequence, finding.alternatives) == (Consequence.DANGER, ())
    told = finding.evidence["joints"]
    assert all(told[joint]["correlation_with_model"] < -0.9 for joint in ("A2", "A4", "A6"))  # those that gravity loads
    assert all(numbers["friction_over_std"] < 0.0 for numbers in told.values())
    # The offset of A5 (0.2 N m by the robot's own external torque) is too small to matter on a drive of 200 N m.
    assert alarms(diagnosis) == [LogFault.EFFORT_SIGN, LogFault.NO_TIME]


def test_lbr_med_7_is_sound_once_its_fix_is_applied(shared: Shared) -> None:
    folder = shared("data/lbrmed7")
    robot = cp.load(folder / "med7dock.urdf")
    fix = diagnosed(folder / "med7dock.urdf", folder / "measurements.csv").fix
    fixed = cp.read_log(folder / "measurements.csv", robot, fix | {"time": {"rate": 100.0}})
    assert alarms(diagnose(robot, fixed)) == []


def test_tiago_has_dead_and_reversed_currents(shared: Shared) -> None:
    folder = shared("data/tiago")
    files = [folder / f"tiago_{part}.csv" for part in ("position", "velocity", "effort")]
    diagnosis = diagnosed(folder / "tiago_48_schunk.urdf", *files)
    assert named(diagnosis, LogFault.EFFORT_SIGN).subjects == ("arm_3_joint", "arm_4_joint")
    assert named(diagnosis, LogFault.DEAD).subjects == ("arm_5_joint", "arm_6_joint", "arm_7_joint")
    current = named(diagnosis, LogFault.EFFORT_IS_CURRENT)
    assert not set(current.subjects) & {"arm_5_joint", "arm_6_joint", "arm_7_joint"}
    # Gear ratios of 100 and torque constants of 0.05 to 0.2 N m/A, as such arms have.
    constants = current.evidence["torque_per_unit"]
    assert all(3.0 < constants[f"arm_{number}_joint"] < 40.0 for number in (2, 3, 4))
    # The velocities are late as well: see test_real_channels.py.
    assert alarms(diagnosis) == [
        LogFault.EFFORT_SIGN,
        LogFault.EFFORT_IS_CURRENT,
        LogFault.DEAD,
        LogFault.DELAY,
    ]


def test_tx40_was_recorded_at_the_motors_with_a_coupled_wrist(shared: Shared) -> None:
    folder = shared("data/tx40")
    files = [folder / "pos_read_data.csv", folder / "curr_data.csv"]
    diagnosis = diagnosed(folder / "tx40_mdh_modified.urdf", *files)
    finding = named(diagnosis, LogFault.MOTOR_SIDE)
    true = {"joint_1": 32, "joint_2": 32, "joint_3": 45, "joint_4": 48, "joint_5": 45, "joint_6": 32}
    least = finding.evidence["least_gear_ratio"]
    assert set(least) == set(true)
    assert all(5.0 < least[joint] < true[joint] for joint in true)
    assert "gear" in finding.sentence and "coupled wrist is suspected" in finding.sentence
    assert finding.evidence["coupling_suspected"] == [["joint_5", "joint_6"]]
    assert alarms(diagnosis) == [LogFault.MOTOR_SIDE, LogFault.NO_TIME]


def test_tx40_with_its_gears_stated_is_no_longer_at_the_motors(shared: Shared) -> None:
    """Ratios and coupling as its makers have them; zero positions and 5 kHz are stated too."""
    folder = shared("data/tx40")
    files = [folder / "pos_read_data.csv", folder / "curr_data.csv"]
    robot = cp.load(folder / "tx40_mdh_modified.urdf")
    gears = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    gears[5, 4] = 32.0
    mapping = {
        "time": {"rate": 5000.0},
        "position": {"side": "motor"},
        "effort": {"side": "motor", "kind": "torque"},
        "motor": {"motor_per_link": gears.tolist()},
        "joints": {"joint_2": {"position_offset": -np.pi / 2}, "joint_3": {"position_offset": np.pi / 2}},
    }
    diagnosis = diagnose(robot, cp.read_log(files, robot, mapping))
    assert not set(alarms(diagnosis)) & WRONG


@pytest.mark.parametrize(
    ("name", "description"),
    [("ur10", "ur_description/urdf/ur10_robot.urdf"), ("panda", "panda_description/urdf/panda.urdf")],
)
def test_ur10_and_panda_are_sound_but_drive_back_on_their_path(shared: Shared, name: str, description: str) -> None:
    bag = shared(f"data/ur10_panda/{name}_exciting_trajectory.db3")
    diagnosis = diagnosed(example_urdf(description), bag)
    assert named(diagnosis, LogFault.REPEATED_PATH).evidence["driven_back"]
    assert alarms(diagnosis) == [LogFault.REPEATED_PATH]
    assert diagnosis.fix == {}
