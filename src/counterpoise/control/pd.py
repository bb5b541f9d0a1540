"""Proportional-derivative control of the joints."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from ..recording import Sample
from .law import checked_reach, gain
from .reference import Hold, Reference


class PD:
    """τ = K_p clip(q_d − q, ± reach) + K_d (dq_d − dq).

    Attributes:
        kp: Stiffness K_p [N m/rad or N/m], shape (n,).
        kd: Damping K_d [N m s/rad or N s/m], shape (n,).
        reach: Largest position error that K_p acts on [rad or m], shape (n,); None for any.
        reference: Gives q_d and dq_d.
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(
        self,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        reference: Reference | None = None,
        *,
        reach: npt.ArrayLike | None = None,
    ) -> None:
        """Make the law.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,).
            kd: Damping [N m s/rad or N s/m], shape (n,) or one number.
            reference: What to follow; None holds the pose the arm has at the start.
            reach: Largest position error that K_p acts on [rad or m], above 0, shape (n,) or one number; None for any.
        """
        self.kp = gain(kp, "kp")
        self.kd = gain(kd, "kd", len(self.kp))
        self.reach = None if reach is None else checked_reach(reach, len(self.kp))
        self.reference: Reference = Hold() if reference is None else reference
        self._begin: float | None = None
        self._tau, self._part = np.zeros(len(self.kp)), np.zeros(len(self.kp))

    def reset(self, sample: Sample) -> None:
        """Start the reference from the sample's pose."""
        self.reference.reset(sample.q)
        self._begin = None

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        if self._begin is None:
            self._begin = time
        desired_q, desired_dq = self.reference.at(time - self._begin)
        tau, part = self._tau, self._part
        np.subtract(desired_q, sample.q, out=tau)
        if self.reach is not None:
            np.clip(tau, -self.reach, self.reach, out=tau)
        np.multiply(tau, self.kp, out=tau)
        np.subtract(desired_dq, sample.dq, out=part)
        np.multiply(part, self.kd, out=part)
        np.add(tau, part, out=tau)
        return tau
