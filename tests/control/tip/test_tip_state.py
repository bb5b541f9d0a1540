"""Where a tip is, how it turns and how heavy it looks."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.tip.tip import MOST_MASS, SCALE, task_inertia, tip_state
from counterpoise.dynamics import mass_matrix_with_rotors
from counterpoise.foundation import rotation_vector

ROBOT = cp.load("wam7")
RNG = np.random.default_rng(5)


def test_twist_is_the_motion_of_the_link() -> None:
    """The twist is the derivative of the pose."""
    q, dq = RNG.uniform(-1.0, 1.0, 7), RNG.uniform(-1.0, 1.0, 7)
    state = tip_state(ROBOT, q, dq, "toolplate")
    ahead, behind = (ROBOT.forward_kinematics(q + sign * 1e-6 * dq) for sign in (1.0, -1.0))
    np.testing.assert_allclose(state.twist[:3], (ahead - behind)[:3, 3] / 2e-6, atol=1e-7)
    turn = rotation_vector(ahead[:3, :3] @ behind[:3, :3].T) / 2e-6
    np.testing.assert_allclose(state.twist[3:], turn, atol=1e-6)


def test_tip_inertia_away_from_singularities_is_khatibs() -> None:
    """Λ = (J M⁻¹ Jᵀ)⁻¹ where nothing is cut."""
    q = np.array([0.3, 0.5, 0.2, 1.6, 0.1, 0.6, 0.2])
    J, M = ROBOT.jacobian(q), mass_matrix_with_rotors(ROBOT, q)
    axes, masses = task_inertia(J, M)
    assert masses.max() < MOST_MASS
    np.testing.assert_allclose((axes * masses) @ axes.T, np.linalg.inv(J @ np.linalg.solve(M, J.T)), rtol=1e-9)


def test_tip_inertia_stays_finite_where_the_arm_is_stretched() -> None:
    """At a singularity the mass is cut instead of growing without bound."""
    q = np.zeros(7)
    axes, masses = task_inertia(ROBOT.jacobian(q), mass_matrix_with_rotors(ROBOT, q))
    assert masses.max() == pytest.approx(MOST_MASS)
    inertia = (axes * masses) @ axes.T / np.outer(SCALE, SCALE)
    assert np.linalg.eigvalsh(inertia).max() <= MOST_MASS * (1.0 + 1e-9)
