"""Where a link is, how it moves, and how much mass it shows there."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...description.frozen import Array
from ...dynamics.robot import Robot
from ...errors import ModelError

LEVER = 0.2
"""Length that makes rotations comparable with displacements [m]: about that of a hand."""
SCALE = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
"""What a twist is multiplied by before its entries are compared: all in m/s then."""
MOST_MASS = 50.0
"""A direction that seems heavier than this counts as this heavy [kg]: at a singularity the arm cannot move at all."""


class TipState(NamedTuple):
    """A link at one instant, base frame.

    Attributes:
        position: Its origin [m], shape (3,).
        rotation: R_base_link, shape (3, 3).
        jacobian: Linear rows first, at its origin, shape (6, n).
        twist: Velocity and angular velocity [m/s, rad/s], shape (6,).
    """

    position: Array
    rotation: Array
    jacobian: Array
    twist: Array


def tip_state(robot: Robot, q: Array, dq: Array, at: str) -> TipState:
    """Return the state of a link.

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,).
        dq: Velocities [rad/s or m/s], shape (n,).
        at: The link.
    """
    T = robot.forward_kinematics(q, at=at)
    J = robot.jacobian(q, at=at)
    return TipState(T[:3, 3], T[:3, :3], J, J @ dq)


def mass_matrix(robot: Robot, q: Array) -> Array:
    """Return M(q) with the rotors' inertia [kg m² or kg], shape (n, n)."""
    n = robot.n
    rows = robot.inverse_dynamics(np.repeat(q[None, :], n, axis=0), np.zeros((n, n)), np.eye(n)) - robot.gravity(q)
    M: Array = 0.5 * (rows + rows.T)
    M[np.diag_indices(n)] += robot.rotor_inertia
    return M


def task_inertia(jacobian: Array, mass: Array) -> tuple[Array, Array]:
    """Return (A, masses) with Λ = A diag(masses) Aᵀ, shapes (6, 6) and (6,): the inertia that the tip shows.

    Λ = (J M⁻¹ Jᵀ)⁻¹ ([Khatib1987]), taken in coordinates where rotations count with LEVER. Near a singularity
    an eigenvalue grows without bound and is cut at MOST_MASS, so Λ stays finite.

    Args:
        jacobian: Shape (6, n).
        mass: M, shape (n, n).

    Raises:
        ModelError: The arm's inertias leave a joint without any.
    """
    scaled = SCALE[:, None] * jacobian
    try:
        mobility, axes = np.linalg.eigh(scaled @ np.linalg.solve(mass, scaled.T))
    except np.linalg.LinAlgError as error:
        raise ModelError(f"the mass matrix cannot be inverted ({error}); give every moving link an inertia") from error
    masses = 1.0 / np.maximum(mobility, 1.0 / MOST_MASS)
    return SCALE[:, None] * axes, masses


def rotation_vector(rotation: Array) -> Array:
    """Return the rotation vector [rad] of any rotation matrix, shape (3,), of length 0 to π.

    By the unit quaternion with w ≥ 0, whose largest entry is taken from a root: exact near zero and at a half turn
    too. A half turn has two axes; the one whose first non-zero entry is positive is returned.
    """
    (a, b, c), (d, e, f), (g, h, i) = rotation.tolist()
    squares = (1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i)
    largest = max(range(4), key=squares.__getitem__)
    root = math.sqrt(max(squares[largest], 1e-300))
    if largest == 0:
        w, x, y, z = root, (h - f) / root, (c - g) / root, (d - b) / root
    elif largest == 1:
        w, x, y, z = (h - f) / root, root, (b + d) / root, (c + g) / root
    elif largest == 2:
        w, x, y, z = (c - g) / root, (b + d) / root, root, (f + h) / root
    else:
        w, x, y, z = (d - b) / root, (c + g) / root, (f + h) / root, root
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12:
        return np.array([x, y, z])
    first = next(value for value in (x, y, z) if value != 0.0)
    sign = -1.0 if w < 0.0 or (w == 0.0 and first < 0.0) else 1.0
    angle = 2.0 * math.atan2(length, abs(w))
    return np.array([x, y, z]) * (sign * angle / length)
