"""What a fit is good for: every use with its number, missing with its reason, and numbers that grow with the noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Terms, samples_of_poses, static_poses
from counterpoise.identification.estimate import Estimate
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.statements import (
    EFFORT_TOLERANCE,
    LEAST_SAG,
    MOST_COMPENSATED,
    SAFE,
    TOLERANCE,
    USES,
    Assessment,
    UseStatement,
    assess,
    checked_uses,
    most_sag,
    tip_sag,
    tips,
)
from counterpoise.identification.weighted import weighted_fit
from library.calibration_data import motion, other_masses

POSES = 24
NOISES = (0.02, 0.2, 1.0, 5.0)
"""Noises of the efforts [N m] ..."""
HOPELESS = 100.0
"""... and one at which nothing holds."""
NUMBERED = ("hold", "payload", "contact")


@cache
def estimate(noise: float, *, guessed: bool = False) -> Estimate:
    arm = cp.load("wam4")
    q = design_poses(arm, POSES)
    tau = other_masses(arm).gravity(q) + noise * np.random.default_rng(1).standard_normal(q.shape)
    fitted = weighted_fit(arm, samples_of_poses(static_poses(arm.joint_names, q, tau)), terms=Terms.static())
    return Estimate.of_weighted(fitted, no_torques=guessed)


def assessed(
    noise: float, *, friction: float = 1.0, stiffness: float = 500.0, residual: float | None = None
) -> Assessment:
    found = estimate(noise)
    n = found.robot.n
    error = noise if residual is None else residual
    return assess(found, friction=np.full(n, friction), residual=np.full(n, error), stiffness=np.full(n, stiffness))


def stated(found: Assessment, use: str) -> UseStatement:
    return next(one for one in found.statements if one.use == use)


def test_good_data_are_good_for_everything() -> None:
    found = assessed(NOISES[0])
    assert tuple(one.use for one in found.statements) == USES
    assert found.missing == {}
    units = {one.use: one.unit for one in found.statements}
    assert units == {"hold": "m", "float": "", "payload": "kg", "contact": "N", "extrapolate": ""}


def test_bad_data_are_good_for_nothing_and_say_why() -> None:
    found = assessed(HOPELESS, stiffness=50.0)
    assert found.statements == ()
    assert tuple(found.missing) == USES
    assert "may be off" in found.missing["hold"]
    assert "tolerates" in found.missing["float"] and "where the arm was" in found.missing["float"]
    assert "kg would do" in found.missing["payload"]
    assert "N would do" in found.missing["contact"]
    assert "elsewhere" in found.missing["extrapolate"]


@pytest.mark.parametrize("noise", NOISES)
def test_every_use_is_listed_or_missing(noise: float) -> None:
    found = assessed(noise)
    listed = {one.use for one in found.statements}
    assert listed | set(found.missing) == set(USES)
    assert not listed & set(found.missing)


def test_errors_grow_with_the_noise() -> None:
    errors = np.array([assessed(noise).promise.error for noise in NOISES])
    assert np.all(np.diff(errors, axis=0) > 0.0)


@pytest.mark.parametrize("use", NUMBERED)
def test_numbers_grow_with_the_noise(use: str) -> None:
    values = [stated(found, use).value for found in map(assessed, NOISES) if use not in found.missing]
    assert len(values) >= 2
    assert np.all(np.diff(values) > 0.0)


def test_less_friction_is_compensable_with_more_noise() -> None:
    shares = [stated(assessed(noise), "float").value for noise in NOISES[:2]]
    assert MOST_COMPENSATED >= shares[0] > shares[1] >= 0.0
    assert f"{shares[0]:.0%} of the friction" in stated(assessed(NOISES[0]), "float").sentence


def test_of_little_friction_none_is_compensable() -> None:
    """The error itself moves the joint, so that it is said to creep."""
    found = stated(assessed(NOISES[1], friction=1e-3), "float")
    assert found.value == 0.0
    assert "creep" in found.sentence
    unknown = stated(assessed(NOISES[1], friction=float("nan")), "float")
    assert unknown.value == 0.0


def test_friction_makes_no_error_tolerable() -> None:
    """A joint that its friction holds is not thereby known."""
    assert "float" in assessed(NOISES[-1], friction=1e3).missing
    np.testing.assert_array_equal(
        assessed(NOISES[1], friction=1e3).promise.tolerated, assessed(NOISES[1], friction=0.0).promise.tolerated
    )


def test_a_joint_tolerates_the_larger_share_of_weight_and_drive() -> None:
    found, promise = estimate(NOISES[0]), assessed(NOISES[0]).promise
    poses = found.posterior.poses
    gravity = np.sqrt(np.mean(found.load(poses) ** 2, axis=0))
    np.testing.assert_allclose(promise.gravity, gravity)
    strong = EFFORT_TOLERANCE * np.nan_to_num(found.robot.effort_limit, posinf=0.0)
    np.testing.assert_allclose(promise.tolerated, np.maximum(TOLERANCE * gravity, strong))


def test_the_stated_errors_are_true() -> None:
    """The known arm lies within every promise; what is stated at 95 % is that over many arms, here it is one."""
    for noise in NOISES:
        found, promise = estimate(noise), assessed(noise).promise
        poses = found.posterior.poses
        off = found.load(poses) - other_masses(found.robot).gravity(poses)
        assert np.all(np.sqrt(np.mean(off**2, axis=0)) < 1.5 * promise.error)


def test_no_error_within_the_stated_bounds_sags_more_than_is_stated() -> None:
    found = estimate(NOISES[1])
    poses = found.posterior.poses
    stiffness = np.full(found.robot.n, 500.0)
    bound = SAFE * found.deviation(poses, offsets=True)
    value = stated(assessed(NOISES[1]), "hold").value
    assert value == pytest.approx(most_sag(found.robot, poses, bound, stiffness))
    random = np.random.default_rng(0)
    sags = [
        tip_sag(found.robot, poses, bound * random.choice([-1.0, 1.0], bound.shape), stiffness).largest
        for _ in range(50)
    ]
    assert 0.3 * value < max(sags) <= value


def test_nothing_is_stated_of_a_model_that_lacks_what_shows() -> None:
    """A drive whose torque grows by half within the recording: its errors are stated, and no use."""
    arm = cp.load("planar3")
    log = motion(other_masses(arm), coulomb=0.3, noise=0.02)
    grows = 1.0 + 0.5 * log.time / log.time[-1]
    tau = log.tau.copy()
    tau[:, 1] *= grows
    fit = cp.calibrate(arm, replace(log, tau=tau), findings=())
    assert [check.name for check in fit.verdict.checks if not check.passed][:1] == ["structure"]
    assert fit.statements == () and not fit.trusted
    assert np.isfinite(fit.gravity_error).all()


def test_a_softer_hold_sags_more() -> None:
    soft, stiff = (stated(assessed(NOISES[0], stiffness=value), "hold").value for value in (50.0, 500.0))
    assert soft == pytest.approx(10.0 * stiff)


@pytest.mark.parametrize("use", ["payload", "contact"])
def test_errors_in_motion_hide_loads_and_pushes(use: str) -> None:
    quiet, loud = (stated(assessed(NOISES[0], residual=value), use).value for value in (0.01, 0.3))
    assert loud > 2.0 * quiet


def test_a_load_that_is_stated_to_show_shows() -> None:
    """Its torque is larger than the error of some joint, three standard deviations and all."""
    found, load = estimate(NOISES[1]), stated(assessed(NOISES[1]), "payload").value
    poses, robot = found.posterior.poses, found.robot
    loaded = robot.with_payload(load, link=tips(robot)[0])
    shown = np.sqrt(np.mean((loaded.gravity(poses) - robot.gravity(poses)) ** 2, axis=0))
    assert np.any(shown > 3.0 * NOISES[1])


def test_command_units_weigh_nothing() -> None:
    """Where efforts are no torques, kilograms, newtons and millimetres are unknown; shares are not."""
    found = estimate(NOISES[0], guessed=True)
    n = found.robot.n
    result = assess(found, friction=np.ones(n), residual=np.full(n, 0.02), stiffness=np.full(n, 500.0))
    assert {one.use for one in result.statements} == {"float", "extrapolate"}
    assert all("command units" in result.missing[use] for use in ("hold", "payload", "contact"))


def test_uses_are_returned_in_their_order() -> None:
    assert checked_uses(["extrapolate", "hold"]) == ("hold", "extrapolate")
    assert checked_uses(USES) == USES
    assert checked_uses(["float", "float"]) == ("float",)


@pytest.mark.parametrize(
    ("asked", "words"), [([], "nothing"), (["flote"], "'flote'"), (["float", "fly", "swim"], "'fly', 'swim'")]
)
def test_unknown_uses_are_refused(asked: list[str], words: str) -> None:
    with pytest.raises(cp.InputError, match=f"for {words} is asked for; expected some of hold, float"):
        checked_uses(asked)


def test_an_arm_that_feels_no_push_in_some_direction_says_so() -> None:
    """A planar arm: a push across its plane loads no joint, whatever the poses."""
    arm = cp.load("planar3")
    q = design_poses(arm, POSES)
    fitted = weighted_fit(arm, samples_of_poses(static_poses(arm.joint_names, q, arm.gravity(q))), terms=Terms.static())
    n = arm.n
    found = assess(
        Estimate.of_weighted(fitted), friction=np.ones(n), residual=np.full(n, 0.01), stiffness=np.full(n, 500.0)
    )
    assert found.missing["contact"] == "in some direction no joint feels a push at the tip"


def test_exact_data_are_stated_without_an_error_of_arithmetic() -> None:
    """Nothing is unexplained and nothing held out: numbers are tiny, and finite."""
    arm = cp.load("wam4")
    q = design_poses(arm, POSES)
    fitted = weighted_fit(arm, samples_of_poses(static_poses(arm.joint_names, q, arm.gravity(q))), terms=Terms.static())
    n = arm.n
    found = assess(Estimate.of_weighted(fitted), friction=np.ones(n), residual=np.zeros(n), stiffness=np.full(n, 500.0))
    assert {"hold", "float", "payload", "contact"} <= {one.use for one in found.statements}
    assert all(np.isfinite(one.value) for one in found.statements if one.use != "extrapolate")


def test_no_sag_is_stated_that_no_drive_can_keep() -> None:
    """Errors of microns are stated as a tenth of a millimetre."""
    assert stated(assessed(NOISES[0], residual=0.0, stiffness=1e9), "hold").value == LEAST_SAG
