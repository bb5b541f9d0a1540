"""Not enough excitation for gravity."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.coverage import check_excitation, excitation
from counterpoise.doctor.finding import Finding, LogFault
from counterpoise.recording import Motion
from library.analytic_log import measured, moving_log

ROBOTS = {name: cp.load(name) for name in ("puma560", "wam7", "titan2")}


def found_in(robot: cp.Robot, log: cp.Log) -> list[Finding]:
    return check_excitation(robot, log, Motion.on_grid(log))


@pytest.mark.parametrize("name", ROBOTS)
def test_motion_of_all_joints_is_enough(name):
    assert found_in(ROBOTS[name], moving_log(ROBOTS[name], seed=1)) == []


@pytest.mark.parametrize("name", ROBOTS)
def test_two_seconds_are_not(name):
    (finding,) = found_in(ROBOTS[name], moving_log(ROBOTS[name], seed=1)[500:700])
    assert finding.fault is LogFault.EXCITATION
    assert finding.evidence["weakest_combination"]


def test_joint_that_does_not_move_is_named():
    """With the shoulder still, nothing separates its own mass from an offset."""
    robot = ROBOTS["puma560"]
    log = moving_log(robot, seed=1)
    q, dq = np.array(log.q), np.array(log.dq)
    q[:, 1], dq[:, 1] = 0.4, 0.0
    ddq = np.gradient(dq, log.time, axis=0)
    still = measured(robot, log.time, q, dq, ddq, friction=0.1, random=np.random.default_rng(0))
    (finding,) = found_in(robot, still)
    assert "joint2" in finding.subjects and finding.evidence["hardly_moved"] == ["joint2"]


def test_more_recording_leaves_less_uncertainty():
    robot = ROBOTS["wam7"]
    log = moving_log(robot, seed=2)
    left = [excitation(robot, Motion.on_grid(log[:rows])).after.sum() for rows in (300, 800, 2400)]
    assert left[0] > left[1] > left[2]


def test_vertical_lift_is_not_asked_for():
    """Gravity of a vertical linear joint is one number, which an offset says."""
    robot = cp.load("slider")
    assert found_in(robot, moving_log(robot)) == []
