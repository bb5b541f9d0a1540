r"""The wrench that a rigid tool exerts on the sensor that carries it, linear in its mass and first moment.

With g' = g − a what gravity and acceleration make of a mass at the sensor's origin, ω and α the sensor's turning, all
along the sensor's axes, and c the tool's centre of mass,

.. math:: f = m g' - [α]_× m c - [ω]_× [ω]_× m c, \qquad n = m c × g',

the moment n about the sensor's origin. The tool's own moments of inertia are left out: they need fast turns to show.
"""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..description.rotations import skew
from ..dynamics.robot import Robot

STEP = 1e-5
"""Time over which the Jacobian is differenced for the acceleration at given speeds [s]."""


def tool_columns(
    robot: Robot, link: str, T_link_sensor: Array, q: Array, dq: Array | None = None, ddq: Array | None = None
) -> Array:
    """Return the columns of [m, m cx, m cy, m cz] in the wrench on the robot, sensor axes and origin, shape (k, 6, 4).

    Args:
        robot: The robot.
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, shape (4, 4).
        q: Joint positions [rad or m], shape (k, n).
        dq: Velocities, shape (k, n); None at rest.
        ddq: Accelerations, shape (k, n); None for none.
    """
    poses = robot.forward_kinematics(q, at=link)
    axes = poses[:, :3, :3] @ T_link_sensor[:3, :3]
    free = np.tile(robot.gravity_base, (len(q), 1))
    omega, alpha = np.zeros((len(q), 3)), np.zeros((len(q), 3))
    if dq is not None or ddq is not None:
        speed = np.zeros_like(q) if dq is None else dq
        rate = np.zeros_like(q) if ddq is None else ddq
        jacobian = robot.jacobian(q, at=link)
        ahead, behind = (robot.jacobian(q + sign * STEP * speed, at=link) for sign in (1.0, -1.0))
        motion = np.einsum("kij,kj->ki", jacobian, rate)
        motion += np.einsum("kij,kj->ki", (ahead - behind) / (2.0 * STEP), speed)
        omega, alpha = np.einsum("kij,kj->ki", jacobian, speed)[:, 3:], motion[:, 3:]
        arm = poses[:, :3, :3] @ T_link_sensor[:3, 3]
        free = free - motion[:, :3] - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
    at_sensor = np.einsum("kji,kj->ki", axes, free)
    turning, turned = (skew(np.einsum("kji,kj->ki", axes, vectors)) for vectors in (omega, alpha))
    columns = np.zeros((len(q), 6, 4))
    columns[:, :3, 0] = at_sensor
    columns[:, :3, 1:] = -turned - turning @ turning
    columns[:, 3:, 1:] = -skew(at_sensor)
    return columns
