"""Where a tip is, how it turns and how heavy it looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import counterpoise as cp
from counterpoise.control.tip.tip_state import MOST_MASS, SCALE, mass_matrix, rotation_vector, task_inertia, tip_state

ROBOT = cp.load("wam7")
RNG = np.random.default_rng(5)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3))
def test_rotation_vectors_turn_back(vector: list[float]) -> None:
    """Every rotation's vector gives the rotation again and is at most a half turn long."""
    rotation = Rotation.from_rotvec(vector).as_matrix()
    found = rotation_vector(rotation)
    assert np.linalg.norm(found) <= np.pi + 1e-9
    np.testing.assert_allclose(Rotation.from_rotvec(found).as_matrix(), rotation, atol=1e-9)


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, -0.8]], [[-0.6, 0.0, 0.8]]]))
def test_half_turns_have_one_answer(axis: np.ndarray) -> None:
    """At a half turn the error is π long and does not depend on which of the two axes was meant."""
    rotation = 2.0 * np.outer(axis, axis) - np.eye(3)
    found = rotation_vector(rotation)
    assert np.linalg.norm(found) == pytest.approx(np.pi)
    assert found[np.flatnonzero(np.abs(found) > 1e-9)[0]] > 0.0


def test_small_turns_keep_their_digits() -> None:
    """A nanoradian is a nanoradian."""
    vector = np.array([1e-9, -2e-9, 3e-9])
    np.testing.assert_allclose(rotation_vector(Rotation.from_rotvec(vector).as_matrix()), vector, rtol=1e-6)


def test_twist_is_the_motion_of_the_link() -> None:
    """The twist is the derivative of the pose."""
    q, dq = RNG.uniform(-1.0, 1.0, 7), RNG.uniform(-1.0, 1.0, 7)
    state = tip_state(ROBOT, q, dq, "toolplate")
    ahead, behind = (ROBOT.forward_kinematics(q + sign * 1e-6 * dq) for sign in (1.0, -1.0))
    np.testing.assert_allclose(state.twist[:3], (ahead - behind)[:3, 3] / 2e-6, atol=1e-7)
    turn = rotation_vector(ahead[:3, :3] @ behind[:3, :3].T) / 2e-6
    np.testing.assert_allclose(state.twist[3:], turn, atol=1e-6)


def test_mass_matrix_is_that_of_the_dynamics_with_rotors() -> None:
    """M q̈ is what the inverse dynamics adds for an acceleration, plus the rotors' share."""
    q, ddq = RNG.uniform(-1.0, 1.0, 7), RNG.uniform(-1.0, 1.0, 7)
    expected = ROBOT.inverse_dynamics(q, np.zeros(7), ddq) - ROBOT.gravity(q) + ROBOT.rotor_inertia * ddq
    np.testing.assert_allclose(mass_matrix(ROBOT, q) @ ddq, expected, atol=1e-12)


def test_tip_inertia_away_from_singularities_is_khatibs() -> None:
    """Λ = (J M⁻¹ Jᵀ)⁻¹ where nothing is cut."""
    q = np.array([0.3, 0.5, 0.2, 1.6, 0.1, 0.6, 0.2])
    J, M = ROBOT.jacobian(q), mass_matrix(ROBOT, q)
    axes, masses = task_inertia(J, M)
    assert masses.max() < MOST_MASS
    np.testing.assert_allclose((axes * masses) @ axes.T, np.linalg.inv(J @ np.linalg.solve(M, J.T)), rtol=1e-9)


def test_tip_inertia_stays_finite_where_the_arm_is_stretched() -> None:
    """At a singularity the mass is cut instead of growing without bound."""
    q = np.zeros(7)
    axes, masses = task_inertia(ROBOT.jacobian(q), mass_matrix(ROBOT, q))
    assert masses.max() == pytest.approx(MOST_MASS)
    inertia = (axes * masses) @ axes.T / np.outer(SCALE, SCALE)
    assert np.linalg.eigvalsh(inertia).max() <= MOST_MASS * (1.0 + 1e-9)
