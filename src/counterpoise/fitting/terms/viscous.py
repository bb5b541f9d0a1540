"""Viscous friction of every actuator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ActuatorTerm, ArmLimits, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation


MOST_SPEED_SHARE = 100.0
"""A file's viscous friction is at most the largest effort at 1/MOST_SPEED_SHARE rad/s."""


@registered
class ViscousTerm(ActuatorTerm):
    """F_v u, with u the actuator's speed."""

    name = "viscous"
    number = 4
    label = "friction"
    summary = "friction that grows with the speed"
    units = ("N m s/rad", "N s/m")
    motion_only = True
    friction = True

    def spread(self, scales: Scales) -> Array:
        """Return what makes up the whole effort, shape (n,)."""
        return np.asarray(scales.wide_effort / np.where(scales.speed > 1e-9, scales.speed, 1.0))

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold [N m s/rad or N s/m]."""
        return MOST_SPEED_SHARE * limits.effort

    def shape(self, at: Evaluation) -> Array:
        """Return the actuators' speeds, shape (k, n)."""
        return at.speed
