"""Friction that is larger at low speed, by the Stribeck effect of a lubricated contact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import DryFrictionTerm, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation

STRIBECK_SPEED = 0.1
"""Speed of the actuator, gear taken out, over which it vanishes [rad/s or m/s]. Assumed, not fitted: the evidence says
whether friction of this shape is there."""


@registered
class StribeckTerm(DryFrictionTerm):
    """F_s exp(−(u/v_s)²) tanh(u/v₀), with v_s = STRIBECK_SPEED ([Canudas1995]): the excess of friction near rest."""

    name = "stribeck"
    number = 12
    label = "friction"
    summary = "friction that is larger at low speed"
    motion_only = True

    def magnitude(self, at: Evaluation) -> Array:
        """Return the fraction that is left at the actuators' speeds, shape (k, n)."""
        return np.asarray(np.exp(-((at.speed / STRIBECK_SPEED) ** 2)))
