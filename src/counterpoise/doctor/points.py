"""Points along a recording that a model is compared with: binned in time, low-passed, differentiated, thinned.

Samples are averaged in bins of even times, in whatever order they come: unlike in recording/motion.py, a clock that is
wrong costs no samples. The points lie evenly along the path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from ..recording import Log, filtered

LEAST_SAMPLES = 20
"""Fewest times of a recording, and numbers of an effort, that say anything about a model."""
MOST_POINTS = 600
"""Points that are kept: neighbours along a path say the same again."""
MOST_RATE = 200.0
"""Samples are first averaged in bins of this rate [Hz]; no arm of ours has useful torque beyond it."""
MOST_BINS = 500_000
"""Bins at most, 40 min at that rate: longer recordings are averaged more coarsely ..."""
BREAK = 60.0
"""... after what lies beyond a gap of this length [s] is left out: one wrong stamp makes a minute last for years."""
LEAST_DURATION = 2.0
"""Shorter recordings say nothing about a model [s]."""
LEAST_MOTION = 1e-3
"""Joints that travel less do not move [rad or m, or the recording's unit]."""
CUTOFF_RANGE = (2.0, 8.0)
"""Least and greatest cutoff of the low-pass [Hz]."""
CUTOFF_PER_BANDWIDTH = 3.0
"""Cutoff over the frequency below which 90 % of the velocity's power lies."""
REST_SHARE = 0.1
"""Weight of time beside travelled way when points are chosen: a pose that is held for long counts a little more."""
BINS_PER_GAP = 5
"""Bins without a sample in a row that make a gap: nothing is taken from inside."""
WINDING = 0.02
"""Way over which friction winds up before it slides [rad or m, or the recording's unit]."""
MOST_WOUND = 20_000
"""Samples at most along which that is followed."""
PIECES_PER_SWING = 6.0
"""Independent pieces of evidence between two reversals of a joint; see ``MotionPoints.effective``."""
SWING = 0.08
"""Least swing that counts, relative to a joint's whole travel."""
MOST_EFFECTIVE = 100.0
"""Bound on the above: later repetitions teach little about a model."""


@dataclass(frozen=True, slots=True, eq=False)
class MotionPoints:
    """Points along a recording's path: N points of n joints, in the recording's own units and order.

    Attributes:
        time: When [s], shape (N,).
        q: Low-passed positions, shape (N, n).
        dq: Their first derivative, shape (N, n). The recorded velocity is not used.
        ddq: Their second derivative, shape (N, n).
        effort: Efforts through the same low-pass, shape (N, n); NaN columns where none was recorded.
        last_direction: +1 or −1: which way each joint moved last, shape (N, n); 0 before it first moved.
        wound: How far friction is wound up, −1 to 1, shape (N, n): it turns round over WINDING, not at once.
        alive: Joints whose effort was recorded and varies, shape (n,).
        effective: How many independent observations of each joint's torque the points are worth.
    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    effort: Array
    last_direction: Array
    wound: Array
    alive: npt.NDArray[np.bool_]
    effective: float

    @property
    def moving(self) -> npt.NDArray[np.bool_]:
        """Joints that move, shape (n,)."""
        return np.asarray(np.ptp(self.q, axis=0) > LEAST_MOTION)


def points_of(log: Log) -> MotionPoints | None:
    """Return the points of a log that the model is compared with; None where it is too short to say anything."""
    binned = _binned(log.time, np.hstack([log.q, log.tau]))
    if binned is None:
        return None
    grid, recorded, filled = binned
    n, dt = len(log.joint_names), float(grid[1] - grid[0])
    missing = np.isnan(recorded[:, n:]).any(axis=0)
    recorded = np.where(np.isnan(recorded), 0.0, recorded)
    positions = recorded[:, :n]
    cutoff = _cutoff(positions, dt)
    q, dq, ddq = (filtered(positions, dt, cutoff, derivative=order) for order in range(3))
    effort = filtered(recorded[:, n:], dt, cutoff)
    effort[:, missing] = np.nan

    margin = min(1.0 / cutoff, 0.1 * (grid[-1] - grid[0]))
    usable = (grid >= grid[0] + margin) & (grid <= grid[-1] - margin) & filled
    kept = _along_path(dq, usable)
    return MotionPoints(
        time=grid[kept],
        q=q[kept],
        dq=dq[kept],
        ddq=ddq[kept],
        effort=effort[kept],
        last_direction=_last_direction(dq)[kept],
        wound=_wound(q)[kept],
        alive=np.array([_varies(column) for column in log.tau.T]) & ~missing,
        effective=_effective(q[usable]),
    )


def _binned(time: Array, values: Array) -> tuple[Array, Array, npt.NDArray[np.bool_]] | None:
    """Return bin centres [s], the mean of the values in each bin (interpolated where empty), which are in no gap.

    None where there are too few different times for that.
    """
    stamped = _together(time)
    clock = time[stamped]
    steps = np.diff(np.sort(clock))
    steps = steps[steps > 0.0]
    if len(steps) < LEAST_SAMPLES or np.ptp(clock) < LEAST_DURATION:
        return None
    width = max(float(np.median(steps)), 1.0 / MOST_RATE, float(np.ptp(clock)) / MOST_BINS)
    start = float(clock.min())
    index = np.floor((clock - start) / width + 1e-6).astype(np.int64)
    bins = int(index.max()) + 1
    centres = np.asarray(start + (np.arange(bins) + 0.5) * width, dtype=np.float64)
    result = np.full((bins, values.shape[1]), np.nan)
    for joint, column in enumerate(values[stamped].T):
        good = np.isfinite(column)
        if not good.any():
            continue
        count = np.bincount(index[good], minlength=bins)
        total = np.bincount(index[good], weights=column[good], minlength=bins)
        some = count > 0
        result[:, joint] = np.interp(centres, centres[some], total[some] / count[some])
    held = np.bincount(index, minlength=bins) > 0
    near = np.convolve(held, np.ones(2 * BINS_PER_GAP + 1), mode="same") > 0
    return centres, result, near


def _together(time: Array) -> npt.NDArray[np.bool_]:
    """Return which samples have a time; of a recording too long for its bins only the largest part without a break."""
    stamped: npt.NDArray[np.bool_] = np.isfinite(time)
    clock = np.sort(time[stamped])
    if len(clock) < 2 or clock[-1] - clock[0] < MOST_BINS / MOST_RATE:
        return stamped
    breaks = np.flatnonzero(np.diff(clock) > BREAK)
    first, last = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(clock) - 1]])
    largest = int(np.argmax(last - first))
    together: npt.NDArray[np.bool_] = stamped & (time >= clock[first[largest]]) & (time <= clock[last[largest]])
    return together


def _cutoff(q: Array, dt: float) -> float:
    """Return a cutoff that lets the motion pass: a multiple of the band with 90 % of the velocity's power."""
    spectrum = np.abs(np.fft.rfft(np.diff(q, axis=0), axis=0)) ** 2
    frequency = np.fft.rfftfreq(len(q) - 1, dt)
    band = frequency <= 1.5 * CUTOFF_RANGE[1]
    power = spectrum[band] / np.maximum(spectrum[band].sum(axis=0), 1e-300)
    moving = np.ptp(q, axis=0) > 1e-3 * np.ptp(q, axis=0).max(initial=0.0)
    share = np.cumsum(power[:, moving].mean(axis=1)) if moving.any() else np.ones(1)
    bandwidth = frequency[int(np.searchsorted(share, 0.9 * share[-1]))]
    return float(min(np.clip(CUTOFF_PER_BANDWIDTH * bandwidth, *CUTOFF_RANGE), 0.4 / dt))


def _varies(column: Array) -> bool:
    """Return whether a recorded effort carries a signal: finite, and not one value nearly all the time."""
    finite = column[np.isfinite(column)]
    if len(finite) < LEAST_SAMPLES:
        return False
    middle = float(np.median(finite))
    return bool(np.mean(finite == middle) < 0.8 and np.ptp(finite) > 1e-9 * max(1.0, abs(middle)))


def _along_path(dq: Array, usable: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return indices of points spread evenly along the way travelled, with a share for time."""
    scale = np.sqrt(np.mean(dq[usable] ** 2, axis=0))
    moving = scale > 1e-3 * scale.max(initial=0.0)
    speed = np.zeros(len(dq))
    if moving.any():
        speed = np.sqrt(np.mean((dq[:, moving] / scale[moving]) ** 2, axis=1))
    rate = np.where(usable, speed + REST_SHARE, 0.0)
    way = np.cumsum(rate)
    count = min(MOST_POINTS, int(usable.sum()))
    marks = (np.arange(count) + 0.5) * way[-1] / count
    return np.unique(np.searchsorted(way, marks))


def _last_direction(dq: Array) -> Array:
    """Return the sign of the last motion that was faster than 2 % of the joint's usual speed."""
    speed = np.sqrt(np.mean(dq**2, axis=0))
    moved = np.where(np.abs(dq) > 0.02 * np.maximum(speed, 1e-12), np.sign(dq), 0.0)
    latest = np.maximum.accumulate(np.where(moved != 0.0, np.arange(len(dq))[:, None], -1), axis=0)
    return np.where(latest >= 0, np.take_along_axis(moved, np.maximum(latest, 0), axis=0), 0.0)


def _wound(q: Array) -> Array:
    """Return how far each joint's friction is wound up, shape (N, n): dz/dx = (sgn ẋ − z)/WINDING."""
    every = max(1, len(q) // MOST_WOUND)
    steps = np.diff(q[::every], axis=0, prepend=q[:1])
    kept, towards = np.exp(-np.abs(steps) / WINDING), np.sign(steps)
    state, at = np.empty_like(steps), np.zeros(q.shape[1])
    for row, (share, side) in enumerate(zip(kept, towards, strict=True)):
        at = side + (at - side) * share
        state[row] = at
    return np.repeat(state, every, axis=0)[: len(q)]


def _effective(q: Array) -> float:
    """Return how many independent observations of a joint's torque the points are worth.

    What the model leaves of a torque (friction's load, its Stribeck curve, elasticity) stays alike until the joints
    turn back. So the swings of a typical joint are counted, not the samples; those below a share of its travel are
    none. On made recordings the residuals' autocorrelation gives 14 to 300 where this gives 12 to 60.
    """
    swings = [_swings(column) for column in q.T if np.ptp(column) > LEAST_MOTION]
    return float(min(PIECES_PER_SWING * np.median(swings), MOST_EFFECTIVE)) if swings else PIECES_PER_SWING


def _swings(column: Array) -> int:
    """Return how often a joint goes one way by at least SWING of its travel before it turns back."""
    least = SWING * float(np.ptp(column))
    count, way, extreme = 0, 0, float(column[0])
    for value in column[:: max(1, len(column) // 4000)].tolist():
        if way == 0:
            if abs(value - extreme) > least:
                way, extreme, count = (1 if value > extreme else -1), value, 1
        elif (value - extreme) * way > 0.0:
            extreme = value
        elif (extreme - value) * way > least:
            way, extreme, count = -way, value, count + 1
    return count
