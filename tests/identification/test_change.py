"""What has changed since a calibration: weight, a constant, a load at the tip; friction is none of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import static_poses
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.fit import Fit
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.verification import verify
from counterpoise.identification.workspace import changing_gravity
from library.calibration_data import motion, other_masses, visits

TOOL = 0.9
"""Mass of the tool that is taken off [kg]."""


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("wam4")


@pytest.fixture(scope="module")
def truth(arm: cp.Robot) -> cp.Robot:
    return other_masses(arm)


@pytest.fixture(scope="module")
def tip(arm: cp.Robot) -> str:
    return arm.link_names[-1]


@pytest.fixture(scope="module")
def with_tool(arm: cp.Robot, truth: cp.Robot, tip: str) -> Fit:
    """A calibration of the arm with its tool on, from a motion."""
    fit = calibrate(
        arm, motion(truth.with_payload(TOOL, link=tip), coulomb=1.0, noise=0.05, duration=20.0), findings=()
    )
    assert fit.trusted
    return fit


@pytest.fixture(scope="module")
def at_rest(arm: cp.Robot, truth: cp.Robot) -> Fit:
    """A calibration from poses at rest."""
    fit = calibrate(arm, visits(truth, design_poses(arm, 10), friction=0.5, noise=0.02), findings=())
    assert fit.trusted
    return fit


def test_a_tool_that_was_taken_off_is_weighed(with_tool: Fit, truth: cp.Robot, tip: str) -> None:
    found = verify(with_tool, motion(truth, coulomb=1.0, noise=0.05, duration=15.0, seed=5))
    assert not found.holds
    load = found.change.load
    assert load is not None and load.link == tip
    assert abs(load.mass + TOOL) < 2.0 * load.std
    assert load.std < 0.3 * TOOL
    reason = next(check for check in found.verdict.checks if check.name == "weight")
    assert not reason.passed
    assert f"kg less at {tip}" in reason.sentence


def test_an_unchanged_arm_has_not_changed(with_tool: Fit, truth: cp.Robot, tip: str) -> None:
    found = verify(
        with_tool, motion(truth.with_payload(TOOL, link=tip), coulomb=1.0, noise=0.05, duration=15.0, seed=5)
    )
    assert found.holds, found.verdict.reasons
    assert np.all(found.change.weight <= found.allowed)


@pytest.mark.parametrize("coulomb", [0.4, 2.0])
def test_changed_friction_is_no_change_of_weight(with_tool: Fit, truth: cp.Robot, tip: str, coulomb: float) -> None:
    """Worn or cold drives: the arm weighs what it did, and floats as it did."""
    changed = motion(truth.with_payload(TOOL, link=tip), coulomb=coulomb, noise=0.05, duration=15.0, seed=5)
    found = verify(with_tool, changed)
    weight = next(check for check in found.verdict.checks if check.name == "weight")
    assert weight.passed, weight.sentence
    assert np.any(found.rms > 2.0 * with_tool.heldout_rms)


def test_a_shifted_offset_is_constant(with_tool: Fit, truth: cp.Robot, tip: str) -> None:
    shift = np.array([0.0, 0.0, 6.0, 0.0])
    found = verify(
        with_tool,
        motion(truth.with_payload(TOOL, link=tip), coulomb=1.0, noise=0.05, offset=shift, duration=15.0, seed=5),
    )
    assert found.change.offset[2] == pytest.approx(6.0, abs=float(found.change.offset_error[2]))
    assert found.change.weight[2] <= found.allowed[2]
    checks = {check.name: check for check in found.verdict.checks}
    assert checks["weight"].passed, checks["weight"].sentence
    assert not checks["constant"].passed
    assert "joint3 has changed by a constant" in checks["constant"].sentence


def test_of_poses_at_rest_a_load_is_weighed_too(at_rest: Fit, arm: cp.Robot, truth: cp.Robot, tip: str) -> None:
    poses = inside(at_rest, design_poses(arm, 40, seed=5))[:6]
    found = verify(at_rest, visits(truth.with_payload(TOOL, link=tip), poses, friction=0.5, noise=0.02, seed=2))
    load = found.change.load
    assert not found.holds and load is not None
    assert abs(load.mass - TOOL) < 2.0 * load.std
    assert load.std < 0.3 * TOOL


def test_poses_outside_the_range_are_not_judged(at_rest: Fit, truth: cp.Robot) -> None:
    """Whatever they say: a wrong torque there is no reason against, a right one none for the calibration."""
    random = np.random.default_rng(0)
    inner = at_rest.lower + (at_rest.upper - at_rest.lower) * random.uniform(0.1, 0.9, (10, 4))
    outer = inner.copy()
    outer[:, 1] = at_rest.upper[1] + 0.2 * (at_rest.upper[1] - at_rest.lower[1])
    q = np.vstack([inner, outer])
    wrong = np.concatenate([np.zeros(10), np.full(10, 30.0)])[:, None]
    both = verify(at_rest, static_poses(truth.joint_names, q, truth.gravity(q) + wrong))
    assert both.outside == 0.5
    assert both.holds, both.verdict.reasons
    assert "50% of the samples lie outside" in {check.name: check.sentence for check in both.verdict.checks}["range"]
    alone = verify(at_rest, static_poses(truth.joint_names, outer, truth.gravity(outer)))
    assert not alone.holds
    assert np.isnan(alone.change.weight).all()
    assert "too few different poses" in alone.verdict.reasons[0]


def inside(fit: Fit, q: np.ndarray) -> np.ndarray:
    """Return the poses that lie within the calibrated range."""
    return q[np.all((q >= fit.lower) & (q <= fit.upper), axis=1)]


@pytest.fixture(scope="module")
def half_range(arm: cp.Robot, truth: cp.Robot) -> Fit:
    """A calibration from poses in some more than half of every joint's range, good to extrapolate."""
    middle, reach = 0.5 * (arm.lower + arm.upper), 0.28 * (arm.upper - arm.lower)
    q = middle + reach * np.random.default_rng(4).uniform(-1.0, 1.0, (60, arm.n))
    noise = 0.01 * np.random.default_rng(5).standard_normal(q.shape)
    fit = calibrate(arm, static_poses(arm.joint_names, q, truth.gravity(q) + noise), uses=("float", "extrapolate"))
    assert fit.trusted, fit.reasons
    return fit


