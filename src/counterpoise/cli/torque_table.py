"""Torques as a table that fits the screen: one pose down the page, few poses side by side, many as their extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import effort_units, rotary
from .output import fixed, limit, printable, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..dynamics.robot import Robot

NUMBER_WIDTH = 12
"""Characters of a column of numbers, its padding included."""
MOST_ROWS = 50
"""Poses listed one by one; more are summed up by their extremes."""


def torque_table(robot: Robot, q: Array, torques: Array, width: int) -> Table:
    """Return a table of holding torques.

    Args:
        robot: The robot.
        q: Poses [rad or m], shape (k, n).
        torques: Their torques [N m or N], shape (k, n).
        width: Width of the screen [characters].
    """
    if len(q) == 1:
        return _one_pose(robot, q[0], torques[0])
    names = [printable(name) for name in robot.joint_names]
    widest = max(map(len, names))
    if len(q) * NUMBER_WIDTH + widest + 8 <= width:
        rows = table("joint", *(f"pose {pose + 1}" for pose in range(len(q))), "unit", left=("joint", "unit"))
        for name, unit, values in zip(names, effort_units(robot), torques.T, strict=True):
            rows.add_row(name, *map(fixed, values.tolist()), unit)
    elif len(q) <= MOST_ROWS and robot.n * max(NUMBER_WIDTH, widest + 2) + 6 <= width:
        rows = table("pose", *(f"{name}\n[{unit}]" for name, unit in zip(names, effort_units(robot), strict=True)))
        for pose, values in enumerate(torques.tolist()):
            rows.add_row(str(pose + 1), *map(fixed, values))
    else:
        rows = _extremes(robot, torques)
    return rows


def _one_pose(robot: Robot, q: Array, torques: Array) -> Table:
    positions = [("rad", "N m") if rotates else ("m", "N") for rotates in rotary(robot)]
    rows = table("joint", "position", "", "holding torque", " ", "of its limit", left=("joint", "", " "))
    for index, (position_unit, unit) in enumerate(positions):
        most = float(robot.effort_limit[index])
        share = f"{abs(torques[index]) / most:.0%}" if 0.0 < most < np.inf else limit(np.inf)
        name = printable(robot.joint_names[index])
        rows.add_row(name, fixed(q[index]), position_unit, fixed(torques[index]), unit, share)
    return rows


def _extremes(robot: Robot, torques: Array) -> Table:
    rows = table("joint", "lowest", "mean", "highest", "unit", f"largest of {len(torques)}", left=("joint", "unit"))
    for index, unit in enumerate(effort_units(robot)):
        values = torques[:, index]
        numbers = (values.min(), values.mean(), values.max())
        largest = int(np.abs(values).argmax()) + 1
        rows.add_row(printable(robot.joint_names[index]), *(fixed(float(x)) for x in numbers), unit, str(largest))
    return rows
