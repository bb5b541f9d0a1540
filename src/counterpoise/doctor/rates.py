"""Whether time goes as fast as the recording says: recorded velocities against positions, and speeds against limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from ..logs.clock import VelocityMatch, fastest_share, is_path, travel, velocity_match
from ..logs.filters import increasing
from ..logs.log import Log
from ..logs.propose_clock import EXCESS, LEAST_SHARE, MOST_SHARE, UNLIMITED_RANGE
from ..logs.propose_time import FASTEST, SLOWEST
from ..logs.units import ANGULAR_SPEED, TIME
from .finding import Consequence, Finding, LogFault
from .wording import percent, short

RATE_ERROR = 0.1
"""Share by which recorded velocities and differentiated positions may differ: filters of velocities do as much."""
SAME_FACTOR = 0.05
"""Share by which a factor may miss that of a unit and still be it."""
REVERSED = 0.75
"""Share of the joints, and at least two, whose velocities point the wrong way when it is the time that does."""
EVEN = 0.1
"""Share of steps that may miss the usual one by a tenth where a rate can take the place of stamps."""


def check_rate(robot: Robot | None, log: Log) -> list[Finding]:
    """Name a rate that contradicts recorded velocities or the joints' limits, or that is a guess among units.

    Found: velocities that are another multiple of the positions' change, the same for at least half of the joints that
    move, by more than RATE_ERROR; velocities that point against it on nearly all joints, as rows in reverse order make
    them; without velocities that tell, a fastest joint below LEAST_SHARE or above MOST_SHARE of its limit. Not found: a
    wrong rate of a recording without velocities and within these limits.

    Args:
        robot: The model; None compares velocities only.
        log: The recording, joints as in ``robot``.
    """
    match = None
    if log.declared.velocity_from != "position":
        match = velocity_match(log.time, log.q, log.dq, log.joint_names)
    if match is not None:
        findings = [] if abs(math.log(match.factor)) <= math.log1p(RATE_ERROR) else [_contradicted(log, match)]
        return findings + _backwards(log, match)
    findings = _guessed_unit(log)
    if robot is not None:
        findings += _speeds(robot, log)
    return findings


def _contradicted(log: Log, match: VelocityMatch) -> Finding:
    rate = log.rate
    true = rate * match.factor
    change, remedy, told = _mended(log, match.factor, true)
    return Finding(
        LogFault.RATE,
        Consequence.SPOILS,
        (),
        f"Recorded velocities are {short(match.factor)} times the change of the recorded positions ({match.told}): "
        f"{told}.",
        remedy,
        {
            "factor": match.factor,
            "correlation": match.r,
            "joints": list(match.joints),
            "rate_hz": rate,
            "measured_rate_hz": true,
        },
        alternatives=("velocity unit",) if "velocity" not in change else ("rate",),
        fix=change,
    )


def _backwards(log: Log, match: VelocityMatch) -> list[Finding]:
    if len(match.reversed) < max(2.0, REVERSED * len(match.joints)):
        return []
    return [
        Finding(
            LogFault.RATE,
            Consequence.SPOILS,
            (),
            f"Recorded velocities point against the change of the recorded positions ({match.told}): the rows run "
            "backwards in time, or all velocities have the opposite sign.",
            "Sort the rows by time, or reverse the velocities (velocity_sign = -1).",
            {"factor": -match.factor, "correlation": match.r, "joints": list(match.joints), "rate_hz": log.rate},
            alternatives=("velocity sign",),
        )
    ]


def _mended(log: Log, factor: float, true: float) -> tuple[dict[str, Any], str, str]:
    """Return the change of the mapping that explains a factor, what to do, and the explanation."""
    mapping = log.declared.mapping
    velocity, position = mapping.get("velocity", {}), mapping.get("position", {})
    plain = velocity.get("unit", "rad/s") == "rad/s" and position.get("unit", "rad") == "rad"
    for unit in ("deg/s", "rpm", "turn/s") if log.declared.time_from != "rate" else ("deg/s",):
        if plain and _near(factor * ANGULAR_SPEED[unit], 1.0):
            return (
                {"velocity": {"unit": unit}, "source": {"velocity.unit": "measured"}},
                f'State the unit of the velocities ([velocity] unit = "{unit}").',
                f"they are in {unit}, where positions are in rad",
            )
    if _near(factor * 180.0 / math.pi, 1.0):
        return {}, "State the unit of the positions ([position] unit).", "positions are in degrees beside rad/s"
    if log.declared.time_from == "column":
        before = TIME[mapping.get("time", {}).get("unit", "s")]
        for unit, size in TIME.items():
            if _near(before / factor, size):
                return (
                    {"time": {"unit": unit}, "source": {"time.unit": "measured"}},
                    f'State the unit of the time ([time] unit = "{unit}").',
                    f"the time is in {unit}, and the rate is {short(true)} Hz, not {short(log.rate)} Hz",
                )
    told = f"the samples were taken at {true:.4g} Hz, not at {log.rate:.4g} Hz"
    if not (SLOWEST <= true <= FASTEST and _is_even(log)):
        return {}, "Give the true rate or the right time column in the mapping ([time]).", told
    value = float(f"{true:.5g}")
    return (
        {"time": {"rate": value}, "source": {"time.rate": "measured"}},
        f"Give the true rate in the mapping ([time] rate = {value:g}), or correct the velocities' unit.",
        told,
    )


def _near(value: float, target: float) -> bool:
    return abs(value / target - 1.0) <= SAME_FACTOR


def _is_even(log: Log) -> bool:
    """Whether samples are so evenly spaced that a rate tells all that their stamps do."""
    rows = increasing(log.time)
    steps = np.diff(log.time[rows])
    usual = float(np.median(steps)) if len(steps) else 0.0
    return len(rows) > 0.99 * len(log) and float(np.mean(np.abs(steps - usual) > 0.1 * usual)) <= EVEN


def _guessed_unit(log: Log) -> list[Finding]:
    declared = log.declared
    if declared.time_from == "rate" or declared.rate_source != "guessed":
        return []
    return [
        Finding(
            LogFault.RATE,
            Consequence.LIMITS,
            (),
            f"The unit of the time is a guess ({declared.notes.get('time', 'nobody states it')}).",
            "State the unit of the time in the mapping ([time] unit = …).",
            {"rate_hz": log.rate},
        )
    ]


def _speeds(robot: Robot, log: Log) -> list[Finding]:
    """Name a rate at which the fastest joint would stand nearly still, or run much faster than it can."""
    turns = np.array(rotary(robot))
    span = robot.upper - robot.lower
    span = np.where(np.isfinite(span), np.minimum(span, UNLIMITED_RANGE), UNLIMITED_RANGE)
    if np.any(travel(log.q)[turns] > EXCESS * span[turns]):
        return []  # no radians of the links: other findings tell
    share = fastest_share(log.time, log.q, robot.velocity_limit)
    path = is_path(log.q)
    if share is None or LEAST_SHARE <= share <= MOST_SHARE:
        return []
    if not path and (share < LEAST_SHARE or log.declared.time_from == "rate"):
        return []  # a list of poses has no speed
    size = f"{percent(share)} of" if share < 1.0 else f"{short(share)} times"
    return [
        Finding(
            LogFault.RATE,
            Consequence.SPOILS,
            (),
            f"At {log.rate:.4g} Hz the fastest joint runs at {size} its speed limit: the rate or the unit of the time "
            "is wrong.",
            "Give the true rate or the unit of the time in the mapping ([time] rate = …, or unit = …).",
            {"fastest_over_limit": share, "rate_hz": log.rate},
        )
    ]
