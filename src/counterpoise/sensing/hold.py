"""What a hold says: the means of the collected torques, the sides from which the joints came, and the errors of both.

A joint that stuck while its torque changed is not held by its whole friction any more: by how much the torque differs
from that of its last sliding is an error of the measurement. Where that is much, or the joint has not slid at all since
the hold before, any part of its friction may hold it, on either side, and its torque counts with that error.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array
from .gate import Row

UNEVEN = 0.05
"""By how much, as a share of itself, the friction that holds a joint differs from hold to hold (standard deviation):
what it is at the end of a slide depends on the speed and the load."""
LET_GO = 0.5
"""A joint whose torque has changed by this share of its friction since it slid may be held from either side."""


class Told(IntEnum):
    """Rows of what a hold says, each of shape (n,)."""

    POSE = 0
    """Mean position [rad or m]."""
    TORQUE = 1
    """Mean torque [N m or N]."""
    SIDE = 2
    """Side from which the joint came, −1 or 1; 0 where friction may hold it on either."""
    SIGMA = 3
    """Standard deviation of the torque where friction may hold the joint [N m or N] ..."""
    SIGMA_FREE = 4
    """... and where there is no friction."""


def summarise(
    told: Array, memory: Array, count: int, slid_from: Array, friction_square: Array, noise: Array, reversal: float
) -> tuple[bool, float]:
    """Write what a hold says.

    Args:
        told: Rows of :class:`Told`, shape (5, n).
        memory: The gate's (gate.py), with the sums of ``count`` samples.
        count: Number of samples collected.
        slid_from: The gate's followers at the hold before [rad or m], shape (n,); NaN before the first.
        friction_square: Mean square of what friction may hold [N² m² or N²], shape (n,).
        noise: Standard deviation of what a held pose leaves unexplained [N m or N], shape (n,).
        reversal: Play of the gate's followers [rad or m].

    Returns:
        Whether any joint has slid since the hold before; and the largest torque, as a share of the effort limit, 0 for
        joints without one.
    """
    mean = memory[Row.SUM_TAU] / count
    free = noise**2 + np.maximum(memory[Row.SUM_SQUARE] / count - mean * mean, 0.0) / count
    slid = ~(np.abs(memory[Row.FOLLOWER] - slid_from) <= reversal)
    changed = (mean - memory[Row.SLIDING]) ** 2
    known = slid & (changed < LET_GO**2 * friction_square)
    told[Told.POSE] = memory[Row.ANCHOR] + memory[Row.SUM_Q] / count
    told[Told.TORQUE] = mean
    told[Told.SIDE] = np.where(known, memory[Row.DIRECTION], 0.0)
    held = np.where(told[Told.SIDE] == 0.0, friction_square, changed + UNEVEN**2 * friction_square)
    told[Told.SIGMA] = np.sqrt(free + held)
    told[Told.SIGMA_FREE] = np.sqrt(free)
    return bool(slid.any()), float(np.max(np.abs(mean) / memory[Row.EFFORT], initial=0.0))


def judge(left: Array, side: Array, sigma: Array) -> tuple[float, float, float]:
    """Return how a hold fits in with what was known before.

    Args:
        left: Of each joint's torque the innovation ρ and γ (square_root.py), shape (2, n).
        side: Sides from which the joints came, shape (n,).
        sigma: Standard deviations of the torques [N m or N], shape (n,).

    Returns:
        The largest |ρ|; the least γ; and the logarithm of how probable the torques were, those of joints whose side is
        known: Σ log(γ/σ) − ρ²/2, less a constant.
    """
    innovation, kept = left
    each = np.log(kept / sigma) - 0.5 * innovation * innovation
    return float(np.abs(innovation).max()), float(kept.min()), float(np.abs(side) @ each)


def relearn(noise: Array, start: Array, left: Array, rate: float, most: float, low: float, high: float) -> None:
    """Learn from a hold what holds leave unexplained.

    E ρ² is 1 if the noise is right; only the share γ² of it that was foreseen tells.

    Args:
        noise: Standard deviation of what a hold leaves unexplained [N m or N], shape (n,); changed in place.
        start: Its first value, shape (n,).
        left: Of each joint's torque the innovation ρ and γ, shape (2, n).
        rate: How fast it is learned.
        most: More than this ρ² does not count.
        low: Least multiple of the first value.
        high: Largest multiple of the first value.
    """
    innovation, kept = left
    ratio = np.minimum(innovation * innovation, most) - 1.0
    changed = noise * np.sqrt(1.0 + rate * kept * kept * ratio)
    noise[:] = np.clip(changed, low * start, high * start)


def first_noise(given: npt.ArrayLike | None, usual: Array) -> Array:
    """Return the first value of what a hold leaves unexplained [N m or N], shape (n,): as given, or the usual one.

    Raises:
        InputError: It is not one positive number, or n of them.
    """
    if given is None:
        return np.array(usual)
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), usual.shape) or not np.all(np.isfinite(values) & (values > 0.0)):
        raise InputError(f"hold_noise has shape {values.shape}; expected positive numbers, one or {len(usual)}")
    return np.broadcast_to(values, usual.shape).copy()
