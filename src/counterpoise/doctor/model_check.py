"""The findings that need the model: signs, order, units, gains, offsets, mounting, gravity, payload."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.log import Log
from .finding import Finding
from .motion import Motion, motion_of
from .motor_side import excess_of, motor_side_finding
from .moves import in_degrees
from .naming import Naming
from .reading import Reading
from .search import Search, search

EXPLAINED = 0.3
"""Unexplained part of the loaded joints' efforts up to which degrees count as an explanation."""


def check_model(robot: Robot, log: Log, dead: Collection[str] = ()) -> list[Finding]:
    """Compare a recording with the model and name what does not belong together.

    Args:
        robot: The model.
        log: The recording; its joints are the robot's.
        dead: Joints whose efforts say nothing and are left out.

    Returns:
        Findings; none where the recording is too short to say anything.
    """
    try:
        motion = motion_of(log)
    except InputError:
        return []
    living = motion.alive & ~np.isin(np.array(log.joint_names), list(dead))
    motion = replace(motion, alive=living)
    if not living.any():
        return []
    begin = Reading.as_recorded(robot, log.declared)
    excess = excess_of(robot, motion)
    declared_motor = log.declared.position_side == "motor" and log.declared.motor_per_link is None
    if declared_motor and excess.joints:
        return [motor_side_finding(robot, motion, excess, degrees_possible=False)]
    if not excess.everywhere:
        return Naming(search(robot, motion, begin), log).findings()
    found = search(robot, motion, begin, in_degrees(robot, begin))
    left = _unexplained(found)
    if not found.found.reading.free_gain and left < 2.0 * EXPLAINED:
        return Naming(found, log).findings()
    return [motor_side_finding(robot, motion, excess, degrees_possible=left < EXPLAINED)]


def _unexplained(found: Search) -> float:
    """Return the median unexplained part of the efforts of joints of which the model expects something."""
    fit = found.found
    expected = found.comparison.expected(fit.reading)
    loaded = [joint for joint in found.alive if expected[joint] > 0.5 * fit.scale[joint]] or list(found.alive)
    return float(np.median([fit.residue[joint] / fit.scale[joint] for joint in loaded]))


def recorded_motion(log: Log) -> Motion | None:
    """Return the points of a log that the model is compared with; None where it is too short."""
    try:
        return motion_of(log)
    except InputError:
        return None
