"""What a torque loop makes of its error: the integral compensator of [Morel2000], with the terms it advises against."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from .gains import checked_dt, gain


@runtime_checkable
class TorqueCompensator(Protocol):
    """Turns the torque error into a correction of the actuators' torque."""

    def act(self, error: Array) -> Array:
        """Return the correction [N m or N], shape (n,), one tick later; always the same array.

        Args:
            error: τ_des − τ_est [N m or N], shape (n,).
        """
        ...

    def start_from(self, correction: Array, error: Array) -> None:
        """Forget the past, such that an error that stays gives ``correction`` [N m or N], shape (n,), on the next tick.

        Args:
            correction: Where to begin, so that the torque does not jump.
            error: The torque error now, shape (n,).
        """
        ...

    def limited(self, cut: Array) -> None:
        """Take note that what was sent differs from what was asked for by ``cut`` [N m or N], shape (n,)."""
        ...


class IntegralCompensator:
    """x = ∫ k_int e dt + k_pt e + k_dt de/dt, with e the torque error ([Morel2000], eq. 25, without its feed-forward).

    The paper's compensator is the integral alone. A proportional term shortens the way to the limit of stability, and
    a derivative one differentiates the plate's noise; both are here so that this can be seen.

    Attributes:
        k_int: Integral gain k_int [1/s], shape (n,).
        proportional: k_pt, shape (n,).
        derivative: k_dt [s], shape (n,).
        integral_limit: Largest integral [N m or N], shape (n,).
        integral: The integral now [N m or N], shape (n,).
    """

    def __init__(
        self,
        k_int: npt.ArrayLike,
        *,
        integral_limit: npt.ArrayLike,
        dt: float,
        proportional: npt.ArrayLike = 0.0,
        derivative: npt.ArrayLike = 0.0,
    ) -> None:
        """Make the compensator.

        Args:
            k_int: Integral gain [1/s], shape (n,).
            integral_limit: Largest integral [N m or N], shape (n,) or one number.
            dt: Nominal time between two ticks [s].
            proportional: Gain on the error itself, shape (n,) or one number.
            derivative: Gain on its derivative [s], shape (n,) or one number.
        """
        self.k_int = gain(k_int, "k_int")
        n = len(self.k_int)
        self.integral_limit = gain(integral_limit, "integral_limit", n)
        self.proportional = gain(proportional, "proportional", n)
        self.derivative = gain(derivative, "derivative", n)
        self._rate = self.k_int * checked_dt(dt)
        self._slope = self.derivative / dt
        self._only_integral = not (self.proportional.any() or self.derivative.any())
        self._least = -self.integral_limit
        self.integral, self._growth = np.zeros(n), np.zeros(n)
        self._before, self._out = np.zeros(n), np.zeros(n)

    def act(self, error: Array) -> Array:
        """Return the correction [N m or N], shape (n,); always the same array."""
        integral, growth, out = self.integral, self._growth, self._out
        np.multiply(error, self._rate, out=growth)
        np.add(integral, growth, out=out)
        np.minimum(out, self.integral_limit, out=out)
        np.maximum(out, self._least, out=out)
        np.subtract(out, integral, out=growth)  # what it really grew by: no more can be taken back
        integral[:] = out
        if not self._only_integral:
            out += self.proportional * error
            out += self._slope * (error - self._before)
            self._before[:] = error
        return out

    def start_from(self, correction: Array, error: Array) -> None:
        """Begin such that the next correction, with this error, is ``correction`` and one tick's growth."""
        self._growth[:] = 0.0
        self._before[:] = error
        np.clip(correction - self.proportional * error, self._least, self.integral_limit, out=self.integral)

    def limited(self, cut: Array) -> None:
        """Take back this tick's growth on joints where less was sent in its direction than was asked for."""
        against = cut * self._growth < 0.0
        if against.any():
            self.integral[against] -= self._growth[against]
            self._growth[against] = 0.0
