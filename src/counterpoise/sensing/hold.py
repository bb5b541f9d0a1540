"""A hold of the recursive estimator: what its torques say, from which side, and how far that is to be believed.

Gravity may be learned from a rest only where the arm **endures** it ("gravity-endurable", [Jo], section III): no drive
is saturated and no joint rests at a stop, else the measured torque alone does not carry the weight.

A joint that stuck while its torque changed is not held by its whole friction any more: by how much the torque differs
from that of its last sliding is an error of the measurement. Where that is much, or the joint has not slid at all since
the hold before, any part of its friction may hold it, on either side, and its torque counts with that error.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Follower, Means, on_stops

EFFORT_SHARE = 0.98
"""Share of the effort limit that counts as saturated."""
SLID = 0.03
"""How far a joint must slide, as a fraction of the travel that reverses its side, for its torque to be one of sliding:
not by the noise of a slot's mean; and little, for the last torque before a soft stop is the one that friction keeps."""
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


def bears_weight(robot: Robot, q: Array, tau: Array) -> npt.NDArray[np.bool_]:
    """Return which drives carry their joint's weight alone at rest: not saturated, the joint at no stop; shape (n,).

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,).
        tau: Torques of the actuators [N m or N], shape (n,).
    """
    return ~(on_stops(robot, q) | (np.abs(tau) >= EFFORT_SHARE * robot.effort_limit))


class Sliding:
    """Which joints have slid since the hold before, and the torque of each when it last slid.

    The mean position of a slot lags behind a joint that comes to a stop in it, so that the joint seems to slide in the
    slot after. The torque is that of the slot before: where a joint rests, it may already have been let go of.

    Attributes:
        torque: Torque of the last sliding [N m or N], shape (n,).
    """

    def __init__(self, follower: Follower, reversal: Array) -> None:
        """Look at what the joints drag along behind them, with a play of ``reversal`` [rad or m], shape (n,)."""
        self._follower, self._reversal = follower, reversal
        self.torque, self._before = np.zeros((2, len(reversal)))
        self._slid_at, self._held_at = np.full((2, len(reversal)), np.nan)

    def note(self, tau: Array) -> None:
        """Note the torques of the joints that slide; tau [N m or N], shape (n,), are those of the latest slot."""
        place = self._follower.place
        if self._slid_at[0] != self._slid_at[0]:  # NaN: the first one
            self._before[:] = tau
            self._slid_at[:] = np.inf
        slides = np.abs(place - self._slid_at) > SLID * self._reversal
        if slides.any():
            np.copyto(self.torque, self._before, where=slides)
            np.copyto(self._slid_at, place, where=slides)
        self._before[:] = tau

    def since_hold(self) -> npt.NDArray[np.bool_]:
        """Return which joints have slid since the last :meth:`hold`, shape (n,)."""
        return np.asarray(~(np.abs(self._follower.place - self._held_at) <= self._reversal))

    def hold(self) -> None:
        """Remember where the joints are held."""
        self._held_at[:] = self._follower.place


def summarise(told: Array, means: Means, side: Array, sliding: Array, friction_square: Array, noise: Array) -> None:
    """Write what a hold says.

    Args:
        told: Rows of :class:`Told`, shape (5, n).
        means: Of positions and torques of the hold [rad or m, N m or N].
        side: Side from which each joint came, 0 where it has not slid since the hold before, shape (n,).
        sliding: Torque of the last sliding [N m or N], shape (n,).
        friction_square: Mean square of what friction may hold [N² m² or N²], shape (n,).
        noise: Standard deviation of what a held pose leaves unexplained [N m or N], shape (n,).
    """
    n = len(side)
    mean = means.mean()
    told[Told.POSE], torque = mean[:n], mean[n:]
    free = noise**2 + means.scatter()[n:] ** 2 / means.count
    changed_square = (torque - sliding) ** 2
    told[Told.TORQUE] = torque
    told[Told.SIDE] = np.where(changed_square < LET_GO**2 * friction_square, side, 0.0)
    uneven = changed_square + UNEVEN**2 * friction_square
    told[Told.SIGMA] = np.sqrt(free + np.where(told[Told.SIDE] == 0.0, friction_square, uneven))
    told[Told.SIGMA_FREE] = np.sqrt(free)


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
