"""Real recordings of real robots load with only the URDF and the file or files given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording.reading import read_log
from library.shared_data import example_urdf

Shared = Callable[[str], Path]


def test_lbr_med_7(shared: Shared) -> None:
    """Numbered columns, no time, no velocity; external torques are not taken for measured ones."""
    robot = cp.load(shared("data/lbrmed7/med7dock.urdf"))
    log = read_log(shared("data/lbrmed7/measurements.csv"), robot)
    assert log.q.shape == (1647, 7)
    assert log.q[0, 1] == 0.024791706183623
    assert log.tau[0, 1] == 16.2385366821289
    assert log.tau[-1, 0] == -0.094097480773926
    assert (log.declared.time_from, log.declared.velocity_from) == ("rate", "position")
    assert log.declared.notes["assumed_rate"] == 100.0
    assert not log.flags.any()


def test_tiago(shared: Shared) -> None:
    """Three files with names that begin with a dash; the wheels, the head and the gripper are held."""
    robot = cp.load(shared("data/tiago/tiago_48_schunk.urdf"))
    files = [shared(f"data/tiago/tiago_{kind}.csv") for kind in ("effort", "position", "velocity")]
    log = read_log(files, robot)
    assert log.q.shape == (8022, robot.n)
    arm = robot.joint_names.index("arm_2_joint")
    assert log.time[1] == 0.010879278182983398
    assert log.q[0, arm] == 0.042825847614689605
    assert log.dq[1, arm] == -0.00012923118685851997
    assert log.tau[1, arm] == 1.649
    assert log.tau[-1, robot.joint_names.index("torso_lift_joint")] == 1.97
    assert len(log.declared.held) == robot.n - 8
    assert log.declared.held["gripper_finger_joint"] == 0.002
    assert np.isnan(log.tau[0, robot.joint_names.index("head_1_joint")])
    assert not log.flags.any()
    assert log.declared.effort_kind is None
    cropped = read_log(files, robot, {"time": {"first": 921, "last": 6791}})
    assert np.array_equal(cropped.q, log.q[921:6792])


def test_tx40(shared: Shared) -> None:
    """Kind only in the files' names, motor side; with gears, coupling and offsets given it fits the arm's range."""
    robot = cp.load(shared("data/tx40/tx40_mdh_modified.urdf"))
    files = [shared("data/tx40/pos_read_data.csv"), shared("data/tx40/curr_data.csv")]
    log = read_log(files, robot)
    assert log.q.shape == (45000, 6)
    assert log.q[0, 1] == 50.265
    assert log.tau[1, 1] == -0.84434
    assert (log.declared.effort_kind, log.declared.notes["merged_by"]) == ("current", "row")
    gear = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    gear[5, 4] = 32.0
    known = read_log(
        files,
        robot,
        {
            "time": {"rate": 5000.0},
            "position": {"side": "motor"},
            "effort": {"kind": "torque", "side": "motor"},
            "motor": {"motor_per_link": gear.tolist()},
            "joints": {
                "joint_2": {"position_offset": -np.pi / 2},
                "joint_3": {"position_offset": np.pi / 2},
            },
        },
    )
    assert known.q[0, 1] == pytest.approx(50.265 / 32 - np.pi / 2)
    assert known.q[0, 5] == pytest.approx(log.q[0, 5] / 32 - log.q[0, 4] / 45)
    assert known.tau[0, 4] == pytest.approx(45 * log.tau[0, 4] + 32 * log.tau[0, 5])
    assert np.all(known.q > robot.lower - 0.1)
    assert np.all(known.q < robot.upper + 0.1)
    assert known.declared.effort_side == "link"


@pytest.mark.parametrize(
    ("model", "bag", "shape", "rate", "q", "tau"),
    [
        ("ur10_robot.urdf", "ur10", (3441, 6), 125.0, 0.61977826, 8.3223478),
        ("panda.urdf", "panda", (727, 8), 30.0, -2.25333763, -5.21143913),
    ],
)
def test_bags(shared: Shared, model: str, bag: str, shape: tuple[int, int], rate: float, q: float, tau: float) -> None:
    """JointState in a lone .db3; the Panda's joints are called fer_joint1 to 7 in its bag, and its finger is held."""
    robot = cp.load(example_urdf(model))
    log = read_log(shared(f"data/ur10_panda/{bag}_exciting_trajectory.db3"), robot)
    assert log.q.shape == shape
    assert log.rate == pytest.approx(rate, rel=1e-3)
    assert log.q[0, 0] == pytest.approx(q, abs=1e-8)
    assert log.tau[0, 0] == pytest.approx(tau, abs=1e-7)
    assert (log.declared.time_from, log.declared.velocity_from) == ("stamp", "measured")
    assert set(log.declared.held) == ({"panda_finger_joint1"} if bag == "panda" else set())
    # The recorded velocity is the derivative of the recorded position: the columns belong together.
    moved = log.resampled(rate).differentiated(2.0)
    for joint in range(6):
        assert np.corrcoef(moved.dq[20:-20, joint], log.resampled(rate).dq[20:-20, joint])[0, 1] > 0.98
