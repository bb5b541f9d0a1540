"""Trusted or not: every check can fail, and says why in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from calibration_data import other_masses
from counterpoise.calibration.design import design_poses
from counterpoise.calibration.estimate import Estimate
from counterpoise.calibration.prior import CadPrior
from counterpoise.calibration.samples import Samples
from counterpoise.calibration.static_poses import static_poses
from counterpoise.calibration.static_rows import solve_static
from counterpoise.calibration.terms import Terms
from counterpoise.calibration.verdict import EFFORT_TOLERANCE, TOLERANCE, judge, tolerance
from counterpoise.calibration.weighted import weighted_fit
from counterpoise.doctor.finding import Consequence, Finding, LogFault


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    arm = cp.load("planar3")
    q = design_poses(arm, 10)
    tau = other_masses(arm).gravity(q) + 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    return Estimate.of_base(arm, solve_static(arm, static_poses(arm.joint_names, q, tau)))


def judged(estimate: Estimate, **changes: Any) -> dict[str, tuple[bool, str]]:
    facts: dict[str, Any] = {
        "torque_rms": np.full(3, 0.05),
        "heldout_rms": np.full(3, 0.06),
        "signal": np.full(3, 10.0),
        "tolerated": np.full(3, 0.5),
        "novelty": np.array([0.1, 0.2, 0.3]),
    }
    return {check.name: (check.passed, check.sentence) for check in judge(estimate, **(facts | changes)).checks}


def test_a_good_fit_passes_every_check(estimate: Estimate) -> None:
    assert all(passed for passed, _ in judged(estimate).values())


@pytest.mark.parametrize(
    ("check", "changes", "word"),
    [
        ("coverage", {"tolerated": np.full(3, 1e-4)}, "workspace"),
        ("residual", {"heldout_rms": np.array([0.06, 4.0, 0.06])}, "joint2"),
        ("generalises", {"heldout_rms": np.array([0.06, 0.06, 2.0])}, "40"),
        ("novelty", {"novelty": np.array([0.0, 0.001, 0.1])}, "nothing new"),
    ],
)
def test_a_check_fails_with_its_numbers(estimate: Estimate, check: str, changes: dict[str, Any], word: str) -> None:
    passed, sentence = judged(estimate, **changes)[check]
    assert not passed
    assert word in sentence


@pytest.mark.parametrize(
    ("check", "changes"),
    [
        ("residual", {"heldout_rms": np.array([0.06, np.nan, 0.06])}),
        ("coverage", {"tolerated": np.array([0.5, np.nan, 0.5])}),
        ("generalises", {"torque_rms": np.array([np.nan, 0.05, 0.05])}),
        ("novelty", {"novelty": np.full(3, np.nan)}),
    ],
)
def test_what_is_not_a_number_does_not_pass(estimate: Estimate, check: str, changes: dict[str, Any]) -> None:
    assert not judged(estimate, **changes)[check][0]


def test_poses_that_leave_something_open_fail_rank() -> None:
    """Two poses for nine numbers."""
    arm = cp.load("planar3")
    q = design_poses(arm, 2)
    solution = solve_static(
        arm, static_poses(arm.joint_names, q, arm.gravity(q)), sigma=np.ones(3), prior=_nothing(arm)
    )
    found = judged(Estimate.of_base(arm, solution))
    assert not found["rank"][0]
    assert "3 of 9 combinations" in found["rank"][1]
    assert not found["coverage"][0]


def test_poses_that_hardly_differ_fail_condition() -> None:
    """Within a hundredth of a radian of each other everything shows, but by a thousandth of its size."""
    arm = cp.load("planar3")
    q = 0.3 + 4e-4 * np.random.default_rng(0).standard_normal((30, 3))
    poses = static_poses(arm.joint_names, q, arm.gravity(q))
    regression = solve_static(arm, poses, sigma=np.ones(3), prior=_nothing(arm))
    found = judged(Estimate.of_base(arm, regression))
    assert not found["condition"][0]


def test_leaning_on_the_prior_fails_prior() -> None:
    """Torques with so much noise that they change nothing."""
    arm = cp.load("planar3")
    from counterpoise.calibration.calibrate import _base_prior

    q = design_poses(arm, 6)
    poses = static_poses(arm.joint_names, q, arm.gravity(q))
    solution = solve_static(arm, poses, prior=_base_prior(arm, 1.0), sigma=np.full(3, 1e4))
    passed, sentence = judged(Estimate.of_base(arm, solution, "CAD values of planar3", 1.0))["prior"]
    assert not passed
    assert "100%" in sentence


def test_what_spoils_a_recording_fails(estimate: Estimate) -> None:
    finding = Finding(LogFault.DEAD, Consequence.SPOILS, ("joint1",), "The effort of joint1 is dead.", "Mend it.")
    assert judged(estimate, findings=[finding])["recording"] == (False, "The effort of joint1 is dead. Mend it.")
    note = Finding(LogFault.DEAD, Consequence.LIMITS, ("joint1",), "It is a bit dead.", "Mend it.")
    assert judged(estimate, findings=[note])["recording"][0]


def test_an_assumed_rate_spoils_a_fit_of_motion_only(estimate: Estimate) -> None:
    """Weights at rest do not depend on it; inertias and viscous friction do."""
    assumed = Finding(
        LogFault.NO_TIME, Consequence.LIMITS, (), "100 samples per second were assumed.", "Give the rate."
    )
    assert judged(estimate, findings=[assumed])["recording"][0]
    arm = estimate.robot
    random = np.random.default_rng(1)
    q, dq, ddq = random.uniform(-1.0, 1.0, (3, 200, 3))
    tau = arm.inverse_dynamics(q, dq, ddq) + 0.05 * random.standard_normal(q.shape)
    samples = Samples(arm.joint_names, np.arange(200.0), q, dq, ddq, tau, np.full(3, 0.01))
    moving = Estimate.of_weighted(weighted_fit(arm, samples, terms=Terms.moving(None), prior=CadPrior()))
    assert not judged(moving, findings=[assumed])["recording"][0]
    given = Finding(LogFault.NO_TIME, Consequence.NOTE, (), "The rate was given.", "Nothing.")
    assert judged(moving, findings=[given])["recording"][0]


def test_a_joint_tolerates_the_largest_of_three(estimate: Estimate) -> None:
    """A share of its weight, its friction, a share of its drive."""
    limits = estimate.robot.effort_limit
    strong = np.where(np.isfinite(limits), EFFORT_TOLERANCE * limits, 0.0)
    expected = np.maximum(np.maximum(TOLERANCE * estimate.gravity_rms, (0.0, 50.0, 0.0)), strong)
    np.testing.assert_allclose(tolerance(estimate, np.array([np.nan, 50.0, 0.0])), expected)


def _nothing(arm: cp.Robot) -> Any:
    from counterpoise.calibration.gaussian import Gaussian

    size = len(arm.base_parameters.names) + arm.n
    return Gaussian(np.zeros(size), np.zeros((0, size)))
