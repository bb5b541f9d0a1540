"""A calibration against a fresh recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import root_mean_square, static_poses
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.file import load_calibration
from counterpoise.identification.fit import Fit
from counterpoise.identification.moving import moving_samples, prepare
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.verification import _tip_load, verify
from counterpoise.recording import Declared
from library.calibration_data import motion, other_masses, visits


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


@pytest.fixture(scope="module")
def truth(arm: cp.Robot) -> cp.Robot:
    return other_masses(arm)


@pytest.fixture(scope="module")
def fit(arm: cp.Robot, truth: cp.Robot) -> Fit:
    return calibrate(arm, visits(truth, design_poses(arm, 10), friction=0.4, noise=0.02), use="static", findings=())


def test_an_unchanged_arm_holds(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    fresh = visits(truth, design_poses(arm, 6, seed=7), friction=0.4, noise=0.02, seed=3)
    found = verify(fit, fresh)
    assert found.holds, found.verdict.reasons
    assert found.samples == 6
    assert np.all(found.change.weight <= found.allowed)
    assert np.all(found.rms < found.described_rms)


def test_a_load_that_nobody_mentioned_is_noticed(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    heavy = truth.with_payload(1.0, com=(0.2, 0.0, 0.0))
    found = verify(fit, visits(heavy, design_poses(arm, 6, seed=7), friction=0.4, noise=0.02))
    assert not found.holds
    assert "kg more at link3" in found.verdict.reasons[0]
    load = found.change.load
    assert load is not None
    # The load sits 0.2 m beyond the frame at which it is looked for: it weighs less than it seems.
    assert 0.9 < load.mass < 1.6
    assert found.sag.total > 10.0 * fit.errors.sag_total


def test_friction_is_predicted_over_the_calibrations_own_speed(arm: cp.Robot, truth: cp.Robot, tmp_path: Path) -> None:
    """A slower recording would choose a smaller v₀, over which the fitted friction is another one."""
    made = calibrate(arm, motion(truth, coulomb=0.5, viscous=0.2, noise=0.05), findings=())
    slow = motion(truth, coulomb=0.5, viscous=0.2, noise=0.05, size=0.3, seed=4)
    anew = prepare(arm, slow)
    assert np.all(anew.v0 < 0.9 * made.data.v0)
    samples = moving_samples(arm, slow, preparation=replace(anew, v0=made.data.v0))
    expected = root_mean_square(samples.tau - made.predict(samples))
    read = load_calibration(made.save(tmp_path / "arm.calibration.json"), arm)
    np.testing.assert_allclose(read.data.v0, made.data.v0, rtol=0.0, atol=0.0)
    np.testing.assert_allclose(verify(read, slow).rms, expected, rtol=1e-9)


def test_one_pair_does_not_discard_the_other_poses(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    q = design_poses(arm, 8, seed=7)
    q = np.concatenate([q, q[:1]])
    side = np.random.default_rng(0).choice([-1, 1], q.shape)
    side[8] = -side[0]
    pair = np.where(np.isin(np.arange(9), (0, 8)), 0, -1)
    poses = replace(static_poses(arm.joint_names, q, truth.gravity(q) + 0.4 * side), side=side, pair=pair)
    found = verify(fit, poses)
    assert found.samples == 9
    assert found.holds, found.verdict.reasons


def test_a_constant_error_is_called_constant(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    q = design_poses(arm, 6, seed=7)
    found = verify(fit, static_poses(arm.joint_names, q, truth.gravity(q) + np.array([0.0, 5.0, 0.0])))
    assert not found.holds
    assert "constant" in found.verdict.reasons[0]
    assert found.change.offset[1] == pytest.approx(5.0, abs=0.3)
    assert found.change.weight[1] < 0.5


def test_an_untrusted_calibration_does_not_hold(arm: cp.Robot, truth: cp.Robot) -> None:
    q = design_poses(arm, 4)
    tau = truth.gravity(q) + 3.0 * np.random.default_rng(0).standard_normal(q.shape)
    doubtful = calibrate(arm, static_poses(arm.joint_names, q, tau))
    assert not doubtful.trusted
    assert not verify(doubtful, static_poses(arm.joint_names, q, tau)).holds


def test_a_motion_is_verified_as_a_motion(arm: cp.Robot, truth: cp.Robot) -> None:
    moving = calibrate(arm, motion(truth, coulomb=0.5, noise=0.1), findings=())
    found = verify(moving, motion(truth, coulomb=0.5, noise=0.1, seed=5))
    assert found.holds, found.verdict.reasons
    assert not verify(moving, motion(truth.with_payload(2.0, com=(0.2, 0.0, 0.0)), coulomb=0.5, seed=5)).holds


def test_a_joint_without_effort_is_not_said_to_hold(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    q = design_poses(arm, 6, seed=7)
    tau = truth.gravity(q)
    tau[:, 1] = np.nan
    found = verify(fit, static_poses(arm.joint_names, q, tau))
    assert not found.holds
    assert "no effort of joint2" in found.verdict.reasons[0]


def test_one_pose_shows_nothing(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    q = design_poses(arm, 2, seed=7)[:1]
    found = verify(fit, static_poses(arm.joint_names, q, truth.gravity(q)))
    assert not found.holds
    assert "too few different poses" in found.verdict.reasons[0]


def test_a_table_of_poses_is_verified_as_one(arm: cp.Robot, truth: cp.Robot, fit: Fit) -> None:
    """What calibrate reads as rows, verify does too."""
    q = design_poses(arm, 8, seed=7)
    table = cp.Log(
        arm.joint_names,
        0.01 * np.arange(len(q)),
        q,
        np.zeros_like(q),
        truth.gravity(q),
        declared=Declared(time_from="rate"),
    )
    found = verify(fit, table)
    assert found.holds, found.verdict.reasons
    assert found.samples == len(q)


def test_another_robot_is_refused(fit: Fit) -> None:
    other = cp.load("wam4")
    with pytest.raises(cp.InputError, match="expected those of robot"):
        verify(fit, visits(other, design_poses(other, 4)))


def test_the_recording_it_was_made_from_shows_nothing(arm: cp.Robot, truth: cp.Robot) -> None:
    log = visits(truth, design_poses(arm, 10), friction=0.4, noise=0.02)
    found = verify(calibrate(arm, log, findings=()), log)
    assert not found.holds
    assert "made from" in found.verdict.reasons[0]


@pytest.mark.parametrize("hand", ["left_hand", "right_hand"])
def test_the_tip_that_carries_more_is_named(hand: str) -> None:
    """Of several tips the one whose load explains the changed efforts, with its mass."""
    robot = cp.load("dualarm19")
    q = np.random.default_rng(3).uniform(-0.6, 0.6, (40, robot.n))
    change = robot.with_payload(1.5, link=hand).gravity(q) - robot.gravity(q)
    found = _tip_load(robot, q, np.ones(robot.n, dtype=bool), change, np.full(change.shape, 0.05))
    assert found is not None and found.link == hand and found.mass == pytest.approx(1.5)
