"""Checks of a recording's time: faulty stamps, a clock that is wrong by a factor, and channels that are late.

- Time stamps: gaps, jitter, repeated, backward and wild ones, and recordings without time.
- Rate: whether time goes as fast as the recording says, by recorded velocities against positions, and speeds against
  limits.
- Delay between channels: efforts and velocities that are late, or early, beside the positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, rotary
from ..foundation import Array
from ..recording import (
    ANGULAR_SPEED,
    EXCESS,
    FASTEST,
    LEAST_SHARE,
    MOST_SHARE,
    SLOWEST,
    TIME,
    UNLIMITED_RANGE,
    Log,
    Motion,
    VelocityMatch,
    fastest_share,
    increasing,
    is_path,
    travel,
    velocity_match,
)
from .coverage import inertial_signals
from .finding import Consequence, Finding, LogFault, percent, short, spread, times
from .priors import FURTHEST, INDEPENDENT_RATE

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

GAP_PERIODS = 3.5
"""Time between two samples, in usual ones, from which samples were lost: more than three in a row."""
LONG_GAP = 0.25
"""Gap that limits a fit however rare it is [s]: a filter that bridges it invents the motion in between."""
LOST_SHARE = 0.01
"""Share of the recording's time in gaps that limits a fit."""
JITTER = 0.25
"""Irregularity of the stamps, as a share of the usual time between samples, that limits accelerations."""
JITTER_NOTE = 0.1
REPEATED_SHARE = 0.001
"""Share of repeated stamps that limits a fit; fewer are left out without harm."""
LEFT_OUT = 0.1
"""Share of samples out of order from which the time as a whole cannot be right."""


def check_timing(log: Log) -> list[Finding]:
    """Name what is wrong with the recording's time.

    Found: gaps of more than GAP_PERIODS usual periods; stamps whose spacing varies by more than JITTER_NOTE of a period
    (LIMITS from JITTER); stamps that repeat, go back or are wild; a column of times that goes back throughout; an
    assumed rate. Not found here: a wrong rate (see rates), and samples that are late by a constant time (see delays).

    Args:
        log: The recording.
    """
    findings = [] if log.declared.time_from != "rate" else [_no_time(log)]
    findings += _refused(log)
    rows = np.flatnonzero(np.isfinite(log.time))
    if len(rows) < 3:
        return findings
    steps = np.diff(log.time[rows])
    if not np.any(steps > 0.0):
        findings.append(_standing(len(rows)))
        return findings
    ordered = increasing(log.time)
    findings += _not_increasing(log, rows, ordered)
    time = log.time[ordered]
    if len(time) < 3:
        return findings
    forward = np.diff(time)
    usual = float(np.median(forward))
    findings += _gaps(time, forward, usual)
    findings += _jitter(forward, usual)
    return findings


def _no_time(log: Log) -> Finding:
    declared = log.declared
    rate = declared.notes.get("assumed_rate")
    assumed = rate if isinstance(rate, int | float) else log.rate
    sentence, consequence = f"The recording has no time; {assumed:g} samples per second ", Consequence.NOTE
    if declared.rate_is_guessed:
        sentence += "were assumed, which nobody confirmed."
        consequence = Consequence.LIMITS
    elif declared.rate_source == "measured":
        sentence += f"were measured ({declared.notes.get('time', 'by its velocities')})."
    else:
        sentence += "were given in the mapping."
    return Finding(
        LogFault.NO_TIME,
        consequence,
        (),
        sentence,
        "Give the true rate in the mapping ([time] rate = …). Gravity does not depend on it; velocities, friction and "
        "delays do.",
        {"assumed_rate_hz": float(assumed)},
    )


def _refused(log: Log) -> list[Finding]:
    """Name a column that is called time and was not used, because it goes back."""
    told = log.declared.notes.get("time_refused")
    if not told:
        return []
    guessed = log.declared.rate_is_guessed
    return [
        Finding(
            LogFault.TIME_DUPLICATES,
            Consequence.INVALIDATES if guessed else Consequence.LIMITS,
            (),
            f"Column '{told['column']}' of {told['file']} goes back in {told['back']} of its first {told['steps']} "
            f"steps, first in row {told['row']} (counted from 0): it is not used as time"
            + (", and nothing else determines the time." if guessed else "."),
            "Sort the rows by time, name the right column ([time] column = …), or give the rate ([time] rate = …).",
            {"backward": told["back"], "steps": told["steps"], "row": told["row"]},
        )
    ]


def _standing(count: int) -> Finding:
    return Finding(
        LogFault.TIME_DUPLICATES,
        Consequence.INVALIDATES,
        (),
        f"Time never increases in {count} samples.",
        "Name the right time column in the mapping, or give the rate ([time] rate = …).",
        {"samples": count},
    )


