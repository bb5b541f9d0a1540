"""Still segments: where the arm stands, at which pose, and from which side each joint came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..foundation import Array, PublishedData
from .filters import bridged, increasing, resolution, true_stretches
from .log import Log
from .path import REVERSAL, direction_of_travel

STILL_SPEED = 5e-3
"""Speed below which a joint counts as standing [rad/s or m/s]: a tenth of a slow creep of 0.05 rad/s."""
WINDOW = 0.2
"""Time over which speed is judged [s]: long beside an encoder's counts, short beside a dwell."""
DIRECTION_PERIOD = 0.01
"""How often the direction of motion is looked at [s]."""
LEAST_TIME = 0.3
"""Shortest standing that counts [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class StillSegment(PublishedData):
    """A stretch of a log in which every joint stands.

    Attributes:
        start: First sample.
        end: Sample after the last.
        duration: How long it lasts [s].
        q: Mean position [rad or m], shape (n,).
        tau: Mean effort in the log's unit, shape (n,); NaN where none was measured.
        approach: Side from which each joint came, shape (n,): +1 moving upwards, −1 downwards, 0 where it never moved.
    """

    start: int
    end: int
    duration: float
    q: Array
    tau: Array
    approach: Array


def still_segments(log: Log, *, least_time: float = LEAST_TIME, settle: float = 0.0) -> tuple[StillSegment, ...]:
    """Find where the arm stands.

    Speed is the change of position over WINDOW, so that neither the noise of a measured velocity nor an encoder's
    counts look like motion; a joint stands below STILL_SPEED or two counts per window.

    Args:
        log: The recording. Samples whose time does not increase are left out of the search.
        least_time: Shortest standing that counts [s], after settling.
        settle: Time at the beginning of each standing that is cut off [s].

    Returns:
        The segments in order; those that remain shorter than ``least_time`` are left out.
    """
    rows = increasing(log.time)
    if len(rows) < 3:
        return ()
    time, q = log.time[rows], bridged(log.time[rows], log.q[rows])
    steps = np.array([resolution(column) for column in q.T])
    moving = np.zeros(len(time), dtype=bool)
    for column, step in zip(q.T, steps, strict=True):
        change = np.interp(time + 0.5 * WINDOW, time, column) - np.interp(time - 0.5 * WINDOW, time, column)
        moving |= np.abs(change) > max(STILL_SPEED * WINDOW, 2.0 * step)
    every = max(1, int(DIRECTION_PERIOD / float(np.median(np.diff(time)))))
    directions = direction_of_travel(q[::every], np.maximum(REVERSAL, 3.0 * steps))
    segments = []
    for still_from, last in true_stretches(~moving).tolist():
        begin = int(np.searchsorted(time, time[still_from] + settle, side="left"))
        duration = float(time[last - 1] - time[min(begin, last - 1)])
        if duration < least_time:
            continue
        inside = rows[begin:last]
        tau = log.tau[inside]
        measured = np.isfinite(tau)
        sums = np.where(measured, tau, 0.0).sum(axis=0)
        counts = measured.sum(axis=0)
        mean_tau = np.full(tau.shape[1], np.nan)
        np.divide(sums, counts, out=mean_tau, where=counts > 0)
        mean_q, approach = q[begin:last].mean(axis=0), directions[(last - 1) // every]
        first, after = int(inside[0]), int(inside[-1]) + 1
        segments.append(StillSegment(first, after, duration, mean_q, mean_tau, approach))
    return tuple(segments)
