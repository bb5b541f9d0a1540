"""Friction in a law: compensated along the measured motion, or fed forward along the reference.

``FrictionCompensation`` adds a fraction of the modelled friction of the measured motion, smooth around standstill and
never more than there is. ``FrictionFeedforward`` adds the friction of the reference, by a learned law. A torque loop
must first see friction change before it acts, and structure and delay bound how fast it may act. In slow motion
friction depends on the displacement since the last reversal alone ([Dahl1968]), and the reference says in advance where
the joint will be: its friction can be fed forward, and the loop is left with what the law got wrong. Nothing is fed
back there, so nothing becomes unstable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics import Dahl, FrictionLaw
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample
from .law import gain
from .reference import Reference


class FrictionCompensation:
    """τ = c · f(dq) · tanh(max(|dq| − d, 0) / v).

    f is the friction law, c ≤ 1 the fraction that is compensated, d the dead band, v the smoothing speed. The torque is
    zero at rest and within the dead band, continuous, and at every speed at most that fraction of the friction: with a
    law that fits, the joints stay passive. A fraction above 1 lets an arm run away and is refused.

    Attributes:
        friction: The friction law.
        friction_fraction: c per joint, shape (n,).
        dead_band: d [rad/s or m/s], shape (n,): above the noise of the velocity at rest.
        smoothing: v [rad/s or m/s], shape (n,).
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(
        self,
        friction: FrictionLaw,
        friction_fraction: npt.ArrayLike,
        *,
        dead_band: npt.ArrayLike = 0.01,
        smoothing: npt.ArrayLike = 0.05,
    ) -> None:
        """Make the law.

        Args:
            friction: The friction law, link side.
            friction_fraction: Fraction that is compensated, 0 to 1, shape (n,).
            dead_band: Speed below which nothing is compensated [rad/s or m/s], shape (n,) or one number.
            smoothing: Speed over which the compensation sets in [rad/s or m/s], above 0, shape (n,) or one number.
        """
        if not isinstance(friction, FrictionLaw):
            raise InputError(f"{friction!r} is no friction law: it lacks torque(dq)")
        self.friction = friction
        self.friction_fraction = gain(friction_fraction, "friction_fraction", most=1.0)
        n = len(self.friction_fraction)
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
        np.multiply(self.friction.torque(sample.dq), self.friction_fraction, out=tau)
        np.multiply(tau, fade, out=tau)
        return tau


class FrictionFeedforward:
    """τ = c f(q_d): a fraction c of the friction law along the reference's path. To be summed with another law.

    It begins at zero, with bristles unbent, and stays within the levels of the law.

    Attributes:
        reference: The path, the same object as the other law's.
        friction: The law of each joint.
        friction_fraction: c, shape (n,).
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(self, reference: Reference, friction: Sequence[Dahl], friction_fraction: npt.ArrayLike = 1.0) -> None:
        """Send the friction along ``reference``.

        Args:
            reference: The path.
            friction: The law of each joint, n entries.
            friction_fraction: Fraction that is sent, 0 to 1, shape (n,) or one number.

        Raises:
            InputError: The numbers of joints differ, or a fraction is above 1.
        """
        if not friction or not all(isinstance(law, Dahl) for law in friction):
            raise InputError(f"friction is {friction!r}; expected a Dahl law for each joint")
        self.reference = reference
        self.friction = tuple(friction)
        self.friction_fraction = gain(friction_fraction, "friction_fraction", len(self.friction), most=1.0)
        self._state = [0.0] * len(self.friction)
        self._tau = np.zeros(len(self.friction))
        self._path: list[float] | None = None
        self._begin: float | None = None

    def reset(self, sample: Sample) -> None:
        """Begin at the sample's pose with unbent bristles."""
        if len(sample.q) != len(self.friction):
            raise InputError(f"friction of {len(self.friction)} joints, the arm has {len(sample.q)}")
        self.reference.reset(sample.q)
        self._state = [0.0] * len(self.friction)
        self._path, self._begin = None, None

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        if self._begin is None:
            self._begin = time
        here = self.reference.at(time - self._begin).q.tolist()
        if self._path is not None:
            for joint, law in enumerate(self.friction):
                self._state[joint] = law.moved(self._state[joint], here[joint] - self._path[joint])
        self._path = here
        np.multiply(self.friction_fraction, self._state, out=self._tau)
        return self._tau
