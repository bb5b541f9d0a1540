"""The part of efforts that accelerations ask for, also of models whose inertias cannot be trusted."""

from __future__ import annotations

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import PhysicalConsistencyError


def inertial_signal(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """Return a signal per joint that goes with its acceleration, shape (k, n), to be scaled by a fit.

    M(q) ddq + C(q, dq) dq of the model [N m or N]; where the model's inertias belong to no real body and dynamics are
    refused, each joint's own acceleration [rad/s² or m/s²].

    Args:
        robot: The model.
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
    """
    try:
        torque: Array = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    except PhysicalConsistencyError:
        return ddq
    return torque
