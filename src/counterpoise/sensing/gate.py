"""The gate: which samples the recursive estimator may learn from.

A sample counts when every joint **stands**, **endures** and is **valid**:

- valid: nothing in it is flagged, missing or absurd;
- stands: no joint has left the band about its anchor (where it last moved), and none is fast. Judged by position, so
  that neither the noise of a measured velocity nor an encoder's counts look like motion; a slow creep leaves the band
  again and again and never settles;
- endures ("gravity-endurable", [Jo], section III): no drive is saturated and no joint rests at a stop, else gravity is
  not carried by the measured torque alone.

Besides, the gate keeps the side from which each joint arrived: the sign of the friction that then helps to hold it; and
the torque at which it last slid, by which it is seen whether friction was let go of since.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ..dynamics import MAX_INPUT, Robot
from ..foundation import Array
from ..recording import REVERSAL, STILL_SPEED, WINDOW, SampleFlag

UNUSABLE = int(SampleFlag.Q_INVALID | SampleFlag.DQ_INVALID | SampleFlag.EFFORT_INVALID | SampleFlag.STALE)
"""Flags that keep a sample from being learned from."""
BAND = STILL_SPEED * WINDOW
"""How far a standing joint may wander from its anchor [rad or m]."""
FAST = 0.05
"""Measured speed above which a joint moves at any rate [rad/s or m/s]: a slow creep, above the noise of encoders."""
EFFORT_SHARE = 0.98
"""Share of the effort limit that counts as saturated."""
STOP_MARGIN = 0.01
"""Distance from a joint limit that counts as resting on it [rad or m]."""

SLID = 0.1
"""How far a joint must slide, as a share of ``reversal``, for its torque to be one of sliding: not by mere noise."""


class Seen(IntEnum):
    """What a sample shows."""

    INVALID = 0
    """A number is missing or absurd."""
    MOVED = 1
    """A joint has moved; the sums begin again."""
    LOADED = 2
    """The arm stands, but a drive is saturated or a joint rests at a stop."""
    STILL = 3
    """The arm stands and its drives carry it."""


class Row(IntEnum):
    """Rows of a gate's memory, each of shape (n,)."""

    ANCHOR = 0
    """Where the joint last moved [rad or m]; NaN before the first sample."""
    SUM_Q = 1
    """Sum of the positions collected, less the anchor [rad or m]."""
    SUM_TAU = 2
    """Sum of the torques collected [N m or N]."""
    SUM_SQUARE = 3
    """Sum of their squares."""
    DIRECTION = 4
    """Side from which the joint came: +1 moving upwards, −1 downwards, 0 where it never moved."""
    FOLLOWER = 5
    """What the joint drags along behind it, with a play of ``reversal`` to either side [rad or m]."""
    LOWER = 6
    """Lower limit [rad or m]."""
    UPPER = 7
    """Upper limit [rad or m]."""
    EFFORT = 8
    """Effort limit [N m or N]."""
    SLIDING = 9
    """Torque when the joint last slid, dragging its follower [N m or N]."""
    SLID_AT = 10
    """Where the follower was then [rad or m]; NaN before the first sample."""


def fresh_memory(robot: Robot) -> Array:
    """Return the memory of a gate that has seen nothing, shape (11, n)."""
    memory = np.zeros((len(Row), robot.n))
    memory[Row.ANCHOR] = memory[Row.FOLLOWER] = memory[Row.SLID_AT] = np.nan
    memory[Row.LOWER], memory[Row.UPPER], memory[Row.EFFORT] = robot.lower, robot.upper, robot.effort_limit
    return memory


def thresholds(*, band: float = BAND, reversal: float = REVERSAL) -> Array:
    """Return the thresholds as :func:`watch` takes them, shape (5,).

    Args:
        band: How far a standing joint may wander [rad or m]; more for an arm whose encoders are coarse or noisy.
        reversal: Travel after which a joint counts as moving the other way [rad or m].
    """
    return np.array([band, FAST, EFFORT_SHARE, STOP_MARGIN, reversal])


def watch(memory: Array, q: Array, dq: Array, tau: Array, limits: Array, collect: bool) -> int:
    """Look at one sample and return what it shows, a :class:`Seen`.

    Args:
        memory: From :func:`fresh_memory`; changed in place.
        q: Positions [rad or m], shape (n,).
        dq: Velocities [rad/s or m/s], shape (n,).
        tau: Torques of the actuators [N m or N], shape (n,).
        limits: From :func:`thresholds`.
        collect: Add the sample to the sums if the arm stands and endures.

    Raises:
        ValueError: A row is not n float64 numbers (caught by the caller).
    """
    for values in (q, dq, tau):
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != memory.shape[1:]:
            raise ValueError("expected n float64 numbers")
    if not all(bool(np.all(np.abs(values) <= MAX_INPUT)) for values in (q, dq, tau)):
        return Seen.INVALID
    band, fast, share, margin, reversal = limits.tolist()
    follower = np.where(np.isnan(memory[Row.FOLLOWER]), q, memory[Row.FOLLOWER])
    pushed = np.minimum(np.maximum(follower, q - reversal), q + reversal)
    memory[Row.DIRECTION] = np.where(pushed != follower, np.sign(pushed - follower), memory[Row.DIRECTION])
    slides = ~(np.abs(pushed - memory[Row.SLID_AT]) <= SLID * reversal)
    memory[Row.SLIDING] = np.where(slides, tau, memory[Row.SLIDING])
    memory[Row.SLID_AT] = np.where(slides, pushed, memory[Row.SLID_AT])
    memory[Row.FOLLOWER] = pushed
    if not np.all((np.abs(q - memory[Row.ANCHOR]) <= band) & (np.abs(dq) <= fast)):
        memory[Row.ANCHOR] = q
        memory[Row.SUM_Q : Row.SUM_SQUARE + 1] = 0.0
        return Seen.MOVED
    lower, upper = memory[Row.LOWER], memory[Row.UPPER]
    stopped = (np.minimum(q - lower, upper - q) < margin) & (upper - lower > 4.0 * margin)
    if np.any(stopped | (np.abs(tau) >= share * memory[Row.EFFORT])):
        return Seen.LOADED
    if collect:
        memory[Row.SUM_Q] += q - memory[Row.ANCHOR]
        memory[Row.SUM_TAU] += tau
        memory[Row.SUM_SQUARE] += tau * tau
    return Seen.STILL
