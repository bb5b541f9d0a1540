"""Which joints turn and which slide, and the units that follow."""

from __future__ import annotations

from .robot import Robot

WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
"""Units of a wrench's components: force first."""


def rotary(robot: Robot) -> list[bool]:
    """Say of each joint, in joint order, whether it turns (rad, N m) or slides (m, N)."""
    by_name = {joint.name: joint for joint in robot.description.joints}
    return [by_name[name].kind.rotates for name in robot.joint_names]


def position_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's position, in joint order."""
    return ["rad" if turns else "m" for turns in rotary(robot)]


def effort_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's torque or force, in joint order."""
    return ["N m" if turns else "N" for turns in rotary(robot)]


def inertia_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's inertia, in joint order."""
    return ["kg m²" if turns else "kg" for turns in rotary(robot)]
