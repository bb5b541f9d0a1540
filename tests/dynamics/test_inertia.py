"""The inertia that joints feel is that of the dynamics: free, locked, and for whole batches of poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics.inertia import driven_inertias, joint_inertias, mass_matrix_with_rotors
from library.random_robots import random_motion

ARMS = ("pendulum", "puma560", "scara", "dualarm19")


@pytest.mark.parametrize("name", ARMS)
def test_mass_matrix_is_that_of_the_dynamics_with_rotors(name: str) -> None:
    """M q̈ is what the inverse dynamics adds for an acceleration, plus the rotors' share; a batch is its poses."""
    robot = cp.load(name)
    q, _, ddq = random_motion(robot, 0, 4)
    expected = robot.inverse_dynamics(q, np.zeros_like(q), ddq) - robot.gravity(q) + robot.rotor_inertia * ddq
    batch = mass_matrix_with_rotors(robot, q)
    np.testing.assert_allclose((batch @ ddq[..., None])[..., 0], expected, atol=1e-10)
    np.testing.assert_allclose(mass_matrix_with_rotors(robot, q[1]), batch[1], atol=1e-12)
    np.testing.assert_array_equal(batch, np.swapaxes(batch, 1, 2))


@pytest.mark.parametrize("name", ARMS)
def test_the_robots_own_mass_matrix_has_no_rotors(name: str) -> None:
    """It is what the inverse dynamics multiplies accelerations with; no poses give no matrices."""
    robot = cp.load(name)
    q, dq, ddq = random_motion(robot, 3, 2)
    rotors = mass_matrix_with_rotors(robot, q) - robot.mass_matrix(q)
    np.testing.assert_allclose(rotors, np.broadcast_to(np.diag(robot.rotor_inertia), rotors.shape), atol=1e-12)
    still = robot.inverse_dynamics(q, dq, np.zeros_like(q))
    moved = robot.inverse_dynamics(q, dq, ddq) - still
    np.testing.assert_allclose((robot.mass_matrix(q) @ ddq[..., None])[..., 0], moved, atol=1e-9)
    assert robot.mass_matrix(q[:0]).shape == (0, robot.n, robot.n)
    with pytest.raises(cp.InputError, match="q has shape"):
        robot.mass_matrix(q[:, :-1])


@pytest.mark.parametrize("name", ARMS)
def test_a_free_joint_is_accelerated_by_torque_over_inertia(name: str) -> None:
    """A torque on one joint alone, the others left to themselves."""
    robot = cp.load(name)
    q = random_motion(robot, 1, 1)[0][0]
    for joint, inertia in enumerate(joint_inertias(robot, q)):
        acceleration = np.linalg.solve(mass_matrix_with_rotors(robot, q), np.eye(robot.n)[joint])
        assert acceleration[joint] == pytest.approx(1.0 / inertia)


@pytest.mark.parametrize("name", ARMS)
def test_a_joint_drives_the_diagonal_without_its_rotor(name: str) -> None:
    """With the other joints locked."""
    robot = cp.load(name)
    q = random_motion(robot, 2, 3)[0]
    diagonal = np.diagonal(mass_matrix_with_rotors(robot, q), axis1=1, axis2=2)
    np.testing.assert_allclose(driven_inertias(robot, q), diagonal - robot.rotor_inertia, atol=1e-10)


def test_unphysical_inertias_leave_the_rotors() -> None:
    """A mass matrix is refused, the free joint has its rotor's inertia alone, the driven one is as the file says."""
    robot = cp.load("puma560")
    links = tuple(
        link if link.inertia is None else replace(link, inertia=replace(link.inertia, tensor_com=np.diag([0, 0, 1.0])))
        for link in robot.description.links
    )
    odd = cp.Robot(replace(robot.description, links=links))
    q = np.full(6, 0.3)
    with pytest.raises(cp.errors.PhysicalConsistencyError):
        mass_matrix_with_rotors(odd, q)
    np.testing.assert_array_equal(joint_inertias(odd, q), odd.rotor_inertia)
    allowed = cp.Robot(odd.description, allow_unphysical=True)
    expected = np.diagonal(mass_matrix_with_rotors(allowed, q)) - odd.rotor_inertia
    np.testing.assert_allclose(driven_inertias(odd, q[None])[0], expected, atol=1e-10)
