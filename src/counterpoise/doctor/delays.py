"""Delay between channels: efforts and velocities that are late, or early, beside the positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..logs.log import Log
from .expectation import FURTHEST, INDEPENDENT_RATE
from .finding import Consequence, Finding, LogFault
from .inertial import inertial_signals
from .prepared import Indices, Mask, Prepared
from .wording import short, spread

LEAST_TIME = 5.0
"""Shortest recording whose timing is judged [s]: a few reversals."""
MOST_ROWS = 2000
"""Samples that a shift is judged by, at most."""
EXPLAINED = 0.6
"""Share of a channel's variance that must be explained for its timing to be judged."""
SLIDING_SPEED = 0.05
"""Speed above which an effort tells the time [rad/s or m/s]. Near a reversal friction changes its sign over a while
that looks like a delay, so that part is left out."""
SMALL = {"velocity": 0.02, "effort": 0.08}
"""Delay that every recording may have [s]: a velocity by its filter and a tick of the loop; an effort by what friction
and compliance do that no simple law says."""
SMALL_PERIODS = 1.5
"""... and in times between samples."""
SURE = 4.0
"""Standard deviations by which a delay must differ from none ..."""
MOST_DOUBT = 0.005
"""... and its largest standard deviation [s] ..."""
MOST_SHARE_OF_DOUBT = 0.1
"""... or share of it, whichever is larger: a mapping is to be corrected by it."""
LEAST_JOINTS = 2
"""Joints that must tell the delay of the efforts, where there are so many: the friction, the spring or the cable of one
may look like any delay."""
SPREAD = 0.15
"""Usual disagreement between joints, as a share of the delay, up to which it is one delay of one channel ..."""
LEAST_SPREAD = 0.010
"""... or this [s]. Friction delays each joint by its own time."""
WAYS = (0.005, 0.02, 0.06)
"""Ways over which friction turns round [rad or m]: what winds up before it slides looks late."""


@dataclass(frozen=True, slots=True, eq=False)
class Delay:
    """How late a channel is.

    Attributes:
        lag: How much later than the positions it is [s]; negative where it is early.
        std: Standard deviation of that [s].
        per_joint: The same for each joint that could be judged [s], by its index.
        doubt: Standard deviation of each of these [s], by its index.
    """

    lag: float
    std: float
    per_joint: dict[int, float]
    doubt: dict[int, float]


def effort_delay(robot: Robot, smooth: Prepared, *, winding: bool = False) -> Delay | None:
    """Return how late the efforts are; None where nothing in them tells the time.

    The effort of joint i is fitted by gravity, inertial torque, friction's sign and speed and a constant, all from the
    positions, each with a factor of its own (so units and signs do not matter), at every shift in time.

    Args:
        robot: The model.
        smooth: The recording made ready.
        winding: Friction may also wind up over WAYS before it slides, and a spring may pull: neither is a delay.
    """
    gravity = robot.gravity(smooth.q)
    inertial = inertial_signals(robot, smooth.q, smooth.dq, smooth.ddq)
    signals = []
    wound = [_wound(smooth.q, way) for way in WAYS] if winding else []
    for joint in np.flatnonzero(smooth.effort_known):
        q, dq = smooth.q[:, joint], smooth.dq[:, joint]
        columns = (
            gravity[:, joint],
            inertial[:, joint],
            np.sign(dq),
            dq,
            np.sign(dq) * np.exp(-np.abs(dq) / SLIDING_SPEED),
            *((q, np.sin(q), np.cos(q)) if winding else ()),
            *(state[:, joint] for state in wound),
        )
        sliding = np.abs(dq) > SLIDING_SPEED
        signals.append((int(joint), smooth.tau[:, joint], np.column_stack([*columns, np.ones(len(gravity))]), sliding))
    return _common_delay(signals, smooth)


def _wound(q: Array, way: float) -> Array:
    """Return how far each joint's friction is wound up, −1 to 1, shape (k, n): dz/dx = (sgn ẋ − z)/way."""
    steps = np.diff(q, axis=0, prepend=q[:1])
    kept, towards = np.exp(-np.abs(steps) / way), np.sign(steps)
    state, at = np.empty_like(q), np.zeros(q.shape[1])
    for row, (share, side) in enumerate(zip(kept, towards, strict=True)):
        at = side + (at - side) * share
        state[row] = at
    return state


def velocity_delay(smooth: Prepared) -> Delay | None:
    """Return how late the measured velocities are beside the differentiated positions; None where nothing moves.

    Args:
        smooth: The recording made ready.
    """
    signals = [
        (
            joint,
            smooth.dq_measured[:, joint],
            np.column_stack([smooth.dq[:, joint], np.ones(len(smooth.time))]),
            np.ones(len(smooth.time), dtype=bool),
        )
        for joint in range(smooth.q.shape[1])
        if smooth.moved[joint] > 0.05
    ]
    return _common_delay(signals, smooth)


