"""A recording made ready for the checks: even in time, smooth, with accelerations, and where it may be relied on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from ..recording import REVERSAL, Log, bridged, direction_of_travel, even_grid, filtered, increasing, resolution

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

CUTOFF = 5.0
"""Frequency at which half of a wave passes [Hz]: arms are driven below, structures ring above."""
MOST_RATE = 100.0
"""Rate of the prepared recording [Hz] at most."""
MOST_SAMPLES = 30_000
"""Samples of the prepared recording at most: 5 min at the highest rate."""
GAP_PERIODS = 5.0
"""A time between samples of more than so many usual ones is a gap; what lies in it was not measured."""
LEAST_SAMPLES = 20
JUMP = 8.0
"""A change of position of more than so many of the largest usual ones (99.5 %) is a jump; what filters make of it is
none of the arm's motion."""
LEAST_JUMP = 0.02
"""... and of at least this [rad or m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Channels on an even grid of k samples, smoothed without delay by the filter of recording/filters.py.

    Attributes:
        time: Times [s], shape (k,).
        dt: Time between two samples [s].
        cutoff: Cutoff of the smoothing [Hz].
        q: Positions [rad or m], shape (k, n).
        dq: Velocities, differentiated from the positions [rad/s or m/s], shape (k, n).
        ddq: Accelerations, differentiated from the positions [rad/s² or m/s²], shape (k, n).
        dq_measured: Measured velocities [rad/s or m/s], shape (k, n).
        tau: Efforts, shape (k, n).
        wrench: The plate's reading, shape (k, 6); None where there is no plate.
        direction: Direction of each joint's last motion, shape (k, n): −1, 0 or +1.
        good: Samples that lie between measurements and not at the ends, where filters guess, shape (k,).
        moved: How far each joint moved [rad or m], shape (n,).
        effort_known: Whether a joint's effort was measured, shape (n,).
    """

    time: Array
    dt: float
    cutoff: float
    q: Array
    dq: Array
    ddq: Array
    dq_measured: Array
    tau: Array
    wrench: Array | None
    direction: Array
    good: Mask
    moved: Array
    effort_known: Mask

    def shifted(self, values: Array, lag: float, rows: Indices) -> Array:
        """Return channels as they are ``lag`` [s] after some samples, shape (len(rows), m), by straight lines.

        Args:
            values: Channels on the grid, shape (k, m).
            lag: Time to look ahead [s].
            rows: The samples.
        """
        position = np.clip(rows + lag / self.dt, 0.0, len(values) - 1.0)
        left = np.minimum(position.astype(np.int64), len(values) - 2)
        share = (position - left)[:, None]
        between: Array = values[left] * (1.0 - share) + values[left + 1] * share
        return between


def without_infinities(log: Log) -> Log:
    """Return the recording with NaN, which means no measurement, in the place of infinite numbers."""
    changes: dict[str, Any] = {}
    for name in ("time", "q", "dq", "tau", "wrench"):
        values = getattr(log, name)
        if values is not None and np.isinf(values).any():
            changes[name] = np.where(np.isinf(values), np.nan, values)
    return replace(log, **changes) if changes else log


def prepare(log: Log, cutoff: float = CUTOFF) -> Prepared | None:
    """Return the recording ready for the checks, or None where it is too short to say anything.

    Args:
        log: The recording.
        cutoff: Frequency at which half of a wave passes [Hz]; lowered to a sixth of the recording's rate.
    """
    rows = increasing(log.time)
    if len(rows) < LEAST_SAMPLES:
        return None
    time = log.time[rows]
    steps = np.diff(time)
    usual = float(np.median(steps))
    rate = min(1.0 / usual, MOST_RATE, MOST_SAMPLES / float(time[-1] - time[0]))
    cutoff = min(cutoff, rate / 6.0)
    grid = even_grid(time, rate)
    if len(grid) < LEAST_SAMPLES:
        return None
    dt = 1.0 / rate
    raw = [_on_grid(time, values[rows], grid, dt) for values in (log.q, log.dq, log.tau)]
    q, dq_measured, tau = (filtered(values, dt, cutoff) for values in raw)
    wrench = None
    if log.wrench is not None:
        wrench = filtered(_on_grid(time, log.wrench[rows], grid, dt), dt, cutoff)
    steps_q = np.array([resolution(column) for column in log.q[rows].T])
    return Prepared(
        time=grid,
        dt=dt,
        cutoff=cutoff,
        q=q,
        dq=filtered(raw[0], dt, cutoff, derivative=1),
        ddq=filtered(raw[0], dt, cutoff, derivative=2),
        dq_measured=dq_measured,
        tau=tau,
        wrench=wrench,
        direction=direction_of_travel(q, np.maximum(REVERSAL, 3.0 * steps_q)),
        good=_good(time, log.q[rows], grid, usual, cutoff) & ~_near_jumps(rows, time, log.q[rows], grid, cutoff),
        moved=np.ptp(q, axis=0),
        effort_known=np.mean(np.isfinite(log.tau[rows]), axis=0) > 0.5,
    )


def _on_grid(time: Array, values: Array, grid: Array, dt: float) -> Array:
    """Return channels at even times; a faster recording is smoothed first, so that nothing fast reappears as slow."""
    filled = bridged(time, values)
    usual = float(np.median(np.diff(time)))
    if dt > 1.25 * usual:
        fine = np.linspace(time[0], time[-1], len(time))
        even = np.column_stack([np.interp(fine, time, column) for column in filled.T]) if filled.size else filled
        filled, time = filtered(even, float(fine[1] - fine[0]), 0.4 / dt), fine
    return np.column_stack([np.interp(grid, time, column) for column in filled.T]) if filled.size else filled


def _good(time: Array, q: Array, grid: Array, usual: float, cutoff: float) -> Mask:
    """Return which grid times are neither in a gap, nor among positions that are no numbers, nor at the ends."""
    known = time[np.isfinite(q).all(axis=1)]
    good = np.zeros(len(grid), dtype=bool)
    if len(known) < 2:
        return good
    right = np.clip(np.searchsorted(known, grid), 1, len(known) - 1)
    good = known[right] - known[right - 1] <= GAP_PERIODS * usual
    edge = min(1.0 / cutoff, 0.1 * float(grid[-1] - grid[0]))
    inside: Mask = good & (grid >= grid[0] + edge) & (grid <= grid[-1] - edge)
    return inside


def _near_jumps(rows: Indices, time: Array, q: Array, grid: Array, cutoff: float) -> Mask:
    """Return which grid times are near a jump of the position, or near samples that were left out for their time."""
    changes = np.abs(np.diff(bridged(time, q), axis=0))
    usual = np.quantile(changes, 0.995, axis=0)
    jumped = (changes > np.maximum(JUMP * usual, LEAST_JUMP)).any(axis=1) | (np.diff(rows) > 2)
    where = time[:-1][jumped]
    if len(where) == 0:
        return np.zeros(len(grid), dtype=bool)
    nearest = np.clip(np.searchsorted(where, grid), 0, len(where) - 1)
    before = np.maximum(nearest - 1, 0)
    away = np.minimum(np.abs(grid - where[nearest]), np.abs(grid - where[before]))
    near: Mask = away < 1.5 / cutoff
    return near
