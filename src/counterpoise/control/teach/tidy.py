"""Tidying a hand-guided recording: the idle ends cut off, the hand's tremor smoothed away, within a stated bound.

Smoothing has no delay (logs.filters) and keeps the first and the last position. It starts from a low cutoff and doubles
it until no joint is moved by more than a bound; where even a high one does not do, nothing is smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array
from ...errors import InputError
from ...logs.filters import filtered, interpolated
from .path import MOST_ROWS

CUTOFF = 4.0
"""Frequency at which half of a motion passes [Hz]: a guiding hand moves slower, and trembles faster (8 to 12 Hz)."""
RATE = 100.0
"""Rows per second that are kept of a continuous path [Hz]."""
STILL_ROTARY, STILL_LINEAR = 0.005, 0.001
"""A joint that is nearer than this to where it began (or ended) has not left yet (has arrived) [rad, m]."""
MOVED_ROTARY, MOVED_LINEAR = 0.01, 0.003
"""How far smoothing may move a joint [rad, m]."""
KEPT_IDLE = 0.2
"""Time at rest that is left at both ends [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A smoothed path on an even grid.

    Attributes:
        time: Times from 0 [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        cutoff: The cutoff that was used [Hz]; None where nothing was smoothed.
        moved: How far it is from the recorded positions at most, per joint [rad or m], shape (n,).
    """

    time: Array
    q: Array
    cutoff: float | None
    moved: Array


def moving_part(time: Array, q: Array, still: Array) -> slice:
    """Return which rows to keep so that at most KEPT_IDLE of idle time is left at either end.

    Args:
        time: Increasing times [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        still: How far a joint may be from its first (last) position and count as not moving [rad or m], shape (n,).

    Raises:
        InputError: No joint moves.
    """
    away = np.flatnonzero(np.any(np.abs(q - q[0]) > still, axis=1))
    back = np.flatnonzero(np.any(np.abs(q - q[-1]) > still, axis=1))
    if not away.size or not back.size:
        raise InputError(
            f"nothing moved by more than {', '.join(f'{value:g}' for value in still)} rad or m; guide the arm while "
            "it is being recorded"
        )
    begin = int(np.searchsorted(time, time[away[0]] - KEPT_IDLE))
    end = int(np.searchsorted(time, time[back[-1]] + KEPT_IDLE, side="right"))
    return slice(begin, max(end, begin + 2))


def smooth(time: Array, q: Array, *, cutoff: float | None, most_moved: npt.ArrayLike, rate: float = RATE) -> Smoothed:
    """Return a path on an even grid, smoothed without delay, its ends kept.

    Args:
        time: Increasing times [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        cutoff: Lowest frequency at which half of a wave passes [Hz]; None smooths nothing.
        most_moved: How far a joint may be moved [rad or m], shape (n,) or one number.
        rate: Rows per second of the result [Hz].

    Raises:
        InputError: A bad cutoff or rate, or a path too long for the rate.
    """
    for value, name in ((cutoff, "cutoff"), (rate, "rate")):
        if value is not None and not 0.0 < value < 1e5:
            raise InputError(f"{name} is {value!r}; expected a positive number [Hz]")
    start, span = time[0], float(time[-1] - time[0])
    own = max((len(time) - 1) / span, rate)  # filter at the recording's own rate, so that nothing is folded down
    rows = round(span * own) + 1
    if rows > MOST_ROWS:
        own = rate
        rows = round(span * own) + 1
    if rows > MOST_ROWS:
        raise InputError(f"a path of {span:g} s has more than {MOST_ROWS} rows at {rate:g} Hz; keep fewer a second")
    fine = np.linspace(0.0, span, max(rows, 3))
    even = interpolated(fine, time - start, q)
    grid = np.linspace(0.0, span, max(round(span * rate) + 1, 3))
    dt = span / (len(fine) - 1)
    bound = np.broadcast_to(np.asarray(most_moved, dtype=np.float64), (q.shape[1],))
    tried = cutoff
    while tried is not None and tried < 0.4 / dt:
        soft = filtered(even, dt, tried)
        # Point reflection keeps the ends to rounding and to what the padding cuts off; this keeps them exactly.
        share = np.linspace(0.0, 1.0, len(fine))[:, None]
        soft = soft + (1.0 - share) * (even[0] - soft[0]) + share * (even[-1] - soft[-1])
        result = interpolated(grid, fine, soft)
        moved = _distance(time - start, q, grid, result)
        if np.all(moved <= bound):
            return Smoothed(grid, result, tried, moved)
        tried *= 2.0
    result = interpolated(grid, time - start, q)
    moved = _distance(time - start, q, grid, result)
    if np.all(moved <= bound):
        return Smoothed(grid, result, None, moved)
    return Smoothed(
        time - start, q.copy(), None, np.zeros(q.shape[1])
    )  # kinks that the grid would cut: every row stays


def _distance(time: Array, q: Array, grid: Array, result: Array) -> Array:
    """Return the largest distance of a result from the recorded rows, per joint, shape (n,)."""
    return np.asarray(np.max(np.abs(interpolated(time, grid, result) - q), axis=0))