def _not_increasing(log: Log, rows: npt.NDArray[np.intp], ordered: npt.NDArray[np.intp]) -> list[Finding]:
    """Name samples with a time that are left out: what they do, how many, and the first of them."""
    left_out = np.setdiff1d(rows, ordered, assume_unique=True)
    if len(left_out) == 0:
        return []
    steps = np.diff(log.time[rows])
    repeated, back = int((steps == 0.0).sum()), int((steps < 0.0).sum())
    share = len(left_out) / len(rows)
    told = []
    if repeated:
        told.append(f"repeats {times(repeated)}")
    if back:
        told.append(f"goes back {times(back)}, by up to {short(float(-steps.min()))} s")
    if not told:
        told.append(f"is far from all other times {times(len(left_out))}")
    counted = "1 sample is" if len(left_out) == 1 else f"{len(left_out)} samples are"
    row = int(left_out[0])
    first = float(log.time[row])
    consequence = Consequence.LIMITS if share > REPEATED_SHARE or len(left_out) > repeated else Consequence.NOTE
    return [
        Finding(
            LogFault.TIME_DUPLICATES,
            Consequence.INVALIDATES if share > LEFT_OUT and len(left_out) > repeated else consequence,
            (),
            f"Time {' and '.join(told)}: {counted} left out ({percent(share)}), the first "
            f"{_place(log, row)} with {first:.3f} s.",
            "Record the stamp of the measurement, not of its arrival, and each sample once; only these samples are "
            "left out of all that follows.",
            {
                "repeated": repeated,
                "backward": back,
                "left_out": len(left_out),
                "share": share,
                "first_row": row,
                "first_s": first,
                "rows": left_out[:100].tolist(),
            },
        )
    ]


def _place(log: Log, row: int) -> str:
    """Return where a sample stands: its row in the file, counted from 0, where the log tells."""
    declared = log.declared
    files = declared.notes.get("files", ())
    section = declared.mapping.get("time", {})
    if len(files) == 1 and "start" not in section:
        return f"in row {row + section.get('first', 0)} of {files[0]} (counted from 0)"
    return f"is sample {row} (counted from 0)"


def _gaps(time: Array, steps: Array, usual: float) -> list[Finding]:
    wide = np.flatnonzero(steps > GAP_PERIODS * usual)
    if len(wide) == 0:
        return []
    lost = float(steps[wide].sum() - len(wide) * usual)
    longest = float(steps[wide].max())
    share = lost / float(time.max() - time.min())
    where = int(wide[steps[wide].argmax()])
    limits = longest >= max(LONG_GAP, 5.0 * usual) or share > LOST_SHARE
    return [
        Finding(
            LogFault.TIME_GAPS,
            Consequence.LIMITS if limits else Consequence.NOTE,
            (),
            f"Samples are missing {times(len(wide))}: {short(lost)} s in all ({percent(share)}), the longest gap "
            f"{short(longest)} s at {float(time[where]):.2f} s, where {short(usual)} s is usual.",
            "Record without losing messages (larger queue, local disk), or crop to a part without gaps ([time] start "
            "and end).",
            {
                "gaps": len(wide),
                "lost_s": lost,
                "longest_s": longest,
                "usual_s": usual,
                "share": share,
                "at_s": [float(time[row]) for row in wide[:100]],
            },
        )
    ]


def _jitter(forward: Array, usual: float) -> list[Finding]:
    regular = forward[forward <= GAP_PERIODS * usual]
    # A sample that was lost now and then is no jitter: what is left of whole periods counts.
    off = regular - usual * np.maximum(np.round(regular / usual), 1.0)
    spread = float(np.sqrt(np.mean(off**2)))
    share = spread / usual
    if share < JITTER_NOTE:
        return []
    limits = share >= JITTER
    return [
        Finding(
            LogFault.TIME_JITTER,
            Consequence.LIMITS if limits else Consequence.NOTE,
            (),
            f"The time between samples varies by {short(1e3 * spread)} ms (standard deviation), {percent(share)} of "
            f"the usual {short(1e3 * usual)} ms.",
            "Use the stamp of the measurement, not of its arrival; if the samples were taken evenly, give the rate "
            "instead of the column ([time] rate = …).",
            {"jitter_s": spread, "usual_s": usual, "share": share, "longest_s": float(regular.max())},
        )
    ]


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
    change, remedy, told = _fixed_rate(log, match.factor, true)
    return Finding(
        LogFault.RATE,
        Consequence.INVALIDATES,
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
            Consequence.INVALIDATES,
            (),
            f"Recorded velocities point against the change of the recorded positions ({match.told}): the rows run "
            "backwards in time, or all velocities have the opposite sign.",
            "Sort the rows by time, or reverse the velocities (velocity_sign = -1).",
            {"factor": -match.factor, "correlation": match.r, "joints": list(match.joints), "rate_hz": log.rate},
            alternatives=("velocity sign",),
        )
    ]


def _fixed_rate(log: Log, factor: float, true: float) -> tuple[dict[str, Any], str, str]:
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
            Consequence.INVALIDATES,
            (),
            f"At {log.rate:.4g} Hz the fastest joint runs at {size} its speed limit: the rate or the unit of the time "
            "is wrong.",
            "Give the true rate or the unit of the time in the mapping ([time] rate = …, or unit = …).",
            {"fastest_over_limit": share, "rate_hz": log.rate},
        )
    ]


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


