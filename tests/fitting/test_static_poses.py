"""Poses at rest: what is accepted, and which poses cannot calibrate an arm."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.fitting import StaticPoses, require_spread, static_poses

Array = npt.NDArray[np.float64]


def poses_of(robot: cp.Robot, q: Array) -> StaticPoses:
    return static_poses(robot.joint_names, q, robot.gravity(q))


def spread_poses(robot: cp.Robot, count: int = 12, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, robot.n))


def test_arrays_are_frozen_and_nothing_is_assumed() -> None:
    """Without more knowledge there is no side, no pair and no standard error."""
    robot = cp.load("wam4")
    poses = poses_of(robot, spread_poses(robot))
    assert len(poses) == 12
    assert poses.measured.all()
    assert np.isnan(poses.tau_std).all()
    assert np.all(poses.side == 0)
    assert np.all(poses.pair == -1)
    for array in (poses.q, poses.tau, poses.tau_std, poses.side, poses.pair):
        assert not array.flags.writeable


def test_a_joint_may_go_unmeasured_but_no_single_torque() -> None:
    """NaN down a whole column stands for a joint without measurement; one NaN among numbers is refused by name."""
    robot = cp.load("wam4")
    q = spread_poses(robot)
    torques = robot.gravity(q)
    torques[:, 2] = np.nan
    np.testing.assert_array_equal(static_poses(robot.joint_names, q, torques).measured, [True, True, False, True])
    torques[5, 0] = np.nan
    with pytest.raises(InputError, match="torque of joint 'joint1' in pose 5 is nan"):
        static_poses(robot.joint_names, q, torques)
    torques = robot.gravity(q)
    torques[3, 1] = np.inf
    with pytest.raises(InputError, match="torque of joint 'joint2' in pose 3 is inf"):
        static_poses(robot.joint_names, q, torques)


def test_positions_that_are_no_numbers_are_refused() -> None:
    robot = cp.load("wam4")
    q = spread_poses(robot)
    torques = robot.gravity(q)
    q[4, 3] = np.nan
    with pytest.raises(InputError, match=r"q\['joint4'\] in pose 4 is nan"):
        static_poses(robot.joint_names, q, torques)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("tau", np.zeros((12, 3)), "tau has shape"),
        ("tau_std", np.full((12, 4), -1.0), "tau_std has a negative or infinite entry"),
        ("side", np.full((12, 4), 2), "side has other numbers"),
        ("side", np.zeros((12, 3)), "side has shape"),
        ("pair", np.zeros(11), "pair has shape"),
        ("q", np.zeros((0, 4)), "at least one pose"),
    ],
)
def test_wrong_fields_are_refused(field: str, value: Array, reason: str) -> None:
    robot = cp.load("wam4")
    good = poses_of(robot, spread_poses(robot))
    fields = {name: getattr(good, name) for name in ("q", "tau", "tau_std", "side", "pair")} | {field: value}
    with pytest.raises(InputError, match=reason):
        StaticPoses(robot.joint_names, **fields)


@pytest.mark.parametrize("name", ["wam7", "scara", "dualarm19", "pendulum"])
def test_poses_that_differ_are_accepted_and_their_first_one_repeated_is_not(name: str) -> None:
    robot = cp.load(name)
    poses = spread_poses(robot)
    require_spread(robot, poses_of(robot, poses))
    with pytest.raises(InputError):
        require_spread(robot, poses_of(robot, np.repeat(poses[:1], len(poses), axis=0)))


def test_one_pose_is_refused() -> None:
    robot = cp.load("wam7")
    with pytest.raises(InputError, match="only one pose"):
        require_spread(robot, poses_of(robot, spread_poses(robot, 1)))


def test_equal_poses_are_refused() -> None:
    """Also where they differ as the two approaches of one pose do."""
    robot = cp.load("wam7")
    q = np.tile(spread_poses(robot, 1), (10, 1)) + np.random.default_rng(2).uniform(-0.01, 0.01, (10, robot.n))
    with pytest.raises(InputError, match="all 10 poses are the same"):
        require_spread(robot, poses_of(robot, q))


def test_poses_on_one_line_are_refused() -> None:
    """All joints in a fixed ratio, or a single joint swept; on an arm of one joint there is nothing else."""
    robot = cp.load("wam7")
    along = np.linspace(-1.0, 1.0, 20)[:, None] * np.array([0.3, 1.0, -0.5, 0.8, 0.2, 0.4, -0.7])
    with pytest.raises(InputError, match="one line of joint space"):
        require_spread(robot, poses_of(robot, along + 0.1))
    swept = np.zeros((20, 7))
    swept[:, 3] = np.linspace(0.0, 2.0, 20)
    with pytest.raises(InputError, match=r"one line of joint space \(moving: joint4\)"):
        require_spread(robot, poses_of(robot, swept))
    pendulum = cp.load("pendulum")
    require_spread(pendulum, poses_of(pendulum, np.linspace(-1.0, 1.0, 5)[:, None]))


def test_another_robots_poses_are_refused() -> None:
    robot = cp.load("wam7")
    with pytest.raises(InputError, match="expected those of robot 'wam4'"):
        require_spread(cp.load("wam4"), poses_of(robot, spread_poses(robot)))
