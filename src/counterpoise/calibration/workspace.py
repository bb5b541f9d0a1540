"""Where an arm can go: its joint ranges, and poses spread over them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from ..errors import InputError
from .static_rows import static_rows

ROTARY_RANGE = np.pi
"""A rotary joint without limits is taken to turn this far to either side [rad]."""
LINEAR_RANGE = 0.5
"""A linear joint without limits is taken to move this far to either side [m]."""
MARGIN_ROTARY = 0.1
"""Default distance from a rotary joint's limits [rad] ..."""
MARGIN_LINEAR = 0.03
"""... and from a linear one's [m]: room for an approach from both sides."""
OFFSET_POSES = 60
"""Poses by which offsets are told from gravity."""
SEPARABLE = 1e-6
"""Part of a unit column that must be left beside all others: far above rounding."""
MOST_MARGIN = 0.2
"""A margin takes at most this share of a joint's range on either side."""

STEP = 0.5
"""By which a joint is moved to see whether that changes gravity efforts [rad or m]."""
UNCHANGED = 1e-9
"""Share of the largest entry of the regressor by which rounding changes others."""


def joint_ranges(robot: Robot, *, margin: float | None = 0.0) -> tuple[Array, Array]:
    """Return the lowest and highest positions to use [rad or m], shapes (n,).

    Args:
        robot: The arm.
        margin: Distance from the limits [rad or m]; None for MARGIN_ROTARY and MARGIN_LINEAR. Never more than
            MOST_MARGIN of a joint's range.

    Raises:
        InputError: A negative margin.
    """
    if margin is not None and not 0.0 <= margin < np.inf:
        raise InputError(f"margin is {margin!r}; expected a number ≥ 0 [rad or m]")
    turns = np.array(rotary(robot), dtype=bool)
    reach = np.where(turns, ROTARY_RANGE, LINEAR_RANGE)
    # A joint with one limit is taken to have its usual range from there.
    lower, upper = np.array(robot.lower), np.array(robot.upper)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * reach, -reach))
    upper = np.where(np.isfinite(upper), upper, np.where(np.isfinite(robot.lower), lower + 2.0 * reach, reach))
    wide = turns & (upper - lower > 4.0 * np.pi)
    lower, upper = np.where(wide, -2.0 * np.pi, lower), np.where(wide, 2.0 * np.pi, upper)
    asked = np.where(turns, MARGIN_ROTARY, MARGIN_LINEAR) if margin is None else np.full(robot.n, margin)
    kept = np.minimum(asked, MOST_MARGIN * (upper - lower))
    return lower + kept, upper - kept


def workspace_poses(robot: Robot, count: int, *, seed: int = 0, margin: float | None = 0.0) -> Array:
    """Return poses spread evenly over the joint ranges [rad or m], shape (count, n), the same for the same seed."""
    lower, upper = joint_ranges(robot, margin=margin)
    return np.random.default_rng(seed).uniform(lower, upper, (count, robot.n))


def separable_offsets(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether a constant torque can be told from gravity in any recording, shape (n,).

    Of a linear joint that always moves along gravity it cannot: weight and offset are both constant. The weight then
    stands for both.
    """
    rows = static_rows(robot, workspace_poses(robot, OFFSET_POSES), offset=True)
    stacked = rows.reshape(-1, rows.shape[2])
    size = np.linalg.norm(stacked, axis=0)
    # What is left of each column beside those before it stands on the diagonal.
    left = np.abs(np.diagonal(np.linalg.qr(stacked / np.where(size > 0.0, size, 1.0), mode="r")))
    return np.asarray(left[-robot.n :] > SEPARABLE)


def changing_gravity(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether its position changes any gravity effort, whatever the masses are, shape (n,).

    That of the first joint does not where its axis is vertical, nor does that of linear joints which no other joint
    turns.
    """
    q = workspace_poses(robot, OFFSET_POSES)
    before = robot.base_gravity_regressor(q)
    most = max(float(np.abs(before).max(initial=0.0)), 1e-300)
    return np.array(
        [
            np.abs(robot.base_gravity_regressor(q + STEP * axis) - before).max(initial=0.0) > UNCHANGED * most
            for axis in np.eye(robot.n)
        ]
    )
