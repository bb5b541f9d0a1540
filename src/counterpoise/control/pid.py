"""PID control of the joints, with an integral that cannot wind up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from ..recording import Sample
from .law import checked_dt, gain
from .pd import PD
from .reference import Reference


class PID:
    """τ = K_p clip(e, ± reach) + K_d de + I, dI/dt = K_i e, with e = q_d − q.

    The integral is clamped to ±integral_limit, and a joint's integral rests while the safety filter sends less than was
    asked for in the direction in which it would grow. It starts at zero: the loop fades the law in.

    The integral can also be told when to rest. A joint that has come to stand against friction then keeps its torque;
    an integral that went on would wind up, free the joint and set it hunting.

    Attributes:
        ki: Integral gain K_i [N m/(rad s) or N/(m s)], shape (n,).
        integral_limit: Largest integral term [N m or N], shape (n,).
        integral: The integral term now [N m or N], shape (n,).
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(
        self,
        kp: npt.ArrayLike,
        ki: npt.ArrayLike,
        kd: npt.ArrayLike,
        *,
        integral_limit: npt.ArrayLike,
        dt: float,
        reference: Reference | None = None,
        rests: Callable[[float], bool] | None = None,
        reach: npt.ArrayLike | None = None,
        damping_share: Callable[[float], float] | None = None,
    ) -> None:
        """Make the law.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,).
            ki: Integral gain [N m/(rad s) or N/(m s)], shape (n,) or one number.
            kd: Damping [N m s/rad or N s/m], shape (n,) or one number.
            integral_limit: Largest integral term [N m or N], shape (n,) or one number.
            dt: Nominal time between two ticks [s].
            reference: What to follow; None holds the pose the arm has at the start.
            rests: Says whether the integral rests, by the reference's time [s]; None for never.
            reach: See PD.
            damping_share: Says which share of K_d acts, by the reference's time [s]; None for all of it.
        """
        self._pd = PD(kp, kd, reference, reach=reach)
        n = len(self._pd.kp)
        self.ki = gain(ki, "ki", n)
        self.integral_limit = gain(integral_limit, "integral_limit", n)
        self._dt = checked_dt(dt)
        self._rests, self._damping_share = rests, damping_share
        self.integral = np.zeros(n)
        self._growth = np.zeros(n)
        self._begin: float | None = None

    @property
    def reference(self) -> Reference:
        """What is followed."""
        return self._pd.reference

    def reset(self, sample: Sample) -> None:
        """Start the reference from the sample's pose, and the integral from zero."""
        self._pd.reset(sample)
        self.integral[:] = 0.0
        self._growth[:] = 0.0
        self._begin = None

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        if self._begin is None:
            self._begin = time
        elapsed = time - self._begin
        if self._rests is not None and self._rests(elapsed):
            self._growth[:] = 0.0
        else:
            np.subtract(self._pd.reference.at(elapsed).q, sample.q, out=self._growth)
            self._growth *= self.ki * self._dt
        self.integral += self._growth
        np.clip(self.integral, -self.integral_limit, self.integral_limit, out=self.integral)
        tau = self._pd.torque(sample, time)
        if self._damping_share is not None and (fraction := self._damping_share(elapsed)) != 1.0:
            tau -= (1.0 - fraction) * self._pd.kd * (self._pd.reference.at(elapsed).dq - sample.dq)
        tau += self.integral
        return tau

    def limited(self, cut: Array) -> None:
        """Take back this tick's growth on joints where less was sent in its direction than was asked for.

        Args:
            cut: What was sent minus what was asked for [N m or N], shape (n,).
        """
        against = cut * self._growth < 0.0
        if not against.any():
            return
        self.integral[against] -= self._growth[against]
        np.clip(self.integral, -self.integral_limit, self.integral_limit, out=self.integral)
