"""How much torque friction may hold at rest, where nobody has measured it or a calibration has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..calibration.workspace import workspace_poses
from ..description.frozen import Array
from ..dynamics.inputs import as_rows, refuse_command_units
from ..dynamics.robot import Robot
from ..errors import InputError

if TYPE_CHECKING:
    from ..calibration.fit import Fit

BAND_SHARE = 0.015
"""Friction band of an arm of which nothing is known, as a share of the effort limit (of the largest gravity torque over
the workspace, times five, where there is no limit)."""
SCALE_POSES = 200
"""Poses by which a joint without an effort limit is sized."""


def friction_band_of(robot: Robot, fit: Fit | None = None, given: npt.ArrayLike | None = None) -> Array:
    """Return the torque that friction may hold at rest, ± [N m or N], shape (n,): given, the calibration's, or assumed.

    Args:
        robot: The arm.
        fit: Its calibration; None where there is none.
        given: Known bands, shape (n,); None where nothing is known.

    Raises:
        InputError: A given band is not positive, or the calibration is in command units.
    """
    if given is not None:
        return positive_row(given, "friction_band", robot.joint_names)
    limit = np.asarray(robot.effort_limit)
    if not np.isfinite(limit).all():
        largest = np.abs(robot.gravity(workspace_poses(robot, SCALE_POSES))).max()
        limit = np.where(np.isfinite(limit), limit, max(5.0 * float(largest), 1.0))
    assumed = BAND_SHARE * np.maximum(limit, 1e-3)
    if fit is None:
        return np.asarray(assumed)
    refuse_command_units(fit.robot)
    found = fit.friction_band
    return np.asarray(np.where(np.isfinite(found) & (found > 0.0), found, assumed))


def positive_row(value: npt.ArrayLike, name: str, columns: tuple[str, ...]) -> Array:
    """Return one positive number per column as an array, shape (c,).

    Raises:
        InputError: There are more or fewer, or one is not positive.
    """
    row = as_rows(value, name, columns)
    if row.ndim != 1 or not np.all(row > 0.0):
        raise InputError(f"{name} is {row.tolist()}; expected {len(columns)} positive numbers")
    return row
