"""Friction compensation: a share of the modelled friction, smooth around standstill, never more than there is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError
from ..friction.law import FrictionLaw
from ..logs.sample import Sample
from .gains import gain


class FrictionCompensation:
    """τ = c · f(dq) · tanh(max(|dq| − d, 0) / v).

    f is the friction law, c ≤ 1 the share, d the dead band, v the smoothing speed. The torque is zero at rest and
    within the dead band, continuous, and at every speed at most the share of the friction: with a law that fits, the
    joints stay passive. A share above 1 lets an arm run away and is refused.

    Attributes:
        friction: The friction law.
        share: c per joint, shape (n,).
        dead_band: d [rad/s or m/s], shape (n,): above the noise of the velocity at rest.
        smoothing: v [rad/s or m/s], shape (n,).
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(
        self,
        friction: FrictionLaw,
        share: npt.ArrayLike,
        *,
        dead_band: npt.ArrayLike = 0.01,
        smoothing: npt.ArrayLike = 0.05,
    ) -> None:
        """Make the law.

        Args:
            friction: The friction law, link side.
            share: Share that is compensated, 0 to 1, shape (n,).
            dead_band: Speed below which nothing is compensated [rad/s or m/s], shape (n,) or one number.
            smoothing: Speed over which the compensation sets in [rad/s or m/s], above 0, shape (n,) or one number.
        """
        if not isinstance(friction, FrictionLaw):
            raise InputError(f"{friction!r} is no friction law: it lacks torque(dq)")
        self.friction = friction
        self.share = gain(share, "share", most=1.0)
        n = len(self.share)
        self.dead_band = gain(dead_band, "dead_band", n)
        self.smoothing = gain(smoothing, "smoothing", n)
        if not np.all(self.smoothing > 0.0):
            raise InputError(f"smoothing is {self.smoothing.tolist()}; expected speeds above 0: a bare sign chatters")
        self._tau, self._fade = np.zeros(n), np.zeros(n)

    def reset(self, sample: Sample) -> None:
        """Do nothing: there is no state."""

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        fade, tau = self._fade, self._tau
        np.abs(sample.dq, out=fade)
        np.subtract(fade, self.dead_band, out=fade)
        np.maximum(fade, 0.0, out=fade)
        np.divide(fade, self.smoothing, out=fade)
        np.tanh(fade, out=fade)
        np.multiply(self.friction.torque(sample.dq), self.share, out=tau)
        np.multiply(tau, fade, out=tau)
        return tau
