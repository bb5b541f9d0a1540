"""A fit of any method in one form: what it may speak of, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Terms, samples_of_poses, static_poses
from counterpoise.identification.estimate import Estimate
from counterpoise.identification.moving import moving_samples
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.weighted import weighted_fit
from counterpoise.identification.workspace import solve_static
from library.calibration_data import motion, other_masses


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


def noisy_estimates(arm: cp.Robot, truth: cp.Robot, q: np.ndarray, *, count: int, seed: int) -> Iterator[Estimate]:
    """Yield fits to the same poses with new noise of 0.3 N m."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        tau = truth.gravity(q) + 0.3 * random.standard_normal(q.shape)
        poses = static_poses(arm.joint_names, q, tau)
        yield Estimate.of_weighted(weighted_fit(arm, samples_of_poses(poses), terms=Terms.static()))


def test_static_and_weighted_fits_speak_of_the_same_numbers(arm: cp.Robot) -> None:
    """The same poses by two solvers: names, values, errors and predictions agree."""
    q = design_poses(arm, 12)
    tau = other_masses(arm).gravity(q) + 0.2 * np.random.default_rng(0).standard_normal(q.shape)
    poses = static_poses(arm.joint_names, q, tau)
    fitted = weighted_fit(arm, samples_of_poses(poses), terms=Terms.static(), prior=None, robust=False)
    one = Estimate.of_base(arm, solve_static(arm, poses, robust=False), fitted.posterior)
    other = Estimate.of_weighted(fitted)
    assert one.language.names == other.language.names
    np.testing.assert_allclose(one.language.x, other.language.x, atol=0.1)
    holding = [estimate.load(q, offsets=True) for estimate in (one, other)]
    np.testing.assert_allclose(*holding, atol=0.1)
    assert one.identifiable.complete
    assert other.identifiable.complete


def test_errors_of_predicted_holding_torques_are_honest(arm: cp.Robot) -> None:
    """Over 40 fits to noisy poses, 95 % of the holding torques lie within two stated deviations of the true ones."""
    truth = other_masses(arm)
    q = design_poses(arm, 10)
    covered = []
    for estimate in noisy_estimates(arm, truth, q, count=40, seed=2):
        missed = estimate.load(q, offsets=True) - truth.gravity(q)
        covered.append(np.mean(np.abs(missed) <= 2.0 * estimate.deviation(q, offsets=True)))
    assert 0.9 < np.mean(covered) <= 1.0


def test_a_joint_that_stood_still_without_torque_belongs_to_the_link_before_it(arm: cp.Robot) -> None:
    """The third joint locked and unmeasured: its parameters are grouped into the second, none is spoken of by
    itself."""
    log = motion(arm, moving=[0, 1], noise=0.05)
    tau = log.tau.copy()
    tau[:, 2] = np.nan
    samples = moving_samples(arm, replace(log, tau=tau))
    fixed = np.array([np.nan, np.nan, 0.0])
    estimate = Estimate.of_weighted(weighted_fit(arm, samples), fixed)
    gravity = [name for name in estimate.language.names if name in arm.base_parameters.names]
    assert gravity == [name for name in arm.base_parameters.names if not name.startswith("joint3")]
    assert "link3" in str(estimate.language.expansion)
    assert np.all(estimate.identifiable.eigenvalues > 1e-3)  # nothing is left that no torque could tell


def test_a_joint_without_motion_keeps_its_prior(arm: cp.Robot) -> None:
    """What the data do not determine keeps the uncertainty of the description; what they do does not."""
    samples = moving_samples(arm, motion(arm, moving=[1, 2], noise=0.05))
    estimate = Estimate.of_weighted(weighted_fit(arm, samples))
    well = Estimate.of_weighted(weighted_fit(arm, moving_samples(arm, motion(arm, noise=0.05))))
    q = estimate.workspace
    assert np.mean(estimate.deviation(q)[:, 0]) > 2.0 * np.mean(well.deviation(q)[:, 0])
    assert estimate.identifiable.eigenvalues.min() < well.identifiable.eigenvalues.min()


def test_units_are_named(arm: cp.Robot) -> None:
    samples = moving_samples(arm, motion(arm, noise=0.05, gain=0.5))
    terms = Terms.moving().replace(gain=("all",))
    estimate = Estimate.of_weighted(weighted_fit(arm, samples, terms=terms))
    assert estimate.command_units
    assert estimate.unit("joint1.coulomb") == "command units"
    assert estimate.unit("joint1.gain") == "per N m"
    assert estimate.unit("joint1.mx") == "kg m"
    assert estimate.effort_units == ("command units",) * 3


@pytest.mark.parametrize(("poses", "share"), [(10, 0.85), (20, 0.9)])
def test_the_stated_gravity_error_is_right_19_times_in_20(arm: cp.Robot, poses: int, share: float) -> None:
    """Root mean square errors over the poses of 60 fits, against what was stated for them; not far too wide either.

    95 % of 20 poses. Ten are few for three joints with offsets: 90 %.
    """
    truth = other_masses(arm)
    q = design_poses(arm, poses)
    ratios = []
    for estimate in noisy_estimates(arm, truth, q, count=60, seed=5):
        missed = np.sqrt(np.mean((estimate.load(q) - truth.gravity(q)) ** 2, axis=0))
        ratios.append(missed / estimate.gravity_error(q))
    assert np.mean(np.array(ratios) <= 1.0) >= share
    assert np.quantile(ratios, 0.95) > 0.4


def test_errors_that_all_poses_share_are_stated_wider_than_errors_that_average_out(arm: cp.Robot) -> None:
    """The 95 % bound of a mean square: 1.96 deviations where one number makes all errors, less where many do."""
    q = design_poses(arm, 10)
    tau = other_masses(arm).gravity(q) + 0.3 * np.random.default_rng(6).standard_normal(q.shape)
    fitted = weighted_fit(arm, samples_of_poses(static_poses(arm.joint_names, q, tau)), terms=Terms.static())
    estimate = Estimate.of_weighted(fitted)
    deviation = np.sqrt(np.mean(estimate.deviation(q) ** 2, axis=0))
    assert np.all(estimate.gravity_error(q) <= 1.97 * deviation)
    one = q[:1]
    np.testing.assert_allclose(estimate.gravity_error(one), 1.96 * estimate.deviation(one)[0], rtol=2e-3)
