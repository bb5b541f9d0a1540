"""The findings that need the model: signs, order, units, gains, offsets, mounting, gravity, payload."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..dynamics.robot import Robot
from ..logs.log import Log
from .case import Case
from .cost import Cost
from .evidence import ReadingComparison
from .expectation import ANY, BELIEFS, GOOD
from .finding import Finding, LogFault
from .gram import SignalColumns
from .motion import motion_of
from .motor_side import excess_of, motor_side_finding
from .moves import in_degrees, with_all_gains_found
from .name_channels import name_degrees, name_order, name_signs
from .name_efforts import name_gains, name_offsets
from .name_loads import name_compensated, name_mount, name_payload, name_poor_model, name_springs
from .name_model import name_difference, needs_other_robot, wrong_robot
from .pose_table import is_pose_table, table_motion
from .reading import Reading
from .search import search
from .weigh import is_unit, only_told

EXPLAINED = 0.3
"""Unexplained part of the loaded joints' efforts up to which degrees count as an explanation."""
WEAK = 8.0
"""Expected over recorded torques, positions taken for degrees, from which the efforts are the motors': gears multiply
by more, while the weight that a robot holds by itself is rarely so many times its friction."""


def check_model(robot: Robot, log: Log, dead: Collection[str] = ()) -> list[Finding]:
    """Compare a recording with the model and name what does not belong together.

    Args:
        robot: The model.
        log: The recording; its joints are the robot's.
        dead: Joints whose efforts say nothing and are left out.

    Returns:
        Findings; none where the recording is too short to say anything.
    """
    motion = table_motion(log) if is_pose_table(log) else motion_of(log)
    if motion is None:
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
    columns = SignalColumns(robot, motion)
    if not excess.everywhere:
        return _compared(columns, log, begin)
    degrees = in_degrees(robot, begin)
    if not begin.free_gain and _weakness(columns, degrees) < WEAK:
        return _compared(columns, log, begin, degrees)
    fits = excess_of(robot, replace(motion, q=degrees.positions(motion.q))).joints == ()
    return [motor_side_finding(robot, motion, excess, degrees_possible=fits and _explained(columns, degrees))]


def _explained(columns: SignalColumns, reading: Reading) -> bool:
    """Return whether a reading explains most of the loaded joints' efforts if every factor is open."""
    comparison = ReadingComparison(columns)
    cost = Cost(reading, tuple(columns.alive.tolist()))
    fit = comparison.best(with_all_gains_found(comparison, cost, reading, GOOD))
    expected = comparison.expected(fit.reading)
    loaded = [joint for joint in cost.alive if expected[joint] > 0.5 * fit.scale[joint]] or list(cost.alive)
    return float(np.median([fit.residue[joint] / fit.scale[joint] for joint in loaded])) < EXPLAINED


def _compared(columns: SignalColumns, log: Log, begin: Reading, first: Reading | None = None) -> list[Finding]:
    """Return what the recording tells whatever the masses, and one finding of what only a good description tells."""
    found = search(columns, begin, (ANY,), first)
    if found.found.reading.free_gain and not begin.free_gain and not is_unit(found, found.found.reading):
        found = search(columns, begin, (ANY,), first, units=False)
    told = only_told(found)
    case = Case(told, log)
    if needs_other_robot(case):
        return [wrong_robot(case)]
    findings = [finding for name in _NAMERS for finding in name(case)]
    if any(finding.fault is LogFault.MODEL_POOR for finding in findings):
        return [replace(finding, fix={}) for finding in findings]  # perhaps another robot's description
    hinted = search(columns, begin, BELIEFS, told.found.reading, positions=False)
    return findings + name_difference(case, hinted)


def _weakness(columns: SignalColumns, reading: Reading) -> float:
    """Return how many times larger torques the model expects than were recorded, root mean square over the joints."""
    comparison = ReadingComparison(columns)
    expected = comparison.expected(reading)
    return float(np.linalg.norm(expected) / max(float(np.linalg.norm(comparison.spread)), 1e-12))


_NAMERS = (
    name_signs,
    name_order,
    name_degrees,
    name_gains,
    name_offsets,
    name_compensated,
    name_mount,
    name_payload,
    name_springs,
    name_poor_model,
)