def effort_delay(robot: Robot, motion: Motion, *, winding: bool = False) -> Delay | None:
    """Return how late the efforts are; None where nothing in them tells the time.

    The effort of joint i is fitted by gravity, inertial torque, friction's sign and speed and a constant, all from the
    positions, each with a factor of its own (so units and signs do not matter), at every shift in time.

    Args:
        robot: The model.
        motion: The recording's motion at even times.
        winding: Friction may also wind up over WAYS before it slides, and a spring may pull: neither is a delay.
    """
    gravity = robot.gravity(motion.q)
    inertial = inertial_signals(robot, motion.q, motion.dq, motion.ddq)
    signals = []
    wound = [_wound(motion.q, way) for way in WAYS] if winding else []
    for joint in np.flatnonzero(motion.effort_measured):
        q, dq = motion.q[:, joint], motion.dq[:, joint]
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
        signals.append((int(joint), motion.tau[:, joint], np.column_stack([*columns, np.ones(len(gravity))]), sliding))
    return _common_delay(signals, motion)


def _wound(q: Array, way: float) -> Array:
    """Return how far each joint's friction is wound up, −1 to 1, shape (k, n): dz/dx = (sgn ẋ − z)/way."""
    steps = np.diff(q, axis=0, prepend=q[:1])
    kept, towards = np.exp(-np.abs(steps) / way), np.sign(steps)
    state, at = np.empty_like(q), np.zeros(q.shape[1])
    for row, (share, side) in enumerate(zip(kept, towards, strict=True)):
        at = side + (at - side) * share
        state[row] = at
    return state


def velocity_delay(motion: Motion) -> Delay | None:
    """Return how late the measured velocities are beside the differentiated positions; None where nothing moves.

    Args:
        motion: The recording's motion at even times.
    """
    measured = motion.filtered(motion.log.dq)
    signals = [
        (
            joint,
            measured[:, joint],
            np.column_stack([motion.dq[:, joint], np.ones(len(motion.time))]),
            np.ones(len(motion.time), dtype=bool),
        )
        for joint in range(motion.q.shape[1])
        if motion.travel[joint] > 0.05
    ]
    return _common_delay(signals, motion)


def check_delays(robot: Robot | None, log: Log, motion: Motion) -> list[Finding]:
    """Name efforts and measured velocities that are late or early beside the positions.

    Found: a delay common to the joints of more than SMALL and SMALL_PERIODS times between samples, and SURE standard
    deviations. Not found: a smaller one, which a velocity's filter also makes; one in a recording without reversals or
    accelerations, where nothing tells the time.

    Args:
        robot: The model; None judges the velocities only.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times.
    """
    if motion.usable.sum() < 50:
        return []
    findings = []
    delays = [] if robot is None else [("effort", effort_delay(robot, motion))]
    if log.declared.velocity_from != "position":
        delays.append(("velocity", velocity_delay(motion)))
    for what, suspected in delays:
        least = max(SMALL[what], SMALL_PERIODS / log.rate)
        delay = suspected if _is_delay(suspected, least) else None
        if delay is not None and robot is not None and what == "effort":
            delay = effort_delay(robot, motion, winding=True)
            if delay is None or not _is_delay(delay, least):
                continue
            if len(delay.per_joint) < min(LEAST_JOINTS, int(motion.effort_measured.sum())):
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


def _common_delay(signals: list[tuple[int, Array, Array, Mask]], motion: Motion) -> Delay | None:
    """Return the shift in time at which channels fit their explanations best, all together.

    With Gaussian residuals of unknown size the log likelihood of a shift is −(N/2) log(residual sum of squares), added
    up over the channels; its curvature at the best shift is the variance's inverse.
    """
    inside = motion.usable & (motion.time > motion.time[0] + FURTHEST) & (motion.time < motion.time[-1] - FURTHEST)
    reach = int(FURTHEST / motion.dt)
    rows = np.flatnonzero(inside)
    rows = rows[(rows >= reach) & (rows < len(motion.time) - reach)]
    if len(rows) * motion.dt < LEAST_TIME:
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
        count = INDEPENDENT_RATE * float(usable[rows].sum()) * motion.dt
        orthogonal = np.linalg.qr(columns[used])[0]
        values = channel[used[:, None] + shifts]
        centred = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
        residual = np.sum(values**2, axis=0) - np.sum((orthogonal.T @ values) ** 2, axis=0)
        residual = np.maximum(residual, 1e-9 * centred)
        if not np.all(centred > 0.0) or float(np.min(residual / centred)) > 1.0 - EXPLAINED:
            continue
        cost = 0.5 * count * np.log(residual / centred)
        total += cost
        per_joint[joint], bends[joint] = _lowest(shifts, cost, motion.dt)
    if not per_joint:
        return None
    lag, curvature = _lowest(shifts, total, motion.dt)
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
