"""Cushions in front of the joint limits: a soft spring and a damper that push one way only, out of the limit.

Within ``margin`` of a limit, at depth p = margin − distance ≥ 0 and speed v towards the limit:

    τ = min(max(k p + d w v, 0), b) away from the limit,   w = min(p / margin, 1)

k is such that the spring alone gives b/2 at the limit. The torque is continuous in position and speed, at most b, and
never points into the limit. On the way out the damper takes from the spring, so that an arm is not thrown back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array, frozen
from ...errors import InputError

MOST_OF_RANGE = 0.1
"""A margin is at most this share of the joint's range."""


@dataclass(frozen=True, slots=True)
class Cushion:
    """How the cushions of an arm are made.

    Attributes:
        rotary: Margin in front of the limits of joints that turn [rad].
        linear: Margin in front of the limits of joints that slide [m].
        effort: Largest torque b, as a share of the effort limit.
    """

    rotary: float = 0.12
    linear: float = 0.03
    effort: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what is no cushion."""
        for name, most in (("rotary", 10.0), ("linear", 10.0), ("effort", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= most:
                raise InputError(f"cushion.{name} is {value!r}; expected a number above 0, at most {most:g}")


class Cushions:
    """The cushions of n joints. Where a limit is infinite there is none.

    Attributes:
        margin: Where they begin, before the limits [rad or m], shape (n,).
        most: Largest torque b [N m or N], shape (n,).
    """

    def __init__(self, lower: Array, upper: Array, margin: Array, most: Array, damping: Array) -> None:
        """Place the cushions.

        Args:
            lower: Lower limits [rad or m], shape (n,); −inf for none.
            upper: Upper limits [rad or m], shape (n,); +inf for none.
            margin: Margins [rad or m], > 0, shape (n,); at most a tenth of the joint's range is used.
            most: Largest torques b [N m or N], shape (n,); 0 for a joint without cushions.
            damping: Dampers d [N m s/rad or N s/m], shape (n,).
        """
        room = MOST_OF_RANGE * (upper - lower)
        self.margin = frozen(np.where(np.isfinite(room) & (room > 0.0), np.minimum(margin, room), margin))
        self.most = frozen(most)
        self._stiffness = 0.5 * self.most / self.margin
        self._damping = frozen(damping)
        self._low, self._high = frozen(lower + self.margin), frozen(upper - self.margin)

    def torque(self, q: Array, dq: Array) -> Array:
        """Return the torques [N m or N], shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
        """
        return self._push(self._low - q, -dq) - self._push(q - self._high, dq)

    def touched(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say of each joint whether it is within a cushion, shape (n,), bool."""
        return np.asarray(((q < self._low) | (q > self._high)) & (self.most > 0.0))

    def _push(self, depth: Array, speed: Array) -> Array:
        """Return the torque away from one limit, from 0 to ``most``."""
        depth = np.maximum(depth, 0.0)  # an infinite limit gives depth −inf, so 0
        inside = np.minimum(depth / self.margin, 1.0)
        return np.clip(self._stiffness * depth + self._damping * inside * speed, 0.0, self.most)
