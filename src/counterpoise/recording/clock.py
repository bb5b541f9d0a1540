r"""What the motion itself says about time: recorded velocities against positions, and how fast the fastest joint runs.

Where a clock is wrong by a factor, so are differentiated positions, and recorded velocities are not. They are compared
as travels, not as velocities: over windows of several samples,

.. math:: f \,(q_{i+m} - q_i) = \int_{t_i}^{t_{i+m}} \dot q \,\mathrm{d}t,

so that neither noise and resolution of the positions nor a short delay of the velocities matters. f is what the rate
must be multiplied by.

``rate_of`` and ``unit_of_time`` say how fast time goes where neither a mapping nor a name says so: by what the motion
tells, and by what is likely at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics import rotary
from ..foundation import Array
from .filters import increasing, resolution
from .log import Log
from .names import TIME
from .proposal import FASTEST, SLOWEST
from .provenance import Source

if TYPE_CHECKING:
    from ..dynamics import Robot


TRAVEL = 0.01
"""Travel from which a joint moves [rad or m] ..."""
STEPS = 20.0
"""... and of at least so many of its position's steps."""
MOST_ROWS = 50_000
"""Rows that are compared at most, from where the arm begins to move."""
LEAST_WINDOWS = 16
"""Windows of which a comparison needs at least so many that do not overlap."""
ALIKE = 0.9
"""Correlation from which a velocity is its position's, up to a factor."""
AGREE = 0.05
"""Factors of joints that differ by no more than this are one factor."""
ACTIVE = 0.1
"""Share of the largest travel (98 %) from which a window counts as moving."""
OFF = 0.05
"""Share of the largest travel by which a window may be off without being an outlier, however well the others fit."""
KEPT = 0.8
"""Share of the windows that must follow one factor; the rest may be jumps and wrapped angles."""
LOST_PERIODS = 1.5
"""A window that lasts longer than its rows should, by this factor, spans a gap."""
SMOOTH = 0.7
"""Change of the step from row to row over the step itself, below which positions are a path. Poses that have nothing to
do with each other have 1.7."""


