"""From a recording to poses at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.still_poses import (
    _near_pairs,
    friction_bands,
    poses_from_log,
    poses_from_rows,
    without_friction,
)
from counterpoise.recording import SETTLE, find_rests
from library.calibration_data import RATE, visits

POSES = np.array([[0.4, -0.5, 0.3], [-0.6, 0.2, 0.8], [1.0, 0.7, -0.4], [0.1, -0.9, -0.7]])


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


def test_both_sides_are_found_and_friction_cancels(arm: cp.Robot) -> None:
    """Four poses from both sides: eight segments, four pairs, means without friction, half differences the friction."""
    log = visits(arm, POSES, friction=(1.0, 0.6, 0.2), noise=0.01)
    found = poses_from_log(arm, log)
    assert len(found.poses) == 8
    assert not found.rejected
    assert found.poses.pair.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.all(found.poses.side[0::2] == -1)  # from above: the last motion was downwards
    assert np.all(found.poses.side[1::2] == 1)
    means, paired = without_friction(found.poses)
    assert paired
    np.testing.assert_allclose(means.q, POSES, atol=1e-5)
    np.testing.assert_allclose(means.tau, arm.gravity(POSES), atol=0.01)
    np.testing.assert_allclose(friction_bands(found.poses), (1.0, 0.6, 0.2), atol=0.01)


def test_one_side_alone_makes_no_pairs(arm: cp.Robot) -> None:
    log = visits(arm, POSES, friction=0.5, both_sides=False)
    found = poses_from_log(arm, log)
    assert np.all(found.poses.pair == -1)
    _, paired = without_friction(found.poses)
    assert not paired
    assert np.isnan(friction_bands(found.poses)).all()


def test_standard_errors_count_independent_samples(arm: cp.Robot) -> None:
    """White noise: σ/√N; noise that a low-pass has smeared over 20 samples: about √20 more than that."""
    white = visits(arm, POSES, noise=0.1, dwell=20.0)
    samples = 20.0 * RATE
    stated = np.median(poses_from_log(arm, white).poses.tau_std)
    assert stated == pytest.approx(0.1 / np.sqrt(samples), rel=0.35)
    smeared = white.tau - arm.gravity(white.q)
    kernel = np.ones(20) / np.sqrt(20.0)
    smeared = np.column_stack([np.convolve(column, kernel, mode="same") for column in smeared.T])
    slow = replace(white, tau=arm.gravity(white.q) + smeared)
    assert np.median(poses_from_log(arm, slow).poses.tau_std) == pytest.approx(np.sqrt(20.0) * stated, rel=0.4)


def test_a_touched_arm_is_left_out(arm: cp.Robot) -> None:
    """Somebody leans on the arm during one dwell: that segment goes, the others stay."""
    log = visits(arm, POSES, noise=0.02)
    first = poses_from_log(arm, log)
    third = find_rests(log, settle=SETTLE)[2]
    begin = third.start + round(0.4 * RATE)
    tau = log.tau.copy()
    tau[begin : begin + 30, 1] += 3.0
    found = poses_from_log(arm, replace(log, tau=tau))
    assert len(found.poses) == len(first.poses) - 1
    assert "touched" in found.rejected[0].reason
    assert found.rejected[0].start == log.time[third.start]


@pytest.mark.parametrize(("creep", "left_out"), [(0.004, 0), (0.014, 1)])
def test_a_joint_that_creeps_far_is_left_out(arm: cp.Robot, creep: float, left_out: int) -> None:
    """Milliradians are a joint that friction just holds; a hundredth of a radian is no pose."""
    log = visits(arm, POSES, noise=0.01, dwell=4.0)
    first = poses_from_log(arm, log)
    fifth = find_rests(log, settle=SETTLE)[4]
    q = log.q.copy()
    q[fifth.start : fifth.end, 0] += np.linspace(0.0, creep, fifth.end - fifth.start)
    found = poses_from_log(arm, replace(log, q=q))
    assert len(found.poses) == len(first.poses) - left_out
    assert all("creeps" in rejected.reason for rejected in found.rejected)


def test_poses_on_stops_are_left_out_and_all_of_them_refused() -> None:
    """A stop may carry part of the load."""
    robot = cp.load("wam4")
    inside = np.array([[0.3, 0.4, 0.5, 1.0], [-0.4, -0.8, 1.0, 0.4]])
    stopped = np.array([[0.3, 0.4, 0.5, float(robot.upper[3]) - 0.002]])
    log = visits(robot, np.vstack([inside, stopped]), approach=0.001)
    found = poses_from_log(robot, log)
    assert any("limit" in part.reason for part in found.rejected)
    assert np.all(found.poses.q[:, 3] < robot.upper[3] - 0.01)
    with pytest.raises(cp.InputError, match="limit"):
        poses_from_log(robot, visits(robot, np.vstack([stopped, stopped]), approach=0.001)[300:])


def test_missing_torques_leave_a_segment_out(arm: cp.Robot) -> None:
    log = visits(arm, POSES)
    first = poses_from_log(arm, log)
    fourth = find_rests(log, settle=SETTLE)[3]
    inside = slice(fourth.start - 10, fourth.end + 10)
    tau = log.tau.copy()
    tau[inside, 2] = np.nan
    found = poses_from_log(arm, replace(log, tau=tau))
    assert len(found.poses) == len(first.poses) - 1
    assert "missing" in found.rejected[0].reason


def test_a_joint_without_torque_stays_unmeasured(arm: cp.Robot) -> None:
    log = visits(arm, POSES)
    tau = log.tau.copy()
    tau[:, 2] = np.nan
    assert poses_from_log(arm, replace(log, tau=tau)).poses.measured.tolist() == [True, True, False]


def test_nothing_still_is_refused(arm: cp.Robot) -> None:
    time = np.arange(500) / RATE
    q = np.column_stack([np.sin(time), np.cos(time), 0.3 * np.sin(2.0 * time)])
    log = cp.Log(arm.joint_names, time, q, np.zeros_like(q), arm.gravity(q))
    with pytest.raises(cp.InputError, match=r"stands still nowhere .* use='moving'"):
        poses_from_log(arm, log)


def test_rows_are_poses(arm: cp.Robot) -> None:
    """A table of poses: rows as they are, without those that lack a number."""
    tau = arm.gravity(POSES)
    tau[1, 0] = np.nan
    log = cp.Log(arm.joint_names, np.arange(4.0), POSES, np.zeros_like(POSES), tau)
    found, notes = poses_from_rows(arm, log)
    np.testing.assert_array_equal(found.q, POSES[[0, 2, 3]])
    assert notes == ["row 2 is left out: a position or a torque is missing"]


@pytest.mark.parametrize(
    ("sides", "pairs"),
    [
        ([[1, 1], [-1, -1]], [0, 0]),
        ([[1, 0], [-1, 1]], [0, 0]),  # of the second joint nothing is known
        ([[1, 1], [-1, 1]], [-1, -1]),  # the second joint came from the same side
        ([[0, 0], [0, 0]], [-1, -1]),
        ([[0, 1], [1, 0]], [-1, -1]),
        ([[1, 1], [1, 1], [-1, -1]], [-1, 0, 0]),
    ],
)
def test_poses_are_a_pair_where_a_joint_came_from_both_sides_and_none_from_one(sides, pairs) -> None:
    """Poses at one place, one after the other."""
    side = np.array(sides)
    q = np.full(side.shape, 0.3)
    assert _near_pairs(q, side).tolist() == pairs
    apart = q + np.arange(len(q))[:, None]
    assert np.all(_near_pairs(apart, side) == -1)
