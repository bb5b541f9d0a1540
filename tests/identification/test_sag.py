"""Torque errors as displacement of the tip."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.statements import BANDWIDTH, assumed_stiffness, given_stiffness, tip_sag


def test_a_pendulum_sags_by_error_over_stiffness_times_length() -> None:
    arm = cp.load("planar3")
    tip = arm.forward_kinematics(np.zeros(3), at=arm.link_names[-1])[:3, 3]
    origin = arm.jacobian(np.zeros(3), at=arm.link_names[-1])[:3, 0]
    length = np.linalg.norm(origin)  # rad of joint 1 to m at the tip
    error = np.array([[2.0, 0.0, 0.0], [2.0, np.nan, 0.0]])
    found = tip_sag(arm, np.zeros((2, 3)), error, np.array([100.0, 50.0, 20.0]))
    assert found.per_joint[0] == pytest.approx(2.0 / 100.0 * length)
    assert found.per_joint[1] == 0.0
    assert found.total == pytest.approx(2.0 / 100.0 * length)
    assert found.largest == pytest.approx(found.total)
    assert np.linalg.norm(tip) > 0.0


def test_errors_of_several_joints_add_up_as_vectors() -> None:
    arm = cp.load("planar3")
    q = np.array([[0.3, -0.4, 0.9]])
    error, stiffness = np.array([[1.0, -2.0, 0.5]]), np.array([80.0, 60.0, 40.0])
    moved = arm.jacobian(q[0], at=arm.link_names[-1])[:3] @ (error[0] / stiffness)
    assert tip_sag(arm, q, error, stiffness).total == pytest.approx(float(np.linalg.norm(moved)))


@pytest.mark.parametrize("factor", [1e-4, 1e-2, 10.0])
def test_the_sag_is_inverse_to_the_stiffness_and_a_joint_without_any_has_none(factor: float) -> None:
    """However soft the joints are; one of stiffness 0 is left out."""
    arm, q, error = cp.load("planar3"), np.array([[0.3, -0.4, 0.9]]), np.array([[1.0, -2.0, 0.5]])
    stiffness = np.array([80.0, 0.0, 40.0])
    stiff, soft = tip_sag(arm, q, error, stiffness), tip_sag(arm, q, error, factor * stiffness)
    assert soft.per_joint == pytest.approx(stiff.per_joint / factor)
    assert (soft.total, soft.largest) == (pytest.approx(stiff.total / factor), pytest.approx(stiff.largest / factor))
    assert stiff.per_joint[1] == 0.0 < stiff.per_joint[0]


def test_the_assumed_stiffness_follows_the_inertia() -> None:
    """K = J ω²; a fitted rotor counts where it is larger than the described one."""
    arm = cp.load("pendulum")
    inertia = float((arm.inverse_dynamics([0.3], [0.0], [1.0]) - arm.gravity([0.3]))[0])
    rotor = float(arm.rotor_inertia[0])
    assert assumed_stiffness(arm, np.zeros(1))[0] == pytest.approx((inertia + rotor) * BANDWIDTH**2)
    assert assumed_stiffness(arm, np.array([5.0]))[0] == pytest.approx((inertia + 5.0) * BANDWIDTH**2)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), [1.0, 2.0], "soft", None])
def test_a_stiffness_without_a_meaning_is_refused(bad: object) -> None:
    with pytest.raises(cp.InputError, match="stiffness"):
        given_stiffness(cp.load("planar3"), bad)  # type: ignore[arg-type]