def poses_beyond(fit: Fit, joint: int) -> np.ndarray:
    """Return poses within the calibrated range but for one joint, which is beyond it and within its limits."""
    random = np.random.default_rng(6)
    q = fit.lower + (fit.upper - fit.lower) * random.uniform(0.1, 0.9, (12, fit.robot.n))
    q[:, joint] = fit.upper[joint] + (fit.robot.upper[joint] - fit.upper[joint]) * random.uniform(0.3, 0.9, 12)
    return q


def without_extrapolation(fit: Fit) -> Fit:
    return replace(fit, statements=tuple(one for one in fit.statements if one.use != "extrapolate"))


def test_a_joint_that_changes_no_gravity_may_be_anywhere(half_range: Fit, truth: cp.Robot) -> None:
    """Joint 1 of the upright arm turns about the vertical; laid on its side it changes gravity as others do."""
    assert changing_gravity(truth).tolist() == [False, True, True, True]
    assert changing_gravity(truth.mounted(rpy=(np.pi / 2.0, 0.0, 0.0))).all()
    q = poses_beyond(half_range, 0)
    found = verify(without_extrapolation(half_range), static_poses(truth.joint_names, q, truth.gravity(q)))
    assert found.outside == 0.0
    assert found.holds, found.verdict.reasons
    heavy = truth.with_payload(TOOL)
    wrong = verify(without_extrapolation(half_range), static_poses(truth.joint_names, q, heavy.gravity(q)))
    assert not wrong.holds and "kg more" in wrong.verdict.reasons[0]


def test_outside_a_calibration_that_extrapolates_is_judged(half_range: Fit, truth: cp.Robot, tip: str) -> None:
    """By what the joints tolerate; one that is not good to extrapolate says nothing there."""
    q = poses_beyond(half_range, 1)
    right = static_poses(truth.joint_names, q, truth.gravity(q))
    wrong = static_poses(truth.joint_names, q, truth.with_payload(2.0, link=tip).gravity(q))
    for poses in (right, wrong):
        silent = verify(without_extrapolation(half_range), poses)
        assert not silent.holds and silent.elsewhere is None and silent.outside == 1.0
        assert "too few different poses" in silent.verdict.reasons[0]
    found = verify(half_range, right)
    assert found.holds, found.verdict.reasons
    assert found.elsewhere is not None and np.isnan(found.change.weight).all()
    assert (
        "judged by what the joints tolerate" in {check.name: check.sentence for check in found.verdict.checks}["range"]
    )
    found = verify(half_range, wrong)
    assert not found.holds
    assert found.verdict.reasons[0].startswith("outside the calibrated range the ")


def test_outside_the_range_a_tolerable_error_is_tolerated(half_range: Fit, truth: cp.Robot) -> None:
    """Inside it would be one too many: there the calibration has promised more."""
    for joint, holds in ((0, False), (1, True)):
        q = poses_beyond(half_range, joint)
        share = 0.5 * np.min(half_range.tolerated / np.maximum(np.abs(truth.gravity(q)).max(axis=0), 1e-9))
        found = verify(half_range, static_poses(truth.joint_names, q, (1.0 + share) * truth.gravity(q)))
        assert found.holds is holds, found.verdict.reasons
