"""Tables of poses at rest: rows that are no samples of a motion, so that nothing may be differentiated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from ..recording import Log, Motion, increasing, sides_by_order
from .points import MotionPoints

Indices = npt.NDArray[np.intp]

LEAST_ROWS = 6
"""Fewest rows of a table that is compared with a model."""
MOST_ROWS = 600
"""Rows of a table that is compared, at most: evenly taken from a longer one."""
JUMP = 0.1
"""Root mean square of the steps between rows, as a share of the range, from which rows jump. Samples of a motion take
at least ten steps across it."""
ROUGH = 1.0
"""Change of the step over the step, root mean square, from which the next row does not follow from the ones before. Of
random poses it is 1.7, of poses that stand twice 1.4, of a motion far below 1."""
SLOW = 1.0
"""Time between rows from which they are poses, however they follow each other [s]: nobody samples a motion so."""
SEPARATE = 0.02
"""Change of a joint between two rows from which it shows where the joint came from [rad or m]."""
PER_ROW = 1.0 / 3.0
"""Time that a row stands for [s]: each is one independent observation (see expectation.INDEPENDENT_RATE)."""


def is_pose_table(log: Log) -> bool:
    """Return whether the rows of a recording are poses at rest rather than samples of a motion.

    They are where the mapping says from which side they were reached, where the position jumps from row to row, or
    where the rows lie SLOW apart in recorded time. Poses that stand twice, and a column of times, change nothing. A
    recorded velocity means a motion.

    Args:
        log: The recording.
    """
    q = log.q[np.isfinite(log.q).all(axis=1)]
    if len(q) < LEAST_ROWS:
        return False
    if log.side is not None or log.pair is not None:
        return True
    if log.declared.velocity_from != "position" and np.nanmax(np.abs(log.dq), initial=0.0) > 0.0:
        return False
    if log.declared.time_from != "rate":
        rows = increasing(log.time)
        if len(rows) > 2 and float(np.median(np.diff(log.time[rows]))) > SLOW:
            return True
    spans = np.ptp(q, axis=0)
    moved = spans > max(0.1 * float(spans.max()), SEPARATE)
    if not moved.any():
        return False
    steps = np.diff(q[:, moved] / spans[moved], axis=0)
    size = float(np.sqrt(np.mean(steps**2)))
    turn = float(np.sqrt(np.mean(np.diff(steps, axis=0) ** 2)))
    return size > JUMP and turn > ROUGH * size


def table_points(log: Log) -> MotionPoints | None:
    """Return the rows of a table as points at rest; None where there are too few."""
    rows = _rows(log)
    if len(rows) < LEAST_ROWS:
        return None
    q, effort = log.q[rows], log.tau[rows]
    still = np.zeros_like(q)
    lacking = ~np.isfinite(effort).all(axis=0)
    alive = ~lacking & (np.ptp(np.where(lacking, 0.0, effort), axis=0) > 0.0)
    return MotionPoints(
        time=np.arange(len(rows), dtype=np.float64) * PER_ROW,
        q=q,
        dq=still,
        ddq=still,
        effort=np.where(lacking, np.nan, effort),
        last_direction=_sides(log, rows),
        wound=still,
        alive=alive,
        effective=float(len(rows)),
    )


def table_motion(log: Log) -> Motion | None:
    """Return the rows of a table as the other checks take them, at rest; None where there are too few."""
    rows = _rows(log)
    if len(rows) < LEAST_ROWS:
        return None
    q, still = log.q[rows], np.zeros((len(rows), log.q.shape[1]))
    return Motion(
        log=log[rows],
        time=np.arange(len(rows), dtype=np.float64) * PER_ROW,
        q=q,
        dq=still,
        ddq=still,
        tau=np.nan_to_num(log.tau[rows]),
        wrench=None,
        usable=np.ones(len(rows), dtype=bool),
        rate=1.0 / PER_ROW,
        cutoff=0.5 / PER_ROW,
        velocity_measured=np.zeros(q.shape[1], dtype=bool),
        on_even_times=True,
        side=_sides(log, rows),
    )


def _rows(log: Log) -> Indices:
    rows = np.flatnonzero(np.isfinite(log.q).all(axis=1))
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).round().astype(np.int64))]


def _sides(log: Log, rows: Indices) -> Array:
    """Return from which side each joint came to a row, shape (k, n), as declared, or from the row before.

    0 where it was there before, or for the first.
    """
    if log.side is not None:
        return np.asarray(log.side[rows])
    return sides_by_order(log.q[rows], SEPARATE)
