"""Positions that no link can have: recorded at the motors, in front of the gears, or in degrees.

A gear multiplies angles. Where several joints travel much farther, or run much faster, than the description's limits
allow, the numbers are not the links' radians. Whether they are degrees, one factor for all joints, is left to the
evidence; gear ratios are different for each joint and must come from the maker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from .finding import Consequence, Finding, LogFault
from .motion import RecordedMotion
from .wording import listed, short

EXCESS = 1.5
"""Travel over the range that the limits allow from which a joint's numbers cannot be the link's."""
UNLIMITED_RANGE = 4.0 * np.pi
"""Range taken for a rotary joint without limits [rad]."""
SHARE = 0.5
"""Share of the moving rotary joints that must exceed their ranges: one alone may have a wrong limit."""
TELLING = 3.0
"""Correlation of two motors' speeds, in standard deviations of chance, from which a coupling is suspected. Paths of few
waves correlate by themselves: so do about half of the wrists that are not coupled."""


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """How far joints travel beyond what their limits allow.

    Attributes:
        ratio: Travel over range, shape (n,); 0 for joints that slide or do not move.
        joints: Joints beyond EXCESS.
        everywhere: Whether so many are that the positions as a whole cannot be the links'.
    """

    ratio: Array
    joints: tuple[int, ...]
    everywhere: bool


def excess_of(robot: Robot, motion: RecordedMotion) -> Excess:
    """Return how far the recorded positions go beyond the robot's limits."""
    travel = np.ptp(motion.q, axis=0)
    span = robot.upper - robot.lower
    span = np.where(np.isfinite(span), np.minimum(span, UNLIMITED_RANGE), UNLIMITED_RANGE)
    turns = np.array(rotary(robot)) & motion.moving
    ratio = np.where(turns, travel / np.maximum(span, 1e-3), 0.0)
    beyond = tuple(np.flatnonzero(ratio > EXCESS).tolist())
    return Excess(ratio, beyond, bool(beyond) and len(beyond) >= SHARE * int(turns.sum()))


def motor_side_finding(robot: Robot, motion: RecordedMotion, excess: Excess, *, degrees_possible: bool) -> Finding:
    """Return the finding that positions and efforts were recorded in front of the gears.

    Args:
        robot: The model.
        motion: The recording's points.
        excess: How far they go beyond the limits.
        degrees_possible: Whether degrees with efforts in a unit of their own explain the data as well.
    """
    names = tuple(robot.joint_names[joint] for joint in excess.joints)
    least = {robot.joint_names[joint]: float(excess.ratio[joint]) for joint in excess.joints}
    pairs = _coupled_pairs(robot, motion)
    sentence = (
        f"The positions of {listed(names)} travel {short(min(least.values()))} to {short(max(least.values()))} times "
        "the range that the links have: positions and efforts were recorded at the motors, in front of the gears"
    )
    evidence: dict[str, object] = {
        "least_gear_ratio": least,
        "gear_ratios": "unknown: the data give a lower bound only",
    }
    if pairs:
        told = ", ".join(f"{first} and {second} (correlation {value:.2f})" for first, second, value in pairs)
        sentence += (
            f". Motors of the wrist move together ({told}), as coupling makes them, but a path may do so too: a "
            "coupled wrist is suspected"
        )
        evidence["coupling_suspected"] = [[first, second] for first, second, _ in pairs]
        evidence["speed_correlation"] = {f"{first}, {second}": value for first, second, value in pairs}
    if degrees_possible:
        sentence += "; or they are degrees, and the efforts are in a unit of their own. These data do not tell which"
    alternatives = (LogFault.DEGREES.value, LogFault.EFFORT_IS_CURRENT.value) if degrees_possible else ()
    return Finding(
        fault=LogFault.MOTOR_SIDE,
        consequence=Consequence.DANGER,
        subjects=names,
        sentence=sentence + ".",
        remedy=(
            "State the gear ratios of the maker as [motor] ratio, or the whole coupling matrix as motor_per_link where "
            'the wrist is coupled, and side = "motor" for positions and efforts.'
        ),
        evidence=evidence,
        confidence=0.95,  # whichever it is, they are not the links' radians
        alternatives=alternatives,
        fix={} if alternatives else {"position": {"side": "motor"}, "effort": {"side": "motor"}},
    )


def _coupled_pairs(robot: Robot, motion: RecordedMotion) -> list[tuple[str, str, float]]:
    """Return pairs of the last three moving joints whose speeds go together more than by chance."""
    wrist = np.flatnonzero(motion.moving)[-3:]
    if len(wrist) < 2:
        return []
    correlation = np.atleast_2d(np.corrcoef(motion.dq[:, wrist].T))
    pairs = []
    for first in range(len(wrist)):
        for second in range(first + 1, len(wrist)):
            value = float(correlation[first, second])
            if abs(np.arctanh(np.clip(value, -0.999999, 0.999999))) * np.sqrt(motion.effective) > TELLING:
                pairs.append((robot.joint_names[wrist[first]], robot.joint_names[wrist[second]], value))
    return pairs
