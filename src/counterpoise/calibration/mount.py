"""Whether two gravity vectors in base axes belong to one mounting of a robot."""

from __future__ import annotations

import math

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import InputError

MOUNT_TOLERANCE = math.radians(2.0)
"""Angle between two gravity vectors above which they are two different mountings [rad]."""


def mount_angle(gravity_base: Array, other: Array) -> float:
    """Return the angle between two gravity vectors in base axes, shapes (3,) [rad]."""
    across = float(np.linalg.norm(np.cross(gravity_base, other)))
    return math.atan2(across, float(gravity_base @ other))


def mount_rpy(gravity_base: Array) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a base that feels gravity so, fixed axes as in URDF [rad]; the yaw is 0.

    A turn about the vertical changes no gravity, so any yaw would do.

    Args:
        gravity_base: Gravity in base axes [m/s²], shape (3,), not 0.
    """
    x, y, z = (np.asarray(gravity_base) / np.linalg.norm(gravity_base)).tolist()
    # The last row of the rotation, [−sin p, cos p sin r, cos p cos r], is the vertical in base axes.
    return math.atan2(-y, -z) if math.hypot(y, z) > 1e-9 else 0.0, math.atan2(x, math.hypot(y, z)), 0.0


def refuse_other_mount(robot: Robot, gravity_base: Array) -> None:
    """Refuse a log whose gravity is not the robot's.

    Args:
        robot: The robot as mounted.
        gravity_base: Gravity that the log declares, in base axes [m/s²], shape (3,).

    Raises:
        InputError: They lie further apart than MOUNT_TOLERANCE.
    """
    angle = mount_angle(gravity_base, robot.gravity_base)
    if angle > MOUNT_TOLERANCE:
        raise InputError(
            f"the log was recorded with gravity along {np.round(gravity_base, 2).tolist()} in base axes, "
            f"{math.degrees(angle):.0f}° from the robot's {np.round(robot.gravity_base, 2).tolist()}; mount the robot "
            "as it was: robot.mounted(rpy=…)"
        )