@dataclass(frozen=True, slots=True)
class VelocityMatch:
    """How recorded velocities go with positions.

    Attributes:
        factor: Recorded velocity over differentiated position: what the rate must be multiplied by.
        r: Smallest correlation among the joints.
        joints: Names of the joints that say so.
        reversed: Those of them whose velocity has the other sign.
        other: Joints that move and whose velocities say something else, or nothing.
    """

    factor: float
    r: float
    joints: tuple[str, ...]
    reversed: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Who says so, in words: "6 joints, r ≥ 0.9998"."""
        count = len(self.joints)
        return f"{count} joint{'s' * (count > 1)}, r ≥ {np.floor(1e4 * self.r) / 1e4:.4f}"


def velocity_match(time: Array, q: Array, dq: Array, names: Sequence[str]) -> VelocityMatch | None:
    """Return the factor by which time goes too slowly, as recorded velocities tell; None where they tell none.

    At least half of the joints that move and have a velocity must agree.

    Args:
        time: Times [s, or any unit], shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Recorded velocities [rad/s or m/s], shape (k, n); NaN where there are none.
        names: Names of the n joints.
    """
    rows = increasing(time)
    if len(rows) > MOST_ROWS:
        moved = np.flatnonzero((np.abs(q[rows] - q[rows[0]]) > TRAVEL).any(axis=1))
        begin = max(int(moved[0]) - LEAST_WINDOWS, 0) if len(moved) else 0
        rows = rows[begin : begin + MOST_ROWS]
    factors: dict[str, tuple[float, float]] = {}
    moving = []
    for joint, name in enumerate(names):
        known = rows[np.isfinite(q[rows, joint]) & np.isfinite(dq[rows, joint])]
        if len(known) < LEAST_WINDOWS or not _moves(q[known, joint]) or not np.any(dq[known, joint]):
            continue
        moving.append(name)
        found = _factor(time[known], q[known, joint], dq[known, joint])
        if found is not None and found[1] >= ALIKE:
            factors[name] = found
    if not factors:
        return None
    size = np.array([abs(factor) for factor, _ in factors.values()])
    middle = float(np.median(size))
    agreeing = {name: found for name, found in factors.items() if abs(abs(found[0]) / middle - 1.0) <= AGREE}
    if 2 * len(agreeing) < len(moving) or not agreeing:
        return None
    # The spread of a factor goes with sqrt(1 − r²): the surest joints decide its digits.
    weights = np.array([1.0 / (1.0 - r * r + 1e-8) for _, r in agreeing.values()])
    factor = float(np.average([abs(factor) for factor, _ in agreeing.values()], weights=weights))
    return VelocityMatch(
        factor=factor,
        r=min(r for _, r in agreeing.values()),
        joints=tuple(agreeing),
        reversed=tuple(name for name, (signed, _) in agreeing.items() if signed < 0.0),
        other=tuple(name for name in moving if name not in agreeing),
    )


def _moves(q: Array) -> bool:
    return q.size > 0 and bool(np.ptp(q) > max(TRAVEL, STEPS * resolution(q)))


def _factor(time: Array, q: Array, dq: Array) -> tuple[float, float] | None:
    """Return a joint's factor, of any sign, and the correlation behind it, by the window that tells most."""
    steps = np.diff(time)
    usual = float(np.median(steps))
    travelled = np.concatenate([[0.0], np.cumsum(0.5 * (dq[1:] + dq[:-1]) * steps)])
    travelled -= usual**2 / 12.0 * np.gradient(dq, time)  # of fourth order where the times are even: slow rates need it
    best: tuple[float, float] | None = None
    rows = 1
    while rows * LEAST_WINDOWS < len(time):
        begin = np.arange(0, len(time) - rows, max(1, rows // 4))
        whole = time[begin + rows] - time[begin] <= LOST_PERIODS * rows * usual
        begin = begin[whole]
        if len(begin) >= LEAST_WINDOWS:
            found = _robust_factor(q[begin + rows] - q[begin], travelled[begin + rows] - travelled[begin])
            if found is not None and (best is None or found[1] > best[1]):
                best = found
        rows *= 2
    return best


def _robust_factor(change: Array, travelled: Array) -> tuple[float, float] | None:
    """Return the factor from changes of position to travels by velocity, and their correlation, without outliers."""
    size_of_change, size_of_travel = (float(np.quantile(np.abs(values), 0.98)) for values in (change, travelled))
    active = (np.abs(change) >= ACTIVE * size_of_change) | (np.abs(travelled) >= ACTIVE * size_of_travel)
    change, travelled = change[active], travelled[active]  # where the arm stands there is only noise
    large = (change != 0.0) & (np.abs(change) >= float(np.median(np.abs(change))))
    if len(change) < LEAST_WINDOWS or not large.any():
        return None
    factor = float(np.median(travelled[large] / change[large]))
    for _ in range(3):
        off = travelled - factor * change
        off = np.abs(off - np.median(off))
        kept = off <= max(5.0 * 1.4826 * float(np.median(off)), OFF * size_of_travel)
        if kept.mean() < KEPT:
            return None
        first, second = change[kept] - change[kept].mean(), travelled[kept] - travelled[kept].mean()
        power, product = float(first @ first), float(first @ second)
        size = float(second @ second)
        if power == 0.0 or size == 0.0:
            return None
        # Both sides have noise: neither regression of one on the other is right, their mean is.
        factor = float(np.sign(product) * np.sqrt(size / power))
    return factor, abs(product) / float(np.sqrt(power * size))


def is_path(q: Array) -> bool:
    """Whether positions row by row are a path, and not poses that have nothing to do with each other.

    Noise of a fast recording hides its path from row to row, not over several rows, so all distances are tried.

    Args:
        q: Positions [rad or m], shape (k, n).
    """
    return path_stride(q) is not None


def path_stride(q: Array) -> int | None:
    """Return over how many rows positions are a path, above their noise; None where they are none.

    Args:
        q: Positions [rad or m], shape (k, n).
    """
    known = q[np.isfinite(q).all(axis=1)]
    rows = 1
    while 8 * rows <= len(known):
        steps = known[rows:] - known[:-rows]
        bends = np.sqrt(np.mean((steps[rows:] - steps[:-rows]) ** 2, axis=0))
        lengths = np.sqrt(np.mean(steps**2, axis=0))
        moving = lengths > 0.1 * lengths.max()
        if lengths.max() > 0.0 and np.median(bends[moving] / lengths[moving]) < SMOOTH:
            return rows
        rows *= 2
    return None


def fastest_share(time: Array, q: Array, limit: Array) -> float | None:
    """Return the speed of the joint that is fastest beside its limit, over that limit; None where no joint tells.

    The speed is the 99 % quantile over a time that noise does not rule.

    Args:
        time: Times [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        limit: Largest speeds [rad/s or m/s], shape (n,); those that are not positive and finite are unknown.
    """
    rows = increasing(time)
    moves = np.array([_moves(column[np.isfinite(column)]) for column in q.T])
    known = np.flatnonzero(moves & np.isfinite(limit) & (limit > 0.0))
    if len(rows) < 3 or len(known) == 0:
        return None
    time, q = time[rows], q[np.ix_(rows, known)]
    stride = path_stride(q) or 1
    speeds = np.abs(q[stride:] - q[:-stride]) / (time[stride:] - time[:-stride])[:, None]
    return float(np.max(usual_maximum(speeds) / limit[known]))


def travel(q: Array) -> Array:
    """Return how far each joint travels [rad or m], shape (n,); 0 where nothing was measured.

    Args:
        q: Positions [rad or m], shape (k, n).
    """
    known = (column[np.isfinite(column)] for column in q.T)
    return np.array([np.ptp(column) if column.size else 0.0 for column in known])


def usual_maximum(values: Array) -> Array:
    """Return the 99 % quantile of the size of each channel, shape (n,); 0 where nothing was measured.

    Args:
        values: Channels, shape (k, n).
    """
    known = (column[np.isfinite(column)] for column in values.T)
    return np.array([np.quantile(np.abs(column), 0.99) if column.size else 0.0 for column in known])


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
        return ClockValue(ASSUMED_RATE, "assumed: no time, and no velocity that determines it", "guessed")
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
        return ClockValue("s", "taken for seconds: there are no steps that determine it", "guessed")
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
