"""The held-out check."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Samples, StaticPoses, Terms, root_mean_square, static_poses
from counterpoise.identification.estimate import Estimate
from counterpoise.identification.heldout import check_moving, check_static, some_poses
from counterpoise.identification.moving import moving_samples
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.weighted import weighted_fit
from counterpoise.identification.workspace import solve_static
from library.calibration_data import motion


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


def fitted(arm: cp.Robot, poses: StaticPoses, *, robust: bool = True) -> Estimate:
    """Fit base parameters; what they leave open is not looked at here."""
    posterior = weighted_fit(arm, _rest(poses), terms=Terms.static(), prior=None).posterior
    return Estimate.of_base(arm, solve_static(arm, poses, robust=robust), posterior)


def test_poses_are_held_out_one_after_the_other(arm: cp.Robot) -> None:
    """Each pose is predicted by a fit that has not seen it: what a fit by hand gives, and more than the fitted
    error."""
    q = design_poses(arm, 8)
    random = np.random.default_rng(0)
    poses = static_poses(arm.joint_names, q, arm.gravity(q) + 0.3 * random.standard_normal(q.shape))

    def fit(chosen: StaticPoses) -> Estimate:
        return fitted(arm, chosen, robust=False)

    found = check_static(poses, fit)
    assert "8 poses held out one after the other" in found.how
    for pose in range(8):
        others = np.arange(8) != pose
        alone = solve_static(arm, some_poses(poses, others), robust=False)
        base = len(arm.base_parameters.names)
        expected = arm.base_gravity_regressor(q[pose]) @ alone.x[:base] + alone.x[base:]
        np.testing.assert_allclose(found.error[pose], poses.tau[pose] - expected, atol=1e-9)
    left = poses.tau - fit(poses).predict(_rest(poses))
    assert np.all(found.rms > root_mean_square(left))
    assert found.novelty[1] > 0.1


def test_the_two_sides_of_a_pose_are_held_out_together(arm: cp.Robot) -> None:
    """Poses within 0.05 rad are one: otherwise the other side would give the answer away."""
    q = design_poses(arm, 6)
    twice = np.vstack([q, q + 0.01])
    seen: list[int] = []

    def fit(chosen: StaticPoses) -> Estimate:
        seen.append(len(chosen))
        return fitted(arm, chosen)

    found = check_static(static_poses(arm.joint_names, twice, arm.gravity(twice)), fit)
    assert seen == [10] * 6
    assert found.held.all()


def test_many_poses_are_held_out_by_regions(arm: cp.Robot) -> None:
    q = np.random.default_rng(2).uniform(-1.5, 1.5, (60, 3))
    calls: list[int] = []

    def fit(chosen: StaticPoses) -> Estimate:
        calls.append(len(chosen))
        return fitted(arm, chosen)

    found = check_static(static_poses(arm.joint_names, q, arm.gravity(q)), fit)
    assert len(calls) == 20
    assert "regions" in found.how


def test_a_division_that_cannot_be_fitted_is_passed_over(arm: cp.Robot) -> None:
    """Without the first pose the others lie on a line: that one is not held out, the others are."""
    q = design_poses(arm, 5)
    calls: list[int] = []

    def fit(chosen: StaticPoses) -> Estimate:
        calls.append(len(chosen))
        if len(calls) == 1:
            raise cp.InputError("all poses lie on one line")
        return fitted(arm, chosen)

    found = check_static(static_poses(arm.joint_names, q, arm.gravity(q)), fit)
    assert found.held.tolist() == [False, True, True, True, True]
    assert np.abs(found.error).max() < 1e-6


def test_two_poses_cannot_be_checked(arm: cp.Robot) -> None:
    q = np.array([[0.0, 0.5, 1.0], [1.0, -0.5, 0.3]])
    with pytest.raises(cp.InputError, match="at least 3"):
        check_static(
            static_poses(arm.joint_names, q, arm.gravity(q)),
            lambda chosen: fitted(arm, chosen),
        )


def test_a_motion_is_divided_by_its_path(arm: cp.Robot) -> None:
    """The training part predicts the other; the two are apart."""
    samples = moving_samples(arm, motion(arm, noise=0.05, duration=20.0))
    trained: list[int] = []

    def fit(chosen: Samples) -> Estimate:
        trained.append(len(chosen))
        return Estimate.of_weighted(weighted_fit(arm, chosen))

    found = check_moving(samples, "path", fit)
    assert trained[0] + int(found.held.sum()) <= len(samples)
    assert len(found.error) == int(found.held.sum())
    assert found.novelty[1] > 0.02


def _rest(poses: StaticPoses) -> Samples:
    from counterpoise.fitting import samples_of_poses

    return samples_of_poses(poses)
