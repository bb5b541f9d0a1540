"""Where a link is, how it moves, and how much mass it shows there."""

from __future__ import annotations

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
