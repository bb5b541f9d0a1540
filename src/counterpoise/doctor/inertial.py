"""The part of efforts that accelerations ask for, also of models whose inertias cannot be trusted."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import PhysicalConsistencyError


def inertial_signals(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """Return two signals per joint that go with accelerations, shape (k, n, 2), each to be scaled by a fit.

    The first is M(q) ddq + C(q, dq) dq of the model [N m or N], 0 where the model's inertias belong to no real body and
    dynamics are refused. The second is the joint's own acceleration [rad/s² or m/s²]: its rotor's inertia, which files
    often leave out, multiplies it.

    Args:
        robot: The model.
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
    """
    try:
        torque = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    except PhysicalConsistencyError:
        torque = np.zeros_like(ddq)
    return np.stack([torque, ddq], axis=2)