def check_delays(robot: Robot | None, log: Log, smooth: Prepared) -> list[Finding]:
    """Name efforts and measured velocities that are late or early beside the positions.

    Found: a delay common to the joints of more than SMALL and SMALL_PERIODS times between samples, and SURE standard
    deviations. Not found: a smaller one, which a velocity's filter also makes; one in a recording without reversals or
    accelerations, where nothing tells the time.

    Args:
        robot: The model; None judges the velocities only.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready.
    """
    if smooth.good.sum() < 50:
        return []
    findings = []
    delays = [] if robot is None else [("effort", effort_delay(robot, smooth))]
    if log.declared.velocity_from != "position":
        delays.append(("velocity", velocity_delay(smooth)))
    for what, suspected in delays:
        least = max(SMALL[what], SMALL_PERIODS / log.rate)
        delay = suspected if _is_delay(suspected, least) else None
        if delay is not None and robot is not None and what == "effort":
            delay = effort_delay(robot, smooth, winding=True)
            if delay is None or not _is_delay(delay, least):
                continue
            if len(delay.per_joint) < min(LEAST_JOINTS, int(smooth.effort_known.sum())):
                continue
        if delay is not None:
            findings.append(_finding(what, delay, log))
    return findings


def _is_delay(delay: Delay | None, least: float) -> bool:
    """Return whether a delay is large, sure, and the same for the joints that tell it well."""
    if delay is None or abs(delay.lag) < max(least, SURE * delay.std):
        return False
    if delay.std > max(MOST_DOUBT, MOST_SHARE_OF_DOUBT * abs(delay.lag)):
        return False
    allowed = max(SPREAD * abs(delay.lag), LEAST_SPREAD)
    off = [abs(lag - delay.lag) for joint, lag in delay.per_joint.items() if delay.doubt[joint] < LEAST_SPREAD]
    return bool(off) and float(np.median(off)) <= allowed


def _finding(what: str, delay: Delay, log: Log) -> Finding:
    late = "later" if delay.lag > 0.0 else "earlier"
    names = {log.joint_names[joint]: lag for joint, lag in delay.per_joint.items()}
    return Finding(
        LogFault.DELAY,
        Consequence.LIMITS,
        (what,),
        f"The {what} comes {short(1e3 * abs(delay.lag))} ± {spread(1e3 * delay.std)} ms {late} than the positions.",
        f"Shift it in the mapping ([{what}] lag), or stamp all channels when they are measured.",
        {"channel": what, "lag_s": delay.lag, "std_s": delay.std, "per_joint_s": names},
        fix={what: {"lag": round(delay.lag, 5)}},
    )


def _common_delay(signals: list[tuple[int, Array, Array, Mask]], smooth: Prepared) -> Delay | None:
    """Return the shift in time at which channels fit their explanations best, all together.

    With Gaussian residuals of unknown size the log likelihood of a shift is −(N/2) log(residual sum of squares), added
    up over the channels; its curvature at the best shift is the variance's inverse.
    """
    inside = smooth.good & (smooth.time > smooth.time[0] + FURTHEST) & (smooth.time < smooth.time[-1] - FURTHEST)
    reach = int(FURTHEST / smooth.dt)
    rows = np.flatnonzero(inside)
    rows = rows[(rows >= reach) & (rows < len(smooth.time) - reach)]
    if len(rows) * smooth.dt < LEAST_TIME:
        return None
    shifts = np.arange(-reach, reach + 1)
    total = np.zeros(len(shifts))
    per_joint: dict[int, float] = {}
    bends: dict[int, float] = {}
    for joint, channel, columns, usable in signals:
        used = rows[usable[rows]]
        used = used[:: max(1, len(used) // MOST_ROWS)]
        if len(used) < 50:
            continue
        count = INDEPENDENT_RATE * float(usable[rows].sum()) * smooth.dt
        orthogonal = np.linalg.qr(columns[used])[0]
        values = channel[used[:, None] + shifts]
        centred = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
        residual = np.sum(values**2, axis=0) - np.sum((orthogonal.T @ values) ** 2, axis=0)
        residual = np.maximum(residual, 1e-9 * centred)
        if not np.all(centred > 0.0) or float(np.min(residual / centred)) > 1.0 - EXPLAINED:
            continue
        cost = 0.5 * count * np.log(residual / centred)
        total += cost
        per_joint[joint], bends[joint] = _lowest(shifts, cost, smooth.dt)
    if not per_joint:
        return None
    lag, curvature = _lowest(shifts, total, smooth.dt)
    if curvature <= 0.0:
        return None
    # Joints that disagree by more than their own uncertainty make all of them less sure; one that is far off does not.
    off = [math.sqrt(bends[joint]) * abs(own - lag) for joint, own in per_joint.items()]
    doubt = {joint: 1.0 / math.sqrt(bend) if bend > 0.0 else math.inf for joint, bend in bends.items()}
    return Delay(lag, max(1.0, 1.4826 * float(np.median(off))) / math.sqrt(curvature), per_joint, doubt)


def _lowest(shifts: Indices, cost: Array, dt: float) -> tuple[float, float]:
    """Return where a sampled curve is lowest [s], between its samples, and its curvature there; 0 at the ends."""
    best = int(cost.argmin())
    if best in (0, len(cost) - 1):
        return float(shifts[best]) * dt, 0.0
    before, middle, after = cost[best - 1 : best + 2]
    bend = float(before - 2.0 * middle + after)
    offset = 0.5 * float(before - after) / bend if bend > 0.0 else 0.0
    return (float(shifts[best]) + offset) * dt, bend / dt**2
