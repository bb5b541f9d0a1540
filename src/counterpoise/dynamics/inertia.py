"""The inertia that the joints feel: the mass matrix with the rotors, and what each joint's torque moves."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..foundation import Array
from .robot import Robot


def mass_matrix_with_rotors(robot: Robot, q: Array) -> Array:
    """Return M(q) with the rotors' inertia on its diagonal [kg m² or kg], shape (n, n) or (k, n, n).

    Without them it is :meth:`.Robot.mass_matrix`.

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,) or (k, n).

    Raises:
        PhysicalConsistencyError: A link has an inertia that no real body has.
    """
    M = robot.mass_matrix(q)
    M[..., np.arange(robot.n), np.arange(robot.n)] += robot.rotor_inertia
    return M


def joint_inertias(robot: Robot, q: Array) -> Array:
    """Return the inertia that each joint's torque moves when the other joints are free [kg m² or kg], shape (n,).

    That is 1 / (M⁻¹)_jj, rotor inertia included; the rotor's alone where the model has no usable inertias.

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,).
    """
    try:
        mobility = np.diag(np.linalg.inv(mass_matrix_with_rotors(robot, q)))
    except (ModelError, np.linalg.LinAlgError):
        return np.array(robot.rotor_inertia)
    return np.where(mobility > 0.0, 1.0 / np.where(mobility > 0.0, mobility, 1.0), robot.rotor_inertia)


def driven_inertias(robot: Robot, q: Array) -> Array:
    """Return the inertia that each joint drives when the others are locked, rotors left out [kg m² or kg], (k, n).

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (k, n).
    """
    poses, push = _pushed(q)
    # By the regressor: it serves arms with inertias that no real body has, too.
    change = robot.inertial_regressor(poses, ddq=push) - robot.inertial_regressor(poses)
    inertias = (change @ robot.inertial_parameters[10:]).reshape(*q.shape, robot.n)
    return np.diagonal(inertias, axis1=1, axis2=2)


def _pushed(q: Array) -> tuple[Array, Array]:
    """Return every pose n times, and with them a unit acceleration of each joint in turn, shapes (k n, n)."""
    n = q.shape[-1]
    return np.repeat(q.reshape(-1, n), n, axis=0), np.tile(np.eye(n), (q.size // n, 1))
