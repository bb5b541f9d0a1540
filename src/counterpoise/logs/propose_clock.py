"""How fast time goes, where neither a mapping nor a name says so: what the motion tells, and what is likely at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import rotary
from .clock import fastest_share, is_path, travel, usual_maximum, velocity_match
from .filters import increasing
from .log import Log
from .propose_time import FASTEST, SLOWEST
from .provenance import Source
from .units import TIME

if TYPE_CHECKING:
    from ..dynamics.robot import Robot

ASSUMED_RATE = 100.0
"""Samples per second [Hz] of a recording that has no time and nobody says."""
LEAST_SHARE, MOST_SHARE = 1e-3, 3.0
"""Speed of the fastest joint over its limit, between which a clock can be right."""
UNIT_ERROR = 0.1
"""Share by which velocities may be off and still tell the unit."""
USUAL_SHARE = 0.2
"""Speed of the fastest joint over its limit in a usual recording."""
USUAL_LIMIT = 3.0
"""Speed limit of a joint whose limit nobody states [rad/s]."""
SLOWEST_POSES = 1.0 / 600.0
"""Lowest rate of a list of poses [Hz]."""
USUAL_DURATION = 60.0
"""Duration of a usual recording [s]."""
EXCESS = 1.5
"""Travel over a joint's range from which its numbers are no radians."""
UNLIMITED_RANGE = 4.0 * math.pi
"""Range of a joint without limits [rad]."""


@dataclass(frozen=True, slots=True)
class ClockValue:
    """A rate [Hz] or a unit of time, why it is believed, and where it comes from."""

    value: float | str
    reason: str
    source: Source


def rate_of(log: Log, robot: Robot | None) -> ClockValue:
    """Return the rate of a recording without time.

    Args:
        log: Its beginning, read at ASSUMED_RATE, velocities as recorded or NaN.
        robot: The arm, for its limits; None where there is none.
    """
    match = velocity_match(log.time, log.q, log.dq, log.joint_names)
    if match is None:
        return ClockValue(ASSUMED_RATE, "assumed: no time, and no velocity that tells it", "guessed")
    told, factor = f"recorded velocities against positions: {match.told}", match.factor
    limit = _limits(robot, len(log.joint_names))
    rapid = bool(np.any(usual_maximum(log.dq) > MOST_SHARE * limit))
    if _are_degrees(log, robot):
        if not rapid:  # degrees beside rad/s, which a mapping has yet to say
            factor *= 180.0 / math.pi
            told += "; positions taken for degrees, as they leave the joints' ranges"
        rapid = False
    rate = float(f"{ASSUMED_RATE * factor:.5g}")
    if SLOWEST <= rate <= FASTEST and not rapid:
        return ClockValue(rate, told, "measured")
    return ClockValue(ASSUMED_RATE, f"assumed: {told} would mean {rate:g} Hz, which is not likely", "guessed")


def unit_of_time(log: Log, robot: Robot | None, units: Sequence[str]) -> ClockValue:
    """Return the unit of a time column that neither its name nor its size tells.

    Args:
        log: The beginning of the recording, its time read as seconds, velocities as recorded or NaN.
        robot: The arm, for its limits; None where there is none.
        units: Units that make a likely rate.
    """
    match = velocity_match(log.time, log.q, log.dq, log.joint_names)
    if match is not None:
        for unit, factor in TIME.items():
            if abs(match.factor * factor - 1.0) <= UNIT_ERROR:
                return ClockValue(unit, f"recorded velocities against positions: {match.told}", "measured")
    limit = _limits(robot, len(log.joint_names))
    share = fastest_share(log.time, log.q, np.degrees(limit) if _are_degrees(log, robot) else limit)
    path = is_path(log.q)
    time = log.time[increasing(log.time)]
    if len(time) < 2:
        return ClockValue("s", "taken for seconds: there are no steps that tell", "guessed")
    rate, duration = log.rate, float(time[-1] - time[0])
    likely: dict[str, float] = {}
    for unit, factor in TIME.items():
        fast = None if share is None else share / factor
        if unit not in units and (path or not SLOWEST_POSES <= rate / factor <= FASTEST):
            continue
        if fast is not None and (fast > MOST_SHARE or (path and fast < LEAST_SHARE)):
            continue
        odd = abs(math.log(fast / USUAL_SHARE)) if fast and path else 0.0
        likely[unit] = odd + abs(math.log(duration * factor / USUAL_DURATION))
    if not likely:
        return ClockValue("s", f"taken for seconds, though {rate:.3g} Hz and this motion are not likely", "guessed")
    unit = min(likely, key=lambda unit: likely[unit])
    told = f"likely: {rate / TIME[unit]:.4g} Hz" + ("" if share is None else _told(share / TIME[unit], robot))
    if len(likely) == 1:
        return ClockValue(unit, told, "declared" if unit == "s" else "measured")
    others = ", ".join(other for other in likely if other != unit)
    return ClockValue(unit, f"{told}; {others} would be possible too", "guessed")


def _told(share: float, robot: Robot | None) -> str:
    if robot is None:
        return f", fastest joint {USUAL_LIMIT * share:.2g} rad/s"
    return f", fastest joint at {share:.2g} of its limit"


def _limits(robot: Robot | None, n: int) -> Array:
    """Return the joints' speed limits [rad/s or m/s], usual ones where nobody states them, shape (n,)."""
    limit = np.full(n, USUAL_LIMIT) if robot is None else np.array(robot.velocity_limit, dtype=np.float64)
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, USUAL_LIMIT)


def _are_degrees(log: Log, robot: Robot | None) -> bool:
    """Whether positions leave the range of a joint that turns by so much that they are no radians."""
    n = len(log.joint_names)
    turns = np.ones(n, dtype=bool) if robot is None else np.array(rotary(robot))
    span = np.full(n, UNLIMITED_RANGE) if robot is None else robot.upper - robot.lower
    span = np.where(np.isfinite(span), np.minimum(span, UNLIMITED_RANGE), UNLIMITED_RANGE)
    return bool(np.any(travel(log.q)[turns] > EXCESS * span[turns]))
