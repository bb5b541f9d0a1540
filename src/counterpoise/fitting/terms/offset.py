"""A constant offset of every actuator's effort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ActuatorTerm, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation


@registered
class OffsetTerm(ActuatorTerm):
    """o: a zero error of a sensor or drive, the constant part of a spring, or friction that differs by direction."""

    name = "offset"
    number = 2
    label = "offsets"
    summary = "a constant effort"
    acts_at_rest = True

    def shape(self, at: Evaluation) -> Array:
        """Return 1, shape (k, n)."""
        return np.ones_like(at.speed)
